"""From a region of a C file to a program of the statement tree.

Arguments of the function become parameters (integers that bounds, subscripts and conditions speak
of), inputs of one number, and arrays that are changed in place; what it returns becomes an output
of one number. Variables of the file that the region uses follow as further arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pycparser import c_ast

from .. import tree
from ..induction import with_counters_known
from ..polynomials import affine_index
from ..rewriting import with_parts
from ..tree import Expression, Kill, Literal, Location, Operation, Statement, Variable, plain
from .bounds import with_bounds
from .c_types import (
    BOOL,
    LONG,
    ArrayOf,
    CType,
    Number,
    Pointer,
    Structure,
    Void,
    is_integer,
    record_dtype,
)
from .flat_loops import recovered_shapes
from .inlining import (
    Inlining,
    parameters_of,
    read_outside_loops,
    shared_names,
)
from .jumps import returns_outside_loops, without_gotos
from .parsing import CFile, asked_names, assigned_names, dimension_names, names_in, nodes
from .pointers import moved_pointers, steady_arguments
from .refusals import refuse
from .renaming import renamed_pointers
from .scopes import FunctionName, Known, PointerVariable, Scope, Storage, TypeName
from .scops import Region, functions_of
from .state import Frame, fields_of, is_static
from .summarised import argument_accesses
from .values import Address, Place, Value, as_index, converted, integer

__all__ = ["Argument", "Translated", "check_file", "translate"]


@dataclass(frozen=True)
class Argument:
    """An argument of a program, as the person's file has it.

    Attributes:
        name: in the C file.
        kind: "number" (a parameter or an input of one number), "array", or "global" (an array or a
            number of the file scope, given by name).
        dtype: of an element; of structures a record, laid out as gcc does it.
        type: in C.
        arrays: its arrays in the tree, by field path.
        extents: for each dimension of the outer array what it has to be.
        written: whether the program may change it.
        values: what it is unless a call gives it: a table that the file says (`tables`), or None.
    """

    name: str
    kind: str
    dtype: np.dtype
    type: CType
    arrays: dict[tuple[str, ...], str]
    extents: tuple[Expression, ...]
    written: bool
    values: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Translated:
    """A program, and how a caller's arguments become its own."""

    program: tree.Program
    arguments: tuple[Argument, ...]
    result: str
    """The array of the returned value, or ""."""

    @property
    def signature(self) -> dict[str, np.ndarray | None]:
        """The names of the arguments in order, with the tables that they are by default."""
        return {each.name: each.values for each in self.arguments}


def translate(
    file: CFile,
    region: Region,
    externs: Mapping[str, object],
    libm: bool,
    summarising: bool = False,
    numbers: Mapping[str, int | None] | None = None,
) -> Translated:
    """The program of a region.

    Args:
        file: where it stands.
        region: the statements.
        externs: functions that are given by value.
        libm: whether mathematics is the C library's.
        summarising: only the accesses of the program are wanted, so that values may be unknown.
        numbers: what integer arguments are that nothing changes, by name; None of data. They stay arguments.

    Raises:
        TranslationError: for what has no translation.
    """
    translation = _Translation(file, externs, libm)
    translation.summarising = summarising
    translation.numbers = numbers or {}
    return translation.program(region)


def check_file(file: CFile, externs: Mapping[str, object]) -> None:
    """Reads the declarations of the file scope, so that what is wrong there is said."""
    _Translation(file, externs, False).read_file_scope()


