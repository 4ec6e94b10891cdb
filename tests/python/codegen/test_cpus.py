"""Processors: levels of features, their code, and the values it computes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from language.operations import edge_values, functions_of

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

LEVELS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def sum_of_squares(cpu, fast_math=False):
    x = tw.input("x", [N], tw.float32)
    s = tw.computation("s", {}, tw.sum(x[i] * x[i], over={i: N}))
    return tw.function("squares", outputs=[s], fast_math=fast_math, cpu=cpu)


def matmul(cpu, dtype=tw.float32, fast_math=False):
    a = tw.input("A", [N, K], dtype)
    b = tw.input("B", [K, M], dtype)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c], fast_math=fast_math, cpu=cpu)


def runs_here(cpu):
    try:
        sum_of_squares(cpu).compile()
    except ValueError as error:
        assert "cannot run on this machine" in str(error)
        return False
    return True


x86 = pytest.mark.skipif(
    "x86-64" not in sum_of_squares("native").cpu, reason="another architecture"
)
pytestmark = x86


@pytest.fixture(params=LEVELS)
def cpu(request):
    if not runs_here(request.param):
        pytest.skip(f"this machine does not run {request.param}")
    return request.param


def random(*shape, dtype=np.float32):
    return np.random.default_rng(7).integers(-50, 50, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16"])
def test_tiled_products(cpu, dtype):
    f = matmul(cpu, getattr(tw, dtype))
    f["C"].tile(i, j, 4, 16).interchange("i1", k).vectorize("j1", 16).unroll("i1")
    a = np.random.default_rng(1).integers(-3, 4, (9, 7)).astype(dtype)
    b = np.random.default_rng(2).integers(-3, 4, (7, 37)).astype(dtype)
    np.testing.assert_array_equal(f(a, b), a @ b)
    np.testing.assert_array_equal(f(a, b), f.evaluate(a, b))


def test_reductions_and_fast_math(cpu):
    x = random(1003)
    for fast_math in (False, True):
        np.testing.assert_allclose(sum_of_squares(cpu, fast_math)(x), (x * x).sum(), rtol=1e-6)


def functions_of_elements(dtype, size, cpu, lanes):
    """All operations on pairs of elements of one type, so many at a time."""
    a, b = (tw.input(name, [size], getattr(tw, dtype)) for name in "ab")
    outputs = []
    for count, arguments in ((1, (a[i],)), (2, (a[i], b[i]))):
        for name, function in functions_of(count).items():
            try:
                outputs.append(tw.computation(f"r_{name}", {i: size}, function(*arguments)))
            except tw.DeclarationTypeError:
                continue  # not defined on this type
    f = tw.function("f", outputs=outputs, cpu=cpu)
    if lanes > 1:
        for output in outputs:
            output.vectorize(i, lanes)
    return f


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "int32", "int64", "uint64", "float16", "float64"]
)
def test_functions_of_elements(cpu, dtype):
    """The very bits of one lane on the simplest processor, but those of NaN and of the sign of zero."""
    values = edge_values(getattr(tw, dtype))
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    wanted = functions_of_elements(dtype, a.size, "x86-64", 1)
    found = functions_of_elements(dtype, a.size, cpu, 8)
    for output, own, right in zip(found.outputs, found(a, b), wanted(a, b), strict=True):
        np.testing.assert_array_equal(own, right, err_msg=str(output))


def test_conversions_selects_and_gathers(cpu):
    image = tw.input("image", [N, M], tw.uint8)
    table = tw.input("table", [256], tw.float16)
    bright = tw.computation(
        "bright",
        {i: N, j: M},
        tw.select(image[i, j] > 100, tw.cast(image[i, j], tw.float32) * 0.5, table[image[i, j]]),
    )
    f = tw.function("bright", inputs=[image, table], outputs=[bright], cpu=cpu)
    f["bright"].vectorize(j, 16)
    pixels = np.random.default_rng(0).integers(0, 256, (5, 77), np.uint8)
    values = np.linspace(-2, 2, 256).astype(np.float16)
    expected = np.where(pixels > 100, pixels * np.float32(0.5), values[pixels])
    np.testing.assert_array_equal(f(pixels, values), expected)


def test_narrow_integers_and_booleans(cpu):
    a, b = (tw.input(name, [N], tw.int8) for name in "ab")
    c = tw.computation("c", {i: N}, tw.minimum(a[i], b[i]) // 3 + tw.maximum(a[i], b[i]) % 5)
    d = tw.computation("d", {i: N}, (a[i] > b[i]) | (a[i] == 0))
    f = tw.function("narrow", inputs=[a, b], outputs=[c, d], cpu=cpu)
    f["c"].vectorize(i, 32)
    f["d"].vectorize(i, 32)
    x, y = random(100, dtype=np.int8), random(200, dtype=np.int8)[100:]
    quotient, comparison = f(x, y)
    np.testing.assert_array_equal(quotient, np.minimum(x, y) // 3 + np.maximum(x, y) % 5)
    np.testing.assert_array_equal(comparison, (x > y) | (x == 0))


def test_functions_and_roundings(cpu):
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, tw.sqrt(tw.abs(x[i])) + tw.floor(x[i] / 3) - tw.ceil(x[i] / 7))
    z = tw.computation("z", {i: N}, tw.exp(x[i] / 50))
    f = tw.function("functions", outputs=[y, z], cpu=cpu)
    f["y"].vectorize(i, 8)
    f["z"].vectorize(i, 8)
    v = random(45, dtype=np.float64)
    first, second = f(v)
    np.testing.assert_array_equal(first, np.sqrt(np.abs(v)) + np.floor(v / 3) - np.ceil(v / 7))
    np.testing.assert_allclose(second, np.exp(v / 50), rtol=1e-14)


def test_stencils_in_parallel(cpu):
    a = tw.input("A", [N + 2, M + 2], tw.float32)
    c = tw.computation(
        "C",
        {i: N, j: M},
        a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2] - 4 * a[i + 1, j + 1],
    )
    f = tw.function("laplace", outputs=[c], cpu=cpu)
    f["C"].parallelize(i).vectorize(j, 8)
    x = random(23, 45)
    inner = x[1:-1, 1:-1]
    expected = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * inner
    np.testing.assert_array_equal(f(x), expected)


def registers(text):
    return {name for name in ("xmm", "ymm", "zmm") if re.search(rf"%{name}\d", text)}


def test_code_uses_the_registers_of_its_level():
    """Also of levels that this machine does not run: code is made, not called."""
    seen = {}
    for level in LEVELS:
        f = matmul(level)
        f["C"].interchange(j, k).vectorize(j, 16)
        seen[level] = registers(f.asm)
    assert seen["x86-64"] == seen["x86-64-v2"] == {"xmm"}
    assert "ymm" in seen["x86-64-v3"] and "zmm" not in seen["x86-64-v3"]
    assert "zmm" in seen["x86-64-v4"]


def test_sixteen_lanes_are_one_register_where_there_is_one():
    f = matmul("x86-64-v4", fast_math=True)
    f["C"].interchange(j, k).vectorize(j, 16)
    assert re.search(r"vfmadd\d+ps.*%zmm", f.asm)
    g = matmul("x86-64-v3", fast_math=True)
    g["C"].interchange(j, k).vectorize(j, 8)
    assert re.search(r"vfmadd\d+ps.*%ymm", g.asm)


def test_native_is_a_level():
    text = sum_of_squares("native").cpu
    assert text.split(",")[0] in LEVELS
    known = {"+avx512bf16", "+avx512fp16", "+avx512vbmi", "+avx512vnni", "+avxvnni"}
    assert set(text.split(",")[1:]) <= known
    assert sum_of_squares("x86-64-v3").cpu == "x86-64-v3"


def test_levels_have_their_own_kernels_and_copies_keep_theirs():
    kernels = {sum_of_squares(level).compile()["key"] for level in LEVELS if runs_here(level)}
    assert len(kernels) == sum(runs_here(level) for level in LEVELS)
    f = sum_of_squares("x86-64-v2")
    assert f.copy().cpu == f.cpu
    assert f.copy().compile()["key"] == f.compile()["key"]


def test_processors_that_cannot_be():
    with pytest.raises(ValueError, match="unknown CPU 'pentagon-9'"):
        sum_of_squares("pentagon-9")
    with pytest.raises(TypeError, match="cpu must be a string"):
        sum_of_squares(3)
    f = sum_of_squares("bdver1")  # has what no other family ever had
    assert "squares" in f.llvm
    with pytest.raises(ValueError, match="cannot run on this machine"):
        f(random(10))
