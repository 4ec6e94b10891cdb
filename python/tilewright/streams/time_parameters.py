"""The parameters of a stream kernel that say from when to when it computes, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..language.names import Parameter
from .timing import Timing

__all__ = ["Times"]


class Times:
    """The parameters that say from when to when a step computes, and what is known of them.

    Args:
        start: the tick at which every call begins, if that is known: then the end alone is a parameter.
    """

    def __init__(
        self,
        timing: Timing,
        outputs: Sequence[str],
        sizes: Mapping[str, int],
        start: int | None = None,
    ) -> None:
        self.timing = timing
        self._starts = None if start is None else timing.counts(start)
        self.reference = timing.inputs[0]
        #: What a stream's times are: (a stream with parameters of its own, factor, offset).
        self._told: dict[str, tuple[str, int, int]] = {}
        for name in dict.fromkeys([self.reference, *timing.rates]):
            self._told[name] = self._by_others(name) or (name, 1, 0)
        self.own = tuple(name for name in timing.rates if self._told[name][0] == name)
        begins = timing.counts(start or 0)
        self.first = tuple(name for name in outputs if begins[name] < 0)
        ends = ("begin", "end") if start is None else ("end",)
        names = [f"{name}_{end}" for name in self.own for end in ends]
        names += [f"{name}_first" for name in self.first] + list(sizes)
        known = [*self._known(), *(f"{name} = {value}" for name, value in sizes.items())]
        self.constraint = f"[{', '.join(names)}] -> {{ : {' and '.join(dict.fromkeys(known))} }}"

    def _by_others(self, name: str) -> tuple[str, int, int] | None:
        """How the times of a stream follow from those of an earlier one, if they do."""
        for other, (teller, _, _) in self._told.items():
            found = self.timing.multiple(name, other) if teller == other else None
            if found is not None:
                return other, *found
        return None

    def _known(self) -> list[str]:
        known = [f"0 <= {self.text(self.reference, 'begin')}"]
        least = self.timing.counts(0)
        for name in self.own:
            known.append(f"{self.text(name, 'begin')} <= {name}_end")
            if name != self.reference:
                known.append(f"{least[name]} <= {self.text(name, 'begin')}")
        for name in self.first:
            begin, end = (f"({self.text(name, which)})" for which in ("begin", "end"))
            first = f"{name}_first"
            known += [f"{begin} <= {first}", f"{first} <= {end}"]
            known.append(f"({first} >= 0 or {first} = {end})")
        for edge in self.timing.edges:
            if edge.reader in self.own or edge.producer in self.own:
                low, high = self.timing.bounds(edge)
                for which in ("begin", "end"):
                    reader = f"{edge.gain} * ({self.text(edge.reader, which)})"
                    producer = f"{edge.step} * ({self.text(edge.producer, which)})"
                    known.append(f"{low} <= {producer} - {reader} <= {high}")
        return known

    def text(self, name: str, which: str) -> str:
        """When a stream begins or ends, as isl's text."""
        if which == "begin" and self._starts is not None:
            return str(self._starts[name])
        other, factor, offset = self._told[name]
        return f"{name}_{which}" if name == other else f"{factor} * {other}_{which} + {offset}"

    def value(self, name: str, which: str) -> Any:
        if which == "begin" and self._starts is not None:
            return self._starts[name]
        other, factor, offset = self._told[name]
        told = Parameter(f"{other}_{which}", self.constraint)
        return told if name == other else factor * told + offset

    def first_text(self, name: str) -> str:
        told = self.told_first(name)
        return self.text(name, "begin") if told is None else f"{told}_first"

    def first_output(self, name: str) -> Any:
        """The first element that is handed out: none comes before 0."""
        told = self.told_first(name)
        if told is None:
            return self.value(name, "begin")
        return Parameter(f"{told}_first", self.constraint)

    def told_first(self, name: str) -> str | None:
        """The output whose parameter says it: itself, or one that has the same times."""
        return next((one for one in self.first if self._told[one] == self._told[name]), None)
