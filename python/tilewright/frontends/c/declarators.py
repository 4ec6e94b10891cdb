"""From C declarations to types: specifiers, pointers, arrays, structures, enumerations, `typedef`.

Extents of arrays are expressions of the parameters (C99 6.7.5.2: VLAs), evaluated where the
declaration stands.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from pycparser import c_ast

from ..tree import Call, Expression, Read
from .c_types import (
    SIZE,
    ArrayOf,
    CType,
    Number,
    Pointer,
    Structure,
    Void,
    is_integer,
    number_named,
    size_of,
)
from .parsing import nodes
from .refusals import refuse
from .scopes import Known, TypeName
from .state import State, parts
from .values import Value, arithmetic, converted, extended, integer

__all__ = ["Declarators"]

_identities = itertools.count()


class Declarators(State):
    """Reads types."""

    def type_of(self, node: Any) -> CType:
        """The type that a declarator or type name says."""
        match node:
            case c_ast.Decl() | c_ast.Typename() | c_ast.TypeDecl() | c_ast.Typedef():
                return self.type_of(node.type)
            case c_ast.PtrDecl():
                if isinstance(node.type, c_ast.FuncDecl):
                    refuse(
                        self.place(node),
                        "pointers to functions have no translation",
                        "call the function by its name",
                    )
                return Pointer(self.type_of(node.type), "restrict" in (node.quals or []))
            case c_ast.ArrayDecl():
                element = self.type_of(node.type)
                if isinstance(element, Void):
                    refuse(self.place(node), "there are no arrays of void")
                restrict = "restrict" in (node.dim_quals or [])
                return ArrayOf(element, self._extent(node), restrict)
            case c_ast.IdentifierType():
                return self._named(node)
            case c_ast.Struct():
                return self._structure(node)
            case c_ast.Enum():
                return self._enumeration(node)
            case c_ast.Union():
                refuse(
                    self.place(node),
                    "unions have no translation: their fields share memory",
                    "use a structure",
                )
        if isinstance(node, c_ast.ID):
            refuse(
                self.place(node), f"{node.name} has no type here", "write f(int n), not f(n) int n;"
            )
        refuse(self.place(node), f"this type ({type(node).__name__}) has no translation")

    def _extent(self, node: Any) -> Expression | None:
        if node.dim is None:
            return None
        if isinstance(node.dim, c_ast.ID) and node.dim.name == "*":
            refuse(self.place(node.dim), "the size of this array is not said", "write the size")
        if isinstance(node.dim, c_ast.UnaryOp) and node.dim.op == "*" and node.dim.expr is None:
            refuse(self.place(node), "the size of this array is not said", "write the size")
        size = self.value(node.dim)
        if not is_integer(size.type):
            refuse(self.place(node.dim), f"the size of an array is an integer, not {size.type}")
        known = extended(size.tree)
        if known is not None and known < 0:
            refuse(self.place(node.dim), f"the size of an array is not negative, as {known} is")
        if any(isinstance(each, Read | Call) for each in parts(size.tree)):
            refuse(
                self.place(node.dim),
                "the size of an array depends on what is in memory",
                "use constants and integer arguments that the function does not change",
            )
        return size.tree

    def _named(self, node: Any) -> CType:
        names = list(node.names)
        if names == ["void"]:
            return Void()
        if len(names) == 1:
            entity = self.scope.find(names[0])
            if isinstance(entity, TypeName):
                return entity.type
        if "long" in names and "double" in names:
            refuse(self.place(node), "long double has no translation", "use double")
        if (number := number_named(names)) is None:
            refuse(self.place(node), f"there is no type {' '.join(names)}")
        return number

    def _structure(self, node: Any) -> CType:
        tag = node.name or ""
        if node.decls is None:
            found = self.scope.find_tag(tag)
            if found is None:
                return Structure(
                    tag, (), -1
                )  # declared only: nothing can be done with it but point
            if not isinstance(found, Structure):
                refuse(self.place(node), f"{tag} is no structure")
            return found
        fields: list[tuple[str, CType]] = []
        for each in node.decls:
            if isinstance(each, c_ast.Pragma):
                continue
            if not isinstance(each, c_ast.Decl) or getattr(each, "bitsize", None) is not None:
                refuse(self.place(each), "bit-fields have no translation", "use whole integers")
            if each.name is None:
                refuse(self.place(each), "fields without names have no translation", "name it")
            if each.name in dict(fields):
                refuse(self.place(each), f"the field {each.name} is declared twice")
            of = self.type_of(each.type)
            if isinstance(of, Void) or (isinstance(of, ArrayOf) and of.extent is None):
                refuse(self.place(each), f"the field {each.name} has no size")
            fields.append((each.name, of))
        result = Structure(
            tag or f"at line {self.place(node).line}", tuple(fields), next(_identities)
        )
        if tag:
            self.scope.tags[tag] = result
        return result

    def _enumeration(self, node: Any) -> CType:
        tag = node.name or ""
        if node.values is None:
            found = self.scope.find_tag(tag)
            if not isinstance(found, Number):
                refuse(self.place(node), f"there is no enumeration {tag}")
            return found
        following = 0
        least = 0
        for each in node.values.enumerators:
            if each.value is not None:
                following = self.constant(each.value)
            if not -(1 << 31) <= following < 1 << 31:
                refuse(self.place(each), f"{each.name} = {following} does not fit an int")
            self.scope.names[each.name] = Known(integer(following))
            least = min(least, following)
            following += 1
        # gcc's choice (C99 6.7.2.2 leaves it open): unsigned unless a value is negative.
        result = Number(np.dtype("int32" if least < 0 else "uint32"))
        if tag:
            self.scope.tags[tag] = result
        return result

    def constant(self, node: Any) -> int:
        """The integer that a constant expression is."""
        found = self.value(node)
        known = extended(found.tree)
        if known is None:
            refuse(self.place(node), "an integer constant is wanted", "write a number or a macro")
        return known

    def declare_type(self, node: Any) -> None:
        """A `typedef`, or a declaration of a tag."""
        if isinstance(node, c_ast.Typedef):
            if _is_function(node.type):
                return
            self.scope.names[node.name] = TypeName(self.type_of(node.type))
        else:
            self.type_of(node.type if isinstance(node, c_ast.Decl) else node)

    def size(self, type_: CType, node: Any) -> Value:
        """The value of `sizeof`; of an array of variable size, an expression."""
        known = size_of(type_)
        if known is not None:
            return integer(known, SIZE)
        if isinstance(type_, ArrayOf) and type_.extent is not None:
            inner = self.size(type_.element, node)
            extent = Value(Number(type_.extent.dtype), type_.extent)
            extent = converted(extent, SIZE, self.place(node))
            return arithmetic("*", extent, inner, SIZE, self.place(node))
        refuse(self.place(node), f"the size of {type_} is not known")


def _is_function(node: Any) -> bool:
    return any(isinstance(each, c_ast.FuncDecl) for each in nodes(node))
