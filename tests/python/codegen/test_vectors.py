"""Vector, unrolled and parallel code gives the very values of plain loops: every type, contiguous and
strided, full vectors and rests."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]

EXPRESSIONS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b,
    "modulo": lambda a, b: a % b,
    "minimum": tw.minimum,
    "maximum": tw.maximum,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "choose": lambda a, b: tw.select(a < b, a, b + b),
    "bits": lambda a, b: (a & b) ^ (a | ~b),
    "shift": lambda a, b: (a << 3) + (a >> 1),
    "index": lambda a, b: a + tw.cast(i % 7, tw.int8),
    "narrow": lambda a, b: tw.cast(a * 3, tw.uint8),
    "floor": lambda a, b: tw.floor(a * 0.3) - tw.ceil(b) + tw.trunc(a) * tw.rint(b),
    "root": lambda a, b: tw.sqrt(abs(a)) - b,
    "conjugate": lambda a, b: a * tw.conj(b),
    "parts": lambda a, b: a.real * b.imag,
}
FOR_INTEGERS = [name for name in EXPRESSIONS if name not in ("floor", "conjugate", "parts")]
FOR_FLOATS = [n for n in EXPRESSIONS if n not in ("bits", "shift", "narrow", "conjugate", "parts")]
FOR_COMPLEX = ["add", "multiply", "divide", "equal", "conjugate", "parts"]
CASES = [
    *((dtype, name) for dtype in INTEGERS for name in FOR_INTEGERS),
    *((dtype, name) for dtype in FLOATS for name in FOR_FLOATS),
    *((dtype, name) for dtype in COMPLEX for name in FOR_COMPLEX),
]


def values(dtype: str, count: int) -> np.ndarray:
    generator = np.random.default_rng(11)
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        result = generator.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        result[::5] = generator.integers(0, 4, len(result[::5]))
        return result
    result = generator.normal(0, 8, count)
    if kind == "c":
        result = result + 1j * generator.normal(0, 8, count)
    result = result.astype(dtype)
    if kind == "f":
        result[:4] = [np.nan, np.inf, -np.inf, -0.0]
    return result


def declare(dtype: str, expression) -> tw.Function:
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    c = tw.computation("c", {i: N}, expression(a[i], b[i]))
    return tw.function("f", outputs=[c], inputs=[a, b])


@pytest.mark.parametrize(("dtype", "name"), CASES)
def test_vectors_give_the_values_of_plain_loops(dtype, name):
    expression = EXPRESSIONS[name]
    plain, vector = declare(dtype, expression), declare(dtype, expression)
    vector["c"].vectorize(i, 8)
    everything = values(dtype, 74)
    other = np.roll(everything, 3)
    for a, b in [
        (everything[:37], other[:37]),
        (everything[::2], other[:37]),
        (everything[:37][::-1], other[1:38]),
        (everything[:5], other[:5]),
    ]:
        expected = plain(a, b)
        result = vector(a, b)
        assert result.dtype == expected.dtype
        if np.dtype(dtype).kind == "c":
            # A vector's lanes may fuse a product and a sum, or not, as scalars do.
            np.testing.assert_allclose(result, expected, rtol=1e-5)
        else:
            np.testing.assert_array_equal(result, expected)
        strided = np.zeros(3 * len(expected), expected.dtype)[::3]
        np.testing.assert_array_equal(vector(a, b, out=strided), result)


def test_bfloat16_vectors():
    plain, vector = (declare("bfloat16", lambda a, b: a * b + a) for _ in range(2))
    vector["c"].vectorize(i, 16)
    a = np.linspace(-9, 9, 50).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(vector(a, a[::-1]), plain(a, a[::-1]))


def test_bool_vectors():
    a, b = tw.input("a", [N], tw.bool), tw.input("b", [N], tw.bool)
    c = tw.computation("c", {i: N}, (a[i] & ~b[i]) | (a[i] ^ b[i]))
    f = tw.function("f", outputs=[c], inputs=[a, b])
    c.vectorize(i, 16)
    x = np.random.default_rng(0).random(50) < 0.5
    y = np.roll(x, 7)
    np.testing.assert_array_equal(f(x, y), (x & ~y) | (x ^ y))


FUNCTIONS = ["exp", "log", "sin", "cos", "tanh", "exp2", "log2", "arctan"]


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_vectors(name, dtype, fast_math):
    a = tw.input("a", [N], dtype)
    c = tw.computation("c", {i: N}, getattr(tw, name)(a[i]))
    f = tw.function("f", outputs=[c], fast_math=fast_math)
    c.vectorize(i, 8)
    x = np.linspace(0.1, 5, 43).astype(dtype)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(f(x), getattr(np, name)(x), rtol=8 * eps, atol=4 * eps)


@pytest.mark.parametrize("dtype", ["int32", "float64", "complex128"])
@pytest.mark.parametrize(
    "schedule",
    [
        lambda c: c.vectorize(j, 4),
        lambda c: c.interchange(j, k).vectorize(j, 4),
        lambda c: c.tile(i, j, 3, 8).unroll("i1").vectorize("j1"),
        lambda c: c.interchange(j, k).unroll(k, 4).vectorize(j, 8),
        lambda c: c.tile(i, j, 8, 8).parallelize("i0").unroll(k, 2),
        lambda c: c.unroll(k, 3).unroll(j, 2).unroll(i, 2),
    ],
)
def test_sums_keep_their_order(dtype, schedule):
    """Vectors over the result, not over the sum: the same additions in the same order."""

    def make():
        a, b = tw.input("A", [N, K], dtype), tw.input("B", [K, M], dtype)
        c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
        return tw.function("matmul", outputs=[c])

    plain, scheduled = make(), make()
    schedule(scheduled["C"])
    for n, m, q in [(0, 3, 2), (1, 1, 1), (7, 9, 5), (16, 24, 8), (13, 30, 0)]:
        a, b = (
            values(dtype, n * q + 4)[4:].reshape(n, q),
            values(dtype, q * m + 4)[4:].reshape(q, m),
        )
        result, expected = scheduled(a, b), plain(a, b)
        if dtype == "complex128":
            np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(result, expected)


def test_conditions_in_vectors():
    a = tw.input("a", [N, N], tw.float32)
    c = tw.computation("c", {i: N, j: N}, tw.select((i + j) % 3 == 0, a[i, j], -a[j, i]))
    f = tw.function("f", outputs=[c])
    c.vectorize(j, 8)
    x = np.random.default_rng(0).random((21, 21), dtype=np.float32)
    rows, columns = np.indices(x.shape)
    np.testing.assert_array_equal(f(x), np.where((rows + columns) % 3 == 0, x, -x.T))


def test_triangles_in_vectors():
    a = tw.input("a", [N, N], tw.float32)
    c = tw.computation("c", {i: N, j: N}, a[i, j] + 1, where=j <= i)
    f = tw.function("f", outputs=[c])
    c.vectorize(j, 8)
    for n in (0, 1, 8, 21):
        x = np.random.default_rng(0).random((n, n), dtype=np.float32)
        np.testing.assert_array_equal(f(x), np.tril(x + 1))


@pytest.mark.parametrize("narrow", ["uint8", "int16", "float16", "bfloat16"])
@pytest.mark.parametrize("form", ["widened", "and back", "summed"])
def test_mixed_widths(narrow, form):
    """What is narrow in memory and wide in arithmetic is converted a vector at a time."""
    x = tw.input("x", [N], narrow)
    wide = tw.cast(x[i], tw.float32) * 0.5 + 1
    if form == "summed":
        y = tw.computation("y", {}, tw.sum(wide, over={i: N}))
    else:
        y = tw.computation("y", {i: N}, wide if form == "widened" else tw.cast(wide, narrow))
    f = tw.function("f", outputs=[y])
    y.vectorize("i", 8)
    memory = {"uint8": "i8", "int16": "i16", "float16": "half", "bfloat16": "i16"}[narrow]
    assert f"<8 x {memory}>" in f.llvm and "<8 x float>" in f.llvm
    for count in (0, 1, 7, 8, 37):
        data = np.arange(count).astype(ml_dtypes.bfloat16 if narrow == "bfloat16" else narrow)
        given = f(data) if form != "summed" else f(x=data)
        expected = data.astype(np.float32) * np.float32(0.5) + 1
        if form == "summed":
            np.testing.assert_allclose(given, expected.sum(), rtol=1e-6)
        else:
            np.testing.assert_array_equal(given, expected.astype(given.dtype))
            np.testing.assert_array_equal(given, f.evaluate(data))