class _Translation(Inlining):
    """The translation of one region."""

    def __init__(self, file: CFile, externs: Mapping[str, object], libm: bool) -> None:
        super().__init__(file, Scope(), externs)
        self.libm = libm
        self.globals: dict[str, Storage] = {}
        self.parameters: dict[str, np.dtype] = {}
        self.context: list[Expression] = []
        self.extents: dict[str, str] = {}
        self.numbers: Mapping[str, int | None] = {}

    # The file scope -----------------------------------------------------------------------------

    def read_file_scope(self) -> None:
        """Declares what the file declares."""
        self.frames.append(Frame("", None, Void(), set(), set(), set(), inlined=False))
        everywhere = set()
        for function in self.file.functions.values():
            everywhere |= assigned_names(function.body)
        for node in self.file.declarations:
            match node:
                case c_ast.FuncDef():
                    self.scope.names[node.decl.name] = FunctionName(node.decl.name)
                case c_ast.Typedef():
                    self.declare_type(node)
                case c_ast.Decl() if node.name is None:
                    self.declare_type(node)
                case c_ast.Decl() if isinstance(node.type, c_ast.FuncDecl):
                    self.scope.names.setdefault(node.name, FunctionName(node.name, node.type))
                case c_ast.Decl():
                    self._declare_global(node, node.name in everywhere)
                case c_ast.StaticAssert():
                    self.statement(node)
        self.frames.pop()

    def _declare_global(self, node: Any, assigned: bool) -> None:
        here = self.place(node)
        before = self.scope.names.get(node.name)
        if isinstance(before, FunctionName | TypeName) or isinstance(before, Known):
            refuse(here, f"{node.name} is declared twice with different meanings")
        of = self.type_of(node)
        constant = "const" in node.quals and not assigned
        self.set_braces(node, of)
        if constant and isinstance(of, Number) and node.init is not None:
            value = converted(self.value(node.init), of, here)
            if isinstance(value.tree, Literal):
                self.scope.names[node.name] = Known(value)
                return
        if isinstance(before, Storage) and isinstance(of, ArrayOf) and of.extent is None:
            return
        storage = Storage(node.name, of, here, local=False, shared=True)
        if isinstance(of, ArrayOf) and of.extent is None and node.init is not None:
            storage.type = self._sized_by(node, of)
        self.globals[node.name] = storage
        self.scope.names[node.name] = storage
        self.names.discard(node.name)

    def summarised(self, name: str) -> list[tuple[bool, bool, bool]] | None:
        described = self.file.source.summaries.get(name)
        if described is None:
            return None
        function = self.file.functions[described[0]]
        region = next(each for each in functions_of(self.file) if each.name == described[0])
        made = translate(self.file, region, self.externs, True, summarising=True)
        arrays = {each.name: each.arrays.get((), "") for each in made.arguments}
        names = [arrays.get(each.name, "") for each in parameters_of(function)]
        return argument_accesses(made.program, names)

    # Programs -----------------------------------------------------------------------------------

    def program(self, region: Region) -> Translated:
        """Translates a region."""
        self.read_file_scope()
        function = self.file.functions[region.function]
        here = self.place(function)
        body = c_ast.Compound(list(region.items), function.body.coord)
        everything = function.body if region.whole else body
        self.frames.append(
            Frame(
                region.function,
                None,
                Void(),
                read_outside_loops(everything),
                shared_names(everything),
                moved_pointers(everything) - renamed_pointers(everything),
                inlined=False,
                renamed=renamed_pointers(everything),
                steady=steady_arguments(parameters_of(function), function.body),
            )
        )
        self.scope = Scope(self.scope)
        formals = parameters_of(function)
        for each in formals:
            if each.name is None:
                refuse(self.place(each), "an argument of a function that is translated has a name")
        if not region.whole:
            formals = [each for each in formals if not _is_out_of_reach(each, body)]
        self._declare_arguments(formals, everything)
        if region.whole:
            returned = self.type_of(function.decl.type.type)
            if not isinstance(returned, Void) and _returns(function.body):
                self._declare_result(returned, region.function, here)
            items = [item for block in (*region.before, region.items) for item in block]
            items = without_gotos(items, self.file, function)
            items, self.frames[-1].last = returns_outside_loops(items, self.file, function)
            with self.inner_scope():
                self.sequence(items)
        else:
            self._declare_around(region, body)
            with self.inner_scope():
                self.sequence(without_gotos(region.items, self.file, function))
        return self._finished(region, formals, here)

    def _declare_arguments(self, formals: list[Any], body: Any) -> None:
        changed = assigned_names(body)
        asked = asked_names(body) | {name for each in formals for name in dimension_names(each)}
        for node in formals:
            of = self.type_of(node)
            here = self.place(node)
            if node.name in self.scope.names:
                refuse(here, f"two arguments are called {node.name}")
            if isinstance(of, Pointer):
                of = ArrayOf(of.target, None, of.restrict)
            if isinstance(of, ArrayOf):
                self._declare_array(node, of)
            elif isinstance(of, Number):
                is_parameter = is_integer(of) and of != BOOL and node.name in asked
                self._declare_number(node, of, is_parameter, node.name in changed)
            elif isinstance(of, Structure):
                storage = Storage(node.name, of, here, local=False)
                self.scope.names[node.name] = storage
                self.root_of(storage)
                if node.name in changed:
                    refuse(
                        here,
                        f"the structure {node.name} is an argument by value, and is changed",
                        "copy it to a local variable",
                    )
            else:
                refuse(here, f"an argument of type {of} has no translation")

    def _declare_array(self, node: Any, of: ArrayOf) -> None:
        here = self.place(node)
        if isinstance(of.element, Void | Pointer):
            refuse(
                here,
                f"{node.name} is a pointer to {of.element}: pointers that are stored have no "
                "translation",
                "use arrays: double A[n][m]",
            )
        if of.extent is None or affine_index(of.extent) is None:
            # Of double x[n * m], too, the accesses say what it must have; rows are found in them.
            of = ArrayOf(of.element, self._unknown_extent(node.name), of.restrict)
        inner: CType = of
        while isinstance(inner, ArrayOf):  # sizes are asked at the call not to be negative
            extent = None if inner.extent is None else plain(inner.extent)
            if isinstance(extent, Variable):
                self.never_negative.add(extent.name)
            inner = inner.element
        storage = Storage(
            node.name,
            of,
            here,
            local=False,
            constant="const" in node.quals,
            may_alias=not of.restrict,
        )
        root = self.root_of(storage)
        if node.name in self.frames[-1].renamed:
            address = Address(Place(root, (), (), of), of.element, integer(0))
            renamed = PointerVariable(node.name, Pointer(of.element), here, address)
            self.scope.names[node.name] = renamed
            self.rename(renamed)
            return
        if node.name not in self.frames[-1].moved:
            self.scope.names[node.name] = storage
            return
        pointer = PointerVariable(node.name, Pointer(of.element), here, moves=True)
        self.scope.names[node.name] = pointer
        self.let_move(pointer, Address(Place(root, (), (), of), of.element, integer(0)), node)

    def _unknown_extent(self, name: str) -> Expression:
        """A parameter for the length that no declaration says: it is that of the caller's array."""
        extent = self.unique(f"{name}_length")
        self.parameters[extent] = LONG.dtype
        self.extents[extent] = name
        return Variable(extent, LONG.dtype)

    def _declare_number(self, node: Any, of: Number, is_parameter: bool, changed: bool) -> None:
        here = self.place(node)
        if is_parameter and self.numbers.get(node.name, 0) is not None:
            name = self.unique(node.name)
            self.parameters[name] = of.dtype
            value = Value(of, Variable(name, of.dtype))
            if (number := self.numbers.get(name)) is not None:
                value = Value(of, Literal(number, of.dtype))
            if not changed:
                self.scope.names[node.name] = Known(value)
                return
        else:
            given = Storage(node.name, of, here, local=False, constant=True)
            place = Place(self.root_of(given), (), (), of)
            if not changed:
                self.scope.names[node.name] = given
                return
            value = self.load(place, here)
        own = Storage(node.name, of, here, shared=node.name in self.frames[-1].shared)
        self.scope.names[node.name] = own
        self.store(Place(self.root_of(own), (), (), of), value, here)

    def _declare_result(self, returned: CType, function: str, here: Location) -> None:
        if not isinstance(returned, Number):
            refuse(here, f"{function} returns a {returned}", "return a number, or fill an argument")
        storage = Storage("result", returned, here, local=False, shared=True)
        self.frames[-1].result_type = returned
        self.frames[-1].result = Place(self.root_of(storage), (), (), returned)

    def _declare_around(self, region: Region, body: Any) -> None:
        """Variables that are declared around a scop among other statements: arguments by name."""
        used = names_in(body)
        changed = assigned_names(body)
        for node in (item for block in region.before for item in block):
            if isinstance(node, c_ast.Typedef):
                self.declare_type(node)
                continue
            if not isinstance(node, c_ast.Decl) or node.name is None:
                if isinstance(node, c_ast.Decl):
                    self.declare_type(node)
                continue
            of = self.type_of(node)
            if node.name not in used and not _sizes_use(region.before, node.name):
                continue
            here = self.place(node)
            if isinstance(of, Pointer):
                of = ArrayOf(of.target, None)
            if isinstance(of, ArrayOf):
                self._declare_outer_array(node, of)
            elif (
                isinstance(of, Number)
                and is_integer(of)
                and node.name not in changed
                and of != BOOL
            ):
                self._declare_number(node, of, True, False)
            elif isinstance(of, Number | Structure):
                storage = Storage(node.name, of, here, local=False)
                self.scope.names[node.name] = storage
                self.globals[node.name] = storage

    def _declare_outer_array(self, node: Any, of: ArrayOf) -> None:
        if isinstance(of.element, ArrayOf) and isinstance(node.type, c_ast.PtrDecl):
            pass  # double (*A)[n][m]: one array of rank 2, seen through (*A)
        if of.extent is None:
            of = ArrayOf(of.element, self._unknown_extent(node.name))
        storage = Storage(node.name, of, self.place(node), local=False)
        self.scope.names[node.name] = storage
        self.globals[node.name] = storage

    # The end ------------------------------------------------------------------------------------

    def _finished(self, region: Region, formals: list[Any], here: Location) -> Translated:
        statements = tuple(self.blocks[0])
        statements = _initialised_globals(self, statements)
        used = _used_arrays(statements, self)
        statements = _pruned(statements, used)
        arrays = {
            name: each for name, each in self.arrays.items() if not each.local or name in used
        }
        for name, each in arrays.items():
            arrays[name] = replace(
                each, shape=tuple(as_index(self._rounded_down(size)) for size in each.shape)
            )
        for each in arrays.values():
            for extent in each.shape:
                if not isinstance(extent, Literal) and not each.local:
                    zero = Literal(0, extent.dtype)
                    bound = Operation(">=", (extent, zero), BOOL.dtype, each.location)
                    if is_static(extent) and bound not in self.context:
                        self.context.append(bound)
        order, described = self._arguments(
            formals, region, arrays, tree.assigned_arrays(statements)
        )
        result = self.frames[0].result
        if result is not None:
            order.append(result.root)
        program = tree.Program(
            region.name,
            tuple(order),
            dict(self.parameters),
            arrays,
            statements,
            here,
            tuple(self.context),
        )
        recovered, shapes = recovered_shapes(with_counters_known(program), self.extents)
        for array in recovered.arrays.values():
            if any(affine_index(each) is None for each in array.shape):
                refuse(
                    array.location,
                    f"a size of {array.name} is a product, and its elements are not seen to be rows "
                    "of one length",
                    f"declare it with its rows, {array.name}[n][m]",
                )
        recovered = with_bounds(recovered)
        described = [
            replace(each, extents=shapes.get(each.arrays.get((), ""), each.extents))
            for each in described
        ]
        return Translated(recovered, tuple(described), result.root if result else "")

    def _rounded_down(self, extent: Expression) -> Expression:
        """The size of `x[n / 2]`, where n is asked at the call not to be negative, as every size is."""
        made = with_parts(extent, self._rounded_down)
        if not isinstance(made, Operation) or made.name != "truncated_divide":
            return made
        divided, by = made.operands
        if not isinstance(by, Literal) or by.value.real <= 0:
            return made
        zero = Literal(0, LONG.dtype)
        condition = Operation(">=", (as_index(divided), zero), BOOL.dtype, made.location)
        if condition not in self.context:
            self.context.append(condition)
        return replace(made, name="//")

    def _fields_in_memory(self, storage: Storage) -> list[str]:
        if not storage.root:
            return []
        return ["_".join((storage.root, *path)) for path, _ in fields_of(storage.type)]

    def _arguments(
        self, formals: list[Any], region: Region, arrays: dict[str, tree.Array], written: set[str]
    ) -> tuple[list[str], list[Argument]]:
        order: list[str] = []
        described: list[Argument] = []

        def add(name: str, kind: str, storage: Storage) -> None:
            paths = {path: "_".join((storage.root, *path)) for path, _ in fields_of(storage.type)}
            extents = []
            of = storage.type
            while isinstance(of, ArrayOf):
                assert of.extent is not None
                extents.append(of.extent)
                of = of.element
            order.extend(paths.values())
            is_written = any(each in written for each in paths.values())
            shown = "array" if extents or isinstance(of, Structure) or is_written else "number"
            described.append(
                Argument(
                    name,
                    shown if kind == "argument" else "global",
                    record_dtype(of),
                    storage.type,
                    paths,
                    tuple(extents),
                    is_written,
                    None if is_written else storage.values,
                )
            )

        by_root = {storage.root: storage for storage in self.roots.values()}
        for node in formals if region.whole else [*formals]:
            name = node.name
            if name in self.parameters:
                order.append(name)
                dtype = self.parameters[name]
                described.append(Argument(name, "number", dtype, Number(dtype), {}, (), False))
                continue
            storage = by_root.get(name)
            if storage is not None and not storage.local:
                add(name, "argument", storage)
        for name in [each for each in self.parameters if each not in order]:
            if name not in self.extents:
                order.append(name)
                dtype = self.parameters[name]
                described.append(Argument(name, "number", dtype, Number(dtype), {}, (), False))
        for name, storage in self.globals.items():
            if not storage.local and any(
                each in arrays for each in self._fields_in_memory(storage)
            ):
                add(name, "global", storage)
        for storage in self.tables.values():
            if any(each in arrays for each in self._fields_in_memory(storage)):
                add(storage.root, "global", storage)
        described.sort(key=lambda each: each.values is not None)
        return order, described


