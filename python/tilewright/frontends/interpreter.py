"""Runs a statement tree in order, one NumPy scalar after the other: what a program means.

It is the oracle of every door and of the dataflow: it knows neither dependences nor schedules. Values are
those of Layer I, whose operations it asks the evaluator for where NumPy has no scalar of the same
meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from ..base.errors import AnalysisLimitError
from . import tree

__all__ = ["interpret", "most_iterations"]


class _Left(Exception):
    """A loop, an iteration or the function is left."""

    def __init__(self, how: type) -> None:
        self.how = how


def _floor_divide(a: Any, b: Any) -> Any:
    return np.zeros_like(a)[()] if a.dtype.kind in "iu" and b == 0 else np.floor_divide(a, b)


def _remainder(a: Any, b: Any) -> Any:
    return np.zeros_like(a)[()] if a.dtype.kind in "iu" and b == 0 else np.remainder(a, b)


def _truncated_divide(a: Any, b: Any) -> Any:
    if a.dtype.kind not in "iu":
        return np.trunc(a / b)
    if b == 0:
        return np.zeros_like(a)[()]
    quotient = abs(int(a)) // abs(int(b))
    return a.dtype.type(quotient if (a < 0) == (b < 0) else -quotient)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": _floor_divide,
    "%": _remainder,
    "**": np.power,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "~": np.invert,
    "neg": np.negative,
    "truncated_divide": _truncated_divide,
}


def interpret(program: tree.Program, arguments: Mapping[str, Any], steps: int = 1_000_000) -> None:
    """Runs a program on arrays, in place.

    Args:
        program: the tree.
        arguments: integers for its parameters and NumPy arrays for its arrays, by name.
        steps: the most statements that are run.

    Raises:
        IndexError: a subscript is outside its array.
        RuntimeError: more statements than `steps`.
    """
    run = _Run(program, arguments, steps)
    with np.errstate(all="ignore"):
        try:
            run.block(program.body)
        except _Left:
            return


def most_iterations(program: tree.Program, arguments: Mapping[str, Any]) -> int:
    """The largest number of iterations that a loop of the program makes on copies of these arrays.

    Args:
        program, arguments: as of `interpret`; arrays that are missing are zeros.

    Raises:
        AnalysisLimitError: it would take too long to run.
    """
    given = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    for name in program.parameters:
        given.setdefault(name, 0)
    for name, array in program.arrays.items():
        if name not in given and not array.local:
            given[name] = np.zeros((), array.dtype)
    run = _Run(program, given, _STEPS)
    try:
        with np.errstate(all="ignore"):
            run.block(program.body)
    except _Left:
        pass
    except RuntimeError as error:
        raise AnalysisLimitError(f"{error}: too many for the evaluator") from None
    return run.most


_STEPS = 1_000_000


class _Run:
    def __init__(self, program: tree.Program, arguments: Mapping[str, Any], steps: int) -> None:
        self.left = steps
        self.most = 0
        self.variables = {name: int(arguments[name]) for name in program.parameters}
        self.arrays: dict[str, Any] = {}
        for name, array in program.arrays.items():
            if array.local:
                shape = [int(self.value(extent)) for extent in array.shape]
                self.arrays[name] = np.zeros(shape, array.dtype)
            else:
                self.arrays[name] = arguments[name]

    def block(self, statements: tuple[tree.Statement, ...]) -> None:
        for statement in statements:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError(f"{statement.location}: too many statements are run")
            self.statement(statement)

    def statement(self, statement: tree.Statement) -> None:
        match statement:
            case tree.Assign():
                value = self.value(statement.value)
                self.arrays[statement.target.array][self.place(statement.target)] = value
            case tree.For():
                first, behind = int(self.value(statement.start)), int(self.value(statement.stop))
                for turn, value in enumerate(range(first, behind, statement.step)):
                    self.most = max(self.most, turn + 1)
                    self.variables[statement.iterator.name] = value
                    if not self.iteration(statement.body):
                        return
            case tree.While():
                turn = 0
                while self.value(statement.condition):
                    turn += 1
                    self.most = max(self.most, turn)
                    if not self.iteration(statement.body):
                        return
            case tree.If():
                holds = self.value(statement.condition)
                self.block(statement.body if holds else statement.otherwise)
            case tree.Block():
                given = [self.arrays[name].copy() for name in statement.reads]
                statement.function(*given, *(self.arrays[name] for name in statement.writes))
            case tree.Break() | tree.Continue() | tree.Return():
                raise _Left(type(statement))

    def iteration(self, body: tuple[tree.Statement, ...]) -> bool:
        """Whether the loop goes on."""
        try:
            self.block(body)
        except _Left as left:
            if left.how is tree.Return:
                raise
            return left.how is tree.Continue
        return True

    def place(self, read: tree.Read) -> tuple[int, ...]:
        subscripts = tuple(int(self.value(subscript)) for subscript in read.subscripts)
        shape = self.arrays[read.array].shape
        if any(not 0 <= at < extent for at, extent in zip(subscripts, shape, strict=True)):
            raise IndexError(f"{read.location}: {read.array}{list(subscripts)} of shape {shape}")
        return subscripts

    def value(self, expression: tree.Expression) -> Any:
        match expression:
            case tree.Literal():
                return expression.dtype.type(expression.value)
            case tree.Variable():
                return np.int64(self.variables[expression.name]).astype(expression.dtype)
            case tree.Read():
                return self.arrays[expression.array][self.place(expression)]
            case tree.Convert():
                return self.value(expression.value).astype(expression.dtype)
            case tree.Select():
                holds = self.value(expression.condition)
                return self.value(expression.if_true if holds else expression.if_false)
            case tree.Call():
                given = [self.value(argument).item() for argument in expression.arguments]
                function: Any = expression.function
                return expression.dtype.type(function.owner(*given))
            case tree.Reduce():
                return self.reduction(expression)
        return self.operation(expression)

    def reduction(self, reduce: tree.Reduce) -> Any:
        """The terms in the order of the loops."""
        function = _FUNCTIONS.get(reduce.operation) or getattr(np, reduce.operation)
        result = None if reduce.initial is None else self.value(reduce.initial)
        ranges = [range(int(self.value(extent))) for extent in reduce.extents]
        for turn, values in enumerate(product(*ranges)):
            self.most = max(self.most, turn + 1)
            for iterator, value in zip(reduce.iterators, values, strict=True):
                self.variables[iterator.name] = value
            term = self.value(reduce.term)
            result = term if result is None else reduce.dtype.type(function(result, term))
        return result

    def operation(self, expression: tree.Operation) -> Any:
        function = _FUNCTIONS.get(expression.name) or getattr(np, expression.name)
        operands = [self.value(operand) for operand in expression.operands]
        return expression.dtype.type(function(*operands))
