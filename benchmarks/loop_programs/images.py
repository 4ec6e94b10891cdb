"""Pictures: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.random((200, 300, 3)), np.zeros((200, 300, 3))))
def rgb_to_hsv(a: Any, o: Any) -> Any:
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            R = a[y, x, 0]
            G = a[y, x, 1]
            B = a[y, x, 2]
            mx = max(R, G, B)
            mn = min(R, G, B)
            d = mx - mn
            h = 0.0
            if d > 0:
                if mx == R:
                    h = (G - B) / d % 6
                elif mx == G:
                    h = (B - R) / d + 2
                else:
                    h = (R - G) / d + 4
            o[y, x, 0] = h / 6
            o[y, x, 1] = d / mx if mx > 0 else 0.0
            o[y, x, 2] = mx


@PROGRAMS.enter(lambda r: (r.random((200, 300, 3)), np.zeros((400, 600, 3))))
def bilinear(a: Any, o: Any) -> Any:
    h, w = (a.shape[0], a.shape[1])
    for y in range(o.shape[0]):
        fy = y * (h - 1) / (o.shape[0] - 1)
        y0 = min(int(fy), h - 2)
        ty = fy - y0
        for x in range(o.shape[1]):
            fx = x * (w - 1) / (o.shape[1] - 1)
            x0 = min(int(fx), w - 2)
            tx = fx - x0
            for c in range(3):
                o[y, x, c] = (a[y0, x0, c] * (1 - tx) + a[y0, x0 + 1, c] * tx) * (1 - ty) + (
                    a[y0 + 1, x0, c] * (1 - tx) + a[y0 + 1, x0 + 1, c] * tx
                ) * ty


@PROGRAMS.enter(
    lambda r: (r.random((8, 64, 64)), np.zeros((8, 32, 32)), np.zeros((8, 32, 32), np.int64))
)
def maxpool(a: Any, o: Any, idx: Any) -> Any:
    for c in range(o.shape[0]):
        for y in range(o.shape[1]):
            for x in range(o.shape[2]):
                m = -1e300
                b = 0
                for dy in range(2):
                    for dx in range(2):
                        v = a[c, 2 * y + dy, 2 * x + dx]
                        if v > m:
                            m = v
                            b = dy * 2 + dx
                o[c, y, x] = m
                idx[c, y, x] = b


@PROGRAMS.enter(
    lambda r: (r.integers(0, 256, (200, 300)).astype(np.uint8), np.zeros((200, 300), np.uint8))
)
def equalize(a: Any, o: Any) -> Any:
    h = np.zeros(256, np.int64)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            h[a[y, x]] += 1
    c = np.zeros(256, np.int64)
    s = 0
    for i in range(256):
        s += h[i]
        c[i] = s
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            o[y, x] = c[a[y, x]] * 255 // s


@PROGRAMS.enter(
    lambda r: (r.integers(0, 256, (200, 300)).astype(np.uint8), np.zeros((200, 300), np.uint8))
)
def erode(a: Any, o: Any) -> Any:
    for y in range(1, a.shape[0] - 1):
        for x in range(1, a.shape[1] - 1):
            m = a[y, x]
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    if a[y + dy, x + dx] < m:
                        m = a[y + dy, x + dx]
            o[y, x] = m


@PROGRAMS.enter(lambda r: (r.random((200, 300)), r.random((2, 3)), np.zeros((200, 300))))
def warp_affine(a: Any, M: Any, o: Any) -> Any:
    h, w = a.shape
    for y in range(h):
        for x in range(w):
            sx = M[0, 0] * x + M[0, 1] * y + M[0, 2]
            sy = M[1, 0] * x + M[1, 1] * y + M[1, 2]
            ix = int(sx)
            iy = int(sy)
            if 0 <= ix < w - 1 and 0 <= iy < h - 1:
                fx = sx - ix
                fy = sy - iy
                o[y, x] = (a[iy, ix] * (1 - fx) + a[iy, ix + 1] * fx) * (1 - fy) + (
                    a[iy + 1, ix] * (1 - fx) + a[iy + 1, ix + 1] * fx
                ) * fy
            else:
                o[y, x] = 0.0


@PROGRAMS.enter(lambda r: (r.random((400, 500)), np.zeros((401, 501))))
def integral_image(a: Any, I: Any) -> Any:
    for y in range(a.shape[0]):
        s = 0.0
        for x in range(a.shape[1]):
            s += a[y, x]
            I[y + 1, x + 1] = I[y, x + 1] + s


@PROGRAMS.enter(
    lambda r: (
        r.random((40, 60, 3)).astype(np.float32),
        r.random((5, 5)).astype(np.float32),
        np.zeros((40, 60, 3), np.float32),
    )
)
def filter2d(a: Any, k: Any, o: Any) -> Any:
    for y in range(2, a.shape[0] - 2):
        for x in range(2, a.shape[1] - 2):
            for c in range(3):
                s = np.float32(0)
                for dy in range(5):
                    for dx in range(5):
                        s += k[dy, dx] * a[y + dy - 2, x + dx - 2, c]
                o[y, x, c] = s


@PROGRAMS.enter(lambda r: (r.random((256, 256)), np.zeros((256, 256)), np.zeros((256, 256))))
def sobel_and_direction(a: Any, m: Any, d: Any) -> Any:
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            gx = (
                a[i - 1, j + 1]
                + 2 * a[i, j + 1]
                + a[i + 1, j + 1]
                - a[i - 1, j - 1]
                - 2 * a[i, j - 1]
                - a[i + 1, j - 1]
            )
            gy = (
                a[i + 1, j - 1]
                + 2 * a[i + 1, j]
                + a[i + 1, j + 1]
                - a[i - 1, j - 1]
                - 2 * a[i - 1, j]
                - a[i - 1, j + 1]
            )
            m[i, j] = math.sqrt(gx * gx + gy * gy)
            d[i, j] = math.atan2(gy, gx)


@PROGRAMS.enter(lambda r: (r.random((256, 256)) > 0.5,))
def runs_of_rows(img: Any) -> Any:
    n = 0
    for i in range(img.shape[0]):
        prev = False
        for j in range(img.shape[1]):
            if img[i, j] and (not prev):
                n += 1
            prev = img[i, j]
    return n


@PROGRAMS.enter(lambda r: (r.integers(0, 2, (128, 128)), 20))
def life(g: Any, steps: Any) -> Any:
    n, m = g.shape
    for _t in range(steps):
        h = np.zeros((n, m), g.dtype)
        for i in range(n):
            for j in range(m):
                s = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            s += g[(i + di) % n, (j + dj) % m]
                h[i, j] = 1 if s == 3 or (s == 2 and g[i, j] == 1) else 0
        g[:] = h


@PROGRAMS.enter(lambda r: (r.random((300, 4)), r.random((300, 4))))
def overlaps_of_boxes(a: Any, b: Any) -> Any:
    o = np.zeros((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            x0 = max(a[i, 0], b[j, 0])
            y0 = max(a[i, 1], b[j, 1])
            x1 = min(a[i, 0] + a[i, 2], b[j, 0] + b[j, 2])
            y1 = min(a[i, 1] + a[i, 3], b[j, 1] + b[j, 3])
            w = max(0.0, x1 - x0)
            h = max(0.0, y1 - y0)
            t = w * h
            o[i, j] = t / (a[i, 2] * a[i, 3] + b[j, 2] * b[j, 3] - t)
    return o


@PROGRAMS.enter(lambda r: (r.random((128, 128)), r.random((128, 128)), 0.16, 0.08, 0.035, 0.065, 5))
def gray_scott(U: Any, V: Any, Du: Any, Dv: Any, F: Any, k: Any, steps: Any) -> Any:
    n, m = U.shape
    for _t in range(steps):
        Un = U.copy()
        Vn = V.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lu = U[i - 1, j] + U[i + 1, j] + U[i, j - 1] + U[i, j + 1] - 4 * U[i, j]
                lv = V[i - 1, j] + V[i + 1, j] + V[i, j - 1] + V[i, j + 1] - 4 * V[i, j]
                uvv = U[i, j] * V[i, j] * V[i, j]
                Un[i, j] = U[i, j] + Du * lu - uvv + F * (1 - U[i, j])
                Vn[i, j] = V[i, j] + Dv * lv + uvv - (F + k) * V[i, j]
        U[:] = Un
        V[:] = Vn
