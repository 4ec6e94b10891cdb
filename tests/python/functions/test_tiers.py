"""Kernels whose code is replaced by better code, made in the background."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import tilewright as tw
from children import run_python

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    tw._core.cache_clear_memory()
    yield tmp_path / "cache"
    tw._core.cache_clear_memory()


def matmul(optimize=None, name="matmul", fast_math=False, default_schedule=False):
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function(
        name,
        outputs=[c],
        optimize=optimize,
        fast_math=fast_math,
        default_schedule=default_schedule,
    )


def integers(*shape):
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.float64)


A, B = integers(23, 17), integers(17, 41)


@pytest.mark.parametrize("optimize", ["auto", "light", "full", "background"])
def test_every_tier_computes_the_same(optimize):
    f = matmul(optimize)
    np.testing.assert_array_equal(f(A, B), A @ B)
    f.wait_optimized()
    np.testing.assert_array_equal(f(A, B), A @ B)
    np.testing.assert_array_equal(f(A, B), f.evaluate(A, B))


def test_light_and_full():
    light, full = matmul("light"), matmul("full")
    assert light.compile()["optimized"] == "light"
    assert not light.wait_optimized()
    info = full.compile()
    assert info["optimized"] == "full"
    assert not info["pending"]
    assert full.wait_optimized()
    assert info["key"] != light.compile()["key"]


def test_the_background_replaces_code_and_entry(empty_cache):
    f = matmul("background")
    f(A, B)
    assert f.last_compile["milliseconds"]["emit"] > 0
    assert f.wait_optimized()
    info = f.last_compile
    assert (info["optimized"], info["pending"], info["problem"]) == ("full", False, "")
    np.testing.assert_array_equal(f(A, B), A @ B)
    entries = list(empty_cache.glob("*.twk"))
    assert [entry.stem for entry in entries] == [info["key"]]

    # Another function of this process, then another process: they find the better code.
    again = matmul("background").compile()
    assert again["from_cache"] and again["optimized"] == "full"
    tw._core.cache_clear_memory()
    again = matmul("background").compile()
    assert again["from_cache"] and again["optimized"] == "full" and not again["pending"]


def test_an_entry_that_was_not_improved_is_improved_later(empty_cache):
    """A process ended before its background was done: the next one goes on."""
    child = os.fork()
    if child == 0:
        f = matmul("background")
        f.compile()  # the entry is on disk before the background begins
        os._exit(0)
    os.waitpid(child, 0)
    f = matmul("background")
    np.testing.assert_array_equal(f(A, B), A @ B)
    assert f.last_compile["from_cache"]
    assert f.wait_optimized()
    np.testing.assert_array_equal(f(A, B), A @ B)


def test_functions_of_one_kernel_are_improved_together():
    f, g = matmul("background"), matmul("background")
    f(A, B), g(A, B)
    assert f.last_compile["key"] == g.last_compile["key"]
    assert f.wait_optimized() and g.wait_optimized()


def test_scheduled_kernels_stay_light():
    f = matmul("auto")
    f["C"].interchange(j, k).vectorize(j, 8)
    assert f.compile()["optimized"] == "light"
    assert not f.last_compile["pending"]
    g = matmul("auto", name="plain")
    g(A, B)
    assert g.wait_optimized()
    h = matmul("auto", name="default", default_schedule=True)
    assert h.compile()["optimized"] == "light" and not h.last_compile["pending"]


def test_loops_without_vectors_are_improved_beside_vectors():
    x = tw.input("x", [N], tw.float64)
    scaled = tw.computation("scaled", {i: N}, 2.0 * x[i])
    total = tw.computation("total", {}, tw.sum(tw.exp(x[k]), over={k: N}))
    f = tw.function("both", outputs=[scaled, total], optimize="auto", default_schedule=False)
    f["scaled"].vectorize(i, 8)
    assert f.compile()["optimized"] == "light"
    assert f.last_compile["pending"] and f.wait_optimized()


def test_calls_go_on_while_code_is_replaced():
    expected = A @ B
    wrong = []
    for round_ in range(5):
        f = matmul("background", name=f"replaced{round_}")
        f(A, B)

        def work(f=f):
            for _ in range(300):
                if not np.array_equal(f(A, B), expected):
                    wrong.append("wrong value")

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert f.wait_optimized()
        for thread in threads:
            thread.join()
    assert not wrong


def test_errors_are_still_errors_after_the_replacement():
    x = tw.input("x", [M], tw.float64)
    at = tw.input("at", [N], tw.int64)
    y = tw.computation("y", {i: N}, x[at[i]])
    f = tw.function("gather", inputs=[at, x], outputs=[y], optimize="background")
    for _ in range(2):
        with pytest.raises(tw.SubscriptError, match=r"x\[at\[i\]\]: subscript 7 is out of bounds"):
            f(np.array([1, 7]), np.arange(7.0))
        assert f.wait_optimized()


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_OPTIMIZE", "full")
    assert matmul().compile()["optimized"] == "full"
    assert matmul("light").compile()["optimized"] == "light"
    monkeypatch.setenv("TILEWRIGHT_OPTIMIZE", "most")
    with pytest.raises(ValueError, match=r"TILEWRIGHT_OPTIMIZE must be .*, got 'most'"):
        matmul()


def test_optimize_must_be_a_word():
    with pytest.raises(TypeError, match="optimize must be a string"):
        matmul(3)
    with pytest.raises(ValueError, match="not 'O3'"):
        matmul("O3")


def test_copies_keep_the_choice():
    f = matmul("full")
    assert f.copy().compile()["optimized"] == "full"


COMMON = """
import os, sys
import numpy as np
import tilewright as tw
i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

def matmul(name):
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    f = tw.function(name, outputs=[c], optimize="background")
    f["C"].tile(i, j, 4, 4).unroll("i1").unroll("j1")
    return f

one = np.ones((9, 9))
"""

EXITS = (
    COMMON
    + """
for number in range(6):
    assert (matmul(f"f{number}")(one, one) == 9).all()
"""
)

FORKS = (
    COMMON
    + """
kernels = [matmul(f"f{number}") for number in range(6)]
for f in kernels:
    f(one, one)
for round in range(4):
    child = os.fork()
    if child == 0:
        fresh = matmul(f"child{round}")
        good = (fresh(one, one) == 9).all() and fresh.wait_optimized(120)
        good = good and all((f(one, one) == 9).all() for f in kernels)
        for f in kernels:
            f.wait_optimized()  # what the parent began is not waited for
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
assert all(f.wait_optimized() for f in kernels)
"""
)


def run_child(name, text, folder):
    folder.parent.mkdir(exist_ok=True)
    script = folder.parent / name
    script.write_text(text)
    return run_python("-W", "ignore", script, status=None, TILEWRIGHT_CACHE_DIR=str(folder))


def test_a_process_that_ends_does_not_wait_for_the_background(empty_cache):
    for _ in range(3):
        done = run_child("exits.py", EXITS, empty_cache)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        for entry in empty_cache.glob("*"):
            entry.unlink()


def test_forked_children_go_on(empty_cache):
    done = run_child("forks.py", FORKS, empty_cache)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
