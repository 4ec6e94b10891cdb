"""What people give to this library, checked with one wording for each kind of value.

Each function returns the value in the one form that the library goes on with, or raises: for a value
of another type the `of_type` of `errors`, which is a TypeError, for a value that makes no sense its
`of_value`, which is a ValueError. `what` names the argument, as the subject of "... must be a string".
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .errors import (
    ArgumentError,
    ArgumentTypeError,
    DeclarationError,
    DeclarationTypeError,
    ScheduleError,
    ScheduleTypeError,
    SetError,
    SetTypeError,
    TilewrightError,
)

__all__ = [
    "ARGUMENT",
    "DECLARATION",
    "SCHEDULE",
    "SET",
    "Errors",
    "a_boolean",
    "a_callable",
    "a_list",
    "a_mapping",
    "a_number",
    "a_path",
    "a_string",
    "an_integer",
    "an_isl_text",
    "described",
    "is_encodable",
    "made_by",
    "numpy_dtype",
]


class Errors(NamedTuple):
    """The classes of errors for one kind of argument."""

    of_type: type[TilewrightError]
    of_value: type[TilewrightError]


DECLARATION = Errors(DeclarationTypeError, DeclarationError)
SCHEDULE = Errors(ScheduleTypeError, ScheduleError)
ARGUMENT = Errors(ArgumentTypeError, ArgumentError)
SET = Errors(SetTypeError, SetError)

_LONGEST = 120


def described(value: object) -> str:
    """The value as an error shows what was given: on one line, cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def a_string(value: object, what: str, errors: Errors = ARGUMENT) -> str:
    """A text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise errors.of_type(f"{what} must be a string, got {described(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise errors.of_value(
            f"{what} must be text that can be written as UTF-8, got {described(value)}"
        ) from None
    return value


def an_isl_text(value: object, what: str, errors: Errors = ARGUMENT) -> str:
    """A set or map in isl's notation, which has no letters outside ASCII."""
    text = a_string(value, what, errors)
    if not text.isascii():
        column, letter = next((n, c) for n, c in enumerate(text, 1) if not c.isascii())
        raise errors.of_value(
            f"{what} has {letter!r} in column {column}, which is no letter of isl's notation"
        )
    return text


def an_integer(
    value: object,
    what: str,
    errors: Errors = ARGUMENT,
    minimum: int | None = None,
    bits: int | None = None,
) -> int:
    """Anything that Python takes for an index, but neither a bool nor an array with axes.

    Args:
        minimum: the least value that makes sense.
        bits: how many a two's complement integer may take.
    """
    number = None
    if not isinstance(value, bool | np.bool_ | type):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None:
        raise errors.of_type(f"{what} must be an integer, got {described(value)}")
    if bits is not None and not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise errors.of_value(f"{what} must be an integer of {bits} bits, got {number}")
    if minimum is not None and number < minimum:
        raise errors.of_value(f"{what} must be at least {minimum}, got {number}")
    return number


def a_number(value: object, what: str, errors: Errors = ARGUMENT) -> float:
    """A real number; infinity is one, not-a-number is none."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not is_number:
        raise errors.of_type(f"{what} must be a number, got {described(value)}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")  # type: ignore[operator]
    if number != number:
        raise errors.of_value(f"{what} must be a number, got nan")
    return number


def a_boolean(value: object, what: str, errors: Errors = ARGUMENT) -> bool:
    """True or False, Python's or NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise errors.of_type(f"{what} must be True or False, got {described(value)}")
    return bool(value)


def a_list(value: object, what: str, errors: Errors = ARGUMENT, of: str = "values") -> list[Any]:
    """The entries of anything that can be gone through, except a text.

    Args:
        of: what the entries are.
    """
    entries = None
    if not isinstance(value, str | bytes | type) and isinstance(value, Iterable):
        try:
            entries = iter(value)
        except TypeError:
            entries = None  # NumPy's array without axes
    if entries is None:
        raise errors.of_type(f"{what} must be a list of {of}, got {described(value)}")
    return list(entries)


def a_mapping(
    value: object, what: str, errors: Errors = ARGUMENT, example: str = '{"name": value}'
) -> Mapping[Any, Any]:
    """A dictionary or what is like one."""
    if not isinstance(value, Mapping):
        raise errors.of_type(
            f"{what} must be a dictionary such as {example}, got {described(value)}"
        )
    return value


def a_path(value: object, what: str, errors: Errors = ARGUMENT) -> str:
    """The name of a file or directory, as text."""
    try:
        path = os.fsdecode(os.fspath(value))  # type: ignore[call-overload]
    except TypeError:
        raise errors.of_type(
            f"{what} must be a path, a string or a pathlib.Path, got {described(value)}"
        ) from None
    if "\0" in path or not path or not is_encodable(path):
        raise errors.of_value(f"{what} must be a path, got {described(value)}")
    return str(path)


def is_encodable(path: str | os.PathLike[str]) -> bool:
    """Whether the file system can have a file of this name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def a_callable(value: object, what: str, errors: Errors = ARGUMENT) -> Callable[..., Any]:
    """A function, or anything else that can be called."""
    if not callable(value):
        raise errors.of_type(f"{what} must be a function, got {described(value)}")
    return value


def numpy_dtype(value: Any) -> np.dtype[Any] | None:
    """NumPy's type for a value, or None where NumPy has none."""
    try:
        found: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError, SyntaxError, OverflowError, RecursionError):
        return None
    return found


def made_by(maker: str, value: object, kind: Any, what: str, errors: Errors = DECLARATION) -> None:
    """For classes whose objects `maker` gives: refuses what their constructor is called with by others.

    Args:
        maker: the public function, "tw.input".
        value: what the constructor was given.
        kind: of which class it is when `maker` gave it.
        what: the class, "tw.Input".
    """
    if not isinstance(value, kind):
        raise errors.of_type(f"{what} is made by {maker}, not from {described(value)}")
