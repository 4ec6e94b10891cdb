"""Functions exported for C programs: the library by ctypes and the example by a C compiler, beside
NumPy and the evaluator."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright.export.exporting import LINKERS, Exported

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_linker = pytest.mark.skipif(not any(map(shutil.which, LINKERS)), reason="no linker on PATH")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on PATH")

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")


def product(name: str = "product") -> tw.Function:
    A = tw.input("A", [N, K], tw.float32)
    B = tw.input("B", [K, M], tw.float32)
    C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
    return tw.function(name, outputs=[C])


def tiled_product(name: str = "product") -> tw.Function:
    f = product(name)
    f["C"].tile(i, j, 16, 16).parallelize("i0").vectorize("j1", 8)
    return f


def two_stages(name: str = "stages") -> tw.Function:
    """A temporary, two outputs of which one is a number, a number as input, a condition."""
    x, a = tw.input("x", [N], tw.float64), tw.input("a", [], tw.float32)
    T = tw.computation("T", {i: N}, x[i] * a)
    Y = tw.computation("Y", {i: (1, N)}, T[i] - T[i - 1])
    S = tw.computation("S", {}, tw.sum(T[k], over={k: N}))
    f = tw.function(name, outputs=[Y, S], context=[N > 3])
    f["T"].parallelize(i)
    return f


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def loaded(exported: Exported) -> ctypes._CFuncPtr:
    library = ctypes.CDLL(str(exported.library.resolve()))
    message = library[f"{exported.name}_message"]
    message.restype = ctypes.c_char_p
    message.argtypes = [ctypes.c_int32]
    function = library[exported.name]
    function.restype = ctypes.c_int32
    function.message = lambda status: message(status).decode()
    function.set_num_threads = library[f"{exported.name}_set_num_threads"]
    return function


def run_example(exported: Exported, folder: pathlib.Path) -> dict[str, float]:
    """The sums that the example prints, built by its own command, in an empty environment."""
    flags = "-std=c11 -Wall -Wextra -Werror"
    command = exported.build.replace("cc ", f"{COMPILER} {flags} ", 1)
    subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True, text=True)
    done = subprocess.run(
        [f"./{exported.name}_example"], cwd=folder, env={}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^(.+): \d+ elements, sum (.+)$", done.stdout, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def pattern(dtype: str, count: int, seed: int) -> np.ndarray:
    """What the examples put into their arrays."""
    index = np.arange(count) * 37 + seed
    if dtype.startswith("float"):
        return (index % 101).astype(dtype) / 64
    return (index % 3).astype(dtype)


@needs_linker
def test_library_by_ctypes(tmp_path):
    f = tiled_product()
    exported = f.export(tmp_path)
    assert exported.prototype == (
        "int32_t product(const float *A, const float *B, float *C, int64_t N, int64_t K, int64_t M)"
    )
    run = loaded(exported)
    rng = np.random.default_rng(1)
    for n, m, depth in ((100, 70, 33), (1, 1, 1), (17, 5, 0), (0, 4, 4)):
        a = rng.integers(-3, 4, (n, depth)).astype(np.float32)
        b = rng.integers(-3, 4, (depth, m)).astype(np.float32)
        c = np.full((n, m), np.nan, np.float32)
        sizes = [ctypes.c_int64(s) for s in (n, depth, m)]
        assert run(pointer(a), pointer(b), pointer(c), *sizes) == 0
        np.testing.assert_array_equal(c, a @ b)


@needs_linker
def test_nothing_of_this_library_is_needed(tmp_path):
    """Another process without this library's path, and without Python's environment."""
    exported = two_stages().export(tmp_path)
    program = (
        "import ctypes, sys\n"
        f"f = ctypes.CDLL({str(exported.library)!r}).stages\n"
        "x = (ctypes.c_double * 5)(1, 2, 4, 8, 16)\n"
        "y, s = (ctypes.c_double * 5)(), ctypes.c_double()\n"
        "status = f(x, ctypes.c_float(2), y, ctypes.byref(s), ctypes.c_int64(5))\n"
        "print(status, list(y), s.value, 'tilewright' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0 [0.0, 2.0, 4.0, 8.0, 16.0] 62.0 False"


@needs_linker
def test_needs_the_c_library_only_and_shows_three_names(tmp_path):
    if shutil.which("readelf") is None:
        pytest.skip("no readelf")
    exported = tiled_product().export(tmp_path)
    shown = subprocess.run(
        ["readelf", "-dW", "--dyn-syms", exported.library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
    assert needed <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
    names = re.findall(r"(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+(\S+)", shown)
    assert sorted(names) == ["product", "product_message", "product_set_num_threads"]


@needs_compiler
@pytest.mark.parametrize("kind", ["shared", "static"])
@pytest.mark.parametrize("strides", [False, True])
def test_example_program(tmp_path, kind, strides):
    exported = tiled_product().export(tmp_path, kind=kind, strides=strides)
    sums = run_example(exported, tmp_path)
    a = pattern("float64", 60 * 53, 0).reshape(60, 53)  # N, K, M = 60, 53, 46
    b = pattern("float64", 53 * 46, 1).reshape(53, 46)
    assert sums["C"] == pytest.approx((a @ b).sum(), rel=1e-6)


@needs_compiler
def test_example_of_temporaries_and_several_outputs(tmp_path):
    exported = two_stages().export(tmp_path)
    sums = run_example(exported, tmp_path)
    x = pattern("float64", 60, 0)
    t = x * np.float32(pattern("float32", 1, 1)[0])
    assert sums["Y"] == pytest.approx(np.diff(t).sum(), abs=1e-12)
    assert sums["S"] == pytest.approx(t.sum(), rel=1e-12)


@needs_compiler
def test_header_is_cplusplus_too(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    points = np.dtype([("x", np.float32), ("id", np.int64)])
    P = tw.input("P", [N], points)
    f = tw.function("pick", outputs=[tw.computation("X", {i: N}, 2 * P.x[i])])
    f.export(tmp_path, kind="static")
    program = '#include "pick.h"\nint main() { pick_P p = {1, 2}; return int(p.id) - 2; }\n'
    program = program.replace("pick_P p", "struct pick_P p")
    (tmp_path / "program.cpp").write_text(program)
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-fsyntax-only", "program.cpp"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


@needs_linker
def test_statuses_name_the_argument(tmp_path):
    f = two_stages()
    run = loaded(f.export(tmp_path))
    memory = np.zeros(64)
    x, y, s = memory[:8], memory[16:24], memory[32:33]

    def status(x_at: int, y_at: int, n: int) -> tuple[int, str]:
        found = run(
            ctypes.c_void_p(x_at),
            ctypes.c_float(1),
            ctypes.c_void_p(y_at),
            pointer(s),
            ctypes.c_int64(n),
        )
        return found & 255, run.message(found)

    assert status(x.ctypes.data, y.ctypes.data, 8) == (0, "no error")
    assert status(x.ctypes.data, y.ctypes.data, 3)[0] == 4
    assert status(x.ctypes.data, y.ctypes.data, -1)[0] == 4
    assert status(0, y.ctypes.data, 8) == (5, "x is NULL")
    assert status(x.ctypes.data, 0, 8) == (5, "Y is NULL")
    assert status(x.ctypes.data, y.ctypes.data + 4, 8) == (6, "Y is not aligned to 8 bytes")
    found = status(x.ctypes.data, x.ctypes.data + 56, 8)
    assert found == (7, "Y, which is written, overlaps another array")
    assert status(x.ctypes.data, x.ctypes.data + 64, 8)[0] == 0  # neighbours
    assert run.message(99 << 8) == "not a status of stages"
    assert np.all(memory[40:] == 0)


@needs_linker
def test_arrays_without_elements_overlap_nothing(tmp_path):
    x, y = tw.input("x", [N], tw.float32), tw.input("y", [M], tw.float32)
    z = tw.computation("z", {i: N}, x[i] + tw.sum(y[k], over={k: M}))
    run = loaded(tw.function("f", outputs=[z], inputs=[x, y]).export(tmp_path))
    memory = np.ones(100, np.float32)

    def status(x_at: int, y_at: int, z_at: int, n: int, m: int) -> int:
        arrays = [pointer(memory[at:]) for at in (x_at, y_at, z_at)]
        return run(*arrays, ctypes.c_int64(n), ctypes.c_int64(m)) & 255

    assert status(0, 50, 60, 0, 30) == 0  # z in the middle of y
    assert status(0, 60, 50, 20, 0) == 0  # y in the middle of z
    assert status(0, 60, 50, 20, 1) == 7


@needs_linker
def test_subscripts_are_checked(tmp_path):
    x, index = tw.input("x", [M], tw.float32), tw.input("index", [N], tw.int32)
    C = tw.computation("C", {i: N}, x[index[i]] + x[index[i] + 1])
    run = loaded(tw.function("gather", inputs=[x, index], outputs=[C]).export(tmp_path))
    values, where, out = np.arange(5, dtype=np.float32), np.array([3, 0], np.int32), np.zeros(2)
    out = out.astype(np.float32)
    sizes = ctypes.c_int64(5), ctypes.c_int64(2)
    assert run(pointer(values), pointer(where), pointer(out), *sizes) == 0
    assert out.tolist() == [7.0, 1.0]
    where[1] = 4
    status = run(pointer(values), pointer(where), pointer(out), *sizes)
    assert status & 255 == 1
    assert "outside of x (dimension 0)" in run.message(status)
    assert "index[i]" in run.message(status)


@needs_linker
def test_strides_are_those_of_views(tmp_path):
    run = loaded(tiled_product().export(tmp_path, strides=True))
    rng = np.random.default_rng(2)
    big = rng.integers(-3, 4, (40, 90)).astype(np.float32)
    a, b = big[::-1, :20], big[:20, 30:63]
    c = np.zeros((40, 50), np.float32)
    out = c[:, 5:38]

    def view(array: np.ndarray) -> tuple[ctypes.c_void_p, ctypes.c_int64]:
        return pointer(array), ctypes.c_int64(array.strides[0] // 4)

    sizes = [ctypes.c_int64(size) for size in (40, 20, 33)]
    assert run(*view(a), *view(b), *view(out), *sizes) == 0
    np.testing.assert_array_equal(out, a @ b)
    assert not c[:, :5].any() and not c[:, 38:].any()


@needs_linker
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_parallel_loops(tmp_path, threads):
    """Every iteration once, whatever the number of threads and the way they are dealt out."""
    x = tw.input("x", [N, 64], tw.float64)
    runs = []
    for name, options in (
        ("equal", {}),
        ("chunks", {"chunk": 3}),
        ("dynamic", {"schedule": "dynamic"}),
    ):
        C = tw.computation("C", {i: N, j: 64}, x[i, j] + 1)
        f = tw.function(name, outputs=[C])
        f["C"].parallelize(i, **options)
        run = loaded(f.export(tmp_path))
        run.set_num_threads(threads)
        runs.append(run)
    data = np.random.default_rng(0).standard_normal((997, 64))
    out = np.zeros_like(data)
    for run in runs * 20:
        out[:] = 0
        assert run(pointer(data), pointer(out), ctypes.c_int64(997)) == 0
        np.testing.assert_array_equal(out, data + 1)


@needs_linker
def test_concurrent_calls_and_a_fork(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    run = loaded(tiled_product().export(tmp_path))
    run.set_num_threads(3)
    a = np.random.default_rng(0).integers(-3, 4, (200, 60)).astype(np.float32)
    b = np.ascontiguousarray(a[:60, :])
    expected = a @ b
    sizes = [ctypes.c_int64(size) for size in (200, 60, 60)]

    def call(_: int) -> bool:
        c = np.zeros((200, 60), np.float32)
        status = run(pointer(a), pointer(b), pointer(c), *sizes)
        return status == 0 and bool((c == expected).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))
    child = os.fork()
    if child == 0:
        os._exit(0 if call(0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert call(0)


@needs_linker
@pytest.mark.parametrize(
    "layout",
    [
        np.dtype([("x", np.float32), ("id", np.int64)], align=True),
        np.dtype([("x", np.float32), ("id", np.int64)]),
        np.dtype({"names": ["id", "x"], "formats": [np.int64, np.float32], "offsets": [4, 20],
                  "itemsize": 32}),
    ],
)  # fmt: skip
def test_structures(tmp_path, layout):
    P = tw.input("P", [N], layout)
    X = tw.computation("X", {i: N}, 2 * P.x[i])
    Y = tw.computation("Y", {i: N}, P.id[i] + 1)
    f = tw.function("move", outputs=[tw.struct("Q", new_x=X, new_id=Y)])
    exported = f.export(tmp_path)
    run = loaded(exported)
    points = np.zeros(10, layout)
    points["x"], points["id"] = np.arange(10), np.arange(10) * 3
    out = np.zeros(10, np.dtype([("new_x", np.float32), ("new_id", np.int64)], align=True))
    assert run(pointer(points), pointer(out), ctypes.c_int64(10)) == 0
    np.testing.assert_array_equal(out["new_x"], 2 * points["x"])
    np.testing.assert_array_equal(out["new_id"], points["id"] + 1)
    if COMPILER:
        sums = run_example(exported, tmp_path)
        assert sums["Q.new_x"] == 2 * pattern("float64", 60, 0).sum()
        assert sums["Q.new_id"] == pattern("int64", 60, 0).sum() + 60


@needs_linker
def test_in_place(tmp_path):
    A = tw.input("A", [N], tw.float64)
    C = tw.computation("C", {i: N}, A[i] * 3)
    f = tw.function("triple", outputs=[C])
    C.store_in(A[i])
    exported = f.export(tmp_path)
    assert exported.prototype == "int32_t triple(double *A, int64_t N)"
    data = np.arange(20.0)
    assert loaded(exported)(pointer(data), ctypes.c_int64(20)) == 0
    np.testing.assert_array_equal(data, 3 * np.arange(20.0))
    if COMPILER:
        assert run_example(exported, tmp_path)["A"] == 3 * pattern("float64", 60, 0).sum()


@needs_linker
def test_complex_functions_and_powers(tmp_path):
    x, n = tw.input("x", [N], tw.complex64), tw.input("n", [N], tw.int64)
    functions = [tw.exp(x[i]), tw.sqrt(x[i]), tw.log(x[i]), tw.sin(x[i]), x[i] ** 3, x[i] / x[i]]
    functions += [tw.arcsin(x[i]), tw.arcsinh(x[i]), tw.arccosh(x[i]), tw.arctanh(x[i])]
    functions += [
        tw.sign(x[i]),
        tw.log1p(abs(x[i])),
        tw.bit_count(n[i]),
        tw.saturating_add(n[i], n[i]),
    ]
    outputs = [tw.computation(f"C{c}", {i: N}, value) for c, value in enumerate(functions)]
    outputs.append(tw.computation("P", {i: N}, n[i] ** 5))
    f = tw.function("many", outputs=outputs, cpu="x86-64")
    exported = f.export(tmp_path)
    rng = np.random.default_rng(3)
    data = (rng.standard_normal(50) + 1j * rng.standard_normal(50)).astype(np.complex64)
    numbers = rng.integers(-9, 10, 50)
    expected = f(data, numbers)
    results = [np.zeros_like(each) for each in expected]
    run = loaded(exported)
    arrays = map(pointer, (data, numbers, *results))
    assert run(*arrays, ctypes.c_int64(50)) == 0
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_array_equal(results[-1], numbers**5)
    np.testing.assert_allclose(results[0], np.exp(data), rtol=1e-5)


@needs_linker
def test_half_precision_without_hardware(tmp_path):
    """Conversions come from the exported runtime."""
    x = tw.input("x", [N], tw.float16)
    f = tw.function("half", outputs=[tw.computation("C", {i: N}, x[i] * 3)], cpu="x86-64")
    run = loaded(f.export(tmp_path))
    data = np.linspace(-4, 4, 33).astype(np.float16)
    out = np.zeros_like(data)
    assert run(pointer(data), pointer(out), ctypes.c_int64(33)) == 0
    np.testing.assert_array_equal(out, data * np.float16(3))


def test_other_processors(tmp_path):
    f = tiled_product()
    exported = f.export(tmp_path, kind="static", cpu="sapphirerapids")
    assert exported.cpu == "sapphirerapids"
    assert "sapphirerapids" in exported.header.read_text()
    with pytest.raises(ValueError, match="unknown CPU 'pentium9000'"):
        f.export(tmp_path, kind="static", cpu="pentium9000")


@needs_linker
def test_a_processor_that_lacks_something_is_told(tmp_path):
    """Nobody has all of Intel's newest and of what it has taken away."""
    f = product("future")
    run = loaded(f.export(tmp_path, cpu="sapphirerapids"))
    a = np.ones((4, 4), np.float32)
    c = np.zeros((4, 4), np.float32)
    sizes = [ctypes.c_int64(4)] * 3
    status = run(pointer(a), pointer(a), pointer(c), *sizes)
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    has_all = all(f" {flag}" in flags for flag in ("avx512_fp16", "avx512_bf16", "avx_vnni"))
    assert status == (0 if has_all else 8)
    if not has_all:
        assert run.message(status) == (
            "this processor cannot run the code: it needs sapphirerapids"
        )
        assert not c.any()


