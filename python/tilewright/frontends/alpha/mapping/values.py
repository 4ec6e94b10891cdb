"""What a target mapping says, as values (CSU TR CS12-101, section 7).

A `TargetMapping` belongs to one system: space-time maps of variables, types of the dimensions of time, memory
maps with modulo factors, shared memories, a tiling. It says nothing about whether it is legal: the
verifier and the legality check of functions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..domains import AffineFunction

__all__ = ["DIMENSION_TYPES", "TILINGS", "MemoryMapping", "TargetMapping", "Tiling"]

DIMENSION_TYPES = ("sequential", "parallel", "ordering")
TILINGS = ("sequential", "wavefront")


@dataclass(frozen=True)
class MemoryMapping:
    """Value z is kept at ``function(z)``, each result modulo its factor.

    Attributes:
        function: from the variable's points to memory.
        moduli: a factor for each result; 0 takes no modulo.
    """

    function: AffineFunction
    moduli: tuple[int, ...]

    def __str__(self) -> str:
        factors = ",".join(map(str, self.moduli))
        return f"{self.function} mod {factors}" if any(self.moduli) else str(self.function)


@dataclass(frozen=True)
class Tiling:
    """Which dimensions of time are cut into tiles.

    Attributes:
        dimensions: their numbers, increasing.
        sizes: the size of a tile in each of them; a name for one that is given at run time.
        kind: "sequential", or "wavefront": tiles whose numbers have one sum run in parallel.
    """

    dimensions: tuple[int, ...]
    sizes: tuple[int | str, ...]
    kind: str

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that are given at run time."""
        return tuple(dict.fromkeys(each for each in self.sizes if isinstance(each, str)))

    def __str__(self) -> str:
        cut = ", ".join(f"{d} by {s}" for d, s in zip(self.dimensions, self.sizes, strict=True))
        return f"dimensions {cut}, {self.kind}"


@dataclass(frozen=True)
class TargetMapping:
    """The mapping of one system; each `Set...` command gives another one.

    Attributes:
        times: the space-time map by variable.
        types: the type of a dimension by variable and number; of all variables under None.
        memory: the memory map by variable.
        spaces: the name of the memory by variable, where several share one.
        tiling: or None.
        orders: pairs of mapped variables, of which the first runs first at equal times.
    """

    times: Mapping[str, AffineFunction] = field(default_factory=dict)
    types: Mapping[tuple[str | None, int], str] = field(default_factory=dict)
    memory: Mapping[str, MemoryMapping] = field(default_factory=dict)
    spaces: Mapping[str, str] = field(default_factory=dict)
    tiling: Tiling | None = None
    orders: tuple[tuple[str, str], ...] = ()

    def having(self, part: str, key: Any, value: Any) -> TargetMapping:
        """With one more entry of `times`, `types`, `memory` or `spaces`."""
        changed: dict[str, Any] = {part: {**getattr(self, part), key: value}}
        return replace(self, **changed)

    def type_of(self, variable: str, dimension: int) -> str:
        """The type of a dimension for a variable: its own, else that of all, else sequential."""
        own = self.types.get((variable, dimension))
        return own or self.types.get((None, dimension), "sequential")

    def variables(self) -> set[str]:
        """The variables that it names."""
        named = {name for name, _ in self.types if name is not None}
        named |= {name for pair in self.orders for name in pair}
        return named | set(self.times) | set(self.memory) | set(self.spaces)

    def positions(self) -> dict[str, int] | None:
        """Of the mapped variables at equal times, as `orders` say, else as they were mapped; nothing if these go
        in a circle."""
        found: list[str] = []
        needs = {name: {a for a, b in self.orders if b == name} for name in self.times}
        while len(found) < len(needs):
            ready = [n for n in needs if n not in found and needs[n] & set(needs) <= set(found)]
            if not ready:
                return None
            found.append(ready[0])
        return {name: number for number, name in enumerate(found)}

    def __str__(self) -> str:
        lines = [f"{name} at {time}" for name, time in self.times.items()]
        for (name, number), kind in self.types.items():
            lines.append(f"dimension {number}{f' of {name}' if name else ''} is {kind}")
        lines += [f"{name} in {each}" for name, each in self.memory.items()]
        lines += [f"{name} in memory {each}" for name, each in self.spaces.items()]
        lines += [f"tiles: {self.tiling}"] if self.tiling else []
        lines += [f"{first} before {second} at equal times" for first, second in self.orders]
        return "\n".join(lines) or "no mapping"
