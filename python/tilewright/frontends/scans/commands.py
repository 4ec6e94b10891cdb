"""The commands of `scan_blocks`: in which order a recurrence in blocks runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import tilewright as tw

from ... import _core
from ...schedule.schedule_text import each_command
from .recurrences import Recurrence, arrays_of, in_its_direction, producers_of

__all__ = ["Commands"]

#: So many iterations make a group of blocks: some megabytes, which stay in a cache.
_GROUP = 1 << 19
#: Groups of fewer blocks would leave threads without work.
_LEAST_GROUP = 8
#: Each step waits for the one before it, so a thread takes so many blocks at once, those of folds in lanes.
_CHAINS = 4
_LANES = 8
#: Groups of fewer blocks are left to the threads one by one.
_LEAST_CHAINS = 4
#: One computation's part of what `Commands.all_times` gives.
_ROW = re.compile(r"(\w+)\[([^\]]*)\] -> \[(.*)\]")
#: Chains of more members would need more registers than there are.
_MOST_MEMBERS = 2


@dataclass
class Commands:
    """What schedules a recurrence in blocks.

    Attributes:
        old: the function as it was.
        arrays: its arrays by name.
        found: the recurrence.
        size: of a block.
        block: the iterator of blocks, `block_names`, all of theirs.
        totals: the computations of what blocks do; of `reductions`, the terms may come in any order.
        carries, firsts: those of values before blocks, and of values that start the recurrence.
        fresh: gives a name that nothing has.
    """

    old: tw.Function
    arrays: dict[str, _core.Computation]
    found: Recurrence
    size: int
    block: str
    block_names: tuple[str, ...]
    totals: list[str]
    reductions: set[str]
    carries: list[str]
    firsts: list[str]
    fresh: Callable[[str], str]

    @property
    def along(self) -> str:
        """The iterator of the recurrence."""
        return self.found.iterators[self.found.axis]

    def apply(self, made: tw.Function) -> None:
        """The blocks at once, the members in the same loops; what else there is, as it was."""
        own = {*self.found.members, *self.totals, *self.carries, *self.firsts}
        given = tuple(each_command(self.old.schedule.commands))
        earlier = self.earlier_times(given)
        if earlier is not None:
            given = tuple(each for each in given if each[0])
        concerned = [each for each in given if each[0] in own or not each[0]]
        if concerned:
            raise tw.ScheduleError(
                f"{self.old.name} has commands already for what scan_blocks rewrites, such as "
                f"{concerned[0][0] or 'f'}.{concerned[0][1]}; schedule what it gives instead"
            )
        if not given and earlier is None:
            given = tuple(each_command(made.default_schedule.commands))
            given = tuple(
                e for e in given if e[0] and e[0] not in own and e[0] in made.computations
            )
        inner, outer = f"{self.along}1", f"{self.along}0"
        times = earlier or self.directed_times(made)
        needs_times = self.found.direction < 0 or times is not None
        explicit = self.all_times(made, outer, inner, times or {}) if needs_times else ""
        group = _GROUP // self.size
        if not explicit and group >= _LEAST_GROUP and self.is_plain:
            can_chain = group >= _LEAST_CHAINS * _LANES and len(self.found.members) <= _MOST_MEMBERS
            for beside in (True, False) if can_chain else (False,):
                try:
                    self.in_groups(made, given, group, outer, inner, beside)
                    return
                except (tw.ScheduleError, tw.IllegalScheduleError):
                    pass  # then one by one, or all blocks of a phase before the next phase
        try:
            self.in_phases(made, given, explicit, outer, inner)
        except tw.IllegalScheduleError as error:
            apart = [e for e in self.found.members if e not in made.outputs]
            if error.code != "TW212" or not apart:
                raise
            # Partial values that an output only shows the last of lie in its place: not those of blocks.
            self.in_phases(made, given, explicit, outer, inner, apart)
        for name in self.totals:
            if name in made.computations:
                made[name].parallelize(self.block)

    def in_phases(
        self,
        made: tw.Function,
        given: Sequence[tuple[str, str, Any]],
        explicit: str,
        outer: str,
        inner: str,
        apart: Sequence[str] = (),
    ) -> None:
        """All blocks of a phase before the next phase.

        Args:
            made: the new function.
            given: commands of the other computations.
            explicit: times of all computations, if they need them.
            outer, inner: names of the loops of the members.
            apart: members that are kept in memory of their own.
        """
        with made.transaction():
            for name in apart:
                made[name].auto_allocate_map()
            if explicit:
                made.set_schedule(explicit)
            else:
                self.order_firsts(made)
                if len(self.carries) > 1:  # else the carry stands before its only reader
                    made[next(iter(self.found.members))].after(self.carries[-1])
                self.split_members(
                    made, lambda each: each.split(self.along, self.size, outer, inner), inner
                )
            for computation, command, arguments in given:
                made._apply(computation, command, list(arguments), None)
            made[next(iter(self.found.members))].parallelize(outer)

    def inner_members(self, made: tw.Function) -> list[str]:
        """The members that nobody else needs; views are read for those who read them."""
        arrays = arrays_of(made)
        others = list({*made.computations, *made.outputs} - {*self.found.members})
        read: set[str] = set(made.outputs)
        while others:
            for producer in producers_of(arrays[others.pop()]):
                if producer.name not in read:
                    read.add(producer.name)
                    if producer.name not in made.computations:
                        others.append(producer.name)
        return [name for name in self.found.members if name not in read]

    def order_firsts(self, made: tw.Function) -> None:
        """First values one after the other, or iteration by iteration if some need earlier ones: one may read
        another's, and blocks read them all."""
        for before, name in pairwise(self.firsts):
            if self.found.firsts_are_steps:
                made[name].after(before, self.along)
            else:
                made[name].after(before)

    @property
    def is_plain(self) -> bool:
        """Whether there are no other iterators, which would be outside of groups of blocks."""
        return len(self.found.iterators) == 1

    def split_members(
        self, made: tw.Function, split: Callable[[tw.ComputationHandle], Any], inner: str
    ) -> None:
        """The loops of the members, in which they take turns."""
        latest: str | None = None
        for name in self.found.members:
            split(made[name])
            if latest is not None:
                made[name].after(latest, inner)
            latest = name

    def in_groups(
        self,
        made: tw.Function,
        given: Sequence[tuple[str, str, Any]],
        group: int,
        outer: str,
        inner: str,
        beside: bool,
    ) -> None:
        """The three phases for a group of blocks after the other: what the first has read is still in
        the cache when the last reads it again.

        Args:
            made: the new function.
            given: commands of the other computations.
            group: how many blocks a group has.
            outer, inner: names of the loops of the members.
            beside: whether a thread takes several blocks beside each other.
        """
        turn, rest = self.fresh(f"{self.block}_group"), self.fresh(f"{self.along}_rest")
        block = self.fresh(f"{self.block}1")
        members = list(self.found.members)
        totals = [each for each in self.totals if each in made.computations]
        with made.transaction():
            self.order_firsts(made)
            for name in (*totals, *self.carries):
                made[name].split(self.block, group, turn, block)
            self.split_members(
                made,
                lambda each: each.split(self.along, self.size * group, turn, rest).split(
                    rest, self.size, outer, inner
                ),
                inner,
            )
            phases = [*totals, *self.carries[:1], members[0]]
            for before, name in pairwise(phases):
                made[name].after(before, turn)
            for before, name in pairwise(self.carries):
                made[name].after(before, block)
            for computation, command, arguments in given:
                made._apply(computation, command, list(arguments), None)
            if beside:
                for name in totals:
                    self.total_in_lanes(made[name], block)
                lane = self.fresh("chain")
                nest = made.nest(*members) if len(members) > 1 else made[members[0]]
                nest.split(outer, _CHAINS, outer, lane)
                nest.interchange(lane, inner)
                nest.unroll(lane)
                for name in self.inner_members(made):
                    made[name].private(outer)
            for name in totals:
                made[name].parallelize(block)
            made[members[0]].parallelize(outer)

    def total_in_lanes(self, total: tw.ComputationHandle, block: str) -> None:
        """One block in lanes; of a fold, whose terms are taken in order, a block in each lane."""
        if self.along not in total.loops:
            return  # a further number of a fold, which the first one's loops compute
        if total.name in self.reductions:
            total.vectorize(self.along, _LANES)
            return
        lane, term, one = self.fresh("lane"), self.fresh("term"), self.fresh("one")
        total.split(block, _LANES, block, lane).split(self.along, self.size, one, term)
        total.interchange(lane, term).interchange(one, lane)  # the loop `one` has one iteration
        total.vectorize(lane)

    def loops(self, name: str, outer: str, inner: str) -> tuple[list[str], list[str]]:
        """The iterators of a member and its loops."""
        old = list(self.arrays[name].iterators)
        along = old[self.found.axis]
        within = f"{along} - {self.size}*floor({along}/{self.size})"
        new = list(old)
        new[self.found.axis] = f"{outer} = floor({along}/{self.size})"
        new.insert(
            self.found.axis + 1,
            f"{inner} = {within if self.found.direction > 0 else f'-({within})'}",
        )
        return old, new

    def earlier_times(self, given: Sequence[tuple[str, str, Any]]) -> dict[str, list[str]] | None:
        """The times that all computations have by a command, by name, as an earlier call for another recurrence
        gives them; None if there are none, or if they say of this recurrence more than its direction, which would
        be lost."""
        texts = [each[2][0] for each in given if each[:2] == ("", "set_schedule")]
        if len(texts) != 1 or not isinstance(texts[0], str):
            return None
        times: dict[str, list[str]] = {}
        for row in texts[0].strip("{ }").split("; "):
            found = _ROW.fullmatch(row)
            if found is None or found[1] not in self.arrays:
                return None
            own = list(self.arrays[found[1]].iterators)
            if found[2].split(", ")[: len(own)] != own:  # terms stand behind them
                return None
            times[found[1]] = found[3].split(", ")
            loops = [each.lstrip("-") for each in times[found[1]]]
            loops = [each for each in loops if not each.isdigit()]
            if found[1] in self.found.members and loops != own:
                return None
        return times

    def directed_times(self, made: tw.Function) -> dict[str, list[str]] | None:
        """Times of the other computations, if there are recurrences among them that run backwards: then loops as
        declared are no order. None if there are no such ones."""
        computed = {key: each for key, each in arrays_of(made).items() if each.pieces}
        own = {*self.found.members, *self.totals, *self.carries, *self.firsts}
        others = [name for name in made.computations if name not in own]
        turned = {name: in_its_direction(computed, name) for name in others}
        if not any(turned.values()):
            return None
        return {
            name: [str(place), *(turned[name] or self.longest(made, name))]
            for place, name in enumerate(others)
        }

    def longest(self, made: tw.Function, name: str) -> list[str]:
        """The loops of a computation as it is declared, those over terms among them."""
        return max((names for _, names, _ in made[name].instances._shapes()), key=len)

    def all_times(
        self, made: tw.Function, outer: str, inner: str, times: dict[str, list[str]]
    ) -> str:
        """The loops of all computations, one after the other: loops as declared are none where a
        recurrence runs backwards.

        Args:
            made: the new function.
            outer, inner: names of the loops of the members.
            times: those of other computations, among each other.
        """
        members, later = list(self.found.members), self.readers(made)
        firsts = self.firsts if self.found.firsts_are_steps else []
        own = {*members, *self.carries, *later, *firsts}
        before = [each for each in made.computations if each not in own]
        place = len(before) + 2
        rows: list[tuple[str, list[str], list[str], int]] = []
        sign = "-" if self.found.direction < 0 else ""
        for number, name in enumerate(firsts):
            old = list(self.found.iterators)
            new = [f"{sign}{each}" if each == self.along else each for each in old]
            rows.append((name, old, ["1", *new], number))
        for number, name in enumerate(self.carries):
            old = list(self.block_names)
            new = [f"{sign}{each}" if each == self.block else each for each in old]
            rows.append((name, old, [str(place), *new], number))
        for number, name in enumerate(members):
            old, new = self.loops(name, outer, inner)
            rows.append((name, old, [str(place + 1), *new], number))
        for number, name in enumerate(
            [*before, *(each for each in made.computations if each in later)]
        ):
            old = self.longest(made, name)
            if name in times:
                first = place + 2 if name in later else 0
                rows.append((name, old, [str(first), *times[name]], 0))
            else:
                first = number + 2 + (3 if name in later else 0)
                rows.append((name, old, [str(first), *old], 0))
        length = max(len(new) for _, _, new, _ in rows)
        maps = []
        for name, old, new, last in rows:
            padded = [*new, *(["0"] * (length - len(new))), str(last)]
            maps.append(f"{name}[{', '.join(old)}] -> [{', '.join(padded)}]")
        return f"{{ {'; '.join(maps)} }}"

    def readers(self, made: tw.Function) -> set[str]:
        """The computations that need the recurrence."""
        found: set[str] = set()
        arrays = arrays_of(made)
        for name, each in arrays.items():
            read = {producer.name for producer in producers_of(each)}
            if name not in self.found.members and read & (found | set(self.found.members)):
                found.add(name)
        return found
