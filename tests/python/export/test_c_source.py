"""C source of functions of many kinds: compiled by the machine's C compilers and called, it gives the
bits of the compiled function."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS, CompiledC, check
from language.operations import edge_values, functions_of
from tilewright.language.expressions import ALL_TYPES

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")

N, M, K = tw.params("N M K")
i, j, k, t = tw.iters("i j k t")


pytestmark = [pytestmark, pytest.mark.filterwarnings("ignore:.*in cast:RuntimeWarning")]


def sizes(**named):
    return {name: np.int64(value) for name, value in named.items()}


def product(dtype=tw.float32, name="product", **options):
    A = tw.input("A", [N, K], dtype)
    B = tw.input("B", [K, M], dtype)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    return tw.function(name, outputs=[C], **options)


def factors(n, m, depth, dtype=np.float32):
    rng = np.random.default_rng(n + m + depth)
    return {
        "A": rng.standard_normal((n, depth)).astype(dtype),
        "B": rng.standard_normal((depth, m)).astype(dtype),
        **sizes(N=n, M=m, K=depth),
    }


# ---- operations ----


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_every_function_of_one_argument(dtype, tmp_path):
    a = tw.input("a", [N], dtype)
    outputs = []
    for name, function in {**functions_of(1)}.items():
        try:
            outputs.append(tw.computation(f"y_{name}", {i: N}, function(a[i])))
        except tw.DeclarationTypeError:
            continue
    values = edge_values(dtype)
    f = tw.function("unary", outputs=outputs, default_schedule=False)
    check(f, tmp_path, COMPILERS[:1], a=values, N=len(values))


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_every_function_of_two_arguments(dtype, tmp_path):
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    outputs = []
    for name, function in functions_of(2).items():
        try:
            outputs.append(tw.computation(f"y_{name}", {i: N}, function(a[i], b[i])))
        except tw.DeclarationTypeError:
            continue
    values = edge_values(dtype)
    left, right = np.repeat(values, len(values)), np.tile(values, len(values))
    f = tw.function("binary", outputs=outputs, default_schedule=False)
    check(f, tmp_path, COMPILERS[:1], a=left, b=right, N=len(left))


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_every_conversion(dtype, tmp_path):
    a = tw.input("a", [N], dtype)
    outputs = [
        tw.computation(f"to_{to.name}", {i: N}, tw.cast(a[i], to))
        for to in ALL_TYPES
        if to != dtype
    ]
    f = tw.function("conversions", outputs=outputs, default_schedule=False)
    values = edge_values(dtype)
    check(f, tmp_path, COMPILERS[:1], a=values, N=len(values))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32"])
def test_nothing_is_undefined(dtype, tmp_path, capfd):
    """GCC's checker of undefined behaviour sees no operation that C leaves open."""
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    outputs = []
    for name, function in functions_of(2).items():
        try:
            outputs.append(tw.computation(f"y_{name}", {i: N}, function(a[i], b[i])))
        except tw.DeclarationTypeError:
            continue
    outputs += [tw.computation(f"to_{to}", {i: N}, tw.cast(a[i], to)) for to in ("int32", "uint8")]
    f = tw.function("defined", outputs=outputs, default_schedule=False)
    values = edge_values(dtype)
    left, right = np.repeat(values, len(values)), np.tile(values, len(values))
    try:
        compiled = CompiledC(f, tmp_path, COMPILERS[0], "-fsanitize=undefined", "-w")
    except (AssertionError, OSError) as error:
        pytest.skip(f"no checker of undefined behaviour here: {str(error)[:200]}")
    assert compiled(a=left, b=right, N=len(left))[1] == 0
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.parametrize("dtype", [tw.float16, tw.bfloat16], ids=str)
def test_every_number_of_two_bytes(dtype, tmp_path):
    """All of them through memory, and roundings of floats near all of them."""
    a, x, y = (
        tw.input("a", [N], dtype),
        tw.input("x", [M], tw.float32),
        tw.input("y", [M], "float64"),
    )
    outputs = [
        tw.computation("negative", {i: N}, -a[i]),
        tw.computation("wide", {i: N}, tw.cast(a[i], tw.float64)),
        tw.computation("from_float", {j: M}, tw.cast(x[j], dtype)),
        tw.computation("from_double", {j: M}, tw.cast(y[j], dtype)),
    ]
    f = tw.function("narrow", inputs=[a, x, y], outputs=outputs)
    every = np.arange(2**16, dtype=np.uint16)
    numbers = every.view(np.float16 if dtype == tw.float16 else tw.bfloat16)
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint32)
    near = (rng.integers(0, 2**16, 200_000) << 13).astype(np.uint32) + 0x33000000  # ties of float16
    floats = np.concatenate([bits, near]).view(np.float32)
    doubles = floats.astype(np.float64) * (1 + rng.integers(-1, 2, floats.size) * 2.0**-40)
    with np.errstate(all="ignore"):
        check(f, tmp_path, COMPILERS[:1], a=numbers, x=floats, y=doubles, N=2**16, M=floats.size)


