"""Commands that are checked together, at the end of a block: orders whose single steps are not legal; what is refused
at the end, or breaks off, changes nothing; the schedule's value keeps the group."""

from __future__ import annotations

import copy
import gc
import pickle
import threading

import numpy as np
import programs
import pytest
from programs import check
from restructured import AT_LEAST_TWO, SIZES, backwards, diagonals, fused, i, j

import tilewright as tw
from children import run_python


def window() -> tw.Function:
    """D and C both read B."""
    n = tw.param("N")
    x = tw.input("x", [n + 1], tw.int64)
    b = tw.computation("B", {i: n + 1}, x[i] * 3)
    c = tw.computation("C", {i: n}, b[i] + b[i + 1])
    d = tw.computation("D", {i: n}, c[i] * b[i])
    return tw.function("f", outputs=[d], default_schedule=False)


# ---- what becomes possible ----


def test_a_prefix_may_be_illegal():
    program = fused()
    with pytest.raises(tw.IllegalScheduleError):
        program.function["C"].reverse(i)
    backwards(program.function)
    assert str(program.function.loops).count("for ") == 3
    check(program, *SIZES)


def test_a_skew_that_needs_an_interchange_with_it():
    program = diagonals()
    f = program.function
    with pytest.raises(tw.IllegalScheduleError):
        f["C"].interchange(i, j)
    with f.transaction():
        f["C"].interchange(i, j)
        f["C"].reverse(j)
    assert f["C"].loops == ("j", "i")
    check(program, *SIZES)


def test_the_end_asks_once(monkeypatch):
    """Ten commands, of which each would be asked about: the digests of the schedules between are not known."""
    program = fused()
    f = program.function
    with f.transaction():
        for _ in range(4):
            f["C"].reverse(i)
            f["B"].reverse(i)
    assert len(f.schedule) == 2
    assert len(f.schedule.commands[1][2]) == 8
    check(program, (3, 5))


def test_a_reader_is_put_into_the_loops_after_what_it_reads():
    """compute_at asks that all readers are in the loop: here at the end only."""
    f = window()
    with pytest.raises(tw.ScheduleError):
        f["B"].compute_at("D", "i")
    with f.transaction():
        f["B"].compute_at("D", "i")
        f["C"].before("D", "i")
    v = np.arange(9)
    np.testing.assert_array_equal(f(v), (v[:-1] + v[1:]) * 3 * v[:-1] * 3)


def test_new_loops_and_computations_are_there_within():
    program = programs.matmul()
    f = program.function
    with f.transaction() as g:
        assert g is f
        f["C"].tile(i, j, 4, 8)
        assert f["C"].loops == ("i0", "j0", "i1", "j1", "k")
        f["C"].parallelize("i0")
        assert f["C"].tags["i0"] == "parallel"
        local = f["C"].cache("C", "j0")
        assert local.loops == ("i1", "j1", "k")
        local.vectorize("j1", 8)
        assert "C_local" in f.computations
    assert f["C_local"].tags["j1"] == "vector(8)"
    check(program, (9, 7), (16, 16))


def test_a_fold_that_follows_from_the_order():
    n, t = tw.param("N"), tw.iter("t")
    x = tw.input("x", [n], tw.int64)
    s = tw.computation(
        "S", {t: 5, i: n}, lambda s: [(t == 0, x[i]), (t > 0, s[t - 1, i] + 1)], dtype=tw.int64
    )
    f = tw.function("f", outputs=[tw.computation("R", {i: n}, s[4, i])], default_schedule=False)
    with f.transaction():
        f["S"].storage_fold(t)
    assert f.schedule.commands[0][2][0] == ("S", "storage_fold", ("t", 1))
    np.testing.assert_array_equal(f(np.arange(3)), np.arange(3) + 4)
    other = tw.function("g", [tw.computation("Q", {i: n}, s[4, i])], default_schedule=False)
    with pytest.raises(tw.ScheduleError, match=r"follows from a legal order.* say it here"):
        with other.transaction():
            other["S"].reverse(t)
            other["S"].storage_fold(t)
    assert not other.schedule


# ---- refusals ----


def test_an_illegal_whole_changes_nothing():
    program = fused()
    f = program.function
    before, loops, handles = f.schedule, str(f.loops), f["C"].loops
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        with f.transaction():
            f["B"].split(i, 4)
            f["C"].split(i, 4).reverse("i0")
    error = refusal.value
    assert error.kind == "order" and error.source_instance and error.sink_instance
    assert error.function is f and error.computation == ""
    assert error.command.startswith("with f.transaction(): ")
    assert 'C.split("i", 4).reverse("i0")' in error.message
    assert "with f.transaction():" in str(error)  # the line of the program
    assert (f.schedule, str(f.loops), f["C"].loops) == (before, loops, handles)
    check(program, *SIZES)
    backwards(f)
    check(program, (3, 5))


