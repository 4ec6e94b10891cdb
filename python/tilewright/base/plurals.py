"""Numbers of things, as messages write them."""

from __future__ import annotations

__all__ = ["counted"]

_PLURALS = {"index": "indices"}


def counted(number: int, one: str) -> str:
    """``1 index``, ``2 indices``: a number of what has a name in the singular."""
    return f"{number} {one}" if number == 1 else f"{number} {_PLURALS.get(one, f'{one}s')}"
