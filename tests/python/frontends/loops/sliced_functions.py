"""Slices whose bounds data decide."""

from __future__ import annotations

import numpy as np

from .cases import case

ROWS = np.array([0, 2, 5, 6])


@case(
    lambda r: (r.random(20), np.array([0, 3, -5, 18, 4]), np.array([3, 5, 20, 30, 2])),
    tolerant=True,
)
def segments(a, low, high):
    out, counts = np.zeros(len(low)), np.zeros(len(low), np.int64)
    for i in range(len(low)):
        out[i] = a[low[i] : high[i]].sum()
        counts[i] = len(a[low[i] : high[i]])
    return out, counts


@case(lambda r: (ROWS, np.array([0, 1, 2, 3, 0, 3]), r.random(6), r.random(4)), tolerant=True)
def sparse_product(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        mine = columns[rows[i] : rows[i + 1]]
        weights = values[rows[i] : rows[i + 1]]
        y[i] = weights @ x[mine]
    return y


@case(lambda r: (ROWS, r.random((6, 3))), tolerant=True)
def by_rows(rows, v):
    out = np.zeros((len(rows) - 1, 3))
    for i in range(len(rows) - 1):
        start = rows[i]
        end = rows[i + 1]
        v[start:end] *= i + 1
        v[start:end] += v[start:end].mean()
        out[i] = v[start:end].sum(axis=0)
        out[i, 0] += v[: rows[i], 0].sum()
    return out


@case(lambda r: (r.random(20), 4), tolerant=True)
def lags(c, k):
    """-k counts from the end whatever k is, as long as it is not 0."""
    turned = np.zeros_like(c)
    turned[k:] = c[:-k]
    turned[:k] = c[-k:]
    second = c[2 * k :] - 2 * c[k:-k] + c[: -2 * k]
    total = 0.0
    for i in range(1, k):
        total += (c[i:] * c[:-i]).sum()
    return c[k:] - c[:-k], turned, second, c[: -k - 1], total
