"""The arguments of exported functions: which C arguments the arrays, numbers, structures and
parameters of a function become, in the order of the C function (see `exporting`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..base.errors import ExportError
from ..language.records import record_dtype
from ..schedule.scheduled_functions import ScheduledFunction

__all__ = ["C_TYPES", "TYPE_NOTES", "Argument", "Field", "Interface", "c_name", "is_reserved"]

# name -> (C type, its bytes)
C_TYPES = {
    "bool": ("bool", 1),
    "int8": ("int8_t", 1),
    "int16": ("int16_t", 2),
    "int32": ("int32_t", 4),
    "int64": ("int64_t", 8),
    "uint8": ("uint8_t", 1),
    "uint16": ("uint16_t", 2),
    "uint32": ("uint32_t", 4),
    "uint64": ("uint64_t", 8),
    "float16": ("uint16_t", 2),
    "bfloat16": ("uint16_t", 2),
    "float32": ("float", 4),
    "float64": ("double", 8),
    "complex64": ("float", 8),
    "complex128": ("double", 16),
}

TYPE_NOTES = {
    "float16": "the bits of a float16 each",
    "bfloat16": "the bits of a bfloat16 each",
    "complex64": "real and imaginary part of a complex64 each, as float _Complex",
    "complex128": "real and imaginary part of a complex128 each, as double _Complex",
}

# Of C and C++, and what the header includes.
KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
    complex concept const const_cast constexpr continue co_await co_return co_yield decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if
    inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq typeof unix linux i386
    NULL EOF I status new_array""".split()
)
# What the compiler and the headers take for themselves: _Bool, __LINE__; types; INT64_MAX, INT8_C.
_RESERVED = re.compile(
    r"_[A-Z_]\w*|\w+_t|(U?INT|SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)\w*_(MAX|MIN|WIDTH|C)"
    r"|(BUFSIZ|FILENAME_MAX|FOPEN_MAX|L_tmpnam|TMP_MAX|SEEK_\w+|RAND_MAX|MB_CUR_MAX|EXIT_\w+)"
    r"|(errno|assert|stdin|stdout|stderr)"
)
# What the example calls its own things, which an array of that name would hide.
_OF_THE_EXAMPLE = frozenset("calloc exit fprintf fputs free k main memory printf sum".split())


@dataclass
class Field:
    name: str
    dtype: str
    offset: int


@dataclass
class Argument:
    """An array, or a number, of the C function."""

    name: str
    dtype: str  # of a plain array
    extents: list[str]
    is_input: bool
    is_written: bool
    parts: list[
        tuple[str, int]
    ]  # the kernel's arguments in it, and how many bytes behind its start
    element_bytes: int
    alignment: int
    fields: list[Field] = field(default_factory=list)  # of a structure
    c_type: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def by_value(self) -> bool:
        return (
            not self.extents
            and not self.fields
            and not self.is_written
            and not self.dtype.startswith("complex")
        )

    def stride_names(self) -> list[str]:
        return [f"{self.name}_stride{d}" for d in range(len(self.extents) - 1)]


def is_reserved(name: str) -> bool:
    """Whether C programs, C++ ones or the headers cannot have such a name."""
    return name in KEYWORDS or _RESERVED.fullmatch(name) is not None


def c_name(name: str) -> str:
    """The name, or one like it where C has that for itself."""
    return f"{name}_" if is_reserved(name) else name


