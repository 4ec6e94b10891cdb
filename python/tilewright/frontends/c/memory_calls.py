"""`memset`, `memcpy` and `memmove` as the assignments that they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...base.plurals import counted
from ..tree import Expression, For, Literal, Location, Variable, plain
from .c_types import LONG, ArrayOf, Number, Structure, Void, is_integer
from .declarations import Declarations
from .places import same_type
from .refusals import refuse
from .values import Address, Place, arithmetic, as_index, extended, integer

__all__ = ["MemoryCalls"]

_ARGUMENTS = {"memset": 3, "memcpy": 3, "memmove": 3}


class MemoryCalls(Declarations):
    """Translates calls that fill and copy memory."""

    def memory_call(self, name: str, node: Any) -> None:
        """A call of one of them as a statement: loops over the elements of which the bytes are."""
        here = self.place(node)
        given = node.args.exprs if node.args is not None else []
        if len(given) != _ARGUMENTS[name]:
            refuse(here, f"{name} has {counted(_ARGUMENTS[name], 'argument')}, not {len(given)}")
        if name == "memset":
            self._fill(node, given, here)
        else:
            self._copied(name, node, given, here)

    def _fill(self, node: Any, given: list[Any], here: Location) -> None:
        value = self.value(given[1])
        byte = extended(value.tree)

        def write(place: Place) -> None:
            of = place.type
            if byte == 0:
                self.clear(place, here)
            elif isinstance(of, Number) and is_integer(of) and of.dtype.itemsize == 1:
                self.store(place, value, here)
            elif (
                isinstance(of, Number) and is_integer(of) and byte is not None and byte & 255 == 255
            ):
                self.store(place, integer(-1), here)
            else:
                refuse(
                    here,
                    f"memset fills bytes, and the elements of {place.name} are of type {of}",
                    "write a loop that assigns them",
                )

        target = self._block(given[0], node)
        self._each(target, self._elements(target, given[2], node), node, write)

    def _copied(self, name: str, node: Any, given: list[Any], here: Location) -> None:
        to, of = self._block(given[0], node), self._block(given[1], node)
        if not same_type(to.target, of.target):
            refuse(
                here,
                f"{name} copies elements of type {of.target} to elements of type {to.target}",
                "declare both with the same type",
            )
        if name == "memmove" and to.place.root == of.place.root:
            refuse(
                here,
                f"memmove copies within {to.place.name}, in an order that depends on the addresses",
                "write the loop, in the order in which no element is overwritten before it is read",
            )
        count = self._elements(to, given[2], node)

        def write(place: Place, source: Place) -> None:
            if isinstance(place.type, Structure):
                self.copy(place, source, node)
            else:
                self.store(place, self.load(source, here), here)

        self._each(to, count, node, write, of)

    def _block(self, node: Any, call: Any) -> Address:
        """Where an argument points: to elements that are numbers or structures, in rows or not."""
        operand = self.operand(node)
        if not self._is_pointer(operand) and not isinstance(operand, Address):
            refuse(self.place(node), "an array or a pointer is wanted here")
        address = self._address(operand, call)
        if isinstance(address.target, Void):
            refuse(self.place(node), "it is not known of which type these elements are")
        return address

    def _elements(self, address: Address, size: Any, call: Any) -> Expression:
        """How many elements of the outermost dimension the bytes are."""
        found = self.quotient(self.value(size), self.size(address.target, call), self.place(size))
        if found is None:
            refuse(
                self.place(size),
                f"it is not seen how many elements of type {address.target} these bytes are",
                f"write n * sizeof(*{address.place.name}), with the size of what it points to",
            )
        return found

    def _each(
        self,
        to: Address,
        count: Expression,
        node: Any,
        write: Callable[..., None],
        of: Address | None = None,
    ) -> None:
        """Calls `write` with each element, in a loop over the outermost dimension."""
        here = self.place(node)
        if to.offset is None:
            write(to.place, *([] if of is None else [of.place]))
            return
        name = self._free_iterator("element")
        iterator = Variable(name, LONG.dtype)
        self.iterators.append(name)
        self.iterator_names.add(name)
        with self.block() as body:
            places = [self._at(each, iterator, node) for each in (to, of) if each is not None]
            self._below(places, here, write)
        self.iterators.pop()
        start = Literal(0, LONG.dtype)
        self.emit(For(iterator, start, as_index(count), 1, tuple(body), name, here))

    def _at(self, address: Address, iterator: Variable, node: Any) -> Place:
        assert address.offset is not None
        here = self.place(node)
        at = arithmetic("+", address.offset, replace(integer(0, LONG), tree=iterator), LONG, here)
        if extended(address.offset.tree) == 0:
            at = replace(at, tree=iterator)
        subscripts = (*address.place.subscripts, plain(at.tree))
        return replace(address.place, subscripts=subscripts, type=address.target)

    def _below(self, places: list[Place], here: Location, write: Callable[..., None]) -> None:
        """Loops over the rest of the dimensions."""
        if not isinstance(places[0].type, ArrayOf):
            write(*places)
            return
        self._for_elements(
            places[0],
            here,
            lambda subscripts: write(
                *(
                    replace(
                        each, subscripts=(*each.subscripts, *subscripts), type=_innermost(each.type)
                    )
                    for each in places
                )
            ),
        )


def _innermost(of: Any) -> Any:
    while isinstance(of, ArrayOf):
        of = of.element
    return of
