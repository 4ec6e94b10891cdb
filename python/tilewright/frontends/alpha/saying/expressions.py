"""Expressions of Layer I as expressions of Alpha.

Layer I has a type at each node and casts between them; Alpha has C's conversions and no casts. Where C
converts as the cast does, the cast is left out; else a local variable of the type holds the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import tilewright as tw

from ..conversions import DTYPES, common_type, promoted, type_of
from ..domains import AffineFunction, Domain, fresh_names
from ..linear import Floor, Linear
from ..mathematics import C_FUNCTIONS
from ..presburger import Constraint
from ..tree import (
    Binary,
    Call,
    Case,
    Constant,
    Declaration,
    Dependence,
    Equation,
    Expression,
    External,
    If,
    Index,
    Reduce,
    Restrict,
    System,
    Unary,
    Variable,
)
from .nodes import Node, affine_bounds, affine_condition, affine_value, refuse

__all__ = ["ALPHA_TYPES", "Scope", "Translator", "alpha_type"]

ALPHA_TYPES = {dtype: name for name, dtype in DTYPES.items()}

_ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Min": "min", "Max": "max", "TrueDiv": "/"}
_COMPARED = {"Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">=", "Eq": "==", "Ne": "!="}
_LOGICAL = {
    "And": "and",
    "Or": "or",
    "Xor": "xor",
    "Add": "or",
    "Mul": "and",
    "Max": "or",
    "Min": "and",
}
_REDUCED = {"ReduceSum": "+", "ReduceProd": "*", "ReduceMin": "min", "ReduceMax": "max",
            "ReduceAny": "or", "ReduceAll": "and"}  # fmt: skip
_WORDS = {
    "checked": "Alpha has no subscripts that may be wrong",
    "reduce": "the position of an extremum is no reduction of Alpha",
    "while": "a loop that data end is no equation of Alpha",
    "fold": "a fold is no reduction of Alpha, whose operators are + * min max and or xor",
    "state": "a fold is no reduction of Alpha, whose operators are + * min max and or xor",
}


def alpha_type(dtype: str) -> str:
    """The type of Alpha."""
    return ALPHA_TYPES.get(dtype) or refuse(f"Alpha has no type {dtype}")


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: the names of the indices, and the points.

    Attributes:
        values: what the iterators of Layer I are, by name.
    """

    domain: Domain
    values: dict[str, Linear]

    @property
    def names(self) -> tuple[str, ...]:
        return self.domain.indices

    def within(self, domain: Domain) -> Scope:
        return Scope(self.domain & domain, self.values)


