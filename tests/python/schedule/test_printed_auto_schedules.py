"""What `auto_schedule` prints is the schedule that it has set: replayed, it has the same commands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw

N, M, K, H, W = tw.params("N M K H W", "H >= 2 and W >= 2")
b, i, j, k, y, x, c = tw.iters("b i j k y x c")


def batched_product() -> tw.Function:
    A = tw.input("A", [M, N, K], tw.float32)
    B = tw.input("B", [M, K, N], tw.float32)
    C = tw.computation("C", {b: M, i: N, j: N}, tw.sum(A[b, i, k] * B[b, k, j], over={k: K}))
    return tw.function("batched", outputs=[C])


def blur_of_pixels() -> tw.Function:
    image = tw.input("image", [H, W, 3], tw.float32)
    inside = {y: H, x: W - 2, c: 3}
    rows = tw.computation(
        "rows", inside, image[y, x, c] + 2 * image[y, x + 1, c] + image[y, x + 2, c]
    )
    inside = {y: H - 2, x: W - 2, c: 3}
    blurred = tw.computation(
        "blurred", inside, rows[y, x, c] + rows[y + 1, x, c] + rows[y + 2, x, c]
    )
    return tw.function("blur", outputs=[blurred])


@pytest.mark.parametrize(
    ("make", "shapes", "command"),
    [
        (batched_product, [(3, 40, 33), (3, 33, 40)], "cache"),
        (blur_of_pixels, [(70, 9, 3)], "store_at"),
    ],
)
def test_a_printed_schedule_has_the_same_commands(
    make: Callable[[], tw.Function], shapes: list[tuple[int, ...]], command: str
) -> None:
    function, replayed = make(), make()
    printed = str(function.auto_schedule())
    assert command in printed
    names = {name: replayed[name] for name in replayed.computations}
    exec(printed, {"tw": tw, "f": replayed, **names})
    assert replayed.schedule == function.schedule
    arrays = [np.random.default_rng(1).random(shape, np.float32) for shape in shapes]
    np.testing.assert_array_equal(replayed(*arrays), function(*arrays))
