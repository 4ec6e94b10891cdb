"""Recurrences over time whose rows are changed where they are: buffers folded modulo a few rows.

What is kept of a stream is copied in front of each chunk, and what later chunks need is copied out again.
Of a wave equation that is the whole grid, twice for each push. Its rows are kept in a buffer
of few rows instead, ``u[n, i]`` in ``u_ring[n % e, i]``, which the kernel reads and overwrites
(Leben and Tzanetakis, ACM TACO 16(3), 2019, section 5.2). Whoever reads such rows runs in the same loop over
time. How few rows suffice is asked of the library's legality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.errors import IllegalScheduleError, ScheduleError
from ..functions.functions import Function
from .timing import Timing

__all__ = ["folded_streams", "scheduled_with_rings"]

_LEAST = 256
"""Fewer elements than these are copied."""


def _reads_itself(name: str, timing: Timing) -> bool:
    """Whether elements need earlier ones of the same stream, directly or not."""
    reached, waiting = set(), [name]
    while waiting:
        reader = waiting.pop()
        for edge in timing.edges:
            if edge.reader == reader and edge.producer not in reached:
                reached.add(edge.producer)
                waiting.append(edge.producer)
    return name in reached


def folded_streams(
    timing: Timing, boxes: Mapping[str, Sequence[tuple[int, int]]], outputs: Sequence[str]
) -> tuple[str, ...]:
    """The streams that are kept in buffers of few rows: recurrences whose rows are long, which are not
    handed out, and which are read at their own rate only."""
    found = []
    for name, box in boxes.items():
        size = timing.kept[name]
        for low, high in box:
            size *= high - low
        if name in timing.inputs or name in outputs or not box or size < _LEAST:
            continue
        readers = [edge.reader for edge in timing.edges if edge.producer == name]
        same = all(timing.rates[reader] == timing.rates[name] for reader in readers)
        if same and timing.rates[name].denominator == 1 and _reads_itself(name, timing):
            found.append(name)
    return tuple(found)


def _after(name: str, timing: Timing, rings: Sequence[str]) -> str | None:
    """The buffer's stream that a reader follows: the last one that it reads."""
    read = [
        edge.producer for edge in timing.edges if edge.reader == name and edge.producer in rings
    ]
    return read[-1] if read and not _reads_itself(name, timing) else None


def scheduled_with_rings(
    kernel: Function,
    timing: Timing,
    rings: Mapping[str, str],
    times: Mapping[str, str],
    threads: int,
) -> str | None:
    """Gives the kernel its schedule.

    Args:
        rings: for each stream that is folded, its access relation.
        times: the iterator over time of each stream.

    Returns:
        None if that is legal; else the stream whose buffer has too few rows, or "" if there is
        another reason.
    """
    readers = {
        name: before
        for name in timing.rates
        if name not in timing.inputs
        and name not in rings
        and (before := _after(name, timing, tuple(rings))) is not None
    }
    default = kernel.default_schedule
    try:
        kernel.set_schedule(
            type(default)([one for one in default.commands if one[0] not in readers])
        )
        for name, before in readers.items():
            kernel[name].after(before, times[before])
        kernel.when_work(0, threads=threads)
    except (ScheduleError, IllegalScheduleError):
        return ""
    for name, access in rings.items():
        try:
            kernel[name].set_access(access)
        except IllegalScheduleError:
            return name
        except ScheduleError:
            return ""
    return None
