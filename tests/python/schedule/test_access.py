"""Access relations, folds and their default: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import programs
import pytest
from programs import Program, check
from restructured import (
    AT_LEAST_TWO,
    LENGTHS,
    SIZES,
    blur,
    i,
    illegal,
    integers,
    k,
    nonsense,
    pair,
)

import tilewright as tw


def test_set_access():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].set_access("{ B[i,j] -> window[j, i mod 2] }")
    assert "window: int32[" in str(program.function.layers)
    check(program, *AT_LEAST_TWO)


def test_set_access_by_name_of_parameters():
    program = pair()
    program.function["B"].set_access("[N, M] -> { B[i,j] -> line[i * 0 + M - 1 - j + 0, i] }")
    check(program, *SIZES)


def test_set_access_of_pieces():
    """Even and odd columns in halves of a buffer."""
    program = pair()
    program.function["B"].set_access(
        "{ B[i,j] -> half[0, i, floor(j/2)] : j mod 2 = 0; "
        "B[i,j] -> half[1, i, floor(j/2)] : j mod 2 = 1 }"
    )
    check(program, *SIZES)


def test_two_computations_in_one_buffer():
    n = tw.param("N")
    x = tw.input("x", [n], tw.int32)
    a = tw.computation("A", {i: n}, x[i] + 1)
    b = tw.computation("B", {i: n}, a[i] * 2)
    c = tw.computation("C", {i: n}, b[n - 1 - i])
    program = Program(
        tw.function("f", outputs=[c]), lambda n: (integers((n,)),), lambda x: (2 * x + 2)[::-1]
    )
    program.function["A"].set_access("{ A[i] -> shared[i] }")
    program.function["B"].set_access("{ B[i] -> shared[i] }")
    assert str(program.function.loops).count("empty(") == 1
    check(program, *LENGTHS)
    illegal(program, lambda f: f["B"].set_access("[N] -> { B[i] -> shared[N - 1 - i] }"))


def test_set_access_that_makes_no_sense():
    cases = [
        ("nonsense", "isl cannot read"),
        ("{ B[i] -> b[i] }", r"must start from B\[i,j\]"),
        ("{ C[i,j] -> b[i, j] }", r"must start from B\[i,j\]"),
        ("{ B[i,j] -> [i, j] }", "the buffer needs a name"),
        ("{ B[i,j] -> A[i] }", "2 dimensions, and 1 subscript was given"),
        ("{ B[i,j] -> b[i, k] }", "several elements|isl cannot read"),
    ]
    for text, message in cases:
        nonsense(pair(), lambda f, text=text: f["B"].set_access(text), message)
    nonsense(
        pair(), lambda f: f["B"].set_access(3), "isl map of set_access must be a string, got 3"
    )


def test_set_access_below_0():
    program = pair()
    program.function["B"].set_access("{ B[i,j] -> b[i - 1, j] }")
    check(program, *SIZES)


def test_set_access_that_leaves_instances_out():
    nonsense(
        pair(),
        lambda f: f["B"].set_access("{ B[i,j] -> b[i, j] : i > 0 }"),
        r"no element to B\[0,0\]",
    )


@pytest.mark.parametrize("fold", [2, 3, 7])
def test_storage_fold(fold):
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].storage_fold(i, fold)
    assert f"B: int32[{fold}" in str(program.function.layers) or fold > 2
    check(program, *AT_LEAST_TWO)


def test_storage_fold_too_small():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    error = illegal(program, lambda f: f["B"].storage_fold(i, 1))
    assert error.element
    check(program, *AT_LEAST_TWO)


def test_storage_fold_without_a_shared_loop():
    illegal(programs.pipeline(), lambda f: f["B"].storage_fold(i, 2))


def test_storage_fold_that_makes_no_sense():
    nonsense(pair(), lambda f: f["B"].storage_fold(i, 0), "at least 1, got 0")
    nonsense(pair(), lambda f: f["B"].storage_fold(i, 1.5), "must be an integer")
    nonsense(
        pair(), lambda f: f["B"].storage_fold(k, 2), "no dimension of buffer 'B' is indexed by 'k'"
    )
    nonsense(pair(), lambda f: f["C"].storage_fold(i, 2), "C is an output")


def test_auto_allocate_map():
    program = pair()
    program.function["B"].store_in("turned[j, i]").auto_allocate_map()
    assert "turned" not in str(program.function.layers)
    check(program, *SIZES)


def test_auto_allocate_map_takes_store_at_back():
    program = blur()
    program.function["B"].compute_at("C", i).store_at("C", i)
    assert "B = empty((3, M), int32)" in str(program.function.loops)
    program.function["B"].auto_allocate_map()
    assert "B = empty((N + 2, M), int32)" in str(program.function.loops)
    check(program, *SIZES)


def test_auto_allocate_map_takes_a_fold_back():
    program = programs.pipeline()
    program.function["C"].shift(i, 1).fuse_with("B", i)
    program.function["B"].storage_fold(i, 2)
    illegal(program, lambda f: f["C"].fission(i))
    program.function["B"].auto_allocate_map()
    program.function["C"].fission(i)
    check(program, *AT_LEAST_TWO)
