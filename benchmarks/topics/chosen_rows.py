"""Rows that data choose, as programs have them: a matrix for each row, bags of words, messages along the
edges of a graph, weighted windows, recurrences of which the sums are such. Without a command, beside NumPy
and JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Rows that data choose"
THREADS = (1, 2)

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(0)


def case(
    name: str,
    function: tw.Function,
    arrays: dict[str, Any],
    numpy: Callable[..., Array],
    jax: Callable[[Any, Any], Callable[..., Any]],
) -> Case:
    """One program; both peers take the arrays by name."""
    first = function(**arrays)
    jax_module = peers.module("jax")
    if not isinstance(jax_module, Missing):
        jnp = jax_module.numpy
        sizes = {key: value for key, value in arrays.items() if isinstance(value, int)}
        compiled = jax_module.jit(jax(jax_module, jnp), static_argnames=tuple(sizes))
        there = {key: jnp.asarray(value) for key, value in arrays.items() if key not in sizes}

        def of_jax() -> Any:
            return compiled(**there, **sizes).block_until_ready()

        other: Callable[[], Any] | Missing = of_jax
    else:
        other = jax_module

    def close(got: Any, expected: Any) -> None:
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-3, atol=1e-4)

    return Case(
        name,
        ours=lambda: function(**arrays, out=first),
        peers={"NumPy": lambda: numpy(**arrays), "JAX": other},
        compare=close,
        goals={"JAX": 1.0},
    )


def real(*shape: int) -> Array:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def choice(most: int, *shape: int, least: int = 0) -> Array:
    return GENERATOR.integers(least, most, shape).astype(np.int32)


def experts(count: int, tables: int, size: int) -> Case:
    N, E, D, F = tw.params("N E D F")
    n, d, f = tw.iters("n d f")
    x, w = tw.input("x", [N, D], tw.float32), tw.input("w", [E, D, F], tw.float32)
    a = tw.input("a", [N], tw.int32)
    y = tw.computation("y", {n: N, f: F}, tw.sum(x[n, d] * w[a[n], d, f], over={d: D}))

    def numpy(x: Array, w: Array, a: Array) -> Array:
        out = np.zeros((len(x), w.shape[2]), np.float32)
        for table in range(len(w)):
            out[a == table] = x[a == table] @ w[table]
        return out

    return case(
        f"a matrix for each row {count} x {size} x {size}",
        tw.function("experts", outputs=[y]),
        {"x": real(count, size), "w": real(tables, size, size) / size, "a": choice(tables, count)},
        numpy,
        lambda jax, np: lambda x, w, a: np.einsum("nd,ndf->nf", x, w[a]),
    )


def bags(count: int, words: int, length: int, width: int) -> Case:
    N, V, L, D = tw.params("N V L D")
    n, k, d = tw.iters("n k d")
    table, at = tw.input("table", [V, D], tw.float32), tw.input("at", [N, L], tw.int32)
    total = tw.sum(table[at[n, k], d], over={k: L}, where=at[n, k] >= 0)
    y = tw.computation("y", {n: N, d: D}, total)

    def numpy(table: Array, at: Array) -> Array:
        rows = table[np.maximum(at, 0)]
        total: Array = np.where((at >= 0)[..., None], rows, np.float32(0)).sum(1)
        return total

    return case(
        f"bags of {length} words, {count} x {width}",
        tw.function("bags", outputs=[y]),
        {"table": real(words, width), "at": choice(words, count, length, least=-1)},
        numpy,
        lambda jax, np: (
            lambda table, at: np.where(
                (at >= 0)[..., None], table[np.maximum(at, 0)], np.float32(0)
            ).sum(1)
        ),
    )


def messages(vertices: int, edges: int, width: int) -> Case:
    V, E, D = tw.params("V E D")
    v, e, d = tw.iters("v e d")
    x = tw.input("x", [V, D], tw.float32)
    source, to = tw.input("source", [E], tw.int32), tw.input("to", [E], tw.int32)
    y = tw.computation("y", {v: V, d: D}, tw.sum(x[source[e], d], over={e: E}, where=to[e] == v))

    def numpy(x: Array, source: Array, to: Array) -> Array:
        out = np.zeros_like(x)
        np.add.at(out, to, x[source])
        return out

    return case(
        f"messages along {edges} edges, {width} wide",
        tw.function("messages", outputs=[y]),
        {
            "x": real(vertices, width),
            "source": choice(vertices, edges),
            "to": choice(vertices, edges),
        },
        numpy,
        lambda jax, np: lambda x, source, to: np.zeros_like(x).at[to].add(x[source]),
    )


def pages(vertices: int, edges: int, steps: int) -> Case:
    V, E = tw.params("V E", "V >= 1")
    T = tw.param("T", minimum=1)
    t, v, e = tw.iters("t v e")
    source, to = tw.input("source", [E], tw.int32), tw.input("to", [E], tw.int32)
    share = tw.input("share", [V], tw.float32)
    rank = tw.computation("rank", {t: T, v: V}, dtype=tw.float32)
    terms = tw.sum(rank[t - 1, source[e]] * share[source[e]], over={e: E}, where=to[e] == v)
    rank.define(t == 0, tw.cast(1, tw.float32))
    rank.define(t > 0, tw.cast(0.15, tw.float32) + tw.cast(0.85, tw.float32) * terms)
    y = tw.computation("y", {v: V}, rank[T - 1, v])

    def numpy(source: Array, to: Array, share: Array, T: int) -> Array:
        now = np.ones(len(share), np.float32)
        for _ in range(T - 1):
            sums = np.bincount(to, (now * share)[source], len(share))
            now = (0.15 + 0.85 * sums).astype(np.float32)
        return now

    def jax(jax: Any, np: Any) -> Callable[..., Any]:
        def run(source: Any, to: Any, share: Any, T: int) -> Any:
            def step(_: Any, now: Any) -> Any:
                return 0.15 + 0.85 * np.zeros_like(now).at[to].add((now * share)[source])

            return jax.lax.fori_loop(0, T - 1, step, np.ones_like(share))

        return run

    begin = choice(vertices, edges)
    degree = np.maximum(np.bincount(begin, minlength=vertices), 1)
    return case(
        f"PageRank, {edges} edges, {steps} steps",
        tw.function("pages", outputs=[y], inputs=[source, to, share]),
        {
            "source": begin,
            "to": choice(vertices, edges),
            "share": (1 / degree).astype(np.float32),
            "T": steps + 1,
        },
        numpy,
        jax,
    )


def bilateral(size: int) -> Case:
    H, W = tw.params("H W")
    y, x, r, s = tw.iters("y x r s")
    image = tw.input("image", [H, W], tw.float32)

    def near(r: Any, s: Any) -> Any:
        row = tw.minimum(tw.maximum(y + r, 0), H - 1)
        return image[row, tw.minimum(tw.maximum(x + s, 0), W - 1)]

    def weight(r: Any, s: Any) -> Any:
        apart = near(r, s) - image[y, x]
        return tw.exp(-0.1 * tw.cast(r * r + s * s, tw.float32) - 5.0 * apart * apart)

    window = {r: (-2, 3), s: (-2, 3)}
    sums = tw.sum(weight(r, s) * near(r, s), over=window) / tw.sum(weight(r, s), over=window)
    out = tw.computation("out", {y: H, x: W}, sums)

    def of(np: Any) -> Callable[..., Any]:
        def run(image: Any) -> Any:
            rows, columns = image.shape
            padded = np.pad(image, 2, mode="edge")
            above, below = np.zeros_like(image), np.zeros_like(image)
            for dy in range(5):
                for dx in range(5):
                    near = padded[dy : dy + rows, dx : dx + columns]
                    distance = np.float32(-0.1 * ((dy - 2) ** 2 + (dx - 2) ** 2))
                    weights = np.exp(distance - np.float32(5) * (near - image) ** 2)
                    above, below = above + weights * near, below + weights
            return above / below

        return run

    return case(
        f"bilateral filter {size} x {size}",
        tw.function("bilateral", outputs=[out]),
        {"image": np.abs(real(size, size))},
        of(np),
        lambda jax, np: of(np),
    )


def cases(context: Context) -> Iterator[Case]:
    small = context.quick
    yield experts(*((32, 4, 32) if small else (512, 8, 256)))
    yield bags(*((64, 100, 8, 32) if small else (4096, 50000, 16, 64)))
    yield messages(*((50, 300, 16) if small else (5000, 50000, 64)))
    yield pages(*((50, 300, 5) if small else (5000, 50000, 20)))
    yield bilateral(32 if small else 512)
