"""Calls of functions that the file only declares: blocks, which nobody looks into.

What is known of such a function is its declaration (PENCIL report, INRIA RT-0457, sections 2.6 and 3.7).
An array behind a pointer to `const` is read. Any other is read and written, unless a summary function
(`pencil_access`) says less. It is the whole array, except that a parameter `x[static n]` stands for n
elements. The call reads copies, and what it may have written is assigned behind it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from pycparser import c_ast

from ...base.plurals import counted
from ...language.externs import Extern, extern
from ..tree import Block, Expression, Literal, Location, Variable
from .c_types import LONG, ArrayOf, CType, Number, Pointer, Structure, Void
from .foreign import Buffer, ForeignCall, Given, address_of, symbol
from .library import EFFECTS
from .parsing import names_in
from .refusals import refuse
from .scopes import FunctionName, Known, Scope
from .state import is_static, parts
from .summaries import Summaries
from .values import Address, Place, Value, arithmetic, as_index, converted, extended

__all__ = ["OpaqueCalls"]


@dataclass
class _Use:
    """An array that pointers of a call lead into.

    Attributes:
        place: the array.
        reads, writes: whether the function may.
        region: where the only pointer into it leads, if it is declared how many elements are meant.
        extent: the type of these.
    """

    place: Place
    reads: bool = False
    writes: bool = False
    region: Address | None = None
    extent: ArrayOf | None = None


class OpaqueCalls(Summaries):
    """Translates calls of functions without a body."""

    def is_opaque(self, name: str) -> bool:
        """Whether a call of the function is a block."""
        return self._implementation(name) is not None and not self._is_pure(name)

    def extern_of(self, name: str) -> Extern | None:
        """A function of numbers alone, which expressions call."""
        given: Any = self.externs.get(name)
        if given is None or isinstance(given, Extern):
            return given
        address = address_of(given)
        if address is None or not self._is_pure(name):
            return None
        declaration = self._declaration(name)
        with self.within(Scope(self._outermost())):
            types = [self.type_of(each) for each in _formals(declaration)]
            returned = self.type_of(declaration.type)
        numbers = [each.dtype for each in (*types, returned) if isinstance(each, Number)]
        return extern(name, address, numbers[:-1], numbers[-1])

    @abstractmethod
    def summarised(self, name: str) -> list[tuple[bool, bool, bool]] | None:
        """What a summary function says of another one: for each argument whether it may be read and
        written, and whether all that is declared of it is written; None without a summary."""

    def _outermost(self) -> Scope:
        scope = self.scope
        while scope.outer is not None:
            scope = scope.outer
        return scope

    def _declaration(self, name: str) -> Any:
        entity = self.scope.find(name)
        return entity.declaration if isinstance(entity, FunctionName) else None

    def _is_pure(self, name: str) -> bool:
        """Whether it is taken to be a function of numbers, as those of `tw.extern` are."""
        given = self.externs.get(name)
        if isinstance(given, Extern):
            return True
        declaration = self._declaration(name)
        if given is None or address_of(given) is None or declaration is None:
            return False
        with self.within(Scope(self._outermost())):
            formals = _formals(declaration)
            numbers = [not _is_array(each) for each in formals]
            if not numbers or not all(numbers) or isinstance(formals[-1], c_ast.EllipsisParam):
                return False
            types = [self.type_of(each) for each in formals]
            return all(
                isinstance(each, Number) and each.dtype.kind != "c"
                for each in (*types, self.type_of(declaration.type))
            )

    def _implementation(self, name: str) -> Any:
        """The address or the callable; None if there is none."""
        given = self.externs.get(name)
        if given is not None:
            return given if isinstance(given, Extern) else address_of(given) or given
        declaration = self._declaration(name)
        if declaration is None or name in EFFECTS or not any(map(_is_array, _formals(declaration))):
            return None
        return symbol(name)

    # ---- calls ----

    def opaque_call(self, name: str, node: Any) -> Place | None:
        """A call as a block; gives where the result is."""
        here = self.place(node)
        declaration = self._declaration(name)
        if declaration is None:
            refuse(
                here,
                f"{name} is not declared, so it is not known what it takes",
                f"write its prototype: void {name}(const double *x, double *y, int n);",
            )
        formals = _formals(declaration)
        if any(isinstance(each, c_ast.EllipsisParam) for each in formals):
            refuse(here, f"{name} takes any number of arguments, which has no translation")
        given = node.args.exprs if node.args is not None else []
        if len(given) != len(formals):
            refuse(
                here,
                f"{name} has {counted(len(formals), 'argument')}, and is called with {len(given)}",
            )
        operands = [self.operand(each) for each in given]
        scope = Scope(self._outermost())
        values: dict[int, Value] = {}
        for at, (formal, operand, actual) in enumerate(zip(formals, operands, given, strict=True)):
            if not _is_array(formal):
                values[at] = self._number(formal, operand, actual)
                if formal.name and is_static(values[at].tree):
                    scope.names[formal.name] = Known(values[at])
        uses: dict[str, _Use] = {}
        addresses: dict[int, Address] = {}
        summary = self.summarised(name)
        for at, (formal, operand, actual) in enumerate(zip(formals, operands, given, strict=True)):
            if _is_array(formal):
                addresses[at] = self._pointer(name, formal, operand, actual)
                said = (True, not _is_const(formal), False) if summary is None else summary[at]
                self._note(uses, formal, addresses[at], scope, said)
        with self.within(scope):
            returned = self.type_of(declaration.type)
        if not isinstance(returned, Number | Void):
            refuse(here, f"{name} returns a {returned}", "return a number, or fill an array")
        if isinstance(returned, Void) and not any(each.writes for each in uses.values()):
            refuse(
                here,
                f"{name} writes nothing that is known: it returns no value, and its arrays are const",
                "call it outside the scop",
            )
        return self._emitted(name, values, addresses, uses, returned, here)

    def _number(self, formal: Any, operand: Any, actual: Any) -> Value:
        here = self.place(actual)
        if isinstance(operand, Place) and isinstance(operand.type, Number):
            operand = self.load(operand, here)
        with self.within(Scope(self._outermost())):
            of = self.type_of(formal)
        if not isinstance(operand, Value) or not isinstance(of, Number):
            refuse(here, "numbers and arrays of numbers are given to functions without a body")
        if of.dtype.kind == "c":
            refuse(here, "complex numbers are not passed by value", "pass an array of one element")
        return converted(operand, of, here)

    def _pointer(self, name: str, formal: Any, operand: Any, actual: Any) -> Address:
        here = self.place(actual)
        if not self._is_pointer(operand):
            refuse(here, f"{name} takes an array here, and this is none")
        address = self._address(operand, actual)
        wanted = _innermost_of(formal)
        with self.within(Scope(self._outermost())):
            of = self.type_of(wanted)
        if isinstance(of, Pointer):
            of = of.target
        target = address.target
        while isinstance(target, ArrayOf):
            target = target.element
        if isinstance(target, Structure):
            refuse(
                here,
                f"{name} has no body, and {address.place.name} is of structures, whose fields are arrays "
                "of their own here",
                "pass an array of numbers",
            )
        if _depth(formal) > 1:
            refuse(here, f"{name} takes pointers to pointers, which have no translation")
        if not isinstance(of, Void) and of != target:
            refuse(
                here,
                f"{name} takes elements of type {of}, and these are of type {target}",
                "declare both with the same type",
            )
        return address

    def _note(
        self,
        uses: dict[str, _Use],
        formal: Any,
        address: Address,
        scope: Scope,
        said: tuple[bool, bool, bool],
    ) -> None:
        """What is read and written through a pointer."""
        place = address.place
        may_read, writes, covers = said
        reads = may_read or not (writes and covers)  # what is left alone keeps its value
        extent = self._extent_of(formal, scope)
        is_first = place.name not in uses
        use = uses.setdefault(place.name, _Use(place))
        if is_first and extent is not None and address.offset is not None:
            use.region, use.extent = address, extent
        else:
            use.region = use.extent = None
        if use.region is None and writes:
            reads = True  # elements that the declaration does not speak of keep their values
        use.reads |= reads
        use.writes |= writes

    def _extent_of(self, formal: Any, scope: Scope) -> ArrayOf | None:
        """The array that `x[static n]` is, if its sizes are known wherever the call is made."""
        of = formal.type
        if not isinstance(of, c_ast.ArrayDecl) or "static" not in (of.dim_quals or []):
            return None
        with self.within(scope):
            names = {name for name, each in scope.names.items() if isinstance(each, Known)}
            if _asked(formal) - names - set(self._outermost().names):
                return None
            found = self.type_of(formal)
        assert isinstance(found, ArrayOf)
        inner: CType = found
        while isinstance(inner, ArrayOf):
            if inner.extent is None or any(
                isinstance(part, Variable) and part.name in self.iterator_names
                for part in parts(inner.extent)
            ):
                return None
            inner = inner.element
        return found

    def _emitted(
        self,
        name: str,
        values: dict[int, Value],
        addresses: dict[int, Address],
        uses: dict[str, _Use],
        returned: CType,
        here: Location,
    ) -> Place | None:
        """The block with what stands before and behind it."""
        reads: list[str] = []
        writes: list[str] = []
        buffers: list[Buffer] = []
        behind: list[tuple[_Use, Place]] = []
        numbers: dict[str, int] = {}
        for array, use in uses.items():
            numbers[array] = len(buffers)
            whole = self._whole(array, use)
            source = whole
            if use.region is not None and use.reads:
                source = self.temporary(f"{array}_given", whole.type, here)
                self._exchanged(use, source, here, into=True)
            read = written = None
            if use.reads:
                read = len(reads)
                reads.append(source.name)
            if use.writes:
                made = self.temporary(f"{array}_of_{name}", whole.type, here)
                written = len(writes)
                writes.append(made.name)
                behind.append((use, made))
            buffers.append(Buffer(read, written))
        arguments = []
        for at in range(len(values) + len(addresses)):
            if at in values:
                number = self._passed(values[at], reads, here)
                arguments.append(Given(number, values[at].type.dtype))
                continue
            address = addresses[at]
            arguments.append(self._given(address, uses[address.place.name], numbers, reads, here))
        result: Place | None = None
        if isinstance(returned, Number):
            result = self.temporary(f"{name}_result", returned, here)
            writes.append(result.name)
        call = ForeignCall(
            self._implementation(name),
            arguments,
            buffers,
            len(reads),
            returned.dtype if isinstance(returned, Number) else None,
        )
        self.emit(Block(call, tuple(reads), tuple(writes), self.label(name), name, here))
        for use, made in behind:
            self._exchanged(use, made, here, into=False)
            self.known.pop(use.place.root, None)
        return result

    def _whole(self, array: str, use: _Use) -> Place:
        """What is given of an array, as an array."""
        if use.extent is not None:
            return Place(use.place.root, (), (), use.extent)
        declared = self.arrays[array]
        of: CType = Number(declared.dtype)
        for extent in reversed(declared.shape):
            of = ArrayOf(of, extent)
        return Place(use.place.root, use.place.path, (), of)

    def _passed(self, value: Value, reads: list[str], here: Location) -> Any:
        """How a call finds a number: a constant, or a variable that is read."""
        known = extended(value.tree)
        if known is not None:
            return known
        if isinstance(value.tree, Literal):
            return value.tree.value
        kept = self.temporary("passed", value.type, here)
        self.emit_store(kept, value, here)
        reads.append(kept.name)
        return ("read", len(reads) - 1)

    def emit_store(self, place: Place, value: Value, here: Location) -> None:
        """Writes a variable that the call reads from memory."""
        self.store(place, value, here)
        self.known.pop(place.root, None)

    def _given(
        self, address: Address, use: _Use, numbers: dict[str, int], reads: list[str], here: Location
    ) -> Given:
        array = address.place.name
        row = 0
        inner = address.target
        while isinstance(inner, ArrayOf):
            row, inner = row + 1, inner.element
        if use.region is not None:
            return Given(buffer=numbers[array], rank=1, row=row)
        start: list[Expression] = list(address.place.subscripts)
        if address.offset is not None:
            start.append(as_index(address.offset.tree))
        while start and extended(start[-1]) == 0:
            start.pop()
        passed = [self._passed(Value(LONG, each), reads, here) for each in start]
        return Given(
            buffer=numbers[array],
            start=tuple(passed),
            rank=len(self.arrays[array].shape),
            row=row,
        )

    def _exchanged(self, use: _Use, other: Place, here: Location, into: bool) -> None:
        """Copies what is given of an array into another one, or back."""

        def copy(subscripts: tuple[Expression, ...]) -> None:
            of = Number(self.arrays[other.name].dtype)
            mine = replace(other, subscripts=subscripts, type=of)
            if use.region is None:
                theirs = Place(use.place.root, use.place.path, subscripts, of)
            else:
                theirs = self._behind(use.region, subscripts, of, here)
            if into:
                self.store(mine, self.load(theirs, here), here)
            else:
                self.store(theirs, self.load(mine, here), here)

        self._for_elements(other, here, copy)

    def _behind(
        self, address: Address, subscripts: tuple[Expression, ...], of: Number, here: Location
    ) -> Place:
        """An element of what a pointer leads to."""
        assert address.offset is not None
        first: Expression = subscripts[0]
        if extended(address.offset.tree) != 0:
            start = converted(address.offset, LONG, here)
            first = arithmetic("+", start, Value(LONG, first), LONG, here).tree
        place = address.place
        return Place(
            place.root, place.path, (*place.subscripts, as_index(first), *subscripts[1:]), of
        )


def _formals(declaration: Any) -> list[Any]:
    """The arguments of a prototype."""
    found = [] if declaration.args is None else list(declaration.args.params)
    is_void = (
        len(found) == 1
        and isinstance(found[0], c_ast.Typename)
        and isinstance(found[0].type, c_ast.TypeDecl)
        and getattr(found[0].type.type, "names", None) == ["void"]
    )
    return [] if is_void else found


def _is_array(formal: Any) -> bool:
    return isinstance(getattr(formal, "type", None), c_ast.PtrDecl | c_ast.ArrayDecl)


def _innermost_of(formal: Any) -> Any:
    """The declaration of the elements."""
    of = formal.type
    while isinstance(of, c_ast.PtrDecl | c_ast.ArrayDecl):
        of = of.type
    return of


def _depth(formal: Any) -> int:
    """How many pointers there are on the way to the elements."""
    count = 1 if isinstance(formal.type, c_ast.ArrayDecl) else 0
    of = formal.type
    while isinstance(of, c_ast.PtrDecl | c_ast.ArrayDecl):
        count += isinstance(of, c_ast.PtrDecl)
        of = of.type
    return count


def _is_const(formal: Any) -> bool:
    return "const" in (getattr(_innermost_of(formal), "quals", None) or [])


def _asked(formal: Any) -> set[str]:
    """The names in the sizes of an argument."""
    found: set[str] = set()
    of = formal.type
    while isinstance(of, c_ast.PtrDecl | c_ast.ArrayDecl):
        if isinstance(of, c_ast.ArrayDecl) and of.dim is not None:
            found |= names_in(of.dim)
        of = of.type
    return found
