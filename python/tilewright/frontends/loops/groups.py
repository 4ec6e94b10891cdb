"""Values of several parts: tuples, lists, named tuples, dataclasses and dictionaries.

Each part of such an argument is an argument of the program with a name of its own (`p_x` for `p.x`). While
translating, the parts are known one by one, by their positions, fields or keys; which there are is part
of the signature.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Group", "flattened", "group_of"]

MOST_PARTS = 64
"""An argument of more parts is no record, and would be that many arrays."""


@dataclass(frozen=True)
class Group:
    """What makes such a value of its parts: its type, and the position, field or key of each part."""

    made_of: Any
    keys: tuple[Any, ...]

    @property
    def is_tuple(self) -> bool:
        """Whether the parts stand in an order, as those of tuples and lists do."""
        return issubclass(self.made_of, tuple | list)

    @property
    def has_fields(self) -> bool:
        """Whether parts are attributes."""
        return self.made_of is not dict and any(isinstance(key, str) for key in self.keys)

    def make(self, parts: Sequence[Any]) -> Any:
        """Such a value."""
        if self.made_of is dict:
            return dict(zip(self.keys, parts, strict=True))
        if self.is_tuple and not self.has_fields:
            return self.made_of(parts)
        return self.made_of(**dict(zip(self.keys, parts, strict=True)))


def fields_of(made_of: Any) -> tuple[str, ...] | None:
    """The fields of a class of named tuples, or of a dataclass that is made of them alone."""
    if not isinstance(made_of, type):
        return None
    if issubclass(made_of, tuple) and isinstance(getattr(made_of, "_fields", None), tuple):
        return tuple(made_of._fields)  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(made_of):
        return tuple(field.name for field in dataclasses.fields(made_of))
    return None


def group_of(value: Any) -> tuple[Group, tuple[Any, ...]] | None:
    """How a value is made, and its parts; None for one that has none."""
    made_of = type(value)
    fields = fields_of(made_of)
    if isinstance(value, tuple) or made_of is list:
        return Group(made_of, fields or tuple(range(len(value)))), tuple(value)
    if made_of is dict:
        if all(isinstance(key, str | int) for key in value):
            return Group(dict, tuple(value)), tuple(value.values())
        return None
    if fields is not None:
        return Group(made_of, fields), tuple(getattr(value, field) for field in fields)
    return None


def flattened(
    argument: str, name: str, value: Any, fresh: Callable[[str], str]
) -> Iterator[tuple[str, str, Any]]:
    """The parts of an argument that have no parts: how errors show each, its name, and itself."""
    found = group_of(value)
    if found is None or len(found[1]) > MOST_PARTS:
        yield argument, name, value
        return
    group, parts = found
    for key, part in zip(group.keys, parts, strict=True):
        shown = f"{argument}.{key}" if group.has_fields else f"{argument}[{key!r}]"
        plain = "".join(each if each.isalnum() and each.isascii() else "_" for each in str(key))
        yield from flattened(shown, fresh(f"{name}_{plain}"), part, fresh)
