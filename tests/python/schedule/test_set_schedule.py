"""Time-space maps with tags, of several pieces: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import programs
from programs import check
from restructured import SIZES, i, illegal, j, nonsense


def test_set_schedule_with_tags():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule(
        "{ C[i,j] -> [i(cpu), floor(j/8), j mod 8(vec(8))] }"
    )
    assert sorted(handle.tags.values()) == ["parallel", "vector(8)"]
    assert handle.tags["i"] == "parallel"
    check(program, *SIZES, (130, 40))


def test_set_schedule_with_unroll():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule("{ C[i,j] -> [floor(i/4), j, i mod 4(unroll)] }")
    assert list(handle.tags.values()) == ["unroll(4)"]
    check(program, *SIZES)


def test_set_schedule_with_a_tag_on_the_first_dimension_only():
    program = programs.prefix()
    program.function["C"].set_schedule("{ C[i,j] -> [j(cpu), i] }")
    check(program, *SIZES, (7, 200))
    illegal(program, lambda f: f["C"].set_schedule("{ C[i,j] -> [i(cpu), j] }"))


def test_set_schedule_of_pieces():
    """Even rows first, then odd ones."""
    program = programs.pointwise()
    program.function["C"].set_schedule(
        "{ C[i,j] -> [0, i, j] : i mod 2 = 0; C[i,j] -> [1, i, j] : i mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_set_schedule_of_pieces_against_a_dependence():
    illegal(
        programs.prefix(),
        lambda f: f["C"].set_schedule(
            "{ C[i,j] -> [0, i, j] : i mod 2 = 0; C[i,j] -> [1, i, j] : i mod 2 = 1 }"
        ),
    )


def test_set_schedule_of_pieces_with_a_tag_in_each():
    program = programs.pointwise()
    handle = program.function["C"].set_schedule(
        "{ C[i,j] -> [i(cpu), 0, j] : j < 3; C[i,j] -> [i(cpu), 1, -j] : j >= 3 }"
    )
    assert list(handle.tags.values()) == ["parallel"]
    check(program, *SIZES)


def test_set_schedule_with_parameters():
    program = programs.pointwise()
    program.function["C"].set_schedule("[N, M] -> { C[i,j] -> [N - i, M - j] }")
    check(program, *SIZES)


def test_set_schedule_then_other_commands():
    program = programs.pointwise()
    program.function["C"].set_schedule("{ C[i,j] -> [j, i] }").split(i, 4).parallelize(j)
    check(program, *SIZES)


def test_set_schedule_that_makes_no_sense():
    cases = [
        ("{ C[i,j] -> [i, j(vec(8))] }", "constant extent"),
        ("{ C[i,j] -> [i, j(unroll)] }", "constant extent"),
        ("{ C[i,j] -> [i, floor(j/8), j mod 8(vec(4))] }", "constant extent"),
        ("{ C[i,j] -> [i(gpu), j] }", "there is no tag .gpu."),
        ("{ C[i,j] -> [i, j] : i > 0 }", r"no time to C\[0,0\]"),
        ("{ C[i,j] -> [i, j]; C[i,j] -> [i, j + 1] }", "same time to two instances"),
        ("{ C[i,j] -> [i] }", "same time to two instances"),
        ("{ D[i,j] -> [i, j] }", r"must start from C\[i,j\]"),
        ("{ C[i,j] -> (cpu)[i, j] }", "cannot read|behind a dimension"),
    ]
    for text, message in cases:
        nonsense(programs.pointwise(), lambda f, text=text: f["C"].set_schedule(text), message)
