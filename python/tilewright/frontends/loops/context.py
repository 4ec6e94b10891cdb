"""What all parts of a translation share: the program so far, names, places, the open block.

`Context` is the base of the classes that translate expressions, statements and calls; they see each
other by the methods declared here. Types of variables are found by translating again until none
changes: `kinds` is what earlier rounds found.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ...base.plurals import counted
from ..affine import affine_of, itself
from ..refusals import refuse
from ..tree import (
    Array,
    Assign,
    Assume,
    Expression,
    For,
    Kill,
    Literal,
    Location,
    Operation,
    Read,
    Statement,
    Variable,
    parts_of,
)
from .definitions import Webs
from .functions import Outside
from .indices import Linear, add, constant_of, is_pure, linear, literal, simplified, subtract
from .kinds import BOOL, INT64, Kind, join, loop_types
from .signatures import RESERVED
from .sources import Source
from .values import (
    ArrayValue,
    Chosen,
    Listed,
    RangeValue,
    Record,
    Scalar,
    TupleValue,
    Turning,
    Value,
    converted,
)

__all__ = [
    "Context",
    "Frame",
    "Known",
    "NeedsArray",
    "NeedsNumbers",
    "NextRound",
    "Storage",
    "names_in",
]


class Known(ast.expr):
    """An expression whose value is known: it stands where the text has another."""

    _fields = ()
    value: Value


@dataclass(frozen=True)
class Storage:
    """A variable that is assigned in several places: where it is kept."""

    name: str
    kind: Kind
    shape: tuple[Expression, ...] | None = None  # of an array
    room: tuple[Expression, ...] = ()


@dataclass
class Frame:
    """A function that is being translated: the person's, or one that is inlined.

    Attributes:
        key: which call of it this is, the same in each round.
        lookup: the value of a global or closure name.
        functions: the functions inside of it, by name.
        outer: of one of these, the function around it.
        result: what it returned, of an inlined function.
        called_at: of a function of `numpy_functions`, where the person's function calls it.
    """

    source: Source
    webs: Webs
    key: tuple[object, ...]
    lookup: Callable[[str], Any]
    function: object
    bindings: dict[str, Value | Storage] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    outer: Frame | None = None
    results: list[Value] = field(default_factory=list)
    called_at: Location | None = None

    @property
    def module(self) -> str:
        """The module that the function is of; "" of one inside of another."""
        return str(getattr(getattr(self.function, "function", None), "__module__", ""))

    def is_of(self, function: object) -> bool:
        """Whether it is a call of this Python function."""
        return getattr(self.function, "function", None) is function


def _is_product_of_sizes(extent: Expression) -> bool:
    """Whether it is made of sizes and numbers by operations of which one is a product of sizes."""
    if isinstance(extent, Operation):
        inside = [next(names_in(each), "") for each in extent.operands]
        return (extent.name == "*" and all(inside)) or any(
            map(_is_product_of_sizes, extent.operands)
        )
    return False


class NeedsArray(Exception):
    """The function uses an array that is no argument."""

    def __init__(self, outside: Outside) -> None:
        super().__init__(outside.name)
        self.outside = outside


class NeedsNumbers(Exception):
    """The translation needs the numbers that some parameters are."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


class NextRound(Exception):
    """What was learned just now must be known before the place where it was learned."""


