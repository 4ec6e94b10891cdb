"""Schedules that are kept beside the kernels on disk, so that the next process has them: what the planner found, and
what tuning did.

They are notes of the cache: kept under a hash, checksummed, written to a temporary file and renamed, in a directory
that only its owner may write. One that is damaged, foreign or of another version is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base import notes
from .schedules import Schedule

__all__ = ["Found", "TunedBefore", "load_found", "load_tuned", "store_found", "store_tuned"]

_FOUND = "schedule that was found, version 7"
_TUNED = "schedules that were tuned, version 1"

#: Candidates of one class of sizes that are remembered: the fastest.
MOST_REMEMBERED = 256


@dataclass(frozen=True)
class Found:
    """What the planner answers for a function: the facts that stay and its own commands, with its
    decisions as comments; and all of its decisions."""

    schedule: Schedule
    decisions: tuple[tuple[str, str], ...]


@dataclass
class TunedBefore:
    """What is known of one class of sizes on one machine.

    Attributes:
        best: the fastest schedule.
        seconds: the time of its call.
        order: which class was tuned last: the largest number.
        measured: seconds by key of the schedule (None: it failed, or its values were wrong).
    """

    best: Schedule
    seconds: float
    order: int = 0
    measured: dict[str, float | None] = field(default_factory=dict)


def load_found(key: str) -> Found | None:
    """What was found under this key (`_core.automatic_key`), in whichever process."""
    content = notes.load(f"{_FOUND}\n{key}")
    try:
        comments = [(about, text) for about, text in content["decisions"]]
        return Found(Schedule(content["commands"], comments), tuple(comments))
    except Exception:  # whatever is in it
        return None


def store_found(key: str, found: Found) -> None:
    """Keeps it, where that is possible."""
    content = {"commands": found.schedule.commands, "decisions": found.decisions}
    notes.store(f"{_FOUND}\n{key}", content)


def load_tuned(key: str) -> dict[str, TunedBefore]:
    """What tuning knows of a function on a machine, by class of sizes."""
    content = notes.load(f"{_TUNED}\n{key}")
    known: dict[str, TunedBefore] = {}
    for sizes, entry in content.items() if isinstance(content, dict) else ():
        try:
            known[sizes] = TunedBefore(
                Schedule(entry["commands"], entry["comments"]),
                float(entry["seconds"]),
                int(entry["order"]),
                {
                    str(each): None if seconds is None else float(seconds)
                    for each, seconds in entry["measured"].items()
                },
            )
        except Exception:  # whatever is in it
            continue
    return known


def store_tuned(key: str, sizes: str, tuned: TunedBefore) -> None:
    """Keeps it beside what is known of other sizes, where that is possible."""
    known = load_tuned(key)
    tuned.order = 1 + max((each.order for each in known.values()), default=0)
    known[sizes] = tuned
    notes.store(f"{_TUNED}\n{key}", {name: _plain(each) for name, each in known.items()})


def _plain(tuned: TunedBefore) -> dict[str, Any]:
    def slowness(entry: tuple[str, float | None]) -> float:
        return float("inf") if entry[1] is None else entry[1]

    fastest: Sequence[tuple[str, float | None]] = sorted(tuned.measured.items(), key=slowness)
    return {
        "commands": tuned.best.commands,
        "comments": tuned.best.comments,
        "seconds": tuned.seconds,
        "order": tuned.order,
        "measured": dict(fastest[:MOST_REMEMBERED]),
    }