@pytest.mark.parametrize("dtype", [tw.float32, tw.float64], ids=str)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_elementary_functions_on_many_numbers(dtype, compiler, tmp_path):
    names = "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh".split()
    names += "arcsinh arccosh arctanh erf cbrt sqrt".split()
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    outputs = [tw.computation(f"y_{n}", {i: N}, getattr(tw, n)(a[i])) for n in names]
    outputs += [
        tw.computation("y_power", {i: N}, tw.abs(a[i]) ** b[i]),
        tw.computation("y_arctan2", {i: N}, tw.arctan2(a[i], b[i])),
        tw.computation("y_hypot", {i: N}, tw.hypot(a[i], b[i])),
    ]
    f = tw.function("elementary", inputs=[a, b], outputs=outputs)
    numpy = np.dtype(str(dtype))
    rng = np.random.default_rng(3)
    usual = rng.standard_normal(20_000) * 10.0 ** rng.integers(-3, 3, 20_000)
    wide = rng.integers(0, 2 ** (8 * numpy.itemsize), 20_000, dtype=np.dtype(f"u{numpy.itemsize}"))
    with np.errstate(all="ignore"):
        values = np.concatenate([usual.astype(numpy), wide.view(numpy)])
    check(f, tmp_path, [compiler], a=values, b=np.roll(values, 1), N=len(values))