def test_what_the_block_raises_changes_nothing():
    program = fused()
    f = program.function
    before = f.schedule
    for error in (RuntimeError, KeyboardInterrupt, GeneratorExit):
        with pytest.raises(error):
            with f.transaction():
                f["C"].reverse(i)
                raise error
        assert f.schedule == before
        assert f["C"].loops == ("i", "j")
        check(program, (3, 5))


def test_arguments_are_checked_at_the_command():
    program = fused()
    f = program.function
    with f.transaction():
        with pytest.raises(tw.ScheduleError, match="no loop named 'q'"):
            f["C"].reverse("q")
        with pytest.raises(tw.ScheduleError, match="at least 1"):
            f["B"].split(i, 0)
        with pytest.raises(tw.ScheduleError, match=r"cannot be stored|same rank|dimensions"):
            f["B"].store_in("A[i]")
        f["C"].reverse(i)  # those that were refused have left nothing
        f["B"].reverse(i)
    assert [name for _, name, _ in f.schedule.commands[1][2]] == ["reverse", "reverse"]
    check(program, *SIZES)


def test_a_command_that_makes_no_sense_ends_the_block_as_any_error():
    program = fused()
    before = program.function.schedule
    with pytest.raises(tw.ScheduleError, match="no loop named 'q'"):
        with program.function.transaction():
            program.function["C"].reverse(i)
            program.function["C"].reverse("q")
    assert program.function.schedule == before


def test_loops_that_are_missing_at_the_end():
    """A reader of B is left outside of the loop."""
    f = window()
    with pytest.raises(
        tw.ScheduleError, match=r"^\[TW200\] with f.transaction\(\): B.comp"
    ) as refusal:
        with f.transaction():
            f["B"].compute_at("D", "i")
            f["C"].reverse(i)
    assert not isinstance(refusal.value, tw.IllegalScheduleError)
    assert "with f.transaction():" in str(refusal.value).splitlines()[-1]
    assert not f.schedule


def test_a_long_transaction_is_named_by_its_beginning():
    f = fused().function
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        with f.transaction():
            for _ in range(5):
                f["C"].split(f["C"].loops[-1], 4)
                f["B"].split(f["B"].loops[-1], 4)
            f["C"].reverse(i)
    assert refusal.value.command.endswith("; ...")


# ---- what is refused within ----

RUN = {
    "a call": lambda f: f(np.ones((2, 2), np.int32)),
    "compile": lambda f: f.compile(),
    "compile_async": lambda f: f.compile_async(),
    "loops": lambda f: str(f.loops),
    "layers": lambda f: str(f.layers),
    "LLVM": lambda f: str(f.llvm),
    "passes": lambda f: f.passes(),
    "copy": lambda f: f.copy(),
    "can": lambda f: f["C"].can("reverse", i),
    "legal": lambda f: f.legal(tw.Schedule()),
    "times": lambda f: f.schedule_map,
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
    "profile": lambda f: f.profile(np.ones((2, 2), np.int32)),
    "default schedule": lambda f: f.default_schedule.commands or f.layers,
}


@pytest.mark.parametrize("what", RUN)
def test_what_runs_or_lowers_is_refused_within(what):
    program = fused()
    f = program.function
    f(*program.arrays(3, 5))  # compiled before: the kernel is there
    with f.transaction():
        f["C"].reverse(i)
        with pytest.raises(
            tw.ScheduleError, match=r"a transaction is open, which began.*leave the with block"
        ):
            RUN[what](f)
        f["B"].reverse(i)
    check(program, (3, 5))


def test_the_evaluator_knows_no_schedule():
    program = fused()
    arrays = program.arrays(3, 5)
    with program.function.transaction():
        np.testing.assert_array_equal(program.function.evaluate(*arrays), program.numpy(*arrays))


def test_a_schedule_is_no_part_of_a_transaction():
    f = fused().function
    with f.transaction():
        for replace in (f.reset_schedule, lambda: f.schedule.apply_to(f)):
            with pytest.raises(tw.ScheduleError, match="a schedule replaces all commands"):
                replace()
    assert len(f.schedule) == 1


# ---- one within another ----


def test_an_inner_transaction_joins_the_outer_one():
    program = fused()
    f = program.function
    with f.transaction():
        with f.transaction():
            f["C"].reverse(i)  # not legal yet
        with f.transaction():
            f["B"].reverse(i)
    assert len(f.schedule) == 2
    assert f.schedule.commands[1] == (
        "",
        "transaction",
        (("C", "reverse", ("i",)), ("B", "reverse", ("i",))),
    )
    check(program, *SIZES)


