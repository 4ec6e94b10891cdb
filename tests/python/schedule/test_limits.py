"""Numbers that are too large, tags that would go without a word, and messages that name what was
written: commands refuse what loops of 64 bits cannot count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from refusals import raises

N, M = tw.params("N M")
i, j = tw.iters("i j")


def plane() -> tuple[tw.Computation, tw.Function]:
    A = tw.input("A", [N, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, 2 * A[i, j])
    return C, tw.function("f", outputs=[C])


def line() -> tuple[tw.Computation, tw.Function]:
    A = tw.input("A", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * A[i])
    return C, tw.function("f", outputs=[C])


# ---- numbers ----


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (lambda C: C.skew(i, j, 2**61), "the factor must lie between -2\\*\\*40 and 2\\*\\*40"),
        (lambda C: C.shift(i, 2**63 - 1), "the shift must lie between"),
        (lambda C: C.shift(i, -(2**63)), "the shift must lie between"),
        (lambda C: C.split(i, 2**63 - 1), "the size must be at most 2\\*\\*31"),
        (lambda C: C.tile(i, j, 2**40, 8), "a tile size must be at most 2\\*\\*31"),
        (lambda C: C.transform((i, j), [[1, 2**62], [0, 1]]), "beyond 2\\*\\*40"),
        (
            lambda C: C.transform((i, j), [[2**32, 0], [0, 2**32]]),
            "determinant is 18446744073709551616",
        ),
        (lambda C: C.shift(i, 2**40).shift(i, 2**40), "counted together with the commands before"),
        (lambda C: C.split(i, 2**31).split("i0", 2**31), "loop '.*' of C would be a formula"),
        (lambda C: C.set_schedule("{C[i,j]->[92233720368547758070*i,j]}"), "a number beyond 2"),
        (lambda C: C.set_schedule("{C[i,j]->[i,j + 9223372036854775807]}"), "a number beyond 2"),
        (lambda C: C.set_schedule("{C[i,j]->[i,j(vec(99999999999999999999))]}"), "between 1 and"),
        # More than 64 bits never come to a command.
        (lambda C: C.split(i, 2**63), "the size of a block must be an integer of 64 bits"),
        (lambda C: C.gpu_tile(i, j, 2**70, 8), "must be an integer of 64 bits, got 11805916207174"),
        (lambda C: C.vectorize(i, 2**64), "must be an integer of 64 bits"),
        (lambda C: C.unroll(i, 2**64), "must be an integer of 64 bits"),
        (lambda C: C.shift(i, -(2**64)), "the shift must be an integer of 64 bits"),
        (lambda C: C.cache("A", i, stages=2**70), "must be an integer of 64 bits"),
        (lambda C: C.transform((i, j), [[1, 2**64], [0, 1]]), "an integer of 64 bits"),
    ],
)
def test_numbers_that_are_too_large(command: Callable[[tw.Computation], object], message: str):
    C, f = plane()
    with raises(tw.ScheduleError, message):
        command(C)
    a = np.arange(35, dtype=np.float32).reshape(7, 5)
    np.testing.assert_array_equal(f(a), 2 * a)


@pytest.mark.parametrize(
    "place",
    [
        "b[i, 1099511627777 * j]",
        "b[i, 4611686018427387904 * j]",
        "b[i, 9223372036854775808 * j]",
        "b[i, j + 9223372036854775808]",
        "b[i, 4611686018427387904]",
        "b[i, j mod 4611686018427387904]",
    ],
)
def test_places_of_temporaries_with_numbers_that_are_too_large(place: str):
    A = tw.input("A", [N, M], tw.float32)
    B = tw.computation("B", {i: N, j: M}, A[i, j] + 1)
    C = tw.computation("C", {i: N, j: M}, 2 * B[i, j])
    f = tw.function("f", outputs=[C])
    text = f.schedule
    with raises(tw.ScheduleError, "the place of B in buffer 'b' would be a formula with a number"):
        f["B"].store_in(place)
    assert f.schedule == text


@pytest.mark.parametrize(
    "command",
    [
        lambda C: C.split(i, 2**31),
        lambda C: C.shift(i, 2**40),
        lambda C: C.shift(i, -(2**40)),
        lambda C: C.split(i, 2**20).split("i1", 2**15),
        lambda C: C.skew(i, j, 2**20),
        lambda C: C.transform((i, j), [[1, 2**20], [0, 1]]),
        lambda C: C.set_schedule("{C[i,j]->[1000000*i + 1000000, -1000000*j]}"),
    ],
)
def test_large_numbers_that_fit(command: Callable[[tw.Computation], object]):
    C, f = plane()
    command(C)
    a = np.arange(35, dtype=np.float32).reshape(7, 5)
    np.testing.assert_array_equal(f(a), 2 * a)


def test_loops_that_may_pass_64_bits_for_some_sizes():
    C, f = plane()
    C.skew(i, j, 2**30)
    with pytest.raises(tw.ScheduleError, match="loop 'j' of function 'f' may pass 64 bits"):
        f(np.ones((7, 5), np.float32))


def test_a_bound_of_the_sizes_lets_factors_be_larger():
    R = tw.param("R", "R <= 100000")
    A = tw.input("A", [R, M], tw.float32)
    C = tw.computation("C", {i: R, j: M}, 2 * A[i, j])
    f = tw.function("f", outputs=[C])
    C.skew(i, j, 2**30)
    a = np.arange(35, dtype=np.float32).reshape(7, 5)
    np.testing.assert_array_equal(f(a), 2 * a)


# ---- tags ----


def test_parallel_loops_stay_parallel_when_they_are_cut():
    C, f = plane()
    C.parallelize(i, j).tile(i, j, 4, 8)
    assert f["C"].tags == {"i0": "parallel", "j0": "parallel(joined)"}
    a = np.arange(35, dtype=np.float32).reshape(7, 5)
    np.testing.assert_array_equal(f(a), 2 * a)


def test_chunks_keep_their_iterations():
    C, f = line()
    C.parallelize(i, schedule="static", chunk=60).split(i, 8)
    assert f["C"].tags == {"i0": "parallel(static, 8)"}
    a = np.arange(500, dtype=np.float32)
    np.testing.assert_array_equal(f(a), 2 * a)


def test_a_parallel_loop_becomes_one_over_vectors():
    C, f = line()
    C.parallelize(i, schedule="dynamic").vectorize(i, 8)
    assert f["C"].tags == {"i0": "parallel(dynamic)", "i1": "vector(8)"}
    a = np.arange(35, dtype=np.float32)
    np.testing.assert_array_equal(f(a), 2 * a)


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (lambda C: C.vectorize(j, 8).split("j1", 4), "'j1' is a vector loop"),
        (lambda C: C.unroll(j, 8).vectorize("j1", 4), "'j1' is an unrolled loop"),
        (lambda C: C.gpu(i, j).split("j1", 4), "'j1' is a loop over a block's threads"),
        (lambda C: C.gpu(i, j).tile("i0", "j0", 4, 4), "'i0' is a loop over a GPU's blocks"),
        (
            lambda C: C.gpu(i, j).parallelize("i0"),
            "'i0' is a loop over a GPU's blocks .gpu_block. already and cannot be a parallel loop",
        ),
        (lambda C: C.parallelize(i).gpu(i, j), "'i' is a parallel loop .* cannot be a loop over"),
        (lambda C: C.parallelize(i).gpu_block(i), "'i' is a parallel loop .* over a GPU's blocks"),
        (lambda C: C.gpu_block(i).gpu_thread(i), "over a GPU's blocks .* over a block's threads"),
        (lambda C: C.split(j, 8).parallelize("j1").vectorize("j1"), "cannot be a vector loop"),
        (lambda C: C.vectorize(j, 8).parallelize("j1"), "cannot be a parallel loop"),
    ],
)
def test_tags_do_not_go_without_a_word(commands: Callable[[tw.Computation], object], message: str):
    C, _ = plane()
    with pytest.raises(tw.ScheduleError, match=message):
        commands(C)


def test_a_loop_may_get_the_same_tag_again():
    C, f = plane()
    C.parallelize(i).parallelize(i, schedule="dynamic").gpu_thread(j).gpu_thread(j)
    assert f["C"].tags == {"i": "parallel(dynamic)", "j": "gpu_thread_x"}


# ---- messages ----


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (lambda C: C.cache("A", "k9"), 'C.cache("A", "k9"): there is no loop named \'k9\''),
        (
            lambda C: C.cache("A", i, memory="Shared"),
            'C.cache("A", "i", memory="Shared"): the memory must be',
        ),
        (lambda C: C.gpu(i, i), 'C.gpu("i", "i"): loop \'i\' is given twice'),
        (lambda C: C.tile(i, i, 4, 4), "loop 'i' is given twice"),
        (lambda C: C.parallelize(i, i), "loop 'i' is given twice"),
        (
            lambda C: C.set_schedule("{ C[i,j] -> [0, j] }"),
            "for example C[0,0] and C[1,0] (",
        ),
        (lambda C: C.set_schedule("{ C[i,j] -> [i(gpu_blok_x), j] }"), "no tag 'gpu_blok_x'"),
        (lambda C: C.set_schedule("{ C[i,j] -> [i, j(vek(8))] }"), "there is no tag 'vek(8)'"),
        (lambda C: C.set_schedule("{ C[i,j] -> [floor(i), j"), "isl cannot read this map"),
    ],
)
def test_messages_name_what_was_written(command: Callable[[tw.Computation], object], message: str):
    C, _ = plane()
    with pytest.raises(tw.ScheduleError) as caught:
        command(C)
    assert message in str(caught.value)


def test_a_cache_below_a_cached_computation_is_named():
    C, f = plane()
    C.tile(i, j, 4, 8).cache(C, "j0", name="L")
    with pytest.raises(tw.ScheduleError) as caught:
        f["L"].cache("A", "b", memory="shared")
    assert 'L.cache("A", "b", memory="shared"): there is no loop named \'b\'' in str(caught.value)
