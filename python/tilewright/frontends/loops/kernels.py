"""The kernels of a function with loops: translated for a signature, and called with its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ... import _core
from ...base.errors import ArgumentError, SubscriptError, TranslationError
from .. import constants, known_calls
from ..dataflow import to_function
from ..depth import many_levels
from ..translated import TranslatedFunction
from ..tree import Array, Assign, Expression, Literal, Program, Read, Variable, assigned_arrays
from .checks import Checks, FactError, OutsideError
from .context import NeedsNumbers
from .facts import value_of
from .functions import Loops, Outside
from .signatures import ArraySlot, Signature, alike
from .translation import Form, Given, Result, Translated, Translation

__all__ = ["Kernel", "made_kernel", "translated"]

#: Such as the coordinates of a point, or the channels of a pixel.
_MOST_COMPONENTS = 4


class Kernel:
    """A function translated for a signature."""

    def __init__(
        self, translated: Translated, values: dict[str, Any], options: dict[str, Any]
    ) -> None:
        if translated.results and _writes_nothing(translated.program):
            translated = replace(translated, program=_with_something(translated.program))
        self.translated = translated
        self.checks = Checks(translated.program)
        self.checks(values)
        self.region = self.checks.region(values)
        context = translated.program.context
        if self.region is not None:
            context = (*context, self.region)
        self.program: Program = replace(translated.program, context=context)
        self.function: TranslatedFunction = to_function(self.program, keeps_order=False, **options)
        self.version = self.function.function._version()  # of the program's order

    def holds(self, values: dict[str, Any]) -> bool:
        """Whether it is for such sizes, and the constants that it was made with are today's."""
        if not self.has_its_numbers(values):
            return False
        try:
            self.checks(values)
        except OutsideError:
            return False  # one that lets subscripts count from the end may do
        except FactError as error:
            if error.place in self.translated.cases:
                return False
            raise self.translated.error_of(error) from None
        if self.region is not None and not value_of(self.region, values):
            return False
        return self.has_its_constants()

    def require_apart(self, name: str, signature: Signature) -> None:
        """Refuses arrays that share elements if the kernel writes one of them."""
        slots = [*signature.leaves(), *signature.outer]
        shown = {each.name: each.argument for each in slots if isinstance(each, ArraySlot)}
        for pair in signature.overlaps:
            written = [each for each in pair if each in self.function.results]
            if written:
                one, other, changed = (shown[each] for each in (*pair, written[0]))
                raise ArgumentError(
                    f"{name}(): the arguments {one} and {other} share memory in part, and {changed} is "
                    "written; pass a copy of one"
                )

    def has_its_numbers(self, values: dict[str, Any]) -> bool:
        """Whether the sizes that are numbers in it are those of the call."""
        return all(int(values[name]) == n for name, n in self.translated.numbers.items())

    def has_its_constants(self) -> bool:
        """Whether the constants that it was made with are today's."""
        for lookup, name, value in self.translated.constants:
            try:
                found = lookup(name)
            except NameError:
                return False
            if found is not value and not _equal(found, value):
                return False
        return True

    def arrays_for(self, values: dict[str, Any]) -> dict[str, Any]:
        """The program's arguments, in order: those of the call, and memory for what it returns."""
        given = {}
        for name in self.program.arguments:
            value = values.get(name)
            if value is not None and name in self.translated.turned:
                value = value.T
            if value is None:
                array = self.program.arrays[name]
                shape = tuple(_size(each, values) for each in array.shape)
                value = np.zeros(shape, array.dtype)
            given[name] = value
        for name in self.translated.contiguous:
            if name in values and not given[name].flags.c_contiguous:
                raise ArgumentError(
                    f"{self.program.name}(): {name} is given another shape in the function, so its "
                    "elements must lie without gaps; pass np.ascontiguousarray of it"
                )
        return given

    def __call__(self, values: dict[str, Any], threads: dict[str, Any]) -> Any:
        given = self.arrays_for(values)
        self.function(**given, **threads)
        given.update({name: values[name] for name in self.translated.turned})
        return _returned(self.translated, given)

    def remember(
        self,
        door: _core.KnownCalls,
        given: tuple[Any, ...],
        signature: Signature,
        values: dict[str, Any],
    ) -> None:
        """Lets calls like this one come here without Python, if the core can make them."""
        if not (signature.is_flat and self.translated.is_flat):
            return
        contiguous = self.translated.contiguous
        is_general = (
            self.function.knows_sizes
            and (self.region is not None or not self.checks.wrong)
            and not self.translated.numbers
        )
        arguments, origins = alike(signature, values, contiguous, is_general)
        places = [
            place
            for lookup, name, value in self.translated.constants
            for place in lookup.__self__.places(name)
        ]
        results = self.translated.results
        known_calls.remember(
            door,
            given,
            arguments,
            self.function,
            origins,
            places,
            None
            if results is None
            else [
                (each.array, each.kind is not None and each.kind.weak, each.turned)
                for each in results
            ],
            self.translated.is_tuple,
        )

    def constants(self, loops: Loops) -> list[Any] | None:
        """The constants that it was made with, in plain values (`..constants`)."""
        used = [(lookup.__self__, name, value) for lookup, name, value in self.translated.constants]
        return constants.described(loops.function, used)


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or isinstance(a, np.ndarray):
        return False
    try:
        return bool(a == b) and (not isinstance(a, float) or np.signbit(a) == np.signbit(b))
    except Exception:  # an object of the person's own: whatever its comparison raises
        return False


