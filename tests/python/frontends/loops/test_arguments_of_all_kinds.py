"""Arguments and results that are unlike most: parts of one array, integers of 64 digits, no elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


def product(x: np.ndarray, y: np.ndarray) -> float:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def taken(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(x)):
        out[i] = x[i] * y[i]
        x[i] = 0


def hashed(values: np.ndarray, h: Any) -> Any:
    for v in values:
        h = (h ^ np.uint64(v)) * np.uint64(1099511628211)
    return h ^ np.uint64(14695981039346656037)


def differences(a: np.ndarray) -> np.ndarray:
    n = len(a) - 1
    y = np.zeros(n)
    for i in range(n):
        y[i] = a[i + 1] - a[i]
    return y


def in_rows(pointers: np.ndarray, indices: np.ndarray, values: np.ndarray, x: np.ndarray) -> Any:
    n = len(pointers) - 1
    y = np.zeros(n)
    for i in range(n):
        for k in range(pointers[i], pointers[i + 1]):
            y[i] += values[k] * x[indices[k]]
    return y


def no_rows(a: np.ndarray) -> Any:
    return a[5:2], a[4:1:2]


def of_tuples(f: np.ndarray) -> None:
    for i, c in enumerate((0, 1, -1), 1):
        f[i] += c
    for a, b in zip((0, 1, 2), (3, 4, 5, 6)):  # noqa: B905
        f[a] += b
    for k, (c, d) in enumerate(reversed(((0, 1), (2, 3)))):
        f[k] += c * k + d


def test_arrays_that_are_read_only_may_share_elements() -> None:
    x = np.arange(9.0)
    assert tw.jit(product)(x[1:], x[:-1]) == product(x[1:], x[:-1])
    assert tw.jit(product)(x[2:5], x) == product(x[2:5], x)


@pytest.mark.parametrize(
    "kind", ["columns", "parts of complex numbers", "every other one", "fields"]
)
def test_arrays_side_by_side_share_no_element(kind: str) -> None:
    def arrays() -> tuple[Any, Any, Any]:
        matrix = np.arange(1.0, 19.0).reshape(6, 3)
        if kind == "columns":
            return matrix[:, 0], matrix[:, 1], matrix[:, 2]
        if kind == "parts of complex numbers":
            z = matrix[:, 0] + 2j
            return z.real, z.imag, np.zeros(6)
        if kind == "every other one":
            x = matrix.reshape(-1)
            return x[::3], x[1::3], x[2::3]
        records = np.ones(6, [("a", "f8"), ("b", "f8"), ("c", "f8")])
        return records["a"], records["b"], records["c"]

    ours, theirs = arrays(), arrays()
    tw.jit(taken)(*ours)
    taken(*theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_array_that_is_written_shares_no_part_of_another() -> None:
    x, kernel = np.arange(9.0), tw.jit(taken)
    kernel(np.ones(4), np.ones(4), np.ones(4))
    with pytest.raises(tw.ArgumentError, match=r"x and out share memory in part, and x is written"):
        kernel(x[:4], np.ones(4), x[2:6])
    assert x.tolist() == list(range(9))


@pytest.mark.filterwarnings("ignore:overflow")
def test_integers_from_2_to_the_63_on() -> None:
    for start in (5, 2**63, 14695981039346656037):
        values = np.arange(6)
        assert tw.jit(hashed)(values, np.uint64(start)) == hashed(values, np.uint64(start))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (differences, (np.zeros(1),)),
        (in_rows, (np.array([0]), np.zeros(0, int), np.zeros(0), np.zeros(3))),
        (no_rows, (np.zeros(9),)),
    ],
)
def test_results_without_elements(function: Any, arguments: Any) -> None:
    kernel = tw.jit(function)
    for _ in range(2):
        for one, other in zip(
            np.atleast_2d(kernel(*arguments)), np.atleast_2d(function(*arguments)), strict=True
        ):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)


def test_loops_over_tuples() -> None:
    ours, theirs = np.arange(5.0), np.arange(5.0)
    tw.jit(of_tuples)(ours)
    of_tuples(theirs)
    np.testing.assert_array_equal(ours, theirs)


def test_the_first_of_the_largest_of_a_matrix() -> None:
    matrix = np.random.default_rng(2).integers(0, 9, (4, 5))
    assert tw.jit(_largest)(matrix) == _largest(matrix)


def _largest(a: np.ndarray) -> Any:
    return np.argmax(a) * 100 + np.argmin(a)
