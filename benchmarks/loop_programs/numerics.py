"""Numerical methods and fields: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.random((1000, 3)), 100, 0.01))
def lorenz(y: Any, steps: Any, dt: Any) -> Any:
    for p in range(y.shape[0]):
        a = y[p, 0]
        b = y[p, 1]
        c = y[p, 2]
        for _t in range(steps):
            da = 10 * (b - a)
            db = a * (28 - c) - b
            dc = a * b - 8 / 3 * c
            a += dt * da
            b += dt * db
            c += dt * dc
        y[p, 0] = a
        y[p, 1] = b
        y[p, 2] = c


@PROGRAMS.enter(lambda r: (r.random((80, 60)),))
def householder(A: Any) -> Any:
    m, n = A.shape
    for k in range(n):
        s = 0.0
        for i in range(k, m):
            s += A[i, k] * A[i, k]
        nrm = math.sqrt(s)
        if A[k, k] > 0:
            nrm = -nrm
        v = np.zeros(m)
        for i in range(k, m):
            v[i] = A[i, k]
        v[k] -= nrm
        vv = 0.0
        for i in range(k, m):
            vv += v[i] * v[i]
        for j in range(k, n):
            d = 0.0
            for i in range(k, m):
                d += v[i] * A[i, j]
            d = 2 * d / vv
            for i in range(k, m):
                A[i, j] -= d * v[i]


@PROGRAMS.enter(lambda r: (r.random((9, 100, 120)), 0.6, 5))
def lattice_boltzmann(f: Any, omega: Any, steps: Any) -> Any:
    ex = (0, 1, 0, -1, 0, 1, -1, -1, 1)
    ey = (0, 0, 1, 0, -1, 1, 1, -1, -1)
    ww = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
    q, h, w = f.shape
    g = np.zeros((q, h, w))
    for _t in range(steps):
        for y in range(h):
            for x in range(w):
                rho = 0.0
                ux = 0.0
                uy = 0.0
                for k in range(9):
                    rho += f[k, y, x]
                    ux += ex[k] * f[k, y, x]
                    uy += ey[k] * f[k, y, x]
                ux /= rho
                uy /= rho
                for k in range(9):
                    cu = 3 * (ex[k] * ux + ey[k] * uy)
                    feq = ww[k] * rho * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
                    g[k, (y + ey[k]) % h, (x + ex[k]) % w] = f[k, y, x] + omega * (feq - f[k, y, x])
        f[:] = g


@PROGRAMS.enter(lambda r: (r.random((500, 500)), 0.1, np.zeros((500, 500))))
def burgers(u: Any, nu: Any, un: Any) -> Any:
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            un[i, j] = (
                u[i, j]
                - 0.01 * u[i, j] * (u[i, j] - u[i - 1, j] + u[i, j] - u[i, j - 1])
                + nu * 0.01 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4 * u[i, j])
            )


@PROGRAMS.enter(lambda r: (r.random(4000) * 5 + 1, np.zeros(4000)))
def cube_roots(a: Any, o: Any) -> Any:
    for i in range(len(a)):
        x = a[i]
        for _k in range(12):
            x = x - (x * x * x - a[i]) / (3 * x * x)
        o[i] = x


@PROGRAMS.enter(lambda r: (r.random(2000) * 5 + 1, np.zeros(2000)))
def roots_by_bisection(a: Any, o: Any) -> Any:
    for i in range(len(a)):
        lo = 0.0
        hi = 10.0
        for _k in range(40):
            m = 0.5 * (lo + hi)
            if m * m * m + m > a[i]:
                hi = m
            else:
                lo = m
        o[i] = 0.5 * (lo + hi)


@PROGRAMS.enter(
    lambda r: (
        r.random((200, 100)),
        r.random((200, 100)) + 3,
        r.random((200, 100)),
        r.random((200, 100)),
        np.zeros((200, 100)),
    )
)
def tridiagonal_systems(a: Any, b: Any, c: Any, d: Any, x: Any) -> Any:
    m, n = a.shape
    cp = np.zeros(n)
    dp = np.zeros(n)
    for s in range(m):
        cp[0] = c[s, 0] / b[s, 0]
        dp[0] = d[s, 0] / b[s, 0]
        for i in range(1, n):
            w = b[s, i] - a[s, i] * cp[i - 1]
            cp[i] = c[s, i] / w
            dp[i] = (d[s, i] - a[s, i] * dp[i - 1]) / w
        x[s, n - 1] = dp[n - 1]
        for i in range(n - 2, -1, -1):
            x[s, i] = dp[i] - cp[i] * x[s, i + 1]


@PROGRAMS.enter(lambda r: (r.random(10), r.random(20000), np.zeros(20000)))
def horner(c: Any, x: Any, o: Any) -> Any:
    for i in range(len(x)):
        s = 0.0
        for k in range(len(c)):
            s = s * x[i] + c[k]
        o[i] = s


@PROGRAMS.enter(lambda r: (r.random((64, 64)), r.random((64, 64)), 50))
def over_relaxation(u: Any, f: Any, it: Any) -> Any:
    n = u.shape[0]
    for _k in range(it):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] += (
                    1.5
                    * 0.25
                    * (
                        u[i - 1, j]
                        + u[i + 1, j]
                        + u[i, j - 1]
                        + u[i, j + 1]
                        - 4 * u[i, j]
                        - f[i, j]
                    )
                )


@PROGRAMS.enter(lambda r: (r.random((100, 100)),))
def jacobi_rotations(A: Any) -> Any:
    n = A.shape[0]
    for p in range(n - 1):
        for q in range(p + 1, n):
            if abs(A[p, q]) > 1e-09:
                th = (A[q, q] - A[p, p]) / (2 * A[p, q])
                t = 1 / (abs(th) + math.sqrt(th * th + 1))
                if th < 0:
                    t = -t
                c = 1 / math.sqrt(t * t + 1)
                s = t * c
                for k in range(n):
                    x = A[k, p]
                    y = A[k, q]
                    A[k, p] = c * x - s * y
                    A[k, q] = s * x + c * y
                for k in range(n):
                    x = A[p, k]
                    y = A[q, k]
                    A[p, k] = c * x - s * y
                    A[q, k] = s * x + c * y


@PROGRAMS.enter(
    lambda r: (
        r.random((100, 100)),
        r.random((100, 100)),
        r.random((100, 100)),
        np.zeros((100, 100)),
    )
)
def product_sum_and_leaky(a: Any, b: Any, c: Any, o: Any) -> Any:
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t = a[i, j] * b[i, j] + c[i, j]
            o[i, j] = t if t > 0.5 else 0.1 * t


@PROGRAMS.enter(
    lambda r: (
        r.random((100, 100)) + 0.5 * 0,
        r.integers(0, 2, (64, 64)) * 2 - 1,
        r.random((64, 64)),
    )
)
def ising_sweep(_u: Any, s: Any, u: Any) -> Any:
    n = s.shape[0]
    for i in range(n):
        for j in range(n):
            e = s[(i + 1) % n, j] + s[(i - 1) % n, j] + s[i, (j + 1) % n] + s[i, (j - 1) % n]
            d = 2 * s[i, j] * e
            if d <= 0 or u[i, j] < np.exp(-d * 0.4):
                s[i, j] = -s[i, j]
