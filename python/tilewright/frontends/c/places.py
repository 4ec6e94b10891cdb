"""What lvalues and pointers name: variables, elements, fields, `*p`, `&x`, `p + i`.

Arrays of structures are structures of arrays in the tree: `s.f[i].a[j]` is the element `[i, j]` of the
array `s_f_a` (PENCIL report, sections 3.3 and 4.2: fields do not alias with each other). A pointer is
followed to the array that it points into, by the name that it was given from.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from ..tree import plain
from .c_types import ArrayOf, Number, Pointer, Structure, is_integer, promoted
from .pointers import STEPS, Pointers
from .refusals import refuse
from .scopes import FunctionName, Known, PointerVariable, Storage, TypeName
from .values import Address, Place, Value, arithmetic, extended, integer, unwrapped

__all__ = ["Places"]

_POINTERS = "pointers that are computed or stored have no translation"
_INDICES = "use arrays and indices"


class Places(Pointers):
    """Translates lvalues and pointers."""

    def lvalue(self, node: Any) -> Place:
        """The place that an expression names."""
        found = self.operand(node)
        if isinstance(found, Place):
            return found
        if isinstance(node, c_ast.ID):
            refuse(self.place(node), f"{node.name} is const here and cannot be assigned")
        what = "a pointer" if isinstance(found, Address) else "a value"
        refuse(self.place(node), f"this is {what}, nothing that can be assigned")

    def operand(self, node: Any) -> Value | Place | Address:
        """What an expression is: a place if it is an lvalue, an address if it is a pointer."""
        match node:
            case c_ast.ID() if node.name.startswith("__tilewright_"):
                return self.value(node)  # I of complex.h, INFINITY
            case c_ast.ID():
                return self._named_operand(node)
            case c_ast.ArrayRef():
                base, index = self.operand(node.name), self.operand(node.subscript)
                if self._is_pointer(index):  # i[A] is A[i]
                    base, index = index, base
                if isinstance(index, Place):
                    index = self.load(index, self.place(node.subscript))
                if not isinstance(index, Value) or not is_integer(index.type):
                    refuse(self.place(node.subscript), "a subscript is an integer")
                return self._element(self._address(base, node), index, node)
            case c_ast.StructRef():
                base = self.operand(node.name)
                if node.type == "->":
                    base = self._element(self._address(base, node), integer(0), node)
                return self._field(base, node)
            case c_ast.UnaryOp() if node.op == "*":
                return self._element(self._address(self.operand(node.expr), node), integer(0), node)
            case c_ast.UnaryOp() if node.op == "&":
                return self._address_of(node)
            case c_ast.UnaryOp() if node.op in STEPS:
                pointer = self.moving(node.expr)
                return self.value(node) if pointer is None else self.stepped_pointer(pointer, node)
            case c_ast.BinaryOp() if node.op in "+-":
                return self._moved(node)
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.FuncCall():
                return self.call(node)
            case c_ast.CompoundLiteral():
                return self.compound_literal(node)
        return self.value(node)

    def call(self, node: Any) -> Value | Place | Address:
        """The result of a call."""
        name = node.name.name if isinstance(node.name, c_ast.ID) else ""
        found = self.call_function(name, node) if name in self.file.functions else self.value(node)
        if found is None:
            refuse(self.place(node), f"{name} gives no value", "its type is void")
        return found

    def _named_operand(self, node: Any) -> Value | Place | Address:
        entity = self.scope.find(node.name)
        match entity:
            case Known():
                return entity.value
            case Storage():
                # The name in the tree is needed only when there is an element to name.
                if isinstance(entity.type, Pointer):
                    refuse(
                        self.place(node),
                        f"{node.name} is a pointer in memory: {_POINTERS}",
                        _INDICES,
                    )
                return Place(self.root_of(entity), (), (), entity.type, entity.constant)
            case PointerVariable():
                return self.pointed(entity, node)
            case FunctionName():
                refuse(self.place(node), f"{node.name} is a function, not a value", "call it")
            case TypeName():
                refuse(self.place(node), f"{node.name} is a type, not a value")
        refuse(self.place(node), f"{node.name} is not declared", "declare it before it is used")

    def _address(self, base: Value | Place | Address, node: Any) -> Address:
        """A pointer, or the array that becomes one."""
        if isinstance(base, Address):
            return base
        if isinstance(base, Place) and isinstance(base.type, ArrayOf):
            return Address(base, base.type.element, integer(0))
        refuse(self.place(node), "this is neither an array nor a pointer", "it has no elements")

    def _element(self, address: Address, index: Value, node: Any) -> Place:
        place = address.place
        if address.offset is None:
            if extended(index.tree) != 0:
                refuse(
                    self.place(node),
                    f"this pointer is the address of {place.name} alone, and has only the element 0",
                    "declare an array",
                )
            return replace(place, type=address.target)
        here = self.place(node)
        offset = address.offset
        if extended(offset.tree) == 0:
            subscript = index
        elif extended(index.tree) == 0:
            subscript = offset
        else:
            of = self.index_type(offset, index)
            subscript = arithmetic("+", offset, index, of, here)
        # Where it wraps it lies outside of every array.
        at = unwrapped(subscript.tree) or plain(subscript.tree)
        return replace(place, subscripts=(*place.subscripts, at), type=address.target)

    @staticmethod
    def index_type(a: Value, b: Value) -> Number:
        """The type in which subscripts are added: signed, as wide as the wider one."""
        wider = max(a.type, b.type, key=lambda each: each.dtype.itemsize)
        return promoted(wider)

    def _field(self, base: Value | Place | Address, node: Any) -> Place:
        name = node.field.name
        if not isinstance(base, Place) or not isinstance(base.type, Structure):
            refuse(self.place(node), f"this is no structure: it has no field {name}")
        of = base.type.field(name)
        if of is None:
            fields = ", ".join(each for each, _ in base.type.fields) or "none"
            refuse(self.place(node), f"{base.type} has no field {name}", f"its fields are {fields}")
        return replace(base, path=(*base.path, name), type=of)

    def _address_of(self, node: Any) -> Address:
        match node.expr:
            case c_ast.ArrayRef():
                base = self._address(self.operand(node.expr.name), node.expr)
                index = self.value(node.expr.subscript)
                return self._shifted(base, "+", index, node)
            case c_ast.UnaryOp() if node.expr.op == "*":
                return self._address(self.operand(node.expr.expr), node.expr)
        place = self.operand(node.expr)
        if not isinstance(place, Place):
            refuse(self.place(node), "only variables and elements have an address")
        if isinstance(place.type, ArrayOf):
            return Address(place, place.type, None)
        return Address(place, place.type, None)

    def _moved(self, node: Any) -> Value | Address:
        """`p + i`, `i + p`, `p - i`; of numbers, their sum or difference."""
        left, right = self.operand(node.left), self.operand(node.right)
        pointers = [self._is_pointer(left), self._is_pointer(right)]
        if not any(pointers):
            return self.binary(node, left, right)
        if all(pointers):
            if node.op == "+":
                refuse(self.place(node), "two pointers are added", _INDICES)
            return self.binary(node, left, right)
        if pointers[1]:
            if node.op == "-":
                refuse(self.place(node), "a pointer is subtracted from a number", _INDICES)
            left, right = right, left
        index = self.load(right, self.place(node)) if isinstance(right, Place) else right
        if not isinstance(index, Value) or not is_integer(index.type):
            refuse(self.place(node), "a pointer is moved by an integer")
        return self._shifted(self._address(left, node), node.op, index, node)

    @staticmethod
    def _is_pointer(operand: Value | Place | Address) -> bool:
        return isinstance(operand, Address) or (
            isinstance(operand, Place) and isinstance(operand.type, ArrayOf)
        )

    def _shifted(self, base: Address, sign: str, by: Value, node: Any) -> Address:
        if base.offset is None:
            if extended(by.tree) == 0:
                return base
            refuse(
                self.place(node),
                f"this pointer is the address of {base.place.name} alone",
                "declare an array",
            )
        if extended(by.tree) == 0:
            return base
        of = self.index_type(base.offset, by)
        return replace(base, offset=arithmetic(sign, base.offset, by, of, self.place(node)))

    def _cast(self, node: Any) -> Value | Address:
        to = self.type_of(node.to_type)
        if not isinstance(to, Pointer):
            return self.value(node)
        inner = self.operand(node.expr)
        if not self._is_pointer(inner):
            refuse(self.place(node), f"a number becomes a pointer: {_POINTERS}", _INDICES)
        address = self._address(inner, node)
        if not same_type(address.target, to.target):
            refuse(
                self.place(node),
                f"elements of type {address.target} are read as {to.target}",
                "declare the array with the type that it is used with",
            )
        return address

    @abstractmethod
    def compound_literal(self, node: Any) -> Value | Place | Address:
        """`(struct P){ 1, 2 }`: what a variable without a name is."""

    @abstractmethod
    def binary(
        self, node: Any, left: Value | Place | Address, right: Value | Place | Address
    ) -> Value:
        """An arithmetic operation on operands that are translated already."""


def same_type(a: Any, b: Any) -> bool:
    """Whether two types are laid out alike; extents are compared apart."""
    if isinstance(a, ArrayOf) and isinstance(b, ArrayOf):
        return same_type(a.element, b.element)
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return same_type(a.target, b.target)
    return bool(a == b)
