"""Names for what a translation makes: each once, and none that isl's notation has for itself."""

from __future__ import annotations

from .. import _core

__all__ = ["Names"]


class Names:
    """The names that are taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """`wanted`, or with underscores and numbers behind it where that cannot be."""
        name, count = wanted, 1
        while name in self._taken or not (name.isidentifier() and _core.is_identifier(name)):
            count += 1
            name = f"{wanted}_" if count == 2 and not _usable(wanted) else f"{wanted}_{count}"
        self._taken.add(name)
        return name


def _usable(name: str) -> bool:
    return name.isidentifier() and _core.is_identifier(name)
