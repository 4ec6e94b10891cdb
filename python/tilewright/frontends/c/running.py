"""What calls of a C function run as long as nobody has scheduled it.

That is the order of the file with better nests in it. Where arguments say how far apart elements lie,
as `incx` of the BLAS does, or by how much a loop counts on, they are numbers in the kernel: a subscript
`i * incx` is affine then, and the loop is one over a range. A few such values have kernels of their own.
Integers that are too large for sizes (`whiles.LIMIT`) are no parameters of it but data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...base.errors import TilewrightError
from .. import tree
from ..dataflow import to_function
from ..translated import TranslatedFunction
from ..whiles import LIMIT
from .programs import Translated

__all__ = ["Running", "strides_of"]

#: With more values of strides than these, calls run what is for all of them.
MOST_STRIDES = 4


class Running:
    """What runs in the place of a function.

    Args:
        function: as nobody has scheduled it.
        translate: makes the program with numbers for some of its parameters; None: it is data.
    """

    def __init__(
        self,
        function: TranslatedFunction,
        translate: Callable[[Mapping[str, int | None]], Translated],
    ) -> None:
        self._function = function
        self._translate = translate
        self._strides: tuple[str, ...] | None = None
        self._made: dict[tuple[int, ...], TranslatedFunction] = {}
        # What those with numbers are made from: whether an array has rows may differ from the general one.
        self._programs: dict[tuple[int, ...], Translated] = {}
        self._of_data: dict[tuple[str, ...], tuple[TranslatedFunction, Translated] | None] = {}
        self._lock = threading.Lock()

    @property
    def general(self) -> TranslatedFunction:
        """For all values of strides."""
        return self._for(())

    def wait_optimized(self, timeout: float | None) -> bool:
        """Of all that were made so far; see `tw.Function.wait_optimized`."""
        with self._lock:
            made = [*self._made.values(), *(each[0] for each in self._of_data.values() if each)]
        said = [each.function.wait_optimized(timeout) for each in made]
        return all(said)

    def of_call(
        self, program: tree.Program, bound: Mapping[str, Any]
    ) -> tuple[TranslatedFunction, tuple[str, ...], Translated | None]:
        """For a call; the parameters that have to have the same values for that; and the program by which
        arguments are bound, if it is not the function's.

        Args:
            program: the function's.
            bound: parameters and arrays of the call, by name.
        """
        given = ((name, bound.get(name, 0)) for name in program.parameters)
        large = tuple(name for name, value in given if abs(int(value)) > LIMIT)
        if large:
            found = self._with_data(large)
            return (self.general, (), None) if found is None else found
        if self._strides is None:
            self._strides = strides_of(program)
        values = tuple(int(bound[name]) for name in self._strides)
        own = sum(map(bool, self._made))  # () is for all
        if not values or (values not in self._made and own >= MOST_STRIDES):
            return self.general, (), None
        return self._for(values), self._strides, self._programs.get(values)

    def _with_data(
        self, large: tuple[str, ...]
    ) -> tuple[TranslatedFunction, tuple[str, ...], Translated] | None:
        """For calls with such arguments; None if it has no translation without them as parameters."""
        with self._lock:
            if large not in self._of_data:
                try:
                    translated = self._translate(dict.fromkeys(large))
                    made = to_function(translated.program, leaving_has_no_meaning=True)
                    self._of_data[large] = made.with_better_nests(made), translated
                except TilewrightError:
                    self._of_data[large] = None
            found = self._of_data[large]
        return None if found is None else (found[0], (), found[1])

    def _for(self, values: tuple[int, ...]) -> TranslatedFunction:
        with self._lock:
            if values not in self._made:
                self._made[values] = self._better(values)
            return self._made[values]

    def _better(self, values: tuple[int, ...]) -> TranslatedFunction:
        if values:
            numbers = dict(zip(self._strides or (), values, strict=True))
            try:
                translated = self._translate(numbers)
                made = to_function(translated.program, leaving_has_no_meaning=True)
                better = made.with_better_nests(self._function)
                self._programs[values] = translated
                return better
            except TilewrightError:
                pass  # of a step of 0, say
        return self._function.with_better_nests(self._function)


def strides_of(program: tree.Program) -> tuple[str, ...]:
    """The parameters that say by how much a loop counts on, or how far apart elements lie."""
    found: set[str] = set()
    for statement in tree.walk(program.body):
        if isinstance(statement, tree.For | tree.While):
            for inner in tree.walk(statement.body):
                if isinstance(inner, tree.Assign):
                    found.update(_counted_by(inner))
        for expression in tree.expressions_of(statement):
            for read in tree.reads_of(expression):
                for subscript in read.subscripts:
                    found.update(_multiples(subscript))
        if isinstance(statement, tree.Assign):
            for subscript in statement.target.subscripts:
                found.update(_multiples(subscript))
    return tuple(name for name in program.parameters if name in found)


def _counted_by(statement: tree.Assign) -> Iterator[str]:
    """n of `i = i + n` or `i = i - n`, with a scalar i."""
    value = statement.value
    if statement.target.subscripts or not isinstance(value, tree.Operation):
        return
    if value.name in ("+", "-") and len(value.operands) == 2:
        one, other = map(tree.plain, value.operands)
        if value.name == "+" and isinstance(one, tree.Variable):
            one, other = other, one
        if isinstance(one, tree.Read) and one.array == statement.target.array:
            yield from _name_of(other)


def _multiples(expression: tree.Expression) -> Iterator[str]:
    """n of `i * n`, and of what is made of such."""
    if isinstance(expression, tree.Operation) and expression.name == "*":
        for operand in map(tree.plain, expression.operands):
            yield from _name_of(operand)
    for part in tree.parts_of(expression):
        if not isinstance(part, tree.Read):
            yield from _multiples(part)


def _name_of(expression: tree.Expression) -> Iterator[str]:
    if isinstance(expression, tree.Variable):
        yield expression.name
