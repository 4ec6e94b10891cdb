"""Pointers that move: `*p++`, `p += n`, `p < end`.

A pointer is a place in an array and an offset in elements. The array stays the same; the offset of a
pointer that moves is an integer scalar of the program, `p_at`, which counts like any other: what
`induction` knows of it makes `*p++` in a loop the element `[i]`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from ..tree import reads_of
from .c_types import LONG, Number
from .declarators import Declarators
from .parsing import assigned_names, nodes
from .refusals import refuse
from .scopes import PointerVariable, Storage
from .values import Address, Place, Value, arithmetic, converted, integer

__all__ = ["Pointers", "moved_pointers", "steady_arguments"]

STEPS = ("++", "--", "p++", "p--")


class Pointers(Declarators):
    """Follows pointers that move."""

    def pointed(self, pointer: PointerVariable, node: Any) -> Address:
        """Where a pointer points here."""
        if pointer.address is None:
            refuse(
                self.place(node),
                f"it is not known where {pointer.name} points: pointers that are computed or stored have "
                "no translation",
                "initialise it where it is declared",
            )
        if pointer.moved is None:
            return pointer.address
        return replace(pointer.address, offset=self.load(self._offset(pointer), self.place(node)))

    def let_move(self, pointer: PointerVariable, address: Address, node: Any) -> None:
        """The pointer points to an address now, and may point to other elements of the array later."""
        here = self.place(node)
        if address.offset is None:
            refuse(
                here,
                f"{pointer.name} is the address of {address.place.name} alone, and moves",
                "let it point to an array",
            )
        if pointer.moved is None:
            pointer.moved = Storage(f"{pointer.name}_at", LONG, here)
            block = self.scope.where(pointer.name) or self.scope
            block.names[f"{pointer.name} at"] = pointer.moved  # it ends with the pointer
            pointer.address = self.kept(pointer, replace(address, offset=integer(0)), node)
        elif pointer.address is None or pointer.address.place != address.place:
            refuse(
                here,
                f"the pointer {pointer.name} points into one array and later into another",
                "use a pointer for each; write a step that swaps two arrays as two steps",
            )
        self.store(self._offset(pointer), converted(address.offset, LONG, here), here)

    def kept(self, pointer: PointerVariable, address: Address, node: Any) -> Address:
        """The address as it is now, whatever becomes of the memory that it is computed of."""
        here = self.place(node)
        block = self.scope.where(pointer.name) or self.scope

        def now(number: int, value: Value) -> Value:
            if all(self._is_steady(read.array) for read in reads_of(value.tree)):
                return value
            storage = Storage(f"{pointer.name}_at", LONG, here)
            block.names[f"{pointer.name} at {number}"] = storage  # it ends with the pointer
            kept = Place(self.root_of(storage), (), (), LONG)
            self.store(kept, converted(value, LONG, here), here)
            return self.load(kept, here)

        subscripts = [
            now(number, Value(Number(each.dtype), each)).tree
            for number, each in enumerate(address.place.subscripts)
        ]
        place = replace(address.place, subscripts=tuple(subscripts))
        offset = address.offset and now(len(subscripts), address.offset)
        return replace(address, place=place, offset=offset)

    def _is_steady(self, array: str) -> bool:
        return any(array in frame.steady for frame in self.frames)

    def moving(self, node: Any) -> PointerVariable | None:
        """The pointer that a name means, if it is one that moves."""
        entity = self.scope.find(node.name) if isinstance(node, c_ast.ID) else None
        return entity if isinstance(entity, PointerVariable) and entity.moved is not None else None

    def step_pointer(self, pointer: PointerVariable, sign: str, by: Value, node: Any) -> None:
        """`p += by`, `p++` and so on."""
        here = self.place(node)
        offset = self.load(self._offset(pointer), here)
        moved = arithmetic(sign, offset, converted(by, LONG, here), LONG, here)
        self.store(self._offset(pointer), moved, here)

    def stepped_pointer(self, pointer: PointerVariable, node: Any) -> Address:
        """The value of `p++` or `++p`, which moves it."""
        here = self.place(node)
        before = self.pointed(pointer, node)
        if (
            node.op.startswith("p")
            and pointer.moved is not None
            and pointer.moved.root not in self.known
        ):
            assert before.offset is not None
            kept = self.temporary(f"{pointer.name}_was", LONG, here)
            self.store(kept, before.offset, here)
            before = replace(before, offset=self.load(kept, here))
        self.step_pointer(pointer, node.op[-1], integer(1), node)
        return before if node.op.startswith("p") else self.pointed(pointer, node)

    def apart(self, a: Address, b: Address, node: Any) -> tuple[Value, Value]:
        """The offsets of two pointers that are compared or subtracted."""
        if a.place != b.place or a.offset is None or b.offset is None:
            refuse(
                self.place(node),
                "two pointers are compared or subtracted of which it is not seen that they point into "
                "one array",
                "use indices",
            )
        here = self.place(node)
        return converted(a.offset, LONG, here), converted(b.offset, LONG, here)

    def _offset(self, pointer: PointerVariable) -> Place:
        assert pointer.moved is not None
        of: Number = LONG
        return Place(self.root_of(pointer.moved), (), (), of)


def steady_arguments(formals: Iterable[Any], body: Any) -> set[str]:
    """The arguments that are rows of numbers of which single elements are read, and nothing else is done."""
    rows = {
        each.name
        for each in formals
        if isinstance(each, c_ast.Decl)
        and isinstance(each.type, c_ast.PtrDecl | c_ast.ArrayDecl)
        and isinstance(each.type.type, c_ast.TypeDecl)
    }
    read = {
        id(each.name)
        for each in nodes(body)
        if isinstance(each, c_ast.ArrayRef) and isinstance(each.name, c_ast.ID)
    }
    others = {
        each.name for each in nodes(body) if isinstance(each, c_ast.ID) and id(each) not in read
    }
    return rows - others - assigned_names(body)


def moved_pointers(body: Any) -> set[str]:
    """The names that are stepped, or assigned as a whole more than once or within a loop."""
    once: set[str] = set()
    found: set[str] = set()
    for each in nodes(body):
        if isinstance(each, c_ast.Assignment) and isinstance(each.lvalue, c_ast.ID):
            name = each.lvalue.name
            (found if each.op != "=" or name in once else once).add(name)
        elif isinstance(each, c_ast.Decl) and each.init is not None and each.name is not None:
            (found if each.name in once else once).add(each.name)
        elif (
            isinstance(each, c_ast.UnaryOp) and each.op in STEPS and isinstance(each.expr, c_ast.ID)
        ):
            found.add(each.expr.name)
        elif isinstance(each, c_ast.For | c_ast.While | c_ast.DoWhile):
            found |= {
                inner.lvalue.name
                for inner in nodes(each)
                if isinstance(inner, c_ast.Assignment) and isinstance(inner.lvalue, c_ast.ID)
            }
    return found
