"""TransformReductionBody: another basis for a reduction's body (CSU TR CS12-101, section 6.8)."""

from __future__ import annotations

from dataclasses import replace

from ....base.plurals import counted
from ..domains import AffineFunction
from ..tree import Path, System, step
from .places import attributes, precomposed, reduction_at, refused, replaced_at, restricted

__all__ = ["transform_reduction_body"]


def transform_reduction_body(system: System, place: Path, basis: AffineFunction) -> System:
    """The body at z stands at basis(z). With ``(i,j -> i,i+j)``::

        X[i] = reduce(+, (i,j -> i), {i,j | 0<=j<N} : A[i,j]);
        X[i] = reduce(+, (i,z1 -> i), {i,z1 | i<=z1<N+i} : A[i,z1-i]);

    The projection f becomes ``f o inverse(basis)``, which the report does not mention.

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        basis: a function that takes no two points of the body to one, with an inverse of integer
            coefficients there.

    Raises:
        DeclarationError: the function is none.
    """
    equation, path, node = reduction_at(system, place)
    body = attributes(system, equation).context[step(path, 0)]
    if len(basis.indices) != body.arity:
        raise refused(
            system, node,
            f"the function {basis} takes {counted(len(basis.indices), 'index')}, but the body has "
            f"{counted(body.arity, 'dimension')}",
        )  # fmt: skip
    names = basis.result_names()
    inverse = basis.inverse_on(body, names)
    if inverse is None:
        raise refused(
            system, node,
            f"{basis} has no inverse of integer coefficients on the reduction's body", body,
        )  # fmt: skip
    new = replace(
        node,
        projection=node.projection.after(inverse),
        body=restricted(body.image(basis, names), precomposed(node.body, inverse)),
    )
    return replaced_at(system, equation, path, new)
