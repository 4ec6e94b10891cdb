"""Calls of opaque functions that run only sometimes: every iteration makes the call, and a truth value says
whether the function is run.

Dataflow knows blocks that run in each iteration of loops that count by one. A condition around a call
is evaluated first; it guards what stands before and behind the call, and is handed to the call itself.
A loop with a step counts its turns.

Before::

    for i in range(0, N, 2):
        if A[i] > 0:
            B[i] = 1
            call(B)
            C[i] = B[i]

After::

    for turn in range((N + 1) // 2):
        holds = A[2 * turn] > 0
        if holds: B[2 * turn] = 1
        call(B) if holds
        if holds: C[2 * turn] = B[2 * turn]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import tree
from .refusals import refuse
from .rewriting import rewritten

__all__ = ["has_blocks", "with_calls_everywhere"]

_BOOL = np.dtype(np.bool_)
_INDEX = np.dtype(np.int64)


def with_calls_everywhere(
    program: tree.Program, limits: frozenset[str] = frozenset()
) -> tree.Program:
    """The same program with no block behind a condition or in a loop with a step.

    Args:
        program: without jumps and `While` (see `control`).
        limits: parameters that stand for numbers of iterations that nobody knows.

    Raises:
        TranslationError: for a block in a loop with such a limit.
    """
    if not has_blocks(program.body):
        return program
    pass_ = _Pass(program, limits)
    body = pass_.block(program.body, ())
    return replace(program, body=body, arrays={**program.arrays, **pass_.flags})


def has_blocks(statements: tuple[tree.Statement, ...]) -> bool:
    """Whether opaque functions are called there."""
    return any(isinstance(each, tree.Block) for each in tree.walk(statements))


class _Pass:
    def __init__(self, program: tree.Program, limits: frozenset[str]) -> None:
        self.limits = limits
        self.taken = set(program.arrays) | set(program.parameters)
        self.flags: dict[str, tree.Array] = {}

    def block(
        self, statements: tuple[tree.Statement, ...], tests: tuple[tree.Expression, ...]
    ) -> tuple[tree.Statement, ...]:
        """The statements where all of `tests` hold, which none of them changes."""
        made: list[tree.Statement] = []
        plain: list[tree.Statement] = []

        def flush() -> None:
            made.extend(_where(tests, tuple(plain)))
            plain.clear()

        for statement in statements:
            if not has_blocks((statement,)):
                plain.append(statement)
                continue
            flush()
            match statement:
                case tree.Block():
                    made += self.call(statement, tests)
                case tree.For():
                    made.append(self.loop(statement, tests))
                case tree.If():
                    made += self.branch(statement, tests)
                case _:
                    made.extend(_where(tests, (statement,)))
        flush()
        return tuple(made)

    def flag(
        self, wanted: str, value: tree.Expression, tests: tuple[tree.Expression, ...], here: Any
    ) -> tuple[tree.Read, list[tree.Statement]]:
        """A variable that is whether a condition holds under others, and how it is set."""
        name = wanted
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.flags[name] = tree.Array(name, _BOOL, (), here, local=True)
        read = tree.Read(name, (), _BOOL, here)
        if not tests:
            return read, [tree.Assign(read, value, f"{name}_is", here)]
        reset = tree.Assign(read, tree.Literal(False, _BOOL), f"{name}_reset", here)
        return read, [reset, *_where(tests, (tree.Assign(read, value, f"{name}_is", here),))]

    def call(self, block: tree.Block, tests: tuple[tree.Expression, ...]) -> list[tree.Statement]:
        if not tests:
            return [block]
        always = tree.Literal(True, _BOOL)
        runs, made = self.flag(f"{block.label}_runs", always, tests, block.location)
        function = _Sometimes(block.function, len(block.reads))
        return [*made, replace(block, function=function, reads=(runs.array, *block.reads))]

    def loop(self, loop: tree.For, tests: tuple[tree.Expression, ...]) -> tree.Statement:
        if any(_names(end) & self.limits for end in (loop.start, loop.stop)):
            block = next(each for each in tree.walk((loop,)) if isinstance(each, tree.Block))
            refuse(
                block.location,
                f"{block.called} is called in a loop that data end",
                "call it in a loop over range(n)",
            )
        if loop.step == 1:
            return replace(loop, body=self.block(loop.body, tests))
        here = loop.location

        def index(name: str, *operands: tree.Expression) -> tree.Expression:
            return tree.Operation(name, operands, _INDEX, here)

        def number(value: int) -> tree.Expression:
            return tree.Literal(value, _INDEX)

        begin, end = (loop.start, loop.stop) if loop.step > 0 else (loop.stop, loop.start)
        size = abs(loop.step)
        turns = index("//", index("+", index("-", end, begin), number(size - 1)), number(size))
        here_is = index("+", loop.start, index("*", loop.iterator, number(loop.step)))

        body = rewritten(loop.body, lambda part: here_is if part == loop.iterator else None)
        return replace(loop, start=number(0), stop=turns, step=1, body=self.block(body, tests))

    def branch(self, branch: tree.If, tests: tuple[tree.Expression, ...]) -> list[tree.Statement]:
        here = branch.location
        no = tree.Operation("~", (branch.condition,), _BOOL, here)
        if not _reads(branch.condition):
            return [
                *self.block(branch.body, (*tests, branch.condition)),
                *self.block(branch.otherwise, (*tests, no)),
            ]
        holds, made = self.flag("holds", branch.condition, tests, here)
        otherwise: list[tree.Statement] = []
        if branch.otherwise:
            fails, more = self.flag("fails", no, tests, here)
            made += more
            otherwise = list(self.block(branch.otherwise, (fails,)))
        return [*made, *self.block(branch.body, (holds,)), *otherwise]


class _Sometimes:
    """A block's function that runs where the first array that it reads is true."""

    def __init__(self, function: Callable[..., None], reads: int) -> None:
        self.function = function
        self.reads = reads

    def __call__(self, runs: np.ndarray, *arrays: np.ndarray) -> None:
        if runs[()]:
            self.function(*arrays)
        else:
            for each in arrays[self.reads :]:
                each[...] = 0


def _where(
    tests: tuple[tree.Expression, ...], body: tuple[tree.Statement, ...]
) -> tuple[tree.Statement, ...]:
    if not body:
        return ()
    for test in reversed(tests):
        body = (tree.If(test, body, (), body[0].location),)
    return body


def _names(expression: tree.Expression) -> set[str]:
    found = {expression.name} if isinstance(expression, tree.Variable) else set()
    return found.union(*map(_names, tree.parts_of(expression)))


def _reads(expression: tree.Expression) -> bool:
    is_read = isinstance(expression, tree.Read | tree.Call | tree.Reduce)
    return is_read or any(map(_reads, tree.parts_of(expression)))
