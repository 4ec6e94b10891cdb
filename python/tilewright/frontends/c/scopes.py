"""What names mean in a C program: scopes, and what is declared in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..tree import Location
from .c_types import CType, Pointer
from .values import Address, Value

__all__ = ["Entity", "FunctionName", "Known", "PointerVariable", "Scope", "Storage", "TypeName"]


@dataclass
class Storage:
    """A variable in memory. Its array gets a name in the tree when it is first used.

    Attributes:
        root: the name in the tree, "" until it has one.
        local: it lives in the program only.
        values: of a table (`tables`), the array that the file says.
        shared: other names lead to it (a global, or one whose address is taken), so that its value
            is not followed from statement to statement.
    """

    name: str
    type: CType
    location: Location
    root: str = ""
    local: bool = True
    shared: bool = False
    constant: bool = False
    may_alias: bool = False
    values: np.ndarray | None = None


@dataclass(frozen=True)
class Known:
    """A name for a value that does not change while it is in scope: an iterator, a parameter, an
    enumerator, an argument that is never assigned."""

    value: Value


@dataclass
class PointerVariable:
    """A pointer into one array, or to one variable.

    Attributes:
        address: where it points, None until it is known; of one that moves, with the offset 0.
        moves: it may point to other elements later.
        moved: the scalar that holds the offset of one that moves (see `pointers`).
        renamed: it may point into other arrays later (see `renaming`).
    """

    name: str
    type: Pointer
    location: Location
    address: Address | None = None
    moves: bool = False
    moved: Storage | None = None
    renamed: bool = False


@dataclass(frozen=True)
class FunctionName:
    """A function that is declared or defined in the file; `declaration` is the prototype of one that is
    declared only."""

    name: str
    declaration: Any = None


@dataclass(frozen=True)
class TypeName:
    """What `typedef` names."""

    type: CType


Entity = Storage | Known | PointerVariable | FunctionName | TypeName


@dataclass
class Scope:
    """Names and tags of a block; `outer` is the block around it."""

    outer: Scope | None = None
    names: dict[str, Entity] = field(default_factory=dict)
    tags: dict[str, CType] = field(default_factory=dict)

    def find(self, name: str) -> Entity | None:
        """What a name means here."""
        scope = self.where(name)
        return None if scope is None else scope.names[name]

    def where(self, name: str) -> Scope | None:
        """The block whose declaration of a name counts here."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def find_tag(self, tag: str) -> CType | None:
        """The structure or enumeration of that tag."""
        scope: Scope | None = self
        while scope is not None:
            if tag in scope.tags:
                return scope.tags[tag]
            scope = scope.outer
        return None
