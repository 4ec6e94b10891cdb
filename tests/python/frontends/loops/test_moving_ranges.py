"""Windows as loops have them, from i - 2 to i + 3, are no search of all that lies in the array."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


@tw.jit
def box_blur(image, blurred):
    for i in range(2, image.shape[0] - 2):
        for j in range(2, image.shape[1] - 2):
            total = 0.0
            for p in range(i - 2, i + 3):
                for q in range(j - 2, j + 3):
                    total += image[p, q]
            blurred[i, j] = total / 25.0


@tw.jit
def moving_average(signal, means, width):
    for i in range(signal.shape[0] - width + 1):
        total = 0.0
        for q in range(i, i + width):
            total += signal[q]
        means[i] = total / width


@tw.jit
def sums_of_diagonals(matrix, sums):
    for i in range(matrix.shape[0]):
        for q in range(i + 1):
            sums[i] += matrix[q, i - q]


@pytest.mark.parametrize("shape", [(3, 4), (5, 5), (6, 30), (40, 57)])
def test_a_blur_is_that_of_python(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(1).random(shape)
    ours, expected = np.zeros(shape), np.zeros(shape)
    box_blur(image, ours)
    box_blur.py_func(image, expected)
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize(("length", "width"), [(3, 5), (40, 1), (100, 17), (33, 33)])
def test_a_moving_average_is_that_of_python(length: int, width: int) -> None:
    signal = np.random.default_rng(2).random(length)
    ours, expected = np.zeros(length), np.zeros(length)
    moving_average(signal, ours, width)
    moving_average.py_func(signal, expected, width)
    np.testing.assert_array_equal(ours, expected)


def test_loops_over_terms_count_from_where_their_range_begins() -> None:
    image = np.zeros((20, 20))
    loops = str(box_blur.inspect(image, image.copy()).loops)
    assert "for p in range(0, 5):" in loops and "vector(8)" in loops
    assert "image[i + p - 2, 8 * j0 + q1 + j1]" in loops


def test_diagonals_stay_rows_of_the_matrix() -> None:
    matrix = np.random.default_rng(3).random((30, 30))
    ours, expected = np.zeros(30), np.zeros(30)
    sums_of_diagonals(matrix, ours)
    sums_of_diagonals.py_func(matrix, expected)
    np.testing.assert_array_equal(ours, expected)
