"""The heat kernels give the values of NumPy and of the evaluator, at small and odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.kernels import stencils

DTYPES = [np.float32, np.float64]
SHAPES = {
    2: [(3, 3), (4, 37), (23, 18), (50, 70)],
    3: [(3, 3, 3), (4, 9, 21), (21, 18, 19), (53, 60, 37)],
}
KERNELS = {
    stencils.heat2d: 2,
    stencils.heat2d_by_steps: 2,
    stencils.heat3d: 3,
    stencils.heat3d_by_steps: 3,
}
CASES = [(make, shape) for make, rank in KERNELS.items() for shape in SHAPES[rank]]


def grid(shape, dtype) -> np.ndarray:
    return np.random.default_rng(len(shape)).random(shape).astype(dtype)


def stepped(values: np.ndarray, steps: int) -> np.ndarray:
    """So many explicit steps; the border stays."""
    rank = values.ndim
    rate = {2: 0.125, 3: 0.1}[rank]
    inner = (slice(1, -1),) * rank
    result = values.astype(np.float64)
    for _ in range(steps):
        total = np.zeros_like(result[inner])
        for axis in range(rank):
            for part in (slice(0, -2), slice(2, None)):
                total += result[(*inner[:axis], part, *inner[axis + 1 :])]
        after = result.copy()
        after[inner] = (1 - 2 * rank * rate) * result[inner] + rate * total
        result = after
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("make", "shape"), CASES)
def test_heat(make, shape, dtype):
    heat = make(dtype)
    start = grid(shape, dtype)
    for pairs in (1, 2, 11, 27):
        grids = np.stack([start, start])
        assert heat(grids, P=pairs) is grids
        tolerance = {"rtol": 40 * np.finfo(dtype).eps}
        np.testing.assert_allclose(grids[0], stepped(start, 2 * pairs), **tolerance)
        np.testing.assert_allclose(grids[1], stepped(start, 2 * pairs - 1), **tolerance)
    if start.size < 200:
        grids = np.stack([start, start])
        inner = (slice(None), *(slice(1, -1),) * start.ndim)
        evaluated = heat.evaluate(grids, P=2)
        expected = np.stack([stepped(start, 4), stepped(start, 3)])
        np.testing.assert_allclose(evaluated[inner], expected[inner], rtol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("tiles", [{"time": 2, "rows": 5}, {"time": 5, "rows": 3}])
def test_tiles_of_any_size(tiles):
    start = grid((31, 20), np.float32)
    grids = np.stack([start, start])
    stencils.heat2d(tw.float32, **tiles)(grids, P=7)
    np.testing.assert_allclose(grids[0], stepped(start, 14), rtol=1e-5)


def test_threads_do_not_matter():
    start = grid((70, 40), np.float32)
    before = tw.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            tw.set_num_threads(threads)
            results.append(stencils.heat2d(rows=4, time=4)(np.stack([start, start]), P=20))
    finally:
        tw.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("make", KERNELS)
def test_other_types_are_refused(make):
    with pytest.raises(TypeError, match="float32 or float64, not int32"):
        make(tw.int32)


@pytest.mark.parametrize("make", KERNELS)
def test_no_conditions_and_no_copies_are_left(make):
    """The border lies in the grids, so both sides of every choice are one element; results are
    where they belong."""
    loops = str(make().loops)
    assert " if " not in loops and " else " not in loops
    assert sum(" = " in line for line in loops.splitlines()) == 1
