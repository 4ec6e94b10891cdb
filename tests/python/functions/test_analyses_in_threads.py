"""Analyses run with isl's lock and without Python's: other threads go on meanwhile, and what they make
is right. Nothing here is timed: what other threads get done is counted."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from children import run_python

N, T = tw.param("N"), tw.param("T", minimum=1)
t, i, j, k = tw.iters("t i j k")


def turns_meanwhile(work: Callable[[], object]) -> int:
    """How often the main thread, which sleeps between, gets Python's lock while another thread works. It
    would get it once or twice from one that keeps it."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    worker = threading.Thread(target=run)
    worker.start()
    count = 0
    while not ended.is_set():
        time.sleep(0.001)
        count += 1
    worker.join()
    if failures:
        raise failures[0]
    return count


def stencil(name: str) -> tw.Function:
    x = tw.input("x", [N, N], tw.float64)
    a = tw.computation(f"A{name}", {t: T, i: N, j: N}, dtype=tw.float64)
    inside = (t > 0) & (i > 0) & (i < N - 1) & (j > 0) & (j < N - 1)
    a.define(~inside, x[i, j])
    a.define(
        inside,
        a[t - 1, i, j]
        + a[t - 1, i - 1, j]
        + a[t - 1, i + 1, j]
        + a[t - 1, i, j - 1]
        + a[t - 1, i, j + 1],
    )
    last = tw.computation(f"R{name}", {i: N, j: N}, a[T - 1, i, j])
    return tw.function(f"stencil{name}", outputs=[last])


def skewed(name: str, tile: int) -> tw.Function:
    f = stencil(name)
    a = f[f"A{name}"]
    a.skew(t, i, 1).skew(t, j, 1).tile(t, i, j, 4, tile, tile)
    return f


def product() -> tw.Function:
    x = tw.input("x", [N, N], tw.float64)
    c = tw.computation("P", {i: N, j: N}, tw.sum(x[i, k] * x[k, j], over={k: N}))
    return tw.function("product", outputs=[c])


def test_other_threads_run_while_one_evaluates() -> None:
    f = product()
    x = np.ones((150, 150))
    f.evaluate(x[:2, :2])
    assert turns_meanwhile(lambda: f.evaluate(x)) > 20


def test_other_threads_run_while_one_schedules() -> None:
    x = tw.input("x", [N, N, N], tw.float64)
    a = tw.computation("A", {t: T, i: N, j: N, k: N}, dtype=tw.float64)
    inside = (t > 0) & (i > 0) & (i < N - 1) & (j > 0) & (j < N - 1) & (k > 0) & (k < N - 1)
    a.define(~inside, x[i, j, k])
    sides = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
    a.define(inside, sum((a[t - 1, i + d, j + e, k + g] for d, e, g in sides), a[t - 1, i, j, k]))
    f = tw.function("heat", outputs=[a])
    f["A"].skew(t, i, 1).skew(t, j, 1).skew(t, k, 1)
    copies = [f.copy() for _ in range(4)]

    def tile() -> None:
        for number, one in enumerate(copies):
            one["A"].tile(t, i, j, 4 + number, 5 + number, 6 + number)

    assert turns_meanwhile(tile) > 8


def test_threads_that_schedule_at_the_same_time_are_right() -> None:
    x = np.random.default_rng(3).random((10, 10))
    right = stencil("m").evaluate(x, T=6)
    results: dict[int, np.ndarray] = {}

    def work(tile: int) -> None:
        results[tile] = skewed("m", tile)(x, T=6)

    threads = [threading.Thread(target=work, args=(tile,)) for tile in (3, 4, 5, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [3, 4, 5, 6]
    for result in results.values():
        np.testing.assert_array_equal(result, right)


def test_one_function_is_scheduled_and_called_at_the_same_time() -> None:
    """Each call runs by the schedule before or after a command, never by half of one."""
    x = np.random.default_rng(4).random((8, 8))
    f = stencil("o")
    right = f.evaluate(x, T=4)
    stop = threading.Event()
    failures: list[BaseException] = []

    def call() -> None:
        try:
            while not stop.is_set():
                np.testing.assert_array_equal(f(x, T=4), right)
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    a, r = f["Ao"], f["Ro"]
    for command in (
        lambda: r.tile(i, j, 4, 4),
        lambda: a.tile(i, j, 3, 3),
        lambda: r.parallelize("i0"),
        lambda: setattr(f, "check_bounds", True),
        lambda: r.vectorize("j1", 4),
    ):
        command()
    stop.set()
    for caller in callers:
        caller.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_child_forked_amid_an_analysis_can_analyse() -> None:
    program = """
import os, threading
import numpy as np
import tilewright as tw

N = tw.param("N")
i, j = tw.iters("i j")

def make(name):
    x = tw.input("x", [N, N], tw.float64)
    c = tw.computation("C" + name, {i: N, j: N}, x[i, j] * 2)
    f = tw.function("f" + name, outputs=[c])
    c.tile(i, j, 3, 3)
    return f

stop = threading.Event()
def work():
    number = 0
    while not stop.is_set():
        make(f"w{number}")
        number += 1
worker = threading.Thread(target=work)
worker.start()
statuses = []
for k in range(10):
    child = os.fork()
    if child == 0:
        y = make(f"c{k}")(np.ones((4, 4)))
        os._exit(0 if (y == 2).all() else 1)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
worker.join()
print(statuses)
"""
    assert run_python("-c", program).stdout.strip() == str([0] * 10)


def test_ctrl_c_ends_the_wait_for_another_analysis() -> None:
    program = """
import _thread, os, signal, threading
import numpy as np
import tilewright as tw

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

N = tw.param("N")
i, j, k = tw.iters("i j k")
x = tw.input("x", [N, N], tw.float64)
slow = tw.function("slow", outputs=[tw.computation("S", {i: N, j: N}, tw.sum(x[i, k] * x[k, j], over={k: N}))])
ended = threading.Event()
def work():
    try:
        slow.evaluate(np.ones((500, 500)))
    finally:
        ended.set()
worker = threading.Thread(target=work, daemon=True)
worker.start()
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while not ended.is_set():
        tw.computation("C", {i: N}, x[i, i])
except KeyboardInterrupt:
    print("interrupted", ended.is_set(), flush=True)
os._exit(0)
"""
    assert run_python("-c", program).stdout.strip() == "interrupted False"
