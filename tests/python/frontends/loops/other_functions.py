"""The second half of the catalogue: dynamic programming, control that data decide, Numba's pages."""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw

from .cases import case

# ---- dynamic programming, graphs ----


@case(lambda r: (r.integers(1, 20, (6, 6)),))
def floyd_warshall(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


@case(lambda r: (r.integers(1, 20, (6, 6)),))
def floyd_warshall_rows(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k, None] + path[k])


@case(lambda r: (r.integers(0, 4, 6), r.integers(0, 4, 7), np.zeros((7, 8), np.int64)))
def smith_waterman(a, b, H):
    for i in range(1, H.shape[0]):
        for j in range(1, H.shape[1]):
            match = 2 if a[i - 1] == b[j - 1] else -1
            H[i, j] = max(0, H[i - 1, j - 1] + match, H[i - 1, j] - 1, H[i, j - 1] - 1)


@case(lambda r: (r.integers(0, 4, 6), r.integers(0, 4, 5)))
def edit_distance(a, b):
    n, m = len(a), len(b)
    D = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        D[i, 0] = i
    for j in range(m + 1):
        D[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return D


@case(lambda r: (r.integers(0, 4, 7), np.zeros((7, 7), np.int64)))
def nussinov(seq, table):
    n = len(seq)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(
                        table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0)
                    )
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])


# ---- data-dependent control ----


@case(lambda r: (r.integers(0, 5, 20), np.zeros(5, np.int64)))
def histogram(values, bins):
    for i in range(len(values)):
        bins[values[i]] += 1


@case(lambda r: (r.random(7), r.integers(0, 7, 9), np.zeros(9)))
def gather(x, index, y):
    for i in range(len(y)):
        y[i] = x[index[i]]


@case(lambda r: (r.random(7), r.permutation(7), np.zeros(7)))
def scatter(x, index, y):
    for i in range(len(x)):
        y[index[i]] = x[i]


@case(lambda r: (8, 6, np.zeros((6, 8), np.int64)))
def mandelbrot(width, height, out):
    for y in range(height):
        for x in range(width):
            cr = -2.0 + 3.0 * x / width
            ci = -1.0 + 2.0 * y / height
            zr = 0.0
            zi = 0.0
            for _ in range(20):
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                if zr * zr + zi * zi > 4.0:
                    break
                out[y, x] += 1


@case(lambda r: (r.random(9), 0.7))
def first_above(A, limit):
    found = -1
    for i in range(len(A)):
        if A[i] > limit:
            found = i
            break
    return found


@case(lambda r: (r.random(9), 0.5))
def skip_small(A, limit):
    s = 0.0
    for i in range(len(A)):
        if A[i] < limit:
            continue
        s += A[i]
    return s


@case(lambda r: (252, 105))
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@case(lambda r: (2.0,))
def newton_sqrt(x):
    y = x
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


@case(lambda r: (r.random(8),))
def bubble_sort(A):
    n = len(A)
    for i in range(n):
        for j in range(n - 1 - i):
            if A[j] > A[j + 1]:
                A[j], A[j + 1] = A[j + 1], A[j]


@case(lambda r: (r.random(9) - 0.5, np.zeros(9)))
def running_sum(x, y):
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] + x[i]


@case(lambda r: (r.random(9) - 0.5,))
def argument_of_maximum(x):
    best = 0
    for i in range(1, len(x)):
        if x[i] > x[best]:
            best = i
    return best


@case(lambda r: (r.random(9) - 0.5,))
def split_sums(x):
    plus = 0.0
    minus = 0.0
    for v in x:
        if v > 0:
            plus += v
        else:
            minus += v
    return plus, minus


# ---- what Numba's pages show ----


@case(lambda r: (np.arange(9).reshape(3, 3),))
def sum2d(arr):
    M, N = arr.shape
    result = 0.0
    for i in range(M):
        for j in range(N):
            result += arr[i, j]
    return result


@case(lambda r: (np.arange(100.0).reshape(10, 10),), tolerant=True)
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@case(lambda r: (r.random(10),))
def prange_sum(A):
    s = 0
    for i in range(A.shape[0]):
        s += A[i]
    return s


@case(lambda r: (r.random(10), np.zeros(10)))
def prange_copy(A, B):
    for i in tw.prange(A.shape[0]):
        B[i] = 2 * A[i]


@case(lambda r: (r.random(12), r.random(12)))
def axpy_fused(a, b):
    return a * 2.5 + b - 1.0


@case(lambda r: (r.random(6), r.random(6)), tolerant=True)
def hypot_loop(x, y):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = math.sqrt(x[i] ** 2 + y[i] ** 2)
    return out


@case(lambda r: (7,))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(lambda r: (10, 3))
def integer_arithmetic(a, b):
    return a // b, a % b, -a // b, -a % b, a / b, a**b, a << 2, a >> 1, a & b, a | b, a ^ b


@case(lambda r: (0.3,), tolerant=True)
def branches(x):
    if x < 0:
        return -x
    elif x < 0.25:
        return math.sin(x)
    return math.cos(x) if x > 0.5 else math.exp(x)


# ---- arrays ----


@case(lambda r: (r.random((5, 6)), r.random(6)))
def broadcasting(A, b):
    A[1:4] += b
    A[:, 0] = 1
    A[-1] = b[::-1] * 2
    B = np.where(A > 0.5, A, -A)
    return B.T, A[::2, 1:5:2]


@case(lambda r: (r.integers(0, 9, (4, 5)), r.random((4, 5)) > 0.5), tolerant=True)
def reductions(A, mask):
    return A.sum(), A.sum(axis=0), A.min(axis=1), A.max(), A.prod(), mask.any(), mask.all(axis=1)


@case(lambda r: (r.random((4, 4)).astype(np.float32), r.random(4).astype(np.float32)))
def single_precision(A, x):
    s = np.float32(0)
    for i in range(4):
        for j in range(4):
            s += A[i, j] * x[j] * 0.1
    return s


@case(lambda r: (np.arange(20, dtype=np.uint8), np.zeros(20, np.uint8)))
def narrow_integers(a, b):
    for i in range(len(a)):
        b[i] = a[i] * 20 + 7
    return b.sum()


@case(lambda r: (4, r.random(5)))
def local_arrays(n, x):
    t = np.zeros(len(x))
    u = np.ones_like(x)
    v = np.full(n, 2.5)
    w = np.arange(n)
    for i in range(len(x)):
        t[i] = x[i] + u[i]
    return t, v * 2, w + n


@tw.jit
def _square_plus(x, y):
    if x > y:
        return x * x + y
    return x * x - y


@tw.jit
def _scale_row(row, s):
    for j in range(len(row)):
        row[j] = row[j] * s


@case(lambda r: (r.random((4, 5)),))
def calls(A):
    total = 0.0
    for i in range(A.shape[0]):
        _scale_row(A[i], 0.5 + i)
        total += _square_plus(A[i, 0], A[i, 1])
    return total


@case(lambda r: (r.random(5) + 1j * r.random(5),))
def complex_numbers(z):
    s = 0j
    for i in range(len(z)):
        s += z[i] * z[i]
    return s.real, s.imag
