"""Where numbers go wrong: the first instance whose value is NaN although nothing that it reads is.

`Function.trace_nan` runs a kernel that looks at every value it stores, in the order of the schedule
and in one thread, and stops at the first that is no number while its operands are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.display import preformatted
from ..base.results import Result
from ..base.source import SourceLocation

__all__ = ["NanTrace", "ReadValue"]


@dataclass(frozen=True)
class ReadValue(Result):
    """An element that the instance read.

    Attributes:
        array: the input or computation; empty for what a sum (or product, ...) was before.
        element: its subscripts.
        value: what it held; a complex number for complex arrays.
    """

    array: str
    element: tuple[int, ...]
    value: complex

    made_by = "Function.trace_nan"

    def __str__(self) -> str:
        if not self.array:
            return f"{_number(self.value)} so far"
        return f"{_element(self.array, self.element)} = {_number(self.value)}"


@dataclass(frozen=True)
class NanTrace(Result):
    """The first instance that made a NaN out of numbers; see `Function.trace_nan`.

    Attributes:
        function: the name of the function.
        computation: the computation whose instance it is.
        element: the element that it gives a value to.
        point: the value of each of its iterators, those of a reduction included.
        value: its value: NaN, or infinite where that was asked for.
        reads: what it read, in the order in which the declaration reads it; of a `tw.select` only
            the branch taken, of a reduction inside an expression the latest term.
        location: the line where it was declared.
    """

    function: str
    computation: str
    element: tuple[int, ...]
    point: dict[str, int]
    value: complex
    reads: tuple[ReadValue, ...]
    location: SourceLocation | None

    made_by = "Function.trace_nan"

    def __str__(self) -> str:
        text = f"{_element(self.computation, self.element)} = {_number(self.value)}"
        reduced = list(self.point.items())[len(self.element) :]
        if reduced:
            text += " at " + ", ".join(f"{name} = {value}" for name, value in reduced)
        if self.reads:
            text += ", from " + ", ".join(str(read) for read in self.reads)
        return text if self.location is None else f"{text}\n  at {self.location}"

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def trace_of(function: str, found: dict[str, Any]) -> NanTrace:
    """What the core found, as a `NanTrace`."""
    where = found["where"]
    point = dict(found["point"])
    return NanTrace(
        function=function,
        computation=found["computation"],
        element=tuple(list(point.values())[: found["rank"]]),
        point=point,
        value=found["value"],
        reads=tuple(dict.fromkeys(ReadValue(*read) for read in found["reads"])),
        location=None if where is None else SourceLocation(*where),
    )


def _element(array: str, element: tuple[int, ...]) -> str:
    return f"{array}[{', '.join(str(index) for index in element)}]"


def _number(value: complex) -> str:
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.9g}"
    return text + ".0" if text.lstrip("-").isdigit() else text