class Context:
    """The state of a translation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frames: list[Frame] = []
        self.kinds: dict[tuple[object, ...], tuple[Kind, tuple[Expression, ...] | None]] = {}
        self.constants: dict[tuple[int, str], Any] = {}
        self.wrapping: set[Location] = set()  # subscripts that may count from the end
        self.residues: dict[Location, int] = {}  # what loops that rename arrays leave over
        self.overwritten: set[str] = set()  # arrays that are not the same all along
        # Arguments, by frame and variable, that mean other arrays after a statement that is reached.
        self.anew: set[tuple[object, ...]] = set()
        self.outside: dict[
            Outside, str
        ] = {}  # arrays that are no arguments, with names of their own
        self.found_outside: dict[str, Value] = {}  # these, by the names
        self.in_turns: set[Location] = set()  # loops that are translated turn by turn
        self.numbers: dict[str, int] = {}  # the parameters that are numbers in this kernel
        self.begin()

    def begin(self) -> None:
        """Starts a round."""
        self.changed = False
        self.taken: set[str] = set(RESERVED)
        self.arrays: dict[str, Array] = {}
        self.parameters: dict[str, np.dtype] = {}
        self.out: list[Statement] = []
        self.label_count = 0
        self.labels: set[str] = set()
        self.wanted_label = ""
        self.loop_labels: dict[str, int] = {}
        self.nonnegative: set[str] = set()  # parameters and iterators that are never below 0
        self.ranges: dict[str, tuple[Location, RangeValue]] = {}  # of iterators, by name
        self.cases: dict[Location, int] = {}  # the number of cases of each of these loops
        self.bounds: dict[tuple[object, ...], tuple[list[Statement], Expression]] = {}
        self.fixed: set[str] = set()  # variables that are given once
        self.raised: dict[
            Location, tuple[type[Exception], tuple[Any, ...]]
        ] = {}  # by asserted fact
        self.lent: set[str] = set()  # arrays that are taken to be the same all along
        self.settled_arrays: set[str] = set()  # copies of what was chosen, which nobody changes
        # Arrays that must not change, the reason, and the statements that may fill them before.
        self.unchanged: dict[str, tuple[Location, str, frozenset[str]]] = {}
        self.growing: dict[
            str, tuple[Listed, Expression]
        ] = {}  # lists, and the turn's place in them
        self.rotating: dict[str, Turning] = {}  # arrays that take turns, by what is new in each
        self.turns_results = False  # arrays lie as transposed ones do
        self.sizes: frozenset[str] = frozenset()  # the extents of arguments
        self.turned: set[str] = set()  # arguments in Fortran's order
        self.consumed: set[int] = set()  # lists that are arguments of calls
        self.branches = 0  # conditions around, which are not known
        self.turns = 0  # loops of the program around what is translated
        self.of_sizes: dict[str, Expression] = {}  # what variables hold so far
        self.single_turns = 0  # that were translated one by one so far
        self.rebound: set[str] = set()  # arrays that a variable's assignments overwrite
        self.direct: set[tuple[object, ...]] = set()  # arguments as they are given, unless assigned
        self.copied: dict[str, str] = {}  # copies of arguments, by the name of the argument
        self.stores_new = False  # what is stored is another array's than the argument's
        self.contiguous: set[str] = set()  # arrays whose elements must lie without gaps
        self.tested: set[str] = set()  # parameters that branches ask about
        self.within_tests: frozenset[str] = frozenset()  # of these, by branches around
        self.pure_only = ""  # why no statement may be added now

    # ---- what the other parts are ----

    def expression(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def check_unchanged(self, body: tuple[Statement, ...]) -> None:
        raise NotImplementedError

    def constant(self, value: object, node: ast.AST) -> Value:
        raise NotImplementedError

    def reshaped(self, array: Value, wanted: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def in_memory(self, array: ArrayValue, node: ast.AST) -> ArrayValue:
        raise NotImplementedError

    def of_parameters(self, expression: Expression) -> bool:
        raise NotImplementedError

    def so_far(self, extent: Expression) -> Expression:
        raise NotImplementedError

    def block_of(self, body: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        raise NotImplementedError

    def call_function(
        self, function: Any, arguments: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        raise NotImplementedError

    # ---- places and errors ----

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def at(self, node: ast.AST) -> Location:
        return self.frame.source.location(node)

    def refuse(self, node: ast.AST, reason: str, way_out: str = "") -> NoReturn:
        refuse(self.at(node), reason, way_out)

    # ---- names ----

    def fresh(self, wanted: str) -> str:
        """A name that nothing else has."""
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    def label(self) -> str:
        """The next statement's: as the comment has it, else counted."""
        if self.wanted_label:
            wanted, count = self.wanted_label, 1
            while wanted in self.labels:
                count += 1
                wanted = f"{self.wanted_label}_{count}"
        else:
            wanted = ""
            while not wanted or wanted in self.labels or wanted in self.taken:
                self.label_count += 1
                wanted = f"S{self.label_count}"
        self.labels.add(wanted)
        return wanted

    def loop_label(self, wanted: str) -> str:
        """A loop's: its iterator, counted when it stands twice."""
        count = self.loop_labels.get(wanted, 0) + 1
        self.loop_labels[wanted] = count
        if count == 1:
            return wanted
        return self.loop_label(f"{wanted}_{count}")

    # ---- statements ----

    def emit(self, statement: Statement, node: ast.AST) -> None:
        if self.pure_only:
            self.refuse(
                node, f"this needs statements of its own {self.pure_only}", "assign it first"
            )
        self.out.append(statement)

    @contextmanager
    def collected(self) -> Iterator[list[Statement]]:
        """The statements that are made within, not yet part of the program."""
        before, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = before

    def assign(self, target: Read, value: Expression, node: ast.AST) -> None:
        name = self.copied.get(target.array)
        if name is not None and not self.stores_new:
            self.refuse(
                node,
                f"{name} may be the array that was given here, or one that was made, and elements are stored",
                "give the array that is made a name of its own",
            )
        if not target.subscripts:
            self.of_sizes.pop(target.array, None)
            known = self.so_far(value)
            if not (self.turns or self.branches) and self.of_parameters(known):
                self.of_sizes[target.array] = known
        self.emit(Assign(target, value, self.label(), self.at(node)), node)

    @contextmanager
    def storing_new(self, holds: bool = True) -> Iterator[None]:
        """What is stored within is another array's than that of an argument."""
        before, self.stores_new = self.stores_new, holds
        try:
            yield
        finally:
            self.stores_new = before

    @contextmanager
    def loops(
        self, extents: Sequence[Expression], node: ast.AST, start: int = 0
    ) -> Iterator[tuple[Expression, ...]]:
        """A nest of loops over a box; what is made within is its body."""
        self.require_numbers_in(
            *(each for each in extents if is_pure(each) and _is_product_of_sizes(each))
        )
        iterators = [Variable(self.fresh(f"i{axis}"), INT64) for axis in range(len(extents))]
        self.nonnegative.update(each.name for each in iterators)
        begins = [_begin(extent) for extent in extents]
        with self.collected() as body:
            yield tuple(map(subtract, iterators, begins))
        statements = tuple(body)
        for iterator, extent, begin in reversed(list(zip(iterators, extents, begins, strict=True))):
            label = self.loop_label(iterator.name)
            where = self.at(node)
            first, stop = add(begin, literal(start)), add(begin, extent)
            statements = (For(iterator, first, stop, 1, statements, label, where),)
        for statement in statements:
            self.emit(statement, node)

    # ---- memory ----

    def new_array(
        self, wanted: str, dtype: np.dtype, shape: tuple[Expression, ...], node: ast.AST
    ) -> str:
        """A local array, or a scalar, that is dead so far."""
        name = self.fresh(wanted.replace("[", "_").replace("]", ""))  # `t[0]` of a tuple's part
        self.arrays[name] = Array(name, dtype, shape, self.at(node), local=True)
        if shape:
            self.emit(Kill(name, self.at(node)), node)
        return name

    def read(
        self, array: str, indices: tuple[Expression, ...], dtype: np.dtype, node: ast.AST
    ) -> Read:
        return Read(array, indices, dtype, self.at(node))

    def view(
        self,
        name: str,
        dtype: np.dtype,
        shape: tuple[Expression, ...],
        room: tuple[Expression, ...],
        node: ast.AST,
    ) -> ArrayValue:
        """All of an array in memory."""

        def place(indices: tuple[Expression, ...]) -> Read:
            return self.read(name, indices, dtype, node)

        return ArrayValue(shape, room, dtype, place, name, place, whole=True)

    def kept(self, value: Scalar, node: ast.AST, wanted: str = "value") -> Scalar:
        """The number, computed now: in a scalar of its own unless nothing can change it."""
        if is_pure(value.expression):
            return value
        name = self.new_array(wanted, value.kind.dtype, (), node)
        place = self.read(name, (), value.kind.dtype, node)
        self.assign(place, value.expression, node)
        return Scalar(place, value.kind)

    # ---- types and conditions ----

    def remembered(
        self, key: tuple[object, ...], kind: Kind, shape: tuple[Expression, ...] | None
    ) -> tuple[Kind, tuple[Expression, ...] | None]:
        """The type of a variable with what this assignment gives it."""
        if key not in self.kinds:
            self.kinds[key] = (kind, shape)
            self.changed = True
        known, known_shape = self.kinds[key]
        joined = join(known, kind)
        if joined != known:
            self.kinds[key] = (joined, known_shape)
            self.changed = True
        return self.kinds[key]

    def as_index(self, value: Value, node: ast.AST, what: str = "a subscript") -> Expression:
        """An integer as int64, in normal form."""
        if not isinstance(value, Scalar) or not (value.kind.is_integer or value.kind == BOOL):
            self.refuse(node, f"{what} must be an integer, not {self.described(value)}")
        if value.kind.dtype == np.uint64:
            self.refuse(node, f"{what} of type uint64", "convert it by int()")
        return simplified(converted(value.expression, INT64, value.kind.dtype))

    def require_numbers_in(self, *expressions: Expression) -> None:
        """Starts again with numbers for the parameters in products and quotients of sizes, which are not
        affine; unless there are none."""
        names = frozenset(
            name
            for expression in expressions
            if affine_of(expression, itself()) is None
            for name in names_in(expression)
            if name in self.parameters
        )
        if names:
            raise NeedsNumbers(names)

    def require_numbers_of(self, expression: Expression) -> None:
        """Starts again with numbers for all parameters in it; unless there are none."""
        names = frozenset(names_in(expression)) & self.parameters.keys()
        if names:
            raise NeedsNumbers(names)

    def note_test(self, condition: Expression) -> frozenset[str]:
        """The parameters that a branch of the program asks about, if it asks about nothing else."""
        names = frozenset(names_in(condition) if is_pure(condition) else ())
        found = names & self.parameters.keys()
        self.tested |= found
        return found

    def decide_outer_tests(self) -> None:
        """Starts again with numbers for the parameters that the branches around ask about: what is
        here always runs, or is not translated at all."""
        if self.within_tests:
            raise NeedsNumbers(self.within_tests)

    def decide_tests(self) -> None:
        """Starts again with numbers for the parameters that branches ask about, if there are some:
        what cannot be one thing in all branches is translated for the ones that are taken."""
        if self.tested:
            raise NeedsNumbers(frozenset(self.tested))

    def claim_not_negative(self, expression: Expression, node: ast.AST, what: str) -> None:
        """The condition, unless it is evident, is a fact that is proved or checked at the call."""
        form = linear(expression)
        if form.constant >= 0 and all(
            count >= 0 and isinstance(term, Variable) and term.name in self.nonnegative
            for count, term in form.terms.values()
        ):
            return
        if (constant_of(expression) or 0) < 0:
            self.refuse(node, f"{what} is negative")
        if not is_pure(expression):
            self.refuse(node, f"whether {what} is negative depends on data", "slice by parameters")
        self.require_numbers_in(expression)
        condition = Operation(">=", (expression, literal(0)), BOOL.dtype, self.at(node))
        self.emit(Assume(condition, self.at(node), True, f"{what} is negative"), node)

    def claim_equal(self, a: Expression, b: Expression, node: ast.AST, what: str) -> None:
        """Two extents agree: a fact that is checked at the call where it is not evident."""
        difference = linear(a).combined(linear(b), -1)
        if not difference.terms:
            if difference.constant:
                self.refuse(node, f"{what}: the extents differ by {abs(difference.constant)}")
            return
        if not (is_pure(a) and is_pure(b)):
            self.refuse(node, f"{what}: the extents depend on data")
        self.require_numbers_in(a, b)
        condition = Operation("==", (a, b), BOOL.dtype, self.at(node))
        self.emit(Assume(condition, self.at(node), True, f"{what}: the extents differ"), node)

    def claim_same_shape(
        self,
        known: tuple[Expression, ...] | None,
        shape: tuple[Expression, ...],
        name: str,
        node: ast.AST,
    ) -> None:
        """A variable's shape is the same here as elsewhere: `h = W @ h` says so of that of W."""
        if (
            known is None
            or len(known) != len(shape)
            or not all(map(self.of_parameters, (*known, *shape)))
        ):
            self.refuse(node, f"{name} has another shape elsewhere", "use names of their own")
        for a, b in zip(known, shape, strict=True):
            self.claim_equal(a, b, node, f"{name} has another shape elsewhere")

    def described(self, value: Value) -> str:
        """A value as errors name it."""
        match value:
            case Scalar():
                return str(value.kind)
            case ArrayValue():
                return f"an array of {value.dtype} with {counted(len(value.shape), 'dimension')}"
            case TupleValue() | Record():
                return f"a {value.form.made_of.__name__}"
            case Chosen():
                return "an array at a mask, whose length depends on data"
        found = getattr(value, "value", value)
        return getattr(found, "__name__", None) or type(found).__name__

    def operation(
        self, name: str, ufunc: np.ufunc, values: Sequence[Value], node: ast.AST
    ) -> tuple[np.dtype, Callable[..., Expression]]:
        """NumPy's types for an operation, and what makes it of the operands' expressions."""
        kinds = tuple(value.kind for value in values if isinstance(value, Scalar | ArrayValue))
        try:
            *needed, result = loop_types(ufunc, kinds)
        except TypeError:
            shown = " and ".join(map(self.described, values))
            self.refuse(node, f"NumPy has no {ufunc.__name__} of {shown}")
        where = self.at(node)

        def make(*operands: Expression) -> Expression:
            parts = tuple(
                converted(self.in_range(each, kind, dtype, node), dtype, kind.dtype)
                for each, kind, dtype in zip(operands, kinds, needed, strict=True)
            )
            return Operation(name, parts, result, where)

        return result, make

    def in_range(
        self, expression: Expression, kind: Kind, dtype: np.dtype, node: ast.AST
    ) -> Expression:
        """Refuses a Python int that the integer type does not hold, as NumPy does."""
        if (
            kind.weak
            and dtype.kind in "iu"
            and isinstance(expression, Literal)
            and isinstance(expression.value, int)
        ):
            limits = np.iinfo(dtype)
            if not limits.min <= expression.value <= limits.max:
                self.refuse(
                    node, f"the Python integer {expression.value} is out of range for {dtype}"
                )
        return expression


def names_in(expression: Expression) -> Iterator[str]:
    """The parameters and iterators of which it speaks."""
    if isinstance(expression, Variable):
        yield expression.name
    for part in parts_of(expression):
        yield from names_in(part)


def _begin(extent: Expression) -> Expression:
    """Where a loop of so many turns begins: at 0, or where a slice does whose bounds data decide."""
    if is_pure(extent):
        return literal(0)
    terms = linear(extent).terms.items()
    return Linear(
        0, {key: (-count, term) for key, (count, term) in terms if count < 0}
    ).expression()
