"""Programs without jumps: `continue`, `break` and `return` become conditions.

What follows a jump runs where it was not taken (if-conversion: Allen et al., "Conversion of control
dependence to data dependence", POPL 1983). A loop that may be left keeps a truth value, whether it was,
which guards the rest of its iterations: a recurrence over bools like any other.

Before::

    for i in range(N):
        if A[i] < 0:
            break
        B[i] = A[i]

After::

    left = False
    for i in range(N):
        if not left:
            if A[i] < 0:
                left = True
            else:
                B[i] = A[i]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import tree
from .refusals import refuse
from .whiles import is_endless

__all__ = ["without_jumps"]

_BOOL = np.dtype(np.bool_)
_JUMPS = (tree.Break, tree.Continue, tree.Return)


def without_jumps(program: tree.Program) -> tuple[tree.Program, frozenset[str]]:
    """The same program without `Break`, `Continue` and `Return`, and the truth values it keeps.

    Those are set where the rest of an iteration does not run, so that a statement may ask for them
    when it runs as well as when its iteration begins.

    Args:
        program: without `While` (see `whiles`).

    Raises:
        TranslationError: a jump outside of loops.
    """
    if not any(isinstance(statement, _JUMPS) for statement in tree.walk(program.body)):
        return program, frozenset()
    pass_ = _Pass(program)
    body = pass_.block(program.body, ())
    declared = [pass_.assign(name, False, program.location) for name in pass_.at_start]
    made = replace(program, body=(*declared, *body), arrays={**program.arrays, **pass_.flags})
    return made, frozenset(pass_.flags)


@dataclass
class _Loop:
    """A loop around a statement.

    Attributes:
        left: the truth value that says that `break` was taken; "" in loops without one.
        continued: the truth value that says that `continue` was, where it is needed.
        pending: how many choices around, inside of the loop, have something behind them that a
            `continue` in them skips.
    """

    left: str = ""
    continued: str = ""
    pending: int = 0


class _Pass:
    """Each jump sets one truth value; what it skips asks for that one."""

    def __init__(self, program: tree.Program) -> None:
        self.program = program
        self.taken = set(program.arrays) | set(program.parameters)
        self.flags: dict[str, tree.Array] = {}
        self.at_start: list[str] = []
        self.returned: str | None = None

    # ---- truth values ----

    def flag(self, wanted: str, location: tree.Location) -> str:
        name = wanted
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.flags[name] = tree.Array(name, _BOOL, (), location, local=True)
        return name

    def assign(self, flag: str, value: bool, location: tree.Location) -> tree.Assign:
        target = tree.Read(flag, (), _BOOL, location)
        label = f"{flag}_set" if value else f"{flag}_reset"
        return tree.Assign(target, tree.Literal(value, _BOOL), label, location)

    def unless(
        self, flags: list[str], body: tuple[tree.Statement, ...], location: tree.Location
    ) -> tuple[tree.Statement, ...]:
        for flag in flags if body else ():
            read = tree.Read(flag, (), _BOOL, location)
            test = tree.Operation("~", (read,), _BOOL, location)
            body = (tree.If(test, body, (), location),)
        return body

    def return_flag(self) -> str:
        if self.returned is None:
            self.returned = self.flag("returned", self.program.location)
            self.at_start.append(self.returned)
        return self.returned

    def skipping(self, jumps: set[type], loops: tuple[_Loop, ...]) -> list[str]:
        """The truth values that such jumps set."""
        flags = [self.return_flag()] if tree.Return in jumps else []
        if tree.Break in jumps and loops:
            flags.append(loops[-1].left)
        if tree.Continue in jumps and loops:
            flags.append(loops[-1].continued)
        return flags

    # ---- statements ----

    def block(
        self, statements: tuple[tree.Statement, ...], loops: tuple[_Loop, ...]
    ) -> tuple[tree.Statement, ...]:
        made: list[tree.Statement] = []
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(statement, _JUMPS):
                return (*made, *self.jump(statement, loops))
            if isinstance(statement, tree.For):
                made += self.loop(statement, loops)
                if _jumps((statement,)):
                    following = self.block(rest, loops)
                    return (
                        *made,
                        *self.unless([self.return_flag()], following, statement.location),
                    )
            elif isinstance(statement, tree.If) and _jumps((statement,)):
                return (*made, *self.branch(statement, rest, loops))
            elif isinstance(statement, tree.If):
                made += self.branch(statement, (), loops)
            else:
                made.append(statement)
        return tuple(made)

    def branch(
        self, branch: tree.If, rest: tuple[tree.Statement, ...], loops: tuple[_Loop, ...]
    ) -> tuple[tree.Statement, ...]:
        """A choice that may jump, and what follows it."""
        first, second = branch.body, branch.otherwise
        if _ends(first):
            second, rest = (*second, *rest), ()
        elif _ends(second):
            first, rest = (*first, *rest), ()
        jumps = _jumps((branch,))
        waits = bool(rest) and tree.Continue in jumps and bool(loops)
        if waits:
            loop = loops[-1]
            loop.pending += 1
            loop.continued = loop.continued or self.flag("continued", branch.location)
        made = replace(branch, body=self.block(first, loops), otherwise=self.block(second, loops))
        if waits:
            loops[-1].pending -= 1
        if not rest:
            return (made,)
        following = self.block(rest, loops)
        return (made, *self.unless(self.skipping(jumps, loops), following, branch.location))

    def jump(self, jump: tree.Statement, loops: tuple[_Loop, ...]) -> tuple[tree.Statement, ...]:
        if isinstance(jump, tree.Return):
            return (self.assign(self.return_flag(), True, jump.location),)
        if not loops:
            word = "break" if isinstance(jump, tree.Break) else "continue"
            refuse(jump.location, f"{word} stands outside of loops")
        if isinstance(jump, tree.Break):
            return (self.assign(loops[-1].left, True, jump.location),)
        return (self.assign(loops[-1].continued, True, jump.location),) if loops[-1].pending else ()

    def loop(self, loop: tree.For, loops: tuple[_Loop, ...]) -> tuple[tree.Statement, ...]:
        jumps = _jumps(loop.body)
        inner = _Loop()
        # The compiler leaves an endless loop by its own flag, which therefore says so of a return, too.
        is_left_by_return = is_endless(loop) and tree.Return in jumps
        if tree.Break in jumps or is_left_by_return:
            inner.left = self.flag(f"left_{loop.label}", loop.location)
        body = self.block(loop.body, (*loops, inner))
        if inner.continued:
            body = (self.assign(inner.continued, False, loop.location), *body)
        flags = self.skipping(jumps - {tree.Continue}, (inner,))
        if inner.left and inner.left not in flags:
            flags.append(inner.left)
        body = self.unless(flags, body, loop.location)
        if is_left_by_return:
            returned = tree.Read(self.return_flag(), (), _BOOL, loop.location)
            leave = self.assign(inner.left, True, loop.location)
            body = (*body, tree.If(returned, (leave,), (), loop.location))
        made = replace(loop, body=body)
        return (self.assign(inner.left, False, loop.location), made) if inner.left else (made,)


def _jumps(statements: tuple[tree.Statement, ...]) -> set[type]:
    """The kinds of jumps that leave the statements other than at their end."""
    found: set[type] = set()
    for one in statements:
        match one:
            case tree.Break() | tree.Continue() | tree.Return():
                found.add(type(one))
            case tree.If():
                found |= _jumps((*one.body, *one.otherwise))
            case tree.For():
                found |= _jumps(one.body) & {tree.Return}
    return found


def _ends(statements: tuple[tree.Statement, ...]) -> bool:
    """Whether control never reaches what follows."""
    for one in statements:
        match one:
            case tree.Break() | tree.Continue() | tree.Return():
                return True
            case tree.If() if _ends(one.body) and _ends(one.otherwise):
                return True
    return False
