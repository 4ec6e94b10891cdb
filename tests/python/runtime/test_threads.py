"""Threads: of parallel loops, of callers, and forked children."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")


def matmul(name="matmul"):
    a = tw.input("A", [N, K], tw.float64)
    b = tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function(name, outputs=[c])


def integers(*shape):
    return np.random.default_rng(5).integers(-9, 9, shape).astype(np.float64)


def test_number_of_threads():
    before = tw.get_num_threads()
    assert before >= 1
    try:
        for count in (1, 2, 5):
            tw.set_num_threads(count)
            assert tw.get_num_threads() == count
            f = matmul()
            f["C"].parallelize(i)
            a, b = integers(23, 7), integers(7, 5)
            np.testing.assert_array_equal(f(a, b), a @ b)
    finally:
        tw.set_num_threads(before)


@pytest.mark.parametrize("bad", [0, -1])
def test_too_few_threads(bad):
    with pytest.raises(ValueError, match="at least 1"):
        tw.set_num_threads(bad)


def test_threads_must_be_an_integer():
    with pytest.raises(TypeError, match="integer"):
        tw.set_num_threads(2.0)


def test_several_python_threads_call_one_function():
    f = matmul()
    f["C"].parallelize(i)
    a, b = integers(40, 30), integers(30, 20)
    expected = a @ b
    failures = []

    def work():
        for _ in range(20):
            if not np.array_equal(f(a, b), expected):
                failures.append("wrong value")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_interpreter_runs_while_a_kernel_does():
    """A Python thread makes progress during one long call, which it could not under the lock."""
    f = matmul()
    a, b = integers(300, 300), integers(300, 300)
    f(a, b)
    finished = threading.Event()
    started = threading.Event()
    seen_before_end = []

    def count():
        started.set()
        while not finished.is_set():
            seen_before_end.append(None)
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    started.wait()
    interval = sys.getswitchinterval()
    # The lock is never given up because of time: only the kernel's release lets the thread run.
    sys.setswitchinterval(1000)
    try:
        before = len(seen_before_end)
        for _ in range(20):
            f(a, b)
        after = len(seen_before_end)
    finally:
        sys.setswitchinterval(interval)
        finished.set()
        thread.join()
    assert after > before


CHILD = """
import os, sys
import numpy as np
import tilewright as tw
i, j = tw.iters("i j"); N = tw.param("N")
x = tw.input("x", [N], tw.float64)
y = tw.computation("y", {i: N}, x[i] * 2)
f = tw.function("f", outputs=[y])
y.parallelize(i)
v = np.arange(1000.0)
assert (f(v) == v * 2).all()
child = os.fork()
if child == 0:
    os._exit(0 if (f(v) == v * 2).all() else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_can_run_parallel_loops():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "3",
            "PYTHONPATH": str(pathlib.Path(tw.__file__).parents[1]),
        },
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
