"""Deep expressions: refused where they are made, or where a thread has no stack to walk them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest
import small_stack

import tilewright as tw
from children import run_python

DEEPEST = 2000

N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)


def sum_of(terms: int) -> tw.Expression:
    e = A[i]  # two deep: the read and its subscript
    for _ in range(terms):
        e = e + A[i]
    return e


def on_a_thread(body: Callable[[], object], kibibytes: int) -> list[Exception]:
    """What `body` raised on a thread with such a stack."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            body()
        except Exception as error:
            raised.append(error)

    before = threading.stack_size(kibibytes << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return raised


def test_expressions_that_are_too_deep():
    with pytest.raises(tw.DeclarationError, match="at most 2000 operations deep"):
        sum_of(20000)
    with pytest.raises(tw.DeclarationError, match="at most 2000 operations deep"):
        sum_of(DEEPEST - 1)


def use(terms: int) -> None:
    C = tw.computation("C", {i: N}, sum_of(terms))
    f = tw.function("deep", outputs=[C])
    assert str(f.layers).count("A[i]") == terms + 1
    a = np.array([1, 2, -1], np.float32)
    np.testing.assert_array_equal(f.evaluate(a), (terms + 1) * a)
    C.split(i, 4)
    assert str(f.schedule) == 'C.split("i", 4)'
    assert "A[" in str(f.loops)
    np.testing.assert_array_equal(f(a), (terms + 1) * a)
    copy = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(copy(a), (terms + 1) * a)


def test_the_deepest_expression():
    assert on_a_thread(lambda: use(DEEPEST - 2), 16 << 10) == []


def test_small_stacks():
    assert on_a_thread(lambda: use(150), 512) == []
    (error,) = on_a_thread(lambda: use(DEEPEST - 2), 512)
    assert isinstance(error, tw.DeclarationError)
    assert "an expression of depth 2000 takes" in str(error)
    assert "threading.stack_size" in str(error)


SCRIPT = small_stack.__file__
NEED_NO_STACK = ("freed", "made", "pickle", "copy")
RUN_AT_ONCE = ("call", "compile")  # once the function is compiled


@pytest.mark.parametrize("entry", small_stack.ENTRIES)
def test_what_another_thread_declared(entry: str):
    """Each in a process of its own: small_stack.py says why."""
    for state in ((), ("warm",)):
        run = run_python(SCRIPT, entry, "256", *state)
        if entry in NEED_NO_STACK or (state and entry in RUN_AT_ONCE):
            assert run.stdout == "nothing\n"
        else:
            assert run.stdout.startswith("DeclarationError: [TW100] an expression of depth")
            assert "of stack" in run.stdout


def test_inlining_that_makes_an_expression_too_deep():
    B = tw.computation("B", {i: N}, sum_of(1200))
    e = B[i]
    for _ in range(1200):
        e = e + B[i]
    C = tw.computation("C", {i: N}, e)
    f = tw.function("deep", outputs=[C])
    with pytest.raises(tw.ScheduleError, match=r"B.inline\(\): .*at most 2000 operations deep"):
        B.inline()
    np.testing.assert_array_equal(f(np.ones(1, np.float32)), np.float32([1201 * 1201]))
