"""A statement that a schedule puts into a loop that data end runs in all of its iterations."""

from __future__ import annotations

import numpy as np

import tilewright as tw


def test_what_does_not_depend_on_the_end_is_not_left_out() -> None:
    @tw.jit
    def both(A, B, n):  # type: ignore[no-untyped-def]
        k = 0
        while A[0] > k:
            A[1] += 1
            k += 1
        for j in range(n):
            B[j] = 2 * B[j]

    f = both.inspect(np.array([3, 0]), np.arange(10.0), 10).function
    order = next(
        str(arguments[0])
        for _, _, commands in f.schedule.commands
        for _, command, arguments in commands
        if command == "set_schedule"
    )
    alone = "S4[j] -> [0, 3, j, 0]"
    assert alone in order
    f.set_schedule(order.replace(alone, "S4[j] -> [0, 2, j, 9]"))
    loops = str(f.loops)
    assert "B[" in loops[loops.index("for turn_while") :] and "for j in" not in loops
    A, B = np.array([3, 0]), np.arange(10.0)
    f(A=A, B=B, n=10, while_limit=20)
    assert A.tolist() == [3, 3]
    np.testing.assert_array_equal(B, 2 * np.arange(10.0))
