"""DropRepetitions: a value that is the same for several points of a body, reduced once.

Gupta and Rajopadhye (POPL 2006), section 5: for an operator with ``a op a = a``, points that a reduction
takes to one answer with the same value count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....base.plurals import counted
from ..domains import AffineFunction
from ..linear import Linear
from ..tree import Restrict, System
from .places import attributes, is_pointwise, leaf_functions, refused, top_reduction

__all__ = ["IDEMPOTENT", "drop_repetitions"]

#: Operators whose answer does not change when a value is combined with itself.
IDEMPOTENT = {"min", "max", "and", "or"}


def drop_repetitions(system: System, name: str, vector: Sequence[int]) -> System:
    """Of the points along a vector, only the first. With ``[0, 0, 1]``::

        X[i] = reduce(max, [j,k], {| 0<=j<=k<=i} : A[j]);
        X[i] = reduce(max, [j,k], {| 0<=j<=k<=i && k==j} : A[j]);

    Args:
        system: the system.
        name: a variable whose equation is a reduction of one polyhedron.
        vector: in the space of the body; neither the value nor the answer changes along it.

    Raises:
        DeclarationError: they do; or the operator is not idempotent.
    """
    equation, node = top_reduction(system, name)
    body = attributes(system, equation).context[(0,)]
    shown = list(vector)
    if node.operator not in IDEMPOTENT:
        raise refused(system, node, f"{node.operator} counts how often a value is there")
    if len(vector) != body.arity or not any(vector):
        raise refused(
            system, node,
            f"the vector {shown} must have {counted(body.arity, 'component')}, one for each index, and not be 0",
        )  # fmt: skip
    plain = node.body.body if isinstance(node.body, Restrict) else node.body
    if not is_pointwise(plain):
        raise refused(system, node, "the body must have neither cases nor reductions in it")
    if len(body.parts) != 1:
        raise refused(
            system, node,
            f"the body is a union of {len(body.parts)} polyhedra; SplitReductionBody makes it one",
        )  # fmt: skip
    if any(node.projection.linear_part().at(vector)):
        raise refused(system, node, f"the answer changes along {shown}")
    for function in leaf_functions(plain, node.projection.indices):
        if any(function.linear_part().at(vector)):
            raise refused(system, node, f"{function} changes along {shown}")
    names = node.projection.indices
    before = AffineFunction(
        names,
        tuple(Linear({name: 1}, -each) for name, each in zip(names, vector, strict=True)),
    )
    first = body - body.preimage(before)
    if first == body:
        raise refused(system, node, f"no two points of the body are {shown} apart")
    return system.with_equation(
        replace(equation, expression=replace(node, body=Restrict(first, plain)))
    )
