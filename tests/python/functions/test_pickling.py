"""Pickles: of functions, schedules and declarations, within a process and in others."""

from __future__ import annotations

import copy
import importlib.util
import pickle

import numpy as np
import pytest

import tilewright as tw
from children import run_python

i, j, k, p = tw.iters("i j k p")
N, M, K = tw.params("N M K")


def matmul():
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    return tw.function("matmul", outputs=[c])


def scheduled():
    f = matmul()
    f["C"].tile(i, j, 4, 8).parallelize("i0").vectorize("j1", 8)
    return f


def recurrence():
    x = tw.input("x", [N], tw.float64)
    s = tw.computation("s", {i: N}, tw.sum(x[p], over={p: (0, i + 1)}))
    return tw.function("prefix", outputs=[s], context=[N > 0])


def collatz():
    n = tw.input("n", [N], tw.int64)
    _, steps = tw.while_loop(
        lambda v, s: v > 1,
        lambda v, s: (tw.select(v % 2 == 0, v // 2, 3 * v + 1), s + 1),
        initial=(n[i], 0),
    )
    return tw.function("collatz", outputs=[tw.computation("C", {i: N}, steps)])


def sparse():
    val, x = tw.input("val", [K], tw.float64), tw.input("x", [M], tw.float64)
    col, row = tw.input("col", [K], tw.int32), tw.input("row", [N + 1], tw.int32)
    y = tw.computation("y", {i: N}, tw.sum(val[p] * x[col[p]], over={p: (row[i], row[i + 1])}))
    return tw.function("spmv", inputs=[val, col, row, x], outputs=[y])


def pieces():
    x = tw.input("x", [N], tw.complex64)
    y = tw.computation(
        "y",
        {i: N},
        [(i <= 0, x[i] * (1 + 2j)), (i > 0, tw.conj(x[i - 1]) + np.float32(np.inf))],
    )
    low = tw.computation("low", {i: N}, tw.real(y[i]) * 0.1)
    return tw.function("pieces", outputs=[y, low], fast_math=True)


def chain():
    previous = tw.input("x0", [N], tw.float64)
    for number in range(1, 120):
        value = previous[i]
        for _ in range(30):
            value = value + 1
        previous = tw.computation(f"x{number}", {i: N}, value)
    return tw.function("chain", outputs=[previous])


def structured():
    points = tw.input("P", [N], np.dtype([("x", np.float32), ("id", np.int64)]))
    x = tw.computation("X", {i: N}, points.x[i] * 2)
    number = tw.computation("I", {i: N}, points.id[i] + 1)
    return tw.function("structured", outputs=[tw.struct("Q", x=x, id=number)])


RANDOM = np.random.default_rng(7)


def eighths(*shape):
    """Numbers whose sums of products are exact, however they are rounded on the way."""
    return RANDOM.integers(-16, 17, shape) / 8


A = eighths(9, 5).astype(np.float32)
B = eighths(5, 11).astype(np.float32)
POINTS = np.array([(1, 2), (3, 4)], np.dtype([("x", np.float32), ("id", np.int64)]))
CASES = {
    "matmul": (matmul, (A, B)),
    "scheduled": (scheduled, (A, B)),
    "recurrence": (recurrence, (RANDOM.random(9),)),
    "while": (collatz, (np.arange(20),)),
    "sparse": (
        sparse,
        (
            eighths(5),
            np.array([0, 2, 1, 0, 2], np.int32),
            np.array([0, 2, 2, 5], np.int32),
            eighths(3),
        ),
    ),
    "pieces": (pieces, (RANDOM.random(6).astype(np.complex64),)),
    "chain": (chain, (RANDOM.random(4),)),
    "structured": (structured, (POINTS,)),
}


def assert_equal(found, expected):
    found = found if isinstance(found, tuple) else (found,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("case", CASES)
def test_functions(case, protocol):
    make, arguments = CASES[case]
    f = make()
    g = pickle.loads(pickle.dumps(f, protocol))
    assert type(g) is type(f)
    assert str(g.loops) == str(f.loops)
    assert str(g.layers) == str(f.layers)
    assert g.schedule == f.schedule
    assert g.signature == f.signature
    assert_equal(g(*arguments), f(*arguments))
    assert_equal(g(*arguments), g.evaluate(*arguments) if case != "pieces" else f(*arguments))
    assert g.compile(*arguments)["key"] == f.compile(*arguments)["key"]
    # And once more: what was loaded can be stored.
    assert_equal(pickle.loads(pickle.dumps(g))(*arguments), f(*arguments))


@pytest.mark.parametrize("case", CASES)
def test_in_another_process(case, tmp_path):
    make, arguments = CASES[case]
    f = make()
    (tmp_path / "f").write_bytes(pickle.dumps((f, arguments)))
    expected = f(*arguments)
    code = (
        "import pickle, sys; folder = sys.argv[1]\n"
        "f, arguments = pickle.load(open(folder + '/f', 'rb'))\n"
        "pickle.dump((f(*arguments), f.last_compile['from_cache']), open(folder + '/g', 'wb'))"
    )
    run_python("-c", code, tmp_path)
    found, from_cache = pickle.loads((tmp_path / "g").read_bytes())
    assert_equal(found, expected)
    assert from_cache


def test_a_loaded_function_is_another_one():
    f = scheduled()
    f.threads = 2
    g = pickle.loads(pickle.dumps(f))
    g["C"].unroll("i1", 4)
    assert g.schedule != f.schedule
    assert g.threads == 2
    f.reset_schedule()
    assert "parallel" in str(g.loops)


def test_a_computation_and_its_function():
    a, b = tw.input("A", [N, K], tw.float32), tw.input("B", [K, M], tw.float32)
    c = tw.computation("C", {i: N, j: M}, tw.sum(a[i, k] * b[k, j], over={k: K}))
    f = tw.function("f", outputs=[c])
    g, d, again = pickle.loads(pickle.dumps((f, c, c)))
    assert d is again
    d.parallelize(i)
    assert "parallel" in str(g.schedule)
    assert str(f.schedule) == ""
    assert_equal(g(A, B), f(A, B))


def test_a_computation_without_a_function():
    x = tw.input("x", [N], tw.float64)
    y = tw.computation("y", {i: N}, x[i] * 3)
    z = pickle.loads(pickle.dumps(y))
    assert (z.name, z.dtype, z.domain, repr(z)) == (y.name, y.dtype, y.domain, repr(y))
    f = tw.function("f", outputs=[z])
    np.testing.assert_array_equal(f(np.arange(3.0)), [0, 3, 6])
    assert repr(pickle.loads(pickle.dumps(x))) == repr(x)


def test_expressions_and_schedules():
    x = tw.input("x", [N], tw.float64)
    value = tw.select(x[i] > 0.5, x[i] * 2, tw.exp(x[i])) + N
    assert repr(pickle.loads(pickle.dumps(value))) == repr(value)
    assert pickle.loads(pickle.dumps(i)) is i
    assert repr(pickle.loads(pickle.dumps(N))) == "N"
    assert pickle.loads(pickle.dumps(tw.float32)) == tw.float32
    schedule = scheduled().schedule
    loaded = pickle.loads(pickle.dumps(schedule))
    assert loaded == schedule
    assert str(loaded) == str(schedule)
    assert copy.deepcopy(schedule) == schedule
    handle = pickle.loads(pickle.dumps(scheduled()["C"]))
    handle.reorder("j0", "i0")


def test_copies():
    f = scheduled()
    for g in (copy.copy(f), copy.deepcopy(f), copy.deepcopy({"f": f})["f"]):
        assert g is not f
        assert g.schedule == f.schedule
        g["C"].unroll("i1", 4)
        assert g.schedule != f.schedule
        assert_equal(g(A, B), f(A, B))
    x = tw.input("x", [N], tw.float64)
    assert copy.deepcopy([x, x[i]])[0] is x


def test_errors():
    f = matmul()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        f["C"].parallelize(k)
    loaded = pickle.loads(pickle.dumps(caught.value))
    assert str(loaded) == str(caught.value)
    assert loaded.source_instance == caught.value.source_instance


def test_a_pickle_of_another_version():
    data = pickle.dumps(matmul(), 0)
    version = tw.__version__.encode()
    assert version in data
    with pytest.raises(ValueError, match="another version"):
        pickle.loads(data.replace(version, version[:-1] + b"x"))


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    f = scheduled()
    work = cloudpickle.loads(cloudpickle.dumps(lambda a, b: f(a, b)))
    assert_equal(work(A, B), f(A, B))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing(method, tmp_path):
    """After a parallel call in the parent; the children run parallel loops of the function."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import multiprocessing, os, sys
import numpy as np
import tilewright as tw

def work(task):
    f, a, b, threads = task
    return f(a, b, threads=threads)

if __name__ == "__main__":
    i, j, k = tw.iters("i j k"); N, M, K = tw.params("N M K")
    a, b = tw.input("A", [N, K], tw.float64), tw.input("B", [K, M], tw.float64)
    c = tw.computation("C", {{i: N, j: M}}, tw.sum(a[i, k] * b[k, j], over={{k: K}}))
    f = tw.function("f", outputs=[c])
    c.parallelize(i)
    x = np.arange(30 * 20.0).reshape(30, 20)
    y = np.arange(20 * 10.0).reshape(20, 10)
    assert (f(x, y, threads=3) == x @ y).all()
    with multiprocessing.get_context("{method}").Pool(3) as pool:
        for result in pool.map(work, [(f, x + n, y, 1 + n % 3) for n in range(12)]):
            pass
        results = pool.map(work, [(f, x + n, y, 1 + n % 3) for n in range(12)])
    for n, result in enumerate(results):
        assert (result == (x + n) @ y).all()
    assert (f(x, y, threads=3) == x @ y).all()
"""
    )
    run_python("-W", "ignore", script, OMP_NUM_THREADS="2", TILEWRIGHT_LEAST_PARALLEL_WORK="0")


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(backend):
    """A function is the work itself, what a closure calls, and the result; with and without a
    parallel call before."""
    if importlib.util.find_spec("joblib") is None:
        pytest.skip("joblib is not installed")
    program = f"""
import joblib
import numpy as np
import tilewright as tw

i, j, k = tw.iters("i j k"); N, M, K = tw.params("N M K")
a, b = tw.input("A", [N, K], tw.float64), tw.input("B", [K, M], tw.float64)
c = tw.computation("C", {{i: N, j: M}}, tw.sum(a[i, k] * b[k, j], over={{k: K}}))
f = tw.function("f", outputs=[c])
c.parallelize(i)
x = np.arange(30 * 20.0).reshape(30, 20)
y = np.arange(20 * 10.0).reshape(20, 10)

def twice(n):
    return f(x + n, y, threads=2) * 2

def changed(rows):
    g = f.copy()
    g["C"].split(i, rows)
    return g

with joblib.Parallel(n_jobs=3, backend="{backend}") as parallel:
    for _ in range(2):
        results = parallel(joblib.delayed(f)(x + n, y) for n in range(9))
        assert all((result == (x + n) @ y).all() for n, result in enumerate(results))
        assert (f(x, y, threads=3) == x @ y).all()
    results = parallel(joblib.delayed(twice)(n) for n in range(9))
    assert all((result == (x + n) @ y * 2).all() for n, result in enumerate(results))
    for g in parallel(joblib.delayed(changed)(rows) for rows in (3, 4)):
        assert (g(x, y) == x @ y).all() and "split" in str(g.schedule)
"""
    run_python("-W", "ignore", "-c", program, TILEWRIGHT_LEAST_PARALLEL_WORK="0")
