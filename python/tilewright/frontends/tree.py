"""The statement tree: what a C function or a Python function with loops says, in one form.

A door (C, Python loops) parses its language and writes this tree; `dataflow` makes a function of it.
The tree is about memory: statements run in order and read and write elements of arrays. Everything
that languages disagree about is decided by the door before: types are explicit (`Convert` is the only
conversion), operations are those of Layer I with its meaning ("//" rounds down, "truncated_divide" is
C's), `&&`, `||` and `?:` are `Select`. The tree is that of pet's first phase (PENCIL report, INRIA
RT-0457, sections 3.2 to 3.4); affine parts are found by whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

__all__ = [
    "Array",
    "Assign",
    "Assume",
    "Block",
    "Break",
    "Call",
    "Continue",
    "Convert",
    "Expression",
    "For",
    "If",
    "Kill",
    "Literal",
    "Location",
    "Operation",
    "Part",
    "Program",
    "Read",
    "Reduce",
    "Return",
    "Select",
    "Statement",
    "Variable",
    "While",
    "assigned_arrays",
    "expressions_of",
    "plain",
    "reads_of",
    "walk",
]


class Location(NamedTuple):
    """Where something stands in the user's file: line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Literal:
    """A number or a truth value."""

    value: complex | bool
    dtype: np.dtype


@dataclass(frozen=True)
class Variable:
    """An iterator of a loop around it, or a parameter: integers that no statement writes."""

    name: str
    dtype: np.dtype


@dataclass(frozen=True)
class Read:
    """An element of an array; of a scalar, the array has no dimensions. Also the target of `Assign`."""

    array: str
    subscripts: tuple[Expression, ...]
    dtype: np.dtype
    location: Location


@dataclass(frozen=True)
class Operation:
    """An operation of Layer I on operands that have the type it needs.

    `name` is an operator ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=",
    ">", ">=", "==", "!=", "~", and "neg") or a function of the library by its name ("sqrt",
    "truncated_divide", "fmod", "fmin", ...).
    """

    name: str
    operands: tuple[Expression, ...]
    dtype: np.dtype
    location: Location


@dataclass(frozen=True)
class Convert:
    """The value as another type, as `tw.cast` has it."""

    value: Expression
    dtype: np.dtype


@dataclass(frozen=True)
class Select:
    """`if_true` where the bool `condition` holds, else `if_false`; only that one is evaluated."""

    condition: Expression
    if_true: Expression
    if_false: Expression
    dtype: np.dtype


@dataclass(frozen=True)
class Call:
    """A function without side effects that is given by value: `function` is what `tw.extern` made."""

    function: object
    arguments: tuple[Expression, ...]
    dtype: np.dtype
    location: Location


@dataclass(frozen=True)
class Reduce:
    """The terms of all iterations of some loops as one value, combined in any order: `np.sum`, `@`.

    It is the whole value of an assignment, to an element that no term reads.

    Attributes:
        operation: "+", "*", "minimum", "maximum", "&" or "|".
        iterators, extents: of the loops, outermost first; each begins at 0. Nothing else has their names.
        initial: the value of no terms; None where there always are some.
    """

    operation: str
    iterators: tuple[Variable, ...]
    extents: tuple[Expression, ...]
    term: Expression
    initial: Literal | None
    dtype: np.dtype
    location: Location


Expression = Literal | Variable | Read | Operation | Convert | Select | Call | Reduce


@dataclass(frozen=True)
class Assign:
    """`target = value`. `label` is the statement's name, of the user's choice or counted."""

    target: Read
    value: Expression
    label: str
    location: Location


@dataclass(frozen=True)
class For:
    """A loop of `iterator` over start, start + step, ... up to, without, stop.

    A negative step counts down. `start` and `stop` are evaluated once, before the loop.

    Attributes:
        independent: the person's promise that iterations do not depend on each other (PENCIL's
            `independent` pragma): the arrays for which it holds, () for all of them, None without it.
        parallel: the person asks for this loop in parallel, and it is to be proved.
    """

    iterator: Variable
    start: Expression
    stop: Expression
    step: int
    body: tuple[Statement, ...]
    label: str
    location: Location
    independent: tuple[str, ...] | None = None
    parallel: bool = False


@dataclass(frozen=True)
class While:
    """The body, as long as the bool condition holds."""

    condition: Expression
    body: tuple[Statement, ...]
    label: str
    location: Location


