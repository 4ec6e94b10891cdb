"""The types of C, as x86-64 Linux has them, and the conversions that the standard asks for.

C99 sections 6.2.5 and 6.3.1: char is signed, int has 32 bits, long and long long have 64. A number's
type is its NumPy type; long and long long are one, since no program that is translated can tell them
apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..tree import Expression, Literal

__all__ = [
    "BOOL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "SIZE",
    "ArrayOf",
    "CType",
    "Number",
    "Pointer",
    "Structure",
    "Void",
    "arithmetic_type",
    "is_integer",
    "number_named",
    "promoted",
    "record_dtype",
    "size_of",
]


@dataclass(frozen=True)
class Number:
    """An arithmetic type."""

    dtype: np.dtype

    def __str__(self) -> str:
        return C_NAMES[self.dtype.name]


@dataclass(frozen=True)
class Void:
    """No value."""

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True)
class Pointer:
    """A pointer. `restrict` is the programmer's promise that nothing else points there."""

    target: CType
    restrict: bool = False

    def __str__(self) -> str:
        return f"{self.target} *"


@dataclass(frozen=True)
class ArrayOf:
    """An array; its extent is an expression of parameters, or None where none is written."""

    element: CType
    extent: Expression | None
    restrict: bool = False

    def __str__(self) -> str:
        return f"{self.element} []"


@dataclass(frozen=True)
class Structure:
    """A structure: its fields in order. `identity` tells structures of one name apart."""

    name: str
    fields: tuple[tuple[str, CType], ...]
    identity: int

    def __str__(self) -> str:
        return f"struct {self.name}"

    def field(self, name: str) -> CType | None:
        """The type of a field, or None."""
        return dict(self.fields).get(name)


CType = Number | Void | Pointer | ArrayOf | Structure

C_NAMES = {
    "bool": "_Bool",
    "int8": "char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long",
    "uint64": "unsigned long",
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}

BOOL, INT, LONG = Number(np.dtype("bool")), Number(np.dtype("int32")), Number(np.dtype("int64"))
SIZE, FLOAT, DOUBLE = (Number(np.dtype(name)) for name in ("uint64", "float32", "float64"))

_INTEGERS = {
    "char": "int8",
    "char signed": "int8",
    "char unsigned": "uint8",
    "short": "int16",
    "short unsigned": "uint16",
    "": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "long unsigned": "uint64",
    "long long": "int64",
    "long long unsigned": "uint64",
}


def number_named(words: list[str]) -> Number | None:
    """The type that specifiers name in whatever order, or None: ``long unsigned int`` is uint64."""
    known = set(words)
    if "_Bool" in known:
        return BOOL if words == ["_Bool"] else None
    if known & {"float", "double"}:
        rest = sorted(known - {"float", "double"})
        name = "float" if "float" in known else "double"
        if words.count(name) != 1 or {"float", "double"} <= known or len(words) != len(known):
            return None
        if rest == []:
            return FLOAT if name == "float" else DOUBLE
        if rest == ["_Complex"]:
            return Number(np.dtype("complex64" if name == "float" else "complex128"))
        return None
    if words == ["_Complex"]:
        return Number(np.dtype("complex128"))
    rest_words = list(words)
    if "char" not in known and rest_words.count("int") <= 1 and "int" in known:
        rest_words.remove("int")
    if "char" not in known and rest_words.count("signed") == 1 and "unsigned" not in known:
        rest_words.remove("signed")
    name = _INTEGERS.get(" ".join(sorted(rest_words)), "")
    return Number(np.dtype(name)) if name and words else None


def is_integer(number: Number) -> bool:
    """Whether values are integers; _Bool is one."""
    return number.dtype.kind in "biu"


def promoted(number: Number) -> Number:
    """The integer promotions (C99 6.3.1.1): what is narrower than int becomes int."""
    return INT if is_integer(number) and number.dtype.itemsize < 4 else number


def arithmetic_type(a: Number, b: Number) -> Number:
    """The usual arithmetic conversions (C99 6.3.1.8)."""
    for kind in "cf":
        if kind in (a.dtype.kind, b.dtype.kind):
            single = all(
                each.dtype.name in ("float32", "complex64")
                for each in (a, b)
                if each.dtype.kind in "cf"
            )
            names = ("complex64", "complex128") if kind == "c" else ("float32", "float64")
            return Number(np.dtype(names[0] if single else names[1]))
    a, b = promoted(a), promoted(b)
    if a.dtype.itemsize != b.dtype.itemsize:
        return a if a.dtype.itemsize > b.dtype.itemsize else b
    return a if a.dtype.kind == "u" else b


def size_of(of: CType) -> int | None:
    """The size in bytes, or None where the compiler does not know it; structures as gcc lays them out."""
    return None if (layout := _layout(of)) is None else layout[0]


def _layout(of: CType) -> tuple[int, int] | None:
    """Size and alignment."""
    match of:
        case Number():
            size = of.dtype.itemsize
            return size, size // 2 if of.dtype.kind == "c" else size
        case Pointer():
            return 8, 8
        case ArrayOf():
            inner = _layout(of.element)
            if inner is None or not isinstance(of.extent, Literal):
                return None
            return int(of.extent.value.real) * inner[0], inner[1]
        case Structure():
            at, most = 0, 1
            for _, each in of.fields:
                inner = _layout(each)
                if inner is None:
                    return None
                at += -at % inner[1] + inner[0]
                most = max(most, inner[1])
            return at + -at % most, most
    return None


def record_dtype(of: CType) -> np.dtype:
    """The NumPy type of an element, as gcc lays it out: fields aligned."""
    if isinstance(of, Structure):
        return np.dtype([(name, record_dtype(each)) for name, each in of.fields], align=True)
    if isinstance(of, ArrayOf):
        shape: list[int] = []
        while isinstance(of, ArrayOf):
            assert isinstance(of.extent, Literal)
            shape.append(int(of.extent.value.real))
            of = of.element
        return np.dtype((record_dtype(of), tuple(shape)))
    assert isinstance(of, Number)
    return of.dtype