def test_static_library_needs_no_linker(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    f = product()
    exported = f.export(tmp_path, kind="static")
    assert exported.library.read_bytes().startswith(b"!<arch>\n")
    with pytest.raises(tw.ExportError, match=r'a shared object needs a linker.*kind="static"'):
        f.export(tmp_path)
    with pytest.raises(tw.ExportError, match="my-linker was not found"):
        f.export(tmp_path, linker="my-linker")


def test_a_failing_linker_is_quoted(tmp_path):
    fake = tmp_path / "ld.fake"
    fake.write_text("#!/bin/sh\necho it is too hot >&2\nexit 3\n")
    fake.chmod(0o755)
    out = tmp_path / "out"
    with pytest.raises(tw.ExportError, match="it is too hot"):
        product().export(out, linker=str(fake))
    assert list(out.iterdir()) == []  # nothing half-done


@pytest.mark.parametrize("linker", ["ld", "ld.lld", "ld.gold", "cc", "clang"])
def test_each_linker(tmp_path, linker):
    if shutil.which(linker) is None:
        pytest.skip(f"no {linker}")
    run = loaded(two_stages(f"by_{re.sub('[^a-z]', '_', linker)}").export(tmp_path, linker=linker))
    x, y, s = np.arange(8.0), np.zeros(8), np.zeros(1)
    assert run(pointer(x), ctypes.c_float(1), pointer(y), pointer(s), ctypes.c_int64(8)) == 0
    assert s[0] == 28


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exp", "the C library has a function exp already"),
        ("while", "while is a word of C"),
        ("2x", "'2x' is not a name of a C function"),
        ("tilewright_free", "names such as tilewright_free are the library's own"),
    ],
)
def test_names_that_c_cannot_have(tmp_path, name, message):
    with pytest.raises(tw.ExportError, match=message):
        product().export(tmp_path, name=name)


