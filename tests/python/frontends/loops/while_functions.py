"""Loops that data end, as tutorials of JIT compilers have them."""

from __future__ import annotations

import numpy as np

import tilewright as tw

from .cases import case


def spd_(r, n):
    A = r.random((n, n))
    return A @ A.T + n * np.eye(n)


def csr(r, n):
    row = np.zeros(n + 1, np.int32)
    row[1:] = np.cumsum(r.integers(0, 5, n))
    return row, r.integers(0, n, row[-1]).astype(np.int32), r.random(row[-1])


@case(lambda r, n=8: (r.random(n), r.random(n)))
def bisect_all(lo, hi):
    out = np.empty_like(lo)
    for i in range(len(lo)):
        a = lo[i]
        b = a + hi[i] + 5.0
        while b - a > 1e-9:
            m = 0.5 * (a + b)
            if m * m * m - 10.0 > 0:
                b = m
            else:
                a = m
        out[i] = 0.5 * (a + b)
    return out


@case(lambda r, n=8: (n * 10,))
def sieve(n):
    is_prime = np.ones(n + 1, dtype=np.bool_)
    is_prime[0] = False
    is_prime[1] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            j = i * i
            while j <= n:
                is_prime[j] = False
                j += i
        i += 1
    return is_prime


@case(lambda r, n=8: (r.random(n),))
def bubble_sort_while(X):
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(X) - 1):
            if X[i] > X[i + 1]:
                X[i], X[i + 1] = X[i + 1], X[i]
                swapped = True


@case(lambda r, n=8: (r.random(n),))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@case(lambda r, n=8: (np.sort(r.random(n)), np.sort(r.random(n + 3))))
def merge(a, b):
    out = np.empty(len(a) + len(b))
    i = 0
    j = 0
    k = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < len(a):
        out[k] = a[i]
        i += 1
        k += 1
    while j < len(b):
        out[k] = b[j]
        j += 1
        k += 1
    return out


@case(lambda r, n=8: (np.sort(r.random(n)), 0.3))
def binary_search(a, x):
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@case(lambda r, n=8: (np.sort(r.random(n)), r.random(n)))
def searchsorted_all(a, xs):
    out = np.empty(len(xs), np.int64)
    for i in tw.prange(len(xs)):
        lo, hi = 0, len(a)
        while lo < hi:
            mid = (lo + hi) >> 1
            if a[mid] < xs[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo
    return out


@case(lambda r, n=8: (n,))
def collatz_steps(n):
    out = np.zeros(n, np.int64)
    for i in range(1, n):
        x = i
        steps = 0
        while x != 1:
            if x % 2 == 0:
                x //= 2
            else:
                x = 3 * x + 1
            steps += 1
        out[i] = steps
    return out


@case(lambda r, n=8: (n, n, 30))
def mandel_while(w, h, iters):
    image = np.zeros((h, w), dtype=np.int64)
    for y in tw.prange(h):
        for x in range(w):
            cr = -2.0 + 3.0 * x / w
            ci = -1.0 + 2.0 * y / h
            zr = zi = 0.0
            k = 0
            while k < iters and zr * zr + zi * zi < 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                k += 1
            image[y, x] = k
    return image


@case(lambda r, n=8: (r.random((n, n)),))
def laplace_until(u):
    iters = 0
    err = 1.0
    while err > 1e-2:
        err = 0.0
        new = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                err = max(err, abs(new[i, j] - u[i, j]))
        u[:] = new
        iters += 1
        if iters > 50:
            break
    return iters, err


@case(lambda r, n=8: (spd_(r, n), r.random(n)), tolerant=True)
def conjugate_gradient(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = np.dot(r, r)
    it = 0
    while rs > 1e-10 and it < 100:
        Ap = A @ p
        alpha = rs / np.dot(p, Ap)
        x += alpha * p
        r -= alpha * Ap
        rsn = np.dot(r, r)
        p = r + (rsn / rs) * p
        rs = rsn
        it += 1
    return x, it


@case(lambda r, n=8: (r.random(n),))
def while_true_break(x):
    i = 0
    s = 0.0
    while True:
        s += x[i]
        i += 1
        if i >= len(x) or s > 3.0:
            break
    return i, s


@case(lambda r, n=8: (r.integers(1, 10, n), r.integers(1, 20, n), 30))
def knapsack(w, v, W):
    best = np.zeros(W + 1, np.int64)
    for i in range(len(w)):
        for c in range(W, 0, -1):
            if c >= w[i]:
                best[c] = max(best[c], best[c - w[i]] + v[i])
    return best[W]


@case(lambda r, n=8: (r.integers(0, 4, n), r.integers(0, 4, n)))
def lcs(a, b):
    n, m = len(a), len(b)
    L = np.zeros((n + 1, m + 1), np.int64)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                L[i, j] = L[i - 1, j - 1] + 1
            else:
                L[i, j] = max(L[i - 1, j], L[i, j - 1])
    return L[n, m]


@case(lambda r, n=8: (*csr(r, n), r.random(n)))
def spmv_loops(A_row, A_col, A_val, x):
    y = np.zeros(A_row.size - 1)
    for i in range(A_row.size - 1):
        s = 0.0
        for k in range(A_row[i], A_row[i + 1]):
            s += A_val[k] * x[A_col[k]]
        y[i] = s
    return y


@case(lambda r, n=1: (r.integers(0, 2, n).astype(np.int32), np.array([5, 1] + [0] * n, np.int32)))
def while_under_what_never_holds(image, parent):
    """If the image has one row, `up` is always 0: the loop that data end is never come to."""
    for y in range(len(image)):
        up = 0
        if y > 0:
            up = image[y - 1]
        if up != 0:
            a = up
            while parent[a] != a:
                a = parent[a]
            parent[a] += 1
    return parent


@case(lambda r, n=8: (r.random((n, 9)), np.zeros((n, 9)), r.integers(-1, 2, 9)))
def scattered_columns(f, g, c):
    n, m = f.shape
    for x in range(n):
        for k in range(m):
            g[(x + c[k]) % n, k] = f[x, k]
    return g
