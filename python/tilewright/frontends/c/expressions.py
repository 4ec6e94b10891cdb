"""C expressions: operators with C's conversions, assignments and increments within expressions,
conditional operators with short circuit, `sizeof`, casts, calls.

What an expression does beside giving its value becomes statements before the one that it stands in.
C leaves the order of such effects open except at sequence points (C99 6.5, annex C), so programs
whose meaning is defined cannot tell. Effects behind `&&`, `||` and `?:` happen only where their
operand is evaluated.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from pycparser import c_ast

from ...base.plurals import counted
from ...language.externs import Extern
from ..tree import Call, Expression, If, Literal, Operation
from . import constants
from .c_types import (
    BOOL,
    DOUBLE,
    ArrayOf,
    Number,
    Structure,
    Void,
    arithmetic_type,
    is_integer,
    promoted,
)
from .library import EFFECTS, is_known, library_call
from .parsing import nodes
from .places import Places
from .refusals import refuse
from .scopes import FunctionName, PointerVariable
from .values import (
    Address,
    Place,
    Value,
    arithmetic,
    as_condition,
    compared,
    converted,
    integer,
    negated,
    selected,
    truth,
)

__all__ = ["Expressions"]

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ONLY_IN_SUMMARIES = {"__pencil_use", "__pencil_def", "__pencil_may_def", "__pencil_maybe"}


class Expressions(Places):
    """Translates values."""

    libm = False
    summarising = False

    def value(self, node: Any) -> Value:
        """The number that an expression is."""
        match node:
            case c_ast.Constant():
                return self._constant(node)
            case c_ast.ID() if node.name.startswith("__tilewright_"):
                return self._special(node)
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.TernaryOp():
                return self._conditional(node)
            case c_ast.Assignment():
                return self.load(self.assign(node), self.place(node))
            case c_ast.ExprList():
                for each in node.exprs[:-1]:
                    self.effects(each)
                return self.value(node.exprs[-1])
            case c_ast.Cast():
                return self._cast_value(node)
            case c_ast.FuncCall() if not self._is_defined(node):
                return self._foreign_call(node)
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.FuncCall():
                return self._loaded(self.operand(node), node)
            case c_ast.CompoundLiteral():
                return self._loaded(self.operand(node), node)
            case c_ast.InitList():
                refuse(self.place(node), "a number is wanted, not a list in braces")
        kinds = {
            "Compound": "a block as an expression, ({ ... }),",
            "CompoundLiteral": "(T){ ... }",
        }
        shown = kinds.get(type(node).__name__, f"this expression ({type(node).__name__})")
        refuse(self.place(node), f"{shown} has no translation", "write statements for it")

    def condition(self, node: Any) -> Expression:
        """Whether an expression is not 0, a bool."""
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            return self._short_circuit(node)
        if isinstance(node, c_ast.UnaryOp) and node.op == "!":
            return negated(self.condition(node.expr), self.place(node))
        if isinstance(node, c_ast.Constant) and node.type == "string":
            return Literal(True, np.dtype(bool))  # assert(n > 0 && "no elements")
        return truth(self.value(node), self.place(node))

    def _loaded(self, operand: Value | Place | Address, node: Any) -> Value:
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Address):
            refuse(
                self.place(node),
                "a number is wanted, and this is a pointer",
                "name the element: p[0] or *p",
            )
        return self.load(operand, self.place(node))

    def _constant(self, node: Any) -> Value:
        here = self.place(node)
        if node.type in ("string",) or node.value[:1] == '"':
            refuse(
                here,
                "a text in an expression has no translation",
                'give it a name: static const char t[] = "..."',
            )
        if node.type.endswith("char") or node.value[:1] == "'":
            return constants.character(node.value, here)
        if "float" in node.type or "double" in node.type:
            return constants.floating(node.value, here)
        return constants.whole(node.value, here)

    def _special(self, node: Any) -> Value:
        found = {
            "__tilewright_infinity": Value(DOUBLE, Literal(float("inf"), DOUBLE.dtype)),
            "__tilewright_nan": Value(DOUBLE, Literal(float("nan"), DOUBLE.dtype)),
            "__tilewright_imaginary_unit": Value(
                Number(np.dtype("complex64")), Literal(1j, np.dtype("complex64"))
            ),
        }
        if node.name not in found:
            refuse(self.place(node), f"{node.name} is not declared")
        return found[node.name]

    # Operators -------------------------------------------------------------------------------

    def _unary(self, node: Any) -> Value:
        here = self.place(node)
        match node.op:
            case "!":
                return as_condition(self.condition(node))
            case "++" | "--" | "p++" | "p--":
                return self._increment(node)
            case "sizeof":
                return self._sizeof(node)
            case "*":
                return self._loaded(self.operand(node), node)
            case "&":
                refuse(here, "a number is wanted, and this is an address")
            case "-" | "+" | "~":
                value = self.value(node.expr)
                of = promoted(value.type)
                value = converted(value, of, here)
                if node.op == "+":
                    return value
                if node.op == "~" and not is_integer(of):
                    refuse(here, f"~ is an operation of integers, not of {of}")
                return self._negative(node.op, value, here)
        refuse(here, f"the operator {node.op} has no translation")

    @staticmethod
    def _negative(sign: str, value: Value, here: Any) -> Value:
        of = value.type
        if isinstance(value.tree, Literal):
            if is_integer(of):
                number = int(value.tree.value.real)
                zero = integer(-1 if sign == "~" else 0, of)
                return arithmetic("-", zero, integer(number, of), of, here)
            return Value(of, Literal(-value.tree.value, of.dtype))
        name = "neg" if sign == "-" else "~"
        return Value(of, Operation(name, (value.tree,), of.dtype, here))

    def _sizeof(self, node: Any) -> Value:
        if isinstance(node.expr, c_ast.Typename):
            return self.size(self.type_of(node.expr), node)
        match node.expr:
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name)):
                entity = self.scope.find(name)
                if isinstance(entity, PointerVariable):
                    return self.size(entity.type.target, node)  # wherever it points
        with self.block() as unused:  # the operand of sizeof is not evaluated
            found = self.operand(node.expr)
        del unused
        if isinstance(found, Address):
            return integer(8, self._size_type())
        return self.size(found.type, node)

    @staticmethod
    def _size_type() -> Number:
        return Number(np.dtype("uint64"))

    def _binary(self, node: Any) -> Value:
        if node.op in ("&&", "||"):
            return as_condition(self._short_circuit(node))
        return self.binary(node, self.operand(node.left), self.operand(node.right))

    def binary(
        self, node: Any, left: Value | Place | Address, right: Value | Place | Address
    ) -> Value:
        """An arithmetic operation on operands that are translated already."""
        pointers = [self._is_pointer(left), self._is_pointer(right)]
        if any(pointers) if node.op in _COMPARISONS else node.op == "-" and all(pointers):
            first, last = self._address(left, node.left), self._address(right, node.right)
            if node.op in ("==", "!=") and first.place.root != last.place.root:
                return integer(node.op == "!=")  # arrays are memory of their own
            return self.computed(node.op, *self.apart(first, last, node), node)
        a, b = self._loaded(left, node.left), self._loaded(right, node.right)
        return self.computed(node.op, a, b, node)

    def computed(self, sign: str, a: Value, b: Value, node: Any) -> Value:
        """`a sign b`, by C99 6.5.5 to 6.5.12."""
        here = self.place(node)
        if sign in ("%", "&", "|", "^", "<<", ">>"):
            for each in (a, b):
                if not is_integer(each.type):
                    refuse(
                        here,
                        f"{sign} is an operation of integers, not of {each.type}",
                        "call fmod" if sign == "%" else "convert it to an integer",
                    )
        if sign in ("<<", ">>"):
            return arithmetic(sign, a, b, promoted(a.type), here)
        of = arithmetic_type(a.type, b.type)
        if sign in _COMPARISONS:
            if of.dtype.kind == "c" and sign not in ("==", "!="):
                refuse(here, f"complex numbers are not ordered: {sign}")
            return as_condition(compared(sign, a, b, of, here))
        result = arithmetic(sign, a, b, of, here)
        tree = result.tree
        if isinstance(tree, Operation) and tree.name in ("truncated_divide", "fmod"):
            if is_integer(of) and all(map(self.is_never_negative, tree.operands)):
                name = "//" if sign == "/" else "%"
                return Value(of, replace(tree, name=name))
        return result

    def _short_circuit(self, node: Any) -> Expression:
        left = self.condition(node.left)
        with self.block() as effects:
            before = dict(self.known)
            right = self.condition(node.right)
        is_and = node.op == "&&"
        if not effects:
            if isinstance(left, Literal):
                return right if bool(left.value) == is_and else left
            short = Literal(not is_and, BOOL.dtype)
            if is_and:
                return selected(left, right, short, BOOL.dtype)
            return selected(left, short, right, BOOL.dtype)
        self.known = before
        self.forget(node.right)
        here = self.place(node)
        result = self.temporary("both" if is_and else "either", BOOL, here)
        self.store(result, Value(BOOL, left), here)
        asked = self.load(result, here).tree
        with self.block() as body:
            body.extend(effects)
            self.store(result, Value(BOOL, right), here)
        self.known.pop(result.root, None)
        self.emit(If(asked if is_and else negated(asked, here), tuple(body), (), here))
        return self.load(result, here).tree

    def _conditional(self, node: Any) -> Value:
        here = self.place(node)
        condition = self.condition(node.cond)
        before = dict(self.known)
        with self.block() as first:
            a = self.value(node.iftrue)
        self.known = dict(before)
        with self.block() as second:
            b = self.value(node.iffalse)
        self.known = before
        of = arithmetic_type(a.type, b.type)
        if not first and not second:
            a, b = converted(a, of, here), converted(b, of, here)
            return Value(of, selected(condition, a.tree, b.tree, of.dtype))
        result = self.temporary("chosen", of, here)
        with self.block() as if_true:
            if_true.extend(first)
            self.store(result, a, here)
        with self.block() as if_false:
            if_false.extend(second)
            self.store(result, b, here)
        self.known = before
        self.forget(node)
        self.known.pop(result.root, None)
        self.emit(If(condition, tuple(if_true), tuple(if_false), here))
        return self.load(result, here)

    def _cast_value(self, node: Any) -> Value:
        to = self.type_of(node.to_type)
        if isinstance(to, Number):
            return converted(self.value(node.expr), to, self.place(node))
        refuse(self.place(node), f"a conversion to {to} has no translation")

    # Effects ---------------------------------------------------------------------------------

    def effects(self, node: Any) -> None:
        """An expression whose value nobody wants."""
        match node:
            case c_ast.Assignment():
                self.assign(node)
            case c_ast.UnaryOp() if node.op in ("++", "--", "p++", "p--"):
                self._increment(node, wanted=False)
            case c_ast.ExprList():
                for each in node.exprs:
                    self.effects(each)
            case c_ast.FuncCall():
                self.call_for_effect(node)
            case c_ast.Cast() if isinstance(self.type_of(node.to_type), Void):
                self.effects(node.expr)
            case c_ast.TernaryOp() | c_ast.BinaryOp() if node_has_effects(node):
                self.value(node)
            case _:
                self.operand(node)  # what it would refuse is refused; it has no effect

    def assign(self, node: Any, label: str = "") -> Place:
        """An assignment, simple or compound; gives what was assigned."""
        here = self.place(node)
        if node.op == "=":
            target = self.assigned_pointer(node)
            if target is not None:
                return target
            place = self.lvalue(node.lvalue)
            if isinstance(place.type, Structure | ArrayOf):
                source = self.operand(node.rvalue)
                self.copy(place, source, node, label)
                return place
            self.store(place, self.value(node.rvalue), here, label)
            return place
        pointer = self.moving(node.lvalue)
        if pointer is not None and node.op in ("+=", "-="):
            self.step_pointer(pointer, node.op[0], self.value(node.rvalue), node)
            return self.pointed(pointer, node).place
        place = self.lvalue(node.lvalue)
        right = self.value(node.rvalue)
        left = self.load(place, here)
        self.store(place, self.computed(node.op[:-1], left, right, node), here, label)
        return place

    def _increment(self, node: Any, wanted: bool = True, label: str = "") -> Value:
        here = self.place(node)
        pointer = self.moving(node.expr)
        if pointer is not None and not wanted:
            self.step_pointer(pointer, node.op[-1], integer(1), node)
            return integer(0)
        place = self.lvalue(node.expr)
        old = self.load(place, here)
        if wanted and node.op[0] == "p" and isinstance(place.type, Number):
            if place.root not in self.known or place.subscripts:
                kept = self.temporary("old", place.type, here)
                self.store(kept, old, here)
                old = self.load(kept, here)
        self.store(place, self.computed(node.op[-1], old, integer(1), node), here, label)
        return old if node.op[0] == "p" else self.load(place, here)

    @abstractmethod
    def assigned_pointer(self, node: Any) -> Place | None:
        """The memory of a pointer that is assigned, or None if the target is no pointer."""

    @abstractmethod
    def copy(self, target: Place, source: Any, node: Any, label: str = "") -> None:
        """Copies a structure."""

    # Calls -----------------------------------------------------------------------------------

    def _is_defined(self, node: Any) -> bool:
        return isinstance(node.name, c_ast.ID) and node.name.name in self.file.functions

    def call_for_effect(self, node: Any) -> None:
        """A call as a statement."""
        if self._is_defined(node):
            self.call_function(node.name.name, node)
            return
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        if is_known(name):
            self.value(node)
            return
        if name == "free":
            self.free(node)
            return
        if name in ("memset", "memcpy", "memmove"):
            self.memory_call(name, node)
            return
        if self.summarising:
            self.summarise_call(name, node)
            return
        if self.is_opaque(name):
            self.opaque_call(name, node)
            return
        known = name in ("exit", "abort")
        refuse(
            self.place(node),
            self._unknown(name)
            + ("" if known else ", and what it does besides giving a value is not known"),
            self._way_out(name),
        )

    def _way_out(self, name: str) -> str:
        if name in ("exit", "abort"):
            return "return, or assert what has to hold"
        if name in EFFECTS:
            return "define it in the file, or call it outside the scop"
        return f"define it in the file, or give it as tw.c.load(..., externs={{{name!r}: ...}})"

    @abstractmethod
    def is_opaque(self, name: str) -> bool:
        """Whether a function is given whose code is not C of this file."""

    @abstractmethod
    def opaque_call(self, name: str, node: Any) -> Place | None:
        """A call of it; gives where the result is."""

    @abstractmethod
    def extern_of(self, name: str) -> Extern | None:
        """A function of numbers alone, which expressions call."""

    @abstractmethod
    def memory_call(self, name: str, node: Any) -> None:
        """`memset`, `memcpy`, `memmove`."""

    @abstractmethod
    def free(self, node: Any) -> None:
        """`free(p)`: what the array holds is not needed any more."""

    def _foreign_call(self, node: Any) -> Value:
        here = self.place(node)
        if not isinstance(node.name, c_ast.ID):
            refuse(here, "calls by pointers have no translation", "call the function by its name")
        name = node.name.name
        given = node.args.exprs if node.args is not None else []
        pure = self.extern_of(name)
        if pure is not None:
            return self._extern_call(pure, [self.value(each) for each in given], here)
        if self.is_opaque(name) and not self.summarising:
            result = self.opaque_call(name, node)
            if result is None:
                refuse(here, f"{name} gives no value", "its type is void")
            return self.load(result, here)
        if self.summarising and not is_known(name):
            return self.unknown_value(name, node)
        if not is_known(name):
            if name in _ONLY_IN_SUMMARIES:
                refuse(
                    here,
                    f"{name} describes accesses, and has a meaning in summary functions only",
                    "write the code itself here",
                )
            refuse(
                here,
                self._unknown(name),
                self._way_out(name),
            )
        return library_call(name, [self.value(each) for each in given], here, self.libm)

    @abstractmethod
    def summarise_call(self, name: str, node: Any) -> None:
        """What a summary function says by a call: `__pencil_use(x)`, `__pencil_def(x)`, ..."""

    @abstractmethod
    def unknown_value(self, name: str, node: Any) -> Value:
        """The value of a call in a summary function, of which nothing is known."""

    def _unknown(self, name: str) -> str:
        if name in ("exit", "abort"):
            return f"{name} ends the process, which has no translation"
        if name in EFFECTS:
            return f"{name} has no translation"
        if isinstance(self.scope.find(name), FunctionName):
            return f"{name} is declared, and its body is not in the file"
        return f"{name or 'this function'} is not declared"

    def _extern_call(self, function: Extern, arguments: list[Value], here: Any) -> Value:
        name = function.name
        if len(arguments) != len(function.arguments):
            refuse(
                here,
                f"{name} has {counted(len(function.arguments), 'argument')}, not {len(arguments)}",
            )
        operands = tuple(
            converted(value, Number(np.dtype(wanted)), here).tree
            for value, wanted in zip(arguments, function.arguments, strict=True)
        )
        of = Number(np.dtype(function.result))
        return Value(of, Call(function, operands, of.dtype, here))


def node_has_effects(node: Any) -> bool:
    """Whether an expression does something beside giving a value."""
    return any(
        isinstance(each, c_ast.Assignment | c_ast.FuncCall)
        or (isinstance(each, c_ast.UnaryOp) and each.op in ("++", "--", "p++", "p--"))
        for each in nodes(node)
    )