def test_names_are_made_names_of_c(tmp_path):
    x = tw.input("double", [N], tw.float64)
    y = tw.computation("register", {i: N}, x[i] + 1)
    exported = tw.function("float", outputs=[y]).export(tmp_path, kind="static")
    assert exported.prototype == (
        "int32_t float_(const double *double_, double *register_, int64_t N)"
    )
    clash = tw.function("N", outputs=[tw.computation("B", {i: N}, x[i])])
    with pytest.raises(tw.ExportError, match="two things would be called N in C"):
        clash.export(tmp_path, kind="static")


@pytest.mark.parametrize(
    "conditions",
    [
        lambda n, m: [n >= 1000],
        lambda n, m: [n % 100 == 77],
        lambda n, m: [n == 3 * m + 1, m > 40],
        lambda n, m: [n == m, n >= 65, n <= 66],
    ],
)
def test_the_example_has_sizes_that_keep_the_conditions(tmp_path, conditions):
    i, j, n, m = tw.iter("i"), tw.iter("j"), tw.param("N"), tw.param("M")
    x, y = tw.input("x", [n], tw.float32), tw.input("y", [m], tw.float32)
    z = tw.computation("z", {i: n}, x[i] + tw.sum(y[j], over={j: m}))
    f = tw.function("f", inputs=[x, y], outputs=[z], context=conditions(n, m))
    exported = f.export(tmp_path, kind="static")
    sizes = dict(re.findall(r"const int64_t (\w) = (\d+);", exported.example.read_text()))
    values = np.ones(int(sizes["N"]), np.float32), np.ones(int(sizes["M"]), np.float32)
    assert (f(*values) == 1 + int(sizes["M"])).all()


