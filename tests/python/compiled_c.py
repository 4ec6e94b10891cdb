"""Functions as C source, compiled by a C compiler and called on NumPy arrays: for tests that compare
them with what the library compiles itself."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import _core
from tilewright.export.exported_arguments import C_TYPES, Argument
from tilewright.export.source import SourceInterface
from tilewright.language.records import Slot

#: The C compilers of this machine.
COMPILERS = [
    next(filter(shutil.which, names))
    for names in (("gcc", "cc"), ("clang-19", "clang"))
    if any(map(shutil.which, names))
]
FLAGS = ["-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]


class CompiledC:
    """`f.export_source`, compiled: called with the arrays and parameters of `f` by name; of these,
    those that are no extents of arrays.

    Gives the results of the call, in the order of those of `f`, and the status that it returned.
    """

    def __init__(
        self, function: tw.Function, folder: pathlib.Path, compiler: str = "gcc", *flags: str
    ) -> None:
        self.function = function
        self.exported = function.export_source(folder, name=f"c_{function.name}")
        library = folder / f"{compiler}.so"
        wanted = [compiler, *FLAGS, *flags, str(self.exported.source), "-o", str(library), "-lm"]
        if "-fopenmp" not in flags:
            wanted.append("-Wno-unknown-pragmas")
        # Clang makes no vectors of some loops that may be; GCC does not follow conditions far.
        wanted.append("-Wno-pass-failed" if "clang" in compiler else "-Wno-maybe-uninitialized")
        done = subprocess.run(wanted, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{compiler} refuses the source:\n{done.stderr[:4000]}")
        self.call = ctypes.CDLL(str(library.resolve()), os.RTLD_NOW)[self.exported.name]
        self.interface = SourceInterface(function, self.exported.name)

    def __call__(self, **given: Any) -> tuple[tuple[Any, ...], int]:
        function = self.function
        found = {
            extent: length
            for name, _, extents, _ in function._arguments
            for extent, length in zip(extents, np.shape(given.get(name)), strict=False)
        }
        sizes = [int(given[name]) if name in given else found[name] for name in function.parameters]
        extents = _core.extents_at(function, sizes)
        assert extents is not None
        names = [name for name, _, _, _ in function._arguments]
        shapes = dict(zip(names, extents, strict=True))
        inputs = {str(_core.c_identifier(name)): value for name, value in given.items()}
        arguments: list[Any] = [ctypes.c_int64(size) for size in sizes]
        memory: dict[str, np.ndarray] = {}
        for each in self.interface.arguments:
            shape = shapes[each.parts[0][0]]
            if SourceInterface.is_number(each):
                arguments += _number(inputs[each.name], each.dtype)
                continue
            if each.is_input:
                array = np.ascontiguousarray(inputs[each.name])
                assert list(array.shape) == list(shape), (each.name, array.shape, shape)
            else:
                array = np.zeros(shape, self._dtype(each))
            memory[each.name] = array
            arguments.append(ctypes.c_void_p(array.ctypes.data))
        status = self.call(*arguments)
        return tuple(self._result(slot, memory) for slot in slots(function)), status

    def _dtype(self, argument: Argument) -> Any:
        for slot in self.function._output_slots:
            if slot.dtype is not None and str(_core.c_identifier(slot.name)) == argument.name:
                return slot.dtype
        return tw.bfloat16 if argument.dtype == "bfloat16" else np.dtype(argument.dtype)

    def _result(self, slot: Any, memory: dict[str, np.ndarray]) -> Any:
        own = str(_core.c_identifier(slot.name))
        if own in memory:
            return memory[own]
        for each in self.interface.arguments:  # stored in an input
            for part, offset in each.parts:
                if part == slot.name:
                    array = memory[each.name]
                    field = next((f.name for f in each.fields if f.offset == offset), None)
                    return array if field is None else array[field]
        raise AssertionError(f"no result {slot.name}")


def slots(function: tw.Function) -> list[Slot]:
    """What a call of the function gives, in order."""
    return list(function._output_slots) or [Slot(name) for name in function.outputs]


def _number(value: Any, dtype: str) -> list[Any]:
    """A number as x86-64's C passes it by value."""
    bits = np.asarray(value).astype(tw.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype == "complex64":
        return [ctypes.c_double(bits.reshape(1).view(np.float64)[0])]
    if dtype == "complex128":
        return [ctypes.c_double(bits.real), ctypes.c_double(bits.imag)]
    if dtype in ("float16", "bfloat16"):
        return [ctypes.c_uint16(int(bits.reshape(1).view(np.uint16)[0]))]
    if dtype.startswith("float"):
        return [(ctypes.c_float if C_TYPES[dtype][1] == 4 else ctypes.c_double)(float(bits))]
    if dtype == "bool":
        return [ctypes.c_bool(bool(bits))]
    return [getattr(ctypes, f"c_{dtype}")(int(bits))]


def same_bits(found: Any, expected: Any) -> bool:
    """The same bits, but that any NaN is like any other."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype.names:
        return all(same_bits(found[name], expected[name]) for name in found.dtype.names)
    if found.dtype.kind == "c":
        return same_bits(found.real, expected.real) and same_bits(found.imag, expected.imag)
    if found.dtype.kind in "biu":
        return bool(np.array_equal(found, expected))
    wide_found, wide_expected = found.astype(np.float64), expected.astype(np.float64)
    both = np.isnan(wide_found) & np.isnan(wide_expected)
    signs = np.signbit(wide_found) == np.signbit(wide_expected)
    return bool(np.all(both | ((wide_found == wide_expected) & signs)))


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def check(
    f: tw.Function,
    folder: pathlib.Path,
    compilers: Sequence[str] | None = None,
    flags: Sequence[str] = (),
    exact: bool = True,
    **given: Any,
) -> tuple[Any, ...]:
    """`f` by each compiler beside `f` itself: the same bits, or nearly the same numbers."""
    expected = as_tuple(f(**{name: np.array(value) for name, value in given.items()}))
    for compiler in compilers or COMPILERS:
        compiled = CompiledC(f, pathlib.Path(folder) / compiler, compiler, *flags)
        copies = {name: np.array(value) for name, value in given.items()}
        found, status = compiled(**copies)
        assert status == 0
        for slot, a, b in zip(slots(f), found, expected, strict=True):
            message = f"{compiler}: {slot.name}: got\n{a}\nexpected\n{b}\n{f.c}"
            if exact:
                assert same_bits(a, b), message
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=message)
    return expected
