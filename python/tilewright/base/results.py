"""Classes of what functions of this library find out: data classes whose fields are what they say.

People read them, and may make one by hand for a test; a field of another type is refused then, not
where it is first looked at.
"""

from __future__ import annotations

import functools
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

from .checks import described
from .errors import ArgumentTypeError

__all__ = ["Result"]


class Result:
    """Base of a data class that `made_by` gives; its fields are checked when it is made."""

    __slots__ = ()

    made_by: ClassVar[str]

    def __post_init__(self) -> None:
        kinds = _kinds(type(self).__module__, type(self).__qualname__)
        for field in fields(self):  # type: ignore[arg-type]  # a data class, each of them
            value = getattr(self, field.name)
            if not _is_of(value, kinds[field.name]):
                raise ArgumentTypeError(
                    f"tw.{type(self).__name__} is what {self.made_by} gives; its {field.name} must be "
                    f"of type {field.type}, got {described(value)}"
                )


@functools.cache
def _kinds(module: str, name: str) -> dict[str, Any]:
    """The types of a class's fields."""
    return typing.get_type_hints(getattr(sys.modules[module], name))


def _is_of(value: object, kind: Any) -> bool:
    """Whether a value is of an annotated type; an integer counts as a float, as Python has it."""
    if kind is Any:
        return True
    origin, parameters = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, each) for each in parameters)
    if origin is tuple and isinstance(value, tuple):
        if len(parameters) == 2 and parameters[1] is Ellipsis:
            return all(_is_of(entry, parameters[0]) for entry in value)
        return len(value) == len(parameters) and all(map(_is_of, value, parameters))
    if origin is list and isinstance(value, list):
        return all(_is_of(entry, parameters[0]) for entry in value)
    if origin is dict and isinstance(value, Mapping):
        return all(_is_of(k, parameters[0]) and _is_of(v, parameters[1]) for k, v in value.items())
    if origin is not None:
        return False
    if kind in (int, float, complex) and isinstance(value, bool):
        return False
    wider: dict[type, tuple[type, ...]] = {float: (int, float), complex: (int, float, complex)}
    return isinstance(value, wider.get(kind, kind))
