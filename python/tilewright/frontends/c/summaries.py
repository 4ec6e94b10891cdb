"""Summary functions: what describes the accesses of another function (PENCIL report, section 3.7).

Only accesses count in them. `__pencil_use(x)` reads, `__pencil_def(x)` writes, `__pencil_may_def(x)` may
write; of an array or a structure that is named as a whole, each element. `__pencil_maybe()` and functions
without a body have some value.
"""

from __future__ import annotations

from typing import Any

from ..tree import If, Location
from .c_types import INT, ArrayOf, Number
from .refusals import refuse
from .state import fields_of
from .statements import Statements
from .values import Address, Place, Value, truth

__all__ = ["Summaries"]


class Summaries(Statements):
    """Translates what summary functions alone have."""

    def summarise_call(self, name: str, node: Any) -> None:
        """A call as a statement of a summary function."""
        arguments = node.args.exprs if node.args is not None else []
        if name not in ("__pencil_use", "__pencil_def", "__pencil_may_def"):
            self.unknown_value(name, node)
            return
        for each in arguments:
            here = self.place(each)
            found = self.operand(each)
            if isinstance(found, Address):
                found = found.place
            if name == "__pencil_use":
                self._use(found, here)
                continue
            if not isinstance(found, Place):
                refuse(here, f"{name} takes a variable, an element or an array")
            with self.block() as written:
                self._define(found, here)
            if name == "__pencil_def":
                for statement in written:
                    self.emit(statement)
            else:
                condition = truth(self._anything(INT, here), here)
                self.emit(If(condition, tuple(written), (), here))

    def unknown_value(self, name: str, node: Any) -> Value:
        """Reads the arguments; the value is anything."""
        here = self.place(node)
        for each in node.args.exprs if node.args is not None else []:
            found = self.operand(each)
            if isinstance(found, Address) or (
                isinstance(found, Place) and not isinstance(found.type, Number)
            ):
                refuse(
                    self.place(each),
                    f"what {name} does to this array is not known",
                    "say it by __pencil_use and __pencil_def",
                )
            self._use(found, here)
        return self._anything(INT, here)

    def _anything(self, of: Number, here: Location) -> Value:
        place = self.temporary("anything", of, here)
        return self.load(place, here)

    def _use(self, found: Value | Place, here: Location) -> None:
        if isinstance(found, Value):
            self.store(self.temporary("used", found.type, here), found, here)
            return
        for path, leaf in fields_of(found.type):
            whole = Place(found.root, (*found.path, *path), found.subscripts, leaf)
            self._for_elements(whole, here, self._reading(whole, leaf, here))

    def _reading(self, whole: Place, leaf: Any, here: Location) -> Any:
        of = _element(leaf)

        def read(subscripts: Any) -> None:
            place = Place(whole.root, whole.path, (*whole.subscripts, *subscripts), of)
            self.store(self.temporary("used", of, here), self.load(place, here), here)

        return read

    def _define(self, found: Place, here: Location) -> None:
        for path, leaf in fields_of(found.type):
            whole = Place(found.root, (*found.path, *path), found.subscripts, leaf)
            of = _element(leaf)

            def write(subscripts: Any, whole: Place = whole, of: Number = of) -> None:
                place = Place(whole.root, whole.path, (*whole.subscripts, *subscripts), of)
                self.store(place, self._anything(of, here), here)

            self._for_elements(whole, here, write)


def _element(of: Any) -> Number:
    while isinstance(of, ArrayOf):
        of = of.element
    assert isinstance(of, Number)
    return of
