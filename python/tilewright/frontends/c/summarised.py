"""What a summary function says of the arguments of the function that it describes."""

from __future__ import annotations

from collections.abc import Sequence

from ...sets.values import Set
from .. import tree
from ..accesses import summary_of
from ..affine import Scope, affine_of
from ..memory import box_text

__all__ = ["argument_accesses"]


def argument_accesses(
    program: tree.Program, arguments: Sequence[str]
) -> list[tuple[bool, bool, bool]]:
    """For each argument whether it may be read and written, and whether all of it is written.

    Args:
        program: that of the summary function.
        arguments: its arrays in the order of the arguments; "" of numbers.

    Raises:
        TranslationError: for what has no translation.
    """
    summary = summary_of(program)
    scope = Scope({name: name for name in program.parameters}, {})
    found = []
    for name in arguments:
        if name not in program.arrays:
            found.append((False, False, False))
            continue
        array = program.arrays[name]
        listed = ", ".join(f"e{axis}" for axis in range(len(array.shape)))
        own = Set(f"{{ {name}[{listed}] }}")
        covers = False
        if all(affine_of(extent, scope) is not None for extent in array.shape):
            box, _ = box_text(array, {}, scope, name)
            parameters = ", ".join(program.parameters)
            covers = Set(f"[{parameters}] -> {box}") <= summary.must_writes
        found.append(
            (
                not (summary.may_reads & own).is_empty,
                not (summary.may_writes & own).is_empty,
                covers,
            )
        )
    return found