def test_unknown_kind(tmp_path):
    with pytest.raises(ValueError, match="kind must be 'shared' or 'static', not 'dll'"):
        product().export(tmp_path, kind="dll")


def test_header_says_what_it_is(tmp_path):
    f = tiled_product()
    text = f.export(tmp_path, kind="static").header.read_text()
    for part in (
        f.signature,
        'C.tile("i", "j", 16, 16).parallelize("i0").vectorize("j1", 8)',
        "for i0 in range(0, (N + 15) // 16):  # parallel",
        "A: in, float32[N, K], row-major without gaps",
        "C: out, float32[N, M], row-major without gaps",
        "PRODUCT_OVERLAP = 7",
    ):
        assert part in text, part
    stages = two_stages().export(tmp_path, kind="static").header.read_text()
    assert "a: a number (float32)" in stages
    assert "Y: out, float64[N]; not every element is defined: the others keep" in stages
    assert "S: out, float64 (one element)" in stages


AWKWARD = """status free printf new_array words_message words_OK int32_t _Bool linux INT64_MAX k sum
    stderr size_t NULL memory exit""".split()


@needs_compiler
@pytest.mark.parametrize("strides", [False, True])
def test_names_that_headers_and_examples_have_for_themselves(tmp_path, strides):
    """Each as an input, an output, and a parameter of one function."""
    arrays = [tw.input(name, [N, M], tw.int32) for name in AWKWARD]
    total = arrays[0][i, j]
    for array in arrays[1:]:
        total = total + array[i, j]
    f = tw.function("words", outputs=[tw.computation("C", {i: N, j: M}, total)])
    sums = run_example(f.export(tmp_path, kind="static", strides=strides), tmp_path)
    count = 60 * 53
    assert sums["C"] == sum(
        (((np.arange(count) * 37 + seed) % 3).sum()) for seed in range(len(AWKWARD))
    )


