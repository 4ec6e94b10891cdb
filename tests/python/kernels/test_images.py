"""The image kernels give the values of NumPy and of the evaluator, at small and odd sizes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from levels import LEVELS
from tilewright.kernels import images

# Rows and columns of pixels: the smallest, some with rests of vectors, strips and blocks of rows.
SMALL = [(7, 7), (9, 24), (13, 45)]
LARGE = [(70, 33), (131, 250)]
CHANNELS = [1, 3, 4]


def picture(rows: int, columns: int, dtype=np.uint8) -> np.ndarray:
    generator = np.random.default_rng(rows * 1000 + columns)
    values = generator.integers(0, 256, (rows, columns), dtype=np.uint8)
    values[: rows // 2, ::3] = 255  # sums reach their largest values
    return values.astype(dtype)


def shifted(array: np.ndarray, size: int, channels: int):
    """A function: the pixels that lie so many rows and columns further, where all `size` exist."""
    rows, columns = array.shape[0] - size + 1, array.shape[1] - (size - 1) * channels

    def part(down: int, right: int) -> np.ndarray:
        return array[down : down + rows, right * channels :][:, :columns]

    return part


def check(function: tw.Function, array: np.ndarray, expected: np.ndarray, **tolerance) -> None:
    result = function(array)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_allclose(result, expected, **tolerance)
    if array.size < 1500:
        np.testing.assert_allclose(function.evaluate(array), expected, **tolerance)


@pytest.mark.parametrize("size", SMALL + LARGE)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("cpu", LEVELS)
def test_blur(size, channels, cpu):
    rows, columns = size
    array = picture(rows, columns * channels)
    pixel = shifted(array.astype(np.int64), 3, channels)
    total = sum(pixel(y, x) for y in range(3) for x in range(3))
    blur = images.blur3x3(channels=channels, cpu=cpu)
    check(blur, array, np.floor(total / 9 + 0.5).astype(np.uint8), rtol=0)
    mean = (total / 9).astype(np.float32)
    check(images.blur3x3(tw.float32, channels, cpu), array.astype(np.float32), mean, rtol=1e-6)


@pytest.mark.parametrize("size", SMALL + LARGE)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("cpu", LEVELS)
def test_gaussian(size, channels, cpu):
    rows, columns = size
    array = picture(rows, columns * channels)
    weights = np.array(images.GAUSSIAN)
    pixel = shifted(array.astype(np.int64), 7, channels)
    exact = sum(weights[y] * weights[x] * pixel(y, x) for y in range(7) for x in range(7)) / float(
        1 << 16
    )
    smooth = images.gaussian7x7(tw.float32, channels, cpu)
    check(smooth, array.astype(np.float32), exact.astype(np.float32), rtol=2e-6)

    wide, width = array.astype(np.int64), (columns - 6) * channels
    across = np.array([wide[:, x * channels :][:, :width] for x in range(7)])
    first = (np.tensordot(weights, across, 1) + 128) >> 8
    down = np.array([first[y : y + rows - 6] for y in range(7)])
    twice = ((np.tensordot(weights, down, 1) + 128) >> 8).astype(np.uint8)
    check(images.gaussian7x7(channels=channels, cpu=cpu), array, twice, rtol=0)
    assert np.abs(twice - exact).max() <= 1


@pytest.mark.parametrize("size", [(1, 1), (3, 64), *SMALL, *LARGE])
def test_gray(size):
    rows, columns = size
    array = picture(rows, columns * 3)
    pixels = array.reshape(rows, columns, 3).astype(np.int64)
    expected = ((pixels @ np.array([77, 150, 29]) + 128) >> 8).astype(np.uint8)
    check(images.rgb_to_gray(), array, expected, rtol=0)
    assert np.abs(expected - pixels @ np.array([0.299, 0.587, 0.114])).max() < 1.5


def warped(image: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Bilinear weights in double precision."""
    rows, columns = image.shape
    i, j = np.mgrid[:rows, :columns]
    x = np.clip(matrix[0, 0] * j + matrix[0, 1] * i + matrix[0, 2], 0, columns - 1)
    y = np.clip(matrix[1, 0] * j + matrix[1, 1] * i + matrix[1, 2], 0, rows - 1)
    left, top = np.minimum(x.astype(int), columns - 2), np.minimum(y.astype(int), rows - 2)
    right, down = x - left, y - top
    value = np.zeros(image.shape)
    for b in range(2):
        for a in range(2):
            weight = (down if b else 1 - down) * (right if a else 1 - right)
            value += weight * image[top + b, left + a]
    return value


