"""ReductionDecomposition: one reduction as two (CSU TR CS12-101, section 6.3)."""

from __future__ import annotations

from dataclasses import replace

from ..domains import AffineFunction
from ..tree import Path, Reduce, System
from .places import reduction_at, refused, replaced_at

__all__ = ["decompose_reduction"]


def decompose_reduction(
    system: System, place: Path, outer: AffineFunction, inner: AffineFunction
) -> System:
    """A reduction by ``outer o inner`` as one by `inner` below one by `outer`::

        X = reduce(+, (i,j->), A[i,j]);
        X = reduce(+, (i->), reduce(+, (i,j->i), A[i,j]));

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        outer, inner: the two projections.

    Raises:
        DeclarationError: one after the other, they are not the projection of the reduction.
    """
    equation, path, node = reduction_at(system, place)
    fits = len(inner.indices) == len(node.projection.indices) and len(outer.indices) == len(
        inner.results
    )
    if not fits or outer.after(inner) != node.projection:
        raise refused(
            system, node, f"{inner} and then {outer} is not the projection {node.projection}"
        )
    body = Reduce(node.operator, inner, node.body, position=node.position)
    return replaced_at(system, equation, path, replace(node, projection=outer, body=body))
