"""A map composed with the loops that a computation has."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import check
from restructured import AT_LEAST_TWO, SIZES, cube, i, illegal, j, nonsense, pair

import tilewright as tw


def test_a_wavefront():
    program = programs.prefix()
    handle = program.function["C"].apply_schedule("{ [i, j] -> [i + j, j] }")
    assert handle.loops == ("t0", "j")
    check(program, *SIZES, (7, 200))


def test_it_is_composed_with_what_is_there():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, 4, 8)
    handle.apply_schedule("{ [i0, j0, i1, j1, k] -> [j0, i0, k, i1, j1] }")
    assert handle.loops == ("j0", "i0", "k", "i1", "j1")
    handle.vectorize("j1", 8)
    check(program, (9, 7), (16, 16))


def test_it_is_what_other_commands_do():
    maps = {
        "{ [i, j, k] -> [k, j, i] }": lambda c: c.reorder("k", "j", "i"),
        "{ [i, j, k] -> [i, j + 2i, k] }": lambda c: c.skew(i, j, 2),
        "{ [i, j, k] -> [-i, j, k + 3] }": lambda c: c.reverse(i).shift("k", 3),
        "{ [i, j, k] -> [i0 = floor(i/4), i1 = i mod 4, j, k] }": lambda c: c.split(i, 4),
    }
    for text, commands in maps.items():
        first, second = cube(), cube()
        first.function["C"].apply_schedule(text)
        commands(second.function["C"])
        assert str(first.function.schedule_map) == str(second.function.schedule_map), text
        check(first, *SIZES)


def test_names_and_tags():
    program = cube()
    handle = program.function["C"].parallelize(i)
    handle.apply_schedule("{ [i, j, k] -> [k, row = i, wave = j + k] }")
    assert handle.loops == ("k", "row", "wave")
    assert handle.tags == {"row": "parallel"}
    handle.apply_schedule("{ [k, row, wave] -> [row, t0 = wave, 2 * k] }")
    assert handle.loops == ("row", "t0", "t2")
    check(program, *SIZES)


def test_tags_in_the_text():
    program = cube()
    handle = program.function["C"]
    handle.apply_schedule("{ [i, j, k] -> [floor(j/8), i (cpu), k, j mod 8 (vec(8))] }")
    assert list(handle.tags.values()) == ["parallel", "vector(8)"]
    check(program, *SIZES, (5, 40))


def test_pieces():
    program = programs.pointwise()
    program.function["C"].apply_schedule(
        "{ [i, j] -> [0, i, j] : i mod 2 = 0; [i, j] -> [1, i, j] : i mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_a_reduction():
    program = programs.matmul()
    handle = program.function["C"].apply_schedule("{ [i, j, k] -> [k, i + j, j] }")
    assert handle.loops == ("k", "t1", "j")
    check(program, (9, 7), (1, 1), (0, 3))


def test_the_loops_of_a_map():
    """Loops that set_schedule gave share one space with others, and stay there."""
    program = pair()
    f = program.function
    f.set_schedule("{ B[i,j] -> [i, 0, j]; C[i,j] -> [i, 1, j] }")
    f["C"].apply_schedule("{ [a, b, c] -> [a + 2, b, -c] }")
    check(program, *SIZES)
    with pytest.raises(tw.IllegalScheduleError):
        f["C"].apply_schedule("{ [a, b, c] -> [a - 3, b, c] }")


def test_loops_that_others_share():
    program = pair()
    f = program.function
    f["C"].after("B", "i")
    with f.transaction():
        for name in "BC":
            f[name].apply_schedule("{ [i, j] -> [i - 2j, j] }")
    check(program, *SIZES)


def test_inside_the_loops_of_a_reader():
    program = programs.pipeline()
    f = program.function
    f["B"].compute_at("C", "i")
    f["B"].apply_schedule("{ [i, j] -> [j, i] }")
    assert f["B"].loops == ("j", "i")
    check(program, *AT_LEAST_TWO)


def test_loops_that_do_not_tell_instances_apart_alone():
    """Of a copy, the loops of its reader stand around its own: in each of their iterations, these do."""
    program = programs.matmul()
    f = program.function
    f["C"].split(j, 4)
    local = f["C"].cache("C", "j0")
    assert local.loops == ("j1", "k")
    local.apply_schedule("{ [j, k] -> [k, j] }")
    assert local.loops == ("k", "j1")
    with pytest.raises(tw.ScheduleError, match="the same time to two instances"):
        local.apply_schedule("{ [k, j] -> [k + j] }")
    check(program, (9, 7), (1, 1))


def test_against_a_dependence():
    illegal(programs.prefix(), lambda f: f["C"].apply_schedule("{ [i, j] -> [j - i, j] }"))


def test_a_map_value():
    program = programs.pointwise()
    handle = program.function["C"].apply_schedule(tw.Map("{ [i, j] -> [s = i + j, j] }"))
    assert handle.loops == ("s", "j")
    assert "s = " in str(program.function.schedule)
    check(program, *SIZES)


def test_parameters():
    program = programs.pointwise()
    program.function["C"].apply_schedule("[N] -> { [i, j] -> [N - i, j] }")
    check(program, *SIZES)


def test_the_schedule_keeps_it():
    program = programs.pointwise()
    f = program.function
    f["C"].split(i, 4).apply_schedule("{ [a, b, c] -> [c, a, b] }")
    text = str(f.schedule)
    assert text == 'C.split("i", 4).apply_schedule("{ [a, b, c] -> [c, a, b] }")'
    other = programs.pointwise()
    exec(text, {"C": other.function["C"]})
    assert other.function.schedule == f.schedule
    assert tw.Schedule.from_json(f.schedule.to_json()) == f.schedule
    renamed = f.schedule.renamed({"C": "D"})
    assert renamed.commands[1] == ("D", "apply_schedule", ("{ [a, b, c] -> [c, a, b] }",))


NONSENSE = [
    ("{ [i] -> [i] }", r"the map starts from 1 dimension, but C has 2 loops: \[i, j\]"),
    ("{ C[i, j] -> [j, i] }", "maps the loops .* set_schedule takes a map from instances"),
    ("{ [j, i] -> [i, j] }", "dimension 0 of the map is loop 'i' and is called 'j'"),
    (
        "{ [i, j] -> [i] }",
        r"same time to two instances, for example C\[0,0\] and C\[0,1\] \(.*M = 2",
    ),
    ("{ [i, j] -> [i, j] : j > 2 }", r"gives no time to C\[0,0\] \(.*\), iteration i = 0, j = 0"),
    (
        "{ [i, j] -> [i, t] : j <= t <= j + 1 }",
        r"several times to one instance, for example \[0,0\] and \[0,1\] to C\[0,0\]",
    ),
    ("{ [i, j] -> [Q + i, j] }", "column 14: 'Q' is no parameter"),
    ("{ [i, j] -> [j, i] } }", "column 22: '}' follows the closing brace"),
    ("{ [i, j] -> [j, ] }", "isl cannot read this map: column 17"),
    ("{ [i, j] -> [j(gpu), i] }", "there is no tag 'gpu'"),
    ("{ [i, j] -> [i, j(vec(8))] }", "constant extent"),
    ("{ [i, j] -> [i(cpu), j]; [i, j] -> [i(unroll), j] }", "two different tags"),
]


@pytest.mark.parametrize(("text", "message"), NONSENSE)
def test_what_makes_no_sense(text, message):
    nonsense(programs.pointwise(), lambda f: f["C"].apply_schedule(text), message)


def test_what_is_said_of_a_loop_needs_the_loop():
    cases = [
        (lambda c: c.vectorize(j, 4), "{ [a, b, c] -> [a, b + c, b] }", "'j1' is a vector loop"),
        (lambda c: c.parallelize(i), "{ [a, b] -> [a + b, b] }", "'i' is a parallel loop"),
        (lambda c: c.prefetch("A", i, 2), "{ [a, b] -> [-a, b] }", "'A' is prefetched"),
        (
            lambda c: c.vectorize(j, 4),
            "{ [a, b, c] -> [a, b, c(unroll)] }",
            "vector loop .* already and cannot be an unrolled",
        ),
    ]
    for give, text, message in cases:
        program = programs.pointwise()
        give(program.function["C"])
        nonsense(program, lambda f, text=text: f["C"].apply_schedule(text), message)


def test_loops_that_another_one_shares_must_stay():
    program = pair()
    f = program.function
    f["B"].apply_schedule("{ [i, j] -> [i, j, 0] }")
    f["C"].apply_schedule("{ [i, j] -> [i, j, 0] }")
    f["C"].after("B", "t2")
    with pytest.raises(
        tw.ScheduleError, match="C shares the 3 outermost loops of B, and the map leaves 2"
    ):
        f["B"].apply_schedule("{ [i, j, z] -> [i, j] }")
    check(program, *SIZES)


def test_a_scalar():
    n, q = tw.param("N"), tw.iter("q")
    x = tw.input("x", [n], tw.int64)
    f = tw.function("f", outputs=[tw.computation("S", {}, tw.sum(x[q], over={q: n}))])
    f["S"].apply_schedule("{ [q] -> [-q] }")
    assert f(np.arange(5)) == 10
