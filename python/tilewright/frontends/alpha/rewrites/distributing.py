"""DistributeReduction: the reduction of a combination as a combination of reductions.

Not in the report; Gupta and Rajopadhye (POPL 2006) take such bodies apart before they look for reuse,
because each operand alone may be the same where their combination is not.
"""

from __future__ import annotations

from dataclasses import replace

from ..conversions import LOGICAL, type_of
from ..tree import Binary, Path, Restrict, System, step
from .converting import of_type
from .places import attributes, reduction_at, refused, replaced_at, restricted

__all__ = ["OPERANDS", "distribute_reduction"]

#: (the reduction's operator, the operator in its body over which it can be distributed).
OPERANDS = {
    ("+", "+"), ("+", "-"), ("*", "*"), ("min", "min"), ("max", "max"), ("and", "and"),
    ("or", "or"), ("xor", "xor"),
}  # fmt: skip


def distribute_reduction(system: System, place: Path, *, reassociate: bool = False) -> System:
    """Each operand of the body reduced on its own::

        X[i] = reduce(+, [j], A[j] + B[i-j]);
        X[i] = reduce(+, [j], A[j]) + reduce(+, [j], B[i-j]);

    Args:
        system: the system.
        place: the identifier of the reduction in it.
        reassociate: whether sums and products of fractions may be rounded differently.

    Raises:
        DeclarationError: the body is no combination by the reduction's operator; fractions would be
            reassociated and `reassociate` was not asked for.
    """
    equation, path, node = reduction_at(system, place)
    body = node.body.body if isinstance(node.body, Restrict) else node.body
    if not isinstance(body, Binary) or (node.operator, body.operator) not in OPERANDS:
        raise refused(system, node, f"the body must be two operands combined by {node.operator}")
    kind = type_of(system, body)
    if kind in ("float", "double") and node.operator in ("+", "*") and not reassociate:
        raise refused(
            system, node,
            f"the sums of a {kind} would be rounded differently; ask for it by reassociate=True",
        )  # fmt: skip
    domain = attributes(system, equation).expression[step(path, 0)]
    operands = [body.left, body.right]
    if body.operator not in LOGICAL:
        operands = [of_type(each, type_of(system, each), kind) for each in operands]
    halves = [replace(node, body=restricted(domain, each)) for each in operands]
    new = Binary(body.operator, *halves, position=node.position)
    return replaced_at(system, equation, path, new)
