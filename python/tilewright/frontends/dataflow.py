"""From the statement tree to a function of tilewright, by exact array dataflow.

Each statement becomes a computation over its iterators. Each read names the instance that wrote what
it reads, or the caller's array as it was. The arrays are only where computations are stored, and the
program's own order is the schedule to start from, which the checker of every schedule proves
(AlphaZ, CSU TR CS12-101, section 3.4; PENCIL report, INRIA RT-0457, section 4).
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable
from typing import Any

import tilewright as tw

from .. import _core
from ..base.source import located_at
from . import tree
from .affine import Affine, affine_of
from .any_order import is_free
from .blocks import Blocks
from .call_sites import with_calls_everywhere
from .chosen import is_counted, note_element
from .control import without_jumps
from .depth import many_levels
from .fills import half_written, with_fills
from .inside import stay_inside
from .memory import Memory, Source, box_text, memory_of, set_text, tuple_text
from .observers import without_old_values
from .placing import Placing, no_read
from .refusals import line_of, refuse
from .rewriting import plain
from .scan import BoundsOfData, scan
from .scanned import Scanned, ScannedBlock, ScannedStatement
from .snapshots import with_snapshots
from .translated import TranslatedFunction
from .values import Translator, affine_expression
from .whiles import bounded

__all__ = ["to_function"]


def to_function(
    program: tree.Program,
    *,
    keeps_order: bool = True,
    leaving_has_no_meaning: bool = False,
    **options: Any,
) -> TranslatedFunction:
    """The function that a program is, in place on the caller's arrays.

    Args:
        program: what a door made of its language.
        keeps_order: whether its schedule begins with the program's order even where any other will do.
        leaving_has_no_meaning: whether the language gives no meaning to a program that leaves an
            array; else it is an error.
        options: settings of `tw.function`, such as ``fast_math``.

    Raises:
        TranslationError: for what has no translation, or has one that would take too long to find, with
            its place in the program.
    """
    with many_levels(program.location):
        return _function(program, keeps_order, leaving_has_no_meaning, options)


def _function(
    program: tree.Program,
    keeps_order: bool,
    leaving_has_no_meaning: bool,
    options: dict[str, Any],
) -> TranslatedFunction:
    checks = not leaving_has_no_meaning
    try:
        try:
            return _function_of(program, keeps_order, options, checks)
        except (tw.DomainError, tw.ScheduleError):
            last = {"is_inside": True} if leaving_has_no_meaning else {"is_stepping": True}
            for how in ({}, last):
                try:
                    return _function_of(program, keeps_order, options, checks, False, **how)
                except (tw.DomainError, tw.ScheduleError, tw.TranslationError, _NothingElse):
                    pass
            raise
    except tw.AnalysisLimitError as error:
        refuse(
            _place_in(program, error),
            f"the dataflow of {program.name} takes too long to find ({_limit_text(error)})",
            "divide its loops among several functions, or say what is known of its sizes and "
            "conditions",
        )


def _place_in(program: tree.Program, error: tw.TilewrightError) -> tree.Location:
    """Where an error is, if that is in the program's file; else where the program begins."""
    where = error.location
    if where is None or where.file != program.location.file:
        return program.location
    return tree.Location(where.file, where.line, 1)


def _limit_text(error: tw.TilewrightError) -> str:
    return error.message.partition("; simplify")[0]


class _NothingElse(Exception):
    """No statement stands behind conditions of data, no loop has bounds that these decide, or there are
    no branches that could stay apart."""


