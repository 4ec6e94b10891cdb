"""Declarations within functions, what they are initialised with, copies of structures, and local
pointers: to arrays, and to memory that is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np
from pycparser import c_ast

from ...base.plurals import counted
from ..polynomials import polynomial, quotient, tree_of
from ..tree import (
    Expression,
    For,
    Kill,
    Literal,
    Location,
    Variable,
)
from .c_types import (
    INT,
    LONG,
    ArrayOf,
    CType,
    Number,
    Pointer,
    Structure,
    Void,
)
from .initialisers import with_braces
from .loops import Loops
from .parsing import Text
from .places import same_type
from .refusals import refuse
from .scopes import FunctionName, Known, PointerVariable, Storage
from .state import fields_of, is_static, parts
from .tables import MOST_WRITTEN, count_of, table_of
from .values import (
    Address,
    Place,
    Value,
    as_index,
    converted,
    extended,
    integer,
    same,
)

__all__ = ["Declarations"]

_ALLOCATES = {"malloc", "calloc", "aligned_alloc", "polybench_alloc_data"}
# Arrays with values that are no constants are initialised one by one, up to so many elements.
MOST_ELEMENTS = 64
_MAY_BE_STRUCTURES = (
    c_ast.ID,
    c_ast.ArrayRef,
    c_ast.StructRef,
    c_ast.FuncCall,
    c_ast.CompoundLiteral,
)


class Declarations(Loops):
    """Translates declarations."""

    # Declarations -----------------------------------------------------------------------------

    def declare_local(self, node: Any) -> None:
        """A declaration within a block."""
        here = self.place(node)
        if node.name is None:
            self.declare_type(node)
            return
        if node.name in self.scope.names:
            refuse(here, f"{node.name} is declared twice in this block")
        if "extern" in node.storage or isinstance(node.type, c_ast.FuncDecl):
            if isinstance(node.type, c_ast.FuncDecl):
                self.scope.names[node.name] = FunctionName(node.name, node.type)
                return
            refuse(here, f"{node.name} is extern within a function", "declare it outside functions")
        of = self.type_of(node)
        if isinstance(of, Void):
            refuse(here, f"{node.name} is void")
        constant = "const" in node.quals or "const" in _quals(node.type)
        if "static" in node.storage and not constant:
            constant = node.init is not None and not self.file.may_write(node)
            if not constant:
                refuse(
                    here, f"{node.name} is static: it would outlive the call", "make it an argument"
                )
        self.set_braces(node, of)
        if isinstance(of, Pointer):
            self._declare_pointer(node, of)
            return
        shared = node.name in self.frames[-1].shared
        storage = Storage(node.name, of, here, shared=shared)
        if isinstance(of, ArrayOf) and of.extent is None:
            storage.type = self._sized_by(node, of)
        elif isinstance(of, Structure) and of.identity < 0:
            refuse(here, f"the fields of {of} are not declared here")
        value = self._initial_value(node, of)
        self.scope.names[node.name] = storage
        if value is not None and constant and isinstance(of, Number) and is_static(value.tree):
            self.scope.names[node.name] = Known(value)
            return
        if not (isinstance(of, Number) and value is None):
            self.kill(storage, here)
        if node.init is not None:
            table = self.long_table(storage.type, node.init)
            if table is not None and constant:
                self.scope.names[node.name] = self._table_storage(node, node.name, storage, table)
                return
            target = Place(self.root_of(storage), (), (), storage.type)
            if table is not None:
                given = self._table_storage(node, f"{node.name}_values", storage, table)
                source = Place(self.root_of(given), (), (), storage.type)
                self._copy_elements(target, source, here, "")
            elif value is not None:
                self.store(target, value, here)
            elif isinstance(node.init, c_ast.InitList):
                self.initialise(target, node.init)
            else:
                self.copy(target, self.operand(node.init), node)
        storage.constant = constant

    def set_braces(self, node: Any, of: CType) -> None:
        """Writes out the braces that the list of a declaration leaves out."""

        def constant(step: Any) -> int:
            return self.constant(_designator(step))

        def is_structure(value: Any) -> bool:
            if not isinstance(value, _MAY_BE_STRUCTURES):
                return False
            with self.block():
                found = self.operand(value)
            return isinstance(found, Place) and isinstance(found.type, Structure)

        if isinstance(node.init, c_ast.InitList):
            node.init = with_braces(of, node.init, constant, is_structure)

    def compound_literal(self, node: Any) -> Value | Place | Address:
        """`(struct P){ 1, 2 }`: a variable without a name (C99 6.5.2.5)."""
        name = self.unique("literal")
        self.declare_local(
            c_ast.Decl(name, [], [], [], [], node.type.type, node.init, None, node.coord)
        )
        return self.operand(c_ast.ID(name, node.coord))

    def long_table(self, of: CType, init: Any) -> np.ndarray | None:
        """The values of a list of constants that is too long to be written element by element."""
        count = count_of(of)
        if count is None or count <= MOST_WRITTEN or _is_zero(init):
            return None
        return self.table(of, init)

    def table(self, of: CType, init: Any) -> np.ndarray | None:
        """The values of a list if they are constants."""

        def value(node: Any, number: Number) -> object:
            with self.block() as written:
                found = converted(self.value(node), number, self.place(node)).tree
            return found.value if isinstance(found, Literal) and not written else None

        return table_of(of, init, value, lambda node: self.constant(_designator(node)))

    def _table_storage(self, node: Any, name: str, like: Storage, values: np.ndarray) -> Storage:
        """An argument with a default value; one for all calls of the function that declares it."""
        if id(node) not in self.tables:
            self.tables[id(node)] = Storage(
                name, like.type, like.location, local=False, shared=True, values=values
            )
        return self.tables[id(node)]

    def _initial_value(self, node: Any, of: CType) -> Value | None:
        if node.init is None or not isinstance(of, Number):
            return None
        init = node.init
        while isinstance(init, c_ast.InitList):
            if len(init.exprs) != 1:
                refuse(self.place(node), f"{node.name} is one number, and this is a list")
            init = init.exprs[0]
        return converted(self.value(init), of, self.place(node))

    def _sized_by(self, node: Any, of: ArrayOf) -> ArrayOf:
        if not isinstance(node.init, c_ast.InitList):
            refuse(self.place(node), f"the size of {node.name} is not said", "write it in brackets")
        at, most = 0, 0
        for each in node.init.exprs:
            if isinstance(each, c_ast.NamedInitializer) and not isinstance(each.name[0], c_ast.ID):
                at = self.constant(_designator(each.name[0]))
            at += 1
            most = max(most, at)
        return ArrayOf(of.element, Literal(most, LONG.dtype))

    def initialise(self, target: Place, node: Any) -> None:
        """An array or structure from a list in braces; what the list does not name becomes 0."""
        if not isinstance(node, c_ast.InitList):
            if isinstance(target.type, Structure | ArrayOf):
                self.copy(target, self.operand(node), node)
            else:
                self.store(target, self.value(node), self.place(node))
            return
        if isinstance(target.type, Number):
            if len(node.exprs) != 1:
                refuse(self.place(node), "one number is wanted, and this is a list")
            self.initialise(target, node.exprs[0])
            return
        parts = self._parts_of(target, node)
        at, given = 0, {}
        for each in node.exprs:
            if isinstance(each, c_ast.NamedInitializer):
                at = self._designated(target, each, [key for key, _ in parts])
                each = each.expr
            if at == len(parts) and isinstance(node, Text):
                break  # no room for the 0
            if at >= len(parts):
                refuse(
                    self.place(each), f"{target.name} has {len(parts)} parts, and this is one more"
                )
            given[at] = each
            at += 1
        for at, (_, part) in enumerate(parts):
            if at in given:
                self.initialise(part, given[at])
            else:
                self.clear(part, self.place(node))

    def _parts_of(self, target: Place, node: Any) -> list[tuple[Any, Place]]:
        of = target.type
        if isinstance(of, Structure):
            return [
                (name, Place(target.root, (*target.path, name), target.subscripts, each))
                for name, each in of.fields
            ]
        assert isinstance(of, ArrayOf) and of.extent is not None
        size = extended(of.extent)
        if size is None:
            refuse(
                self.place(node),
                f"{target.name} has a variable size and is initialised by a list",
                "write a loop",
            )
        if size > MOST_ELEMENTS and not _is_zero(node):
            refuse(
                self.place(node),
                f"{target.name} has {size} elements: too many for a list with values that are no "
                "constants",
                "write a loop",
            )
        if size > MOST_ELEMENTS:
            self.clear(target, self.place(node))
            size = 0
            node.exprs[:] = []
        return [
            (
                at,
                Place(
                    target.root,
                    target.path,
                    (*target.subscripts, Literal(at, INT.dtype)),
                    of.element,
                ),
            )
            for at in range(size)
        ]

    def _designated(self, target: Place, node: Any, keys: list[Any]) -> int:
        if len(node.name) != 1:
            refuse(
                self.place(node),
                "a designator of several steps has no translation",
                "use inner braces",
            )
        name = node.name[0]
        key = (
            name.name if isinstance(target.type, Structure) and isinstance(name, c_ast.ID) else None
        )
        if key is None:
            key = self.constant(_designator(name))
        if key not in keys:
            refuse(self.place(node), f"{target.name} has no part {key}")
        return keys.index(key)

    # Structures -------------------------------------------------------------------------------

    def copy(self, target: Place, source: Any, node: Any, label: str = "") -> None:
        """`s = t` of structures: a statement for each innermost field, in loops over its elements
        (PENCIL report, Listing 5)."""
        here = self.place(node)
        if isinstance(target.type, ArrayOf):
            refuse(here, f"{target.name} is an array, and arrays are not assigned", "write a loop")
        if not isinstance(source, Place) or not same_type(source.type, target.type):
            refuse(here, f"this is not of type {target.type}")
        self._copy_elements(target, source, here, label)

    def _copy_elements(self, target: Place, source: Place, here: Location, label: str) -> None:
        leaves = list(fields_of(target.type))
        for path, leaf in leaves:
            to = Place(target.root, (*target.path, *path), target.subscripts, leaf)
            of = Place(source.root, (*source.path, *path), source.subscripts, leaf)
            name = "_".join((label, *path)) if label and len(leaves) > 1 else label
            self._for_elements(
                to,
                here,
                lambda subscripts, to=to, of=of, name=name: self._copy_element(
                    to, of, subscripts, here, name
                ),
            )

    def _copy_element(
        self, to: Place, of: Place, subscripts: tuple[Expression, ...], here: Location, label: str
    ) -> None:
        number = _element_type(to.type)
        value = self.load(Place(of.root, of.path, (*of.subscripts, *subscripts), number), here)
        self.store(
            Place(to.root, to.path, (*to.subscripts, *subscripts), number), value, here, label
        )

    def clear(self, target: Place, here: Location) -> None:
        """Sets all numbers of a variable to 0."""
        for path, leaf in fields_of(target.type):
            to = Place(target.root, (*target.path, *path), target.subscripts, leaf)
            number = _element_type(leaf)

            def write(
                subscripts: tuple[Expression, ...], to: Place = to, number: Number = number
            ) -> None:
                place = Place(to.root, to.path, (*to.subscripts, *subscripts), number)
                self.store(place, integer(0), here)

            self._for_elements(to, here, write)

    def _for_elements(
        self, place: Place, here: Location, write: Any, subscripts: tuple[Expression, ...] = ()
    ) -> None:
        """Calls `write` in loops over the elements of an array."""
        of = place.type
        if not isinstance(of, ArrayOf):
            write(subscripts)
            return
        assert of.extent is not None
        name = self._free_iterator("element")
        iterator = Variable(name, LONG.dtype)
        self.iterators.append(name)
        self.iterator_names.add(name)
        with self.block() as body:
            inner = Place(place.root, place.path, place.subscripts, of.element)
            self._for_elements(inner, here, write, (*subscripts, iterator))
        self.iterators.pop()
        start = Literal(0, LONG.dtype)
        self.emit(For(iterator, start, of.extent, 1, tuple(body), name, here))

    # Pointers ---------------------------------------------------------------------------------

    def _declare_pointer(self, node: Any, of: Pointer) -> None:
        pointer = PointerVariable(node.name, of, self.place(node))
        self.scope.names[node.name] = pointer
        pointer.moves = node.name in self.frames[-1].moved
        if node.name in self.frames[-1].renamed:
            self.rename(pointer)
        if node.init is not None:
            self._point(pointer, node.init, node)

    def assigned_pointer(self, node: Any) -> Place | None:
        """The memory of a pointer that is assigned, or None if the target is no pointer."""
        if not isinstance(node.lvalue, c_ast.ID):
            return None
        entity = self.scope.find(node.lvalue.name)
        if not isinstance(entity, PointerVariable):
            return None
        here = self.place(node)
        if entity.moves or entity.renamed:
            self._point(entity, node.rvalue, node)
            return _place_of(entity)
        if entity.address is not None:
            refuse(
                here,
                f"the pointer {entity.name} points somewhere already, and does not move",
                "use an index, or another pointer",
            )
        if len(self.frames[-1].loops) or len(self.blocks) > self.frames_depth():
            refuse(
                here,
                f"the pointer {entity.name} is assigned under a condition or in a loop",
                "initialise it where it is declared",
            )
        self._point(entity, node.rvalue, node)
        return _place_of(entity)

    def frames_depth(self) -> int:
        """How many blocks are open where the function's own statements are written."""
        return self.frames[-1].depth

    def _point(self, pointer: PointerVariable, init: Any, node: Any) -> None:
        """Lets a pointer point to an array, or to fresh memory."""
        inner = init
        while isinstance(inner, c_ast.Cast):
            inner = inner.expr
        if isinstance(inner, c_ast.FuncCall) and isinstance(inner.name, c_ast.ID):
            if inner.name.name in _ALLOCATES:
                address = self._allocated(pointer, inner)
                if pointer.moves:
                    self.let_move(pointer, address, node)
                pointer.address = pointer.address or address
                return
        found = self.operand(init)
        if not self._is_pointer(found):
            refuse(self.place(node), f"{pointer.name} is a pointer, and this is none")
        address = self._address(found, node)
        if not same_type(address.target, pointer.type.target):
            refuse(
                self.place(node),
                f"{pointer.name} points to {pointer.type.target}, and this is {address.target}",
                "declare it with the type of the array's elements",
            )
        self._check_extents(address.target, pointer.type.target, node)
        if pointer.moves:
            self.let_move(pointer, address, node)
        else:
            pointer.address = address if pointer.renamed else self.kept(pointer, address, node)
            self.check_meaning(pointer, node)

    def _check_extents(self, given: CType, wanted: CType, node: Any) -> None:
        """Rows of an array that is seen under another name must have the same length."""
        while isinstance(given, ArrayOf) and isinstance(wanted, ArrayOf):
            a, b = given.extent, wanted.extent
            if a is None or b is None or not same(a, b):
                refuse(
                    self.place(node),
                    "the rows of the array have another length here, or it is not known that they "
                    "have the same",
                    "declare both with the same sizes, written the same way",
                )
            given, wanted = given.element, wanted.element

    def _allocated(self, pointer: PointerVariable, call: Any) -> Address:
        here = self.place(call)
        target = pointer.type.target
        name = call.name.name
        arguments = call.args.exprs if call.args is not None else []
        if len(arguments) != {"malloc": 1}.get(name, 2):
            refuse(here, f"{name} is called with {counted(len(arguments), 'argument')}")
        if isinstance(target, ArrayOf) and self._is_one(target, name, arguments, here):
            storage = Storage(pointer.name, target, pointer.location)
            place = Place(self.root_of(storage), (), (), target)
            self.kill(storage, here)
            if name == "calloc":
                self.clear(place, here)
            return Address(place, target, None)  # double (*A)[n][m] = malloc(...)
        if isinstance(target, Void):
            refuse(here, f"{pointer.name} points to void", "declare it with the elements' type")
        count = self._count(target, name, arguments, call)
        of = ArrayOf(target, count)
        storage = Storage(pointer.name, of, pointer.location)
        place = Place(self.root_of(storage), (), (), of)
        self.kill(storage, here)
        if name == "calloc":
            self.clear(place, here)
        return Address(place, target, integer(0))

    def _is_one(self, target: CType, name: str, arguments: list[Any], here: Location) -> bool:
        """Whether memory for one array is allocated, not for rows."""
        if name != "malloc":
            return True
        found = self.quotient(self.value(arguments[0]), self.size(target, arguments[0]), here)
        return found is None or extended(found) == 1

    def _count(self, target: CType, name: str, arguments: list[Any], call: Any) -> Expression:
        """How many elements are allocated: `n * sizeof(type)`."""
        here = self.place(call)
        size = extended(self.size(target, call).tree)
        if name in ("calloc", "polybench_alloc_data"):
            count, each = self.value(arguments[0]), self.value(arguments[1])
            if size is None or extended(each.tree) != size:
                refuse(here, f"the size of an element is not that of {target}", "write sizeof")
            return count.tree
        found = self.quotient(self.value(arguments[-1]), self.size(target, call), here)
        if found is None:
            refuse(
                here,
                f"it is not seen how many elements of type {target} these are",
                f"write {name}(n * sizeof({target}))",
            )
        return found

    @staticmethod
    def quotient(total: Value, each: Value, here: Location) -> Expression | None:
        """The number of elements that so many bytes are, if it is seen in the text: n of n * m * 8, of rows
        of m * 8 bytes."""
        bytes_, row = polynomial(total.tree, index=True), polynomial(each.tree, index=True)
        if bytes_ is None or row is None or len(row) != 1:
            return None
        count = quotient(bytes_, row)
        if count is None:
            return None
        types = {part.name: part.dtype for part in parts(total.tree) if isinstance(part, Variable)}
        return tree_of(count, lambda name: as_index(Variable(name, types[name])), LONG.dtype, here)

    def free(self, node: Any) -> None:
        """`free(p)`: what the array holds is not needed any more."""
        arguments = node.args.exprs if node.args is not None else []
        if len(arguments) != 1:
            refuse(self.place(node), "free has one argument")
        self._kill_argument(arguments[0])

    def _kill_argument(self, node: Any) -> None:
        while isinstance(node, c_ast.Cast):
            node = node.expr
        if isinstance(node, c_ast.ID):
            entity = self.scope.find(node.name)
            if isinstance(entity, Storage) and not entity.root and isinstance(entity.type, Number):
                return  # nothing has been stored there
        found = self.operand(node)
        place = found.place if isinstance(found, Address) else found
        if not isinstance(place, Place):
            refuse(self.place(node), "a variable is wanted here")
        if place.subscripts:
            return  # a kill of a part is a promise that may be left unused
        for path, _ in fields_of(place.type):
            self.emit(Kill("_".join((place.name, *path)), self.place(node)))
        self.known.pop(place.root, None)


def _place_of(pointer: PointerVariable) -> Place | None:
    return None if pointer.address is None else pointer.address.place


def _designator(node: Any) -> Any:
    """The subscript in ``[1] = 9``."""
    return (
        next(iter(child for _, child in node.children()), node)
        if not _is_expression(node)
        else node
    )


def _is_expression(node: Any) -> bool:
    return isinstance(node, c_ast.Constant | c_ast.ID | c_ast.BinaryOp | c_ast.UnaryOp)


def _is_zero(node: Any) -> bool:
    return isinstance(node, c_ast.InitList) and all(
        isinstance(each, c_ast.Constant) and each.value in ("0", "0.0") for each in node.exprs
    )


def _quals(node: Any) -> list[str]:
    """The qualifiers of what is declared, not of what it points to."""
    while isinstance(node, c_ast.ArrayDecl):
        node = node.type
    return list(getattr(node, "quals", None) or [])


def _element_type(of: CType) -> Number:
    while isinstance(of, ArrayOf):
        of = of.element
    assert isinstance(of, Number)
    return of
