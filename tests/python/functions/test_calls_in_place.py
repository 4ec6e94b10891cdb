"""`out=` is an input's array under the default schedule, whose loops as declared run where there is little to do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

N, M = tw.params("N M")
i, j, k = tw.iters("i j k")
A = tw.input("A", [N, M], tw.float64)
DRAW = np.random.default_rng(8)


def _softmax() -> tw.Function:
    total = tw.sum(tw.exp(A[i, k]), over={k: M})
    return tw.function(
        "softmax", outputs=[tw.computation("S", {i: N, j: M}, tw.exp(A[i, j]) / total)]
    )


def _sums_of_rows() -> tw.Function:
    sums = tw.computation(
        "C",
        {i: N, j: M},
        lambda c: [(j == 0, A[i, j]), (j > 0, c[i, j - 1] + A[i, j])],
        dtype=tw.float64,
    )
    return tw.function("sums", outputs=[sums])


def _centred() -> tw.Function:
    mean = tw.computation("mean", {j: M}, tw.sum(A[i, j], over={i: N}) / tw.cast(N, tw.float64))
    return tw.function("centred", outputs=[tw.computation("Y", {i: N, j: M}, A[i, j] - mean[j])])


def _exponentials(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)


PROGRAMS = {
    "softmax": (_softmax, _exponentials),
    "sums of rows": (_sums_of_rows, lambda x: np.cumsum(x, axis=1)),
    "centred": (_centred, lambda x: x - x.mean(axis=0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (20, 30), (300, 257)])
def test_in_place(name: str, shape: tuple[int, int]) -> None:
    make, numpy = PROGRAMS[name]
    function = make()
    for _ in range(2):
        x = DRAW.standard_normal(shape)
        wanted = numpy(x)
        assert function(x, out=x) is x
        np.testing.assert_allclose(x, wanted, rtol=1e-12, atol=1e-12)
    assert "when_work" in str(function.default_schedule) or name == "centred"
