"""Schedules as values, copies of functions, and commands that make no sense."""

from __future__ import annotations

import pickle

import programs
import pytest
from programs import check

import tilewright as tw
from refusals import raises

i, j, k = tw.iters("i j k")


def test_a_schedule_prints_as_the_python_that_makes_it():
    function = programs.matmul().function
    function["C"].tile(i, j, 32, 8).parallelize("i0").vectorize("j1", 8)
    text = str(function.schedule)
    assert text == 'C.tile("i", "j", 32, 8).parallelize("i0").vectorize("j1", 8)'
    other = programs.matmul().function
    eval(text, {"C": other["C"]})
    assert other.schedule == function.schedule


def test_schedules_compare_and_replay():
    first, second = programs.matmul(), programs.matmul()
    first.function["C"].tile(i, j, 4, 4).parallelize("i0")
    schedule = first.function.schedule
    assert schedule != second.function.schedule
    assert not second.function.schedule
    assert len(schedule) == 2
    assert schedule.apply_to(second.function) is second.function
    assert second.function.schedule == schedule
    assert hash(second.function.schedule) == hash(schedule)
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert second.function["C"].loops == ("i0", "j0", "i1", "j1", "k")
    check(second, (9, 7))


def test_reset():
    program = programs.matmul()
    program.function["C"].tile(i, j, 4, 4)
    program.function.reset_schedule()
    assert program.function["C"].loops == ("i", "j", "k")
    assert not program.function.schedule
    check(program, (9, 7))


def test_set_schedule_of_a_function_keeps_the_old_one_when_refused():
    program = programs.prefix()
    program.function["C"].parallelize(j)
    before = program.function.schedule
    with pytest.raises(tw.IllegalScheduleError):
        program.function.set_schedule(tw.Schedule([("C", "parallelize", ["i"])]))
    assert program.function.schedule == before
    check(program, (9, 7))


def test_copy():
    program = programs.matmul()
    program.function["C"].split(i, 4)
    copy = program.function.copy()
    assert copy.schedule == program.function.schedule
    copy["C"].parallelize("i0")
    assert len(program.function.schedule) == 1
    assert len(copy.schedule) == 2
    a, b = program.arrays(5, 6)
    assert (copy(a, b) == program.function(a, b)).all()


def test_values_after_a_change_of_schedule():
    program = programs.matmul()
    check(program, (5, 6))
    program.function["C"].tile(i, j, 2, 4)
    check(program, (5, 6))
    program.function["C"].vectorize("j1")
    check(program, (5, 6))


MISTAKES = [
    (lambda c: c.split("q", 4), "no loop named 'q'"),
    (lambda c: c.split(i, 0), "at least 1"),
    (lambda c: c.split(i, 4, "j", "x"), "'j' is there already"),
    (lambda c: c.split(i, 2.5), "must be an integer"),
    (lambda c: c.split(3, 2), "given by its name or an iterator"),
    (lambda c: c.tile(i, j, 4), "expected tile"),
    (lambda c: c.tile(i, j, 4, 4, z0="a"), "no argument z0"),
    (lambda c: c.tile(i, k, 4, 4), "neighbours"),
    (lambda c: c.vectorize(j, 0), "at least 1"),
    (lambda c: c.vectorize(j), "no constant extent"),
    (lambda c: c.unroll(j), "no constant extent"),
    (lambda c: c.after("Z"), "no computation named 'Z'"),
    (lambda c: c.after("C"), "itself"),
    (lambda c: c.after(3), "expected a computation"),
    (lambda c: c.set_schedule("nonsense"), "cannot read"),
    (lambda c: c.set_schedule("{ C[i,j,k] -> [i, j] }"), "same time"),
    (lambda c: c.set_schedule("{ C[i,j] -> [i, j] }"), r"C\[i,j,k\]"),
    (lambda c: c.store_in("x[i*j]"), "affine"),
    (lambda c: c.store_in("A[i, j]"), "their shapes differ"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_commands_that_make_no_sense(mistake, message):
    function = programs.matmul().function
    with raises(tw.ScheduleError, message) as caught:
        mistake(function["C"])
    assert not isinstance(caught.value, tw.IllegalScheduleError)
    assert "test_schedule_values.py" in str(caught.value)
    assert not function.schedule


def test_an_unknown_computation():
    with pytest.raises(KeyError, match="no computation 'Z'; it has C"):
        programs.matmul().function["Z"]
