"""Programs in C as kernels for a GPU (`auto_schedule(target=...)`): which loops are blocks and threads,
and that every bit stays gcc's, without a race on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from c_oracle import assert_same_bits, compiled, copies, run_c

import tilewright as tw

N = 21

#: By name: the text, how many kernels it has, and lines of its loops.
PROGRAMS: dict[str, tuple[str, int, list[str]]] = {
    # Rows and columns are parallel; the terms stay in order, in a thread each.
    "product": (
        "for (int i = 0; i < n; i++) {"
        "for (int j = 0; j < n; j++) C[i][j] *= 1.25;"
        "for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) C[i][j] += 1.5 * A[i][k] * B[k][j];"
        "}",
        1,
        ["for k in range(0, n):"],
    ),
    # Two sums that go along rows and columns of one matrix are distributed.
    "both sides": (
        "for (int i = 0; i < n; i++) {"
        "for (int j = 0; j < n; j++) B[0][i] = B[0][i] + A[i][j] * C[0][j];"
        "for (int j = 0; j < n; j++) C[1][j] = C[1][j] + A[i][j] * B[0][i];"
        "}",
        2,
        [],
    ),
    # A launch for each time step and statement.
    "steps": (
        "for (int t = 0; t < 4; t++) {"
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        "  B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]);"
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        "  A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][1+j] + B[1+i][j] + B[i-1][j]);"
        "}",
        2,
        ["for t in range(0, 4):"],
    ),
    # No loop is parallel: diagonals of it are.
    "in place": (
        "for (int t = 0; t < 3; t++)"
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        "  A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i][j-1] + A[i][j] + A[i+1][j+1]) / 5.0;",
        1,
        [],
    ),
    # What is read of two statements lies in one element: it is no choice, so no thread reads another one's.
    "one element": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
        "  double s = 0;"
        "  for (int k = 0; k < i; k++) { C[k][j] += B[i][j] * A[i][k]; s += B[k][j] * A[i][k]; }"
        "  C[i][j] = 1.5 * C[i][j] + B[i][j] * A[i][i] + s;"
        "}",
        2,
        [],
    ),
    # What a choice does not take is not read: no thread waits for the one that writes it.
    "chosen": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
        "  A[i][j] = i < 1 ? 2.0 * A[0][j] : A[i][j] + 1.0;",
        1,
        [],
    ),
    # A border that another statement writes.
    "border": (
        "for (int t = 0; t < 3; t++) {"
        "for (int j = 0; j < n; j++) A[0][j] = t;"
        "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++)"
        "  A[i][j] = A[i][j] - 0.5 * (B[i][j] - B[i-1][j] + C[i][j]);"
        "for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1; j++)"
        "  B[i][j] = B[i][j] - 0.7 * (A[i+1][j] - A[i][j] + A[i][j+1]);"
        "}",
        3,
        [],
    ),
    "factors": (
        "for (int i = 0; i < n; i++) {"
        "for (int j = 0; j < i; j++) {"
        "for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];"
        "    A[i][j] /= A[j][j];"
        "  }"
        "for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];"
        "}",
        3,
        [],
    ),
}


def program(name: str) -> str:
    return (
        f"void kernel(int n, double A[{N}][{N}], double B[{N}][{N}], double C[{N}][{N}]) {{\n"
        f"#pragma scop\n{PROGRAMS[name][0]}\n#pragma endscop\n}}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_and_bits(name: str) -> None:
    _, kernels, lines = PROGRAMS[name]
    function = tw.c.load(program(name)).kernel
    draw = np.random.default_rng(7)
    dominant = draw.uniform(0.5, 1.5, (N, N)) + N * np.eye(N)
    given = [N, dominant, draw.uniform(0.5, 1.5, (N, N)), draw.uniform(0.5, 1.5, (N, N))]
    theirs = copies(given)
    run_c(compiled(program(name)), function, theirs)
    schedule = function.auto_schedule(target="gpu-emulator")
    loops = [line.strip() for line in str(function.loops).split("\n")]
    assert sum(line.startswith("kernel:") for line in loops) == kernels, function.loops
    assert any("gpu_thread_x" in line for line in loops)
    for line in lines:
        assert line in loops, function.loops
    assert any("blocks and threads along" in text for _, text in schedule.comments)
    ours = copies(given)
    function(*ours)
    for value, wanted in zip(ours[1:], theirs[1:], strict=True):
        assert_same_bits(value, wanted, name)


CHAIN = """
void chain(int n, double A[n]) {
  #pragma scop
  for (int i = 1; i < n; i++) A[i] = 0.5 * A[i - 1] + A[i];
  #pragma endscop
}
"""


def test_what_is_not_parallel_runs_on_the_processor() -> None:
    function = tw.c.load(CHAIN).chain
    function.auto_schedule(target="gpu-emulator")
    assert "kernel:" not in str(function.loops)
    assert "the processor runs it" in str(function.schedule)
    ours = np.arange(9.0)
    function(9, ours)
    assert ours[2] == 0.5 * (0.5 * 0 + 1) + 2


def test_the_target_changes_back() -> None:
    function = tw.c.load(program("product")).kernel
    function.auto_schedule(target="gpu-emulator")
    assert function.target == "gpu-emulator"
    function.auto_schedule(target="cpu")
    assert function.target == "cpu"
    assert "kernel:" not in str(function.loops)
    with pytest.raises(tw.ScheduleError, match="'gpu-emulator', got 'tpu'"):
        function.auto_schedule(target="tpu")
