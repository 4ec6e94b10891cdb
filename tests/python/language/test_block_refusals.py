"""What blocks refuse: parts and functions that do not fit, layouts, commands and targets."""

import ctypes
import pickle

import numpy as np
import pytest
from block_functions import (
    B,
    M,
    N,
    b,
    compiled,
    doubles,
    fft,
    i,
    i64,
    j,
    row_function,
    rows_of,
    run,
    typed,
)

import tilewright as tw

rng = np.random.default_rng(12)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("blocks"))


def declared(function=lambda *parts: None, **changes):
    A = tw.input("A", [B, N, M], tw.float64)
    given = {"reads": [A.part[b, :, :]], "writes": {"X": ([N], tw.float64)}} | changes
    return A, tw.block("blk", function, {b: B}, **given)


def test_parts_that_do_not_fit_are_refused(library):
    A = tw.input("A", [B, N, M], tw.float64)
    with pytest.raises(tw.DeclarationError, match="takes 3 subscripts, not 2"):
        A.part[b, :]
    with pytest.raises(tw.DeclarationError, match="do not count from the end"):
        A.part[b, :-1, :]
    with pytest.raises(tw.DeclarationError, match="no step"):
        A.part[b, ::2, :]
    with pytest.raises(tw.DeclarationTypeError, match="must be an integer or a slice"):
        A.part[b, 1.5, :]
    with pytest.raises(tw.DomainError, match="A"):
        declared(reads=[A.part[b, 0 : N + 1, :]])
    with pytest.raises(tw.DomainError, match="A"):
        declared(reads=[A.part[b + 1, :, :]])
    with pytest.raises(tw.DeclarationError, match="writes nothing"):
        declared(writes={})
    with pytest.raises(tw.DeclarationError, match="two parts of A"):
        declared(reads=[A, A.part[b, :, :]])
    with pytest.raises(tw.DeclarationTypeError, match="part of one"):
        declared(reads=[A[b, 0, 0]])
    with pytest.raises(tw.DeclarationError, match="reads and writes a part named A"):
        declared(writes={"A": ([N], tw.float64)})


def test_functions_that_do_not_fit_are_refused(library):
    kind = typed(library.first_kind, None, doubles, doubles, i64)
    A = tw.input("A", [B, N, M], tw.float32)
    given = {"arguments": ["A", "X", N]}
    with pytest.raises(tw.DeclarationTypeError, match="part A is of float32"):
        declared(kind, reads=[A.part[b, :, :]], **given)
    with pytest.raises(
        tw.DeclarationError, match="takes 3 arguments by its argtypes, and is given 2"
    ):
        declared(kind)
    with pytest.raises(tw.DeclarationTypeError, match="passed as pointers"):
        declared(kind, arguments=["A", 3, "X"])
    with pytest.raises(tw.DeclarationError, match="leaves out X"):
        declared(kind, arguments=["A", 3])
    with pytest.raises(tw.DeclarationError, match="names 'Y'"):
        declared(kind, arguments=["A", "Y", 3])
    with pytest.raises(tw.DeclarationTypeError, match="at an address"):
        declared(1234)
    with pytest.raises(tw.DeclarationTypeError, match="ctypes function with argtypes"):
        declared("dgesv")
    with pytest.raises(tw.DeclarationTypeError, match="return nothing or an int"):
        declared(typed(library.second_kind, ctypes.c_double, doubles, doubles, i64), **given)
    library.second_kind.argtypes = None
    library.second_kind.restype = None
    with pytest.raises(tw.DeclarationError, match="set argtypes"):
        declared(library.second_kind, **given)


def test_a_changed_layout_is_refused(library):
    f = row_function(library)
    x = rng.standard_normal((4, 5))
    np.testing.assert_array_equal(run(f, x), 3 * x + 1)
    with pytest.raises(tw.ScheduleError, match="its dimension 0 is not dimension 1 of its memory"):
        f["t"].set_access("{ t[i, j] -> t_buf[j, i] }")
    with pytest.raises(
        tw.ScheduleError, match="leave the dimensions of the part last and in order"
    ):
        rows_of(library, "between")["y"].set_access("{ y[i, j] -> y_buf[i, 2j] }")
    np.testing.assert_array_equal(run(f, x), 3 * x + 1)


