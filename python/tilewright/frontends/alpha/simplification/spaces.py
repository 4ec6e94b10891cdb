"""Share spaces, and the directions that a search tries (Gupta and Rajopadhye, POPL 2006, sections 3 to 6).

The value of a reduction's body is the same along the common kernel of the functions by which it reads:
its share space. Of the vectors in it, those with components of -1, 0 and 1 over a basis are tried: what
counts is on which side of each face of the body a vector points, and these reach the sides that there
are for faces of loop nests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import gcd, lcm

from ..domains import AffineFunction, Domain
from ..linear import Floor, Linear

__all__ = ["Vector", "inner_rows", "kernel_of", "reuse_vectors", "rows_of", "share_space"]

Vector = tuple[int, ...]


def rows_of(function: AffineFunction) -> list[Vector]:
    """The linear part of a function, a row for each result."""
    return [_row(each, function.indices) for each in function.results]


def _row(linear: Linear, indices: Sequence[str]) -> Vector:
    return tuple(linear.terms.get(name, 0) for name in indices)


def kernel_of(rows: Iterable[Vector], dimensions: int) -> list[Vector]:
    """A basis of the vectors that all rows take to 0, of integers without a common divisor."""
    table = [[Fraction(each) for each in row] for row in rows]
    pivots: list[int] = []
    reduced: list[list[Fraction]] = []
    for column in range(dimensions):
        usable = next((row for row in table if row[column]), None)
        if usable is None:
            continue
        table.remove(usable)
        usable = [each / usable[column] for each in usable]
        table = [_minus(row, usable, column) for row in table]
        reduced = [_minus(row, usable, column) for row in reduced]
        reduced.append(usable)
        pivots.append(column)
    basis: list[Vector] = []
    for free in (column for column in range(dimensions) if column not in pivots):
        vector = [Fraction(0)] * dimensions
        vector[free] = Fraction(1)
        for pivot, row in zip(pivots, reduced, strict=True):
            vector[pivot] = -row[free]
        scale = lcm(*(each.denominator for each in vector))
        basis.append(_primitive([int(each * scale) for each in vector]))
    return basis


def _minus(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)] if factor else row


def _primitive(vector: Sequence[int]) -> Vector:
    common = gcd(*vector)
    return tuple(each // common for each in vector) if common > 1 else tuple(vector)


def rank(rows: Sequence[Vector], dimensions: int) -> int:
    """The number of independent rows."""
    return dimensions - len(kernel_of(rows, dimensions))


def independent(rows: Sequence[Vector], more: Iterable[Vector], dimensions: int) -> list[int]:
    """The positions of those of `more` that are independent of `rows` and of those before."""
    kept, found = list(rows), []
    for number, row in enumerate(more):
        if rank([*kept, row], dimensions) > rank(kept, dimensions):
            kept.append(row)
            found.append(number)
    return found


def equality_rows(body: Domain) -> list[Vector]:
    """The equations of the smallest affine space around a body, without constants."""
    rows = []
    for linear in body.equalities():
        if not any(isinstance(each, Floor) for each in linear.terms):
            rows.append(_row(linear, body.indices))
    return [row for row in rows if any(row)]


def share_space(functions: Sequence[AffineFunction], body: Domain) -> list[Vector]:
    """A basis of the directions within a body along which no function changes."""
    rows = [row for function in functions for row in rows_of(function)]
    return kernel_of([*rows, *equality_rows(body)], body.arity)


def reuse_vectors(basis: Sequence[Vector], most: int = 40) -> list[Vector]:
    """Combinations of a basis with factors of -1, 0 and 1, the shortest first."""
    if not basis:
        return []
    chosen = basis[:4]
    found: set[Vector] = set()
    for factors in product((0, 1, -1), repeat=len(chosen)):
        if not any(factors):
            continue
        sums = [
            sum(f * v[k] for f, v in zip(factors, chosen, strict=True))
            for k in range(len(basis[0]))
        ]
        found.add(_primitive(sums))
    for vector in basis[4:]:
        found |= {vector, tuple(-each for each in vector)}
    return sorted(found, key=lambda v: (sum(map(abs, v)), tuple(-each for each in v)))[:most]


def faces(body: Domain) -> list[Vector]:
    """The normals of the faces of a polyhedron, each once."""
    found: dict[Vector, None] = {}
    for part in body.parts:
        for each in part:
            if each.is_equality or any(isinstance(v, Floor) for v in each.linear.terms):
                continue
            row = _row(each.linear, body.indices)
            if any(row):
                sign = 1 if next(value for value in row if value) > 0 else -1
                found[_primitive([sign * value for value in row])] = None
    return list(found)


def inner_rows(
    projection: AffineFunction, operands: Sequence[AffineFunction], body: Domain
) -> list[list[Linear]]:
    """What an inner projection may keep beside the results of `projection`: what some functions read by,
    and the normals of one or two faces. Each keeps something, and leaves something to reduce.

    Args:
        projection: of the reduction.
        operands: functions of the indices of its body.
        body: where the body is needed.
    """
    dimensions = body.arity
    own = rows_of(projection)
    wanted: list[list[Linear]] = []
    for each in operands:
        wanted.append(list(each.linear_part().named(projection.indices).results))
    normals = [Linear(dict(zip(projection.indices, row, strict=True))) for row in faces(body)]
    wanted += [[each] for each in normals]
    wanted += [list(pair) for pair in combinations(normals, 2)]
    fixed = rank([*own, *equality_rows(body)], dimensions)
    found: list[list[Linear]] = []
    seen: set[tuple[Vector, ...]] = set()
    for extra in wanted:
        rows = [_row(each, projection.indices) for each in extra]
        kept = [
            extra[number] for number in independent([*own, *equality_rows(body)], rows, dimensions)
        ]
        if not kept or fixed + len(kept) >= dimensions:
            continue
        key = tuple(
            kernel_of([*own, *(_row(each, projection.indices) for each in kept)], dimensions)
        )
        if key not in seen:
            seen.add(key)
            found.append(kept)
    return found
