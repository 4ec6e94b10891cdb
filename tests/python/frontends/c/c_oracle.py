"""The C compiler as an oracle: what a C function does to its arguments, beside what its translation does.

The translation is run by the interpreter of statement trees, which knows no dependences and no
schedules, so that a difference is a fault of the translation.
"""

from __future__ import annotations

import ctypes
import hashlib
import pathlib
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.frontends.c import CFunction, CModule, load
from tilewright.frontends.interpreter import interpret

GCC = shutil.which("gcc") or "gcc"
FLAGS = (
    *("-std=gnu99", "-O0", "-ffp-contract=off", "-w", "-shared", "-fPIC"),
    *("-D__pencil_assume(x)=((void)0)", "-D__pencil_kill(...)=((void)0)"),
)
_LETTERS = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "uint8": ctypes.c_uint8,
    "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16,
    "int32": ctypes.c_int32,
    "uint32": ctypes.c_uint32,
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@cache
def _folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="tilewright-c-"))


@cache
def compiled(text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The text, or the file of that path, compiled by gcc."""
    name = hashlib.sha256(repr((text, flags)).encode()).hexdigest()[:16]
    source, library = _folder() / f"{name}.c", _folder() / f"{name}.so"
    if "\n" in text:
        source.write_text(text, encoding="utf-8")
    else:
        source = pathlib.Path(text)
    command = [GCC, *FLAGS, *flags, str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"gcc refuses the program:\n{done.stderr[:2000]}")
    return ctypes.CDLL(str(library))


def run_c(library: ctypes.CDLL, function: CFunction, arguments: Sequence[Any]) -> Any:
    """Calls the compiled function on the arguments, in place; gives its result."""
    call = library[function.name]
    given: list[Any] = []
    known = function._translated.arguments
    assert all(each.values is not None for each in known[len(arguments) :])  # tables of the file
    for value, each in zip(arguments, known, strict=False):
        if isinstance(value, np.ndarray):
            given.append(ctypes.c_void_p(value.ctypes.data))
        else:
            given.append(_LETTERS[each.dtype.name](value))
    result = function._translated.result
    call.restype = _LETTERS[function.program.arrays[result].dtype.name] if result else None
    return call(*given)


def run_tree(function: CFunction, arguments: Sequence[Any]) -> Any:
    """Interprets the translation on the arguments, in place; gives its result."""
    bound = dict(function.bind(*arguments))
    result = function._translated.result
    if result:
        bound[result] = np.zeros((), function.program.arrays[result].dtype)
    interpret(function.program, bound)
    return bound[result][()] if result else None


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments, arrays copied."""
    return [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]


def assert_same_bits(ours: Any, theirs: Any, what: str) -> None:
    """Equal values; a NaN equals a NaN, and the sign of a zero counts."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.dtype.names:
        for name in ours.dtype.names:
            assert_same_bits(ours[name], theirs[name], f"{what}.{name}")
        return
    np.testing.assert_array_equal(ours, theirs, err_msg=what)
    if ours.dtype.kind == "f":
        known = ~np.isnan(ours)
        np.testing.assert_array_equal(np.signbit(ours)[known], np.signbit(theirs)[known], what)


def check(module: CModule, library: ctypes.CDLL, name: str, arguments: Sequence[Any]) -> list[Any]:
    """Compares what the compiled function and its translation do; gives gcc's arguments after it."""
    function = module.functions[name]
    ours, theirs = copies(arguments), copies(arguments)
    expected = run_c(library, function, theirs)
    found = run_tree(function, ours)
    for value, wanted, argument in zip(ours, theirs, function.arguments[: len(ours)], strict=True):
        if isinstance(value, np.ndarray):
            assert_same_bits(value, wanted, f"{name}: {argument}")
    if expected is not None:
        dtype = function.program.arrays[function._translated.result].dtype
        assert_same_bits(found, np.asarray(expected, dtype), f"{name}: result")
    return theirs


def check_text(text: str, arguments: Sequence[Any], name: str = "f", **options: Any) -> list[Any]:
    """Compares gcc and the translation of a text's function."""
    options.setdefault("scop", "function")
    return check(load(text, **options), compiled(text), name, arguments)


def schedule(function: CFunction) -> None:
    """Found loops; where data decide how often loops run, the order is kept, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.TilewrightWarning)
        function.auto_schedule()