def _writes_nothing(program: Program) -> bool:
    """Whether no array of the caller's that is written has elements, such as `np.zeros(n)` where n is 0."""
    written = assigned_arrays(program.body)
    arrays = [program.arrays[name] for name in written]
    return all(
        each.local or any(isinstance(n, Literal) and n.value == 0 for n in each.shape)
        for each in arrays
    )


def _with_something(program: Program) -> Program:
    """The program with one more argument, which it writes: it makes results without elements, and a function
    writes something."""
    name, where = "nothing", program.location
    while name in program.arrays or name in program.parameters:
        name += "_"
    dtype = np.dtype(np.bool_)
    written = Assign(Read(name, (), dtype, where), Literal(False, dtype), f"{name}_set", where)
    return replace(
        program,
        arguments=(*program.arguments, name),
        arrays={**program.arrays, name: Array(name, dtype, (), where)},
        body=(*program.body, written),
    )


def _size(extent: Expression, values: dict[str, Any]) -> int:
    return int(value_of(extent, values))


def _returned(translated: Translated, given: dict[str, Any]) -> Any:
    if translated.results is None:
        return None
    parts = iter([_part(result, given) for result in translated.results])
    return _made(translated.form, parts)


def _part(result: Result, given: dict[str, Any]) -> Any:
    array = given[result.array]
    if result.mask:
        return array[given[result.mask]]
    if result.turned:
        return array.T
    if result.kind is None:
        return array
    return array.item() if result.kind.weak else array[()]


def _made(form: Form, parts: Iterator[Any]) -> Any:
    """What is returned, of the results."""
    if form is None:
        return next(parts)
    if isinstance(form, Given):
        return form.value
    group, inner = form
    return group.make([_made(each, parts) for each in inner])


def made_kernel(
    loops: Loops,
    signature: Signature,
    values: dict[str, Any],
    outside: dict[Outside, str],
    options: dict[str, Any],
) -> Kernel:
    """A new kernel; subscripts that turn out to be below 0 count from the end."""
    wrapping: set[Any] = set()
    residues: dict[Any, int] = {}
    numbers: dict[str, int] = {}
    while True:
        translation = Translation(loops.name)
        translation.wrapping = wrapping
        translation.residues = residues
        translation.outside = outside
        try:
            with many_levels(loops.source.location(loops.source.tree)):
                found = translated(translation, loops, signature, values, numbers)
                return Kernel(found, values, options)
        except OutsideError as error:
            if error.place in wrapping:
                raise SubscriptError(error.plain, error.location) from None
            wrapping.add(error.place)
        except FactError as error:
            residue = residues.get(error.place, 0) + 1
            if residue >= translation.cases.get(error.place, 0):
                raise found.error_of(error) from None
            residues[error.place] = residue


def translated(
    translation: Translation,
    loops: Loops,
    signature: Signature,
    values: dict[str, Any],
    numbers: dict[str, int],
) -> Translated:
    """The function's statement tree; sizes of which products are taken become numbers in it, and so do the few
    components of points."""
    found = _with_products(translation, loops, signature, values, numbers)
    few = _few_components(found.program, values) - numbers.keys()
    if not few:
        return found
    more = {**numbers, **{name: int(values[name]) for name in few}}
    translation.kinds.clear()
    try:
        return _with_products(translation, loops, signature, values, more)
    except (
        TranslationError
    ):  # nothing is left to be found out at the call, and be said as of the function
        translation.kinds.clear()
        return _with_products(translation, loops, signature, values, numbers)


def _with_products(
    translation: Translation,
    loops: Loops,
    signature: Signature,
    values: dict[str, Any],
    numbers: dict[str, int],
) -> Translated:
    while True:
        translation.numbers = numbers
        try:
            return translation.run(loops, signature)
        except NeedsNumbers as needs:
            numbers.update({name: int(values[name]) for name in needs.names})
            translation.kinds.clear()  # shapes are others


def _few_components(program: Program, values: dict[str, Any]) -> frozenset[str]:
    """The last extents, if they are small, of arrays of points, pixels and the like.

    Such an array has more dimensions than one, of other extents. As numbers its components say how far the
    same one of the next point lies, and how many lie side by side.
    """
    found: set[str] = set()
    for array in program.arrays.values():
        if array.local:
            continue
        *outer, last = array.shape or (None,)
        if outer and isinstance(last, Variable) and last not in outer:
            if int(values.get(last.name, 0)) in range(1, _MOST_COMPONENTS + 1):
                found.add(last.name)
    return frozenset(found)
