"""The values of parameters, as operations on sets take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.checks import SET, a_mapping, a_string, an_integer
from ..base.errors import SetError

__all__ = ["parameter_values", "require_values"]


def parameter_values(
    values: Mapping[Any, int] | None, more: Mapping[str, int], what: str
) -> dict[str, int]:
    """A value for each parameter that is given one, by name or by `Parameter`, or as a keyword."""
    given: dict[str, int] = {}
    asked = {} if values is None else a_mapping(values, f"the values of {what}", SET, '{"N": 4}')
    for key, value in [*asked.items(), *more.items()]:
        name = a_string(getattr(key, "name", key), f"a parameter of {what}", SET)
        if name in given:
            raise SetError(f"{what} is given two values for {name}")
        given[name] = an_integer(value, f"the value of {name}", SET, bits=64)
    return given


def require_values(given: Mapping[str, int], known: Sequence[str], what: str) -> None:
    """Refuses values of what is no parameter."""
    unknown = [name for name in given if name not in known]
    if unknown:
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise SetError(f"{what}: {', '.join(unknown)} is no parameter; {there}")
