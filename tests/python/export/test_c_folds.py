"""Folds of several states as C source: the same bits as the JIT."""

import numpy as np
import pytest

import tilewright as tw
from export.test_c_source import check

i, j, k = tw.iters("i j k")
N, M = tw.params("N M")


@pytest.mark.parametrize("default", [False, True])
def test_folds_of_several_states(default, tmp_path):
    x = tw.input("x", [N, M], tw.float64)

    def add(mean, squares, count, value):
        change = value - mean
        mean = mean + change / (count + 1)
        return mean, squares + change * (value - mean), count + 1

    mean, squares, count = tw.fold(add, (0.0, 0.0, 0), x[i, k], over={k: M})
    row, column = tw.argmax(x[j, k], over={j: N, k: M})
    outputs = [
        tw.computation("mean", {i: N}, mean),
        tw.computation("variance", {i: N}, squares / tw.maximum(count, 1)),
        tw.computation("at", {}, row * M + column),
    ]
    f = tw.function("folds", outputs=outputs, default_schedule=default)
    check(f, tmp_path, x=np.random.default_rng(2).standard_normal((9, 300)), N=9, M=300)
