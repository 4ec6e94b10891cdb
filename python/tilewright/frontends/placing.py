"""Where a translated program stores its values, and when its statements run: as the program says."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

import tilewright as tw

from ..base.source import located_at
from . import in_place, tree
from .affine import Scope, affine_of
from .memory import Memory, box_text, tuple_text
from .refusals import line_of, refuse
from .scanned import Scanned, ScannedStatement
from .values import Translator

__all__ = ["Placing", "no_read"]


class Placing:
    """The schedule and the storage of scanned statements.

    Attributes:
        is_free: whether the order of the program is not needed.
        is_ordered: whether the function has it already.
    """

    def __init__(self, scanned: Scanned, memory: Memory, is_free: bool) -> None:
        self.scanned = scanned
        self.memory = memory
        self.is_free = is_free
        self.is_ordered = False
        self.program = scanned.program
        self.arrays = self.program.arrays
        #: The statement, block or copy of the program by the computation that is made of it.
        self.made_by = {name: name for name in memory.times} | {
            name: block.name for block in scanned.blocks for name, _ in block.writes
        }
        self.context = [text for text, _ in scanned.context]
        context = " and ".join(f"({text})" for text in self.context)
        names = list(scanned.parameters.values())
        made = tw.params(" ".join(names), context or None, minimum=None) if names else ()
        self.parameters = dict(zip(names, made, strict=True))
        self.computations: dict[str, tw.Computation] = {}
        self.scope = Scope(scanned.parameters, {})

    def extents(self, array: tree.Array) -> list[Any]:
        translate = Translator(self.variables(self.scope), no_read)
        return [translate(extent) for extent in array.shape]

    def variables(self, scope: Scope) -> dict[str, tw.Expression]:
        return {
            name: self.parameters[own] if own in self.parameters else tw.iter(own)
            for name, own in scope.variables.items()
        }

    def listed(self, text: str) -> str:
        return f"[{', '.join(self.parameters)}] -> {text}"

    def refuse_order(self, program: tree.Program, error: tw.TilewrightError) -> NoReturn:
        """The program's own order is right; what is known of its data does not show it.

        What somebody asked for beyond that order, such as `prange`, is refused as a schedule.
        """
        if self.is_ordered:
            raise error
        message = str(error).splitlines()[0]
        reason = message.rpartition("cannot be shown to be legal: ")[2] or message
        refuse(
            program.location,
            f"the dataflow of {program.name} is not exact enough to run it in place, because "
            f"{reason}",
            "copy the array that is read at subscripts of data before it is changed, or promise "
            "with an assumption what these subscripts are",
        )

    def schedule(self, made: tw.Function) -> None:
        """Sets the program's order, and stores everything in the program's arrays.

        Of one that needs no order, what its arrays hold at the end is stored in them if it can be.
        """
        there = made.computations
        if self.is_free:
            places = {
                array: [
                    (one.name, self.place(one))
                    for one in self.scanned.statements
                    if one.name in there and one.target.array == array
                ]
                + [(name, self.place_of_result(array, name))]
                for array, name in self.memory.results.items()
            }
            in_place.any_order(made, places)
            return
        early = [name for name in there if name not in self.made_by]
        try:
            self.order(made, early)
        except tw.IllegalScheduleError:
            if not early:
                raise
            for name in early:  # what it reads is not there from the beginning
                made[name].inline()
            self.order(made, [])
        self.is_ordered = True
        for loop, name, statements in self.scanned.loops:
            inside = [statement for statement in statements if statement in there]
            if inside and loop.independent is not None:
                self.promise(made, loop, name, inside)
            if inside and loop.parallel:
                with located_at(line_of(loop.location)):
                    self.parallelize(made, loop, name, inside)

    def order(self, made: tw.Function, early: list[str]) -> None:
        """Sets the program's order, and stores everything where the program has it.

        Args:
            early: values of functions that are computed once for many iterations, before all else. The program has
                no statement for them.
        """
        there = made.computations
        timed = dict.fromkeys(self.made_by[name] for name in there if name not in early)
        times = [self.memory.times[name] for name in timed]
        for number, name in enumerate(early, -len(early)):
            [instance] = made[name].domain.tuples
            iterators = instance.removeprefix(f"{name}[").removesuffix("]")
            along = iterators.split(", ") if iterators else []
            time = [str(number), *along, *["0"] * (self.memory.depth - len(along))]
            times.append(f"{instance} -> [{', '.join(time)}]")
        with made.transaction():
            made.set_schedule(self.listed(f"{{ {'; '.join(times)} }}"))
            for one in self.scanned.statements:
                if one.name in there:
                    self.store(made, one)
            for block in self.scanned.blocks:
                for name, array in block.writes:
                    if name in there:
                        axes = [f"{name}_{axis}" for axis in range(len(self.arrays[array].shape))]
                        self.store_again(made, name, self.arrays[array], axes)
                for name, array, _ in block.reads:
                    if name in there:
                        own = self.computations[name].iterators[len(block.iterators) :]
                        axes = [iterator.name for iterator in own]
                        self.store_again(made, name, self.arrays[array], axes)
            for array, name in self.memory.results.items():
                made[name].store_in(self.place_of_result(array, name))

    def promise(self, made: tw.Function, loop: tree.For, name: str, inside: list[str]) -> None:
        """Takes the person's word that iterations are independent, where data could say otherwise."""
        arrays = {one.name: one.target.array for one in self.scanned.statements}
        meant = [one for one in inside if not loop.independent or arrays[one] in loop.independent]
        if meant:
            with located_at(line_of(loop.location)):
                made[meant[0]].independent(name, *meant[1:])

    def parallelize(self, made: tw.Function, loop: tree.For, name: str, inside: list[str]) -> None:
        """Runs a loop in parallel, with what is local to an iteration private to it."""
        arrays = {one.name: one.target.array for one in self.scanned.statements}
        outside = {array for one, array in arrays.items() if one not in inside}
        for statement in self.scanned.statements:
            if statement.name not in inside:
                conditions = (guard.condition for guard in statement.guards)
                for part in (statement.value, *conditions):
                    outside.update(read.array for read in tree.reads_of(part))
        own = [
            one for one in inside if self.arrays[arrays[one]].local and arrays[one] not in outside
        ]
        endless = set(self.program.parameters) - set(self.program.arguments)
        with made.transaction():
            for one in own:
                if endless:
                    self.expand(made, loop, name, one)
                else:
                    made[one].private(name)
            for one in inside:
                made[one].parallelize(name)

    def expand(self, made: tw.Function, loop: tree.For, name: str, one: str) -> None:
        """A place for each iteration: what `private` gives is as long as the loops inside are."""
        statement = next(each for each in self.scanned.statements if each.name == one)
        array = self.arrays[statement.target.array]
        start, stop = (affine_of(bound, self.scope) for bound in (loop.start, loop.stop))
        if start is None or stop is None or loop.step < 0:
            refuse(loop.location, "a parallel loop with a while loop inside must be the outermost")
        count = tree.Operation("-", (loop.stop, loop.start), np.dtype(np.int64), loop.location)
        translate = Translator(self.variables(self.scope), no_read)
        place = [f"{name} - ({start})", *(str(subscript) for subscript in statement.subscripts)]
        shown = f"{self.scanned.names[array.name]}_of_{name}"
        buffer = tw.Buffer(shown, [translate(count), *self.extents(array)])
        made[one].store_in(buffer, place)

    def place(self, one: ScannedStatement) -> str:
        """Where a statement writes, as text."""
        subscripts = [str(subscript) for subscript in one.subscripts]
        return tuple_text(self.scanned.names[one.target.array], subscripts)

    def place_of_result(self, array: str, name: str) -> str:
        elements = box_text(self.arrays[array], {}, self.scope, name)[1]
        return tuple_text(self.scanned.names[array], elements)

    def store_again(self, made: tw.Function, name: str, array: tree.Array, axes: list[str]) -> None:
        """What a call takes or makes: each time in the same place."""
        made[name].store_in(tw.Buffer(f"{name}_whole", self.extents(array)), axes)

    def store(self, made: tw.Function, one: ScannedStatement) -> None:
        array = self.arrays[one.target.array]
        if array.local:
            buffer = tw.Buffer(self.scanned.names[array.name], self.extents(array))
            made[one.name].store_in(buffer, [str(subscript) for subscript in one.subscripts])
        else:
            made[one.name].store_in(self.place(one))


def no_read(read: tree.Read) -> tw.Expression:
    refuse(read.location, f"{read.array} is read where only parameters have a value")
