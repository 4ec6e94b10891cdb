"""Elements that some lanes store and others read: the same values as element by element."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def one_or_the_other(a, b, c, d):
    for i in range(a.shape[0]):
        if a[i] > 0:
            c[i] = d[i] - c[i]
        else:
            b[i] = d[i] - b[i]
        a[i] = b[i] + c[i] * d[i]


def stored_twice(a, b, c, d):
    for i in range(a.shape[0]):
        a[i] = c[i] + d[i]
        if a[i] > 0:
            b[i] = a[i] + b[i]
        else:
            a[i] = d[i] * 2
        if b[i] > 1:
            a[i] = a[i] - b[i]


def both_branches(a, b, c, d):
    for i in range(a.shape[0]):
        if a[i] > b[i]:
            a[i] += b[i] * d[i]
            c[i] += d[i] * d[i]
        else:
            b[i] = a[i] + d[i]
            if d[i] > 0:
                c[i] = a[i] + d[i]
            else:
                c[i] += a[i]


def neighbours(a, b, c, d):
    for i in range(1, a.shape[0]):
        if a[i] > 0:
            c[i] = d[i]
        b[i] = c[i - 1] + c[i]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize(
    "function",
    [one_or_the_other, stored_twice, both_branches, neighbours],
    ids=lambda f: f.__name__,
)
def test_values(function, dtype):
    kernel = tw.jit(function)
    random = np.random.default_rng(2)
    for length in (1, 7, 8, 31, 33, 64, 200, 1001):
        arrays = [(random.standard_normal(length) * 3).astype(dtype) for _ in range(4)]
        mine, wanted = [x.copy() for x in arrays], [x.copy() for x in arrays]
        kernel(*mine)
        with np.errstate(all="ignore"):
            function(*wanted)
        for got, expected in zip(mine, wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_a_load_waits_for_no_masked_store():
    arrays = [np.ones(100) for _ in range(4)]
    passes = {each.name: str(each) for each in tw.jit(one_or_the_other).inspect(*arrays).passes()}
    if "masked" not in passes["vectorize_loops"]:
        pytest.skip("the processor has no masks")
    assert "kept" in passes["join_masked_stores"]
