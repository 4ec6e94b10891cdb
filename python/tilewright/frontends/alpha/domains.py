"""Domains and affine functions of Alpha (CSU TR CS12-101, section 4.1).

Both are positional: index names are kept for printing only. The algebra is that of `tw.Set` and
`tw.Map`; parameters are implicit dimensions. Constraints and inverses are read from what isl prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import tilewright as tw

from .linear import Floor, Linear
from .presburger import Constraint, UnknownForm, disjuncts

__all__ = [
    "AffineFunction",
    "Domain",
    "canonical",
    "factored",
    "formula",
    "fresh_names",
    "map_of",
    "set_of",
    "witness_text",
]


@lru_cache(maxsize=4096)
def set_of(text: str) -> tw.Set:
    """The set of isl text; programs say the same ones again and again."""
    return tw.Set(text)


@lru_cache(maxsize=4096)
def map_of(text: str) -> tw.Map:
    """The map of isl text."""
    return tw.Map(text)


def canonical(count: int, prefix: str = "_") -> tuple[str, ...]:
    """Names for dimensions that no program has."""
    return tuple(f"{prefix}{number}" for number in range(count))


def formula(parts: Sequence[Sequence[Constraint]]) -> str:
    """Disjuncts as isl text."""
    joined = [" and ".join(map(str, part)) or "true" for part in parts]
    return " or ".join(f"({part})" for part in joined) if joined else "false"


def fresh_names(wanted: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """The names, with a number where one is taken or there twice."""
    found: list[str] = []
    for name in wanted:
        candidate, number = name, 0
        while candidate in taken or candidate in found:
            candidate, number = f"{name}{number}", number + 1
        found.append(candidate)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Domain:
    """A union of polyhedra, with names for its dimensions.

    Args:
        indices: the names.
        points: a set whose tuple has no name.
    """

    indices: tuple[str, ...]
    points: tw.Set = field(repr=False)

    @classmethod
    def where(cls, indices: Sequence[str], parts: Sequence[Sequence[Constraint]]) -> Domain:
        """The points where any of the parts holds, constraints over `indices` and parameters."""
        names = canonical(len(indices))
        values = {old: Linear.of(new) for old, new in zip(indices, names, strict=True)}
        renamed = [[each.substituted(values) for each in part] for part in parts]
        return cls(tuple(indices), set_of(f"{{ [{', '.join(names)}] : {formula(renamed)} }}"))

    @classmethod
    def universe(cls, indices: Sequence[str]) -> Domain:
        """All points."""
        return cls(tuple(indices), set_of(f"{{ [{', '.join(canonical(len(indices)))}] }}"))

    @property
    def arity(self) -> int:
        """The number of dimensions."""
        return len(self.indices)

    @cached_property
    def parts(self) -> list[list[Constraint]]:
        """The constraints of each polyhedron, over `indices` and parameters."""
        try:
            return disjuncts(str(self.points.explicit_divisions().coalesce()), self.indices)
        except UnknownForm as error:
            raise tw.SetError(
                f"no constraints without quantifiers say {self.points}: {error}"
            ) from None

    @cached_property
    def disjoint_parts(self) -> list[Domain]:
        """Polyhedra without a common point whose union this is."""
        found: list[Domain] = []
        rest = self
        for part in self.parts:
            one = Domain.where(self.indices, [part]) & rest
            if one.is_empty:
                continue
            pieces = [one] if len(one.parts) == 1 else one.disjoint_parts
            found += pieces
            rest = rest - one
        return found

    def named(self, indices: Sequence[str]) -> Domain:
        """The same points under other index names."""
        return Domain(tuple(indices), self.points)

    def __and__(self, other: Domain) -> Domain:
        return Domain(self.indices, self.points & other.points)

    def __or__(self, other: Domain) -> Domain:
        return Domain(self.indices, (self.points | other.points).coalesce())

    def __sub__(self, other: Domain) -> Domain:
        return Domain(self.indices, (self.points - other.points).coalesce())

    def __le__(self, other: Domain) -> bool:
        return self.points <= other.points

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return self.arity == other.arity and self.points == other.points

    def __hash__(self) -> int:
        return hash(len(self.indices))

    @property
    def is_empty(self) -> bool:
        """Whether there is no point, whatever the parameters."""
        return self.points.is_empty

    def within(self, context: tw.Set) -> Domain:
        """For these values of the parameters only."""
        return Domain(self.indices, self.points.intersect_params(context))

    def gist(self, context: Domain) -> Domain:
        """What is left to say where `context` holds."""
        return Domain(self.indices, self.points.gist(context.points))

    def image(self, function: AffineFunction, names: Sequence[str] | None = None) -> Domain:
        """The points that the function takes those of this domain to."""
        return Domain(
            tuple(names) if names is not None else function.result_names(),
            self.points.apply(function.map).explicit_divisions().coalesce(),
        )

    def preimage(self, function: AffineFunction) -> Domain:
        """The points that the function takes into this domain."""
        return Domain(function.indices, self.points.apply(function.map.reverse()).coalesce())

    def substituted(self, indices: Sequence[str], values: Mapping[str, Linear]) -> Domain:
        """The domain over `indices` whose constraints are those of this one with names replaced."""
        parts = [[each.substituted(values) for each in part] for part in self.parts]
        return Domain.where(indices, parts)

    def lexmin(self) -> Domain:
        """Its first point."""
        return Domain(self.indices, self.points.lexmin())

    def equalities(self) -> list[Linear]:
        """What is 0 at each of its points."""
        if self.is_empty:
            return []
        hull = Domain(self.indices, self.points.affine_hull())
        return [each.linear for part in hull.parts for each in part if each.is_equality]

    def plain_equalities(self) -> list[Linear]:
        """Those without floors, from which indices can be solved."""
        return [e for e in self.equalities() if not any(isinstance(v, Floor) for v in e.terms)]

    def __str__(self) -> str:
        return f"{{{', '.join(self.indices)} | {formula(self.parts)}}}"


@dataclass(frozen=True, eq=False)
class AffineFunction:
    """``(i, j -> i+j, N)``: affine expressions of indices and parameters.

    Args:
        indices: the names of the arguments.
        results: the expressions.
    """

    indices: tuple[str, ...]
    results: tuple[Linear, ...]

    @classmethod
    def identity(cls, indices: Sequence[str]) -> AffineFunction:
        """The function that gives its arguments."""
        return cls(tuple(indices), tuple(map(Linear.of, indices)))

    @property
    def is_identity(self) -> bool:
        """Whether it gives its arguments."""
        return self == AffineFunction.identity(self.indices)

    @cached_property
    def map(self) -> tw.Map:
        """The function as a relation between tuples without a name."""
        names = canonical(len(self.indices))
        values = {old: Linear.of(new) for old, new in zip(self.indices, names, strict=True)}
        results = ", ".join(str(each.substituted(values)) for each in self.results)
        parameters = ", ".join(sorted(self.parameters()))
        return map_of(f"[{parameters}] -> {{ [{', '.join(names)}] -> [{results}] }}")

    def named(self, indices: Sequence[str]) -> AffineFunction:
        """The same function with other names of its arguments."""
        values = {old: Linear.of(new) for old, new in zip(self.indices, indices, strict=True)}
        return AffineFunction(
            tuple(indices), tuple(each.substituted(values) for each in self.results)
        )

    def after(self, first: AffineFunction) -> AffineFunction:
        """``z -> self(first(z))``."""
        values = dict(zip(self.indices, first.results, strict=True))
        return AffineFunction(
            first.indices, tuple(each.substituted(values) for each in self.results)
        )

    def result_names(self) -> tuple[str, ...]:
        """Names for the dimensions of what it gives."""
        wanted = [each.single() or f"z{number}" for number, each in enumerate(self.results)]
        return fresh_names(wanted, self.parameters())

    def parameters(self) -> set[str]:
        """The names in its results that are none of its arguments."""
        found: set[str] = set()
        for each in self.results:
            found |= each.names()
        return found - set(self.indices)

    @property
    def is_canonic(self) -> bool:
        """Whether it drops trailing indices and does nothing else."""
        names = tuple(each.single() for each in self.results)
        return names == self.indices[: len(names)]

    def linear_part(self) -> AffineFunction:
        """Without constants and parameters."""
        kept = set(self.indices)
        return AffineFunction(
            self.indices,
            tuple(
                Linear({name: factor for name, factor in each.terms.items() if name in kept})
                for each in self.results
            ),
        )

    def at(self, point: Sequence[int]) -> tuple[int, ...]:
        """The value at a point, if there are no parameters in it."""
        values = {n: Linear(None, v) for n, v in zip(self.indices, point, strict=True)}
        return tuple(each.substituted(values).constant for each in self.results)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineFunction):
            return NotImplemented
        if len(self.indices) != len(other.indices):
            return False
        names = canonical(len(self.indices))
        return self.named(names).results == other.named(names).results

    def __hash__(self) -> int:
        return hash((len(self.indices), len(self.results)))

    def __str__(self) -> str:
        results = ",".join(map(str, self.results))
        return f"({','.join(self.indices)}->{results})"

    def inverse_on(self, domain: Domain, names: Sequence[str]) -> AffineFunction | None:
        """An affine left inverse on a domain: g(f(z)) = z there; None if there is none with
        integer coefficients.

        Args:
            domain: where it must hold.
            names: those of the inverse's arguments.
        """
        unknowns = canonical(len(self.indices), "_z")
        arguments = canonical(len(self.results), "_y")
        values = {old: Linear.of(new) for old, new in zip(self.indices, unknowns, strict=True)}
        rows = [each.substituted(values) for each in domain.named(self.indices).plain_equalities()]
        rows += [
            each.substituted(values) - Linear.of(argument)
            for each, argument in zip(self.results, arguments, strict=True)
        ]
        solved = _solved(rows, unknowns)
        if solved is None or _mentions(solved, unknowns):
            return None
        back = {old: Linear.of(new) for old, new in zip(arguments, names, strict=True)}
        return AffineFunction(tuple(names), tuple(each.substituted(back) for each in solved))


def _mentions(solved: Sequence[Linear], unknowns: Sequence[str]) -> bool:
    """Whether a floor of an unknown is left, which no elimination reaches."""
    return any(each.names() & set(unknowns) for each in solved)


_Row: TypeAlias = "dict[object, Fraction]"


def _solved(rows: Sequence[Linear], unknowns: Sequence[str]) -> list[Linear] | None:
    """The unknowns as integer combinations of the other variables, from equations ``row = 0``."""
    return _integers(_table(rows), unknowns)


def _table(rows: Sequence[Linear]) -> list[_Row]:
    """Rows of coefficients; the constant's key is 1."""
    table: list[_Row] = []
    for row in rows:
        entry: _Row = {name: Fraction(factor) for name, factor in row.terms.items()}
        entry[1] = Fraction(row.constant)
        table.append(entry)
    return table