@needs_compiler
@pytest.mark.parametrize("name", AWKWARD)
def test_outputs_and_parameters_of_such_names(tmp_path, name):
    size = tw.param(f"{name}" if name != "NULL" else "EOF")
    A = tw.input("A", [size], tw.int32)
    f = tw.function("words", outputs=[tw.computation(f"{name}0", {i: size}, A[i] + 1)])
    run_example(f.export(tmp_path, kind="static"), tmp_path)
    B = tw.input("B", [N], tw.int32)
    g = tw.function("words", outputs=[tw.computation(name, {i: N}, B[i] + 1)])
    (value,) = run_example(g.export(tmp_path, kind="static"), tmp_path).values()
    assert value == ((np.arange(60) * 37) % 3 + 1).sum()


def test_what_is_no_option(tmp_path):
    f = product()
    with pytest.raises(tw.ArgumentTypeError, match="strides must be True or False, not 'yes'"):
        f.export(tmp_path, strides="yes")  # type: ignore[arg-type]
    with pytest.raises(tw.ExportError, match="a name of 300 letters is too long"):
        product("a" * 300).export(tmp_path)
    for name in ("status", "linux", "_Bool", "int32_t"):
        with pytest.raises(tw.ExportError, match=f"{name} is a word of C"):
            f.export(tmp_path, name=name)


