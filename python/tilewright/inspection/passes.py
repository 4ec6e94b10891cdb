"""What each pass of the compiler makes of the loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from ..base.checks import ARGUMENT, a_list, an_integer, made_by
from ..base.display import LoopsText, Text, code, code_table, escaped
from ..base.results import Result

__all__ = ["CompilerPass", "Passes"]


@dataclass(frozen=True)
class CompilerPass(Result):
    """One pass: the loops after it.

    Attributes:
        name: as it stands in cpp/passes/road.cpp; the first one is "translate", which makes the
            loops of the schedule.
        milliseconds: what it took.
        changed: whether the loops are others than before.
        loops: the loops after it, as pseudo-code.
    """

    name: str
    milliseconds: float
    changed: bool
    loops: LoopsText

    made_by = "Function.passes"

    def __repr__(self) -> str:
        return f"# {self.name} ({self.milliseconds:.3f} ms)\n{self.loops}"

    def _repr_html_(self) -> str:
        return f"<div>{code(self.name)} {self.milliseconds:.3f} ms</div>{self.loops._repr_html_()}"


class Passes(Sequence[CompilerPass]):
    """The passes that a function's loops go through, in order, by position or by name::

        passes = f.passes()
        passes                              # the loops after each pass that changed them
        passes["vectorize_loops"].loops     # after one; of several of a name, after the last
        passes.table                        # all of them, with their times

    Raises:
        KeyError: no pass has this name.
    """

    def __init__(self, passes: Iterable[CompilerPass]) -> None:
        self._passes: tuple[CompilerPass, ...] = tuple(a_list(passes, "the passes", of="passes"))
        for each in self._passes:
            made_by("Function.passes", each, CompilerPass, "tw.Passes", ARGUMENT)

    @overload
    def __getitem__(self, which: int | str) -> CompilerPass: ...
    @overload
    def __getitem__(self, which: slice) -> Passes: ...
    def __getitem__(self, which: int | str | slice) -> CompilerPass | Passes:
        if isinstance(which, slice):
            return Passes(self._passes[which])
        if not isinstance(which, str):
            return self._passes[an_integer(which, "the position of a pass", bits=64)]
        for one in reversed(self._passes):
            if one.name == which:
                return one
        names = dict.fromkeys(one.name for one in self._passes)
        raise KeyError(f"no pass {which!r}; there are {', '.join(names)}")

    def __len__(self) -> int:
        return len(self._passes)

    @property
    def changed(self) -> Passes:
        """Those that changed the loops."""
        return Passes(one for one in self._passes if one.changed)

    @property
    def table(self) -> Text:
        """A line for each pass: its time, its name, and "changed" where it did."""
        return Text(
            "\n".join(
                f"{one.milliseconds:9.3f} ms  {one.name:22}{'  changed' * one.changed}".rstrip()
                for one in self._passes
            )
        )

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.changed))

    def _repr_html_(self) -> str:
        """The table, of which each pass that changed something opens."""
        head = "<tr><th>pass</th><th>ms</th></tr>"
        rows = []
        for one in self._passes:
            name = code(one.name)
            if one.changed:
                name = f"<details><summary>{name}</summary>{one.loops._repr_html_()}</details>"
            time = escaped(f"{one.milliseconds:.3f}")
            rows.append(f'<tr><td style="text-align: left">{name}</td><td>{time}</td></tr>')
        return code_table(head, "".join(rows))
