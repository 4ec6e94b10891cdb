"""Transactions in the value of a schedule: printed, saved, loaded, replayed, compared."""

from __future__ import annotations

import json
import pickle

import programs
import pytest
from programs import check
from restructured import SIZES, backwards, fused, i, j, pair

import tilewright as tw


def grouped() -> tw.Schedule:
    f = fused().function
    backwards(f)
    f["C"].parallelize(j)
    return f.schedule


def test_it_prints_as_the_python_that_makes_it():
    schedule = grouped()
    assert str(schedule).split("\n") == [
        'C.after("B", "i")',
        "with f.transaction():",
        '    C.reverse("i")',
        '    B.reverse("i")',
        'C.parallelize("j")',
    ]
    program = pair()
    names = {"f": program.function, **{c: program.function[c] for c in "BC"}}
    exec(str(schedule), names)
    assert program.function.schedule == schedule
    check(program, *SIZES)


def test_it_prints_the_copies_that_are_made_within():
    f = programs.matmul().function
    with f.transaction():
        f["C"].tile(i, j, 4, 8)
        f["C"].cache("C", "j0").reverse("i1")
    f["C_local"].split("k", 4)
    text = str(f.schedule)
    assert text.split("\n") == [
        "with f.transaction():",
        '    C.tile("i", "j", 4, 8)',
        '    C_local = C.cache("C", "j0")',
        '    C_local.reverse("i1")',
        'C_local.split("k", 4)',
    ]
    other = programs.matmul()
    exec(text, {"f": other.function, "C": other.function["C"]})
    assert other.function.schedule == f.schedule
    check(other, (9, 7))


def test_a_computation_that_is_called_like_the_function():
    schedule = tw.Schedule([("", "transaction", [("f", "reverse", ["i"])])])
    assert str(schedule) == 'with f1.transaction():\n    f.reverse("i")'


def test_it_is_saved_loaded_and_replayed(tmp_path):
    schedule = grouped()
    schedule.save(tmp_path / "schedule.json")
    text = (tmp_path / "schedule.json").read_text()
    assert json.loads(text)["version"] == 2
    assert json.loads(text)["commands"][1] == [
        "",
        "transaction",
        [["C", "reverse", ["i"]], ["B", "reverse", ["i"]]],
    ]
    loaded = tw.Schedule.load(tmp_path / "schedule.json")
    assert loaded == schedule and loaded.key == schedule.key and hash(loaded) == hash(schedule)
    assert loaded.computations == ("C", "B")
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    program = pair()
    loaded.apply_to(program.function)
    assert program.function.schedule == schedule
    check(program, *SIZES)
    again = pickle.loads(pickle.dumps(program.function))
    assert again.schedule == schedule
    renamed = schedule.renamed({"C": "D"})
    assert renamed.commands[1][2][0] == ("D", "reverse", ("i",))


def test_schedules_without_transactions_are_saved_as_before():
    f = fused().function
    assert json.loads(f.schedule.to_json())["version"] == 1
    with f.transaction():
        pass  # nothing to remember
    assert json.loads(f.schedule.to_json())["version"] == 1


def test_an_illegal_one_is_refused_when_it_is_replayed():
    schedule = grouped()
    broken = tw.Schedule([schedule.commands[0], ("", "transaction", schedule.commands[1][2][:1])])
    f = pair().function
    with pytest.raises(tw.IllegalScheduleError, match=r"with f.transaction\(\): C.reverse"):
        broken.apply_to(f)
    assert not f.schedule
    assert f.legal(schedule) and not f.legal(broken)


def test_differences():
    schedule = grouped()
    flat = tw.Schedule([schedule.commands[0], ("B", "reverse", ["i"]), *schedule.commands[2:]])
    assert str(schedule.diff(flat)).split("\n") == [
        '  C.after("B", "i")',
        "- with f.transaction():",
        '-     C.reverse("i")',
        '-     B.reverse("i")',
        '+ B.reverse("i")',
        '  C.parallelize("j")',
    ]
    assert schedule.diff(flat).removed == (("C", "reverse", ("i",)), ("B", "reverse", ("i",)))
    assert schedule.diff(flat).added == (("B", "reverse", ("i",)),)
    other = tw.Schedule(
        [
            schedule.commands[0],
            ("", "transaction", schedule.commands[1][2][1:]),
            *schedule.commands[2:],
        ]
    )
    assert str(schedule.diff(other)).split("\n") == [
        '  C.after("B", "i")',
        "  with f.transaction():",
        '-     C.reverse("i")',
        '      B.reverse("i")',
        '  C.parallelize("j")',
    ]
    assert not schedule.diff(grouped())


def test_values_that_are_none():
    inner = ("", "transaction", [("C", "reverse", ["i"])])
    with pytest.raises(tw.ScheduleError, match="one within another joins it"):
        tw.Schedule([("", "transaction", [inner])])
    with pytest.raises(tw.ScheduleTypeError, match="the commands of a transaction"):
        tw.Schedule([("", "transaction", 5)])
    with pytest.raises(tw.ScheduleTypeError, match="a command is"):
        tw.Schedule([("", "transaction", ["C.reverse"])])
    assert tw.Schedule([("", "transaction", [])]) == tw.Schedule()
    with pytest.raises(tw.ScheduleError, match="command of a computation"):
        tw.Schedule([("", "reverse", ["i"])]).apply_to(pair().function)
    with pytest.raises(tw.ScheduleError, match=r"does not fit pair: Z.reverse"):
        tw.Schedule([("", "transaction", [("Z", "reverse", ["i"])])]).apply_to(pair().function)


def test_the_schedule_within_shows_the_commands_so_far():
    f = fused().function
    with f.transaction():
        assert len(f.schedule) == 1
        f["C"].reverse(i)
        assert str(f.schedule).split("\n")[1:] == ["with f.transaction():", '    C.reverse("i")']
        f["B"].reverse(i)
    assert f.schedule == tw.Schedule(f.schedule.commands)
