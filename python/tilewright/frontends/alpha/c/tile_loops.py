"""Loops through the times of several statements, cut into tiles whose sizes are variables of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..domains import Domain
from ..linear import Linear
from ..spaces import bounds, near_domain
from .innermost import Row
from .statements import affine_text, folded_text

__all__ = ["TileLoops"]


@dataclass(frozen=True)
class _Body:
    """A statement: its domain over times and instances, its times over instances, and its C."""

    domain: Domain
    times: Sequence[Linear]
    names: frozenset[str]
    types: Sequence[str]
    inside: Sequence[str]
    rows: Sequence[Row] | None


class TileLoops:
    """Writes the loops.

    Args:
        times: the names of the dimensions of time.
        tiled: the places of those that are tiled, increasing.
        sizes: the sizes of tiles as C.
        wavefront: whether tiles of one sum run in parallel.
    """

    def __init__(
        self, times: Sequence[str], tiled: Sequence[int], sizes: Sequence[str], wavefront: bool
    ) -> None:
        self.times = tuple(times)
        self.tiled = tuple(tiled)
        self.sizes = tuple(sizes)
        self.wavefront = wavefront
        self.bodies: list[_Body] = []
        self.found: list[str] = []
        self.depth = 1

    def add(
        self,
        domain: Domain,
        times: Sequence[Linear],
        names: Sequence[str],
        types: Sequence[str],
        inside: Sequence[str],
        rows: Sequence[Row] | None = None,
    ) -> None:
        """One more statement.

        Args:
            domain: over times, then instances.
            times: over instances.
            names: of an instance's indices.
            types: of times with tiles.
            inside: what runs the instances of a time.
            rows: what runs those along the innermost dimension, if their order is free there.
        """
        if not domain.is_empty:
            self.bodies.append(_Body(domain, times, frozenset(names), types, inside, rows))

    def lines(self) -> list[str]:
        """The loops."""
        self.level(0, self.bodies, False)
        return self.found

    def put(self, text: str) -> None:
        self.found.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.put(text + " {")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.put("}")

    # ---- dimension by dimension ----

    def level(self, place: int, bodies: Sequence[_Body], parallel: bool) -> None:
        """The loops from a dimension of time inwards; `parallel` says whether one around is."""
        if not bodies:
            return
        if place == self.tiled[0]:
            self.tiles(bodies, parallel)
        else:
            self.point(place, bodies, parallel)

    def point(self, place: int, bodies: Sequence[_Body], parallel: bool) -> None:
        if place == len(self.times):
            for body in bodies:
                for line in body.inside:
                    self.put(line)
            return
        name = self.times[place]
        groups = self.constants(place, bodies)
        if groups is not None and place not in self.tiled:
            for value, group in groups:
                self.open("")
                self.put(f"const int64_t {name} = {affine_text(value)};")
                self.put(f"(void){name};")
                self.following(place, group, parallel)
                self.close()
            return
        low, high = self.ends(bodies, name)
        if place in self.tiled:
            number = self.tiled.index(place)
            first = f"alpha_tile{number} * {self.sizes[number]}"
            low = f"greatest({low}, {first})"
            high = f"least({high}, {first} + {self.sizes[number]} - 1)"
        own = self.is_parallel(place + len(self.tiled) * (place >= self.tiled[0]), bodies)
        rows = [row for body in bodies for row in body.rows or ()]
        if place + 1 == len(self.times) and rows:
            threads = " parallel for" if own and not parallel else ""
            for row in rows:
                for line in row.loop(low, high, f"#pragma omp{threads} simd"):
                    self.put(line)
            return
        if own and not parallel:
            self.found.append("#pragma omp parallel for")
        self.open(f"for (int64_t {name} = {low}; {name} <= {high}; {name}++)")
        self.following(place, bodies, parallel or own)
        self.close()

    def following(self, place: int, bodies: Sequence[_Body], parallel: bool) -> None:
        if place + 1 == self.tiled[0]:
            self.tiles(bodies, parallel)
        else:
            self.point(place + 1, bodies, parallel)

    def constants(
        self, place: int, bodies: Sequence[_Body]
    ) -> list[tuple[Linear, list[_Body]]] | None:
        """The statements by their constants in a dimension, if these are in a known order."""
        values = [body.times[place] for body in bodies]
        differences = [each - values[0] for each in values]
        for body, value, difference in zip(bodies, values, differences, strict=True):
            if value.names() & body.names or difference.terms:
                return None
        found = []
        for constant in sorted({each.constant for each in differences}):
            group = [b for b, d in zip(bodies, differences, strict=True) if d.constant == constant]
            found.append((group[0].times[place], group))
        return found

    def is_parallel(self, place: int, bodies: Sequence[_Body]) -> bool:
        return all(body.types[place] == "parallel" for body in bodies)

    def ends(self, bodies: Sequence[_Body], name: str, keep: int | None = None) -> tuple[str, str]:
        """The least and the greatest value of a time over those before it; with `keep`, over the
        first so many."""
        lows, highs = [], []
        for body in bodies:
            domain = body.domain
            if keep is not None:
                position = domain.indices.index(name)
                others = [n for n in range(keep, domain.arity) if n != position]
                indices = (*domain.indices[:keep], name)
                points = domain.points.project_out(*others) if others else domain.points
                domain = Domain(indices, points)
            near = near_domain(domain, name)
            lower, upper = bounds(near.parts[0], name)
            lows.append(folded_text("greatest", lower))
            highs.append(folded_text("least", upper))
        low, high = lows[0], highs[0]
        for one, other in zip(lows[1:], highs[1:], strict=True):
            low, high = f"least({low}, {one})", f"greatest({high}, {other})"
        return low, high

    # ---- tiles ----

    def tiles(self, bodies: Sequence[_Body], parallel: bool) -> None:
        """The loops over tiles, and what is in one."""
        first, count = self.tiled[0], len(self.tiled)
        self.open("")
        for number, (place, size) in enumerate(zip(self.tiled, self.sizes, strict=True)):
            low, high = self.ends(bodies, self.times[place], first)
            self.put(f"const int64_t alpha_first{number} = floor_divide({low}, {size});")
            self.put(f"const int64_t alpha_last{number} = floor_divide({high}, {size});")
        numbers = list(range(count))
        waves = self.wavefront and count > 1
        if waves:
            sums = [" + ".join(f"alpha_{end}{n}" for n in numbers) for end in ("first", "last")]
            self.open(
                f"for (int64_t alpha_wave = {sums[0]}; alpha_wave <= {sums[1]}; alpha_wave++)"
            )
            numbers.pop(0)
        inside = parallel
        for number in numbers:
            own = self.is_parallel(first + number, bodies)
            if own and not inside:
                self.found.append("#pragma omp parallel for schedule(dynamic)")
            inside = inside or own
            tile = f"alpha_tile{number}"
            self.open(
                f"for (int64_t {tile} = alpha_first{number}; {tile} <= alpha_last{number}; {tile}++)"
            )
        if waves:
            rest = " - ".join(["alpha_wave", *(f"alpha_tile{number}" for number in numbers)])
            self.put(f"const int64_t alpha_tile0 = {rest};")
            self.open("if (alpha_first0 <= alpha_tile0 && alpha_tile0 <= alpha_last0)")
        self.point(first, bodies, inside)
        for _ in range(len(numbers) + 2 * waves + 1):
            self.close()
