"""What a translation knows at a point of the program, and the statements written so far.

One translation makes one program of the tree. It walks the C tree in the order of execution, keeps
the values of integer scalars that are known (the context of pet's second phase: PENCIL report,
section 3.4), and appends statements to the innermost block that is open.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import tree
from ..tree import (
    Assign,
    Break,
    Continue,
    Convert,
    Expression,
    Kill,
    Literal,
    Location,
    Operation,
    Read,
    Return,
    Select,
    Statement,
    Variable,
)
from .c_types import ArrayOf, CType, Number, Pointer, Structure, Void, is_integer
from .parsing import CFile, assigned_names
from .refusals import refuse
from .scopes import PointerVariable, Scope, Storage
from .values import Address, Place, Value, as_index, converted

__all__ = ["Frame", "LoopFrame", "State", "fields_of", "is_static", "parts"]

# Known values larger than this are read from memory instead of being repeated.
MOST_NODES = 24


@dataclass
class LoopFrame:
    """A loop around the statement that is translated: what `continue` means.

    Attributes:
        before_continue: writes what must happen before the next iteration: increments, conditions.
    """

    before_continue: Any


@dataclass
class Frame:
    """A function that is translated: the program's own, or one that is inlined.

    Attributes:
        result: where `return` puts its value.
        result_type: the function's type.
        read_outside: variables that are read other than as iterators of loops.
        shared: variables whose addresses are taken.
        moved: pointers that point to different elements in turn.
        renamed: pointers that point into different arrays in turn.
        last: statements behind which the function ends, by `id`.
        steady: arguments of the program's own function whose elements nothing can write.
    """

    function: str
    result: Place | None
    result_type: CType
    read_outside: set[str]
    shared: set[str]
    moved: set[str]
    inlined: bool
    depth: int = 1
    loops: list[LoopFrame] = field(default_factory=list)
    renamed: set[str] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    steady: set[str] = field(default_factory=set)


def fields_of(type_: CType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], CType]]:
    """The innermost fields of a type: their paths, and their types with the dimensions in front of
    them. Of an array of structures these are arrays (structure of arrays)."""
    dimensions = []
    inner = type_
    while isinstance(inner, ArrayOf):
        dimensions.append(inner)
        inner = inner.element
    if not isinstance(inner, Structure):
        yield path, type_
        return
    for name, each in inner.fields:
        for below, leaf in fields_of(each, (*path, name)):
            wrapped = leaf
            for dimension in reversed(dimensions):
                wrapped = ArrayOf(wrapped, dimension.extent)
            yield below, wrapped


class State(ABC):
    """The ground on which expressions and statements are translated."""

    def __init__(self, file: CFile, scope: Scope, externs: Mapping[str, object]) -> None:
        self.file = file
        self.scope = scope
        self.externs = externs
        self.arrays: dict[str, tree.Array] = {}
        self.names: set[str] = set()
        self.known: dict[str, Value] = {}
        self.blocks: list[list[Statement]] = [[]]
        self.frames: list[Frame] = []
        self.labels: set[str] = set()
        self.iterators: list[str] = []
        self.iterator_names: set[str] = set()
        self.never_negative: set[str] = set()  # iterators and parameters
        self.roots: dict[str, Storage] = {}
        self.tables: dict[int, Storage] = {}  # by the `id` of their declarations
        self.owner: dict[str, str] = {}  # array -> the variable that it is, or is a field of

    def place(self, node: Any) -> Location:
        """Where a node stands in the user's file."""
        return self.file.place(node)

    # Names -----------------------------------------------------------------------------------

    def unique(self, wanted: str) -> str:
        """A name that nothing has yet, as near to the wanted one as can be."""
        name, count = wanted, 0
        while name in self.names or name in self.iterator_names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name

    def label(self, wanted: str = "") -> str:
        """The next statement's name."""
        count = 1
        name = wanted or f"S{count}"
        while name in self.labels:
            count += 1
            name = f"{wanted}_{count}" if wanted else f"S{count}"
        self.labels.add(name)
        return name

    def root_of(self, storage: Storage) -> str:
        """The name of a variable in the tree; its arrays are declared when it is first used."""
        if not storage.root:
            storage.root = self.unique(storage.name)
            self.roots[storage.root] = storage
            for path, leaf in fields_of(storage.type):
                self._declare("_".join((storage.root, *path)), leaf, storage)
        return storage.root

    def _declare(self, name: str, leaf: CType, storage: Storage) -> None:
        shape = []
        if name != storage.root:
            self.names.add(name)
        while isinstance(leaf, ArrayOf):
            if leaf.extent is None:
                refuse(storage.location, f"{storage.name} is an array of unknown size")
            shape.append(as_index(leaf.extent))
            leaf = leaf.element
        if not isinstance(leaf, Number):
            what = "a pointer" if isinstance(leaf, Pointer) else f"of type {leaf}"
            refuse(
                storage.location,
                f"{name} is {what}, and only numbers are kept in memory",
                "use arrays and indices instead of pointers that are stored",
            )
        self.owner[name] = storage.root
        self.arrays[name] = tree.Array(
            name,
            leaf.dtype,
            tuple(shape),
            storage.location,
            local=storage.local,
            may_alias=storage.may_alias,
        )

    def temporary(self, name: str, type_: CType, location: Location) -> Place:
        """A fresh local variable."""
        storage = Storage(name, type_, location)
        return Place(self.root_of(storage), (), (), type_)

    # Statements ------------------------------------------------------------------------------

    def emit(self, statement: Statement) -> None:
        """Appends to the block that is open."""
        self.blocks[-1].append(statement)

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        """A block of statements that is written aside."""
        statements: list[Statement] = []
        self.blocks.append(statements)
        try:
            yield statements
        finally:
            self.blocks.pop()

    @contextmanager
    def inner_scope(self) -> Iterator[Scope]:
        """A C block: what is declared in it ends with it."""
        before, self.scope = self.scope, Scope(self.scope)
        try:
            yield self.scope
            self.end_of_life(self.scope)
        finally:
            self.scope = before

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Names mean what they mean in that scope."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def end_of_life(self, scope: Scope) -> None:
        """Kills what the block declared (PENCIL report, section 3.8)."""
        if self.blocks[-1] and isinstance(self.blocks[-1][-1], Break | Continue | Return):
            return
        for each in scope.names.values():
            if isinstance(each, Storage) and each.root and each.local:
                self.kill(each, each.location)

    def kill(self, storage: Storage, location: Location) -> None:
        """What the variable holds is not needed any more."""
        for path, _ in fields_of(storage.type):
            self.emit(Kill("_".join((self.root_of(storage), *path)), location))
        self.known.pop(storage.root, None)

    def store(self, place: Place, value: Value, location: Location, label: str = "") -> None:
        """Writes a number to memory, converted to the type there."""
        if not isinstance(place.type, Number):
            refuse(location, f"an array or structure of type {place.type} is no number")
        if place.constant:
            refuse(location, f"{place.name} is const and cannot be assigned")
        new = converted(value, place.type, location)
        target = Read(place.name, place.subscripts, place.type.dtype, location)
        self.emit(Assign(target, new.tree, self.label(label), location))
        if not place.subscripts and not place.path:
            self.learn(place.root, new)

    def learn(self, root: str, value: Value) -> None:
        """Remembers the value of an integer scalar, if it is made of iterators and parameters."""
        storage = self.roots.get(root)
        if storage is None or storage.shared or not is_integer(value.type):
            return
        if is_static(value.tree):
            self.known[root] = value
        else:
            self.known.pop(root, None)

    def load(self, place: Place, location: Location) -> Value:
        """Reads a number from memory."""
        if not isinstance(place.type, Number):
            refuse(
                location,
                f"a number is wanted, and {place.name} is of type {place.type}",
                "name one of its elements or fields",
            )
        if not place.path and not place.subscripts and place.root in self.known:
            return self.known[place.root]
        return Value(place.type, Read(place.name, place.subscripts, place.type.dtype, location))

    def forget(self, node: Any) -> None:
        """Forgets the values of the scalars that a part of the program may write."""
        for name in assigned_names(node):
            entity = self.scope.find(name)
            if isinstance(entity, PointerVariable):
                entity = entity.moved
            if isinstance(entity, Storage):
                self.known.pop(entity.root, None)

    def forget_iterator(self, name: str) -> None:
        """Forgets values that depend on an iterator whose loop has ended."""
        for root in [
            root
            for root, value in self.known.items()
            if any(isinstance(each, Variable) and each.name == name for each in parts(value.tree))
        ]:
            del self.known[root]

    def is_never_negative(self, expression: Expression) -> bool:
        """Whether an integer is 0 or more for reasons that are seen in the text: then C's division is
        that which rounds down."""
        if expression.dtype.kind == "u":
            return True
        match expression:
            case Literal():
                return expression.value.real >= 0
            case Variable():
                return expression.name in self.never_negative
            case Convert():
                inner = expression.value
                keeps = inner.dtype.kind in "iub" and np.can_cast(inner.dtype, expression.dtype)
                return keeps and (inner.dtype.kind == "b" or self.is_never_negative(inner))
            case Select():
                return all(map(self.is_never_negative, (expression.if_true, expression.if_false)))
            case Operation() if expression.name in ("+", "*", "//", "%", "minimum"):
                return all(map(self.is_never_negative, expression.operands))
            case Operation() if expression.name in ("&", "maximum"):
                return any(map(self.is_never_negative, expression.operands))
            case Operation() if expression.name == ">>":
                return self.is_never_negative(expression.operands[0])
        return False

    # What the layers above do ----------------------------------------------------------------

    @abstractmethod
    def value(self, node: Any) -> Value:
        """The number that an expression is."""

    @abstractmethod
    def statement(self, node: Any, label: str = "") -> None:
        """Translates a statement."""

    @abstractmethod
    def call_function(self, name: str, node: Any) -> Value | Place | Address | None:
        """Translates the call of a function that is defined in the file."""

    @abstractmethod
    def declare_local(self, node: Any) -> None:
        """Translates a declaration within a block."""

    def type_name(self, type_: CType) -> str:
        """A type as messages show it."""
        return "void" if isinstance(type_, Void) else str(type_)


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all in it."""
    yield expression
    for part in tree.parts_of(expression):
        yield from parts(part)


def is_static(expression: Expression) -> bool:
    """Whether a small integer expression is made of iterators, parameters and constants."""
    found = list(parts(expression))
    return len(found) <= MOST_NODES and not any(
        isinstance(each, Read | tree.Call)
        or (isinstance(each, Operation) and each.dtype.kind not in "iub")
        or np.dtype(each.dtype).kind not in "iub"
        for each in found
    )