def _initialised_globals(
    state: _Translation, statements: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    """Short constant lists of the file scope (`static const double w[] = {...}`) become local arrays that
    the program fills at its beginning; others are what a call takes if it is not given them."""
    found: list[Statement] = []
    for node in state.file.declarations:
        if not isinstance(node, c_ast.Decl) or node.name is None or node.init is None:
            continue
        storage = state.globals.get(node.name)
        if storage is None or not storage.root:
            continue
        is_constant = "const" in _all_quals(node)
        storage.values = (state.long_table if is_constant else state.table)(storage.type, node.init)
        if not is_constant or storage.values is not None:
            continue
        storage.local = True
        for path, _ in fields_of(storage.type):
            name = "_".join((storage.root, *path))
            old = state.arrays[name]
            state.arrays[name] = tree.Array(name, old.dtype, old.shape, old.location, local=True)
        with state.block() as block:
            target = Place(storage.root, (), (), storage.type)
            if isinstance(storage.type, Number):
                state.store(target, state.value(node.init), state.place(node))
            else:
                state.initialise(target, node.init)
        found += block
    return (*found, *statements)


def _all_quals(node: Any) -> set[str]:
    found = set(node.quals or ())
    for each in nodes(node.type):
        found |= set(getattr(each, "quals", None) or ())
    return found


def _is_out_of_reach(argument: Any, body: Any) -> bool:
    """Whether it is a pointer that no program has, such as that to the texts of `main`, and unused."""
    of = argument.type
    if not isinstance(of, c_ast.PtrDecl | c_ast.ArrayDecl) or argument.name in names_in(body):
        return False
    named = getattr(getattr(of.type, "type", None), "names", [])
    return isinstance(of.type, c_ast.PtrDecl) or named == ["void"]


def _returns(body: Any) -> bool:
    return any(isinstance(each, c_ast.Return) and each.expr is not None for each in nodes(body))


def _sizes_use(blocks: tuple[tuple[Any, ...], ...], name: str) -> bool:
    return any(name in dimension_names(item) for block in blocks for item in block)


def _used_arrays(statements: tuple[Statement, ...], state: _Translation) -> set[str]:
    """The arrays that statements other than kills name."""
    found: set[str] = set()
    for statement in tree.walk(statements):
        if isinstance(statement, tree.Assign):
            found.add(statement.target.array)
        if isinstance(statement, tree.Block):
            found |= {*statement.reads, *statement.writes}
        for expression in tree.expressions_of(statement):
            found |= {read.array for read in tree.reads_of(expression)}
    return found


def _pruned(statements: tuple[Statement, ...], used: set[str]) -> tuple[Statement, ...]:
    """Without kills of arrays that nothing uses."""
    result: list[Statement] = []
    for each in statements:
        match each:
            case Kill() if each.array not in used:
                continue
            case tree.For() | tree.While():
                each = replace(each, body=_pruned(each.body, used))
            case tree.If():
                each = replace(
                    each, body=_pruned(each.body, used), otherwise=_pruned(each.otherwise, used)
                )
        result.append(each)
    return tuple(result)
