"""Remainders and floored quotients of floats in kernels. The emulator runs the routine that the PTX has, not the host's
fmod, so that NumPy, which has that, is an oracle."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from checks import assemble

import tilewright as tw

i = tw.iter("i")
BITS: dict[str, Any] = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}
DTYPES = list(BITS)


def divided(dtype: str, size: int, width: int = 1, **options: Any) -> tw.Function:
    """a % b and a // b."""
    a, b = (tw.input(name, [size], getattr(tw, dtype)) for name in "ab")
    outputs = [
        tw.computation("remainder", {i: size}, a[i] % b[i]),
        tw.computation("quotient", {i: size}, a[i] // b[i]),
    ]
    f = tw.function("f", outputs=outputs, target="gpu-emulator", **options)
    for output in outputs:
        output.split(i, 64 * width, "i0", "i1").split("i1", width, "t", "v")
        output.gpu_block("i0").gpu_thread("t")
        if width > 1:
            output.vectorize("v", width)
    return f


def check(a: np.ndarray, b: np.ndarray, width: int = 1) -> None:
    """The very bits of NumPy, but those of NaN."""
    f = divided(a.dtype.name, a.size, width)
    with np.errstate(all="ignore"):
        wanted = (np.remainder(a, b), np.floor_divide(a, b))
    for found, right, what in zip(f(a, b), wanted, ("%", "//"), strict=True):
        same = (found.view(BITS[a.dtype.name]) == right.view(BITS[a.dtype.name])) | (
            np.isnan(found) & np.isnan(right)
        )
        wrong = np.flatnonzero(~same)
        assert wrong.size == 0, (
            f"{wrong.size} of {a.size}: {a[wrong[0]]!r} {what} {b[wrong[0]]!r} gives "
            f"{found[wrong[0]]!r} and not {right[wrong[0]]!r}"
        )


def edges(dtype: str) -> np.ndarray:
    """Limits, subnormal numbers, whole numbers, infinities and NaN, of both signs."""
    info = np.finfo(dtype)
    least, tiny = float(info.smallest_subnormal), float(info.tiny)
    near = [tiny, np.nextafter(info.tiny, info.dtype.type(0)), 3 * least, 5 * tiny, 1, 0.1, 7.25]
    whole = 2.0 ** (info.nmant + 1)
    values = [0, least, *near, whole - 1, whole, info.max, info.max / 3, np.inf, np.nan]
    return np.array([*values, *(-np.array(values))], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 4])
def test_the_ends_of_each_type(dtype: str, width: int) -> None:
    values = edges(dtype)
    check(np.repeat(values, len(values)), np.tile(values, len(values)), width)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_tenths(dtype: str) -> None:
    tenths = np.random.default_rng(1).integers(-2000, 2001, (2, 20000))
    check(*((tenths / 10).astype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_bits(dtype: str) -> None:
    """Of any two exponents, and of two that are near."""
    bits = np.random.default_rng(2).integers(0, np.iinfo(BITS[dtype]).max, (2, 5000), BITS[dtype])
    a, b = bits.view(dtype)
    check(a, b)
    with np.errstate(all="ignore"):
        check(b * (a.view(BITS[dtype]) % 97).astype(dtype), b)
        check((b * np.array(2, dtype) ** np.array(8, dtype)).astype(dtype), b * b)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("fast_math", [False, True])
def test_nothing_but_the_routine_is_in_the_code(dtype: str, fast_math: bool) -> None:
    f = divided(dtype, 100, fast_math=fast_math)
    assert "frem" not in str(f.llvm)
    ptx = str(f.ptx_for("sm_75"))
    bits = "64" if dtype == "float64" else "32"
    assert f"fma.rn.f{bits}" in ptx
    assert f"div.rn.f{bits}" in ptx
    # The assembler may contract what does not say how it is rounded.
    assert not re.findall(r"\b(?:add|sub|mul|div|fma)\.f\d+", ptx)
    assemble(f)


def test_the_emulator_calls_nothing_of_the_host_that_the_ptx_has_itself() -> None:
    a, b = (tw.input(name, [64], tw.int64) for name in "ab")
    x = tw.input("x", [64], tw.float32)
    outputs = [tw.computation("p", {i: 64}, a[i] ** b[i]), tw.computation("r", {i: 64}, x[i] % 3)]
    f = tw.function("f", outputs=outputs, target="gpu-emulator")
    for output in outputs:
        output.gpu_tile(i, 32)
    called = set(re.findall(r"^declare .*@([\w.]+)\(", str(f.llvm), re.MULTILINE))
    own = {name for name in called if not name.startswith("llvm.")}
    assert not {name for name in own if "power" in name or "fmod" in name}, own
    assert "tilewright_gpu_index" in own
