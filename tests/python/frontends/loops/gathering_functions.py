"""Arrays of subscripts, on both sides, and NumPy's functions that put arrays together or go along an axis."""

from __future__ import annotations

import numpy as np

from .cases import case

I4 = np.array([3, 1, 1, 4])
J4 = np.array([0, 2, 2, 1])


@case(lambda r: (r.random(6), I4, r.random(4)))
def scatter(x, i, v):
    x[i] = v
    x[i] += v
    x[i] *= 3.0
    x[i] = x[i[::-1]] * 2


@case(lambda r: (r.random((6, 3)), I4, J4, r.random((4, 3))))
def scatter_rows(x, i, j, v):
    x[i] += v
    x[i, 1:] = v[:, :2]
    x[i, 0] = 5.0
    x[i, j] -= v[:, 0]
    x[i[:, None], j[:2]] += 1
    return x[i, j] + x[i, -1]


@case(lambda r: (r.random((6, 3)), r.integers(0, 9, 6), I4, J4, r.random(4)))
def one_after_the_other(x, h, i, j, v):
    np.add.at(x, (i, j), v)
    np.add.at(x, i, 1.5)
    np.subtract.at(h, i, 1)
    np.maximum.at(h, i, h[i] * 2)


@case(lambda r: (r.random((3, 4)), r.random((3, 4)), r.random(4), r.integers(0, 9, 4)))
def joined(a, b, x, k):
    first = np.concatenate((a, b), axis=1)
    first[:, 1:5] += np.hstack((a[:, :2], b[:, 2:]))
    second = np.vstack((a, x, k))
    third = np.stack((x, x[::-1], k), axis=1)
    return first, second, third, np.concatenate((x, k)), np.column_stack((x, k))


@case(lambda r: (r.random((2, 3, 4, 5)), r.random((3, 5, 2)), r.random(5)), tolerant=True)
def stacked_products(a, b, x):
    return a @ b, np.matmul(a[0, 0], b), a @ x, np.inner(a[0, 0], a[1, 1])


@case(lambda r: (r.random((4, 5)), r.integers(0, 9, (4, 3))), tolerant=True)
def along_axes(a, k):
    sums = np.cumsum(a, axis=1), np.cumsum(k, axis=0), np.cumprod(k[0])
    places = np.argmax(a, axis=1), a.argmin(axis=0), np.argmax(k[1])
    differences = np.diff(a), np.diff(k, axis=0), np.roll(a, -2, axis=1), np.roll(k[0], 1)
    rest = np.ptp(a, axis=0), np.average(a[:, 0], weights=a[:, 1]), np.repeat(a[0], 2)
    return sums[0], sums[1], sums[2], *places, *differences, *rest


@case(lambda r: (r.random((3, 4)), 3 + 4j))
def small_forms(a, z):
    across, down = np.meshgrid(np.arange(4), np.arange(3))
    total = 0.0
    for i in range(len(a)):
        p, q, r, s = a[i]
        if i in (0, 2):
            total += p * q - r + s
    flat = a.clip(0.2, 0.7).transpose((1, 0)).swapaxes(0, 1)
    return a * across + down, total, flat, z.conjugate() * z, a[0, 0].item()


@case(lambda r, n=30: (n,))
def sieve(n):
    prime = np.ones(n, np.bool_)
    prime[:2] = False
    for i in range(2, n):
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
    return prime