def test_what_an_inner_block_raises_takes_its_own_commands_back():
    program = fused()
    f = program.function
    with f.transaction():
        f["C"].reverse(i)
        with pytest.raises(RuntimeError):
            with f.transaction():
                f["C"].split(i, 4)
                f["C"].reverse("i0")
                raise RuntimeError
        assert f["C"].loops == ("i", "j")
        f["B"].reverse(i)
    assert len(f.schedule.commands[1][2]) == 2
    check(program, *SIZES)


def test_a_transaction_is_entered_once():
    f = fused().function
    transaction = f.transaction()
    with transaction:
        pass
    with pytest.raises(tw.ScheduleError, match="was entered before"):
        transaction.__enter__()
    with pytest.raises(tw.ScheduleError, match="no transaction to leave"):
        f.transaction().__exit__(None, None, None)
    assert len(f.schedule) == 1


def test_an_inner_transaction_that_outlives_the_outer_one_is_over():
    f = fused().function
    outer, inner = f.transaction(), f.transaction()
    outer.__enter__()
    inner.__enter__()
    f["C"].reverse(i)
    outer.__exit__(RuntimeError, RuntimeError(), None)
    with pytest.raises(tw.ScheduleError, match="is over"):
        inner.__exit__(None, None, None)
    assert len(f.schedule) == 1
    backwards(f)


# ---- threads, and blocks that are never left ----


def test_other_threads_call_the_function_as_it_was_and_give_no_commands():
    program = fused()
    f = program.function
    arrays = program.arrays(17, 33)
    seen: list[object] = []

    def elsewhere() -> None:
        seen.append(np.array_equal(f(*arrays), program.numpy(*arrays)))
        seen.append(len(f.schedule))
        seen.append(str(f.loops))
        for command in (
            lambda: f["C"].reverse(i),
            f.reset_schedule,
            lambda: f.transaction().__enter__(),
        ):
            try:
                command()
            except tw.ScheduleError as error:
                seen.append("another thread has a transaction open" in str(error))

    loops = str(f.loops)
    with f.transaction():
        f["C"].reverse(i)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        f["B"].reverse(i)
    assert seen == [True, 1, loops, True, True, True]
    check(program, (3, 5))


def test_a_thread_that_ends_within_leaves_none_open():
    """A generator that nobody resumes is closed when it is dropped, in whatever thread that happens."""
    program = fused()
    f = program.function

    def opened():
        with f.transaction():
            f["C"].reverse(i)
            yield

    kept = []

    def work() -> None:
        generator = opened()
        next(generator)
        kept.append(generator)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with pytest.raises(tw.ScheduleError, match="another thread"):
        f["C"].split(i, 4)
    kept.clear()
    gc.collect()
    f["C"].split(j, 4)
    assert len(f.schedule) == 2
    check(program, (3, 5))


def test_a_transaction_that_is_dropped_is_taken_back():
    program = fused()
    f = program.function
    transaction = f.transaction()
    transaction.__enter__()
    f["C"].reverse(i)
    del transaction
    gc.collect()
    assert len(f.schedule) == 1
    check(program, (3, 5))


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import tilewright as tw

i, j = tw.iters("i j"); N = tw.param("N")
x = tw.input("x", [N, N], tw.int64)
B = tw.computation("B", {i: N, j: N}, x[i, j] + 1)
C = tw.computation("C", {i: N, j: N}, B[i, j] * 2)
f = tw.function("f", outputs=[C])
C.after(B, i)
values = np.arange(16).reshape(4, 4)
armed, done = False, threading.Event()

def interrupted(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt

def interrupt():
    while not done.is_set():
        time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, interrupted)
thread = threading.Thread(target=interrupt)
thread.start()
count = kept = 0
end = time.monotonic() + 4
while time.monotonic() < end:
    if len(f.schedule) > 20:
        f.reset_schedule()
        C.after(B, i)
    before = len(f.schedule)
    try:
        armed = True
        while True:
            with f.transaction():
                C.reverse(i)
                B.reverse(i)
    except KeyboardInterrupt:
        count += 1
        kept += len(f.schedule) - before
    f._require_no_transaction()
done.set()
thread.join()
assert count > 5 and kept > 0, (count, kept)
assert all(len(commands) == 2 for _, _, commands in f.schedule.commands[1:])
np.testing.assert_array_equal(f(values), (values + 1) * 2)
C.split(j, 4)
print("interrupted", count, "kept", kept)
"""


def test_ctrl_c_leaves_none_open():
    assert "interrupted" in run_python("-W", "ignore", "-c", INTERRUPTED, timeout=120).stdout


def test_kernels_for_the_old_schedule_are_not_lost_to_a_refusal():
    program = fused()
    f = program.function
    f(*program.arrays(3, 5))
    key = f.compile()["key"]
    with pytest.raises(tw.IllegalScheduleError):
        with f.transaction():
            f["C"].reverse(i)
    assert f.compile()["key"] == key
    check(program, *AT_LEAST_TWO)
