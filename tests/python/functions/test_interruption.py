"""Ctrl-C: kernels, proofs and the evaluator end soon, and everything works afterwards. Each test
runs a process of its own, which gets real signals; how soon is measured by the soak
(``scripts/soak interrupts``), and here only not to be minutes."""

from __future__ import annotations

import pytest

import tilewright as tw
from children import run_python

START = """
import os, signal, subprocess, sys, threading, time
import numpy as np
import tilewright as tw

# A shell's jobs in the background begin with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

def send(name, delay=0.2):
    # From another process: a thread might have to wait for the GIL.
    subprocess.Popen(["/bin/sh", "-c", f"PATH=/usr/bin:/bin; sleep {delay}; kill -{name} {os.getpid()}"])

def expect(kind, call, name="INT"):
    send(name)
    try:
        call()
    except kind:
        return
    sys.exit(f"{call} was not interrupted")

def matmul(**options):
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c], **options)

def endless():
    x = tw.input("x", [N], tw.int64)
    _, steps = tw.while_loop(lambda v, s: v != 0, lambda v, s: (v + 2, s + 1), initial=(x[i], 0))
    return tw.function("endless", outputs=[tw.computation("W", {i: N}, steps)])

large = np.ones((5000, 5000), np.float32)
small = np.arange(64.0, dtype=np.float32).reshape(8, 8)
"""

KERNELS = {
    "default": "f = matmul(); call = lambda: f(large, large)",
    "declared": "f = matmul(default_schedule=False); call = lambda: f(large, large)",
    "parallel": "f = matmul(); f['C'].parallelize(i); call = lambda: f(large, large)",
    "dynamic": """
f = matmul(); f["C"].parallelize(i, schedule="dynamic", chunk=4); call = lambda: f(large, large)
""",
    "tiled": "f = matmul(); f['C'].tile(i, j, 32, 32); call = lambda: f(large, large)",
    "joined": """
f = matmul(); f["C"].parallelize(i, j); call = lambda: f(large, large)
""",
    "given out": """
f = matmul(); out = np.empty_like(large); call = lambda: f(large, large, out=out)
""",
    "one thread": "f = matmul(); call = lambda: f(large, large, threads=1)",
    "temporaries": """
a = tw.input("A", [N, N], tw.float32)
s = tw.computation("S", {i: N, k: N}, a[i, k] + 0)
c = tw.computation("C", {i: N, j: N}, tw.sum(s[i, k] * s[k, j], over={k: N}))
f = tw.function("square", outputs=[c], default_schedule=False)
call = lambda: f(large)
""",
}


def run(code, threads=3, **environment):
    environment = {"OMP_NUM_THREADS": str(threads), **environment}
    return run_python("-W", "ignore", "-c", START + code, timeout=120, **environment).stdout


@pytest.mark.parametrize("name", KERNELS)
def test_a_long_kernel_ends(name):
    run(
        KERNELS[name]
        + """
expect(KeyboardInterrupt, call)
arguments = (small,) if f.name == "square" else (small, small)
assert (f(*arguments) == small @ small).all()
expect(KeyboardInterrupt, call)
assert (f(*arguments) == small @ small).all()
"""
    )


def test_an_endless_loop_ends():
    run(
        """
f = endless()
expect(KeyboardInterrupt, lambda: f(np.array([1, 3])))
f["W"].parallelize(i)
expect(KeyboardInterrupt, lambda: f(np.arange(1, 2001, 2)))
expect(KeyboardInterrupt, lambda: f(np.array([1, -2, 3])))  # the caller's part is soon done
assert (f(np.array([-4, 0])) == [2, 0]).all()
""",
        TILEWRIGHT_LEAST_PARALLEL_WORK="0",
    )


def test_a_loop_that_no_memory_bounds_ends():
    run(
        """
terms = tw.cast(k * k % 7, tw.float64)
f = tw.function("terms", outputs=[tw.computation("S", {i: N}, tw.sum(terms, over={k: K}))])
expect(KeyboardInterrupt, lambda: f(N=3, K=10**12))
assert (f(N=2, K=3) == 5).all()
"""
    )


def test_the_proof_of_a_schedule_ends():
    """Every second question of this loop is aborted somewhere; none changes the function."""
    run(
        """
a = tw.input("A", [N, N, N], tw.float64)
l, m = tw.iters("l m")
b = tw.computation("B", {i: (1, N - 1), j: (1, N - 1), k: (1, N - 1)},
                   a[i - 1, j, k] + a[i, j - 1, k] + a[i, j, k - 1] + a[i + 1, j + 1, k + 1])
c = tw.computation("C", {i: (2, N - 2), j: (2, N - 2), k: (2, N - 2)},
                   b[i - 1, j, k] + b[i, j + 1, k] + b[i, j, k - 1] + b[i + 1, j + 1, k + 1])
f = tw.function("two", outputs=[c])
interrupted = whole = 0
for delay in range(25):
    f.reset_schedule()
    before = str(f.schedule)
    try:
        send("INT", 0.002 * delay)  # which may come before this returns
        f["C"].tile(i, j, 8 + delay, 8).parallelize("i0")
        f["B"].compute_at(c, "j0")
        whole += 1
        time.sleep(2)
    except KeyboardInterrupt:
        interrupted += 1
values = np.random.default_rng(1).random((12, 12, 12))
assert np.allclose(f(values), f.evaluate(values))
f.reset_schedule()
assert np.allclose(f(values), f.evaluate(values))
f["C"].tile(i, j, 4, 4)
assert np.allclose(f(values), f.evaluate(values))
assert interrupted > 0
"""
    )


