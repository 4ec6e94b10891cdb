"""Programs as they are written down, without a command, beside the same by hand, NumPy and JAX.

"By hand" has every reduction in a computation of its own and the commands that made it fastest: what a
person gets who knows the library. The goal is to be within 5 % of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Programs written the natural way"
THREADS = (1, 2)

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(0)
N, M, K, D = tw.params("N M K D")
i, j, k, d, e = tw.iters("i j k d e")


def random(*shape: int) -> Array:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def matrix(name: str, rows: Any, columns: Any) -> tw.Input:
    return tw.input(name, [rows, columns], tw.float32)


def jax_of(function: Callable[[Any, Any], Callable[..., Any]], *arrays: Array) -> Any:
    """A function of jax.numpy, compiled, on arrays that it has already; or `Missing`."""
    jax = peers.module("jax")
    if isinstance(jax, Missing):
        return jax
    compiled = jax.jit(function(jax, jax.numpy))
    there = [jax.numpy.asarray(array) for array in arrays]
    return lambda: compiled(*there).block_until_ready()


def both(name: str, **options: Any) -> tuple[tw.Function, tw.Function]:
    """A function, and the same with fast_math."""
    return tw.function(name, **options), tw.function(f"{name}_fast", fast_math=True, **options)


def case(
    name: str,
    natural: tuple[tw.Function, tw.Function],
    hand: tw.Function | None,
    arrays: tuple[Array, ...],
    numpy: Callable[..., Array],
    jax: Callable[[Any, Any], Callable[..., Any]],
    scale: float,
    exact: bool = False,
) -> Case:
    """One program; `scale` is how large its values are, `exact`: all values are the same.

    "with fast_math" is the same program and schedule where multiplications may be fused with
    additions, as they are by JAX and NumPy's library. It is not the default, since sums would depend
    on what the processor has.
    """
    ours, fast = natural
    out, quick = ours(*arrays), fast(*arrays)
    peers: dict[str, Callable[[], Any] | Missing] = {}
    if hand is not None:
        other = hand(*arrays)
        peers["by hand"] = lambda: hand(*arrays, out=other)
    peers["with fast_math"] = lambda: fast(*arrays, out=quick)
    peers["NumPy"] = lambda: numpy(*arrays)
    peers["JAX"] = jax_of(jax, *arrays)

    def close(got: Any, expected: Any) -> None:
        if exact:
            np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-4, atol=1e-5 * scale)

    return Case(
        name,
        ours=lambda: ours(*arrays, out=out),
        peers=peers,
        compare=close,
        goals={"by hand": 0.95, "JAX": 1.0},
    )


# ---- products with something behind them ----


def bias_relu(n: int) -> Case:
    A, B, b = matrix("A", N, K), matrix("B", K, M), tw.input("b", [M], tw.float32)
    C = tw.computation(
        "C", {i: N, j: M}, tw.maximum(tw.sum(A[i, k] * B[k, j], over={k: K}) + b[j], 0)
    )
    natural = both("bias_relu", outputs=[C], inputs=[A, B, b])
    S = tw.computation("S", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    R = tw.computation("R", {i: N, j: M}, tw.maximum(S[i, j] + b[j], 0))
    hand = tw.function("bias_relu_by_hand", outputs=[R], inputs=[A, B, b])
    hand.default_schedule.apply_to(hand)
    return case(
        f"relu(A @ B + b) {n}",
        natural,
        hand,
        (random(n, n), random(n, n), random(n)),
        lambda a, b, v: np.maximum(a @ b + v, 0),
        lambda _, np: lambda a, b, v: np.maximum(a @ b + v, 0),
        n,
    )


def chain(n: int) -> Case:
    A, B, C = matrix("A", N, K), matrix("B", K, M), matrix("C", M, D)
    product = tw.sum(A[i, k] * B[k, j], over={k: K})
    P = tw.computation("P", {i: N, d: D}, tw.sum(1.5 * product * C[j, d], over={j: M}))
    natural = both("chain", outputs=[P], inputs=[A, B, C])
    S = tw.computation("S", {i: N, j: M}, tw.sum(1.5 * A[i, k] * B[k, j], over={k: K}))
    Q = tw.computation("Q", {i: N, d: D}, tw.sum(S[i, j] * C[j, d], over={j: M}))
    hand = tw.function("chain_by_hand", outputs=[Q], inputs=[A, B, C])
    hand.default_schedule.apply_to(hand)
    return case(
        f"(1.5 * A @ B) @ C {n}",
        natural,
        hand,
        (random(n, n), random(n, n), random(n, n)),
        lambda a, b, c: (1.5 * a @ b) @ c,
        lambda _, np: lambda a, b, c: (1.5 * a @ b) @ c,
        n**1.5,
    )


# ---- rows ----


def softmax(n: int) -> Case:
    x = matrix("x", N, M)
    largest, also = (tw.max(x[i, r], over={r: M}) for r in (d, e))
    exponentials = tw.sum(tw.exp(x[i, k] - also), over={k: M})
    y = tw.computation("y", {i: N, j: M}, tw.exp(x[i, j] - largest) / exponentials)
    natural = both("softmax", outputs=[y])
    m = tw.computation("m", {i: N}, tw.max(x[i, k], over={k: M}))
    s = tw.computation("s", {i: N}, tw.sum(tw.exp(x[i, k] - m[i]), over={k: M}))
    z = tw.computation("z", {i: N, j: M}, tw.exp(x[i, j] - m[i]) / s[i])
    hand = tw.function("softmax_by_hand", outputs=[z])
    by_rows(hand, z, (m, s))

    def numpy(x: Array) -> Array:
        y = np.exp(x - x.max(1, keepdims=True))
        return np.asarray(y / y.sum(1, keepdims=True))

    jax = lambda jax, _: lambda x: jax.nn.softmax(x, axis=1)  # noqa: E731
    return case(f"softmax {n}", natural, hand, (random(n, n),), numpy, jax, 1)


def layer_norm(n: int) -> Case:
    x, g = matrix("x", N, M), tw.input("g", [M], tw.float32)
    size = tw.cast(M, tw.float32)
    mean = tw.sum(x[i, k], over={k: M}) / size
    also = tw.sum(x[i, e], over={e: M}) / size
    variance = tw.sum((x[i, d] - also) ** 2, over={d: M}) / size
    y = tw.computation("y", {i: N, j: M}, (x[i, j] - mean) / tw.sqrt(variance + 1e-5) * g[j])
    natural = both("layer_norm", outputs=[y], inputs=[x, g])
    m = tw.computation("m", {i: N}, tw.sum(x[i, k], over={k: M}) / size)
    v = tw.computation(
        "v", {i: N}, tw.sqrt(tw.sum((x[i, k] - m[i]) ** 2, over={k: M}) / size + 1e-5)
    )
    z = tw.computation("z", {i: N, j: M}, (x[i, j] - m[i]) / v[i] * g[j])
    hand = tw.function("layer_norm_by_hand", outputs=[z], inputs=[x, g])
    by_rows(hand, z, (m, v))

    def numpy(x: Array, g: Array) -> Array:
        centred = x - x.mean(1, keepdims=True)
        return np.asarray(centred / np.sqrt(np.mean(centred**2, 1, keepdims=True) + 1e-5) * g)

    def jax(_: Any, np: Any) -> Any:
        return lambda x, g: (
            (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g
        )

    return case(f"layer norm {n}", natural, hand, (random(n, n), random(n)), numpy, jax, 1)


def by_rows(f: tw.Function, result: tw.Computation, of_rows: tuple[tw.Computation, ...]) -> None:
    """A row after the other: what is computed of a row is computed while the row is in a cache."""
    for computation in reversed(of_rows):  # the last one reads the first
        computation.compute_at(result, i)
        computation.vectorize(k, 16)
    result.vectorize(j, 16).parallelize(i)


def attention(n: int) -> Case:
    Q, keys, V = matrix("Q", N, D), matrix("keys", M, D), matrix("V", M, D)

    def weight(column: Any) -> Any:
        return tw.sum(Q[i, d] * keys[column, d], over={d: D}) * 0.125

    exponential = tw.exp(weight(j) - tw.max(weight(k), over={k: M}))
    total = tw.sum(exponential, over={j: M})
    O = tw.computation("O", {i: N, e: D}, tw.sum(exponential * V[j, e], over={j: M}) / total)
    natural = both("attention", outputs=[O], inputs=[Q, keys, V])
    S = tw.computation("S", {i: N, j: M}, tw.sum(Q[i, d] * keys[j, d], over={d: D}))
    m = tw.computation("m", {i: N}, tw.max(S[i, k] * 0.125, over={k: M}))
    P = tw.computation("P", {i: N, j: M}, tw.exp(S[i, j] * 0.125 - m[i]))
    s = tw.computation("s", {i: N}, tw.sum(P[i, j], over={j: M}))
    R = tw.computation("R", {i: N, e: D}, tw.sum(P[i, j] * V[j, e], over={j: M}) / s[i])
    hand = tw.function("attention_by_hand", outputs=[R], inputs=[Q, keys, V])
    hand.default_schedule.apply_to(hand)

    def numpy(q: Array, keys: Array, v: Array) -> Array:
        weights = q @ keys.T * np.float32(0.125)
        weights = np.exp(weights - weights.max(1, keepdims=True))
        return np.asarray(weights @ v / weights.sum(1, keepdims=True))

    def jax(jax: Any, np: Any) -> Any:
        return lambda q, keys, v: jax.nn.softmax(q @ keys.T * 0.125, axis=1) @ v

    arrays = random(n, 64), random(n, 64), random(n, 64)
    return case(f"attention {n} x 64", natural, hand, arrays, numpy, jax, 1)


# ---- convolution ----


def convolution(channels: int, size: int) -> Case:
    C, F, H, W = tw.params("C F H W")
    f, y, x, c, r, s = tw.iters("f y x c r s")
    X = tw.input("X", [C, H, W], tw.float32)
    w = tw.input("w", [F, C, 3, 3], tw.float32)
    b = tw.input("b", [F], tw.float32)
    inside = (y + r >= 1) & (y + r < H + 1) & (x + s >= 1) & (x + s < W + 1)
    padded = tw.select(inside, X[c, y + r - 1, x + s - 1], 0)
    over: dict[tw.Iterator, Any] = {c: C, r: 3, s: 3}
    total = tw.sum(w[f, c, r, s] * padded, over=over)
    Y = tw.computation("Y", {f: F, y: H, x: W}, tw.maximum(total + b[f], 0))
    natural = both("convolution", outputs=[Y], inputs=[X, w, b])
    here = (y >= 1) & (y < H + 1) & (x >= 1) & (x < W + 1)
    P = tw.computation("P", {c: C, y: H + 2, x: W + 2}, tw.select(here, X[c, y - 1, x - 1], 0))
    Z = tw.computation(
        "Z",
        {f: F, y: H, x: W},
        tw.maximum(tw.sum(w[f, c, r, s] * P[c, y + r, x + s], over=over) + b[f], 0),
    )
    hand = tw.function("convolution_by_hand", outputs=[Z], inputs=[X, w, b])
    Z.split(f, 4).split(x, 32)
    Z.reorder("f0", y, "x0", c, r, s, "f1", "x1")
    Z.unroll("f1", 4).vectorize("x1", 16).parallelize("f0")
    P.vectorize(x, 16).parallelize(c)

    def numpy(image: Array, weights: Array, bias: Array) -> Array:
        wide = np.pad(image, ((0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
        found = np.tensordot(weights, windows, ((1, 2, 3), (0, 3, 4)))
        return np.asarray(np.maximum(found + bias[:, None, None], 0))

    def jax(jax: Any, np: Any) -> Any:
        return lambda image, weights, bias: np.maximum(
            jax.lax.conv(image[None], weights, (1, 1), "SAME")[0] + bias[:, None, None], 0
        )

    arrays = random(channels, size, size), random(channels, channels, 3, 3), random(channels)
    name = f"relu(conv 3x3 + b) {channels} x {size} x {size}"
    return case(name, natural, hand, arrays, numpy, jax, channels)


def convolution_nhwc(channels: int, size: int, window: int) -> Case:
    """Channels last, not padded."""
    C, F, H, W = tw.params("C F H W")
    f, y, x, c, r, s = tw.iters("f y x c r s")
    X = tw.input("X", [H + window - 1, W + window - 1, C], tw.float32)
    w = tw.input("w", [window, window, C, F], tw.float32)
    terms = X[y + r, x + s, c] * w[r, s, c, f]
    over: dict[tw.Iterator, Any] = {r: window, s: window, c: C}
    Y = tw.computation("Y", {y: H, x: W, f: F}, tw.sum(terms, over=over))
    natural = both("convolution_nhwc", outputs=[Y], inputs=[X, w])

    def numpy(image: Array, weights: Array) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(image, (window, window), (0, 1))
        return np.asarray(np.tensordot(windows, weights, ((3, 4, 2), (0, 1, 2))))

    def jax(jax: Any, np: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return lambda image, weights: jax.lax.conv_general_dilated(
            image[None], weights, (1, 1), "VALID", dimension_numbers=layout
        )[0]

    edge = size + window - 1
    arrays = random(edge, edge, channels), random(window, window, channels, channels)
    name = f"conv {window}x{window} NHWC {channels} x {size} x {size}"
    return case(name, natural, None, arrays, numpy, jax, channels)


def depthwise(channels: int, size: int) -> Case:
    """3 x 3, a filter for each channel, channels last."""
    C, H, W = tw.params("C H W")
    y, x, c, r, s = tw.iters("y x c r s")
    X = tw.input("X", [H + 2, W + 2, C], tw.float32)
    w = tw.input("w", [3, 3, C], tw.float32)
    Y = tw.computation(
        "Y", {y: H, x: W, c: C}, tw.sum(X[y + r, x + s, c] * w[r, s, c], over={r: 3, s: 3})
    )
    natural = both("depthwise", outputs=[Y], inputs=[X, w])

    def numpy(image: Array, weights: Array) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (0, 1))
        return np.asarray(np.einsum("yxcrs,rsc->yxc", windows, weights))

    def jax(jax: Any, np: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return lambda image, weights: jax.lax.conv_general_dilated(
            image[None],
            weights[:, :, None, :],
            (1, 1),
            "VALID",
            dimension_numbers=layout,
            feature_group_count=channels,
        )[0]

    arrays = random(size + 2, size + 2, channels), random(3, 3, channels)
    name = f"depthwise 3x3 {channels} x {size} x {size}"
    return case(name, natural, None, arrays, numpy, jax, 3)


# ---- other contractions and rows ----


def batched(count: int, n: int) -> Case:
    T, t = tw.param("T"), tw.iter("t")
    A, B = tw.input("A", [T, N, K], tw.float32), tw.input("B", [T, K, M], tw.float32)
    C = tw.computation("C", {t: T, i: N, j: M}, tw.sum(A[t, i, k] * B[t, k, j], over={k: K}))
    natural = both("batched", outputs=[C], inputs=[A, B])
    return case(
        f"batch of {count} products {n}",
        natural,
        None,
        (random(count, n, n), random(count, n, n)),
        np.matmul,
        lambda _, np: np.matmul,
        n,
    )


def three_factors(n: int) -> Case:
    """The sum of three factors, of which none is as large as the result."""
    A, B, v = matrix("A", N, K), matrix("B", M, K), tw.input("v", [K], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * v[k] * B[j, k], over={k: K}))
    natural = both("three_factors", outputs=[C], inputs=[A, B, v])
    return case(
        f"einsum ik,jk,k->ij {n}",
        natural,
        None,
        (random(n, n), random(n, n), random(n)),
        lambda a, b, v: (a * v) @ b.T,
        lambda _, np: lambda a, b, v: np.einsum("ik,jk,k->ij", a, b, v),
        n,
    )


def log_softmax(n: int) -> Case:
    x = matrix("x", N, M)
    largest, also = (tw.max(x[i, r], over={r: M}) for r in (d, e))
    total = tw.log(tw.sum(tw.exp(x[i, k] - also), over={k: M}))
    y = tw.computation("y", {i: N, j: M}, x[i, j] - largest - total)
    natural = both("log_softmax", outputs=[y])

    def numpy(x: Array) -> Array:
        centred = x - x.max(1, keepdims=True)
        return np.asarray(centred - np.log(np.exp(centred).sum(1, keepdims=True)))

    jax = lambda jax, _: lambda x: jax.nn.log_softmax(x, axis=1)  # noqa: E731
    return case(f"log-softmax {n}", natural, None, (random(n, n),), numpy, jax, 10)


def rms_norm(n: int) -> Case:
    x, g = matrix("x", N, M), tw.input("g", [M], tw.float32)
    mean = tw.sum(x[i, k] ** 2, over={k: M}) / tw.cast(M, tw.float32)
    y = tw.computation("y", {i: N, j: M}, x[i, j] / tw.sqrt(mean + 1e-5) * g[j])
    natural = both("rms_norm", outputs=[y], inputs=[x, g])

    def numpy(x: Array, g: Array) -> Array:
        return np.asarray(x / np.sqrt(np.mean(x**2, 1, keepdims=True) + 1e-5) * g)

    def jax(_: Any, np: Any) -> Any:
        return lambda x, g: x / np.sqrt(np.mean(x**2, 1, keepdims=True) + 1e-5) * g

    return case(f"RMS norm {n}", natural, None, (random(n, n), random(n)), numpy, jax, 1)


# ---- folds ----


def argmax_of_rows(n: int) -> Case:
    x = matrix("x", N, M)
    y = tw.computation("y", {i: N}, tw.argmax(x[i, k], over={k: M}))
    natural = both("argmax_of_rows", outputs=[y])
    jax = lambda _, np: lambda x: np.argmax(x, axis=1)  # noqa: E731
    numpy = lambda x: x.argmax(axis=1)  # noqa: E731
    return case(f"argmax of rows {n}", natural, None, (random(n, n),), numpy, jax, 1, exact=True)


def argmax_of_a_matrix(n: int) -> Case:
    x = matrix("x", N, M)
    row, column = tw.argmax(x[i, k], over={i: N, k: M})
    y = tw.computation("y", {d: 1}, row * M + column)
    natural = both("argmax_of_a_matrix", outputs=[y])
    jax = lambda _, np: lambda x: np.argmax(x)[None]  # noqa: E731
    numpy = lambda x: np.asarray([x.argmax()])  # noqa: E731
    return case(f"argmax of all {n}", natural, None, (random(n, n),), numpy, jax, 1, exact=True)


def welford(n: int, associative: bool) -> Case:
    """The variance of rows in one pass: in order, or by merging what parts of a row came to."""
    x = matrix("x", N, M)

    def add(mean: Any, squares: Any, count: Any, value: Any) -> Any:
        change = value - mean
        mean = mean + change / (count + 1)
        return mean, squares + change * (value - mean), count + 1

    def merge(mean: Any, squares: Any, count: Any, mean2: Any, squares2: Any, count2: Any) -> Any:
        total = count + count2
        share = count2 / tw.maximum(total, 1)
        change = mean2 - mean
        return mean + change * share, squares + squares2 + change * change * count * share, total

    zero, one = tw.cast(0, tw.float32), tw.cast(1, tw.float32)
    of = (x[i, k], zero, one) if associative else x[i, k]
    _, squares, count = tw.fold(
        merge if associative else add, (zero, zero, zero), of, over={k: M}, associative=associative
    )
    y = tw.computation("y", {i: N}, squares / count)
    natural = both("welford", outputs=[y])
    jax = lambda _, np: lambda x: np.var(x, axis=1)  # noqa: E731
    name = f"variance of rows, {'associative' if associative else 'in order'} {n}"
    return case(name, natural, None, (random(n, n),), lambda x: x.var(axis=1), jax, 1)


def cases(context: Context) -> Iterator[Case]:
    for n in (64,) if context.quick else (256, 1024):
        yield bias_relu(n)
        yield chain(n)
        yield attention(n)
        yield three_factors(n)
    for n in (64,) if context.quick else (512, 2048):
        yield softmax(n)
        yield log_softmax(n)
        yield layer_norm(n)
        yield rms_norm(n)
        yield argmax_of_rows(n)
        yield argmax_of_a_matrix(n)
        yield welford(n, False)
        yield welford(n, True)
    yield batched(*((4, 16) if context.quick else (64, 64)))
    channels, size = (4, 16) if context.quick else (32, 64)
    yield convolution(channels, size)
    yield convolution_nhwc(channels, size, 3)
    yield convolution_nhwc(channels, size, 1)
    yield depthwise(channels, size)
