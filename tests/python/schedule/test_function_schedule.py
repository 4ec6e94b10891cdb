"""A map for the whole function, given at once, and the names that maps give to loops."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import check
from restructured import AT_LEAST_TWO, SIZES, i, illegal, j, k, nonsense, pair

import tilewright as tw
from tilewright import _core


def test_two_computations_in_one_loop():
    program = pair()
    program.function.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }")
    assert str(program.function.loops).count("for ") == 3
    check(program, *SIZES)


def test_an_order_that_is_legal_for_both_only():
    """C would run before B, were it moved alone."""
    program = programs.pipeline()
    f = program.function
    f.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i + 1, 1, j] }")
    with pytest.raises(tw.IllegalScheduleError):
        f["C"].set_schedule("{ C[i,j] -> [-i, 1, j] }")
    f.set_schedule("{ B[i,j] -> [-i, 0, j]; C[i,j] -> [-i, 1, j] }")
    assert len(f.schedule) == 2
    check(program, *AT_LEAST_TWO)


def test_an_illegal_order():
    illegal(pair(), lambda f: f.set_schedule("{ B[i,j] -> [i, 1, j]; C[i,j] -> [i, 0, j] }"))


def test_the_error_names_the_command():
    f = pair().function
    text = "{ B[i,j] -> [i, 1, j]; C[i,j] -> [i, 0, j] }"
    with pytest.raises(tw.IllegalScheduleError) as refusal:
        f.set_schedule(text)
    assert refusal.value.command == f'f.set_schedule("{text}")'
    assert refusal.value.function is f
    assert refusal.value.source_instance.startswith("B[")
    assert not f.schedule


def test_tags_are_those_of_their_computation():
    program = pair()
    f = program.function
    f.set_schedule(
        "{ B[i,j] -> [0, i(cpu), j]; C[i,j] -> [1, i, floor(j/8), j mod 8(vec(8))] }".replace(
            "[0, i(cpu), j]", "[0, i(cpu), j, 0]"
        )
    )
    assert f["B"].tags == {"i": "parallel"}
    assert list(f["C"].tags.values()) == ["vector(8)"]
    check(program, *SIZES, (16, 40))


def test_a_reduction_and_its_reader():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    s = tw.computation("S", {i: n}, tw.sum(a[i, k], over={k: m}))
    f = tw.function("f", outputs=[tw.computation("T", {i: n}, 2 * s[i])], default_schedule=False)
    f.set_schedule("{ S[i,k] -> [row = i, 0, k]; T[i] -> [row = i, 1, 0] }")
    assert f["S"].loops == ("row", "t1", "k")
    program = programs.Program(
        f,
        lambda n, m: (programs._generator().integers(0, 9, (n, m)),),
        lambda a: 2 * a.sum(axis=1),
    )
    check(program, (0, 3), (1, 1), (5, 7))


def test_pieces_of_one_computation():
    program = pair()
    program.function.set_schedule(
        "{ B[i,j] -> [0, i, j]; C[i,j] -> [1, i, j] : i mod 2 = 0; C[i,j] -> [2, i, j] : i mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_a_map_value():
    program = pair()
    times = tw.Map("{ B[i,j] -> [row = i, 0, j]; C[i,j] -> [row = i, 1, j] }")
    program.function.set_schedule(times)
    assert program.function["C"].loops == ("row", "t1", "j")
    program.function["C"].set_schedule(tw.Map("{ C[i,j] -> [row = i, 2, j] }"))
    check(program, *SIZES)


def test_parameters():
    program = pair()
    program.function.set_schedule("[N] -> { B[i,j] -> [N - i, 0, j]; C[i,j] -> [N - i, 1, j] }")
    check(program, *SIZES)


def test_commands_go_on_from_it():
    program = pair()
    f = program.function
    f.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }")
    f["B"].store_in("row[j]")
    f["C"].reverse(j)
    check(program, *SIZES)


def test_what_was_placed_is_placed_anew():
    program = pair()
    f = program.function
    f["B"].compute_at("C", "i")
    f.set_schedule("{ B[i,j] -> [0, i, j]; C[i,j] -> [1, i, j] }")
    assert f["B"].loops == ("t0", "i", "j")
    check(program, *SIZES)


# ---- names ----


def test_names_that_the_map_gives():
    program = programs.pointwise()
    handle = program.function["C"]
    cases = {
        "{ C[i,j] -> [t = i + j, p = j] }": ("t", "p"),
        "{ C[i,j] -> [a, b] : a = j and b = i }": ("a", "b"),
        "{ C[i,j] -> [t = i + j, p] : p = j }": ("t", "p"),
        "{ C[i,j] -> [t1 = i, i + j] }": ("t1", "t1_"),
        "{ C[i,j] -> [j, i] }": ("j", "i"),
        "{ C[i,j] -> [i + j, i] }": ("t0", "i"),
        "{ C[i,j] -> [i, i + j, i] }": ("i", "t1", "t2"),
        "{ C[i,j] -> [row = i (cpu), j] }": ("row", "j"),
    }
    for text, names in cases.items():
        handle.set_schedule(text)
        assert handle.loops == names, text
        check(program, (3, 5))
    assert handle.tags == {"row": "parallel"}


def test_a_name_may_be_that_of_another_iterator():
    """The order of the text counts: j is a name here, given to the loop over i."""
    program = programs.pointwise()
    handle = program.function["C"].set_schedule("{ C[a,b] -> [j, i] : j = a and i = b }")
    assert handle.loops == ("j", "i")
    handle.parallelize("j")
    check(program, *SIZES)


# ---- what makes no sense ----

NONSENSE = [
    ("{ B[i,j] -> [i, 0, j] }", "says nothing of C; it is the schedule of the whole function"),
    (
        "{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j]; Z[i] -> [i, 2, 0] }",
        "column 45: there is no computation named 'Z'; the computations are: B, C",
    ),
    (
        "{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j]; A[i,j] -> [i, 2, j] }",
        "column 45: 'A' is an input, which is not run",
    ),
    (
        "{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, j] }",
        "column 24: the times of C have 2 dimensions and those of B 3 dimensions; fill",
    ),
    (
        "{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] : i < 3; C[i,j] -> [i, 1] : i >= 3 }",
        "the maps of C differ in the number of their dimensions",
    ),
    ("{ B[i,j] -> [Q + i, 0, j]; C[i,j] -> [i, 1, j] }", "column 14: 'Q' is no parameter"),
    ("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] } and more", "column 46: 'and more' follows"),
    ("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j", "the text ends too early"),
    ("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, ?, j] }", "column 38"),
    ("{ B[i] -> [i, 0, 0]; C[i,j] -> [i, 1, j] }", r"must start from B\[i,j\]"),
    ("{ [i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }", "a tuple without a name"),
    ("{ B[i,j] -> [i, 0, 0]; C[i,j] -> [i, 1, j] }", r"same time .* B\[0,0\] and B\[0,1\]"),
    ("{ B[i,j] -> [i, 0, j] : i > 0; C[i,j] -> [i, 1, j] }", r"no time to B\[0,0\]"),
    ("{ B[i,j] -> [i, 0, j(gpu)]; C[i,j] -> [i, 1, j] }", "there is no tag 'gpu'"),
    ("{ B[i,j] -> [i, 0, j(vec(8))]; C[i,j] -> [i, 1, j] }", "constant extent"),
    (
        "{ B[i,j] -> [i, a, j] : 0 <= a; C[i,j] -> [i, 2, j] }",
        "several times to one instance of B, and nothing bounds dimension 1 of them",
    ),
    ("{ }", "says nothing of B, C"),
]


@pytest.mark.parametrize(("text", "message"), NONSENSE)
def test_what_makes_no_sense(text, message):
    nonsense(pair(), lambda f: f.set_schedule(text), message)


def test_other_values():
    f = pair().function
    with pytest.raises(tw.ScheduleTypeError, match=r"takes a tw.Schedule, or the times"):
        f.set_schedule(["{ }"])
    with pytest.raises(tw.ScheduleTypeError, match="the isl map of set_schedule"):
        f["C"].set_schedule(5)


# ---- as a value ----


def test_the_schedule_keeps_it():
    program = pair()
    f = program.function
    f.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }")
    f["C"].reverse(j)
    schedule = f.schedule
    text = 'f.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }")'
    assert str(schedule) == f'{text}\nC.reverse("j")'
    assert schedule.computations == ("B", "C")
    other = pair()
    exec(str(schedule), {"f": other.function, "C": other.function["C"]})
    assert other.function.schedule == schedule
    assert tw.Schedule.from_json(schedule.to_json()) == schedule
    third = pair()
    assert third.function.set_schedule(schedule).schedule == schedule
    check(third, *SIZES)
    assert str(tw.Schedule().diff(schedule)).startswith(f"+ {text}")


def test_renaming_reaches_its_computations():
    schedule = tw.Schedule(
        [
            (
                "",
                "set_schedule",
                ["[N] -> { B[i] -> [i, 0] : i < N; C[i] -> [i, 1]; BC[i] -> [i, 2] }"],
            )
        ]
    )
    renamed = schedule.renamed({"B": "C", "C": "B"})
    assert renamed.commands[0][2] == (
        "[N] -> { C[i] -> [i, 0] : i < N; B[i] -> [i, 1]; BC[i] -> [i, 2] }",
    )
    with pytest.raises(tw.ScheduleError, match="needs a computation BC, and pair has B, C"):
        schedule.apply_to(pair().function)


def test_in_a_transaction():
    program = pair()
    f = program.function
    with f.transaction():
        f.set_schedule("{ B[i,j] -> [i, 1, j]; C[i,j] -> [i, 0, j] }")
        f["C"].shift("t1", 2)
    assert str(f.schedule).split("\n")[1:] == [
        '    f.set_schedule("{ B[i,j] -> [i, 1, j]; C[i,j] -> [i, 0, j] }")',
        '    C.shift("t1", 2)',
    ]
    check(program, *SIZES)


def chains():
    """B needs C and C needs B, so that the default schedule has to be looked for."""
    N = tw.param("N")
    x = tw.input("x", [N], tw.float32)
    B = tw.computation("B", {i: N}, dtype=tw.float32)
    C = tw.computation("C", {i: N}, B[i] + 1, dtype=tw.float32)
    B.define(i == 0, x[0]).define(i > 0, C[i - 1] + x[i])
    return tw.function("chains", outputs=[B, C])


def visits(work):
    before = _core.expression_visits()
    work()
    return _core.expression_visits() - before


def test_no_default_schedule_is_looked_for_before_another_one():
    def order(f):
        with f.transaction():
            f.set_schedule("{ B[i] -> [i, 0]; C[i] -> [i, 1] }")

    f, after_default = chains(), chains()
    alone = visits(lambda: order(f))
    default = visits(lambda: after_default.layers)
    order(after_default)
    assert 0 < alone < default
    assert str(f.loops) == str(after_default.loops)
    assert str(f.layers) == str(after_default.layers)
    # Once it was looked for, it is known.
    again = visits(lambda: tw.Schedule(()).apply_to(after_default))
    assert again < default / 2
    x = np.arange(5, dtype=np.float32)
    for mine, wanted in zip(f(x), chains()(x), strict=True):
        np.testing.assert_array_equal(mine, wanted)


def test_what_a_view_shows_is_stored_in_it_under_an_order_of_all():
    """The default schedule does so, and an order of all computations keeps it."""

    def shown():
        N = tw.param("N")
        x = tw.input("x", [N], tw.float32)
        B = tw.computation("B", {i: N}, x[i] + 1)
        return tw.function("shown", outputs=[tw.view("R", {i: N}, B[i])])

    f, after_default = shown(), shown()
    assert "R" in str(after_default.layers)
    for each in (f, after_default):
        each.set_schedule("{ B[i] -> [-i, 0]; R[i] -> [i, 1] }")
    assert str(f.layers) == str(after_default.layers)