def test_the_evaluator_ends():
    run(
        """
f = matmul()
expect(KeyboardInterrupt, lambda: f.evaluate(large[:500, :500], large[:500, :500]))
assert (f.evaluate(small, small) == small @ small).all()
"""
    )


def test_handlers_of_other_signals():
    """One that raises ends the call, one that returns does not."""
    run(
        """
class Late(Exception):
    pass

def late(number, frame):
    raise Late

signal.signal(signal.SIGALRM, late)
f = endless()
expect(Late, lambda: f(np.array([1])), "ALRM")

seen = []
signal.signal(signal.SIGINT, lambda number, frame: seen.append(time.monotonic()))
g = matmul(default_schedule=False)
side = 1500
square = np.ones((side, side), np.float32)
send("INT")
while not seen:
    assert (g(square, square) == side).all()
assert signal.getsignal(signal.SIGALRM) is late

def call_again(number, frame):  # a kernel within a kernel
    assert (f(np.array([-4])) == 2).all()
    raise Late

signal.signal(signal.SIGINT, call_again)
expect(Late, lambda: f(np.array([1])))
signal.signal(signal.SIGINT, signal.default_int_handler)
expect(KeyboardInterrupt, lambda: f(np.array([1])))
"""
    )


def test_interrupt_main():
    """No signal arrives, only Python's note of one."""
    run(
        """
import _thread
f = endless()
threading.Timer(0.2, _thread.interrupt_main).start()
try:
    f(np.array([1]))
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
    )


def test_ignored_signals_are_ignored_and_handlers_stay():
    run(
        """
import ctypes
signal.signal(signal.SIGINT, signal.SIG_IGN)
f = matmul(default_schedule=False)
side = 900
square = np.ones((side, side), np.float32)
send("INT")
begin = time.monotonic()
while time.monotonic() < begin + 0.5:
    assert (f(square, square) == side).all()
signal.signal(signal.SIGINT, signal.default_int_handler)
libc = ctypes.CDLL(None)
libc.signal.restype = ctypes.c_void_p
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
before = libc.signal(signal.SIGINT, None)
libc.signal(signal.SIGINT, before)
g = endless()
expect(KeyboardInterrupt, lambda: g(np.array([1])))
now = libc.signal(signal.SIGINT, None)
libc.signal(signal.SIGINT, now)
assert before == now
"""
    )


def test_other_threads_are_not_interrupted():
    run(
        """
f = endless()
results = []
g = matmul(default_schedule=False)
side = 1500
square = np.ones((side, side), np.float32)
worker = threading.Thread(target=lambda: results.append((g(square, square) == side).all()))
worker.start()
expect(KeyboardInterrupt, lambda: f(np.array([1])))
worker.join()
assert results == [True]
"""
    )


def test_interrupting_again_and_again_keeps_no_memory():
    run(
        """
import resource
a = tw.input("A", [N, N], tw.float32)
s = tw.computation("S", {i: N, k: N}, a[i, k] + 0)
c = tw.computation("C", {i: N, j: N}, tw.sum(s[i, k] * s[k, j], over={k: N}))
f = tw.function("square", outputs=[c], default_schedule=False)
f["S"].parallelize(i)
f["C"].parallelize(i)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
f.compile()
def rounds(count):
    for _ in range(count):
        send("INT", 0.05)
        try:
            f(large[:3000, :3000])
        except KeyboardInterrupt:
            continue
        sys.exit("not interrupted")
rounds(3)
before = peak()
rounds(8)
assert peak() < before + 60_000, (before, peak())
assert (f(small) == small @ small).all()
"""
    )


def test_kernels_of_little_work_never_look_up():
    i, j = tw.iters("i j")
    n = tw.param("N")
    x = tw.input("x", [64, 64], tw.float64)
    small = tw.function("small", outputs=[tw.computation("y", {i: 64, j: 64}, x[i, j] * 2)])
    assert "tilewright_poll" not in small.llvm
    z = tw.input("z", [n, 64], tw.float64)
    large = tw.function("large", outputs=[tw.computation("y", {i: n, j: 64}, z[i, j] * 2)])
    assert "tilewright_poll" in large.llvm
    large["y"].tile(i, j, 8, 8)
    assert large.llvm.count("call i32 @tilewright_poll") == 1  # in the outermost loop alone


def test_rests_of_rows_and_threads_never_look_up():
    """What comes up once in a row, and parallel loops that nothing repeats, count nothing."""
    i, j, t = tw.iters("i j t")
    n, m = tw.params("N M")
    x = tw.input("x", [n, m], tw.float64)
    rows = tw.function("rows", outputs=[tw.computation("y", {i: n, j: m}, x[i, j] * 2)])
    rows["y"].vectorize(j, 8).parallelize(i)
    assert rows.llvm.count("call i32 @tilewright_poll") == 1
    # Many parallel loops of little work, one after the other: they are counted around them.
    z = tw.input("z", [m], tw.float64)
    steps = tw.computation(
        "s",
        {t: n, j: m},
        lambda s: [(t == 0, z[j]), (t > 0, s[t - 1, j] * 2)],
        dtype=tw.float64,
    )
    again = tw.function("again", outputs=[steps])
    again["s"].parallelize(j)
    assert again.llvm.count("call i32 @tilewright_poll") >= 2


def test_no_signal_is_lost_between_analyses():
    """What a handler raises is raised by some call, wherever the signal arrives."""
    run(
        """
import random
class Alarm(Exception):
    pass
raised = caught = 0
def handler(*_):
    global raised
    raised += 1
    raise Alarm
signal.signal(signal.SIGALRM, handler)
x = tw.input("x", [N], tw.float32)
f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)], default_schedule=False)
for _ in range(1000):
    before = raised
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + random.random() * 0.0005)
        while raised == before:
            f._loops_text()
    except Alarm:
        caught += 1
