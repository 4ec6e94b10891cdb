"""Vectors that overlap in memory are loaded once, and shuffled where a vector is as wide as a line of the cache.
Nothing beside the array is read, and what is written in between is seen."""

from __future__ import annotations

import ctypes
import mmap
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j = tw.iters("i j")


def taps(offsets: list[int], dtype: tw.DType, cpu: str = "native", **options: Any) -> tw.Function:
    """The sum of weight * x[i, j + offset]."""
    last = max(offsets)
    x = tw.input("x", [N, M], dtype)
    value = x[i, j + offsets[0]]
    for weight, offset in enumerate(offsets[1:], 2):
        value = value + x[i, j + offset] * tw.cast(weight, dtype)
    y = tw.computation("y", {i: N, j: M - last}, value)
    f = tw.function("taps", outputs=[y], cpu=cpu, **options)
    y.vectorize(j, 64 // dtype.itemsize)
    return f


def expected(offsets: list[int], x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    columns = x.shape[1] - max(offsets)
    total = x[:, offsets[0] : offsets[0] + columns].copy()
    for weight, offset in enumerate(offsets[1:], 2):
        total += x[:, offset : offset + columns] * np.asarray(weight, x.dtype)
    return total


def main_loop(f: tw.Function, type_: str) -> str:
    """The block that stores whole vectors."""
    (block,) = [b for b in re.split(r"\n\S+:", f.llvm) if f"store <{type_}>" in b]
    return block


def fenced(shape: tuple[int, int], dtype: tw.DType, at_end: bool) -> npt.NDArray[Any]:
    """An array between two pages that may not be touched, beside one of them."""
    size = shape[0] * shape[1] * dtype.itemsize
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + 2 * mmap.PAGESIZE)
    everything = np.frombuffer(memory, np.uint8)
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    for fence in (0, mmap.PAGESIZE + pages):
        address = ctypes.c_void_p(everything.ctypes.data + fence)
        assert mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    start = mmap.PAGESIZE + (pages - size if at_end else 0)
    return everything[start : start + size].view(dtype.dtype).reshape(shape)


OFFSETS = [
    [0, 3, 6],
    [0, 1, 2, 3],
    [0, 3, 6, 9, 12, 15, 18],
    [18, 15, 12, 9, 6, 3, 0],
    [0, 5, 16, 17, 40, 41, 42, 43, 100, 101, 102],
    [0, 16, 32],
    [0, 7, 8, 15, 16, 23, 24, 30],
    [0, 1],
]


@pytest.mark.parametrize("at_end", [False, True], ids=["begins", "ends"])
@pytest.mark.parametrize("optimize", ["light", "full"])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("dtype", [tw.float32, tw.float64, tw.int32, tw.int64, tw.uint8])
def test_values_and_nothing_beside_the_array(
    dtype: tw.DType, offsets: list[int], optimize: str, at_end: bool
) -> None:
    f = taps(offsets, dtype, optimize=optimize)
    lanes = 64 // dtype.itemsize
    for columns in (max(offsets) + 1, max(offsets) + lanes, max(offsets) + 3 * lanes + 1):
        x = fenced((3, columns), dtype, at_end)
        x[:] = np.random.default_rng(columns).integers(0, 9, x.shape)
        np.testing.assert_array_equal(f(x), expected(offsets, x))


@pytest.mark.parametrize(
    ("offsets", "loads", "shuffles"),
    [
        ([0, 3, 6], 2, 1),  # 0 and 6; 3 is of both
        ([0, 3, 6, 9, 12, 15, 18], 3, 5),  # 0, 16 and 18
        ([0, 16, 32], 3, 0),
        ([0, 8], 2, 0),
        ([0, 1, 2, 100, 101, 102], 4, 2),
    ],
)
def test_loads_where_a_vector_is_a_line(offsets: list[int], loads: int, shuffles: int) -> None:
    block = main_loop(taps(offsets, tw.float32, "x86-64-v4"), "16 x float")
    assert block.count("load <16 x float>") == loads
    assert block.count("shufflevector") == shuffles


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64"])
def test_other_processors_load_each(cpu: str) -> None:
    block = main_loop(taps([0, 3, 6], tw.float32, cpu), "16 x float")
    assert block.count("load <16 x float>") == 3 and "shufflevector" not in block


def test_small_elements_are_loaded_each() -> None:
    block = main_loop(taps([0, 3, 6], tw.uint8, "x86-64-v4"), "64 x i8")
    assert block.count("load <64 x i8>") == 3 and "shufflevector" not in block


def test_rows_side_by_side_share_theirs() -> None:
    x = tw.input("x", [N, M], tw.float32)
    across = tw.computation("across", {i: N, j: M - 6}, x[i, j] + x[i, j + 3] + x[i, j + 6])
    y = tw.computation(
        "y", {i: N - 2, j: M - 6}, across[i, j] + across[i + 1, j] + across[i + 2, j]
    )
    f = tw.function("blur", outputs=[y], cpu="x86-64-v4")
    across.inline()
    y.tile(i, j, 4, 16).unroll("i1").vectorize("j1")
    blocks = [b for b in re.split(r"\n\S+:", f.llvm) if b.count("store <16 x float>") == 4]
    assert [block.count("load <16 x float>") for block in blocks] == [2 * 6]


def test_what_is_written_in_between_is_seen() -> None:
    # Rows one after the other in one array: the loads of `lower` begin where those of `upper` end,
    # and `upper` is stored between them, its second vector first: the other one overwrites three
    # elements that it reads.
    x = tw.input("x", [38], tw.float32)
    top = tw.computation("top", {j: 38}, x[j])
    upper = tw.computation("upper", {j: 32}, top[j] + top[j + 3] + top[j + 6])
    lower = tw.computation("lower", {j: 16}, upper[j] + upper[j + 3] + upper[j + 6])
    f = tw.function("rows", outputs=[lower])
    top.store_in("memory[j]").vectorize(j, 16)
    upper.split(j, 16).vectorize("j1").reverse("j0").unroll("j0").store_in("memory[j + 35]")
    lower.vectorize(j, 16)
    values = np.random.default_rng(1).integers(0, 9, 38).astype(np.float32)
    middle = values[:-6] + values[3:-3] + values[6:]
    np.testing.assert_array_equal(f(values), middle[:16] + middle[3:19] + middle[6:22])


def picked(step: int, offsets: list[int], dtype: tw.DType, cpu: str = "native") -> tw.Function:
    """The sum of weight * x[i, step * j + offset]: of the pixels of an image of channels, or of a smaller one."""
    x = tw.input("x", [N, M], dtype)
    terms = [x[i, step * j + offset] * tw.cast(offset + 1, dtype) for offset in offsets]
    columns = {i: N, j: (0, (M - max(offsets) + step - 1) // step)}
    y = tw.computation("y", columns, sum(terms[1:], terms[0]))
    f = tw.function("picked", outputs=[y], cpu=cpu)
    y.vectorize(j, 64 // dtype.itemsize)
    return f


@pytest.mark.parametrize("at_end", [False, True], ids=["begins", "ends"])
@pytest.mark.parametrize("dtype", [tw.float64, tw.float32, tw.int32, tw.uint8])
@pytest.mark.parametrize(
    ("step", "offsets"), [(2, [0, 1]), (2, [0, 1, 2]), (3, [0, 1, 2]), (4, [1, 3])]
)
@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_elements_of_one_step_come_from_the_same_loads(
    cpu: str, step: int, offsets: list[int], dtype: tw.DType, at_end: bool
) -> None:
    f = picked(step, offsets, dtype, cpu)
    lanes = 64 // dtype.itemsize
    for count in (1, lanes, 3 * lanes + 1):
        x = fenced((3, step * (count - 1) + max(offsets) + 1), dtype, at_end)
        x[:] = np.random.default_rng(count).integers(0, 9, x.shape)
        total = sum((o + 1) * x[:, o::step][:, :count].astype(int) for o in offsets)
        np.testing.assert_array_equal(f(x), np.asarray(total).astype(dtype.dtype))


@pytest.mark.parametrize(
    ("step", "offsets", "loads"), [(2, [0, 1], 2), (2, [0, 1, 2], 3), (3, [0, 1, 2], 3)]
)
def test_loads_of_elements_of_one_step(step: int, offsets: list[int], loads: int) -> None:
    for cpu in ("x86-64-v3", "x86-64-v4"):
        block = main_loop(picked(step, offsets, tw.float64, cpu), "8 x double")
        assert block.count("load <8 x double>") == loads