@dataclass
class Translator:
    """Makes expressions, and the locals and external functions that they need.

    Attributes:
        system: with the declarations so far.
        names: of the inputs and computations, by number.
        current: the variable whose equation is made.
    """

    system: System
    names: dict[int, str]
    current: str = ""
    functions: dict[str, object] = field(default_factory=dict)
    added: list[Equation] = field(default_factory=list)

    # ---- types ----

    def typed(self, node: Node, scope: Scope) -> Expression:
        """The value, as an expression whose type in Alpha is that of the node."""
        value = self.natural(node, scope)
        wanted = alpha_type(node.type)
        if type_of(self.system, value) == wanted:
            return value
        if node.type == "int64" and isinstance(value, Constant):
            return Index(AffineFunction(scope.names, (Linear(None, int(value.value)),)))
        return self.local(value, wanted, scope)

    def exact(self, node: Node, scope: Scope) -> Expression:
        """The value, whose type in Alpha may be another one that has the same value."""
        value = self.natural(node, scope)
        kind, wanted = type_of(self.system, value), alpha_type(node.type)
        if kind == wanted or (isinstance(value, Constant | Unary) and _is_literal(value)):
            return value
        return self.local(value, wanted, scope)

    def local(self, value: Expression, kind: str, scope: Scope) -> Expression:
        """A variable of a type that has the value."""
        name = self.system.fresh(f"{self.current}_as_{kind.replace(' ', '_')}")
        declared = Declaration("local", kind, name, scope.domain)
        self.system = System(
            self.system.name, self.system.parameters, (*self.system.declarations, declared),
            (), self.system.externals,
        )  # fmt: skip
        self.added.append(Equation(name, value, scope.names))
        return Variable(name)

    # ---- expressions ----

    def assigned(self, node: Node, scope: Scope) -> Expression:
        """The value of an equation, which converts to the type of its variable."""
        if node.kind == "cast" and node.type != "bool":
            return self.exact(node.operands[0], scope)
        return self.natural(node, scope)

    def natural(self, node: Node, scope: Scope) -> Expression:
        """The value, in the type that Alpha's conversions give it."""
        if node.type == "int64" and node.kind != "constant":
            linear = affine_value(node)
            if linear is not None:
                return Index(AffineFunction(scope.names, (linear.substituted(scope.values),)))
        makers: dict[str, Callable[[Node, Scope], Expression]] = {
            "constant": self.constant, "access": self.access, "unary": self.unary,
            "binary": self.binary, "call": self.call, "cast": self.cast, "select": self.select,
            "reduce": self.reduce, "extern": self.extern,
        }  # fmt: skip
        if node.kind not in makers:
            refuse(_WORDS.get(node.kind, f"{node.kind} is nothing that Alpha says"))
        return makers[node.kind](node, scope)

    def constant(self, node: Node, scope: Scope) -> Expression:
        value = node.value
        if node.name:
            refuse("data decide which elements exist")
        if isinstance(value, complex):
            refuse(f"Alpha has no type {node.type}")
        if isinstance(value, bool):
            return Constant(value)
        if isinstance(value, int):
            return Unary("-", Constant(-value)) if value < 0 else Constant(value)
        single = alpha_type(node.type) == "float"
        if not math.isfinite(value):
            top = Constant(0.0 if math.isnan(value) else 1.0, is_single=single)
            quotient = Binary("/", top, Constant(0.0, is_single=single))
            return Unary("-", quotient) if value < 0 else quotient
        if math.copysign(1.0, value) < 0:
            return Unary("-", Constant(-value, is_single=single))
        return Constant(value, is_single=single)

    def access(self, node: Node, scope: Scope) -> Expression:
        if node.position:
            refuse("it reads one of several states of a fold")
        subscripts: list[Linear] = []
        for each in node.operands:
            linear = affine_value(each)
            if linear is None:
                refuse(f"it reads {self.names[node.producer]} at a place that data give")
            subscripts.append(linear.substituted(scope.values))
        function = AffineFunction(scope.names, tuple(subscripts))
        variable = Variable(self.names[node.producer])
        return variable if function.is_identity else Dependence(function, variable)

    def cast(self, node: Node, scope: Scope) -> Expression:
        (inner,) = node.operands
        value = self.exact(inner, scope)
        alpha_type(node.type)
        if node.type == "bool":
            zero = Constant(0.0) if inner.type.startswith("float") else Constant(0)
            return Binary("!=", value, zero)
        return self.local(value, alpha_type(node.type), scope)

    def operands(self, node: Node, scope: Scope) -> list[Expression]:
        """Two operands of one type in Layer I, which C's conversions bring to that type."""
        wanted = promoted(alpha_type(node.operands[0].type))
        found: list[Expression] = []
        for each in node.operands:
            inner = each.operands[0] if each.kind == "cast" else each
            is_wider = each.kind == "cast" and _is_converted(inner.type, each.type)
            found.append(self.exact(inner if is_wider else each, scope))
        kinds = [type_of(self.system, each) for each in found]
        if common_type(*kinds) == wanted:
            return found
        return [self.typed(each, scope) for each in node.operands]

    def unary(self, node: Node, scope: Scope) -> Expression:
        (inner,) = node.operands
        if node.operation == "Not" and node.type == "bool":
            return Unary("not", self.typed(inner, scope))
        if node.operation == "Neg":
            return Unary("-", self.exact(inner, scope))
        if node.operation == "Abs":
            if node.type.startswith("float"):
                return self.math("fabs", node, scope)
            value = self.exact(inner, scope)
            return If(Binary("<", value, Constant(0)), Unary("-", value), value)
        return refuse(f"Alpha has no operation for {node.operation.lower()} of {node.type}")

    def binary(self, node: Node, scope: Scope) -> Expression:
        first = node.operands[0].type
        if any(each.type != first for each in node.operands):
            refuse(f"Alpha would convert {first} and {node.operands[1].type} to one type")
        if first == "bool" and node.type == "bool" and node.operation in _LOGICAL:
            return Binary(_LOGICAL[node.operation], *(self.typed(e, scope) for e in node.operands))
        if node.operation in _COMPARED:
            return Binary(_COMPARED[node.operation], *self.operands(node, scope))
        if node.operation in _ARITHMETIC and first != "bool":
            return Binary(_ARITHMETIC[node.operation], *self.operands(node, scope))
        if node.operation in ("FloorDiv", "Mod") and first in ("int32", "int64"):
            return self.rounded_down(node, scope)
        if node.operation == "Pow" and node.type in ("float32", "float64"):
            return self.math("pow", node, scope)
        return refuse(f"Alpha has no operation for {_spelled(node)} of {first}")

    def rounded_down(self, node: Node, scope: Scope) -> Expression:
        """Division and remainder that round down, of those that round towards zero."""
        a, b = self.operands(node, scope)
        rest, zero = Binary("%", a, b), Constant(0)
        apart = Binary("!=", Binary("<", a, zero), Binary("<", b, zero))
        changes = Binary("and", Binary("!=", rest, zero), apart)
        if node.operation == "Mod":
            return If(changes, Binary("+", rest, b), rest)
        quotient = Binary("/", a, b)
        return If(changes, Binary("-", quotient, Constant(1)), quotient)

    def call(self, node: Node, scope: Scope) -> Expression:
        if node.operation in ("TruncatedDivide", "Fmod") and node.type in ("int32", "int64"):
            return Binary("/" if node.operation[0] == "T" else "%", *self.operands(node, scope))
        if node.operation in ("Fmin", "Fmax") and "int" in node.type:
            return Binary(node.operation[1:].lower(), *self.operands(node, scope))
        if node.operation == "Isnan":
            value = self.exact(node.operands[0], scope)
            return Binary("!=", value, value)
        name = C_FUNCTIONS.get(node.operation.lower())
        if name is None or node.type not in ("float32", "float64"):
            refuse(f"Alpha has no function {node.operation.lower()} of {node.operands[0].type}")
        return self.math(name, node, scope)

    def math(self, name: str, node: Node, scope: Scope) -> Expression:
        """A function of C's library."""
        kind = alpha_type(node.type)
        name = name if kind == "double" else f"{name}f"
        if any(each.type != node.type for each in node.operands):
            refuse(f"{name} takes arguments of one type")
        self.declare(External(kind, name, (kind,) * len(node.operands)))
        return Call(name, tuple(self.typed(each, scope) for each in node.operands))

    def declare(self, external: External) -> None:
        if external.name in {each.name for each in self.system.declarations}:
            refuse(f"{external.name} is a function of C, and an array has its name")
        if external not in self.system.externals:
            self.system = System(
                self.system.name, self.system.parameters, self.system.declarations, (),
                (*self.system.externals, external),
            )  # fmt: skip

    def extern(self, node: Node, scope: Scope) -> Expression:
        handle = node.external
        if handle is None or handle.is_block:
            refuse("a block of code is no function of Alpha")
        kinds = tuple(map(alpha_type, handle.arguments))
        self.declare(External(alpha_type(handle.result), handle.name, kinds))
        self.functions[handle.name] = tw.Extern(handle)
        return Call(handle.name, tuple(self.typed(each, scope) for each in node.operands))

    def select(self, node: Node, scope: Scope) -> Expression:
        condition, *branches = node.operands
        domain = affine_condition(condition, tuple(scope.values))
        if domain is None:
            values = [self.exact(each, scope) for each in branches]
            return If(self.typed(condition, scope), values[0], values[1])
        where = self.placed(domain, scope)
        parts = [where & scope.domain, scope.domain - where]
        chosen = [
            (part, branch)
            for part, branch in zip(parts, branches, strict=True)
            if not part.is_empty
        ]
        if len(chosen) < 2:
            return self.exact((chosen or [(where, branches[1])])[0][1], scope)
        return Case(
            tuple(
                Restrict(part.gist(scope.domain), self.exact(each, scope.within(part)))
                for part, each in chosen
            )
        )

    def placed(self, domain: Domain, scope: Scope) -> Domain:
        """A domain over iterators, over the indices of a scope."""
        parts = [[each.substituted(scope.values) for each in part] for part in domain.parts]
        return Domain.where(scope.names, parts)

    # ---- reductions ----

    def reduce(self, node: Node, scope: Scope) -> Expression:
        operator = _REDUCED.get(node.operation) or refuse(_WORDS["reduce"])
        if node.is_ordered and node.type.startswith("float"):
            refuse("its sum keeps the order of its terms, and reductions of Alpha have none")
        inner = self.body_scope(node, scope)
        kept = AffineFunction(inner.names, tuple(map(Linear.of, inner.names[: len(scope.names)])))
        (term,) = node.operands
        value = self.typed(term, inner)
        if node.predicate is not None:
            other = self.identity(node, operator)
            value = If(self.typed(node.predicate, inner), value, other)
        around = scope.domain.preimage(kept)
        reduced: Expression = Reduce(operator, kept, Restrict(inner.domain.gist(around), value))
        there = inner.domain.image(kept, scope.names)
        missing = scope.domain - there
        if missing.is_empty:
            return reduced
        if (scope.domain & there).is_empty:
            return self.identity(node, operator)
        return Case(
            (
                Restrict(there.gist(scope.domain), reduced),
                Restrict(missing.gist(scope.domain), self.identity(node, operator)),
            )
        )

    def body_scope(self, node: Node, scope: Scope) -> Scope:
        """The indices of a reduction's body: those around it, and its own."""
        taken = set(self.system.parameters.indices) | set(scope.names)
        own = fresh_names([name for name, *_ in node.ranges], taken)
        names = (*scope.names, *own)
        values = dict(scope.values)
        constraints: list[Constraint] = []
        for (iterator, lower, upper, step), name in zip(node.ranges, own, strict=True):
            lows = [each.substituted(values) for each in affine_bounds(lower, "Max")]
            highs = [each.substituted(values) for each in affine_bounds(upper, "Min")]
            if not lows or not highs or (step != 1 and len(lows) > 1):
                refuse("data bound its reduction")
            here = Linear.of(name)
            values[iterator] = here
            constraints += [Constraint(here - low, False) for low in lows]
            constraints += [Constraint(high - here - Linear(None, 1), False) for high in highs]
            if step != 1:
                constraints.append(_multiple(here - lows[0], step))
        outer = [[*part, *constraints] for part in scope.domain.parts]
        inner = Scope(Domain.where(names, outer), values)
        if node.condition is None:
            return inner
        condition = affine_condition(node.condition, tuple(values))
        if condition is None:
            refuse("data decide which terms its reduction has")
        return inner.within(self.placed(condition, inner))

    def identity(self, node: Node, operator: str) -> Expression:
        """What an empty reduction is."""
        if operator in ("and", "or"):
            return Constant(operator == "and")
        single = node.type == "float32"
        if operator in ("+", "*"):
            number = 0 if operator == "+" else 1
            return (
                Constant(float(number), is_single=single)
                if "float" in node.type
                else Constant(number)
            )
        if "float" in node.type:
            infinity = Binary("/", Constant(1.0, is_single=single), Constant(0.0, is_single=single))
            return infinity if operator == "min" else Unary("-", infinity)
        if node.type == "bool":
            return Constant(operator == "min")
        largest = int(np.iinfo(node.type).max)
        if operator == "min":
            return Constant(largest, suffix="UL" if node.type == "uint64" else "")
        if np.iinfo(node.type).min == 0:
            return Constant(0)
        return Binary("-", Unary("-", Constant(largest)), Constant(1))


def _multiple(linear: Linear, step: int) -> Constraint:
    return Constraint(linear - Linear({Floor(linear, step): step}), True)


def _is_literal(value: Expression) -> bool:
    return isinstance(value, Constant) or (
        isinstance(value, Unary) and isinstance(value.body, Constant)
    )


def _is_converted(source: str, target: str) -> bool:
    """Whether C's usual conversions bring one type to the other as a cast does."""
    order: Sequence[str] = list(DTYPES.values())
    if source not in order or target not in order or source == "bool":
        return False
    return order.index(source) < order.index(target)


def _spelled(node: Node) -> str:
    words = {
        "And": "&",
        "Or": "|",
        "Xor": "^",
        "Shl": "<<",
        "Shr": ">>",
        "FloorDiv": "//",
        "Mod": "%",
    }
    return words.get(node.operation, node.operation.lower())
