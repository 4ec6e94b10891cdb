"""Tables, graphs and sequences: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.integers(1, 50, 100), r.integers(1, 100, 100), 2000))
def knapsack(w: Any, v: Any, W: Any) -> Any:
    dp = np.zeros(W + 1, np.int64)
    for i in range(len(w)):
        for c in range(W, w[i] - 1, -1):
            t = dp[c - w[i]] + v[i]
            if t > dp[c]:
                dp[c] = t
    return dp[W]


def _pagerank_data(r: Any) -> Any:
    n = 5000
    cnt = r.integers(0, 20, n)
    ptr = np.concatenate([[0], np.cumsum(cnt)])
    return (ptr, r.integers(0, n, ptr[-1]), r.random(ptr[-1]))


@PROGRAMS.enter(lambda r: (*_pagerank_data(r), r.random(5000), 20))
def pagerank(ptr: Any, col: Any, val: Any, x: Any, iters: Any) -> Any:
    n = len(x)
    y = np.zeros(n)
    for _it in range(iters):
        for i in range(n):
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += val[k] * x[col[k]]
            y[i] = 0.15 / n + 0.85 * s
        t = 0.0
        for i in range(n):
            t += y[i]
        for i in range(n):
            x[i] = y[i] / t
    return x


@PROGRAMS.enter(lambda r: (r.integers(0, 4, 400), r.integers(0, 4, 400)))
def smith_waterman(a: Any, b: Any) -> Any:
    n = len(a)
    m = len(b)
    best = 0
    H = np.zeros((n + 1, m + 1), np.int64)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = 2 if a[i - 1] == b[j - 1] else -1
            v = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - 1, H[i, j - 1] - 1)
            H[i, j] = v
            if v > best:
                best = v
    return best


@PROGRAMS.enter(lambda r: (200000,))
def sieve(n: Any) -> Any:
    p = np.ones(n + 1, np.bool_)
    p[0] = False
    p[1] = False
    for i in range(2, int(n**0.5) + 1):
        if p[i]:
            for j in range(i * i, n + 1, i):
                p[j] = False
    return p.sum()


def _bellman_ford_data(r: Any) -> Any:
    n = 2000
    m = 12000
    return (n, r.integers(0, n, m), r.integers(0, n, m), r.random(m))


@PROGRAMS.enter(lambda r: (*_bellman_ford_data(r),))
def bellman_ford(n: Any, u: Any, v: Any, w: Any) -> Any:
    d = np.full(n, 1e300)
    d[0] = 0
    for _it in range(20):
        for e in range(len(u)):
            t = d[u[e]] + w[e]
            if t < d[v[e]]:
                d[v[e]] = t
    return d


def _bfs_data(r: Any) -> Any:
    n = 3000
    cnt = r.integers(0, 8, n)
    ptr = np.concatenate([[0], np.cumsum(cnt)])
    return (ptr, r.integers(0, n, ptr[-1]))


@PROGRAMS.enter(lambda r: _bfs_data(r))
def bfs(ptr: Any, col: Any) -> Any:
    n = len(ptr) - 1
    dist = np.full(n, -1)
    q = np.zeros(n, np.int64)
    head = 0
    tail = 1
    dist[0] = 0
    while head < tail:
        x = q[head]
        head += 1
        for k in range(ptr[x], ptr[x + 1]):
            y = col[k]
            if dist[y] < 0:
                dist[y] = dist[x] + 1
                q[tail] = y
                tail += 1
    return dist


@PROGRAMS.enter(lambda r: (r.random(400),))
def insertion_sort(a: Any) -> Any:
    for i in range(1, len(a)):
        x = a[i]
        j = i - 1
        while j >= 0 and a[j] > x:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = x


@PROGRAMS.enter(lambda r: (np.array([1, 5, 10, 25, 50]), 5000))
def coin_change(c: Any, n: Any) -> Any:
    w = np.zeros(n + 1, np.int64)
    w[0] = 1
    for k in range(len(c)):
        for s in range(c[k], n + 1):
            w[s] += w[s - c[k]]
    return w[n]


@PROGRAMS.enter(lambda r: (r.integers(0, 1000, 600),))
def longest_increasing(a: Any) -> Any:
    n = len(a)
    L = np.ones(n, np.int64)
    for i in range(n):
        for j in range(i):
            if a[j] < a[i] and L[j] + 1 > L[i]:
                L[i] = L[j] + 1
    return L.max()


@PROGRAMS.enter(lambda r: (r.integers(1, 50, 80),))
def matrix_chain(p: Any) -> Any:
    n = len(p) - 1
    M = np.zeros((n, n), np.int64)
    for l in range(2, n + 1):
        for i in range(n - l + 1):
            j = i + l - 1
            M[i, j] = 2**62
            for k in range(i, j):
                c = M[i, k] + M[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if c < M[i, j]:
                    M[i, j] = c
    return M[0, n - 1]
