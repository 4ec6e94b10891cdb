"""Atomic updates of elements of one and two bytes: nothing beside them is touched, in the PTX and on the emulator."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from checks import assemble

import tilewright as tw

i, k, x = tw.iters("i k x")
ROWS = 5  # so that a word around the last one reaches out of the array


def updated(op: str, dtype: str) -> tw.Function:
    """Elements that many threads of several blocks update, each by itself."""
    data = tw.input("A", [ROWS, 70], getattr(tw, dtype))
    c = tw.computation("C", {i: ROWS}, getattr(tw, op)(data[i, k], over={k: 70}))
    f = tw.function("f", outputs=[c], target="gpu-emulator")
    c.split(k, 32).reorder("k0", i, "k1").atomic().gpu_block("k0").gpu_thread("k1")
    c.unroll(i)
    return f


def given(op: str, dtype: str) -> np.ndarray:
    """Numbers whose sums and products are exact in any order."""
    generator = np.random.default_rng(0)
    if dtype == "bool":
        return generator.random((ROWS, 70)) < np.array([[0], [0.05], [0.5], [0.97], [1]])
    values = generator.integers(0 if dtype[0] == "u" else -9, 10, (ROWS, 70))
    if op == "sum":
        values //= 8
    elif op == "prod":
        values = np.sign(values) + (values == 0)
    return values.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


BYTES = [(op, dtype) for dtype in ("int8", "uint8", "bool") for op in ("min", "max")]
PAIRS = [
    (op, dtype) for dtype in ("int16", "uint16", "float16", "bfloat16") for op in ("min", "max")
]
SUMS = [("sum", "float16"), ("sum", "bfloat16"), ("prod", "float16")]


def atomics(ptx: str) -> set[str]:
    return set(re.findall(r"\b(?:atom|red)\.[a-z0-9.]+", ptx))


@pytest.mark.parametrize(("op", "dtype"), [*PAIRS, *SUMS])
def test_two_bytes_are_compared_and_swapped_alone(op: str, dtype: str) -> None:
    f = updated(op, dtype)
    values = given(op, dtype)
    np.testing.assert_array_equal(f(values), f.evaluate(values))
    ptx = str(f.ptx_for("sm_75"))
    assert atomics(ptx) == {"atom.cas.b16"}
    assert re.search(r"ld\.(volatile|relaxed)\S*\.u16", ptx), "what is compared is read anew"
    assemble(f)


@pytest.mark.parametrize(("op", "dtype"), [*BYTES, ("any", "bool"), ("all", "bool")])
def test_bytes_are_read_and_written_alone(op: str, dtype: str) -> None:
    f = updated(op, dtype)
    values = given(op, dtype)
    np.testing.assert_array_equal(f(values), f.evaluate(values))
    ptx = str(f.ptx_for("sm_75"))
    assert re.search(r"st\.(volatile|relaxed)\S*\.u8", ptx)
    if dtype == "bool":
        assert atomics(ptx) == set(), "the bool that decides is stored, and nothing read"
    else:
        assert atomics(ptx) == {"atom.global.cas.b32"}, "of the lock"
        assert "tilewright_locks" in ptx
        assert "%laneid" in ptx, "threads of a warp take turns"
    assemble(f)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16"])
def test_threads_update_elements_beside_each_other(dtype: str) -> None:
    """The emulator would find two threads that touch one element, of which one does so by way of its neighbour."""
    data, bins = tw.input("A", [64], getattr(tw, dtype)), tw.input("X", [64], tw.int64)
    c = tw.computation("C", {x: 7}, tw.max(data[i], over={i: 64}, where=bins[i] == x))
    f = tw.function("f", outputs=[c], target="gpu-emulator")
    c.interchange(x, i).atomic().split(i, 32).reorder("i0", x, "i1")
    c.gpu_block("i0").gpu_thread("i1")
    values = np.random.default_rng(1).integers(-9, 10, 64).astype(dtype)
    places = np.arange(64) % 7
    np.testing.assert_array_equal(f(values, places), f.evaluate(values, places))
    assemble(f)
