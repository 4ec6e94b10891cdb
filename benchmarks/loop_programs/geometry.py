"""Points, bodies and shapes: functions with loops as people write them, each with arguments for a call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loop_programs.catalogue import Catalogue

PROGRAMS = Catalogue()


@PROGRAMS.enter(lambda r: (r.random((300, 2)), r.random((400, 2)), np.zeros((300, 400))))
def haversine(a: Any, b: Any, D: Any) -> Any:
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            dl = (
                math.sin((b[j, 0] - a[i, 0]) / 2) ** 2
                + math.cos(a[i, 0]) * math.cos(b[j, 0]) * math.sin((b[j, 1] - a[i, 1]) / 2) ** 2
            )
            D[i, j] = 2 * 6371 * math.asin(math.sqrt(dl))


@PROGRAMS.enter(lambda r: (r.random((500, 2)), r.random((500, 2)) - 0.5, 0.01, 50))
def verlet(p: Any, v: Any, dt: Any, steps: Any) -> Any:
    n = p.shape[0]
    for _t in range(steps):
        for i in range(n):
            for d in range(2):
                p[i, d] += dt * v[i, d]
                if p[i, d] < 0:
                    p[i, d] = -p[i, d]
                    v[i, d] = -v[i, d]
                if p[i, d] > 1:
                    p[i, d] = 2 - p[i, d]
                    v[i, d] = -v[i, d]


@PROGRAMS.enter(lambda r: (r.random((2000, 2)), r.random((30, 2)), np.zeros(2000, np.bool_)))
def point_in_poly(p: Any, poly: Any, out: Any) -> Any:
    n = poly.shape[0]
    for i in range(p.shape[0]):
        inside = False
        j = n - 1
        for k in range(n):
            if (poly[k, 1] > p[i, 1]) != (poly[j, 1] > p[i, 1]) and p[i, 0] < (
                poly[j, 0] - poly[k, 0]
            ) * (p[i, 1] - poly[k, 1]) / (poly[j, 1] - poly[k, 1]) + poly[k, 0]:
                inside = not inside
            j = k
        out[i] = inside


@PROGRAMS.enter(lambda r: (r.random((3000, 4)), r.random((3000, 3)), np.zeros((3000, 3))))
def rotated_by_quaternions(q: Any, v: Any, o: Any) -> Any:
    for i in range(q.shape[0]):
        w, x, y, z = (q[i, 0], q[i, 1], q[i, 2], q[i, 3])
        tx = 2 * (y * v[i, 2] - z * v[i, 1])
        ty = 2 * (z * v[i, 0] - x * v[i, 2])
        tz = 2 * (x * v[i, 1] - y * v[i, 0])
        o[i, 0] = v[i, 0] + w * tx + (y * tz - z * ty)
        o[i, 1] = v[i, 1] + w * ty + (z * tx - x * tz)
        o[i, 2] = v[i, 2] + w * tz + (x * ty - y * tx)


@PROGRAMS.enter(
    lambda r: (r.random((300, 3)), r.random((300, 3)) * 2 - 1, r.random(3), 0.3, np.zeros(300))
)
def ray_sphere(o: Any, d: Any, c: Any, rad: Any, t: Any) -> Any:
    for i in range(o.shape[0]):
        ox = o[i, 0] - c[0]
        oy = o[i, 1] - c[1]
        oz = o[i, 2] - c[2]
        a = d[i, 0] ** 2 + d[i, 1] ** 2 + d[i, 2] ** 2
        b = 2 * (ox * d[i, 0] + oy * d[i, 1] + oz * d[i, 2])
        cc = ox * ox + oy * oy + oz * oz - rad * rad
        disc = b * b - 4 * a * cc
        if disc < 0:
            t[i] = -1
        else:
            t[i] = (-b - math.sqrt(disc)) / (2 * a)


@PROGRAMS.enter(
    lambda r: (
        r.random((4000, 3)),
        r.integers(0, 4000, (8000, 3)),
        np.zeros(8000),
        np.zeros((8000, 3)),
    )
)
def normals_of_triangles(V: Any, F: Any, area: Any, nrm: Any) -> Any:
    for f in range(F.shape[0]):
        a = F[f, 0]
        b = F[f, 1]
        c = F[f, 2]
        ux = V[b, 0] - V[a, 0]
        uy = V[b, 1] - V[a, 1]
        uz = V[b, 2] - V[a, 2]
        vx = V[c, 0] - V[a, 0]
        vy = V[c, 1] - V[a, 1]
        vz = V[c, 2] - V[a, 2]
        nx = uy * vz - uz * vy
        ny = uz * vx - ux * vz
        nz = ux * vy - uy * vx
        l = math.sqrt(nx * nx + ny * ny + nz * nz)
        area[f] = 0.5 * l
        if l > 0:
            nrm[f, 0] = nx / l
            nrm[f, 1] = ny / l
            nrm[f, 2] = nz / l


@PROGRAMS.enter(lambda r: (r.random((400, 2)),))
def closest_pair(p: Any) -> Any:
    best = 1e300
    a = 0
    b = 0
    for i in range(p.shape[0]):
        for j in range(i + 1, p.shape[0]):
            d = (p[i, 0] - p[j, 0]) ** 2 + (p[i, 1] - p[j, 1]) ** 2
            if d < best:
                best = d
                a = i
                b = j
    return (best, a, b)


@PROGRAMS.enter(lambda r: (r.random((300, 3)), r.random(300), np.zeros((300, 3))))
def accelerations(p: Any, m: Any, a: Any) -> Any:
    n = p.shape[0]
    for i in range(n):
        ax = 0.0
        ay = 0.0
        az = 0.0
        for j in range(n):
            dx = p[j, 0] - p[i, 0]
            dy = p[j, 1] - p[i, 1]
            dz = p[j, 2] - p[i, 2]
            w = m[j] * (dx * dx + dy * dy + dz * dz + 0.01) ** (-1.5)
            ax += w * dx
            ay += w * dy
            az += w * dz
        a[i, 0] = ax
        a[i, 1] = ay
        a[i, 2] = az


@PROGRAMS.enter(lambda r: (r.random((300, 3)), r.random((300, 3))))
def hausdorff(a: Any, b: Any) -> Any:
    h = 0.0
    for i in range(a.shape[0]):
        m = 1e300
        for j in range(b.shape[0]):
            d = 0.0
            for k in range(3):
                d += (a[i, k] - b[j, k]) ** 2
            if d < m:
                m = d
        if m > h:
            h = m
    return math.sqrt(h)


@PROGRAMS.enter(lambda r: (r.random((1000, 3)), r.random((4, 4)), np.zeros((1000, 3))))
def homogeneous(p: Any, M: Any, o: Any) -> Any:
    for i in range(p.shape[0]):
        w = M[3, 0] * p[i, 0] + M[3, 1] * p[i, 1] + M[3, 2] * p[i, 2] + M[3, 3]
        for a in range(3):
            s = M[a, 3]
            for b in range(3):
                s += M[a, b] * p[i, b]
            o[i, a] = s / w


@PROGRAMS.enter(lambda r: (r.random((200, 2)), r.random((200, 2)), np.zeros((200, 2)), 0.1, 20))
def boids(p: Any, v: Any, f: Any, rad: Any, steps: Any) -> Any:
    n = p.shape[0]
    for _t in range(steps):
        for i in range(n):
            cx = 0.0
            cy = 0.0
            k = 0
            for j in range(n):
                dx = p[j, 0] - p[i, 0]
                dy = p[j, 1] - p[i, 1]
                if dx * dx + dy * dy < rad * rad:
                    cx += dx
                    cy += dy
                    k += 1
            f[i, 0] = cx / k
            f[i, 1] = cy / k
        for i in range(n):
            for c in range(2):
                v[i, c] += 0.01 * f[i, c]
                p[i, c] += v[i, c] * 0.01
