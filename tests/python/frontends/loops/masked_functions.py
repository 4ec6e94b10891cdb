"""What masks choose, as values that are summed up."""

from __future__ import annotations

import numpy as np

from .cases import case


@case(lambda r: (r.random(12) - 0.5, r.random(12), r.integers(0, 9, 12)), tolerant=True)
def masked(a, b, k):
    m = a > 0
    v = b[m] * 2
    a[0] = 9.0
    b[:] = 1
    first = a[a > 0].sum(), np.mean(k[k > 3]), v.mean(), len(v), v.max() - v.min()
    low, high = np.min(k[m]), max(k[a < 0.3])
    return first[0], first[1], first[2], first[3], first[4], low, high, np.sum(np.sqrt(v)), v.size


@case(lambda r: (r.random((4, 5)), r.random((4, 5))), tolerant=True)
def masked_matrices(a, w):
    m = (a > 0.2) & (a < 0.9)
    c = np.count_nonzero(a[m] > 0.5)
    return (
        (a[m] * w[m]).sum() / w[m].sum(),
        np.any(a[m] > 0.8),
        np.all(a[m] > 0.1),
        np.prod(-a[m]),
        c,
    )


@case(lambda r: (r.random(40), r.random(40), 5), tolerant=True)
def azimuthal(data, radius, npt):
    most = radius.max()
    res = np.zeros(npt)
    for i in range(npt):
        low = most * i / npt
        high = most * (i + 1) / npt
        within = np.logical_and(low <= radius, radius < high)
        values = data[within]
        res[i] = values.mean()
    return res
