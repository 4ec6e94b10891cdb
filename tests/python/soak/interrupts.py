"""Ctrl-C at random moments of long kernels and proofs: how long it takes, and that all goes on after
it."""

from __future__ import annotations

import os
import random
import select
import signal
import statistics
import struct
import time
from collections.abc import Callable

import numpy as np

import tilewright as tw

__all__ = ["interrupts"]

# Not a measurement: what nobody would wait for, on a machine however busy.
LONGEST = 10.0

i, j, k, t = tw.iters("i j k t")
N, M, K = tw.params("N M K")


def _matmul(**options: bool) -> tw.Function:
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c], **options)


def _endless() -> tw.Function:
    x = tw.input("x", [N], tw.int64)
    _, steps = tw.while_loop(lambda v, s: v != 0, lambda v, s: (v + 2, s + 1), initial=(x[i], 0))
    f = tw.function("endless", outputs=[tw.computation("W", {i: N}, steps)])
    f["W"].parallelize(i)
    return f


def _terms() -> tw.Function:
    value = tw.sum(tw.cast(k * k % 7, tw.float64), over={k: K})
    return tw.function("terms", outputs=[tw.computation("S", {i: N}, value)])


def _prove(rounds: int) -> None:
    l, m = tw.iters("l m")
    a = tw.input("A", [N, N, N], tw.float64)
    b = tw.computation("B", {i: (1, N), j: (1, N), l: (1, N)}, a[i - 1, j, l] + a[i, j - 1, l - 1])
    c = tw.computation("C", {i: (2, N), j: (2, N), m: (2, N)}, b[i - 1, j, m] + b[i, j - 1, m - 1])
    f = tw.function("proof", outputs=[c])
    for number in range(rounds):
        f.reset_schedule()
        c.tile(i, j, 8 + number, 8).parallelize("i0")
        b.compute_at(c, "j0")


def _programs() -> dict[str, tuple[Callable[[], object], Callable[[], bool]]]:
    """By name: what takes long, and whether the same function still gives right values."""
    side = 6000
    large = np.ones((side, side), np.float32)
    small = np.arange(64, dtype=np.float32).reshape(8, 8)
    usual, declared, endless, terms = (
        _matmul(),
        _matmul(default_schedule=False),
        _endless(),
        _terms(),
    )
    spread = _matmul()
    spread["C"].parallelize(i, schedule="dynamic", chunk=2)
    right = small @ small
    return {
        "matmul": (lambda: usual(large, large), lambda: bool((usual(small, small) == right).all())),
        "one thread": (
            lambda: usual(large, large, threads=1),
            lambda: bool((usual(small, small) == right).all()),
        ),
        "declared": (
            lambda: declared(large, large),
            lambda: bool((declared(small, small) == right).all()),
        ),
        "dynamic": (
            lambda: spread(large, large),
            lambda: bool((spread(small, small) == right).all()),
        ),
        "endless": (
            lambda: endless(np.arange(1, 64, 2)),
            lambda: endless(np.array([-4, 0])).tolist() == [2, 0],
        ),
        "terms": (lambda: terms(N=30, K=10**12), lambda: terms(N=1, K=3)[0] == 5),
        "evaluator": (
            lambda: usual.evaluate(large[:400, :400], large[:400, :400]),
            lambda: bool((usual.evaluate(small, small) == right).all()),
        ),
        "proof": (lambda: _prove(1000), lambda: True),
    }


def _interrupted(work: Callable[[], object], delay: float) -> float:
    """Seconds from the signal, which another process sends, to the exception."""
    reader, writer = os.pipe()
    sender = os.fork()
    if sender == 0:
        time.sleep(delay)
        os.write(writer, struct.pack("d", time.monotonic()))
        os.kill(os.getppid(), signal.SIGINT)
        os._exit(0)
    try:
        work()
        select.select([reader], [], [], 60)  # the other process may be late
        time.sleep(LONGEST)
    except KeyboardInterrupt:
        end = time.monotonic()
    else:
        raise AssertionError("no KeyboardInterrupt came")
    sent: float = struct.unpack("d", os.read(reader, 8))[0]
    os.close(reader)
    os.close(writer)
    os.waitpid(sender, 0)
    return end - sent


def interrupts(count: int, seed: int, progress: Callable[[int], None]) -> str:
    """Each of some programs is interrupted `count` times, and must work after each."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    draw = random.Random(seed)
    all_times: list[float] = []
    for name, (work, works) in _programs().items():
        if not works():  # compiles
            raise AssertionError(f"{name}: wrong values before any interruption")
        times = []
        for step in range(count):
            times.append(_interrupted(work, draw.uniform(0.03, 0.3)))
            if not works():
                raise AssertionError(f"{name}: wrong values after an interruption")
            progress(step)
        print(
            f"  {name:<10} median {1e3 * statistics.median(times):6.1f} ms, "
            f"longest {1e3 * max(times):6.1f} ms",
            flush=True,
        )
        all_times += times
    if max(all_times) > LONGEST:
        raise AssertionError(f"an interruption took {max(all_times):.1f} s")
    return (
        f"{len(all_times)} interruptions, median {1e3 * statistics.median(all_times):.1f} ms, "
        f"longest {1e3 * max(all_times):.1f} ms"
    )
