"""Functions of whole arrays: contractions, padded, rolled and repeated arrays, lists, statistics."""

from __future__ import annotations

import math

import numpy as np

from .cases import case


@case(lambda r: (r.random((3, 4)), r.random((4, 5)), r.random(5)), tolerant=True)
def contracted(A, B, x):
    y = np.einsum("ij,jk,k->i", A, B, x)
    return y, np.einsum("ij->ji", A), np.einsum("ij,ij->i", A, A), np.einsum("i,j->ij", x, y)


@case(lambda r: (r.random((2, 3, 4)), r.random((4, 3, 2))), tolerant=True)
def tensor_products(A, B):
    twice = np.tensordot(A, B, axes=([1, 2], [1, 0]))
    return twice, np.tensordot(A, B[:, 0], axes=1), np.einsum("bij,kib", A, B)


@case(lambda r: (r.random((4, 5)), 2, 1))
def rolled(A, s, t):
    B = np.roll(A, s, axis=0) + np.roll(A, -1, axis=1)
    return B, np.roll(A, (1, t), axis=(0, 1)), np.roll(A[0], s) - np.roll(A[1], -2)


@case(lambda r: (r.random((3, 4)), r.random(5), 2))
def padded(A, x, w):
    edge = np.pad(A, 1, mode="edge")
    reflected = np.pad(x, (w, 1), "reflect") + np.pad(x, (w, 1), "symmetric")
    around = np.pad(x, w, mode="wrap")
    return edge, reflected, around, np.pad(A, ((1, 1), (0, 2)), constant_values=3.5)


@case(lambda r: (r.random(4), r.random((2, 3))))
def repeated(x, A):
    tiles = np.tile(A, (2, 2)) + np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)
    return np.tile(x, 3), np.repeat(x, 2), tiles, np.append(x, 7.0), np.flipud(A) - np.fliplr(A)


@case(lambda r: (r.random((4, 6)), r.random((3, 4)), 2))
def reshaped(A, B, n):
    blocks = A.reshape(2, 2, 3, 2).max(axis=(1, 3))
    B[:] = np.reshape(np.reshape(B, (12,)), (3, 4))
    return blocks, B.reshape(n, -1), np.moveaxis(A[:, None], 0, -1), np.squeeze(A[:1])


@case(lambda r: (r.random(9) - 0.5, r.random(9), 5), tolerant=True)
def listed(x, y, n):
    squares = np.array([i * i for i in range(n)])
    roots = np.array([math.sqrt(abs(v)) for v in x])
    dot = sum([a * b for a, b in zip(x, y, strict=False)])
    few = sum(1 / v for v in x if v > 0 and v < 0.4)
    found = any(v > 0.45 for v in x), all(v < 2 for v in y)
    return squares, roots, dot, few, max(v * v for v in x), found[0] + found[1]


@case(lambda r: (np.where(r.random(8) < 0.3, np.nan, r.random(8)), r.random((3, 6))), tolerant=True)
def statistics(x, A):
    spread = np.corrcoef(A), np.cov(A), np.round(A, 1)
    nans = np.nansum(x) + np.nanmax(x) - np.nanmin(x) + np.nanmean(x)
    return spread[0], spread[1], spread[2], nans, np.gradient(A[0]), np.diff(A, n=2, axis=1)


@case(lambda r: (r.random((2, 3)), r.random((2, 3)), r.integers(0, 4, 9), r.random(9)))
def small_ones(a, b, k, w):
    np.fill_diagonal(a, 2.0)
    counts = np.bincount(k, minlength=4)
    steps = np.arange(2, 9, 3) + np.arange(3, dtype=np.float32), np.arange(0, 1, 0.25)
    power = np.linalg.matrix_power(a @ b.T, 2) - np.linalg.multi_dot([a, b.T, a, b.T])
    a[0, :] += steps[0] + steps[1][1:] + power[0, 0]
    return np.cross(a, b), np.isclose(a, a + 1e-12), np.heaviside(b - 0.5, 0.5), counts
