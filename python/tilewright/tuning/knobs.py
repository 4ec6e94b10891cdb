"""What can be turned in a schedule: sizes of tiles, lanes of vectors, unrolled iterations, thresholds; which loops are
parallel, vectors, copied or folded. Each turn gives one more schedule, which is checked like any other.

Sizes that belong together are turned together: a loop cut by 16 whose inner part is a vector of 16 lanes, and the tiles
of computations that share loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..schedule.schedule_text import TRANSACTION, Command, commands_with, is_transaction
from ..schedule.schedules import Schedule

__all__ = ["Turn", "Turned", "turns"]

#: What no turn touches: facts, and where results are.
_FIXED = {"fix", "specialize", "assume", "independent", "atomic", "store_in", "set_access"}
_LARGEST = 1 << 20
_MOST_LANES = 64
_MOST_UNROLLED = 32
#: Threads of a GPU's blocks, by the number of loops.
_BLOCKS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((128,), (512,), (64,)),
    2: ((16, 16), (4, 64), (16, 32), (4, 32)),
}
#: Commands that a schedule may go without.
_DROPPED = {
    "parallelize": "not parallel",
    "vectorize": "no vector",
    "unroll": "not unrolled",
    "cache": "not copied",
    "storage_fold": "all of it kept",
    "private": "not private",
    "after": "in loops of its own",
    "before": "in loops of its own",
}

Flat = list[Command]


class Turned(NamedTuple):
    """A neighbour of a schedule."""

    what: str
    schedule: Schedule


class Turn(NamedTuple):
    """Numbers of commands that change together."""

    what: str  # "X.tile i"
    kind: str  # the command whose limits hold
    places: tuple[tuple[int, int], ...]  # (command, argument)
    value: int


def turns(schedule: Schedule, loops: Mapping[str, Sequence[str]]) -> Iterator[Turned]:
    """The neighbours of a schedule, those first that most often matter.

    Args:
        schedule: one whose commands are legal.
        loops: of each computation, as this schedule makes them.
    """
    flat, rebuild = _flattened(schedule)
    knobs = list(_knobs(flat))
    for factor in (2, 0.5, 4, 0.25):
        for knob in knobs:
            turned = _resized(flat, knob, factor)
            if turned is not None:
                yield Turned(turned[0], rebuild(turned[1]))
    for what, commands in _other_threads(flat, loops):
        yield Turned(what, rebuild(commands))
    for what, commands in _blocks(flat):
        yield Turned(what, rebuild(commands))
    for what, commands in _thresholds(flat):
        yield Turned(what, rebuild(commands))
    for position, (computation, name, arguments) in enumerate(flat):
        if name in _DROPPED:
            loop = arguments[0] if arguments else ""
            what = f"{computation} {loop}: {_DROPPED[name]}"
            yield Turned(what, rebuild([*flat[:position], *flat[position + 1 :]]))
    for what, commands in _added(flat, loops):
        yield Turned(what, rebuild(commands))


def _flattened(schedule: Schedule) -> tuple[Flat, Callable[[Flat], Schedule]]:
    """Its commands, and what makes a schedule of such commands: facts, and one transaction."""
    facts = [c for c in schedule.commands if not is_transaction(c) and c[1] in _FIXED]
    flat: Flat = []
    for command in schedule.commands:
        if is_transaction(command):
            flat += command[2]
        elif command[1] not in _FIXED:
            flat.append(command)

    def rebuild(commands: Flat) -> Schedule:
        return Schedule([*facts, (*TRANSACTION, commands)])

    return flat, rebuild


def _sizes(command: Command) -> Iterator[tuple[int, str, str]]:
    """(argument, loop, inner loop that has so many iterations) of the sizes of a command."""
    _, name, arguments = command
    if name == "split" and len(arguments) >= 2:
        inner = arguments[3] if len(arguments) > 3 and arguments[3] else f"{arguments[0]}1"
        yield 1, str(arguments[0]), str(inner)
    elif name in ("vectorize", "unroll") and len(arguments) >= 2:
        yield 1, str(arguments[0]), f"{arguments[0]}1"
    elif name in ("tile", "gpu_tile"):
        loops = [each for each in arguments if isinstance(each, str)]
        sizes = [n for n, each in enumerate(arguments) if isinstance(each, int)]
        given = loops[len(sizes) :]
        for place, position in enumerate(sizes):
            inner = given[len(sizes) + place] if len(given) == 2 * len(sizes) else ""
            yield position, loops[place], inner or f"{loops[place]}1"


def _knobs(flat: Flat) -> list[Turn]:
    """The numbers that change together, each once."""
    groups = _sharing(flat)
    by_key: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    kinds: dict[tuple[Any, ...], tuple[str, str, int]] = {}
    lengths: dict[tuple[str, str], tuple[Any, ...]] = {}  # of inner loops
    for position, command in enumerate(flat):
        computation, name, arguments = command
        for argument, loop, inner in _sizes(command):
            value = arguments[argument]
            if not isinstance(value, int) or value < 1:
                continue
            group = groups.get(computation, computation)
            known = lengths.get((computation, loop))
            key = (group, name, loop, value)
            if known is not None and known[-1] == value and name in ("vectorize", "unroll"):
                key = known  # all of the inner loop
            by_key.setdefault(key, []).append((position, argument))
            shown = f"{computation} {loop}"
            first = kinds.setdefault(key, (name, shown, value))
            if name == "vectorize" and first[0] != name:
                kinds[key] = (name, *first[1:])  # the tighter limit
            lengths[(computation, inner)] = key
    return [
        Turn(kinds[key][1], kinds[key][0], tuple(places), kinds[key][2])
        for key, places in by_key.items()
    ]


def _sharing(flat: Flat) -> dict[str, str]:
    """Of each computation that is placed in loops of another one: one of those that share them."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.get(name, name) != name:
            name = root[name]
        return name

    for computation, name, arguments in flat:
        if name in commands_with("places") and arguments and isinstance(arguments[0], str):
            root[find(computation)] = find(arguments[0])
    return {name: find(name) for name in root}


