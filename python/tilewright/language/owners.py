"""Which functions a computation or input belongs to."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TypeAlias

from .. import _core

__all__ = ["owners_of", "register_owner"]

#: Of a computation or input: its functions, the oldest first, each under a number of its own.
_Owners: TypeAlias = "dict[int, dict[int, weakref.ref[_core.Function]]]"
_owners: _Owners = {}


def register_owner(function: _core.Function, identities: Iterable[int]) -> None:
    """Remembers which computations belong to a function, for commands called on a computation, as
    long as the function is there."""
    owned = tuple(identities)

    # It may be called at any time, also in the middle of what is below, and in another thread: so
    # each step leaves the table whole. Bound early: at the end, the module's names may be gone.
    def forget(dead: weakref.ref[_core.Function], owners: _Owners = _owners) -> None:
        for identity in owned:
            known = owners.get(identity, {})
            known.pop(id(dead), None)
            if not known and (removed := owners.pop(identity, None)):
                owners[identity] = removed  # somebody has come meanwhile

    owner = weakref.ref(function, forget)
    for identity in owned:
        known = _owners.get(identity, {})
        known[id(owner)] = owner
        _owners[identity] = known


def owners_of(identity: int) -> list[_core.Function]:
    """The functions that a computation or input belongs to, the oldest first."""
    owners = list(_owners.get(identity, {}).values())
    return [function for owner in owners if (function := owner()) is not None]
