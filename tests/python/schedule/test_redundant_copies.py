"""set_schedule with a one-to-many map: instances that run at several times (redundant computation)."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import Program, check
from restructured import SIZES, illegal, integers, nonsense, pair, refused

import tilewright as tw

i, j, k, t = tw.iters("i j k t")
STEPS = 3
LENGTHS = [(0,), (1,), (2,), (5,), (8,), (9,), (31,), (40,), (100,)]
#: Of tile T, which has 8 elements of the last step: what these need, one element less on each side in each step.
OVERLAPPED = (
    "{ S[t,i] -> [T, 0, t, i] : 8T - 3 + t <= i < 8T + 11 - t and 0 <= 8T < N; "
    "C[i] -> [floor(i/8), 1, i, 0] }"
)
#: One element more than a tile has, in each step.
NARROW = (
    "{ S[t,i] -> [T, 0, t, i] : 8T - 1 <= i < 8T + 9 and 0 <= 8T < N; "
    "C[i] -> [floor(i/8), 1, i, 0] }"
)


def stencil() -> Program:
    n = tw.param("N")
    a = tw.input("A", [n], tw.int64)
    edge = (t == 0) | (i == 0) | (i == n - 1)
    s = tw.computation(
        "S",
        {t: STEPS + 1, i: n},
        lambda s: [
            (edge, a[i]),
            (
                (t > 0) & (i > 0) & (i < n - 1),
                s[t - 1, i - 1] + 2 * s[t - 1, i] + s[t - 1, i + 1],
            ),
        ],
        dtype=tw.int64,
    )
    c = tw.computation("C", {i: n}, s[STEPS, i])

    def numpy(a: np.ndarray) -> np.ndarray:
        for _ in range(STEPS):
            a = np.concatenate([a[:1], a[:-2] + 2 * a[1:-1] + a[2:], a[1:][-1:]])[: a.size]
        return a

    return Program(
        tw.function("stencil", outputs=[c]), lambda n: (integers((n,), np.int64),), numpy
    )


def test_overlapped_tiles():
    program = stencil()
    program.function.set_schedule(OVERLAPPED)
    assert program.function["S"].loops == ("T", "t1", "t", "i")
    check(program, *LENGTHS)
    program.function["S"].parallelize("T")
    program.function["C"].parallelize("t0")
    check(program, *LENGTHS)


def test_overlapped_tiles_have_memory_of_their_own():
    program = stencil()
    program.function.set_schedule(OVERLAPPED.replace("[T,", "[T(cpu),").replace("8),", "8)(cpu),"))
    program.function["S"].private("T")
    assert "S: int64[4, 14]" in str(program.function.layers)
    check(program, *LENGTHS)


def test_later_commands():
    program = stencil()
    program.function.set_schedule(OVERLAPPED)
    program.function["S"].split(i, 4).vectorize("i1").parallelize("T")
    program.function["C"].parallelize("t0").vectorize(i, 4)
    check(program, *LENGTHS)
    program = pair()
    program.function["B"].set_schedule("{ B[i,j] -> [c, i, j] : 0 <= c <= 1 }")
    program.function["B"].tile(i, j, 4, 8).interchange("i0", "j0").reverse("c").skew("c", "i0")
    check(program, *SIZES)


def test_each_copy_counts():
    program = pair()
    program.function["B"].set_schedule("{ B[i,j] -> [i, c, j] : 0 <= c <= 2 and 2c <= j + 2 }")
    relation = program.function["B"].schedule_map
    assert sum(1 for _ in relation.pairs(N=2, M=3)) == 2 * (2 + 2 + 3)
    check(program, *SIZES)


def test_a_reader_takes_any_copy_before_it():
    program = pair()
    maps = "{{ B[i,j] -> [r, 0, j, i] : {}; C[i,j] -> [i, 1, j, 0] }}"
    program.function.set_schedule(maps.format("i <= r <= i + 2"))
    check(program, *SIZES)
    program.function.set_schedule(maps.format("i - 2 <= r <= i + 2"))
    check(program, *SIZES)
    error = illegal(
        pair(), lambda f: f.set_schedule(maps.format("i < r <= i + 2")), "none of the times"
    )
    assert str(error.source_instance).startswith("B[")
    assert str(error.sink_instance).startswith("C[")


def test_the_tiles_must_overlap_enough():
    illegal(stencil(), lambda f: f.set_schedule(NARROW), "none of the times")
    program = stencil()
    program.function.set_schedule(OVERLAPPED.replace("8T + 11 - t", "8T + 14 - t"))
    program.function["S"].parallelize("T")
    program.function["C"].parallelize("t0")
    check(program, *LENGTHS)
    # From the left, tiles may take what the tile before has made, as long as it comes before.
    program = stencil()
    program.function.set_schedule(OVERLAPPED.replace("8T - 3 + t", "8T - 1"))
    check(program, *LENGTHS)
    illegal(program, lambda f: f["S"].parallelize("T"), "none of the times")
    illegal(program, lambda f: f["S"].private("T"), "none of the times")


def test_copies_overwrite_what_others_still_read():
    """Two rows are enough for one tile, not for several that share them."""
    program = stencil()
    program.function["S"].store_in("S[t % 2, i]")
    illegal(program, lambda f: f.set_schedule(OVERLAPPED), "overwrites an element")
    program = stencil()
    program.function["S"].set_schedule("{ S[t,i] -> [t, c, i] : 0 <= c <= 1 }")
    program.function["S"].store_in("S[t % 2, i]")
    check(program, *LENGTHS)


def test_an_output_and_an_input_in_place():
    program = programs.pointwise()
    program.function["C"].set_schedule("{ C[i,j] -> [c(cpu), i, j] : 0 <= c <= 1 }")
    check(program, *SIZES)
    # The second copy would read what the first one wrote.
    illegal(program, lambda f: f["C"].store_in("A[i, j]"), "overwrites an element")


def test_producers_inside_the_loops_of_copies():
    program = pair()
    program.function["C"].set_schedule("{ C[i,j] -> [c, i, j] : 0 <= c <= 1 }")
    program.function["B"].compute_at("C", i)
    check(program, *SIZES)
    program.function["B"].store_at("C", i)
    check(program, *SIZES)
    program = pair()
    program.function["C"].set_schedule("{ C[i,j] -> [c, i, j] : 0 <= c <= 1 }")
    program.function["B"].inline()
    check(program, *SIZES)


def test_a_map_with_one_time_again():
    program = stencil()
    program.function.set_schedule(OVERLAPPED)
    program.function.set_schedule("{ S[t,i] -> [0, t, i]; C[i] -> [1, 0, i] }")
    program.function["S"].storage_fold(t, 2)
    check(program, *LENGTHS)


def test_schedules_of_copies_replay():
    first, second = stencil(), stencil()
    first.function.set_schedule(OVERLAPPED)
    tw.Schedule.from_json(first.function.schedule.to_json()).apply_to(second.function)
    assert str(first.function.schedule_map) == str(second.function.schedule_map)
    check(second, (31,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ C[i,j] -> [c, i, j] : c >= 0 }", "nothing bounds dimension 0"),
        ("{ C[i,j] -> [c, i, j] : 0 <= c < i }", r"no time to C\[0,0\]"),
        ("{ C[i,j] -> [r, j] : i <= r <= i + 1 }", "same time to two instances"),
        ("{ C[i,j] -> [c(gpu_block_x), i, j(gpu_thread_x)] : 0 <= c <= 1 }", "threads of a GPU"),
        ("{ C[i,j] -> [c, i, j(vec(4))] : 0 <= c <= 1 }", "constant extent"),
    ],
)
def test_what_makes_no_sense(text, message):
    nonsense(programs.pointwise(), lambda f: f["C"].set_schedule(text), message)


def test_terms_would_be_added_twice():
    nonsense(
        programs.matmul(),
        lambda f: f["C"].set_schedule("{ C[i,j,k] -> [c, i, j, k] : 0 <= c <= 1 }"),
        "whose terms would be added as often",
    )


def test_commands_that_need_one_time():
    program = stencil()
    program.function.set_schedule(OVERLAPPED)
    for command in (
        lambda s: s.apply_schedule("{ [a, b, c, d] -> [a, b, d, c] }"),
        lambda s: s.compute_at("C", "t0"),
        lambda s: s.storage_fold(t, 2),
        lambda s: s.storage_fold(t),
        lambda s: s.gpu_block("T"),
        lambda s: s.independent("T"),
    ):
        error = refused(program, lambda f, c=command: c(f["S"]), "several times each")
        assert not isinstance(error, tw.IllegalScheduleError)


def test_a_promise_concerns_no_others_that_run_several_times():
    """Its iterations would be those of one time of each instance."""
    program = stencil()
    program.function.set_schedule(OVERLAPPED)
    error = refused(
        program, lambda f: f["C"].independent("i", "S"), "instances of S run at several times each"
    )
    assert not isinstance(error, tw.IllegalScheduleError)


def test_a_reduction_is_not_inlined_into_what_runs_several_times():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    largest = tw.computation("B", {i: n}, tw.max(a[i, k], over={k: m}, initial=0))
    read = tw.computation("C", {i: n}, largest[i] * 2)
    program = Program(
        tw.function("f", outputs=[read]),
        lambda n, m: (integers((n, m), np.int64),),
        lambda a: 2 * np.max(a, axis=1, initial=0),
    )
    program.function["C"].set_schedule("{ C[i] -> [c, i] : 0 <= c <= 1 }")
    nonsense(program, lambda f: f["B"].inline(), "whose terms would be added as often")
    check(program, (0, 3), (1, 1), (5, 4))