def _structure(dtype: np.dtype[Any]) -> tuple[list[Field], bool]:
    """The fields with their offsets; whether a C compiler lays them out like this by itself."""
    assert dtype.fields is not None
    fields = [
        Field(name, str(dtype.fields[name][0]), dtype.fields[name][1]) for name in dtype.names or ()
    ]
    end = 0
    alignment = 1
    for each in fields:
        own = _alignment(each.dtype)
        alignment = max(alignment, own)
        if each.offset != -(-end // own) * own:
            return fields, False
        end = each.offset + C_TYPES[each.dtype][1]
    return fields, dtype.itemsize == -(-end // alignment) * alignment


def _alignment(dtype: str) -> int:
    bytes_ = C_TYPES[dtype][1]
    return bytes_ // 2 if dtype.startswith("complex") else bytes_


def _record(
    name: str, dtype: np.dtype[Any], members: Mapping[str, str], extents: list[str], is_input: bool
) -> Argument:
    """An array of structures; `members` are the kernel's arguments by field."""
    fields, natural = _structure(dtype)
    offsets = {each.name: each.offset for each in fields}
    argument = Argument(
        name=name,
        dtype="",
        extents=extents,
        is_input=is_input,
        is_written=not is_input,
        parts=[(argument, offsets[member]) for member, argument in members.items()],
        element_bytes=dtype.itemsize,
        alignment=max(_alignment(each.dtype) for each in fields) if natural else 1,
        fields=fields,
    )
    if not natural:
        argument.notes.append("its fields are packed")
    return argument


class Interface:
    """The arguments of the C function, in order."""

    def __init__(self, function: ScheduledFunction, symbol: str, strides: bool) -> None:
        self.symbol = symbol
        self.strides = strides
        self.parameters = [self._argument_name(name) for name in function.parameters]
        self.arguments: list[Argument] = []
        self._facts = {name: (dtype, extents) for name, dtype, extents, _ in function._arguments}
        overwritten = dict(function._overwritten)
        self._stored = {each for all_ in overwritten.values() for each in all_}
        self._gather_inputs(function)
        for argument in self.arguments:
            for name, _ in list(argument.parts):
                stored = overwritten.get(name, ())
                offset = dict(argument.parts)[name]
                argument.is_written |= bool(stored)
                outputs = [each for each in stored if each in function.outputs]
                argument.parts += [(each, offset) for each in outputs]
                if stored:
                    argument.notes.append(f"overwritten by {', '.join(stored)}")
        self._gather_outputs(function)
        for name in _core.partly_written(function):
            for argument in self.arguments:
                if any(part == name for part, _ in argument.parts):
                    argument.notes.append(
                        "not every element is defined: the others keep what they had"
                    )
        for argument in self.arguments:
            if argument.fields:
                argument.c_type = f"struct {symbol}_{argument.name}"
            else:
                argument.c_type = C_TYPES[argument.dtype][0]
                argument.notes += (
                    [TYPE_NOTES[argument.dtype]] if argument.dtype in TYPE_NOTES else []
                )
        names = [*self.parameters, *(argument.name for argument in self.arguments)]
        names += [each for a in self.arguments for each in a.stride_names()] if strides else []
        for name in names:
            if names.count(name) > 1 or name == symbol:
                raise ExportError(
                    f"{function.name}: two things would be called {name} in C; rename one of them"
                )

    def _argument_name(self, name: str) -> str:
        """The C name of an argument, which hides nothing that the header or the example has."""
        declared = (f"{self.symbol}_message", f"{self.symbol}_set_num_threads")
        upper = self.symbol.upper()
        if name in _OF_THE_EXAMPLE or name in declared or name.startswith(f"{upper}_"):
            return f"{name}_"
        return c_name(name)

    def _plain(self, name: str, is_input: bool) -> Argument:
        dtype, extents = self._facts[name]
        return Argument(
            name=self._argument_name(name),
            dtype=dtype,
            extents=extents,
            is_input=is_input,
            is_written=not is_input,
            parts=[(name, 0)],
            element_bytes=C_TYPES[dtype][1],
            alignment=_alignment(dtype),
        )

    def _gather_inputs(self, function: ScheduledFunction) -> None:
        identities = dict(zip(function.inputs, function._input_identities, strict=True))
        records: dict[str, dict[str, str]] = {}
        for name, record, member in function._fields:
            if record:
                records.setdefault(record, {})[member] = name
        for name, record, member in function._fields:
            if not record:
                self.arguments.append(self._plain(name, True))
            elif next(iter(records[record])) == member:
                dtype = record_dtype(identities[name])
                extents = self._facts[name][1]
                self.arguments.append(
                    _record(self._argument_name(record), dtype, records[record], extents, True)
                )

    def _gather_outputs(self, function: ScheduledFunction) -> None:
        slots = function._output_slots
        structured = {name: slot for slot in slots if slot.fields for name in slot.fields.values()}
        done: set[str] = set()
        for name in function.outputs:
            if name not in structured:
                if name not in self._stored:
                    self.arguments.append(self._plain(name, False))
                continue
            slot = structured[name]
            assert slot.fields is not None and slot.dtype is not None
            if self._stored & set(slot.fields.values()):
                raise ExportError(
                    f"{function.name}: a field of {slot.name} is stored in an input; such a "
                    f"structure cannot be exported"
                )
            if slot.name not in done:
                done.add(slot.name)
                self.arguments.append(
                    _record(
                        self._argument_name(slot.name),
                        slot.dtype,
                        slot.fields,
                        self._facts[name][1],
                        False,
                    )
                )

    def declared(self) -> list[tuple[str, str]]:
        """(type, name) of each C argument."""
        declared = []
        for argument in self.arguments:
            if argument.by_value:
                declared.append((argument.c_type, argument.name))
            else:
                const = "" if argument.is_written else "const "
                declared.append((f"{const}{argument.c_type} *", argument.name))
            if self.strides:
                declared += [("int64_t", name) for name in argument.stride_names()]
        return declared + [("int64_t", name) for name in self.parameters]

    def prototype(self) -> str:
        listed = [
            f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"
            for kind, name in self.declared()
        ]
        return f"int32_t {self.symbol}({', '.join(listed) or 'void'})"

    def for_core(self) -> list[tuple[str, list[tuple[str, int]], int, int, bool]]:
        return [(a.name, a.parts, a.element_bytes, a.alignment, a.by_value) for a in self.arguments]
