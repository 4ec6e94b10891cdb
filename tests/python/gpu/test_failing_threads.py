"""A subscript that fails its check in a kernel whose threads wait for each other: the thread comes to every barrier,
shuffle and product of a tile all the same, and the call says which subscript was wrong. The emulator reports threads
that do not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assemble, barriers, random

import tilewright as tw
from children import run_python

N, M, K = tw.params("N M K")
b, i, j, k = tw.iters("b i j k")
OUTSIDE = 99
#: A function, its arrays but the subscripts, subscripts, and places among them that are not the first of a warp.
Case = tuple[tw.Function, list[Any], np.ndarray]


def on_gpu(*outputs: Any, **options: Any) -> tw.Function:
    return tw.function("f", outputs=list(outputs), target="gpu-emulator", **options)


def neighbours() -> Case:
    """Through shared memory, with a barrier between."""
    a, places = tw.input("A", [M], tw.float32), tw.input("X", [128], tw.int64)
    read = tw.computation("B", {i: 128}, a[places[i]])
    c = tw.computation("C", {i: 128}, read[i] + read[127 - i])
    f = on_gpu(c, inputs=[a, places])
    c.split(i, 128).gpu_block("i0").gpu_thread("i1")
    read.compute_at(c, "i0").store_at(c, "i0", memory="shared").gpu_thread(i)
    assert barriers(f) == 1
    return f, [random(10)], np.arange(128) % 10


def sums(threads: int, width: int = 1) -> Case:
    """Of terms that the threads of a block put together, each `width` of them first."""
    a, places = tw.input("A", [M], tw.float32), tw.input("X", [4, 256], tw.int64)
    c = tw.computation("C", {i: 4}, tw.sum(a[places[i, k]], over={k: 256}))
    f = on_gpu(c, inputs=[a, places])
    c.split(k, threads * width, "k0", "k1").split("k1", width, "t", "v")
    c.gpu_block(i).gpu_thread("t")
    if width > 1:
        c.vectorize("v", width)
    return f, [random(10)], np.arange(1024).reshape(4, 256) % 10


def sums_of_rows(rows: int, terms: int) -> Case:
    """Of rows side by side and of terms that are no multiples of the threads."""
    a, places = tw.input("A", [M], tw.float32), tw.input("X", [N, K], tw.int64)
    c = tw.computation("C", {i: N}, tw.sum(a[places[i, k]], over={k: K}))
    f = on_gpu(c, inputs=[a, places])
    c.split(i, rows).split(k, 32 * terms).reorder("i0", "i1", "k0", "k1")
    c.gpu_block("i0").gpu_thread("i1", "k1")
    return f, [random(10)], np.arange(7 * 83).reshape(7, 83) % 10


def rows_of_a_product() -> Case:
    """Of a matrix of which the rows are chosen, on tensor cores."""
    a, x = tw.input("A", [M, 32], tw.float16), tw.input("B", [32, 16], tw.float16)
    places = tw.input("X", [32], tw.int64)
    chosen = tw.computation("G", {i: 32, k: 32}, a[places[i], k])
    term = tw.cast(chosen[i, k], tw.float32) * tw.cast(x[k, j], tw.float32)
    c = tw.computation("C", {i: 32, j: 16}, tw.sum(term, over={k: 32}))
    f = on_gpu(c, inputs=[a, x, places])
    c.tile(i, j, 16, 8, "i0", "j0", "mi", "mj").split(k, 8, "k0", "mk")
    c.reorder("i0", "j0", "k0", "mi", "mj", "mk")
    c.gpu_block("i0", "j0").gpu_mma("mi", "mj", "mk")
    c.cache(c, "j0", memory="private")
    chosen.compute_at(c, "j0").store_at(c, "j0", memory="shared").gpu_spread(i, k)
    return (
        f,
        [random(10, 32, dtype=np.float16), random(32, 16, dtype=np.float16)],
        np.arange(32) % 10,
    )


def beside_copies() -> Case:
    """While others wait for what is copied ahead."""
    a, x = tw.input("A", [M], tw.float32), tw.input("B", [K, 64], tw.float32)
    places = tw.input("X", [64], tw.int64)
    c = tw.computation("C", {i: 64}, tw.sum(a[places[i]] * x[k, 63 - i], over={k: K}))
    f = on_gpu(c, inputs=[a, x, places])
    c.split(i, 64, "i0", "i1").split(k, 4).reorder("i0", "k0", "i1", "k1")
    c.gpu_block("i0").gpu_thread("i1")
    c.cache(x, "k0", memory="shared", stages=2)
    return f, [random(10), random(19, 64)], np.arange(64) % 10


def chosen_by_what_is_chosen() -> Case:
    a, places = tw.input("A", [M], tw.float32), tw.input("X", [128], tw.int64)
    read = tw.computation("B", {i: 128}, a[places[places[i]]])
    c = tw.computation("C", {i: 128}, read[i] + read[127 - i])
    f = on_gpu(c, inputs=[a, places])
    c.split(i, 128).gpu_block("i0").gpu_thread("i1")
    read.compute_at(c, "i0").store_at(c, "i0", memory="shared").gpu_thread(i)
    return f, [random(10)], np.arange(128) % 10


def under_a_condition() -> Case:
    """Half of the threads check nothing."""
    a, places = tw.input("A", [M], tw.float32), tw.input("X", [128], tw.int64)
    read = tw.computation("B", {i: 128}, tw.select(i % 2 == 1, a[places[i]], 1))
    c = tw.computation("C", {i: 128}, read[i] + read[127 - i] + a[places[127 - i]])
    f = on_gpu(c, inputs=[a, places])
    c.split(i, 128).gpu_block("i0").gpu_thread("i1")
    read.compute_at(c, "i0").store_at(c, "i0", memory="shared").gpu_thread(i)
    return f, [random(10)], np.arange(128) % 10


def updates() -> Case:
    """Of elements that several blocks have terms of."""
    a, places = tw.input("A", [M], tw.int32), tw.input("X", [4, 256], tw.int64)
    c = tw.computation("C", {i: 4}, tw.max(a[places[i, k]], over={k: 256}))
    f = on_gpu(c, inputs=[a, places])
    c.split(k, 64).reorder("k0", "i", "k1").atomic().gpu_block("k0", "i").gpu_thread("k1")
    return f, [random(10, dtype=np.int32)], np.arange(1024).reshape(4, 256) % 10


CASES: dict[str, Callable[[], Case]] = {
    "a barrier": neighbours,
    "shuffles": lambda: sums(32),
    "shuffles and a barrier": lambda: sums(128),
    "vectors": lambda: sums(32, 4),
    "rows side by side": lambda: sums_of_rows(4, 1),
    "rows through shared memory": lambda: sums_of_rows(2, 2),
    "products of tiles": rows_of_a_product,
    "copies": beside_copies,
    "subscripts of subscripts": chosen_by_what_is_chosen,
    "a condition": under_a_condition,
    "atomic updates": updates,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [OUTSIDE, -1])
def test_threads_that_fail_come_where_others_wait(case: str, value: int) -> None:
    f, arrays, places = CASES[case]()
    np.testing.assert_array_equal(f(*arrays, places), f.evaluate(*arrays, places))
    assemble(f)
    places = places.copy()
    places.flat[5] = value
    with pytest.raises(tw.SubscriptError, match=rf"subscript {value} is out of bounds"):
        f(*arrays, places)


@pytest.mark.parametrize("case", ["a barrier", "shuffles and a barrier", "vectors", "copies"])
def test_no_element_of_an_empty_array_is_touched(case: str) -> None:
    f, arrays, places = CASES[case]()
    with pytest.raises(tw.SubscriptError, match="out of bounds"):
        f(arrays[0][:0], *arrays[1:], places)


LOOP_FOREVER = """
import numpy as np
import tilewright as tw

i, j = tw.iters("i j")
M = tw.param("M")
follower = tw.input("X", [M], tw.int64)
last = tw.while_loop(lambda p: p != 3, lambda p: (follower[p],), (2 + i % 2,))[0]
read = tw.computation("B", {i: 64}, last)
c = tw.computation("C", {i: 64}, read[i] + read[63 - i])
f = tw.function("f", outputs=[c], target="gpu-emulator")
c.split(i, 64).gpu_block("i0").gpu_thread("i1")
read.compute_at(c, "i0").store_at(c, "i0", memory="shared").gpu_thread(i)
assert (f(np.array([1, 2, 3, 0])) == 6).all()
try:
    f(np.array([1, 0, 99, 3]))
except tw.SubscriptError:
    print("told")
"""


def test_a_thread_that_fails_does_not_stay_in_a_loop() -> None:
    """Position 2 leads outside; from the zero that is read there, 0 and 1 lead to each other for ever."""
    assert run_python("-c", LOOP_FOREVER, timeout=120).stdout.strip() == "told"
