"""Signals, series and prices: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.random(20000), 50, np.zeros(20000)))
def rolling_std(x: Any, w: Any, out: Any) -> Any:
    for i in range(w - 1, len(x)):
        m = 0.0
        for k in range(w):
            m += x[i - k]
        m /= w
        s = 0.0
        for k in range(w):
            s += (x[i - k] - m) ** 2
        out[i] = math.sqrt(s / (w - 1))


@PROGRAMS.enter(lambda r: (r.random(100000), 0.1, np.zeros(100000)))
def exponential_average(x: Any, a: Any, out: Any) -> Any:
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * x[i] + (1 - a) * out[i - 1]


@PROGRAMS.enter(lambda r: (r.random(50000), r.random(9), np.zeros(50000)))
def finite_impulse_response(x: Any, h: Any, y: Any) -> Any:
    for n in range(len(h) - 1, len(x)):
        s = 0.0
        for k in range(len(h)):
            s += h[k] * x[n - k]
        y[n] = s


@PROGRAMS.enter(lambda r: (r.random((8, 20000)), r.random((8, 5)) * 0.3, np.zeros((8, 20000))))
def biquads(x: Any, c: Any, y: Any) -> Any:
    for ch in range(x.shape[0]):
        z1 = 0.0
        z2 = 0.0
        for n in range(x.shape[1]):
            v = x[ch, n]
            o = c[ch, 0] * v + z1
            z1 = c[ch, 1] * v - c[ch, 3] * o + z2
            z2 = c[ch, 2] * v - c[ch, 4] * o
            y[ch, n] = o


@PROGRAMS.enter(lambda r: (r.random(20000), np.zeros(20000)))
def median5(x: Any, o: Any) -> Any:
    for i in range(2, len(x) - 2):
        w = np.zeros(5)
        for k in range(5):
            w[k] = x[i + k - 2]
        for a in range(5):
            for b in range(4 - a):
                if w[b] > w[b + 1]:
                    t = w[b]
                    w[b] = w[b + 1]
                    w[b + 1] = t
        o[i] = w[2]


@PROGRAMS.enter(lambda r: (r.random(100000),))
def drawdown(x: Any) -> Any:
    peak = x[0]
    worst = 0.0
    for i in range(len(x)):
        if x[i] > peak:
            peak = x[i]
        d = (peak - x[i]) / peak
        if d > worst:
            worst = d
    return worst


@PROGRAMS.enter(lambda r: (r.random(5000), r.random(5000)))
def interp_lin(x: Any, q: Any) -> Any:
    xs = np.sort(x)
    o = np.zeros(len(q))
    for i in range(len(q)):
        lo = 0
        hi = len(xs) - 1
        while hi - lo > 1:
            m = (lo + hi) // 2
            if xs[m] <= q[i]:
                lo = m
            else:
                hi = m
        o[i] = lo + (q[i] - xs[lo]) / (xs[hi] - xs[lo])
    return o


@PROGRAMS.enter(lambda r: (r.standard_normal(4096) + 0j,))
def fourier_radix_2(x: Any) -> Any:
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            t = x[i]
            x[i] = x[j]
            x[j] = t
    l = 2
    while l <= n:
        w = complex(math.cos(-2 * math.pi / l), math.sin(-2 * math.pi / l))
        for i in range(0, n, l):
            z = 1 + 0j
            for k in range(l // 2):
                u = x[i + k]
                v = x[i + k + l // 2] * z
                x[i + k] = u + v
                x[i + k + l // 2] = u - v
                z *= w
        l *= 2


@PROGRAMS.enter(lambda r: (r.random(2000), r.random(2000), r.random(2000) + 1))
def weighted_stats(x: Any, y: Any, w: Any) -> Any:
    sw = 0.0
    mx = 0.0
    my = 0.0
    for i in range(len(x)):
        sw += w[i]
        mx += w[i] * x[i]
        my += w[i] * y[i]
    mx /= sw
    my /= sw
    cxy = 0.0
    cxx = 0.0
    cyy = 0.0
    for i in range(len(x)):
        dx = x[i] - mx
        dy = y[i] - my
        cxy += w[i] * dx * dy
        cxx += w[i] * dx * dx
        cyy += w[i] * dy * dy
    return cxy / math.sqrt(cxx * cyy)


@PROGRAMS.enter(lambda r: (r.random(300), r.random(300)))
def time_warping(a: Any, b: Any) -> Any:
    n = len(a)
    m = len(b)
    D = np.full((n + 1, m + 1), 1e300)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = abs(a[i - 1] - b[j - 1])
            D[i, j] = c + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@PROGRAMS.enter(lambda r: (r.random(100000), r.random(100000), np.zeros((32, 32), np.int64)))
def histogram_of_two(x: Any, y: Any, H: Any) -> Any:
    for i in range(len(x)):
        H[int(x[i] * 32), int(y[i] * 32)] += 1


@PROGRAMS.enter(lambda r: (r.standard_normal((2000, 100)), 100.0, 0.03, 0.2, 0.01, np.zeros(2000)))
def simulated_paths(z: Any, S: Any, mu: Any, v: Any, dt: Any, out: Any) -> Any:
    for p in range(z.shape[0]):
        s = S
        m = S
        for t in range(z.shape[1]):
            s = s * math.exp((mu - 0.5 * v * v) * dt + v * math.sqrt(dt) * z[p, t])
            m = max(m, s)
        out[p] = m - s


@PROGRAMS.enter(
    lambda r: (
        r.random(5000) * 50 + 50,
        r.random(5000) * 50 + 50,
        r.random(5000) + 0.1,
        0.03,
        0.2,
        np.zeros(5000),
    )
)
def black_scholes(S: Any, K: Any, T: Any, rr: Any, v: Any, out: Any) -> Any:
    for i in range(len(S)):
        d1 = (math.log(S[i] / K[i]) + (rr + 0.5 * v * v) * T[i]) / (v * math.sqrt(T[i]))
        d2 = d1 - v * math.sqrt(T[i])
        out[i] = S[i] * 0.5 * (1 + math.erf(d1 / 1.4142135623730951)) - K[i] * math.exp(
            -rr * T[i]
        ) * 0.5 * (1 + math.erf(d2 / 1.4142135623730951))


@PROGRAMS.enter(lambda r: (100.0, 95.0, 0.03, 0.2, 1.0, 500))
def binomial_tree(S: Any, K: Any, rr: Any, v: Any, T: Any, n: Any) -> Any:
    dt = T / n
    u = math.exp(v * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(rr * dt) - d) / (u - d)
    disc = math.exp(-rr * dt)
    V = np.zeros(n + 1)
    for i in range(n + 1):
        V[i] = max(0.0, K - S * u ** (2 * i - n))
    for s in range(n - 1, -1, -1):
        for i in range(s + 1):
            V[i] = disc * (p * V[i + 1] + (1 - p) * V[i])
    return V[0]
