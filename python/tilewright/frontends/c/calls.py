"""The C text that runs a scheduled scop in the place of its statements: arguments, conditions, copies.

The scheduled function takes the program's parameters and arrays. The text asks what the translation
takes for granted (sizes, accesses within arrays, memory of pointers that does not overlap) and runs the
statements as they were written where that does not hold, so that the program means what it meant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...export.source import SourceInterface
from ...schedule.scheduled_functions import ScheduledFunction
from .. import tree
from ..translated import TranslatedFunction
from .c_types import C_NAMES, ArrayOf, CType, Structure
from .programs import Argument, Translated
from .ranges import Interval, ranges_of, text_of
from .refusals import refuse

__all__ = ["CallText", "call_text"]


@dataclass
class CallText:
    """The lines of a call.

    Attributes:
        before: declarations and copies before it.
        conditions: what has to hold for it.
        arguments: of the call.
        after: copies behind it.
        result: the declaration of what the C function returns, or "".
    """

    before: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    result: str = ""


def call_text(
    translated: Translated,
    made: TranslatedFunction,
    function: ScheduledFunction,
    interface: SourceInterface,
) -> CallText:
    """How the C function of a schedule is called where the scop stands.

    Args:
        translated: the program and its arguments.
        made: the function that the dataflow made of it.
        function: the same with its schedule.
        interface: the arguments of its C function.

    Raises:
        TranslationError: for what has no such text, at the place of the array.
    """
    return _Writer(translated, made).write(function, interface)


class _Writer:
    def __init__(self, translated: Translated, made: TranslatedFunction) -> None:
        self.program = translated.program
        self.arguments = translated.arguments
        self.result = translated.result
        self.names = {own: name for name, own in made._names.items()}
        self.limits = made._limits
        self.outputs = {output: array for array, output in made._results.items()}
        self.ranges = ranges_of(self.program)
        self.of: dict[str, Argument] = {
            array: each for each in self.arguments for array in each.arrays.values()
        }
        self.numbers = {each.name for each in self.arguments if not each.arrays}
        self.text = CallText()
        self.pointers: dict[str, str] = {}  # of the program's arrays

    def write(self, function: ScheduledFunction, interface: SourceInterface) -> CallText:
        self.check_names()
        for each in self.arguments:
            if each.arrays and isinstance(_element(each.type), Structure):
                self.lengths(each)
                self.structures(each)
            elif each.arrays:
                self.lengths(each)
                self.plain(each)
        if self.result:
            of = C_NAMES[self.program.arrays[self.result].dtype.name]
            self.text.result = of
            self.pointers[self.result] = "&tilewright_result"
        self.text.conditions += self.apart()
        for own in function.parameters:
            limit = self.limits.get(own)  # of turns of a loop that data end
            self.text.arguments.append(self.names[own] if limit is None else f"{limit}LL")
        for argument in interface.arguments:
            self.argument(argument, interface)
        return self.text

    def check_names(self) -> None:
        """Arguments are found by their names where the scop stands."""
        names = [each.name for each in self.arguments]
        for name in names:
            if names.count(name) > 1:
                refuse(
                    self.program.location,
                    f"{self.program.name} uses two variables that are called {name}, of which one is "
                    "hidden where the scop stands",
                    "rename one of them",
                )

    # ---- arrays ----

    def lengths(self, argument: Argument) -> None:
        """How many elements a pointer leads to: as many as the scop may access."""
        for array in argument.arrays.values():
            shape = self.program.arrays[array].shape
            if not (shape and argument.extents):
                continue
            first = shape[0]
            if not isinstance(first, tree.Variable) or first.name in self.numbers:
                continue
            if any(f"const long long {first.name} =" in line for line in self.text.before):
                continue
            found = self.ranges.get(array, ("0", "0"))
            if found is None:
                self.refuse_data(array)
            assert found is not None
            row = [text_of(extent) for extent in shape[1:]]
            if None in row:
                refuse(self.program.location, f"the rows of {argument.name} have no length in C")
            size = " * ".join(["1", *(f"({each})" for each in row)])
            size = f"tilewright_most({size}, 1)"  # rows of no elements have none that is accessed
            length = f"({found[1]}) / {size} + 1" if row else f"({found[1]}) + 1"
            self.text.before.append(f"const long long {first.name} = tilewright_most({length}, 0);")

    def refuse_data(self, array: str) -> None:
        argument = self.of[array]
        refuse(
            self.program.arrays[array].location,
            f"data decide which elements of {argument.name} are accessed, so that it is not seen how "
            "far the pointer reaches",
            f"declare its size, {argument.name}[n]; and restrict, if it overlaps no other array",
        )

    def plain(self, argument: Argument) -> None:
        (array,) = argument.arrays.values()
        of = C_NAMES[argument.dtype.name]
        if argument.extents:
            self.pointers[array] = f"({of} *){argument.name}"
            self.rows(argument)
        elif argument.kind == "number":
            self.pointers[array] = argument.name
        else:
            self.pointers[array] = f"&{argument.name}"

    def rows(self, argument: Argument) -> None:
        """The compiler's size of a row has to be that of the translation."""
        if len(argument.extents) < 2:
            return
        row = [text_of(each) for each in argument.extents[1:]]
        if None in row:
            return
        size = " * ".join(f"({each})" for each in row)
        if self.declared_rank(argument) == len(argument.extents):
            wanted = f"{size} * (long long)sizeof({C_NAMES[argument.dtype.name]})"
            self.text.conditions.append(f"(long long)sizeof(*{argument.name}) == {wanted}")

    @staticmethod
    def declared_rank(argument: Argument) -> int:
        rank, of = 0, argument.type
        while isinstance(of, ArrayOf):
            rank, of = rank + 1, of.element
        return rank

    def structures(self, argument: Argument) -> None:
        """Fields are copied into arrays of their own, and back."""
        for path, array in argument.arrays.items():
            if array not in self.ranges:
                continue
            declared = self.program.arrays[array]
            of = C_NAMES[declared.dtype.name]
            extents = [text_of(each) for each in declared.shape]
            if None in extents:
                refuse(declared.location, f"the sizes of {argument.name} have no text in C")
            counted = " * ".join(["(size_t)1", *(f"({each})" for each in extents)])
            name = f"tilewright_{array}"
            self.text.before.append(f"{of} *{name} = malloc({counted} * sizeof({of}) + 1);")
            self.text.before.append(f"if (!{name}) abort();")
            self.pointers[array] = name
            loops, place, element = self.walked(argument, path, [str(each) for each in extents])
            self.text.before.append(f"{loops}{name}[{element}] = {place};")
            if argument.written:
                self.text.after.append(f"{loops}{place} = {name}[{element}];")
            self.text.after.append(f"free({name});")

    @staticmethod
    def walked(
        argument: Argument, path: Sequence[str], extents: Sequence[str]
    ) -> tuple[str, str, str]:
        """Loops over the elements of a field; the field in the structure; its number."""
        counters = [f"tilewright_k{at}" for at in range(len(extents))]
        loops = "".join(
            f"for (long long {k} = 0; {k} < {extent}; {k}++) "
            for k, extent in zip(counters, extents, strict=True)
        )
        rest = iter(counters)
        place, of = argument.name, argument.type
        steps: Iterator[str] = iter(path)
        while True:
            while isinstance(of, ArrayOf):
                place, of = f"{place}[{next(rest)}]", of.element
            if not isinstance(of, Structure):
                break
            name = next(steps)
            inner = of.field(name)
            assert inner is not None
            place, of = f"{place}.{name}", inner
        element = "0"
        for k, extent in zip(counters, extents, strict=True):
            element = k if element == "0" else f"({element}) * ({extent}) + {k}"
        return loops, place, element

    # ---- conditions ----

    def apart(self) -> Iterator[str]:
        """Pointers that may lead to memory that is changed under another name."""
        listed = [
            each
            for each in self.arguments
            if each.arrays and (each.extents or each.written) and self.may_overlap(each) is not None
        ]
        for one, other in itertools.combinations(listed, 2):
            pointers = [bool(self.may_overlap(each)) for each in (one, other)]
            if not (one.written or other.written) or not any(pointers):
                continue
            if not all(pointers) and "global" not in (one.kind, other.kind):
                continue  # restrict is the promise that nothing else leads there
            ends = [self.bytes_of(each) for each in (one, other)]
            if ends[0] is None or ends[1] is None:
                continue
            yield (f"({ends[0][1]} <= {ends[1][0]} || {ends[1][1]} <= {ends[0][0]})")

    def may_overlap(self, argument: Argument) -> bool | None:
        """Whether it is a pointer without `restrict`; None if the scop does not access it."""
        arrays = [array for array in argument.arrays.values() if array in self.ranges]
        if not arrays:
            return None
        return any(self.program.arrays[array].may_alias for array in arrays)

    def bytes_of(self, argument: Argument) -> tuple[str, str] | None:
        """The first byte that is accessed, and the one behind the last."""
        if isinstance(_element(argument.type), Structure):
            count = "1"
            if argument.extents:
                texts = [text_of(each) for each in argument.extents]
                if None in texts:
                    refuse(self.program.location, f"the size of {argument.name} has no text in C")
                count = " * ".join(f"({each})" for each in texts)
                start = f"(char *){argument.name}"
            else:
                start = f"(char *)&{argument.name}"
            return start, f"{start} + {argument.dtype.itemsize} * {count}"
        (array,) = argument.arrays.values()
        found: Interval | None = self.ranges[array]
        if found is None:
            extents = [text_of(each) for each in self.program.arrays[array].shape]
            if None in extents:
                self.refuse_data(array)
            found = "0", " * ".join(f"({each})" for each in extents) + " - 1"
        start = f"(char *)({self.pointers[array]})"
        size = argument.dtype.itemsize
        return f"{start} + {size} * ({found[0]})", f"{start} + {size} * (({found[1]}) + 1)"

    # ---- the call ----

    def argument(self, argument: object, interface: SourceInterface) -> None:
        """One argument of the C function."""
        own = argument.parts[0][0]  # type: ignore[attr-defined]
        array = self.names.get(own)
        if array is not None:
            pointer = self.pointers.get(array, "0")  # a field that the scop does not access
            if interface.is_number(argument):  # type: ignore[arg-type]
                pointer = pointer.removeprefix("&") if pointer.startswith("&") else pointer
                if array in self.of and isinstance(_element(self.of[array].type), Structure):
                    pointer = f"*{pointer}"
            self.text.arguments.append(pointer)
            return
        self.elsewhere(own, self.outputs[own])

    def elsewhere(self, output: str, array: str) -> None:
        """A result that the schedule keeps in memory of its own, and that is copied back."""
        declared = self.program.arrays[array]
        of = C_NAMES[declared.dtype.name]
        extents = [text_of(each) for each in declared.shape]
        if None in extents:
            refuse(declared.location, f"the size of {array} has no text in C")
        count = " * ".join(["(size_t)1", *(f"({each})" for each in extents)])
        name = f"tilewright_{output}"
        self.text.before.append(f"{of} *{name} = malloc({count} * sizeof({of}) + 1);")
        self.text.before.append(f"if (!{name}) abort();")
        self.text.arguments.append(name)
        copy = f"memcpy({self.pointers[array]}, {name}, {count} * sizeof({of}));"
        self.text.after[:0] = [f"if (tilewright_status == 0) {copy}", f"free({name});"]


def _element(of: CType) -> CType:
    while isinstance(of, ArrayOf):
        of = of.element
    return of