def _function_of(
    program: tree.Program,
    keeps_order: bool,
    options: dict[str, Any],
    checks: bool,
    chooses: bool = True,
    is_inside: bool = False,
    is_stepping: bool = False,
) -> TranslatedFunction:
    """See `to_function`.

    Args:
        checks: whether elements that data choose to be written must be in their arrays (`scan`).
        chooses: branches that assign the same element become one statement (`choices`), if any do.
        is_inside: what data decide about stays within its arrays (`inside`).
        is_stepping: the iterators of loops whose bounds data decide are scalars (`whiles`).
    """

    def scan_again(*given: Any) -> Scanned:
        again = scan(*given, checks=checks, chooses=chooses)
        if is_inside:
            stay_inside(again)
        return again

    scanned, straight, flags = _scanned(program, is_stepping, checks, chooses)
    if not chooses and not is_inside and not is_stepping and not scanned.has_choices:
        raise _NothingElse
    if is_inside and not stay_inside(scanned):
        raise _NothingElse
    memory = memory_of(scanned)
    without_old = without_old_values(scanned, memory)
    begun = half_written(scanned, memory, without_old) & set(straight.arrays)
    if begun:
        straight = with_fills(straight, begun)
        scanned = scan_again(straight, flags)
        memory = memory_of(scanned)
    again = _read_by_data(scanned, memory)
    try:
        return _made(scanned, memory, flags, keeps_order, program, options, bool(again))
    except _NOT_LEGAL:
        pass
    # What data choose among may be written by several statements, some of them not yet: with a
    # version of all elements from each, there is one to read.
    straight, labels = with_snapshots(straight, again)
    scanned = scan_again(straight, flags, again, labels)
    return _made(scanned, memory_of(scanned), flags, keeps_order, program, options, False)


def _made(
    scanned: Scanned,
    memory: Memory,
    flags: frozenset[str],
    keeps_order: bool,
    program: tree.Program,
    options: dict[str, Any],
    may_be_illegal: bool,
) -> TranslatedFunction:
    """The function. What `may_be_illegal` is refused, if it is, as an error of the schedule.

    Statements under conditions of data run where these hold, unless those who read their values do not
    visibly stand under them as well.
    """
    always: frozenset[str] = frozenset()
    for attempt in range(_MOST_ATTEMPTS):
        last = attempt == _MOST_ATTEMPTS - 1
        maker = _Maker(scanned, memory, flags, keeps_order, None if last else always)
        try:
            return maker.function(program, options)
        except tw.DeclarationError as error:
            # That who reads it stands under its conditions was seen here, and is not seen there.
            found = re.search(r"an element of (\S+) exists only where", error.message)
            if last or found is None:
                raise
            always |= {found[1]}
        except _NOT_LEGAL as error:
            if may_be_illegal:
                raise
            maker.refuse_order(program, error)
    raise AssertionError


_MOST_ATTEMPTS = 6
_NOT_LEGAL = (tw.IllegalScheduleError, tw.SelfDependenceError)


def _scanned(
    program: tree.Program, is_stepping: bool, checks: bool, chooses: bool
) -> tuple[Scanned, tree.Program, frozenset[str]]:
    """The statements in order, of a program without `while` and jumps, and the truth values in it."""
    of_data: frozenset[str] = frozenset()
    while True:
        straight, flags = without_jumps(bounded(program, of_data, is_stepping))
        limits = frozenset(straight.parameters) - frozenset(program.parameters)
        straight = with_calls_everywhere(straight, limits)
        try:
            scanned = scan(straight, flags, checks=checks, chooses=chooses)
        except BoundsOfData as found:
            if found.loop.label in of_data:
                refuse(found.loop.location, "the bounds of this loop are not affine")
            of_data |= {found.loop.label}
            continue
        if is_stepping and not of_data:
            raise _NothingElse
        return scanned, straight, flags


def _read_by_data(scanned: Scanned, memory: Memory) -> frozenset[str]:
    """The arrays that are written, and read at subscripts that data decide about."""
    written = {one.target.array for one in scanned.statements}
    read = {computed.array for found in memory.computed.values() for computed in found.values()}
    return frozenset(written & read)


_FEW = 2


