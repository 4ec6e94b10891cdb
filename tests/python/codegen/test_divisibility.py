"""Whether a remainder is 0: asked of the one that truncates, which is 0 with the one that floors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N = tw.param("N")
i = tw.iter("i")
TYPES = ["int8", "uint8", "int32", "int64", "uint64"]


def values(dtype):
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    near = np.arange(max(int(limits.min), -40), 41)
    return np.concatenate([np.array(edges, dtype), near.astype(dtype)])


@pytest.mark.parametrize("how", ["%", "fmod"])
@pytest.mark.parametrize("dtype", TYPES)
def test_by_constants(dtype, how):
    x = tw.input("x", [N], dtype)
    given = values(dtype)
    divisors = [1, 2, 3, 7, 8, 64, 100] + ([-1, -2, -3, -8] if dtype.startswith("int") else [])
    for divisor in divisors:
        constant = np.dtype(dtype).type(divisor)
        rest = x[i] % constant if how == "%" else tw.fmod(x[i], constant)
        f = tw.function("f", outputs=[
            tw.computation("divides", {i: N}, rest == 0),
            tw.computation("leaves", {i: N}, rest != 0),
        ])  # fmt: skip
        with np.errstate(all="ignore"):
            wanted = (given % constant if how == "%" else np.fmod(given, constant)) == 0
        divides, leaves = f(given)
        np.testing.assert_array_equal(divides, wanted, err_msg=str(divisor))
        np.testing.assert_array_equal(leaves, ~wanted, err_msg=str(divisor))


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_by_values(dtype, vectors):
    """By 0 and by -1, too."""
    x, y = tw.input("x", [N], dtype), tw.input("y", [N], dtype)
    f = tw.function(
        "f",
        outputs=[tw.computation("divides", {i: N}, x[i] % y[i] == 0)],
        default_schedule=False,
    )
    if vectors:
        f["divides"].vectorize(i, 8)
    one = values(dtype)
    left, right = (each.ravel() for each in np.meshgrid(one, one))
    with np.errstate(all="ignore"):
        wanted = left % right == 0
    np.testing.assert_array_equal(f(left, right), wanted)


def subset(weights, n, target):
    best = 0
    for chosen in range(1 << n):
        total = 0
        for j in range(n):
            if (chosen >> j) & 1:
                total += weights[j]
        if total <= target and total > best:
            best = total
    return best


def test_turns_are_counted_beside_a_total_that_each_of_them_begins():
    compiled = tw.jit(subset)
    weights = np.random.default_rng(2).integers(1, 90, 9)
    for n, target in ((9, 200), (0, 5), (1, 3), (5, 90)):
        assert compiled(weights, n, target) == subset(weights, n, target)
    passes = compiled.inspect(weights, 9, 200).function.passes()
    assert next(each for each in passes if each.name == "count_turns").changed