# ---- schedules ----


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [(), ("-fopenmp",)], ids=["serial", "threads"])
def test_product_with_a_schedule(compiler, flags, tmp_path):
    f = product()
    f["C"].tile(i, j, 16, 16).parallelize("i0").vectorize("j1", 8)
    for n, m, depth in ((100, 70, 33), (17, 5, 0), (0, 4, 4)):
        given = factors(n, m, depth)
        check(f, tmp_path, [compiler], flags, **given)
        np.testing.assert_allclose(f(**given), given["A"] @ given["B"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("schedule", [True, False], ids=["default", "declared"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int64", "complex64"])
def test_product_of_nobodys_schedule(dtype, schedule, tmp_path):
    f = product(dtype, default_schedule=schedule)
    given = factors(60, 70, 40)
    for name in "AB":
        given[name] = (given[name] * 4).astype(dtype)
    check(f, tmp_path, COMPILERS[:1], ("-fopenmp",), **given)


SCHEDULES = {
    "packed": lambda f: f["C"].tile(i, j, 8, 8).cache("B", "j0", order=[1, 0]),
    "registers": lambda f: (
        f["C"].tile(i, j, 4, 16).unroll("i1").vectorize("j1"),
        f["C"].cache("C", "j0", memory="registers").reorder(k, "i1", "j1"),
    ),
    "heap": lambda f: f["C"].tile(i, j, 8, 8).parallelize("i0").cache("A", "i0", memory="heap"),
    "dynamic": lambda f: f["C"].parallelize(i, schedule="dynamic", chunk=3),
    "joined": lambda f: f["C"].parallelize(i, j),
    "split": lambda f: f["C"].split(k, 7).interchange("k0", j),
    "skewed": lambda f: f["C"].skew(i, j, 2),
    "reversed": lambda f: f["C"].reverse(i).reverse(j),
    "rows_unrolled": lambda f: f["C"].split(i, 4).unroll("i1"),
    "vector_sum": lambda f: f["C"].vectorize(k, 8),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_of_a_product(name, tmp_path):
    f = product(tw.int32)
    try:
        SCHEDULES[name](f)
    except tw.ScheduleError as error:
        pytest.fail(f"{name}: {error}")
    given = factors(37, 29, 23)
    for each in "AB":
        given[each] = (given[each] * 100).astype(np.int32)
    check(f, tmp_path, COMPILERS, ("-fopenmp",), **given)


@pytest.mark.parametrize("inner", ["parallelize", "vectorize", "unroll"])
def test_loops_within_lanes(inner, tmp_path):
    x = tw.input("x", [N, M], tw.float32)
    y = tw.computation("y", {i: N, j: M}, x[i, j] * 2 + i)
    f = tw.function("within_lanes", outputs=[y], default_schedule=False)
    getattr(y.vectorize(i, 4), inner)(j, *([] if inner == "parallelize" else [2]))
    x_values = np.random.default_rng(1).standard_normal((7, 5)).astype(np.float32)
    check(f, tmp_path, COMPILERS, ("-fopenmp",), x=x_values)


def test_parts_of_a_sum(tmp_path):
    x = tw.input("x", [N], tw.float64)
    S = tw.computation("S", {}, tw.sum(x[k], over={k: N}))
    f = tw.function("parts", outputs=[S])
    S.split(k, 16)
    parts = f["S"].rfactor("k0")
    parts.parallelize("k0")
    check(f, tmp_path, x=np.arange(100.0) / 8, N=100)


def test_stages_with_temporaries(tmp_path):
    """A temporary of the whole function, numbers in and out, a condition on sizes."""
    x, a = tw.input("x", [N], tw.float64), tw.input("a", [], tw.float32)
    z, h = tw.input("z", [], tw.complex64), tw.input("h", [], tw.float16)
    T = tw.computation("T", {i: N}, x[i] * a + tw.real(z) - h)
    Y = tw.computation("Y", {i: (1, N)}, T[i] - T[i - 1])
    S = tw.computation("S", {}, tw.sum(T[k], over={k: N}))
    f = tw.function("stages", inputs=[x, a, z, h], outputs=[Y, S], context=[N > 3])
    f["T"].parallelize(i)
    given = {"x": np.arange(9.0), "a": np.float32(2), "z": np.complex64(1 - 2j), "h": np.float16(3)}
    check(f, tmp_path, flags=("-fopenmp",), **given, N=9)
    call = CompiledC(f, tmp_path).call
    for size in (2, -1, 2**41):
        assert call(ctypes.c_int64(size), *[None] * 6) == 4


def test_stencil_in_pieces_and_in_place(tmp_path):
    u = tw.input("u", [N], tw.float32)
    V = tw.computation("V", {i: N}, [(i == 0, u[i] / 2), (i > 0, u[i])])
    W = tw.computation("W", {i: (1, N - 1)}, (V[i - 1] + V[i] + V[i + 1]) / 3)
    f = tw.function("smooth", outputs=[W])
    f["V"].compute_at(f["W"], i)
    check(f, tmp_path, u=np.random.default_rng(1).standard_normal(50).astype(np.float32), N=50)
    P = tw.input("P", [N], tw.float64)
    D = tw.computation("D", {i: N}, P[i] * 2)
    g = tw.function("double", outputs=[D])
    D.store_in(P[i])
    check(g, tmp_path / "in_place", P=np.arange(5.0), N=5)


def test_time_steps_in_a_folded_buffer(tmp_path):
    u = tw.input("u", [N], tw.float64)
    U = tw.computation(
        "U",
        {t: K + 1, i: N},
        lambda U: [
            (t == 0, u[i]),
            ((t > 0) & (i > 0) & (i < N - 1), (U[t - 1, i - 1] + U[t - 1, i + 1]) / 2),
            ((t > 0) & (i == 0), U[t - 1, i]),
            ((t > 0) & (i > 0) & (i == N - 1), U[t - 1, i]),
        ],
        dtype=tw.float64,
    )
    L = tw.computation("L", {i: N}, U[K, i])
    f = tw.function("steps", outputs=[L], context=[N > 1])
    f["U"].storage_fold(t, 2)
    check(f, tmp_path, u=np.random.default_rng(1).standard_normal(40), N=40, K=7)


def test_triangles(tmp_path):
    A = tw.input("A", [N, N], tw.float64)
    S = tw.computation("S", {i: N, j: (0, i + 1)}, tw.sum(A[i, k] * A[j, k], over={k: (j, i + 1)}))
    f = tw.function("triangle", outputs=[S])
    f["S"].parallelize(i, schedule="dynamic")
    check(f, tmp_path, flags=("-fopenmp",), A=np.arange(400.0).reshape(20, 20) / 16, N=20)


REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "int64", "float16", "float32", "bfloat16"]
)
def test_every_reduction(dtype, tmp_path):
    x = tw.input("x", [N, M], dtype)
    outputs = []
    for name in REDUCTIONS:
        value = x[i, k]
        if name in ("any", "all"):
            value = value > 0 if dtype != "bool" else value
        outputs.append(tw.computation(f"R_{name}", {i: N}, getattr(tw, name)(value, over={k: M})))
    f = tw.function("reductions", outputs=outputs, default_schedule=False)
    rng = np.random.default_rng(5)
    values = rng.integers(-3, 4, (9, 11)) if dtype[0] not in "bu" or dtype == "bfloat16" else None
    values = rng.integers(0, 2, (9, 11)) if values is None else values
    values = values.astype(tw.bfloat16 if dtype == "bfloat16" else dtype)
    if "float" in dtype:
        values[2, 3] = np.nan
    check(f, tmp_path, x=values, N=9, M=11)
    check(f, tmp_path, COMPILERS[:1], x=values[:, :0], N=9, M=0)


# ---- control that depends on data ----


def test_sparse_product_and_its_checks(tmp_path):
    val, x = tw.input("val", [K], tw.float64), tw.input("x", [M], tw.float64)
    col, row = tw.input("col", [K], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(val[k] * x[col[k]], over={k: (row[i], row[i + 1])}))
    f = tw.function("spmv", inputs=[val, col, row, x], outputs=[y])
    given = {
        "val": np.arange(1.0, 7),
        "x": np.arange(1.0, 5),
        "col": np.array([0, 3, 1, 2, 3, 0], np.int32),
        "row": np.array([0, 2, 3, 6], np.int32),
        **sizes(N=3, M=4, K=6),
    }
    for parallel in (False, True):
        if parallel:
            f["y"].parallelize(i)
        check(f, tmp_path / str(parallel), flags=("-fopenmp",), **given)
        compiled = CompiledC(f, tmp_path / str(parallel), "gcc", "-fopenmp")
        for wrong in (4, -1):
            bad = {**given, "col": np.array([0, 3, wrong, 2, 3, 0], np.int32)}
            assert compiled(**bad)[1] == 1
    assert "y: test_c_source.py:" in f.c
    assert "/* x[int64(col[k])] */" in f.c


def test_second_subscript_has_its_number(tmp_path):
    x, p, q = (
        tw.input("x", [N, M], "float64"),
        tw.input("p", [K], "int64"),
        tw.input("q", [K], "int64"),
    )
    y = tw.computation("y", {i: K}, x[p[i], q[i]])
    f = tw.function("pick", inputs=[x, p, q], outputs=[y])
    compiled = CompiledC(f, tmp_path)
    given = {
        "x": np.ones((3, 4)),
        "p": np.zeros(2, int),
        "q": np.array([0, 7]),
        **sizes(N=3, M=4, K=2),
    }
    assert compiled(**given)[1] == 1 + (1 << 8)
    assert compiled(**{**given, "p": np.array([5, 0]), "q": np.zeros(2, int)})[1] == 1
    # What the header says of them.
    assert " *   1: x[p[i], q[i]]\n" in compiled.exported.header.read_text()


def test_histogram_of_threads(tmp_path):
    img = tw.input("img", [N], tw.uint8)
    for dtype in ("int64", "int32", "float64", "uint8"):
        one = tw.cast(1, dtype)
        H = tw.computation("H", {j: M}, tw.sum(one, over={i: N}, where=img[i] == j), dtype=dtype)
        f = tw.function(f"histogram_{dtype}", outputs=[H])
        f["H"].interchange(j, i)
        f["H"].atomic().parallelize(i)
        values = np.random.default_rng(1).integers(0, 9, 1000).astype(np.uint8)
        check(f, tmp_path / dtype, flags=("-fopenmp",), img=values, N=1000, M=9)
        assert "#pragma omp atomic" in f.c


def test_largest_by_threads(tmp_path):
    img = tw.input("img", [N], tw.uint8)
    x = tw.input("x", [N], tw.float32)
    H = tw.computation("H", {j: M}, tw.max(x[i], over={i: N}, where=img[i] == j))
    f = tw.function("largest", outputs=[H])
    f["H"].interchange(j, i)
    f["H"].atomic().parallelize(i)
    rng = np.random.default_rng(1)
    given = {"img": rng.integers(0, 9, 500).astype(np.uint8), "x": rng.random(500, np.float32)}
    check(f, tmp_path, flags=("-fopenmp",), **given, N=500, M=9)
    assert "#pragma omp critical(tw_update)" in f.c


def test_while_loops(tmp_path):
    n = tw.input("n", [N], tw.int64)
    _, steps = tw.while_loop(
        lambda v, steps: v > 1,
        lambda v, steps: (tw.select(v % 2 == 0, v // 2, 3 * v + 1), steps + 1),
        initial=(n[i], 0),
    )
    f = tw.function("collatz", outputs=[tw.computation("C", {i: N}, steps)])
    found = check(f, tmp_path, n=np.arange(30), N=30)
    assert found[0][27] == 111


# ---- structures and names ----


def test_arrays_of_structures(tmp_path):
    for align in (True, False):
        dtype = np.dtype([("x", np.float32), ("id", np.int64), ("z", np.complex64)], align=align)
        P = tw.input("P", [N], dtype)
        X = tw.computation("X", {i: N}, 2 * P.x[i])
        I = tw.computation("I", {i: N}, P.id[i] + 1)
        Z = tw.computation("Z", {i: N}, P.z[i] * P.z[i])
        f = tw.function("records", outputs=[tw.struct("Q", x=X, id=I), Z], default_schedule=False)
        points = np.zeros(4, dtype)
        points["x"], points["id"], points["z"] = np.arange(4), np.arange(4) * 10, 1 + 2j
        check(f, tmp_path / str(align), P=points, N=4)
        assert "P[i].x" in f.c
        stored = tw.computation("S", {i: N}, 2 * P.x[i])
        g = tw.function("double", outputs=[stored])
        stored.store_in(P.x[i])
        check(g, tmp_path / f"stored{align}", P=points, N=4)


def test_names_that_c_has_for_itself(tmp_path):
    double, NULL = tw.iters("double NULL")
    long, tw_min = tw.params("long tw_min")
    x = tw.input("register", [long, tw_min], tw.float32)
    y = tw.input("sqrt", [long], tw.float32)
    value = tw.sum(tw.sqrt(x[double, NULL]), over={NULL: tw_min}) + y[double]
    f = tw.function("switch", outputs=[tw.computation("status", {double: long}, value)])
    given = {"register": np.ones((3, 4), np.float32), "sqrt": np.ones(3, np.float32)}
    check(f, tmp_path, **given, **sizes(long=3, tw_min=4))
    with pytest.raises(tw.ExportError, match="switch is a word of C; give another name"):
        f.export_source(tmp_path, name="switch")
    assert "int switch_(int64_t long_, int64_t tw_min_, const float *restrict register_" in f.c


def test_large_shared_values_are_computed_once(tmp_path):
    x = tw.input("x", [N], tw.float64)
    value = x[i]
    for _ in range(40):
        value = value * 0.5 + value * value * 0.125
    f = tw.function("chain", outputs=[tw.computation("Y", {i: N}, value)])
    assert len(f.c) < 20_000
    check(f, tmp_path, x=np.linspace(-1, 1, 17), N=17)


def test_parameters_that_are_numbers(tmp_path):
    """Arithmetic on what is no size may leave int64 and wraps."""
    x = tw.input("x", [N], tw.int64)
    f = tw.function("shift", outputs=[tw.computation("Y", {i: N}, x[i] + (M * M + M) * 3)])
    check(f, tmp_path, x=np.arange(3), N=3, M=2**40)


# ---- files and refusals ----


def test_files_are_built_by_make(tmp_path):
    f = product()
    exported = f.export_source(tmp_path / "src", name="multiply")
    names = sorted(path.name for path in (tmp_path / "src").iterdir())
    assert names == ["Makefile", "multiply.c", "multiply.h"]
    assert exported.prototype == (
        "int multiply(int64_t N, int64_t K, int64_t M, const float *A, const float *B, float *C)"
    )
    subprocess.run(["make", "-s", f"CC={COMPILERS[0]}"], cwd=tmp_path / "src", check=True)
    assert exported.library.exists()
    program = tmp_path / "src" / "main.c"
    program.write_text(
        '#include "multiply.h"\n#include <stdio.h>\n'
        "int main(void) {\n  const float a[2] = {1, 2}, b[2] = {3, 4};\n  float c = 0;\n"
        '  printf("%d %g %d\\n", multiply(1, 2, 1, a, b, &c), c, multiply(-1, 2, 1, a, b, &c));\n'
        "  return 0;\n}\n"
    )
    build = [COMPILERS[0], "-fopenmp", "main.c", "libmultiply.a", "-lm", "-o", "main"]
    subprocess.run(build, cwd=tmp_path / "src", check=True)
    done = subprocess.run([str(tmp_path / "src" / "main")], capture_output=True, text=True)
    # Arguments are evaluated in any order: the sum is there before or after it is printed.
    assert done.stdout.split()[0] == "0" and done.stdout.split()[2] == "4"


def test_the_header_is_c_plus_plus_too(tmp_path):
    z = tw.input("z", [N], tw.float32)
    exported = tw.function("copy", outputs=[tw.computation("Y", {i: N}, z[i])]).export_source(
        tmp_path
    )
    program = '#include "copy.h"\nint main() { return copy(0, nullptr, nullptr); }\n'
    command = ["g++", "-fsyntax-only", "-Wall", "-Werror", "-I", str(tmp_path), "-x", "c++", "-"]
    subprocess.run(command, input=program, text=True, check=True)
    assert exported.header.name == "copy.h"


def test_what_is_refused(tmp_path):
    plain = product()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(tw.ArgumentTypeError, match="directory must be a path"):
        plain.export_source(None)  # type: ignore[arg-type]
    with pytest.raises(tw.ExportError, match="is there already and is no directory"):
        plain.export_source(file)
    with pytest.raises(tw.ExportError, match="is not a name of a C function"):
        plain.export_source(tmp_path, name="two words")
    with pytest.raises(tw.ExportError, match="the C library has a function exp already"):
        product(name="exp").export_source(tmp_path)
    assert "int exp_(" in product(name="exp").c
    assert ctypes.sizeof(ctypes.c_int) == 4


def test_loops_of_the_gpu_on_the_processor(tmp_path):
    f = product(tw.int32, "blocks", target="cpu")
    f["C"].gpu(i, j)
    given = factors(20, 10, 5)
    check(
        f,
        tmp_path,
        flags=("-fopenmp",),
        **{**given, "A": given["A"].astype(np.int32), "B": given["B"].astype(np.int32)},
    )


def test_vector_loops_that_sum_up_are_no_simd_loops():
    f = product()
    f["C"].vectorize(k, 8)
    assert "omp simd" not in f.c
    g = product()
    g["C"].vectorize(j, 8)
    assert "#pragma omp simd simdlen(8)" in g.c


def test_threads_start_for_as_much_work_as_the_range_has():
    begin, end = tw.params("begin end")
    C = tw.computation("C", {i: (begin, end), j: M}, tw.cast(i * j, tw.float32))
    f = tw.function("ranges", outputs=[C], context=[begin >= 0])
    f["C"].parallelize("i")
    f.when_work(1000, 2000)
    assert "parallel for schedule(static) if(1.0 * M * (end - begin) >= 2000)" in str(f.c)


def test_numbers_that_are_rounded_on_the_way(tmp_path):
    """GCC 12.2 adds D as it was before it was rounded to single precision, unless it is told not to."""
    start, c = tw.input("start", [], tw.complex64), tw.input("c", [N], tw.int64)
    x = tw.input("x", [N], tw.complex128)
    D = tw.computation("D", {t: N}, dtype=tw.complex64)
    E = tw.computation("E", {t: N}, dtype=tw.complex64)
    D.define(t == 0, start[()])
    D.define(t >= 1, tw.cast(c[t] + E[t - 1], tw.complex64))
    E.define(t == 0, start[()])
    E.define(t >= 1, tw.cast(x[t] + D[t], tw.complex64))
    f = tw.function("rounded", outputs=[D, E], default_schedule=False)
    f["E"].after("D", "t")
    rng = np.random.default_rng(7)
    given = {
        "start": np.complex64(-34034188 + 455885j),
        "c": rng.integers(-50, 50, 400),
        "x": rng.integers(-(10**7), 10**7, 400) + 1j * rng.integers(-9, 9, 400),
    }
    check(f, tmp_path, COMPILERS, **given)
