"""When instances run, as relations: dimension by dimension, and as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import tilewright as tw

from ..domains import AffineFunction, Domain, canonical
from ..linear import Floor, Linear

__all__ = ["Order", "OrderOfAnyTiles", "OrderOfClearing", "Timed", "number_at"]

_COMPARED = {
    "less": tw.Map("{ [a] -> [b] : a < b }"),
    "equal": tw.Map("{ [a] -> [b] : a = b }"),
    "greater": tw.Map("{ [a] -> [b] : a > b }"),
}


class Timed:
    """Instances with their times.

    Args:
        name: what they are called.
        domain: the instances.
        times: their vector.
        types: of its dimensions.
    """

    def __init__(
        self, name: str, domain: Domain, times: Sequence[Linear], types: Sequence[str]
    ) -> None:
        self.name = name
        self.domain = domain
        self.times = tuple(times)
        self.types = tuple(types)

    @cached_property
    def maps(self) -> tuple[tw.Map, ...]:
        """From an instance to each dimension of its time."""
        return tuple(AffineFunction(self.domain.indices, (each,)).map for each in self.times)

    @cached_property
    def map(self) -> tw.Map:
        """From an instance to its time."""
        return AffineFunction(self.domain.indices, self.times).map.intersect_domain(
            self.domain.points
        )

    @cached_property
    def names(self) -> tw.Map:
        """From an instance to the same with the names that people know: ``A[t, i]``."""
        places = canonical(self.domain.arity)
        wanted = [f"{n} = {p}" for n, p in zip(self.domain.indices, places, strict=True)]
        return tw.Map(f"{{ [{', '.join(places)}] -> {self.name}[{', '.join(wanted)}] }}")

    def time_at(self, point: Sequence[int], parameters: Mapping[str, int]) -> tuple[int, ...]:
        """The time of one instance."""
        values = {**parameters, **dict(zip(self.domain.indices, point, strict=True))}
        return tuple(number_at(each, values) for each in self.times)


def _universe(pairs: tw.Map) -> tw.Map:
    """All pairs of the spaces of a relation."""
    return pairs.gist(pairs)


def number_at(linear: Linear, values: Mapping[str, int]) -> int:
    """The value of an affine expression."""
    total = linear.constant
    for variable, factor in linear.terms.items():
        if isinstance(variable, Floor):
            total += factor * (number_at(variable.numerator, values) // variable.divisor)
        else:
            total += factor * values[variable]
    return total


class Order:
    """How the times of two kinds of instances compare, as relations from the first to the second.

    Args:
        first: the instances that relations lead from.
        second: those that they lead to.
    """

    def __init__(self, first: Timed, second: Timed) -> None:
        self.first = first
        self.second = second
        self._known: dict[tuple[str, int], tw.Map] = {}

    def where(self, comparison: str, dimension: int) -> tw.Map:
        """The pairs whose times are "less", "equal" or "greater" in one dimension."""
        key = (comparison, dimension)
        if key not in self._known:
            start, end = self.first.maps[dimension], self.second.maps[dimension]
            self._known[key] = start.then(_COMPARED[comparison]).then(end.reverse())
        return self._known[key]

    def shown(self, pairs: tw.Map, context: tw.Set) -> tw.Map:
        """Pairs under the names of variables and indices, without what the context says of
        parameters."""
        named = pairs.apply_domain(self.first.names).apply_range(self.second.names)
        if named.is_empty:
            return named
        return named.gist(_universe(named).intersect_params(context)).coalesce()

    def is_parallel(self, dimension: int) -> bool:
        """Whether iterations of a dimension have no order."""
        return "parallel" in (self.first.types[dimension], self.second.types[dimension])

    @cached_property
    def everything(self) -> tw.Map:
        """All pairs."""
        pairs = self.first.domain.points.product(self.second.domain.points)
        return pairs.unwrap()

    @cached_property
    def before(self) -> tw.Map:
        """The pairs whose first instance is sure to run before the second: times that differ in a
        parallel dimension first have no order, and equal ones have none."""
        left, found = self.everything, self.everything - self.everything
        for dimension in range(len(self.first.times)):
            if not self.is_parallel(dimension):
                found = found | (left & self.where("less", dimension))
            left = left & self.where("equal", dimension)
        return found


class OrderOfAnyTiles(Order):
    """Of times before tiling, when tiles may have any size: who is sure to run first?

    Args:
        first, second: the instances.
        tiled: the places of the dimensions that are tiled, increasing.
    """

    def __init__(self, first: Timed, second: Timed, tiled: Sequence[int]) -> None:
        super().__init__(first, second)
        self.tiled = tuple(tiled)

    @cached_property
    def before(self) -> tw.Map:
        """The pairs whose first instance is sure to run before the second: it is later in none of the
        tiled dimensions, unless a dimension in front of the tiles decides."""
        left, found = self.everything, self.everything - self.everything
        for dimension in range(len(self.first.times)):
            if dimension == self.tiled[0]:
                for each in self.tiled:
                    left = left - self.where("greater", each)
            if not self.is_parallel(dimension):
                found = found | (left & self.where("less", dimension))
            left = left & self.where("equal", dimension)
        return found


class OrderOfClearing(Order):
    """Where one side stands for the clearing of its sum, which is done before the loop of a dimension begins.

    Args:
        first, second: the instances; of a sum, its terms.
        place: the dimension.
        clears_first: whether the first are cleared; else the second are.
    """

    def __init__(self, first: Timed, second: Timed, place: int, clears_first: bool) -> None:
        super().__init__(first, second)
        self.place = place
        self.clears_first = clears_first

    @cached_property
    def before(self) -> tw.Map:
        """The pairs whose first instance, or its clearing, is sure to run before the second's."""
        left, found = self.everything, self.everything - self.everything
        for dimension in range(self.place):
            if not self.is_parallel(dimension):
                found = found | (left & self.where("less", dimension))
            left = left & self.where("equal", dimension)
        return found | left if self.clears_first else found
