"""split with a size that is an expression in parameters."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from programs import check
from restructured import LENGTHS, SIZES, cube, i, illegal, integers, j, k, nonsense, pair

import tilewright as tw


def line(context: int = 0) -> programs.Program:
    n = tw.param("N")
    a = tw.input("A", [n], tw.int32)
    c = tw.computation("C", {i: n}, a[i] * 3 + tw.cast(i, tw.int32))
    return programs.Program(
        tw.function("line", outputs=[c], context=[n >= context]),
        lambda n: (integers((n,)),),
        lambda a: (a * 3 + np.arange(a.size)).astype(np.int32),
    )


def blocks(program: programs.Program, size: int) -> list[tuple[int, ...]]:
    """The values of the loops of C at N = size, in the order of i."""
    pairs = program.function["C"].schedule_map.pairs(N=size)
    return [tuple(time[1::2]) for _, time in sorted(pairs)]


@pytest.mark.parametrize("text", ["N // 4", "(N + 3) // 4", "N - 1", "N", "N + 7", "N // 3 + 1"])
def test_every_length_has_its_values(text):
    program = line()
    program.function["C"].split(i, text).parallelize("i0")
    check(program, *LENGTHS)


def test_an_expression_is_its_text():
    n = tw.param("N")
    first, second = line(), line()
    first.function["C"].split(i, (n + 3) // 4)
    second.function["C"].split("i", "(N + 3) // 4")
    assert first.function.schedule == second.function.schedule
    assert str(first.function.schedule) == 'C.split("i", "(N + 3) // 4")'
    replayed = line()
    tw.Schedule.from_json(first.function.schedule.to_json()).apply_to(replayed.function)
    assert replayed.function.schedule == first.function.schedule


def test_the_larger_of_two():
    n = tw.param("N")
    program = line()
    program.function["C"].split(i, tw.maximum(n // 4, 3))
    check(program, *LENGTHS)
    program = line()
    program.function["C"].split(i, "max(N // 4, 3)")
    check(program, *LENGTHS)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 30])
def test_block_and_rest(size):
    program = line()
    program.function["C"].split(i, "N // 4", "block", "rest")
    assert program.function["C"].loops == ("block", "rest")
    length = max(1, size // 4)
    assert blocks(program, size) == [divmod(x, length) for x in range(size)]


def test_one_parallel_loop_over_the_blocks():
    program = line()
    program.function["C"].split(i, "(N + 3) // 4").parallelize("i0")
    assert str(program.function.loops).count("parallel") == 1
    check(program, *LENGTHS)


def test_the_loops_in_a_block_are_cut_tagged_and_moved():
    program = cube()
    c = program.function["C"]
    c.split(i, "(N + 1) // 2").split("i1", 4).reorder("i0", k, j).vectorize(j, 4).parallelize("i0")
    check(program, *SIZES)
    program = cube()
    program.function["C"].split(j, "M // 3").interchange("j0", i).unroll("j1", 2)
    check(program, *SIZES)


def test_a_loop_that_is_dealt_out():
    program = programs.pointwise()
    program.function["C"].parallelize(i, schedule="dynamic", chunk=4).split(i, "(N + 2) // 3")
    assert program.function["C"].tags == {"i0": "parallel(dynamic, 1)"}
    check(program, *SIZES)


def test_sums_and_other_bounds():
    program = programs.matmul()
    program.function["C"].split(k, "(K + 1) // 2").split(i, "N // 2").interchange("i1", j)
    check(program, (0, 3), (3, 5), (9, 7), (16, 16))
    program = programs.triangle()
    program.function["C"].split(i, "N // 2").split(j, "(N + 2) // 3").interchange("i1", "j0")
    check(program, (0,), (1,), (2,), (7,), (24,))


def test_the_order_counts():
    program = programs.prefix()
    program.function["C"].split(i, "N // 2")
    check(program, *SIZES)
    illegal(program, lambda f: f["C"].parallelize("i0"))
    illegal(program, lambda f: f["C"].reverse("i1"))


def test_shared_loops():
    program = pair()
    c = program.function["C"].split(i, "(N + 1) // 2")
    program.function["B"].split(i, "(N + 1) // 2")
    c.after("B", "i1").parallelize("i0")
    program.function["B"].parallelize("i0")
    check(program, *SIZES)


def test_a_parameter_that_has_a_value():
    n, q = tw.params("N Q")
    a = tw.input("A", [n, q], tw.int32)
    c = tw.computation("C", {i: n, j: q}, a[i, j] + 1)
    f = tw.function("f", outputs=[c])
    nonsense(
        programs.Program(f, lambda n, q: (integers((n, q)),), lambda a: a + 1),
        lambda f: f["C"].split(i, q),
        "nothing says how many",
    )
    f.fix(Q=4)
    f["C"].split(i, q)
    assert f["C"].loops == ("i0", "i1", "j")
    given = integers((11, 4))
    np.testing.assert_array_equal(f(given), given + 1)
    f["C"].vectorize("i1")  # the extent is the number 4
    np.testing.assert_array_equal(f(given), given + 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N // 100", "more than 16 in loop 'i'"),
        ("7 - N", "more than 16"),
        ("N * N", "affine in parameters"),
        ("N // M", "affine in parameters"),
        ("N / 0", "write // for"),
        ("N / 2", "write // for"),
        ("-N", "below 1 for all"),
        ("0", "below 1 for all"),
        ("N ] -> [ N", "affine in parameters"),
        ("Q // 2", "'Q' in the size is no parameter of pointwise"),
        ("i // 2", "'i' in the size is no parameter"),
        ("", "affine in parameters"),
    ],
)
def test_what_makes_no_sense(text, message):
    nonsense(programs.pointwise(), lambda f: f["C"].split(i, text), message)


def test_tags_that_neither_loop_would_have():
    program = programs.pointwise()
    program.function["C"].vectorize(j, 4)
    nonsense(program, lambda f: f["C"].split("j1", "M // 2"), "is a vector loop")
    with pytest.raises(tw.ScheduleTypeError, match=r"integer.*2\.5"):
        programs.pointwise().function["C"].split(i, 2.5)  # type: ignore[arg-type]


MEMORY = {
    "store_at": lambda f: f["B"].compute_at("C", "i0").store_at("C", "i0"),
    "cache": lambda f: f["C"].cache("B", "i0"),
    "cache_of_what_is_written": lambda f: f["C"].cache("C", "i0"),
}


@pytest.mark.parametrize("size", ["(N + 1) // 2", "(N + 3) // 4", "N // 3", "max(N // 4, 3)"])
@pytest.mark.parametrize("memory", MEMORY)
def test_memory_inside_a_block(memory, size):
    """As large as one block: its beginning follows from the number of the block."""
    n = tw.param("N")
    a = tw.input("A", [n + 1], tw.int32)
    b = tw.computation("B", {i: n + 1}, 3 * a[i] + 1)
    c = tw.computation("C", {i: n}, b[i] * b[i + 1])
    f = tw.function("f", outputs=[c], default_schedule=False)
    c.split(i, size)
    MEMORY[memory](f)
    for length in (0, 1, 2, 3, 7, 8, 33):
        given = integers((length + 1,))
        wanted = (3 * given[:-1] + 1) * (3 * given[1:] + 1)
        np.testing.assert_array_equal(f(given), wanted, err_msg=str(length))


def test_private_blocks():
    program = pair()
    for name in ("B", "C"):
        program.function[name].split(i, "(N + 3) // 4")
    program.function["C"].after("B", "i0")
    program.function["B"].private("i0")
    text = str(program.function.loops)
    assert "B = empty(((N + 3) // 4, M)" in text
    assert "(0 if " not in text, text  # i0 itself, not found anew from i
    check(program, *SIZES)
    for name in ("B", "C"):
        program.function[name].parallelize("i0")
    check(program, *SIZES)


@pytest.mark.parametrize("loops", [("i0",), ("i0", "i1")])
def test_blocks_on_a_gpu(loops):
    """One block of threads holds all blocks of iterations; its number has one value, and isl no loop."""
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int32)
    c = tw.computation("C", {i: n, j: m}, 3 * a[i, j])
    f = tw.function("f", outputs=[c], target="gpu-emulator", default_schedule=False)
    c.split(i, "N // 3").gpu(*loops)
    for shape in ((0, 3), (2, 2), (11, 4)):
        given = integers(shape)
        np.testing.assert_array_equal(f(given), 3 * given)


def test_pieces_of_a_chain_in_two_blocks():
    """isl would end the loop over the blocks by a condition on its own counter."""
    n, m = tw.params("N M")
    chained = (i >= 3) & (j >= 1)
    c = tw.computation(
        "C",
        {i: (1, m), j: n},
        lambda c: [(chained, c[i - 2, j]), (~chained, i + j)],
        dtype=tw.int64,
        where=j <= n - 2,
    )
    f = tw.function("f", outputs=[c])
    c.split(i, "M // 2")
    assert "for i0 in" in str(f.loops)
    for m_size in (*range(9), 20):
        got = f(M=m_size, N=6)
        expected = f.evaluate(M=m_size, N=6)
        np.testing.assert_array_equal(got[1:, :5], expected[1:, :5])


def test_the_layers_show_every_block():
    n = tw.param("N")
    c = tw.computation("C", {i: n}, 2.0)
    f = tw.function("f", outputs=[c], default_schedule=False)
    c.split(i, "(N + 1) // 2")
    defined = (
        "i0 = (0 if 2i < N, 1 if 2i >= N) and i1 = (i if 2i < N, i - floor((1 + N)/2) if 2i >= N)"
    )
    assert defined in str(f.layers), f.layers


def test_elements_without_terms_are_in_blocks_of_their_size():
    """C[N] has no term, and is nevertheless set to 0 in a block of its own if N is even."""
    n = tw.param("N")
    a = tw.input("A", [n], tw.int64)
    c = tw.computation("C", {i: n + 1}, tw.sum(a[k], over={k: n}, where=i + k < n))
    f = tw.function("f", outputs=[c])
    c.split(i, "(N + 1) // 2")
    starts = {}
    for statement in tw._core.statements_at(f, {"N": 4}):
        if statement["role"] == "initialise":
            starts = {instance[0]: time[1] for instance, time in statement["times"]}
    assert starts == {0: 0, 1: 0, 2: 1, 3: 1, 4: 2}
    assert f(np.arange(1, 5)).tolist() == [10, 6, 3, 1, 0]


def test_eighths_are_cached():
    """Each pair of blocks is compared only where the analysis has pairs of instances in them."""
    n, m = tw.params("N M")
    a, b = tw.input("A", [n, m], tw.int64), tw.input("B", [m, n], tw.int64)
    c = tw.computation("C", {i: n, j: n}, tw.sum(a[i, k] * b[k, j], over={k: m}))
    f = tw.function("f", outputs=[c])
    c.split(i, "N // 8").parallelize("i0").cache(b, "i0")
    for size in (3, 16, 23, 40):
        x, y = integers((size, 5)).astype(np.int64), integers((5, size)).astype(np.int64)
        assert np.array_equal(f(x, y), x @ y)
