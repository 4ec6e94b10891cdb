"""Better loops within a program's order: what they are, and that every bit stays gcc's."""

from __future__ import annotations

import numpy as np
import pytest
from c_oracle import assert_same_bits, compiled, copies, run_c

import tilewright as tw
from tilewright.kernels.machine import vector_bytes

N = 37

#: Rows and columns of a tile in registers, where the machine's vectors have 64 bytes, and where they have less.
WIDE = vector_bytes() == 64
ROWS, COLUMNS = (8, 16) if WIDE else (4, 8)

#: By name: the text, and lines that the loops have once a schedule is found.
KERNELS = {
    # An accumulation in place has tiles of rows and columns in registers, its terms inside in order.
    "product": (
        "for (int i = 0; i < n; i++) {"
        "for (int j = 0; j < n; j++) C[i][j] *= 1.25;"
        "for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) C[i][j] += 1.5 * A[i][k] * B[k][j];"
        "}",
        [
            "for k1 in range(0, n):",
            f"for i11 in range(0, min({ROWS}, n - {ROWS} * i10)):  # unroll",
            f"for j1 in range(0, min({COLUMNS}, n - {COLUMNS} * j0)):  # vector({COLUMNS})",
        ],
    ),
    # So has one of a triangle, whose rows overwrite what those before them read.
    "triangle": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
        "for (int k = i + 1; k < n; k++) C[i][j] += A[k][i] * C[k][j];"
        "  C[i][j] = 1.5 * C[i][j];"
        "}",
        [
            f"for k1 in range({ROWS} * i10 + 1, n):",
            f"for i11 in range(0, min({ROWS}, k1 - {ROWS} * i10)):  # unroll",
            f"for j1 in range(0, min({COLUMNS}, n - {COLUMNS} * j0)):  # vector({COLUMNS})",
        ],
    ),
    # Sums of terms side by side, several rows at once; the other one is a vector in the same strip.
    "rows": (
        "for (int i = 0; i < n; i++) {"
        "  B[0][i] = 0.0;"
        "for (int j = 0; j < n; j++) B[0][i] = B[0][i] + A[i][j] * B[1][j];"
        "for (int j = 0; j < n; j++) C[0][j] = C[0][j] + A[i][j] * B[0][i];"
        "}",
        [
            "for i_strip in range(0, (n + 7) // 8):",
            "for i1 in range(0, min(8, n - 8 * i_strip)):  # unroll",
            "for j1 in range(0, min(8, n - 8 * j0)):  # vector(8)",
        ],
    ),
    # A factorisation: the sum over k takes the place of j in the loop that the division is in.
    "factors": (
        "for (int i = 0; i < n; i++) {"
        "for (int j = 0; j < i; j++) {"
        "for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j];"
        "    A[i][j] /= A[j][j];"
        "  }"
        "for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j];"
        "}",
        [
            "for j1 in range(max(0, j - 8 * j0 + 1), min(8, i - 8 * j0)):  # vector(8)",
            "for j1 in range(max(0, i - 8 * j0), min(8, n - 8 * j0)):  # vector(8)",
        ],
    ),
    # What lies side by side only the other way is packed.
    "transposed": (
        "for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j <= i; j++)"
        "  C[i][j] += A[i][k] * A[j][k];",
        [
            f"C[{ROWS} * i10 + i11, {COLUMNS} * j0 + j1] = C[{ROWS} * i10 + i11, {COLUMNS} * j0 + j1] + "
            f"S1_A[k1, {ROWS} * i10 + i11 - {COLUMNS} * j0] * S1_A[k1, j1]"
        ],
    ),
    # A scalar has an element for each iteration of the loop that is distributed.
    "scalar": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
        "  double s = 0;"
        "  for (int k = 0; k < i; k++) { C[k][j] += B[i][j] * A[i][k]; s += B[k][j] * A[i][k]; }"
        "  C[i][j] = 1.5 * C[i][j] + s;"
        "}",
        [
            "s_of_S1[8 * j0 + j1] = s_of_S1[8 * j0 + j1] + "
            "B[8 * k0 + k1, 8 * j0 + j1] * A[i, 8 * k0 + k1]",
            "for k in range(0, i):  # parallel",
        ],
    ),
    # Eight sums of a triangle at once: each takes those before it in the strip when they are done.
    "roots": (
        "for (int i = 0; i < n; i++) {"
        "  for (int j = 0; j < i; j++) {"
        "    for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];"
        "    A[i][j] /= A[j][j];"
        "  }"
        "  for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k];"
        "  A[i][i] = A[i][i] * 0.5;"
        "}",
        [
            "for j_strip in range(0, (i + 7) // 8):",
            "for j1 in range(max(0, j - 8 * j_strip + 1), min(8, i - 8 * j_strip)):  # unroll",
        ],
    ),
    # One loop around all: sums are distributed, and go along the rows.
    "columns": (
        "for (int k = 0; k < n; k++) for (int j = k + 1; j < n; j++) {"
        "  B[k][j] = 0.0;"
        "for (int i = 0; i < n; i++) B[k][j] += C[i][k] * A[i][j];"
        "for (int i = 0; i < n; i++) A[i][j] = A[i][j] - C[i][k] * B[k][j];"
        "}",
        ["for j1 in range(max(0, k - 8 * j0 + 1), min(8, n - 8 * j0)):  # vector(8)"],
    ),
}


def program(name: str) -> str:
    return (
        f"void kernel(int n, double A[{N}][{N}], double B[{N}][{N}], double C[{N}][{N}]) {{\n"
        f"#pragma scop\n{KERNELS[name][0]}\n#pragma endscop\n}}"
    )


@pytest.mark.parametrize("name", KERNELS)
def test_loops_and_bits(name: str) -> None:
    function = tw.c.load(program(name)).kernel
    draw = np.random.default_rng(7)
    dominant = draw.uniform(0.5, 1.5, (N, N)) + N * np.eye(N)
    given = [N, dominant, draw.uniform(0.5, 1.5, (N, N)), draw.uniform(0.5, 1.5, (N, N))]
    theirs = copies(given)
    run_c(compiled(program(name)), function, theirs)
    function.auto_schedule()
    lines = [line.strip() for line in str(function.loops).split("\n")]
    for line in KERNELS[name][1]:
        assert line in lines, function.loops
    ours = copies(given)
    function(*ours)
    for value, wanted in zip(ours[1:], theirs[1:], strict=True):
        assert_same_bits(value, wanted, name)


def test_a_schedule_that_is_found_replays() -> None:
    function = tw.c.load(program("rows")).kernel
    found = function.auto_schedule()
    loops = str(function.loops)
    other = tw.c.load(program("rows")).kernel
    found.apply_to(other.function.function)
    assert str(other.loops) == loops
    assert other.schedule == found


def test_components_of_points_are_chosen_from_vectors() -> None:
    text = """
    void reach(int n, const double x[restrict n][3], double d[restrict n][n]) {
    #pragma scop
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
          double dx = x[i][0] - x[j][0], dy = x[i][1] - x[j][1], dz = x[i][2] - x[j][2];
          d[i][j] = sqrt(dx * dx + dy * dy + dz * dz);
        }
    #pragma endscop
    }
    """
    f = tw.c.load("#include <math.h>\n" + text).reach
    f.auto_schedule()
    assert f"vector({vector_bytes() // 8})" in str(f.loops)
    x, d = np.random.default_rng(0).random((N, 3)), np.zeros((N, N))
    f(N, x, d)
    np.testing.assert_allclose(d, np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)), rtol=1e-14)
