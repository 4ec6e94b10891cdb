"""Functions with functions inside."""

from __future__ import annotations

import numpy as np

from .cases import case


@case(lambda r, n=6: (r.random(n), 2.0))
def local_changes(x, k):
    total = 0.0

    def bump(i, by=1.0):
        x[i] = x[i] + by * k
        return x[i]

    for i in range(len(x)):
        total += bump(i)
        total += bump(i, by=3.0)
    return total


@case(lambda r, n=6: (r.random(n), 2.0))
def local_in_local(x, k):
    n = len(x)

    def around(i):
        def within(j):
            return x[j] * k + n

        return within(i) + within((i + 1) % n)

    y = np.zeros(n)
    for i in range(n):
        y[i] = around(i)
    return y


@case(lambda r, n=6: (np.arange(float(n)),))
def local_branches(x):
    c = 1.0

    def relu(v):
        if v > 2:
            return v * c
        return 0.0

    minus = lambda a, b: a - b  # noqa: E731
    s = 0.0
    for i in range(len(x)):
        s += minus(relu(x[i]), i)
        c = c + 1
    return s
