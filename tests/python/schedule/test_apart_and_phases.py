"""Default schedules of programs whose elements lie apart, or move once in several iterations: convolutions with a
stride, transposed ones, and upsampling have vectors and tiles, with the values of plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N, C, H, W, O = tw.params("N C H W O")
n, o, y, x, c, r, s = tw.iters("n o y x c r s")
F32 = tw.float32


def drawn(*shape: int) -> Any:
    """Small integers, of which sums are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(np.float32)


def convolution(stride: int, border: int) -> tw.Function:
    image = tw.input("image", [N, C, H, W], F32)
    weights = tw.input("weights", [O, C, 3, 3], F32)
    row, column = stride * y + r - border, stride * x + s - border
    value = image[n, c, row, column]
    if border:
        value = tw.select((row >= 0) & (row < H) & (column >= 0) & (column < W), value, 0.0)
    result = tw.computation(
        "result",
        {n: N, o: O, y: (H + 2 * border - 3) // stride + 1, x: (W + 2 * border - 3) // stride + 1},
        tw.sum(value * weights[o, c, r, s], over={c: C, r: 3, s: 3}),
    )
    return tw.function("convolution", outputs=[result])


@pytest.mark.parametrize("border", [0, 1])
@pytest.mark.parametrize("stride", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [(3, 3), (9, 70), (12, 131)])
def test_convolutions_with_a_stride(stride: int, border: int, size: tuple[int, int]) -> None:
    f = convolution(stride, border)
    assert ("vector(" in f.loops) == (stride <= 4)  # farther apart, more is read than used
    image, weights = drawn(2, 5, *size), drawn(9, 5, 3, 3)
    padded = np.pad(image, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.einsum("ncyxrs,ocrs->noyx", windows[:, :, ::stride, ::stride], weights)
    np.testing.assert_array_equal(f(image, weights), expected)


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("size", [(1, 1), (3, 40), (5, 17)])
def test_transposed_convolutions_have_a_tile_for_each_phase(
    factor: int, size: tuple[int, int]
) -> None:
    image = tw.input("image", [N, C, H, W], F32)
    weights = tw.input("weights", [C, O, factor, factor], F32)
    result = tw.computation(
        "result",
        {n: N, o: O, y: factor * H, x: factor * W},
        tw.sum(
            image[n, c, y // factor, x // factor] * weights[c, o, y % factor, x % factor],
            over={c: C},
        ),
    )
    f = tw.function("transposed", outputs=[result])
    assert f'result.split("y", {factor}).split("x", {factor}).split("o", ' in str(
        f.default_schedule
    )
    assert "vector(" in f.loops
    given, kernel = drawn(2, 6, *size), drawn(6, 10, factor, factor)
    expected = np.einsum("ncyx,coab->noyaxb", given, kernel)
    np.testing.assert_array_equal(f(given, kernel), expected.reshape(f(given, kernel).shape))


def test_conditions_on_remainders_leave_some_terms_to_each_phase() -> None:
    """The gradient of a convolution with a stride of two, gathered."""
    errors = tw.input("errors", [O, H, W], F32)
    weights = tw.input("weights", [O, C, 3, 3], F32)
    row, column = y - r, x - s
    there = (row >= 0) & (row // 2 < H) & (row % 2 == 0)
    there &= (column >= 0) & (column // 2 < W) & (column % 2 == 0)
    terms = errors[o, row // 2, column // 2] * weights[o, c, r, s]
    gradient = tw.computation(
        "gradient",
        {c: C, y: 2 * H + 1, x: 2 * W + 1},
        tw.sum(terms, over={o: O, r: 3, s: 3}, where=there),
    )
    f = tw.function("gradient_of_image", outputs=[gradient])
    assert "vector(" in f.loops
    for height, width in ((1, 1), (4, 37), (3, 16)):
        given, kernel = drawn(7, height, width), drawn(7, 5, 3, 3)
        expected = np.zeros((5, 2 * height + 1, 2 * width + 1), np.float32)
        for a in range(3):
            for b in range(3):
                rows, columns = slice(a, a + 2 * height - 1, 2), slice(b, b + 2 * width - 1, 2)
                expected[:, rows, columns] += np.einsum("oyx,oc->cyx", given, kernel[:, :, a, b])
        np.testing.assert_array_equal(f(given, kernel), expected)


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_upsampling_interleaves_the_stores_of_its_phases(factor: int) -> None:
    image = tw.input("image", [H, W], F32)
    left, right = x // factor, (x + factor - 1) // factor
    near = (x - factor * left) * image[y // factor, right] + image[y // factor, left]
    result = tw.computation("result", {y: factor * H, x: factor * W - factor}, near)
    f = tw.function("upsampled", outputs=[result])
    assert f'split("x", {factor}).split("x0", 8)' in str(f.default_schedule)
    plain = tw.function("upsampled", outputs=[result], default_schedule=False)
    for shape in ((1, 1), (2, 2), (5, 16), (4, 17), (3, 50)):
        given = drawn(*shape)
        np.testing.assert_array_equal(f(given), plain(given))


def test_longer_periods_stay_as_they_are_declared() -> None:
    image = tw.input("image", [W], F32)
    f = tw.function("slow", outputs=[tw.computation("result", {x: 11 * W}, 2.0 * image[x // 11])])
    assert "vector(" not in f.loops
    given = drawn(4)
    np.testing.assert_array_equal(f(given), np.repeat(2 * given, 11))
