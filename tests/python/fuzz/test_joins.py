"""join of loops whose extents are parameters, under random tags: the library's verdict is that of a judge that writes
out all iterations, and what is legal computes what NumPy says."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")
SIZES = ((0, 3), (3, 0), (1, 1), (2, 5), (5, 2), (4, 3), (3, 9))
DISTANCES = ((0, 1), (1, 0), (1, 1), (1, -1), (2, 0))


def declared(distances: tuple[tuple[int, int], ...]) -> tw.Function:
    """C[i, j] = A[i, j] and, of each distance, the element there, if there is one."""
    a = tw.input("A", [N, M], tw.int64)

    def value(c: tw.Computation) -> tw.Expression:
        total = a[i, j]
        for down, right in distances:
            there = (i >= down) & (j >= right) & (j - right < M)
            total = total + tw.select(there, 2 * c[i - down, j - right], 0)
        return total

    c = tw.computation("C", {i: N, j: M}, value, dtype=tw.int64)
    return tw.function("joined", outputs=[c], default_schedule=False)


def expected(distances: tuple[tuple[int, int], ...], a: np.ndarray) -> np.ndarray:
    result = a.copy()
    for row, column in itertools.product(*map(range, a.shape)):
        for down, right in distances:
            if row >= down and 0 <= column - right < a.shape[1]:
                result[row, column] += 2 * result[row - down, column - right]
    return result


def is_legal(distances: tuple[tuple[int, int], ...], order: str, tag: str) -> bool:
    """Each iteration comes after what it reads: of two loops of any length. Lanes and threads have no order."""
    ordered = all((d if order == "ij" else d[::-1]) >= (0, 0) for d in distances)
    return ordered and (tag not in ("vectorize", "parallelize") or not distances)


@pytest.mark.parametrize("seed", range(6))
def test_the_library_judges_joined_loops_alike(seed: int) -> None:
    rng = random.Random(f"joins {seed}")
    for _ in range(4):
        number = rng.choice((0, 0, 1, 1, 2))
        distances = tuple(rng.sample(DISTANCES, number))
        order = rng.choice(("ij", "ij", "ji"))
        size = rng.choice((1, 2, 3, 4, 8))
        cut, tag = rng.random() < 0.5, rng.choice(("vectorize", "unroll", "parallelize", ""))
        f = declared(distances)
        case = f"{distances} {order} {tag} {size} {cut}"
        try:
            if order == "ji":
                f["C"].interchange(i, j)
            f["C"].join(*order)
            if cut:
                f["C"].split(order, size)
            if tag == "parallelize":
                f["C"].parallelize(order + "0" if cut else order)
            elif tag:
                getattr(f["C"], tag)(*([order + "1"] if cut else [order, size]))
        except tw.IllegalScheduleError as error:
            assert not is_legal(distances, order, tag), f"{case}: refused for nothing: {error}"
            continue
        assert is_legal(distances, order, tag), f"{case}: found legal"
        for n, m in SIZES:
            a = np.random.default_rng(seed).integers(-9, 9, (n, m))
            np.testing.assert_array_equal(f(a), expected(distances, a), err_msg=case)


def test_the_library_counts_through_rectangles_only() -> None:
    a = tw.input("A", [N, N], tw.int64)
    c = tw.computation("C", {i: N, j: N}, a[i, j], where=j <= i)
    d = tw.computation("D", {i: N}, c[i, i])
    f = tw.function("triangle", outputs=[d], default_schedule=False)
    with pytest.raises(tw.ScheduleError, match="depend on those outside"):
        f["C"].join(i, j)
