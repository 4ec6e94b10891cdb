"""Names that a stream program cannot have: those that its kernel, and the methods that run it, use."""

from __future__ import annotations

from ..base.errors import DeclarationError
from .programs import Program

__all__ = ["check_names"]

_OF_STREAMS = ("line", "new", "all", "ring", "out", "begin", "end", "first", "table")
"""What the kernel calls its arrays and times, behind the name of each stream and a line."""

_OF_CALLS = frozenset({"out", "self", "zi"})
"""Arguments of `push`, `stream` and calls, which inputs and sizes would hide."""


def check_names(program: Program, parameters: tuple[str, ...]) -> None:
    """Refuses names that two things would have.

    Args:
        parameters: the sizes.
    """
    arrays = {handle.name: "an input" for handle in program.arrays}
    pushed = {handle.name: "a stream" for handle in program.inputs}
    computed = {handle.name: "a computation" for handle in program.computations}
    sizes = dict.fromkeys(parameters, "a size")
    every = {**computed, **arrays, **pushed, **sizes}
    for name, kind in {**arrays, **pushed, **sizes}.items():
        if name in _OF_CALLS:
            raise DeclarationError(
                f"{program.name} has {kind} named {name}, which is an argument of streams' methods; give it "
                f"another name"
            )
    for name, kind in every.items():
        stem, _, last = name.rpartition("_")
        if last in _OF_STREAMS and (stem in pushed or stem in computed):
            raise DeclarationError(
                f"{program.name} has {kind} named {name}, which is what its kernel calls something of "
                f"{stem}; give it another name"
            )