def test_an_array_with_gaps_is_refused_by_a_function_of_c(library):
    x = tw.input("x", [N], tw.float64)
    kind = typed(library.first_kind, None, doubles, doubles, i64)
    (y,) = tw.block(
        "kind", kind, {}, reads=[x], writes={"y": ([N], tw.float64)}, arguments=["x", "y", N]
    )
    f = tw.function("gaps", outputs=[y])
    given = np.arange(8.0)
    with pytest.raises(ValueError, match=r"np\.ascontiguousarray\(x\)"):
        f(given[::2])
    np.testing.assert_array_equal(f(given), given + 1)


def test_commands_that_blocks_do_not_take(library):
    f = row_function(library)
    for command in (
        lambda: f["kind"].vectorize(i, 4),
        lambda: f["kind"].gpu(i),
        lambda: f["kind"].compute_at(f["t"], i),
        lambda: f["y"].parallelize(i),
        lambda: f["t"].after(f["y"]),
        lambda: f["t"].inline(),
    ):
        with pytest.raises(tw.ScheduleError, match="block"):
            command()


def test_calls_have_one_time_each(library):
    f = row_function(library)
    with pytest.raises(tw.ScheduleError, match="would change once more"):
        f["kind"].set_schedule("{ kind[i] -> [c, i] : 0 <= c <= 1 }")
    x = rng.standard_normal((4, 5))
    f["t"].set_schedule("{ t[i, j] -> [c, i, j] : 0 <= c <= 1 }")
    np.testing.assert_array_equal(run(f, x), 3 * x + 1)


def test_a_loop_of_calls_whose_parts_meet_is_no_parallel_one():
    """Each call changes the row that the next one reads."""
    x = tw.input("x", [N, M], tw.float64)

    def add(above, row):
        row += above

    S = tw.computation("S", {i: N, j: M}, dtype=tw.float64)
    (T,) = tw.block(
        "add", add, {i: (1, N)}, reads={"above": S.part[i - 1, :]}, updates={"T": x.part[i, :]}
    )
    S.define(i == 0, x[i, j])
    S.define(i > 0, T[i, j])
    f = tw.function("cumulated", outputs=[S], context=[N >= 1])
    given = rng.standard_normal((5, 4))
    np.testing.assert_allclose(run(f, given), np.cumsum(given, 0), rtol=1e-12)
    with pytest.raises(tw.IllegalScheduleError):
        f["add"].parallelize(i)


def test_what_other_targets_cannot_call(library):
    f = row_function(library)
    for show in (lambda: f.c, lambda: f.export_source("nowhere"), lambda: f.export("nowhere")):
        with pytest.raises(tw.ScheduleError, match="has the block kind"):
            show()


def test_blocks_are_not_for_gpus_and_other_processes(library):
    f = row_function(library)
    with pytest.raises(tw.ScheduleError, match="kernels of a GPU cannot call it"):
        f["t"].gpu(i, j)
    for value in (f, rows_of(library, "between")):
        with pytest.raises(pickle.PicklingError, match="block kind"):
            pickle.dumps(value)


def test_types_that_numpy_does_not_have():
    x = tw.input("x", [N], tw.bfloat16)
    with pytest.raises(tw.DeclarationTypeError, match="bfloat16"):
        tw.block("short", lambda *parts: None, {}, reads=[x], writes={"y": ([N], tw.float32)})


def test_iterations_until_data_say_so_have_no_blocks():
    t, T = tw.iter("t"), tw.param("T", minimum=1)
    x = tw.input("x", [N], tw.float64)
    (y,) = tw.block("part", fft, {}, reads=[x], writes={"y": ([N], tw.float64)})
    done = tw.computation("done", {t: T}, t >= 3)
    with pytest.raises(tw.DeclarationError, match="has the block part"):
        tw.function("ending", outputs=[y], until={T: done})


def test_a_call_does_not_write_where_it_reads():
    x = tw.input("x", [B, N], tw.float64)

    def turn(row, out):
        out[...] = row[::-1]

    blk = tw.block("turn", turn, {b: B}, reads=[x.part[b, :]], writes={"y": ([N], tw.float64)})
    f = tw.function("turned", outputs=[*blk])
    given = rng.standard_normal((3, 4))
    with pytest.raises(ValueError, match="may write before it has read"):
        f(given, out=given)
    np.testing.assert_array_equal(run(f, given), given[:, ::-1])

    def double(row):
        row *= 2

    blk = tw.block("double", double, {b: B}, updates={"y": x.part[b, :]})
    f = tw.function("doubled", outputs=[*blk])
    expected = 2 * given
    np.testing.assert_array_equal(f(given, out=given), expected)  # what changes in place may
