"""C statements: declarations, blocks, `if`, `switch`, loops, `break`, `continue`, `return`, labels,
PENCIL's statements and pragmas.

A `switch` becomes a chain of `if`. Labels name statements (`S1: x = 0;`). Jumps forward are conditions here
already (`jumps`).
"""

from __future__ import annotations

import re
from typing import Any

from pycparser import c_ast

from ..tree import (
    Assume,
    Break,
    Continue,
    Expression,
    If,
    Literal,
    Return,
)
from .c_types import (
    BOOL,
    Structure,
    is_integer,
    promoted,
)
from .jumps import arms_of
from .loop_syntax import Promise
from .memory_calls import MemoryCalls
from .refusals import refuse
from .state import is_static
from .values import (
    Place,
    Value,
    compared,
    converted,
    extended,
    index_condition,
    integer,
    selected,
)

__all__ = ["Statements"]


class Statements(MemoryCalls):
    """Translates statements."""

    def statement(self, node: Any, label: str = "") -> None:
        """Translates a statement. `label` names what it writes."""
        match node:
            case None | c_ast.EmptyStatement():
                pass
            case c_ast.Compound():
                with self.inner_scope():
                    self.sequence(node.block_items or [], label)
            case c_ast.Decl():
                self.declare_local(node)
            case c_ast.DeclList():
                for each in node.decls:
                    self.declare_local(each)
            case c_ast.Typedef():
                self.declare_type(node)
            case c_ast.Pragma():
                self._stray_pragma(node)
            case c_ast.Label():
                self.statement(node.stmt, node.name)
            case c_ast.Assignment():
                self.assign(node, label)
            case c_ast.UnaryOp() if node.op in ("++", "--", "p++", "p--"):
                self._increment(node, wanted=False, label=label)
            case c_ast.FuncCall():
                self._call_statement(node)
            case _:
                self._control(node, label)

    def _control(self, node: Any, label: str) -> None:
        here = self.place(node)
        match node:
            case c_ast.If():
                self._if(node, label)
            case c_ast.For():
                self.loop(node, None, label)
            case c_ast.While():
                self.while_statement(node, label)
            case c_ast.DoWhile():
                self.while_loop(node.cond, node.stmt, [], node, label, True)
            case c_ast.Switch():
                self._switch(node)
            case c_ast.Break():
                self._break(node)
            case c_ast.Continue():
                self._continue(node)
            case c_ast.Return():
                self.leave(node)
            case c_ast.Goto():
                refuse(
                    here, "this goto has no translation", "use for, while, if, break and continue"
                )
            case c_ast.Case() | c_ast.Default():
                refuse(here, "this label stands outside a switch")
            case c_ast.StaticAssert():
                if not self.constant(node.cond):
                    refuse(here, "this static assertion fails")
            case _:
                self.effects(node)

    def sequence(self, items: list[Any], label: str = "") -> None:
        """Statements in order, with pragmas before loops."""
        promise: Promise | None = None
        for at, node in enumerate(items):
            if isinstance(node, c_ast.Pragma):
                found = self._pragma(node)
                promise = found or promise
                continue
            if promise is None:
                self.statement(node, label)
                if self.cases is not None:
                    self.settle(items[at + 1 :], label, node)
                    return
                continue
            name = label
            while isinstance(node, c_ast.Label):
                name, node = node.name, node.stmt
            if not isinstance(node, c_ast.For):
                refuse(
                    promise.location,
                    "behind this pragma stands no for loop",
                    "write it directly before the loop",
                )
            self.loop(node, promise, name)
            promise = None
        if promise is not None:
            refuse(
                promise.location,
                "behind this pragma stands no for loop",
                "write it directly before the loop",
            )

    # Pragmas ----------------------------------------------------------------------------------

    def _pragma(self, node: Any) -> Promise | None:
        words = (node.string or "").strip()
        here = self.place(node)
        if not words.startswith("pencil"):
            return None  # scop and endscop are found by `scops`; others mean nothing
        rest = words[len("pencil") :].strip()
        if not rest.startswith("independent"):
            refuse(here, f"there is no pragma pencil {rest}", "there is pragma pencil independent")
        rest = rest[len("independent") :].strip()
        reduction = re.fullmatch(r"reduction\s*\(\s*[-+*/&|^\w]+\s*:\s*([\w\s,]*)\)", rest)
        if reduction:
            return Promise((), _words(reduction[1]), here)
        arrays = re.fullmatch(r"\(([\w\s,]*)\)", rest) if rest else None
        if rest and arrays is None:
            refuse(
                here,
                f"{rest} is not understood behind independent",
                "write independent, independent(A, B) or independent reduction(+: s)",
            )
        return Promise(_words(arrays[1]) if arrays else (), (), here)

    def _stray_pragma(self, node: Any) -> None:
        if self._pragma(node) is not None:
            refuse(
                self.place(node),
                "behind this pragma stands no for loop",
                "write it directly before the loop",
            )

    # Control ----------------------------------------------------------------------------------

    def _if(self, node: Any, label: str) -> None:
        here = self.place(node)
        condition = self.condition(node.cond)
        before, meanings = dict(self.known), self.meanings()
        with self.block() as if_true, self.inner_scope():
            self.statement(node.iftrue, label)
            self.settle((), "", node.iftrue)
        first = self.meanings()
        self.known = dict(before)
        self.mean(meanings)
        with self.block() as if_false, self.inner_scope():
            self.statement(node.iffalse, label)
            self.settle((), "", node.iffalse)
        self.known = before
        for each in (node.iftrue, node.iffalse):
            self.forget(each)
        self.branch(condition, if_true, if_false, (meanings, first, self.meanings()), here)

    def _switch(self, node: Any) -> None:
        here = self.place(node)
        value = self.value(node.cond)
        if not is_integer(value.type):
            refuse(here, f"switch asks for an integer, not {value.type}")
        value = converted(value, promoted(value.type), here)
        if not is_static(value.tree):
            kept = self.temporary("switch", value.type, here)
            self.store(kept, value, here)
            value = self.load(kept, here)
        arms = arms_of(node, self.file)
        self.forget(node.stmt)
        seen: set[int] = set()
        written: list[tuple[Expression | None, tuple[Any, ...]]] = []
        before = dict(self.known)
        for labels, body in arms:
            condition: Expression | None = None
            for each in labels:
                if isinstance(each, c_ast.Default):
                    condition = None
                    break
                number = extended(converted(self._case(each), value.type, here).tree)
                assert number is not None
                if number in seen:
                    refuse(self.place(each), f"the case {number} stands twice in this switch")
                seen.add(number)
                this = compared("==", value, integer(number, value.type), value.type, here)
                either = Literal(True, BOOL.dtype)
                condition = (
                    this if condition is None else selected(condition, either, this, BOOL.dtype)
                )
            self.known = dict(before)
            meanings = self.meanings()
            with self.block() as statements, self.inner_scope():
                self.sequence(body)
            self.unchanged(meanings, node, "in a switch")
            is_default = any(isinstance(each, c_ast.Default) for each in labels)
            written.append((None if is_default else condition, tuple(statements)))
        self.known = before
        self.forget(node.stmt)
        rest: tuple[Any, ...] = ()
        for condition, arm in written:
            if condition is None:
                rest = arm
        for condition, arm in reversed(written):
            if condition is not None:
                rest = (If(condition, arm, rest, here),)
        for statement in rest:
            self.emit(statement)

    def _case(self, node: Any) -> Value:
        self.constant(node.expr)
        return self.value(node.expr)

    def _break(self, node: Any) -> None:
        if not self.loops:
            refuse(self.place(node), "break stands outside loops and switches")
        self.emit(Break(self.place(node)))

    def _continue(self, node: Any) -> None:
        if not self.loops:
            refuse(self.place(node), "continue stands outside loops")
        known = dict(self.known)
        self.loops[-1].before_continue()
        self.known = known
        self.emit(Continue(self.place(node)))

    def leave(self, node: Any) -> None:
        """A `return` of the program's function; those of inlined functions are `inlining`'s."""
        here = self.place(node)
        frame = self.frames[-1]
        if node.expr is not None:
            if frame.result is None:
                refuse(here, f"{frame.function} is void and returns a value")
            self._set_result(frame.result, node)
        elif frame.result is not None:
            refuse(
                here,
                f"{frame.function} returns a {frame.result_type}, and here nothing",
                "return a value",
            )
        if not frame.inlined and id(node) not in frame.last:
            self.emit(Return(here))

    def _set_result(self, result: Place, node: Any) -> None:
        here = self.place(node)
        if isinstance(result.type, Structure):
            self.copy(result, self.operand(node.expr), node)
        else:
            self.store(result, self.value(node.expr), here)

    # PENCIL -----------------------------------------------------------------------------------

    def _call_statement(self, node: Any) -> None:
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        arguments = node.args.exprs if node.args is not None else []
        here = self.place(node)
        if name == "__pencil_assume":
            if len(arguments) != 1:
                refuse(here, "__pencil_assume has one argument, a condition")
            condition = self.condition(arguments[0])
            if isinstance(condition, Literal):
                if not condition.value:
                    refuse(here, "this assumption never holds")
                return
            self.emit(Assume(index_condition(condition), here, checked=True))
        elif name == "__pencil_kill":
            for each in arguments:
                self._kill_argument(each)
        else:
            self.effects(node)


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text))
