"""Threads: of parallel loops, of callers, and forked children."""

from __future__ import annotations

import os
import sys
import threading
import time

import numpy as np
import pytest

import tilewright as tw
from children import run_python

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
    run_python("-W", "ignore", "-c", CHILD, OMP_NUM_THREADS="3")


# ---- how many ----


THREADS_USED = """
import os, sys, threading, time
import numpy as np
import tilewright as tw
i = tw.iter("i"); N = tw.param("N")
x = tw.input("x", [N], tw.float64)
y = tw.computation("y", {i: N}, x[i] * 2)
f = tw.function("f", outputs=[y])
y.parallelize(i)
def tasks():
    # A thread that compiled may be there for a moment.
    count, quiet = len(os.listdir("/proc/self/task")), 0
    while quiet < 10:
        time.sleep(0.01)
        now = len(os.listdir("/proc/self/task"))
        count, quiet = now, quiet + 1 if now == count else 0
    return count
def workers():
    return tasks() - before
f.compile()
v = np.arange(1000.0)
assert (f(v, threads=1) == v * 2).all()
# With the first thread a sanitizer begins one of its own.
threading.Thread(target=threading.Event().wait, daemon=True).start()
before = tasks()
"""


def count_threads(code, **environment):
    own = {"OPENBLAS_NUM_THREADS": "1", "TILEWRIGHT_OPTIMIZE": "light", "OMP_NUM_THREADS": ""}
    return run_python("-W", "ignore", "-c", THREADS_USED + code, **{**own, **environment}).stdout


def test_the_order_of_what_says_how_many_threads():
    count_threads(
        """
assert tw.get_num_threads() == 2
f(v); assert workers() == 1, workers()
tw.set_num_threads(3)
f(v); assert workers() == 2, workers()
f.threads = 4
f(v); assert workers() == 3, workers()
assert f.copy().threads == 4
f(v, threads=5); assert workers() == 4, workers()
f(v, threads=None, out=v); assert workers() == 4
f.threads = None
assert f.threads is None and (v == np.arange(1000.0) * 2).all()
""",
        TILEWRIGHT_NUM_THREADS="2",
        OMP_NUM_THREADS="7",
        TILEWRIGHT_LEAST_PARALLEL_WORK="0",
    )


@pytest.mark.parametrize(("text", "expected"), [("3", "3"), ("4,2", "4"), ("0", None), ("x", None)])
def test_openmp_environment(text, expected):
    usual = count_threads("print(tw.get_num_threads())").strip()
    found = count_threads("print(tw.get_num_threads())", OMP_NUM_THREADS=text).strip()
    assert found == (expected or usual)


def test_one_processor_gives_one_thread():
    first = min(os.sched_getaffinity(0))
    out = count_threads(f"os.sched_setaffinity(0, {{{first}}}); print(tw.get_num_threads())")
    assert out.strip() == "1"


def test_a_child_with_other_processors_asks_again():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    count_threads(
        """
assert tw.get_num_threads() > 1
child = os.fork()
if child == 0:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os._exit(tw.get_num_threads())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""
    )


@pytest.mark.parametrize(
    ("bad", "kind"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError)]
)
def test_bad_numbers_of_threads(bad, kind):
    f = matmul()
    a = integers(3, 3)
    with pytest.raises(kind, match="threads"):
        f(a, a, threads=bad)
    with pytest.raises(kind, match="threads"):
        f.threads = bad
    np.testing.assert_array_equal(f(a, a, threads=10**30), a @ a)
    np.testing.assert_array_equal(f(a, a, **{"thr" + "eads": np.int32(2)}), a @ a)


def test_an_argument_called_threads_is_an_argument():
    threads = tw.input("threads", [N], tw.float64)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, threads[i] + 1)])
    values = np.arange(3.0)
    np.testing.assert_array_equal(f(threads=values), values + 1)
    assert "threads=None" not in str(f.__signature__)
    parameter = tw.param("threads")
    x = tw.input("x", [N], tw.int64)
    g = tw.function("g", outputs=[tw.computation("y", {i: N}, x[i] + parameter)])
    np.testing.assert_array_equal(g(np.arange(3), threads=5), np.arange(3) + 5)
    assert str(matmul().__signature__).split(" ->")[0].endswith("threads: int = None)")


def test_sixteen_callers():
    """Of one function and of several, parallel and not, while one of them schedules its own."""
    shared = matmul()
    shared["C"].parallelize(i)
    a, b = integers(60, 30), integers(30, 20)
    expected = a @ b
    failures = []

    def work(caller):
        own = matmul(f"own{caller}")
        if caller % 2:
            own["C"].parallelize(i).interchange(j, k)
        for round_ in range(10):
            for f in (shared, own):
                if not np.array_equal(f(a, b, threads=1 + (caller + round_) % 4), expected):
                    failures.append(caller)

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_parallel_loop_inside_a_parallel_loop():
    f = matmul()
    f["C"].parallelize(i).parallelize(j)
    a, b = integers(40, 30), integers(30, 20)
    np.testing.assert_array_equal(f(a, b, threads=4), a @ b)


def test_a_process_ends_while_daemon_threads_call():
    """Python ends them where they ask for its lock; that must not end the process with an abort."""
    run_python(
        "-c",
        """
import threading, time
import numpy as np
import tilewright as tw
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float64)
f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)])
a = np.ones(1000)
f(a)

class Given:
    def __array__(self, dtype=None, copy=None):
        return np.ones(sum(1 for _ in range(1000)))

def call(argument):
    while True:
        f(argument)

for argument in (a, a, a, Given(), Given()):
    threading.Thread(target=call, args=(argument,), daemon=True).start()
time.sleep(0.3)
""",
    )
