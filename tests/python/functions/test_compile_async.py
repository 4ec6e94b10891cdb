"""Compiling on other threads: futures, waiting callers, one compilation for all who ask."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as tw


def scaled(factor: float, name: str = "scaled") -> tw.Function:
    i, n = tw.iter("i"), tw.param("N")
    x = tw.input("x", [n], tw.float64)
    y = tw.computation("y", {i: n}, tw.sin(x[i]) * factor)
    f = tw.function(name, outputs=[y])
    y.vectorize(i, 8)
    return f


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    tw.cache.clear_memory()


X = np.linspace(0, 1, 50)


def test_a_future_says_what_compile_says():
    f = scaled(3.0)
    info = f.compile_async(X).result(60)
    assert not info["from_cache"]
    assert info["key"] == f.compile(X)["key"]
    np.testing.assert_allclose(f(X), np.sin(X) * 3)


def test_without_arrays():
    assert scaled(4.0).compile_async().result(60)["key"]


def test_errors_come_out_of_the_future():
    f = scaled(5.0)
    with pytest.raises(TypeError, match="float64"):
        f.compile_async(X.astype(np.float32)).result(60)


def test_threads_that_ask_together_compile_once():
    before = tw.cache.info()
    threads = 8
    barrier = threading.Barrier(threads)

    def ask(_: int) -> dict:
        f = scaled(6.0)  # an object of its own: they meet in the cache
        barrier.wait(60)
        return f.compile(X)

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(ask, range(threads)))
    assert len({info["key"] for info in found}) == 1
    assert sum("codegen" in info["milliseconds"] for info in found) == 1
    assert tw.cache.info().entries == 1
    assert tw.cache.info().memory_entries >= 1
    assert tw.cache.info().misses > before.misses


def test_a_call_waits_for_the_compilation():
    f = scaled(7.0)
    future = f.compile_async(X)
    np.testing.assert_allclose(f(X), np.sin(X) * 7)
    future.result(60)
    assert tw.cache.info().entries == 1


def test_a_child_of_fork_compiles_by_itself():
    scaled(8.0).compile_async(X).result(60)
    pending = [scaled(9.0 + k, f"pending{k}").compile_async(X) for k in range(4)]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # Nobody works on those of the parent here: who waits for one does it.
            lost = [future.result(60)["key"] for future in pending]
            assert len(set(lost)) == 4 and pending[0].exception() is None
            f = scaled(12.0, "pending3")
            ok = np.allclose(f.compile_async(X).result(60) and f(X), np.sin(X) * 12)
            status = 0 if ok else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    for future in pending:
        future.result(60)


def test_a_list_to_warm_up(capsys):
    functions = [scaled(20.0 + k, f"warm{k}") for k in range(3)]
    found = tw.compile_all([functions[0], (functions[1], X), [functions[2], X]], progress=True)
    assert [info["key"] for info in found] == [f.compile(X)["key"] for f in functions]
    assert "3/3" in capsys.readouterr().err
    assert tw.compile_all([], progress=False) == []
    assert tw.compile_all(functions, progress=False)[0]["key"] == found[0]["key"]


def test_a_list_raises_the_first_error_after_the_rest():
    good, bad = scaled(30.0, "good"), scaled(31.0, "bad")
    with pytest.raises(TypeError, match="float64"):
        tw.compile_all([(bad, X.astype(np.float32)), (good, X)], progress=False)
    assert good.last_compile is not None
    with pytest.raises(TypeError, match=r"requests\[1\] must be a function"):
        tw.compile_all([good, 3], progress=False)


def test_each_is_told_of_its_own_kernel():
    """Compilations of one function for several layouts, while a handler of the log is slow."""

    class Slow(logging.Handler):
        def emit(self, record):
            time.sleep(0.01)

    i, j = tw.iters("i j")
    n, m = tw.params("N M")
    x = tw.input("x", [n, m], tw.float32)
    array = np.ones((8, 8), np.float32)
    views = [array, array.T, array[::2, ::2]]
    logger, handler = logging.getLogger("tilewright"), Slow()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        for k in range(12):
            y = tw.computation("y", {i: n, j: m}, x[i, j] + 1)
            f, g = tw.function(f"f{k}", outputs=[y]), tw.function(f"f{k}", outputs=[y])
            futures = [f.compile_async(view) for view in views]
            found = [future.result(60)["key"] for future in futures]
            assert found == [g.compile(view)["key"] for view in views]
            assert f.last_compile["key"] in found
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_errors_name_the_line_that_asked():
    with pytest.raises(tw.ArgumentError) as failed:
        scaled(15.0).compile_async(X.reshape(1, -1)).result(60)
    assert failed.value.location.file == __file__
    assert "compile_async(X.reshape" in failed.value.location.text
