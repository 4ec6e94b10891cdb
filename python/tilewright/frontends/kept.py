"""Translations that are kept beside the kernels on disk, so that the next process makes no dataflow.

A door keeps under a key - the source, everything else that its translation depends on, this build of the
library (`base.notes`) - what it needs to be called: names, and how its calls are handed to their kernels
(`_core.KnownCalls`). A call like one that was kept runs its kernel from the cache, without the parser
and without the function; whatever else is asked of it (another call, its schedule, its loops, an error's
message) makes the function then, as the first process did.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from ..base.notes import load, store
from ..schedule.schedules import Schedule

__all__ = ["Keeper", "Shelf", "options"]

#: Kinds of calls of one function that are kept: the latest.
MOST_CALLS = 16


def options(**given: Any) -> _core.Options:
    """What `tw.function` compiles with now."""
    from ..functions.declaration import options_of

    return options_of(**given)


class Shelf:
    """Where the calls of one function are kept, under its own order or under what was found for it.

    Args:
        key: of the function (`identity`).
        options: what its kernels are compiled with.
    """

    def __init__(self, key: str, options: _core.Options) -> None:
        self.options = options
        self._key = f"{key}\n{_core.environment_text(options)}"

    def calls(self, order: str) -> list[Any]:
        """The calls that are kept: how each is made, and what the door says of its constants."""
        content = load(f"{self._key}\ncalls {order}")
        return content if isinstance(content, list) else []

    def add_call(self, order: str, plain: tuple[Any, ...], constants: Sequence[Any]) -> None:
        """Keeps one more, in the place of one for the same arguments."""
        new = json.loads(json.dumps([plain, constants]))
        others = []
        for each in self.calls(order):
            try:
                plain, said = each
                is_other = plain[1] != new[0][1] or said != new[1]
            except (LookupError, TypeError, ValueError):
                continue
            if is_other:
                others.append(each)
        store(f"{self._key}\ncalls {order}", [new, *others][:MOST_CALLS])

    def schedule(self, order: str) -> Schedule | None:
        """What `auto_schedule` has answered for the function."""
        content = load(f"{self._key}\nschedule {order}")
        try:
            comments = [(about, text) for about, text in content["comments"]]
            return Schedule(content["commands"], comments)
        except Exception:  # whatever is in it
            return None

    def keep_schedule(self, order: str, schedule: Schedule) -> None:
        """Keeps it for `schedule`."""
        content = {"commands": schedule.commands, "comments": schedule.comments}
        store(f"{self._key}\nschedule {order}", content)


class Keeper:
    """What takes a door's calls from its shelf, and puts those on it that are not there.

    The settings with which its kernels are compiled are those of when its function is made, or its first
    call.

    Args:
        door: what is called; one function of it is meant.
        key: of the function (`identity`); "" where nothing is kept.
        given: settings that are not the program's.
        resolve: makes the constants of a call (as `_core.KnownCalls._remember` takes them) of what the
            door has said of them; None where they are others now.
    """

    def __init__(
        self,
        door: _core.KnownCalls,
        key: str,
        given: Mapping[str, Any],
        resolve: Callable[[Any], Sequence[tuple[Any, str | None, Any, bool]] | None],
    ) -> None:
        self._door = door
        self._key = key
        self._given = given
        self._resolve = resolve
        self._shelf: Shelf | None = None
        self._is_taken = not key
        self.order = "of the program"

    def take(self) -> bool:
        """Gives the door the calls that are kept, the first time: whether there were any."""
        if self._is_taken:
            return False
        self._is_taken = True
        self._shelf = Shelf(self._key, options(**self._given))
        found = False
        for kept in self._shelf.calls(self.order):
            try:
                plain, said = kept
                constants = self._resolve(said)
                if constants is not None:
                    self._door._take_kept(plain, constants, self._shelf.options)
                    found = True
            except Exception:  # whatever is in it
                continue
        return found

    def made(self) -> None:
        """The function, or one kind of it, is made, with today's settings."""
        if self._key:
            self._shelf = Shelf(self._key, options(**self._given))

    def forget(self) -> None:
        """The function may be scheduled from now on: no call is made without it."""
        self._is_taken = True
        self._door._forget_kept()

    def found_before(self, order: str) -> Schedule | None:
        """The schedule that was kept under a name: calls are those under it from now on."""
        if not self._key:
            return None
        found = Shelf(self._key, options(**self._given)).schedule(order)
        if found is not None:
            self._door._forget_kept()
            self._is_taken = False
            self.order = order
        return found

    def keep_schedule(self, order: str, schedule: Schedule) -> None:
        """Keeps what was found; calls are those under it from now on."""
        self.order = order
        if self._shelf is not None:
            self._shelf.keep_schedule(order, schedule)

    def keep_latest(self, constants: Callable[[], Sequence[Any] | None]) -> None:
        """Keeps the call that the door has remembered last, if it can be kept.

        Args:
            constants: what the door says of the call's constants, in plain values; None where another
                process could not know them again.
        """
        if self._shelf is None:
            return
        plain = self._door._plain_latest()
        said = None if plain is None else constants()
        if plain is not None and said is not None:
            self._shelf.add_call(self.order, plain, said)