class _Maker(Placing):
    """Makes Layer I of scanned statements and their dataflow."""

    def __init__(
        self,
        scanned: Scanned,
        memory: Memory,
        flags: frozenset[str],
        keeps_order: bool,
        always: frozenset[str] | None,
    ) -> None:
        super().__init__(scanned, memory, not keeps_order and is_free(scanned, memory))
        self.flags = flags
        self.keeps_order = keeps_order
        self.asks_range = False  # whether all sources at subscripts of data have conditions
        self.inputs: dict[str, tw.Input] = {}
        self.without_old = without_old_values(scanned, memory)
        kept = self.without_old if always is None else self.kept_by_others() | always
        self.are_kept = kept  # statements with a value where their conditions do not hold, too

    def kept_by_others(self) -> frozenset[str]:
        """The statements whose values others keep where their own conditions do not hold."""
        kept: set[str] = set()
        for one in self.scanned.statements:
            if one.guards and one.name not in self.without_old:
                place = ", ".join(str(subscript) for subscript in one.subscripts)
                reference = self.memory.references[one.name][one.target.array, place]
                kept |= {source.name for source in self.memory.sources(reference, one.name)}
        return frozenset(kept)

    def function(self, source: tree.Program, options: dict[str, Any]) -> TranslatedFunction:
        for name in self.arrays:
            if not self.arrays[name].local:
                self.declare_input(name)
        for statement in self.scanned.statements:
            self.declare(statement)
        translate = Translator(self.variables(self.scope), no_read, self.scope)
        with located_at(line_of(self.program.location)):
            context = [translate.condition(each) for _, each in self.scanned.context]
            known = functools.reduce(operator.and_, context) if context else None
        blocks = Blocks(self.scanned, self.extents, self.variables(self.scope), known)
        for block in self.scanned.blocks:
            domains = {name: self.domain(name, block) for name, _, _ in block.reads}
            self.computations.update(blocks.declare(block, domains))
        for statement in self.scanned.statements:
            with located_at(line_of(statement.location)):
                self.define(statement)
        for block in self.scanned.blocks:
            for name, array, _ in block.reads:
                self.copy(name, array)
        found = [self.output(array, name) for array, name in [*self.memory.results.items()]]
        outputs = [output for output in found if output is not None]
        outputs = outputs or self.unchanged()
        if not outputs:
            refuse(
                self.program.location,
                f"{self.program.name} leaves nothing in an array of the caller's",
                "write its results to an array that is an argument",
            )
        arguments = [self.inputs[name] for name in self.program.arguments if name in self.inputs]
        with located_at(line_of(self.program.location)):
            made = tw.function(
                self.program.name,
                outputs=outputs,
                inputs=arguments,
                context=context,
                **options,
            )
            self.schedule(made)
        statements = {one.name: one.location for one in self.scanned.statements}
        names = {**self.scanned.parameters, **self.scanned.names}
        asked = {id(condition) for _, condition in self.scanned.context}
        asked |= {id(condition) for condition in self.scanned.joined}
        knows_sizes = all(id(condition) in asked for condition in source.context)
        result = TranslatedFunction(
            source, made, names, self.memory.results, statements, knows_sizes, self.is_free
        )
        if not (self.keeps_order or self.is_free):
            result.better_nests()
        return result

    # ---- Layer I ----

    def declare_input(self, name: str) -> None:
        array = self.arrays[name]
        with located_at(line_of(array.location)):
            self.inputs[name] = tw.input(self.scanned.names[name], self.extents(array), array.dtype)

    def declare(self, one: ScannedStatement) -> None:
        domain = set_text(tuple_text(one.name, one.iterators), [*one.constraints, *self.context])
        with located_at(line_of(one.location)):
            self.computations[one.name] = tw.computation(
                self.listed(domain), None, dtype=self.arrays[one.target.array].dtype
            )

    def define(self, one: ScannedStatement) -> None:
        def read(what: tree.Read) -> tw.Expression:
            return self.read(one, what, translate)

        translate = Translator(self.variables(one.scope), read, one.scope)

        def define() -> None:
            value = translate(one.value)
            if one.guards:
                value = self.guarded(one, value, read)
            self.computations[one.name].define(None, value)

        try:
            define()
        except tw.DomainError:
            if one.name not in self.memory.computed:
                raise
            self.asks_range = True  # the last of the sources is read under its condition, too
            define()
        finally:
            self.asks_range = False

    def domain(self, name: str, block: ScannedBlock) -> str:
        """Of a copy that a block reads."""
        elements, inside = self.memory.domains[name]
        return self.listed(set_text(elements, [*inside, *self.context]))

    def copy(self, name: str, array: str) -> None:
        """The copy of an array, or of what is there of it."""
        (reference,) = self.memory.references[name].values()
        self.computations[name].define(None, self.sources(array, reference, name))

    def guarded(self, one: ScannedStatement, value: tw.Expression, read: Any) -> tw.Expression:
        """The value where the guards hold, and what was there where they do not."""
        conditions = []
        for guard in one.guards:
            translate = Translator(self.variables(guard.scope), read, guard.scope)
            condition = translate.condition(guard.condition, everywhere=not guard.holds)
            conditions.append(condition if guard.holds else ~condition)
        # A loop that is not come to is left before it begins.
        is_reset = one.target.array in self.flags and isinstance(one.value, tree.Literal)
        if one.name not in self.without_old:
            old = self.before(one)
        elif is_reset or one.name in self.are_kept:
            zero = _zero(self.arrays[one.target.array])
            old = ~zero if is_reset else zero
        else:
            handles = [condition._handle for condition in conditions]
            return tw.Expression(_core.where_exists(handles, value._handle))
        for condition in reversed(conditions):
            value = tw.select(condition, value, old)
        return value

    def before(self, one: ScannedStatement) -> tw.Expression:
        """What the element that a statement writes held before: a view, which is one place."""
        array = self.arrays[one.target.array]
        place = ", ".join(str(subscript) for subscript in one.subscripts)
        reference = self.memory.references[one.name][array.name, place]
        nobodys = {"killed", "initial"} if array.local else {"killed"}
        kinds = {source.kind for source in self.memory.sources(reference, one.name)}
        is_there = not kinds & nobodys
        if len(self.memory.sources(reference, one.name)) < 2 or not is_there:
            return self.found(one, array.name, one.subscripts)
        name = self.scanned.taken.take(f"{one.name}_before")
        sources = self.memory.sources(reference, name)
        pieces = [(source.readers, self.element(source, array)) for source in sources]
        domain = tw.Set(sources[0].readers)
        for source in sources[1:]:
            domain = domain | tw.Set(source.readers)
        view = tw.view(str(domain), pieces, dtype=array.dtype)
        return view[tuple(tw.iter(iterator) for iterator in one.iterators)]

    def read(self, one: ScannedStatement, what: tree.Read, translate: Translator) -> tw.Expression:
        subscripts = [affine_of(subscript, one.scope) for subscript in what.subscripts]
        known = tuple(subscript for subscript in subscripts if subscript is not None)
        if len(known) != len(subscripts):
            return self.computed(one, what, translate)
        if not known and (what.array, "") not in self.memory.references[one.name]:
            return self.known_value(one, what)
        return self.found(one, what.array, known)

    def known_value(self, one: ScannedStatement, what: tree.Read) -> tw.Expression:
        """A scalar in an affine condition, of which only the value that it has there is left."""
        for scope in (one.scope, *(guard.scope for guard in one.guards)):
            if what.array in scope.known:
                of = {scope.variables[name]: own for name, own in self.variables(scope).items()}
                value = affine_expression(scope.known[what.array], of)
                if value is not None:
                    return value if value.dtype == what.dtype else tw.cast(value, what.dtype)
        refuse(what.location, f"the value of {what.array} is not an affine function here")

    def computed(
        self, one: ScannedStatement, what: tree.Read, translate: Translator
    ) -> tw.Expression:
        """A read at a subscript that data decide about."""
        computed = self.memory.computed[one.name][plain(what)]
        values = {}
        for axis, name in computed.elements.items():
            subscript = tw.cast(translate(what.subscripts[axis]), tw.int64)
            counts = is_counted(what.subscripts[axis])
            note_element(one.location.line, what.location, subscript, counts)
            values[name] = subscript._handle
        if self.is_of_one_place(what, computed.elements):
            return self.checked_read(one, what, translate)
        found = self.sources(what.array, computed.reference, one.name, values)
        if self.asks_range:  # an array of no elements has none to read, whatever data say
            array = self.arrays[what.array]
            extents = self.extents(array)
            for axis in computed.elements:
                found = tw.select(extents[axis] > 0, found, _zero(array))
        return found

    def is_of_one_place(self, what: tree.Read, axes: Iterable[int]) -> bool:
        """Whether data decide about a subscript for which 0 alone is right, in an array that is as it was: its
        sources would be read there whatever the data are."""
        extents = self.arrays[what.array].shape
        of_one = any(
            isinstance(extent, tree.Literal) and extent.value == 1
            for extent in (extents[axis] for axis in axes)
        )
        written = (statement.target.array for statement in self.scanned.statements)
        return of_one and what.array in self.inputs and what.array not in written

    def checked_read(
        self, one: ScannedStatement, what: tree.Read, translate: Translator
    ) -> tw.Expression:
        """A read of an array as it was at these very subscripts, which the kernel checks."""
        subscripts = [tw.cast(translate(subscript), tw.int64) for subscript in what.subscripts]
        return self.inputs[what.array][tuple(subscripts)]

    def found(
        self, one: ScannedStatement, array: str, subscripts: tuple[Affine, ...]
    ) -> tw.Expression:
        """What a read finds: a choice among its sources."""
        place = ", ".join(str(subscript) for subscript in subscripts)
        return self.sources(array, self.memory.references[one.name][array, place], one.name)

    def sources(
        self,
        array: str,
        reference: str,
        reader: str,
        values: dict[str, _core.Expr] | None = None,
    ) -> tw.Expression:
        """A choice among sources; `values` are what stands for some of the readers' iterators."""
        found = self.memory.sources(reference, reader, tuple(values or ()))
        if values:
            found = [source.at(values) for source in found]
        # The last one is read where no condition holds. An element of the caller's array is there
        # whatever the checker makes of many negations.
        found.sort(key=lambda one: (one.kind == "initial", len(one.readers)))
        value: tw.Expression | None = None
        is_many = len(found) > _FEW and not values
        if ((values and self.asks_range) or is_many) and found[-1].kind != "initial":
            value = _zero(self.arrays[array])
        for source in reversed(found):
            here = self.element(source, self.arrays[array])
            if value is None or source.condition is None:
                value = here
            else:
                value = tw.select(tw.Expression(source.condition), here, value)
        return _zero(self.arrays[array]) if value is None else value

    def element(self, source: Source, array: tree.Array) -> tw.Expression:
        if source.kind == "killed" or (source.kind == "initial" and array.local):
            return _zero(array)
        subscripts = tuple(tw.Expression(subscript) for subscript in source.subscripts)
        if source.kind == "initial":
            return self.inputs[array.name][subscripts]
        return self.computations[source.name][subscripts]

    def unchanged(self) -> list[tw.Computation]:
        """Of a program that writes arrays that have no elements for these sizes: an array as it is."""
        written = {
            each.target.array
            for each in tree.walk(self.program.body)
            if isinstance(each, tree.Assign)
        }
        if not any(name in self.inputs for name in written):
            return []
        for array, given in self.inputs.items():
            name = self.scanned.taken.take(f"{self.scanned.names[array]}_out")
            domain, elements = box_text(self.arrays[array], self.scanned.names, self.scope, name)
            if tw.Set(self.listed(domain)).is_empty:
                continue
            value = given[tuple(tw.iter(each) for each in elements)]
            shape = self.extents(self.arrays[array])
            pieces = [(self.listed(domain), value)]
            made = tw.view(self.listed(domain), pieces, dtype=given.dtype, shape=shape)
            self.memory.results[array] = name
            self.computations[name] = made
            return [made]
        return []

    def output(self, array: str, name: str) -> tw.Computation | None:
        """What an array holds at the end, as a view of its last writers; None where it was killed."""
        (reference,) = self.memory.references[name].values()
        domain, _ = box_text(self.arrays[array], self.scanned.names, self.scope, name)
        pieces = []
        for source in self.memory.sources(reference, name):
            if source.kind != "killed":
                pieces.append((source.readers, self.element(source, self.arrays[array])))
        if not pieces:
            del self.memory.results[array]
            return None
        where = self.arrays[array].location
        try:
            with located_at(line_of(where)):
                view = tw.view(
                    self.listed(domain),
                    pieces,
                    dtype=self.arrays[array].dtype,
                    shape=self.extents(self.arrays[array]),
                )
        except tw.DeclarationError as error:
            if "overlap" not in error.message:
                raise
            refuse(
                where,
                f"the dataflow of {self.program.name} does not tell which statement writes each element "
                f"of {array} last",
                "divide its loops among several functions",
            )
        self.computations[name] = view
        return view


def _zero(array: tree.Array) -> tw.Expression:
    """What stands for a value that nobody gave."""
    return tw.Expression(_core.constant(0, tw.as_dtype(array.dtype).name))