@dataclass(frozen=True)
class If:
    """The first body where the bool condition holds, else the second."""

    condition: Expression
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    location: Location


@dataclass(frozen=True)
class Break:
    """Leaves the innermost loop."""

    location: Location


@dataclass(frozen=True)
class Continue:
    """Goes on with the next iteration of the innermost loop."""

    location: Location


@dataclass(frozen=True)
class Return:
    """Leaves the function; results stand in arrays."""

    location: Location


@dataclass(frozen=True)
class Kill:
    """What the array holds is not needed any more: a declaration, or `__pencil_kill`."""

    array: str
    location: Location


@dataclass(frozen=True)
class Assume:
    """A condition that the person guarantees to hold here (`__pencil_assume`, `assert`)."""

    condition: Expression
    location: Location
    checked: bool = False  # asked at the call, where it is about parameters only
    otherwise: str = ""  # what is the matter if it does not hold, where the person did not write it


@dataclass(frozen=True)
class Block:
    """A call of a function that nobody looks into, on whole arrays.

    Attributes:
        function: takes NumPy arrays, those of `reads` and then those of `writes`, which it fills. It has
            no other effects, and may raise an exception.
        reads: the arrays that it reads, each once.
        writes: local arrays that nothing else writes.
        label: its name among the statements.
        called: the name of the function in the program.
    """

    function: Callable[..., None]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    label: str
    called: str
    location: Location


Statement = Assign | For | While | If | Break | Continue | Return | Kill | Assume | Block
Part = Expression | Statement


@dataclass(frozen=True)
class Array:
    """An array, or a scalar that is assigned: one with no dimensions.

    Attributes:
        shape: extents, expressions of parameters; outermost first, rows contiguous.
        local: it lives in the function only; else the caller's array is changed in place.
        may_alias: the caller may pass memory that overlaps other arrays (a pointer without
            `restrict`).
    """

    name: str
    dtype: np.dtype
    shape: tuple[Expression, ...]
    location: Location
    local: bool = False
    may_alias: bool = False


@dataclass(frozen=True)
class Program:
    """A function: its arrays, the parameters that bounds and subscripts speak of, its statements.

    Attributes:
        arguments: names of parameters and arrays in the caller's order.
        parameters: integer arguments that nothing writes, with the range of their type.
        context: conditions on parameters that always hold (types' ranges, extents not negative).
    """

    name: str
    arguments: tuple[str, ...]
    parameters: dict[str, np.dtype]
    arrays: dict[str, Array]
    body: tuple[Statement, ...]
    location: Location
    context: tuple[Expression, ...] = field(default=())


def expressions_of(statement: Statement) -> Iterator[Expression]:
    """The expressions that stand in the statement itself, not in statements inside it."""
    match statement:
        case Assign():
            yield from statement.target.subscripts
            yield statement.value
        case For():
            yield statement.start
            yield statement.stop
        case While() | If() | Assume():
            yield statement.condition


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The operands of an expression."""
    match expression:
        case Read():
            return expression.subscripts
        case Operation():
            return expression.operands
        case Convert():
            return (expression.value,)
        case Select():
            return (expression.condition, expression.if_true, expression.if_false)
        case Call():
            return expression.arguments
        case Reduce():
            return (*expression.extents, expression.term)
    return ()


def plain(expression: Expression) -> Expression:
    """The expression without conversions that keep the values of the integers they convert."""
    while isinstance(expression, Convert):
        inner = expression.value.dtype
        if inner.kind not in "iub" or not np.can_cast(inner, expression.dtype, "safe"):
            break
        expression = expression.value
    return expression


def reads_of(expression: Expression) -> Iterator[Read]:
    """The reads in an expression, subscripts of reads among them, each before what contains it."""
    for part in parts_of(expression):
        yield from reads_of(part)
    if isinstance(expression, Read):
        yield expression


def walk(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements in the order of the text, outer ones before what is in them."""
    for statement in statements:
        yield statement
        match statement:
            case For() | While():
                yield from walk(statement.body)
            case If():
                yield from walk(statement.body)
                yield from walk(statement.otherwise)


def assigned_arrays(statements: Sequence[Statement]) -> set[str]:
    """The arrays that assignments among the statements, or in them, change."""
    return {each.target.array for each in walk(statements) if isinstance(each, Assign)}