# ---- functions of C ----


@needs_linker
@needs_compiler
@pytest.mark.parametrize("kind", ["shared", "static"])
def test_functions_of_c_are_the_programs_own(tmp_path, kind):
    """The exported code calls them by name, wherever they lay in this process."""
    callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int8)(lambda v, n: v)
    g = tw.extern("of_the_program", callback)
    x = tw.input("x", [N], tw.float64)
    f = tw.function("calls", outputs=[tw.computation("y", {i: N}, g(x[i], 3) + 1)])
    exported = f.export(tmp_path, kind=kind)
    assert "double of_the_program(double, int8_t);" in exported.header.read_text()
    main = tmp_path / "main.c"
    main.write_text(
        '#include "calls.h"\n#include <stdio.h>\n'
        "double of_the_program(double x, int8_t n) { return x * 10 + n; }\n"
        "int main(void) {\n"
        "  double x[7] = {1, 2, 3, 4, 5, 6, 7}, y[7];\n"
        "  int status = calls(x, y, 7);\n"
        '  printf("%d %g %g\\n", status, y[0], y[6]);\n'
        "  return 0;\n}\n"
    )
    program = tmp_path / "main"
    linked = [exported.library, "-lm", "-pthread", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([COMPILER, main, *linked, "-o", program], check=True)
    assert subprocess.check_output([program], text=True) == "0 14 74\n"
    with pytest.raises(tw.ExportError, match="calls a function of C that is named of_the_program"):
        f.export(tmp_path, name="of_the_program")
