"""Images with few channels and other interleaved elements: the default schedule finds vectors for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

y, x, c, k = tw.iters("y x c k")
H, W = tw.params("H W", "H >= 1 and W >= 1")
SIZES = [(1, 1), (2, 5), (3, 16), (4, 37), (2, 100)]

Array = np.ndarray[Any, Any]


def image(channels: int, dtype: str = "float32", name: str = "A") -> tw.Input:
    return tw.input(name, [H, W, channels], dtype)


def pixels(h: int, w: int, channels: int, dtype: str = "float32") -> Array:
    return (np.random.default_rng(h + w).random((h, w, channels)) * 200).astype(dtype)


def check(
    value: Any,
    domain: dict[Any, Any],
    make: Callable[[int, int], tuple[Array, ...]],
    lines: list[str],
) -> tw.Function:
    """The values at all sizes are those of the declared loops; the schedule has `lines`."""
    f = tw.function("f", outputs=[tw.computation("R", domain, value)])
    plain = tw.function("f", outputs=[tw.computation("R", domain, value)], default_schedule=False)
    text = str(f.default_schedule)
    for line in lines:
        assert line in text, text
    for h, w in SIZES:
        arrays = make(h, w)
        np.testing.assert_array_equal(f(*arrays), plain(*arrays))
    return f


@pytest.mark.parametrize(
    ("channels", "dtype"), [(2, "float32"), (3, "uint8"), (3, "float32"), (4, "float64")]
)
def test_channels_that_move_as_one_are_joined(channels: int, dtype: str) -> None:
    A = image(channels, dtype)
    check(
        A[y, x, c] * 2 + 1,
        {y: H, x: W, c: channels},
        lambda h, w: (pixels(h, w, channels, dtype),),
        ['.join("x", "c", "xc").vectorize("xc", '],
    )


def test_a_blur_of_bytes() -> None:
    A = tw.input("A", [H, W + 2, 3], "uint8")
    total = sum(tw.cast(A[y, x + d, c], tw.uint16) for d in range(3))
    check(
        tw.cast(total // 3, tw.uint8),
        {y: H, x: W, c: 3},
        lambda h, w: (pixels(h, w + 2, 3, "uint8"),),
        ['R.join("x", "c", "xc").vectorize("xc", 32)'],
    )


def test_a_window_of_pixels_is_summed_in_the_joined_loop() -> None:
    A, L = tw.input("A", [H, W + 2, 3], "float32"), tw.input("L", [3], "float32")
    check(
        tw.sum(A[y, x + k, c] * L[k], over={k: 3}),
        {y: H, x: W, c: 3},
        lambda h, w: (pixels(h, w + 2, 3), pixels(1, 1, 3)[0, 0]),
        ['R.join("x", "c", "xc").split("xc", 48).split("xc1", 16)', 'vectorize("xc11", 16)'],
    )


def test_pixels_that_are_written_apart_are_left_to_the_compiler() -> None:
    A, L = image(3), tw.input("L", [H, W], "float32")
    f = tw.function("f", outputs=[tw.computation("R", {y: H, x: W, c: 3}, A[y, x, c] * L[y, x])])
    assert "vectorize" not in str(f.default_schedule)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_one_channel_of_many_is_a_vector(dtype: str) -> None:
    A = image(3, dtype)
    check(A[y, x, 2], {y: H, x: W}, lambda h, w: (pixels(h, w, 3, dtype),), ['vectorize("x", '])


def test_every_other_element() -> None:
    A = tw.input("A", [H, 2 * W + 1], "float32")
    check(
        A[y, 2 * x] + A[y, 2 * x + 1],
        {y: H, x: W},
        lambda h, w: (pixels(h, 2 * w + 1, 1)[:, :, 0],),
        ['vectorize("x", 16)'],
    )


def test_largest_of_pairs() -> None:
    A = tw.input("A", [H, 2 * W], "float32")
    check(
        tw.max(A[y, 2 * x + k], over={k: 2}),
        {y: H, x: W},
        lambda h, w: (pixels(h, 2 * w, 1)[:, :, 0],),
        ['vectorize("x1", 16)', 'unroll("k", 2)'],
    )


def test_elements_far_apart_are_left_alone() -> None:
    A = tw.input("A", [H, 7 * W], "float32")
    f = tw.function("f", outputs=[tw.computation("R", {y: H, x: W}, A[y, 7 * x])])
    assert "vectorize" not in str(f.default_schedule)


def test_borders_of_joined_loops_have_loops_of_their_own() -> None:
    A = image(3)
    near = A[y, tw.clamp(x - 1, 0, W - 1), c] + A[y, tw.clamp(x + 1, 0, W - 1), c]
    f = tw.function("f", outputs=[tw.computation("R", {y: H, x: W, c: 3}, near)])
    assert '.join("x", "c", "xc")' in str(f.default_schedule)
    for h, w in SIZES:
        a = pixels(h, w, 3)
        padded = np.pad(a, ((0, 0), (1, 1), (0, 0)), mode="edge")
        np.testing.assert_array_equal(f(a), padded[:, :-2] + padded[:, 2:])
