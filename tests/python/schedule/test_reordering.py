"""Loops in another order, combined, shared and separated: the kernel, the evaluator and
NumPy agree at sizes that are empty, single and not multiples of anything; what makes no sense or
would change the result is refused."""

from __future__ import annotations

import programs
import pytest
from programs import check
from restructured import SIZES, cube, diagonals, i, illegal, j, k, nonsense, pair

# ---- reorder ----


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_reorder(order):
    for program in (programs.matmul(), cube()):
        handle = program.function["C"].reorder(*order)
        assert handle.loops == tuple(order)
        check(program, *SIZES)


def test_reorder_leaves_the_others_where_they_are():
    program = cube()
    assert program.function["C"].reorder(k, i).loops == ("k", "j", "i")
    assert program.function["C"].reorder("j", "k").loops == ("j", "k", "i")
    check(program, *SIZES)


def test_reorder_of_tiles():
    program = programs.matmul()
    handle = program.function["C"].tile(i, j, 4, 8).split(k, 2).reorder("k0", "i1", "k1", "j1")
    assert handle.loops == ("i0", "j0", "k0", "i1", "k1", "j1")
    handle.parallelize("i0").vectorize("j1", 8)
    check(program, *SIZES)


def test_reorder_that_makes_no_sense():
    nonsense(cube(), lambda f: f["C"].reorder(i), r"expected reorder\(i, j, ...\)")
    nonsense(cube(), lambda f: f["C"].reorder(i, "q"), "no loop named 'q'; the loops are: i, j, k")
    nonsense(cube(), lambda f: f["C"].reorder(i, j, i), "'i' is named twice")
    nonsense(cube(), lambda f: f["C"].reorder(i, 3), "expected a loop")


def test_reorder_against_a_dependence():
    illegal(diagonals(), lambda f: f["C"].reorder(j, i))


# ---- transform ----


@pytest.mark.parametrize(
    "matrix", [[[1, 0], [1, 1]], [[0, 1], [1, 0]], [[-1, 0], [0, 1]], [[2, 1], [1, 1]]]
)
def test_transform(matrix):
    for program in (programs.pointwise(), programs.triangle()):
        handle = program.function["C"].transform([i, j], matrix)
        assert handle.loops == ("i", "j")
        check(program, *SIZES)


def test_transform_of_three_loops():
    program = programs.matmul()
    program.function["C"].transform([k, i, j], [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    check(program, *SIZES)


def test_transform_makes_diagonals_tileable():
    program = diagonals()
    illegal(program, lambda f: f["C"].tile(i, j, 4, 4))
    program.function["C"].transform([i, j], [[1, 0], [1, 1]]).tile(i, j, 4, 4)
    check(program, *SIZES)


def test_transform_for_a_wavefront():
    program = diagonals()
    program.function["C"].transform([i, j], [[1, 0], [1, 1]]).parallelize(j).interchange(i, j)
    check(program, *SIZES)


def test_transform_that_makes_no_sense():
    program = cube()
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0]]), "needs a 2 x 2 matrix")
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0], [1]]), "needs a 2 x 2 matrix")
    nonsense(
        program,
        lambda f: f["C"].transform([i, j], [[2, 0], [0, 1]]),
        "unimodular.*determinant is 2",
    )
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 1], [1, 1]]), "determinant is 0")
    nonsense(program, lambda f: f["C"].transform([i, j], [[1, 0.5], [0, 1]]), "must be an integer")
    nonsense(program, lambda f: f["C"].transform([i, "q"], [[1, 0], [0, 1]]), "no loop named 'q'")
    nonsense(program, lambda f: f["C"].transform([i, i], [[1, 0], [0, 1]]), "'i' is named twice")


def test_transform_against_a_dependence():
    illegal(diagonals(), lambda f: f["C"].transform([i, j], [[1, 1], [0, 1]]).interchange(i, j))


# ---- fuse_with, fission ----


def test_fuse_with_shares_all_loops():
    program = pair()
    program.function["C"].fuse_with("B")
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 1
    check(program, *SIZES)


def test_fuse_with_down_to_a_loop():
    program = pair()
    program.function["C"].fuse_with("B", i)
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 2
    check(program, *SIZES)


def test_fuse_with_then_store_one_element():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].set_access("{ B[i,j] -> element[] }")
    check(program, *SIZES)
    illegal(program, lambda f: f["C"].parallelize(i))


def test_fuse_with_that_makes_no_sense():
    nonsense(pair(), lambda f: f["C"].fuse_with("Z"), "no computation named 'Z'")
    nonsense(pair(), lambda f: f["C"].fuse_with("C"), "itself")
    nonsense(pair(), lambda f: f["C"].fuse_with("B", "q"), "no loop named 'q'")
    nonsense(pair(), lambda f: f["C"].fuse_with(7), "expected a computation")


def test_fuse_with_a_stencil_needs_a_shift():
    illegal(programs.pipeline(), lambda f: f["C"].fuse_with("B"))


def test_fission():
    program = pair()
    program.function["C"].fuse_with("B").fission(j)
    assert str(program.function.loops).count("for i ") == 1
    assert str(program.function.loops).count("for j ") == 2
    check(program, *SIZES)
    program.function["C"].fission(i)
    assert str(program.function.loops).count("for i ") == 2
    check(program, *SIZES)


def test_fission_given_to_the_other_one():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].fission(i)
    assert str(program.function.loops).count("for i ") == 2
    check(program, *SIZES)


def test_fission_that_makes_no_sense():
    nonsense(pair(), lambda f: f["C"].fission(i), "loop 'i' is not shared")
    nonsense(pair(), lambda f: f["C"].fission("q"), "no loop named 'q'")


def test_fission_where_one_element_is_kept():
    program = pair()
    program.function["C"].fuse_with("B")
    program.function["B"].store_in("element[0]")
    illegal(program, lambda f: f["C"].fission(j))
