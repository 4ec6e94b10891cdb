"""What the tests of blocks call: small functions of C and of Python, and programs with them."""

import ctypes
import subprocess

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS

b, i, j, k = tw.iters("b i j k")
B, N, M = tw.params("B N M")

SOURCE = """
#include <math.h>
#include <stdint.h>
/* The lower factor of a symmetric matrix in place; the row of a pivot that is not positive, from 1. */
int cholesky(double *a, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    double d = a[c * n + c];
    for (int64_t k = 0; k < c; ++k) d -= a[c * n + k] * a[c * n + k];
    if (!(d > 0)) return (int)(c + 1);
    a[c * n + c] = sqrt(d);
    for (int64_t r = c + 1; r < n; ++r) {
      double v = a[r * n + c];
      for (int64_t k = 0; k < c; ++k) v -= a[r * n + k] * a[c * n + k];
      a[r * n + c] = v / a[c * n + c];
    }
  }
  return 0;
}
/* Both sums of a row; the numbers by value and by reference. */
void sums(const float *x, const int32_t *n, double by, double *all, float *first) {
  *all = 0;
  for (int32_t i = 0; i < *n; ++i) *all += by * x[i];
  *first = *n > 0 ? x[0] : -1;
}
void positive(double *x, int64_t n, int64_t *count) {
  count[0] = 0;
  for (int64_t i = 0; i < n; ++i)
    if (x[i] < 0) { x[i] = 0; ++count[0]; } /* others are left alone */
}
void first_kind(const double *x, double *y, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1; }
void second_kind(const double *x, double *y, int64_t n) { for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 2; }
"""

doubles, i64 = ctypes.POINTER(ctypes.c_double), ctypes.c_int64


def compiled(folder):
    """The functions above, as a library."""
    source, binary = folder / "given.c", folder / "given.so"
    source.write_text(SOURCE)
    if not COMPILERS:
        pytest.skip("no C compiler on PATH")
    command = [COMPILERS[0], "-O1", "-ffp-contract=off", "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(binary), "-lm"], check=True)
    return ctypes.CDLL(str(binary))


def typed(function, result, *arguments):
    function.argtypes, function.restype = list(arguments), result
    return function


def run(f, *arrays, **sizes):
    """The values by the evaluator; compiled code must give the same bits."""
    evaluated, compiled = f.evaluate(*arrays, **sizes), f(*arrays, **sizes)
    together = zip(
        *(each if isinstance(each, tuple) else (each,) for each in (evaluated, compiled)),
        strict=True,
    )
    for one, other in together:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(other, one)
    return compiled


def fft(x, y):
    y[...] = np.fft.fft(x)


def spectrum():
    x = tw.input("x", [B, N], tw.float64)
    windowed = tw.computation("windowed", {b: B, i: N}, x[b, i] * (1 + i % 3))
    blk = tw.block(
        "fft_rows", fft, {b: B}, reads=[windowed.part[b, :]], writes={"S": ([N], tw.complex128)}
    )
    (S,) = blk
    power = tw.computation("power", {b: B, k: N}, S[b, k].real ** 2 + S[b, k].imag ** 2)
    return tw.function("spectrum", outputs=[power])


def row_function(library):
    return rows_of(library, "y")


def rows_of(library, output):
    x = tw.input("x", [N, M], tw.float64)
    t = tw.computation("t", {i: N, j: M}, 3 * x[i, j])
    kind = typed(library.first_kind, None, doubles, doubles, i64)
    (y,) = tw.block(
        "kind",
        kind,
        {i: N},
        reads=[t.part[i, :]],
        writes={"y": ([M], tw.float64)},
        arguments=["t", "y", M],
    )
    between = tw.computation("between", {i: N, j: M}, y[i, j])
    return tw.function("rows", outputs=[y if output == "y" else between])
