"""Gradients of convolutions: for the input, vectors move with a term of a window; for the weights, results of a window
share what their terms load."""

import numpy as np
import numpy.typing as npt
import pytest

import tilewright as tw

y, x, p, q, o, c = tw.iters("y x p q o c")


def gradient(size: int, channels: int, stride: int, dtype: tw.DType) -> tw.Function:
    """Of a convolution with windows of 3 x 3, as a sum over the outputs that an input is part of."""
    outputs = (size - 3) // stride + 1
    G = tw.input("G", [2, outputs, outputs], dtype)
    W = tw.input("W", [2, channels, 3, 3], dtype)
    row, column = y - p, x - q
    is_one = (row % stride == 0) & (column % stride == 0) & (row >= 0) & (column >= 0)
    is_one = is_one & (row // stride < outputs) & (column // stride < outputs)
    term = G[o, row // stride, column // stride] * W[o, c, p, q]
    value = tw.sum(term, over={o: 2, p: 3, q: 3}, where=is_one)
    dX = tw.computation("dX", {c: channels, y: size, x: size}, value)
    return tw.function("gradient", outputs=[dX], inputs=[G, W])


def in_numpy(
    g: npt.NDArray[np.float64], w: npt.NDArray[np.float64], size: int, stride: int
) -> npt.NDArray[np.float64]:
    result = np.zeros((w.shape[1], size, size), g.dtype)
    end = stride * (g.shape[1] - 1) + 1
    for a in range(3):
        for b in range(3):
            result[:, a : a + end : stride, b : b + end : stride] += np.einsum(
                "oyx,oc->cyx", g, w[:, :, a, b]
            )
    return result


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("size", "channels"), [(5, 1), (34, 9)])
def test_each_lane_has_the_terms_of_its_own(size: int, channels: int, stride: int) -> None:
    rng = np.random.default_rng(size)
    outputs = (size - 3) // stride + 1
    g = rng.integers(-9, 10, (2, outputs, outputs)).astype(np.float64)
    w = rng.integers(-9, 10, (2, channels, 3, 3)).astype(np.float64)
    f = gradient(size, channels, stride, tw.float64)
    np.testing.assert_array_equal(f(g, w), in_numpy(g, w, size, stride))


def test_what_a_lane_without_a_term_would_read_is_not_read() -> None:
    X = tw.input("X", [14], tw.float64)
    inside = (x >= q) & (x < q + 14)
    Y = tw.computation("Y", {x: 16}, tw.sum(X[x - q], over={q: 3}, where=inside))
    f = tw.function("window", outputs=[Y], inputs=[X])
    f["Y"].reorder("q", "x").vectorize("x", 16)
    memory = np.full(40, np.nan)
    memory[13:27] = np.arange(14.0)
    expected = [sum(float(i - k) for k in range(3) if 0 <= i - k < 14) for i in range(16)]
    np.testing.assert_array_equal(f(memory[13:27]), expected)


@pytest.mark.parametrize(("size", "filters", "stride"), [(21, 5, 1), (36, 4, 2), (40, 3, 1)])
def test_weights_of_a_window_are_summed_beside_each_other(
    size: int, filters: int, stride: int
) -> None:
    outputs = (size - 3) // stride + 1
    X = tw.input("X", [2, size, size], tw.float64)
    G = tw.input("G", [filters, outputs, outputs], tw.float64)
    term = X[c, stride * y + p, stride * x + q] * G[o, y, x]
    value = tw.sum(term, over={y: outputs, x: outputs})
    dW = tw.computation("dW", {o: filters, c: 2, p: 3, q: 3}, value)
    f = tw.function("gradient", outputs=[dW], inputs=[X, G])
    assert 'unroll("q", 3)' in str(f.default_schedule)
    rng = np.random.default_rng(size)
    a = rng.integers(-9, 10, (2, size, size)).astype(np.float64)
    g = rng.integers(-9, 10, (filters, outputs, outputs)).astype(np.float64)
    end = stride * (outputs - 1) + 1
    expected = np.empty((filters, 2, 3, 3))
    for r in range(3):
        for s in range(3):
            taken = a[:, r : r + end : stride, s : s + end : stride]
            expected[:, :, r, s] = np.einsum("oyx,cyx->oc", g, taken)
    np.testing.assert_array_equal(f(a, g), expected)
