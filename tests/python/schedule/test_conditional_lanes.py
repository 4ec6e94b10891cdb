"""Reductions whose terms data decide about run in lanes by default, with a mask."""

import numpy as np
import pytest

import tilewright as tw

i, k, l = tw.iters("i k l")
N, M, K = tw.params("N M K")
rng = np.random.default_rng(3)


def function(kind, condition=None, dtype=tw.float32):
    x, keep = tw.input("x", [N, K], dtype), tw.input("keep", [N, K], tw.int32)
    condition = keep[i, k] > 0 if condition is None else condition(x, keep)
    if kind == "fold":
        value = tw.fold(
            tw.maximum, tw.cast(-1000, dtype), x[i, k], over={k: K}, where=condition,
            associative=True,
        )  # fmt: skip
    elif kind == "ordered":
        value = tw.sum(x[i, k], over={k: K}, where=condition, ordered=True)
    else:
        value = getattr(tw, kind)(x[i, k], over={k: K}, where=condition)
    return tw.function("f", outputs=[tw.computation("C", {i: N}, value)])


def wanted(kind, a, kept):
    if kind == "argmax":
        masked = np.where(kept, a, -np.inf)
        return np.where(kept.any(axis=1), masked.argmax(axis=1) if a.shape[1] else -1, -1)
    if kind in ("fold", "max"):
        return a.max(axis=1, where=kept, initial=-1000)
    return np.sum(a, axis=1, where=kept)


@pytest.mark.parametrize("kind", ["sum", "max", "fold", "argmax"])
@pytest.mark.parametrize("dtype", [tw.float32, tw.int64])
def test_values(kind, dtype):
    f = function(kind, dtype=dtype)
    assert "vectorize" in str(f.default_schedule)
    for shape in ((3, 0), (4, 1), (5, 7), (3, 64), (40, 130)):
        a = rng.integers(-9, 10, shape).astype(dtype.name)
        keep = rng.integers(0, 2, shape, dtype=np.int32)
        if kind == "max":  # over nothing, the type's smallest value
            keep[:, :1] = 1
            if shape[1] == 0:
                continue
        found = f(a, keep)
        np.testing.assert_array_equal(found, wanted(kind, a, keep > 0))
        np.testing.assert_array_equal(found, f.evaluate(a, keep))


def test_values_that_no_lane_computes():
    """What a term would make of an element that it is not computed of does no harm."""
    x = tw.input("x", [N, K], tw.int64)
    value = tw.sum(100 // x[i, k], over={k: K}, where=x[i, k] != 0)
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, value)])
    assert "vectorize" in str(f.default_schedule)
    a = rng.integers(-2, 3, (5, 37))
    expected = np.where(a != 0, 100 // np.where(a == 0, 1, a), 0).sum(axis=1)
    np.testing.assert_array_equal(f(a), expected)


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        ("ordered", None),
        ("sum", lambda x, keep: (keep[i, 0] <= k) & (k < keep[i, 1])),
        ("sum", lambda x, keep: keep[i, k] > k),
    ],
)
def test_what_stays_as_it_was(kind, condition):
    """Terms in order, and conditions that may be the bounds of a loop."""
    if condition is None:
        f = function(kind)
    else:
        x, keep = tw.input("x", [N, K], tw.float32), tw.input("keep", [N, K + 2], tw.int32)
        value = tw.sum(x[i, k], over={k: K}, where=condition(x, keep))
        f = tw.function("f", outputs=[tw.computation("C", {i: N}, value)])
    assert "vectorize" not in str(f.default_schedule)
