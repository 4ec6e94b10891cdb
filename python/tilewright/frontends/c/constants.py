"""Constants of C: integers with the type that their value and suffix ask for, floats, characters
(C99 6.4.4)."""

from __future__ import annotations

import re

import numpy as np

from ..tree import Literal, Location
from .c_types import DOUBLE, FLOAT, INT, LONG, SIZE, Number
from .refusals import refuse
from .values import Value, integer

__all__ = ["character", "floating", "whole"]

_ESCAPES = {
    "n": 10,
    "t": 9,
    "r": 13,
    "0": 0,
    "\\": 92,
    "'": 39,
    '"': 34,
    "a": 7,
    "b": 8,
    "f": 12,
    "v": 11,
}


def whole(text: str, location: Location) -> Value:
    """An integer constant."""
    found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlL]*)", text)
    if found is None or sorted(found[2].lower()) not in (
        [*"u"],
        [*"l"],
        [*"ll"],
        [*"lu"],
        [*"llu"],
        [],
    ):
        refuse(location, f"{text} is no integer constant")
    digits, suffix = found[1], found[2].lower()
    is_decimal = not (len(digits) > 1 and digits[0] == "0")
    if digits[:1] == "0" and len(digits) > 1 and digits[1] not in "xXbB":
        if not set(digits) <= set("01234567"):
            refuse(location, f"{text} is no octal number")
        value = int(digits, 8)
    else:
        value = int(digits, 0 if len(digits) > 1 and digits[0] == "0" else 10)
    candidates: list[Number] = []
    if "l" not in suffix:
        candidates += [] if "u" in suffix else [INT]
        candidates += [Number(np.dtype("uint32"))] if "u" in suffix or not is_decimal else []
    candidates += [] if "u" in suffix else [LONG]
    candidates += [SIZE] if "u" in suffix or not is_decimal else []
    for each in candidates:
        if value <= int(np.iinfo(each.dtype).max):
            return integer(value, each)
    refuse(location, f"{text} does not fit 64 bits")


def floating(text: str, location: Location) -> Value:
    """A floating-point constant."""
    body = text.lower()
    if body.endswith("l") and not body.startswith("0x"):
        refuse(location, f"{text} is a long double", "leave the suffix away for a double")
    is_float = body.endswith("f") and not ("0x" in body and "p" not in body)
    digits = body[:-1] if is_float else body
    try:
        value = float.fromhex(digits) if digits.startswith("0x") else float(digits)
    except (ValueError, OverflowError):
        refuse(location, f"{text} is no floating-point constant")
    if is_float:
        with np.errstate(over="ignore"):
            return Value(FLOAT, Literal(float(_single(digits, value)), FLOAT.dtype))
    return Value(DOUBLE, Literal(value, DOUBLE.dtype))


def _single(digits: str, value: float) -> np.float32:
    """The text rounded once to float32, not by way of double."""
    result: np.float32 = np.float32(value) if digits.startswith("0x") else np.float32(digits)
    return result


def character(text: str, location: Location) -> Value:
    """A character constant, an int."""
    body = text[1:-1]
    if body.startswith("\\"):
        if body[1:] in _ESCAPES:
            return integer(_ESCAPES[body[1:]])
        if re.fullmatch(r"\\x[0-9a-fA-F]{1,2}", body):
            number = int(body[2:], 16)
            return integer(number - 256 if number > 127 else number)
        if re.fullmatch(r"\\[0-7]{1,3}", body) and (number := int(body[1:], 8)) < 256:
            return integer(number - 256 if number > 127 else number)
    if len(body) == 1 and ord(body) < 128:
        return integer(ord(body))
    refuse(location, f"{text} is not a character that is translated", "write its number")