def _eliminate(table: list[_Row], unknown: str) -> _Row | None:
    """Takes out of the table a row that has the unknown, scaled to 1, and the unknown out of all
    others; None if none has it."""
    usable = [entry for entry in table if entry.get(unknown)]
    if not usable:
        return None
    pivot = min(usable, key=lambda entry: abs(entry[unknown]) != 1)
    table.remove(pivot)
    scale = pivot[unknown]
    pivot = {name: value / scale for name, value in pivot.items()}
    for other in table:
        _subtract(other, pivot, unknown)
    return pivot


def _subtract(row: _Row, pivot: _Row, unknown: str) -> None:
    factor = row.get(unknown, Fraction(0))
    if factor:
        for name, value in pivot.items():
            row[name] = row.get(name, Fraction(0)) - factor * value


def _integers(table: list[_Row], unknowns: Sequence[str]) -> list[Linear] | None:
    """The unknowns as integer combinations of the other variables."""
    pivots: dict[str, _Row] = {}
    for unknown in unknowns:
        pivot = _eliminate(table, unknown)
        if pivot is None:
            return None
        for other in pivots.values():
            _subtract(other, pivot, unknown)
        pivots[unknown] = pivot
    result: list[Linear] = []
    for unknown in unknowns:
        terms = {n: -v for n, v in pivots[unknown].items() if n != unknown and n != 1 and v}
        constant = -pivots[unknown].get(1, Fraction(0))
        if any(value.denominator != 1 for value in [*terms.values(), constant]):
            return None
        integers = {name: int(value) for name, value in terms.items()}
        result.append(Linear(integers, int(constant)))  # type: ignore[arg-type]  # names and floors
    return result


