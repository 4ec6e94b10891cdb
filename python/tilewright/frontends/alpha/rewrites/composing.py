"""ReductionComposition: two reductions as one, the inverse of ReductionDecomposition (CSU TR CS12-101,
section 6.3)."""

from __future__ import annotations

from dataclasses import replace

from ..conversions import type_of
from ..tree import Path, Reduce, Restrict, System
from .places import reduction_at, refused, replaced_at, restricted

__all__ = ["compose_reductions", "is_composable"]


def is_composable(node: Reduce) -> bool:
    """Whether directly below a reduction there is one by the same operator."""
    body = node.body.body if isinstance(node.body, Restrict) else node.body
    return isinstance(body, Reduce) and body.operator == node.operator


def compose_reductions(system: System, place: Path) -> System:
    """A reduction of a reduction by the same operator as one::

        X = reduce(+, (i->), reduce(+, (i,j->i), A[i,j]));
        X = reduce(+, (i,j->), A[i,j]);

    Args:
        system: the system.
        place: the identifier of the outer reduction in it.

    Raises:
        DeclarationError: there is no reduction directly below, or one by another operator or of
            another type.
    """
    equation, path, node = reduction_at(system, place)
    inner = node.body.body if isinstance(node.body, Restrict) else node.body
    if not isinstance(inner, Reduce) or inner.operator != node.operator:
        raise refused(
            system, node, f"the body of this reduction is no reduction by {node.operator}"
        )
    if type_of(system, inner) != type_of(system, inner.body):
        raise refused(
            system, node,
            f"the inner reduction makes a {type_of(system, inner)} of each "
            f"{type_of(system, inner.body)}, and the conversion would get lost",
        )  # fmt: skip
    body = inner.body
    if isinstance(node.body, Restrict):
        body = restricted(node.body.domain.preimage(inner.projection), body)
    projection = node.projection.after(inner.projection)
    return replaced_at(system, equation, path, replace(node, projection=projection, body=body))
