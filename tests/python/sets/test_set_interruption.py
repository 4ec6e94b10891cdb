"""Signals end operations on sets, and leave nothing behind."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw

CUBE = "{ S[i, j, k] : 0 <= i, j, k < 400 }"


def closure() -> Any:
    """Takes isl long, in few calls."""
    moves = "; ".join(
        f"[i, j] -> [i + {a}, j + {b}] : 0 <= i, j < N" for a, b in [(1, 2), (2, 1), (3, 1)]
    )
    return tw.Map(f"{{ {moves} }}").transitive_closure(exact=False).transitive_closure(exact=False)


@pytest.mark.parametrize("work", [lambda: tw.Set(CUBE).points(most=10**9), closure])
def test_a_signal_ends_an_operation(work: Callable[[], Any]) -> None:
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are handled in the main thread")

    def ring(*_: Any) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begun = time.monotonic()
    try:
        with pytest.raises((TimeoutError, tw.AnalysisLimitError)) as raised:
            work()
            time.sleep(5)  # it was over before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert raised.type is TimeoutError
    assert time.monotonic() - begun < 60
    assert tw.Set("{ S[i] : 0 <= i < 3 }").count() == 3


def test_other_threads_go_on() -> None:
    """While one thread enumerates points, another one works that needs no isl."""
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        tw.Set("{ S[i, j] : 0 <= i, j < 300 }").points()
    finally:
        done.set()
        thread.join()
    assert ticks > 0