MATRICES = [
    [[1, 0, 0], [0, 1, 0]],
    [[0.9, -0.2, 3.3], [0.2, 0.9, -1.7]],
    [[-1.5, 0, 20], [0, -0.5, 8.25]],
    [[0, 1, 1000], [1, 0, -1000]],
]


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("size", [(2, 2), *SMALL, *LARGE])
def test_warp(size, matrix):
    affine = np.array(matrix, np.float32)
    image = picture(*size, np.float32)
    expected = warped(image.astype(np.float64), affine.astype(np.float64))
    warp = images.warp_affine()
    # A coordinate of some hundreds has a float32 error of 1e-5, the image's slope is up to 255.
    np.testing.assert_allclose(warp(image, affine), expected, atol=2e-2)
    if image.size < 1000:
        np.testing.assert_allclose(warp.evaluate(image, affine), expected, atol=2e-2)
    rounded = images.warp_affine(tw.uint8)(image.astype(np.uint8), affine)
    np.testing.assert_allclose(rounded, expected, atol=0.5 + 2e-2)


@pytest.mark.parametrize("block", [64, 8])
@pytest.mark.parametrize("size", [(4, 4), *SMALL, (64, 9), (67, 9), *LARGE])
@pytest.mark.parametrize("channels", [1, 3])
def test_edges(size, channels, block):
    rows, columns = size
    array = picture(rows, columns * channels)
    pixel = shifted(array.astype(np.int64), 3, channels)
    ring = (sum(pixel(y, x) for y in range(3) for x in range(3)) - pixel(1, 1)) >> 3
    corner = shifted(ring, 2, channels)
    strength = abs(corner(0, 0) - corner(1, 1)) + abs(corner(1, 0) - corner(0, 1))
    expected = array.copy()
    expected[:-3, : -3 * channels] = np.minimum(strength, 255)
    edge = images.edge_detector(channels, block)
    image = array.copy()
    assert edge(image) is image
    np.testing.assert_array_equal(image, expected)
    if array.size < 600:
        inner = (slice(rows - 3), slice(array.shape[1] - 3 * channels))
        np.testing.assert_array_equal(edge.evaluate(array)[inner], expected[inner])


@pytest.mark.parametrize("size", [(1, 1), *SMALL, *LARGE])
def test_negative_brighten(size):
    array = picture(*size)
    array.flat[:256] = np.arange(256)[: array.size]
    brighter = np.minimum(np.floor(np.arange(256) * 1.5), 255).astype(np.uint8)
    nb = images.negative_brighten()
    for run in (nb, nb.evaluate):
        dark, light = run(array)
        np.testing.assert_array_equal(dark, 255 - brighter[array])
        np.testing.assert_array_equal(light, brighter[255 - array])


@pytest.mark.parametrize(
    "function",
    [
        images.blur3x3(),
        images.blur3x3(tw.float32),
        images.gaussian7x7(),
        images.gaussian7x7(tw.float32),
        images.rgb_to_gray(),
        images.warp_affine(),
        images.edge_detector(),
        images.negative_brighten(),
    ],
    ids=lambda function: f"{function.name}-{next(iter(function.computations))}",
)
def test_all_run_on_threads(function):
    assert "# parallel" in function.loops


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_matter(threads):
    array = picture(150, 2000)
    before = tw.get_num_threads()
    tw.set_num_threads(threads)
    try:
        pixel = shifted(array.astype(np.int64), 3, 3)
        total = sum(pixel(y, x) for y in range(3) for x in range(3))
        blurred = images.blur3x3()(array)
        np.testing.assert_array_equal(blurred, np.floor(total / 9 + 0.5).astype(np.uint8))
        image, other = array.copy(), array.copy()
        images.edge_detector()(image)
        images.edge_detector(block=8)(other)
        np.testing.assert_array_equal(image, other)
    finally:
        tw.set_num_threads(before)


@pytest.mark.parametrize("make", [images.blur3x3, images.gaussian7x7, images.warp_affine])
def test_other_types_are_refused(make):
    with pytest.raises(TypeError, match="uint8 or float32, not int16"):
        make(tw.int16)