def witness_text(domain: Domain) -> str:
    """A point of a domain, with the values of the parameters for which it is there."""
    point = domain.points.sample()
    if point is None:
        return "nowhere"
    pairs = zip(domain.indices, point, strict=True)
    place = ", ".join(f"{name} = {value}" for name, value in pairs)
    sizes = ", ".join(f"{name} = {value}" for name, value in point.parameters.items())
    written = [f"at [{place}]"] * bool(place) + [f"with {sizes}"] * bool(sizes)
    return " ".join(written) or "always"


def factored(
    function: AffineFunction, through: AffineFunction, domain: Domain, names: Sequence[str]
) -> AffineFunction | None:
    """A function h with ``function(z) = h(through(z))`` on a domain, if there is one with integer
    coefficients: `function` is constant where `through` is.

    Args:
        function, through: of the same arguments.
        domain: where it must hold.
        names: of h's arguments.
    """
    unknowns = canonical(len(through.indices), "_z")
    arguments = canonical(len(through.results), "_y")
    wanted = canonical(len(function.results), "_w")
    values = {old: Linear.of(new) for old, new in zip(through.indices, unknowns, strict=True)}
    rows = [each.substituted(values) for each in domain.named(through.indices).plain_equalities()]
    for target, each in (
        *zip(arguments, through.results, strict=True),
        *zip(wanted, function.named(through.indices).results, strict=True),
    ):
        rows.append(each.substituted(values) - Linear.of(target))
    table = _table(rows)
    for unknown in unknowns:
        _eliminate(table, unknown)
    free = [row for row in table if not any(row.get(unknown) for unknown in unknowns)]
    solved = _integers(free, wanted)
    if solved is None or _mentions(solved, unknowns):
        return None
    back = {old: Linear.of(new) for old, new in zip(arguments, names, strict=True)}
    return AffineFunction(tuple(names), tuple(each.substituted(back) for each in solved))
