"""Programs that are in no need of their own order.

Where no value is made of an earlier one of the same statement, a program is a chain of whole arrays, as
NumPy's operations are: which statement runs when, and what becomes of temporaries, is the planner's choice,
as for functions that were declared. All others begin with the order of the program.
"""

from __future__ import annotations

from .memory import Memory
from .scanned import Scanned

__all__ = ["is_free"]


def is_free(scanned: Scanned, memory: Memory) -> bool:
    """Whether another order is as good as the program's, and needs no more memory.

    Each statement writes each element at most once, so that arrays of its own are no larger than those
    of the program; none needs itself; nothing is asked of the loops.
    """
    if scanned.loops:
        return False
    arrays = scanned.program.arrays
    for one in scanned.statements:
        if len(one.iterators) > len(arrays[one.target.array].shape) or one.elements:
            return False
    if any(block.ranges for block in scanned.blocks):
        return False
    return not _needs_itself(_needs(scanned, memory))


def _needs(scanned: Scanned, memory: Memory) -> dict[str, set[str]]:
    """The statements that each statement reads."""
    needs: dict[str, set[str]] = {}
    for one in scanned.statements:
        references = list(memory.references[one.name].values())
        references += [each.reference for each in memory.computed.get(one.name, {}).values()]
        needs[one.name] = {
            source.name
            for reference in references
            for source in memory.sources(reference, one.name)
            if source.kind == "written"
        }
    for block in scanned.blocks:
        copies = {name for name, _, _ in block.reads}
        for name in copies:
            (reference,) = memory.references[name].values()
            needs[name] = {
                source.name
                for source in memory.sources(reference, name)
                if source.kind == "written"
            }
        needs.update({name: copies for name, _ in block.writes})
    return needs


def _needs_itself(needs: dict[str, set[str]]) -> bool:
    """Whether some statement needs itself, by way of others or not."""
    left = {name: set(found) for name, found in needs.items()}
    while left:
        ready = [name for name, found in left.items() if not found & left.keys()]
        if not ready:
            return True
        for name in ready:
            del left[name]
    return False