assert caught == raised == 1000, (caught, raised)
"""
    )


@pytest.mark.parametrize("waits", [False, True], ids=["compiles", "waits for another thread"])
def test_compiling_ends(waits, tmp_path):
    """LLVM works on, and what it makes is there for the next call."""
    run(
        f"""
f = matmul(optimize="full")
f["C"].tile(i, j, 8, 16).unroll("i1").unroll("j1")
if {waits}:
    threading.Thread(target=f.compile).start()
    time.sleep(0.1)
send("INT", 0.3)
start = time.monotonic()
try:
    f(small, small)
    sys.exit("it was not interrupted")
except KeyboardInterrupt:
    interrupted = time.monotonic() - start
assert f.last_compile is None, interrupted
key = f.key
assert (f(small, small) == small @ small).all()
compiled = time.monotonic() - start
assert interrupted < compiled / 2, (interrupted, compiled)
assert tw.cache.info().entries == 1, tw.cache.info()
""",
        TILEWRIGHT_CACHE_DIR=str(tmp_path),
    )


def test_a_handler_that_forks_while_the_main_thread_compiles(tmp_path):
    run(
        """
f = matmul(optimize="full")
f["C"].tile(i, j, 8, 16).unroll("i1").unroll("j1")
children = []
def handler(*_):
    children.append(os.fork())
signal.signal(signal.SIGUSR1, handler)
send("USR1", 0.3)
assert (f(small, small) == small @ small).all()
if 0 in children:
    os._exit(0)
assert len(children) == 1 and os.waitpid(children[0], 0)[1] == 0
""",
        TILEWRIGHT_CACHE_DIR=str(tmp_path),
    )


# ---- handlers that people write ----

LONG = """
x = tw.input("x", [N], tw.float64)
condition = i % 2 != 1
for p in (3, 5, 7, 11, 13):
    condition = condition & (i % p != p // 2)
declare = lambda: tw.computation("A", {i: N}, x[i], where=condition)

def alarmed(*_):
    global alarms
    alarms += 1
    if raises:
        raise TimeoutError("alarm")

alarms, raises = 0, True
signal.signal(signal.SIGALRM, alarmed)
signal.setitimer(signal.ITIMER_REAL, 0.05)
"""


def test_what_an_alarm_raises_ends_an_analysis():
    run(
        LONG
        + """
try:
    declare()
except TimeoutError as error:
    assert str(error) == "alarm"
else:
    sys.exit("the alarm was lost")
assert alarms == 1
assert (matmul()(small, small) == small @ small).all()
"""
    )


def test_an_analysis_goes_on_when_a_handler_returns():
    run(
        LONG
        + """
raises = False
try:
    declare()
except tw.AnalysisLimitError:
    pass
assert alarms == 1
"""
    )


def test_a_handler_may_use_the_library_in_the_middle_of_an_analysis():
    run(
        LONG
        + """
def alarmed(*_):
    global alarms
    alarms += 1
    assert (matmul()(small, small) == small @ small).all()

signal.signal(signal.SIGALRM, alarmed)
try:
    declare()
except tw.AnalysisLimitError:
    pass
assert alarms == 1
"""
    )


def test_an_interrupt_ends_a_declaration():
    run(
        LONG
        + """
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    declare()
except KeyboardInterrupt:
    pass
else:
    sys.exit("not interrupted")
"""
    )


def test_a_handler_that_runs_while_an_error_is_made_is_not_lost():
    run(
        LONG
        + """
from tilewright import _core
from tilewright.base.core_errors import make_error
signal.setitimer(signal.ITIMER_REAL, 0)

def make(*arguments):
    os.kill(os.getpid(), signal.SIGALRM)
    return make_error(*arguments)

_core.set_error_factory(make)
try:
    tw.computation("B", {i: N}, x[i + 1])
except TimeoutError:
    pass
else:
    sys.exit("nothing was raised")
"""
    )