def _resized(flat: Flat, knob: Turn, factor: float) -> tuple[str, Flat] | None:
    value = int(knob.value * factor)
    most = {"vectorize": _MOST_LANES, "unroll": _MOST_UNROLLED}.get(knob.kind, _LARGEST)
    if value == knob.value or not 1 <= value <= most or value != knob.value * factor:
        return None
    if value == 1 and knob.kind in ("vectorize", "unroll"):
        return None
    return f"{knob.what}: {knob.value} -> {value}", _with(flat, knob.places, value)


def _with(flat: Flat, places: Sequence[tuple[int, int]], value: int) -> Flat:
    changed = list(flat)
    for position, argument in places:
        computation, name, arguments = changed[position]
        new = (*arguments[:argument], value, *arguments[argument + 1 :])
        changed[position] = (computation, name, new)
    return changed


def _other_threads(flat: Flat, loops: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Flat]]:
    """Another dealing of iterations, and another loop that is parallel."""
    for position, (computation, name, arguments) in enumerate(flat):
        if name != "parallelize" or not arguments:
            continue

        def instead(new: tuple[Any, ...], at: int = position, of: str = computation) -> Flat:
            return [*flat[:at], (of, "parallelize", new), *flat[at + 1 :]]

        dealt = arguments[-1] in ("dynamic", "static")
        names = arguments[:-1] if dealt else arguments
        other = names if arguments[-1] == "dynamic" else (*names, "dynamic")
        how = "static" if arguments[-1] == "dynamic" else "dynamic"
        yield f"{computation} {names[0]}: dealt {how}", instead(other)
        own = list(loops.get(computation, ()))
        at = own.index(names[0]) if names[0] in own else -1
        for near in own[max(at - 1, 0) : at + 2]:
            if near not in names:
                yield f"{computation}: {near} parallel, not {names[0]}", instead((near,))


def _blocks(flat: Flat) -> Iterator[tuple[str, Flat]]:
    """Other shapes of a GPU's blocks, in place of those that `gpu` chooses."""
    for position, (computation, name, arguments) in enumerate(flat):
        if name != "gpu" or len(arguments) not in _BLOCKS:
            continue
        for sizes in _BLOCKS[len(arguments)]:
            command = (computation, "gpu_tile", (*arguments, *sizes))
            shape = " x ".join(map(str, sizes))
            yield (
                f"{computation}: blocks of {shape} threads",
                [*flat[:position], command, *flat[position + 1 :]],
            )


def _thresholds(flat: Flat) -> Iterator[tuple[str, Flat]]:
    for position, (computation, name, arguments) in enumerate(flat):
        if name != "when_work":
            continue
        for argument, what in enumerate(("the declared loops", "one thread")):
            if argument >= len(arguments) or not arguments[argument]:
                continue
            for factor in (8, 0.125):
                value = int(arguments[argument] * factor)
                if value > 0:
                    yield (
                        f"{what} below {value} operations",
                        _with(flat, [(position, argument)], value),
                    )
        without = [*flat[:position], *flat[position + 1 :]]
        if computation == "":
            yield "the same loops for all sizes", without


def _added(flat: Flat, loops: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Flat]]:
    """Commands that a computation has none of: threads, a vector, some unrolled iterations."""
    limits = [command for command in flat if command[1] == "when_work"]
    others = [command for command in flat if command[1] != "when_work"]
    for computation, own in loops.items():
        names = {name for of, name, _ in flat if of == computation}
        if not own:
            continue
        if "parallelize" not in names:
            yield (
                f"{computation}: {own[0]} parallel",
                [*others, (computation, "parallelize", (own[0],)), *limits],
            )
        if "vectorize" not in names:
            for lanes in (8, 4, 16):
                yield (
                    f"{computation}: {own[-1]} a vector of {lanes}",
                    [*others, (computation, "vectorize", (own[-1], lanes)), *limits],
                )
        elif "unroll" not in names and len(own) > 1:
            for times in (2, 4):
                yield (
                    f"{computation}: {own[-2]} unrolled {times} times",
                    [*others, (computation, "unroll", (own[-2], times)), *limits],
                )
        for outer, inner in pairwise(own):
            if not names:
                yield (
                    f"{computation}: {outer} and {inner} interchanged",
                    [*others, (computation, "interchange", (outer, inner)), *limits],
                )
