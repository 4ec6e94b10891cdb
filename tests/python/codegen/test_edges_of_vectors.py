"""Vectors at the edges of what they may touch and compute: bytes beside an output stay as they are, constant
divisors with a zero among them, arithmetic on iterators that wraps around, memory beside loops that isl adds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")


@pytest.mark.parametrize("optimize", ["light", "full"])
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
@pytest.mark.parametrize("dtype", [tw.bool, tw.int8, tw.uint8, tw.int16, tw.float16, tw.int32])
def test_stores_of_part_of_a_vector_touch_nothing_else(
    dtype: tw.DType, lanes: int, optimize: str
) -> None:
    a = tw.input("A", [M, N], dtype)
    c = tw.computation("C", {i: N, j: M}, a[j, i])
    f = tw.function("f", outputs=[c], optimize=optimize)
    c.tile(i, j, 4, lanes).vectorize("j1")
    guard = 64
    for count in (*range(1, lanes + 2), 3 * lanes - 1):
        item = dtype.dtype.itemsize
        memory = np.full(count * item + 2 * guard, 7, np.uint8)
        out = memory[guard : guard + count * item].view(dtype.dtype).reshape(1, count)
        values = np.arange(count).reshape(count, 1) % 2
        f(values.astype(dtype.dtype), out=out)
        np.testing.assert_array_equal(out[0], values[:, 0].astype(dtype.dtype))
        assert (memory[:guard] == 7).all() and (memory[guard + count * item :] == 7).all()


@pytest.mark.parametrize("order", ["C", "F", "reversed", "every second"])
def test_loads_of_part_of_a_vector(order: str) -> None:
    a = tw.input("A", [N, M], tw.bool)
    c = tw.computation("C", {i: N, j: M}, tw.cast(a[i, j], tw.int8) + 1)
    f = tw.function("f", outputs=[c])
    c.vectorize(j, 8)
    rng = np.random.default_rng(0)
    for count in range(1, 20):
        values = rng.integers(0, 2, (3, 2 * count)).astype(bool)
        given = {
            "C": values[:, :count].copy(),
            "F": np.asfortranarray(values[:, :count]),
            "reversed": values[:, count - 1 :: -1],
            "every second": values[:, ::2],
        }[order]
        np.testing.assert_array_equal(f(given), given.astype(np.int8) + 1)


@pytest.mark.parametrize("dtype", [tw.int8, tw.int16, tw.int32, tw.int64])
@pytest.mark.parametrize("operator", ["//", "%"])
def test_divisors_with_a_zero_among_them(dtype: tw.DType, operator: str) -> None:
    a = tw.input("A", [N, 8], dtype)
    divisor = tw.cast(j - 4, dtype)
    result = a[i, j] // divisor if operator == "//" else a[i, j] % divisor
    plain = tw.function("f", outputs=[tw.computation("C", {i: N, j: 8}, result)])
    guarded = tw.function(
        "g", outputs=[tw.computation("G", {i: N, j: 8}, tw.select(j != 4, result, 0))]
    )
    smallest = np.iinfo(dtype.dtype).min
    given = np.array([[20] * 8, [-20] * 8, [smallest] * 8, [7] * 8], dtype.dtype)
    for function in (plain, guarded):
        np.testing.assert_array_equal(function(given), function.evaluate(given))
    with np.errstate(all="ignore"):
        divisors = np.arange(-4, 4).astype(dtype.dtype)
        expected = given // divisors if operator == "//" else given % divisors
    np.testing.assert_array_equal(plain(given), expected)


WRAPPING: list[Any] = [
    (i * 2**62) >> 62,
    tw.select(i * 6364136223846793005 + 1442695040888963407 > 0, 1, 0),
    tw.cast(i + (2**63 - 3) < 0, tw.int64),
    (i + 2**31) * (i + 2**31) * 2 // 3,
    tw.maximum(i * 2**61, 5),
    tw.select((i * 2**40) * 2**22 >= 0, i, -i),
]


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("case", range(len(WRAPPING)))
def test_arithmetic_on_iterators_wraps(case: int, default: bool) -> None:
    c = tw.computation("C", {i: N}, WRAPPING[case])
    f = tw.function("f", outputs=[c], default_schedule=default)
    np.testing.assert_array_equal(f(N=20), f.evaluate(N=20))


def test_conditions_on_iterators_wrap() -> None:
    x = tw.input("X", [N], tw.int64)
    s = tw.computation("S", {}, tw.sum(x[i], over={i: N}, where=i * 2**62 >= 0))
    f = tw.function("f", outputs=[s])
    assert f(np.arange(6)) == f.evaluate(np.arange(6)) == 10


def test_loops_that_isl_adds_have_no_memory() -> None:
    """Instances that share all loops of a cut nest are told apart by loops of isl's own."""
    a = tw.input("A", [N + 9], tw.int32)
    b = tw.input("B", [N, N], tw.int32)
    p = tw.computation("P", {i: N + 9}, a[i])
    c = tw.computation("C", {i: N, j: N}, tw.sum(p[j] * b[i, k], over={k: N}))
    f = tw.function("f", outputs=[c], inputs=[a, b])
    c.split(j, 3).reorder("j0", "j1", i, k).tile("j0", "j1", 3, 5)
    c.cache(c, "i")
    p.compute_at("C_local", "k").store_at("C_local", "k")
    c.split("j10", 3).split("j11", 4)
    assert str(f.loops).count("P = empty") == 1
    given = np.arange(16, dtype=np.int32), np.ones((7, 7), np.int32)
    np.testing.assert_array_equal(f(*given), f.evaluate(*given))


def test_places_of_no_instances() -> None:
    p = tw.computation("P", {i: 0, j: 3}, i + j)
    g = tw.function("g", outputs=[tw.computation("C", {i: 0, j: 3}, p[i, j])])
    with pytest.raises(tw.ScheduleError, match="several elements to one instance"):
        g["P"].set_access("{ P[i,j] -> buf[x] : 0 <= x < 2 }")
