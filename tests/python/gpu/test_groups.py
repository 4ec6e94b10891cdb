"""Sums of groups: terms that say to which element they belong are gone through once."""

from __future__ import annotations

import numpy as np
import pytest
from checks import check, random

import tilewright as tw

N, M, B = tw.params("N M B")
b, i, k = tw.iters("b i k")


def on_gpu(*outputs: tw.Computation) -> tw.Function:
    return tw.function("f", outputs=list(outputs), target="gpu-emulator").gpu()


def keys(*shape: int, groups: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-2, groups + 3, shape).astype(np.int32)


def test_a_histogram_has_counters_in_shared_memory() -> None:
    a = tw.input("A", [N], tw.uint8)
    one = tw.cast(1, tw.int32)
    f = on_gpu(tw.computation("H", {i: 256}, tw.sum(one, over={k: N}, where=a[k] == i)))
    assert 'memory="shared"' in str(f.schedule) and "# atomic" in str(f.loops)
    for size in (0, 1, 255, 20000):
        values = np.random.default_rng(2).integers(0, 256, size).astype(np.uint8)
        np.testing.assert_array_equal(check(f, values), np.bincount(values, minlength=256))


@pytest.mark.parametrize("groups", [0, 1, 7, 300])
def test_many_groups_are_updated_by_each_term(groups: int) -> None:
    key, w = tw.input("key", [N], tw.int32), tw.input("w", [N], tw.float32)
    f = on_gpu(tw.computation("S", {i: B}, tw.sum(w[k], over={k: N}, where=key[k] == i)))
    loops = str(f.loops)
    assert "# atomic" in loops and "1 thread a block" not in loops
    for size in (0, 1, 257, 1000):
        check(f, keys(size, groups=groups), random(size), B=groups)


def test_groups_of_each_row_with_another_condition_and_an_epilogue() -> None:
    key, w = tw.input("key", [M, N], tw.int32), tw.input("w", [M, N], tw.float32)
    of = (key[b, k] == i) & (w[b, k] > 0)
    f = on_gpu(tw.computation("S", {b: M, i: B}, 2 * tw.sum(w[b, k], over={k: N}, where=of) + 1))
    loops = str(f.loops)
    assert loops.count("gpu_spread") == 2 and "# atomic" in loops
    check(f, keys(5, 300, groups=9), random(5, 300), B=9)


def test_largest_of_a_group_that_begins_with_a_value() -> None:
    key, w = tw.input("key", [M, N], tw.int32), tw.input("w", [M, N], tw.float32)
    largest = tw.max(w[b, k], over={k: N}, where=key[b, k] == i, initial=0)
    check(
        on_gpu(tw.computation("S", {b: M, i: B}, largest)),
        keys(3, 70, groups=4),
        random(3, 70),
        B=4,
    )


def test_terms_of_several_loops() -> None:
    key = tw.input("key", [M, N], tw.int32)
    one = tw.cast(1, tw.int32)
    total = tw.sum(one, over={b: M, k: N}, where=key[b, k] == i)
    f = on_gpu(tw.computation("S", {i: B}, total))
    assert "# atomic" in str(f.loops)
    check(f, keys(5, 300, groups=9), B=9)


def test_an_element_that_its_own_key_decides() -> None:
    """No term says which element it belongs to: the element's place is in the key."""
    key = tw.input("key", [B], tw.int32)
    total = tw.sum(k, over={k: N}, where=key[i] == i)
    f = on_gpu(tw.computation("S", {i: B}, total))
    assert "# atomic" not in str(f.loops)
    check(f, np.array([0, 5, 2, 7], np.int32), N=5)
