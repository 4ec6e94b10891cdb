"""Functions of C in expressions: tw.extern beside what they compute called from Python."""

import copy
import ctypes
import gc
import math
import pathlib
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tilewright as tw
from compiled_c import COMPILERS
from tilewright import _core

i, j, k = tw.iters("i j k")
N, M, K = tw.params("N M K")

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
double scaled(double x, double by) { return x * by + 1; }
float halved(float x) { return x / 2; }
int8_t next8(int8_t x) { return (int8_t)(x + 1); }
uint16_t both16(uint16_t a, _Bool plus) { return (uint16_t)(plus ? a + 3 : a - 3); }
_Bool is_odd(int64_t x) { return x & 1; }
uint64_t wide(uint64_t x, int32_t y) { return x + (uint64_t)(int64_t)y; }
int32_t checked_root(int32_t x) {
  if (x < 0) abort();
  int32_t r = 0;
  while ((r + 1) * (r + 1) <= x) ++r;
  return r;
}
double add_one(double x) { return x + 1; }
double add_two(double x) { return x + 2; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("extern")
    source, binary = folder / "given.c", folder / "given.so"
    source.write_text(SOURCE)
    if not COMPILERS:
        pytest.skip("no C compiler on PATH")
    command = [COMPILERS[0], "-O1", "-shared", "-fPIC", str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(binary))


def typed(function, result, *arguments):
    function.argtypes, function.restype = list(arguments), result
    return function


def lgamma():
    return typed(ctypes.CDLL("libm.so.6").lgamma, ctypes.c_double, ctypes.c_double)


def run(f, *arrays):
    """The values by the evaluator; compiled code must give the same bits."""
    evaluated, compiled = f.evaluate(*arrays), f(*arrays)
    assert evaluated.dtype == compiled.dtype
    np.testing.assert_array_equal(compiled, evaluated)
    return compiled


SCHEDULES = [
    lambda C: C,
    lambda C: C.parallelize(i),
    lambda C: C.vectorize(i, 4),
    lambda C: C.split(i, 4).unroll("i1", 4),
    lambda C: C.split(i, 8).parallelize("i0").vectorize("i1", 8),
    lambda C: C.reverse(i),
]


@pytest.mark.parametrize("commands", SCHEDULES)
@pytest.mark.parametrize("n", [0, 1, 7, 37])
def test_a_function_of_a_library(commands, n):
    x = tw.input("x", [N], tw.float64)
    g = tw.extern("lgamma", lgamma())
    y = tw.computation("y", {i: N}, 2 * g(x[i] + 1) - 1)
    f = tw.function("gammas", outputs=[y])
    commands(f["y"])
    given = np.linspace(0.5, 9, n)
    expected = np.array([2 * math.lgamma(v + 1) - 1 for v in given])
    np.testing.assert_allclose(run(f, given), expected, rtol=1e-14)


@pytest.mark.parametrize("commands", SCHEDULES)
def test_types_of_arguments_and_results(commands, library):
    c = ctypes
    cases = [
        (typed(library.scaled, c.c_double, c.c_double, c.c_double), np.float64, (0.5,), 1.0),
        (typed(library.halved, c.c_float, c.c_float), np.float32, (), 1.0),
        (typed(library.next8, c.c_int8, c.c_int8), np.int8, (), 1),
        (typed(library.both16, c.c_uint16, c.c_uint16, c.c_bool), np.uint16, (False,), 1),
        (typed(library.is_odd, c.c_bool, c.c_int64), np.int64, (), 1),
        (typed(library.wide, c.c_uint64, c.c_uint64, c.c_int32), np.uint64, (-5,), 1),
    ]
    for function, dtype, rest, _ in cases:
        x = tw.input("x", [N], dtype)
        g = tw.extern(function.__name__, function)
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i], *rest))])
        commands(f["y"])
        edges = [0, 1, 2, 100, 127]
        edges += [-1, -128] if np.issubdtype(dtype, np.signedinteger) else []
        given = np.array(edges * 3).astype(dtype)
        expected = [function(v.item(), *rest) for v in given]
        assert run(f, given).tolist() == expected, function.__name__
        assert f(given).dtype == g.result


def test_it_is_called_only_where_its_value_is_asked_for(library):
    """checked_root ends the process for a negative number."""
    root = tw.extern("checked_root", typed(library.checked_root, ctypes.c_int32, ctypes.c_int32))
    x, mask = tw.input("x", [N], tw.int32), tw.input("mask", [N], tw.bool)
    given = np.array([4, -1, 9, -7, 16, -3, 25, 36, -49, 50, 1, -1, -1], np.int32)
    expected = np.array([math.isqrt(v) if v >= 0 else -1 for v in given])
    chosen = tw.select(x[i] >= 0, root(x[i]), -1)
    guarded = tw.computation("y", {i: N}, root(x[i]), where=mask[i], otherwise=-1)
    for commands in SCHEDULES:
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, chosen)])
        commands(f["y"])
        np.testing.assert_array_equal(run(f, given), expected)
        h = tw.function("h", inputs=[x, mask], outputs=[guarded])
        commands(h["y"])
        np.testing.assert_array_equal(run(h, given, given >= 0), expected)
    short = tw.sum(root(x[k]), over={k: N}, where=x[k] >= 0)
    s = tw.function("s", outputs=[tw.computation("S", {}, short)])
    assert run(s, given) == expected[expected >= 0].sum()
    # The last lanes of a vector loop lie behind the array.
    plain = tw.function("p", outputs=[tw.computation("y", {i: N}, root(x[i]))])
    plain["y"].vectorize(i, 8)
    for n in range(12):
        np.testing.assert_array_equal(run(plain, np.full(n, 81, np.int32)), np.full(n, 9))


@pytest.mark.parametrize("order", [(i, j), (j, i)])
def test_within_reductions_and_other_calls(order):
    A = tw.input("A", [N, M], tw.float32)
    g = tw.extern("lgamma", lgamma())
    value = tw.sum(g(tw.abs(A[i, j]) + g(tw.float64(i + 2))), over={j: M}) + g(tw.float64(M))
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, value)])
    a = np.random.default_rng(1).standard_normal((5, 70)).astype(np.float32)
    want = [
        sum(math.lgamma(abs(float(v)) + math.lgamma(r + 2)) for v in row) + math.lgamma(70)
        for r, row in enumerate(a)
    ]
    np.testing.assert_allclose(f(a), want, rtol=1e-12)
    np.testing.assert_allclose(f.evaluate(a), want, rtol=1e-12)


def test_as_a_subscript_and_as_a_condition(library):
    root = tw.extern("checked_root", typed(library.checked_root, ctypes.c_int32, ctypes.c_int32))
    odd = tw.extern("is_odd", typed(library.is_odd, ctypes.c_bool, ctypes.c_int64))
    x = tw.input("x", [N], tw.int32)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[root(x[i])])])
    given = np.array([0, 1, 4, 9, 16], np.int32)
    np.testing.assert_array_equal(run(f, given), [0, 1, 4, 9, 16])
    with pytest.raises(tw.SubscriptError):
        f(np.array([0, 1, 100], np.int32))
    count = tw.sum(1, over={k: N}, where=odd(x[k]))
    c = tw.function("c", outputs=[tw.computation("n", {}, count)])
    assert run(c, given) == 2
    steps = tw.while_loop(lambda v: ~odd(v), lambda v: v // 2, tw.int64(x[i]), limit=40)
    w = tw.function("w", outputs=[tw.computation("y", {i: N}, steps)])
    np.testing.assert_array_equal(run(w, np.array([12, 7, 0], np.int32)), [3, 7, 0])


def test_an_address_a_callback_and_a_cfunc_of_numba():
    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    callback = prototype(lambda v: 3 * v)
    address = ctypes.cast(callback, ctypes.c_void_p).value

    class Compiled:  # what numba.cfunc gives
        def __init__(self):
            self.address, self.ctypes = address, callback

    x = tw.input("x", [N], tw.float64)
    given = np.arange(5.0)
    for g in (
        tw.extern("g", callback),
        tw.extern("g", address, [tw.float64], tw.float64),
        tw.extern("g", address, ["float64"], float),
        tw.extern("g", Compiled()),
    ):
        assert (g.name, g.arguments, g.result) == ("g", ("float64",), "float64")
        assert repr(g) == "<Extern g(float64) -> float64>"
        for commands in SCHEDULES:
            f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i]))])
            commands(f["y"])
            np.testing.assert_array_equal(run(f, given), 3 * given)


def test_one_name_at_two_addresses_is_two_functions(library):
    """The cache's key has the name and the types alone."""
    x = tw.input("x", [N], tw.float64)
    given = np.arange(4.0)
    functions = []
    for symbol, added in (("add_one", 1), ("add_two", 2), ("add_one", 1), ("add_two", 2)):
        g = tw.extern("g", typed(library[symbol], ctypes.c_double, ctypes.c_double))
        f = tw.function("same", outputs=[tw.computation("y", {i: N}, g(x[i]))])
        np.testing.assert_array_equal(run(f, given), given + added)
        functions.append((f, added))
    keys = {f.last_compile["key"] for f, _ in functions}
    assert len(keys) == 1
    assert [f.last_compile["from_cache"] for f, _ in functions][2:] == [True, True]
    _core.cache_clear_memory()
    for added in (2, 1):
        g = tw.extern(
            "g",
            typed(
                library["add_two" if added == 2 else "add_one"], ctypes.c_double, ctypes.c_double
            ),
        )
        f = tw.function("same", outputs=[tw.computation("y", {i: N}, g(x[i]))])
        np.testing.assert_array_equal(run(f, given), given + added)
    for f, added in functions:  # and those that were compiled before
        np.testing.assert_array_equal(f(given), given + added)
    one = tw.extern("g", typed(library.add_one, ctypes.c_double, ctypes.c_double))
    two = tw.extern("g", typed(library.add_two, ctypes.c_double, ctypes.c_double))
    y = tw.computation("y", {i: N}, one(x[i]) + two(x[i]))
    with pytest.raises(tw.DeclarationError, match="two different functions of C named g") as error:
        tw.function("both", outputs=[y])
    assert "two = tw.extern" in str(error.value) or "one = tw.extern" in str(error.value)


def test_the_key_has_names_and_types():
    x = tw.input("x", [N], tw.float64)
    address = ctypes.cast(lgamma(), ctypes.c_void_p).value
    texts = set()
    for name, arguments in (("g", [tw.float64]), ("h", [tw.float64]), ("g", [tw.float32])):
        g = tw.extern(name, address, arguments, tw.float64)
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(tw.float32(x[i])))])
        f.compile()
        texts.add(f.last_compile["key"])
    assert len(texts) == 3


def test_what_is_called_is_kept_as_long_as_what_calls_it():
    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    x = tw.input("x", [N], tw.float64)

    def made():
        callback = prototype(lambda v: v + 5)
        f = tw.function("f", outputs=[tw.computation("y", {i: N}, tw.extern("g", callback)(x[i]))])
        return f, weakref.ref(callback)

    f, kept = made()
    gc.collect()
    np.testing.assert_array_equal(f(np.zeros(3)), np.full(3, 5.0))
    assert kept() is not None
    f["y"].parallelize(i)
    np.testing.assert_array_equal(f(np.zeros(3)), np.full(3, 5.0))
    del f
    gc.collect()
    assert kept() is None


def test_printing():
    x = tw.input("x", [N], tw.float32)
    g = tw.extern("lgamma", lgamma())
    y = tw.computation("y", {i: N}, g(x[i] * 2) + g(1))
    f = tw.function("f", outputs=[y], default_schedule=False)
    assert str(g(x[i] * 2) + g(1)) == "lgamma(x[i] * 2.0) + lgamma(1.0)"
    assert "lgamma(float64(x[i] * 2.0))" in f.loops
    assert "tilewright_extern_lgamma" in f.llvm


# ---- other processes ----


def test_a_function_of_a_library_is_found_again_in_a_pickle(tmp_path):
    x = tw.input("x", [N], tw.float64)
    g = tw.extern("lg", lgamma())
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i]))])
    f["y"].parallelize(i)
    given = np.linspace(1, 5, 9)
    expected = f(given)
    for loaded in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), copy.copy(f)):
        np.testing.assert_array_equal(run(loaded, given), expected)
    expression = pickle.loads(pickle.dumps(g(x[i]) + 1))
    assert str(expression) == "lg(x[i]) + 1.0"
    again = pickle.loads(pickle.dumps(g))
    assert repr(again) == repr(g)
    file = tmp_path / "f.pickle"
    file.write_bytes(pickle.dumps(f))
    program = (
        "import pickle, sys, numpy as np, tilewright\n"
        f"f = pickle.load(open({str(file)!r}, 'rb'))\n"
        "print(f(np.linspace(1, 5, 9)).tolist(), f.last_compile['from_cache'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"{expected.tolist()} True"


def test_functions_without_a_library_cannot_be_pickled():
    callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda v: v)
    x = tw.input("x", [N], tw.float64)
    g = tw.extern("g", callback)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i]))])
    with pytest.raises(pickle.PicklingError, match=r"g\(float64\) -> float64 is a function at an"):
        pickle.dumps(f)
    np.testing.assert_array_equal(copy.deepcopy(f)(np.ones(2)), np.ones(2))


def test_a_library_that_is_gone(tmp_path, library):
    x = tw.input("x", [N], tw.float64)
    path = tmp_path / "own.so"
    path.write_bytes(pathlib.Path(library._name).read_bytes())
    own = ctypes.CDLL(str(path))
    g = tw.extern("add_one", typed(own.add_one, ctypes.c_double, ctypes.c_double))
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i]))])
    state = pickle.dumps(f)
    path.unlink()
    program = (
        "import pickle, tilewright\n"
        f"try: pickle.loads({state!r})\n"
        "except tilewright.DeclarationError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "the symbol add_one of the library" in done.stdout


# ---- dependences ----


def test_what_arguments_read_is_a_dependence(library):
    x = tw.input("x", [N + 1], tw.float64)
    g = tw.extern("add_one", typed(library.add_one, ctypes.c_double, ctypes.c_double))
    A = tw.computation("A", {i: N + 1}, 2 * x[i])
    C = tw.computation("C", {i: N}, g(A[i + 1]))
    f = tw.function("f", outputs=[C], default_schedule=False)
    with pytest.raises(tw.IllegalScheduleError, match=r"A\[1\] -> C\[0\]"):
        f["C"].after("A", i)


# ---- refusals ----


def test_python_functions_are_refused_with_the_way_out():
    with pytest.raises(tw.DeclarationTypeError, match=r"not the Python function .*numba\.cfunc"):
        tw.extern("g", lambda v: v, [tw.float64], tw.float64)
    with pytest.raises(
        tw.DeclarationTypeError, match="takes a ctypes function, a Numba cfunc or an"
    ):
        tw.extern("g", "lgamma")


@pytest.mark.parametrize("name", ["1g", "a b", "double", "tw_min", "tilewright_g", "größe", ""])
def test_names_that_are_refused(name):
    with pytest.raises(tw.DeclarationError, match="cannot be the name of a function of C"):
        tw.extern(name, lgamma())


def test_types_that_are_refused():
    untyped = ctypes.CDLL("libm.so.6").lgamma
    with pytest.raises(tw.DeclarationError, match="the types of g are not known: set argtypes"):
        tw.extern("g", untyped)
    with pytest.raises(
        tw.DeclarationError, match=r"result= of tw\.extern\('g', \.\.\.\) is float32"
    ):
        tw.extern("g", lgamma(), result=tw.float32)
    with pytest.raises(tw.DeclarationTypeError, match="an argument of g cannot be complex128"):
        tw.extern("g", 4096, [tw.complex128], tw.float64)
    with pytest.raises(tw.DeclarationTypeError, match="the result of g cannot be float16"):
        tw.extern("g", 4096, [tw.float64], tw.float16)
    pointer = typed(
        ctypes.CDLL("libm.so.6").modf, ctypes.c_double, ctypes.c_double, ctypes.c_void_p
    )
    with pytest.raises(tw.DeclarationTypeError, match="functions of single numbers"):
        tw.extern("modf", pointer)
    nothing = typed(ctypes.CDLL("libm.so.6").lgamma, None, ctypes.c_double)
    with pytest.raises(tw.DeclarationTypeError, match="gives nothing"):
        tw.extern("g", nothing)
    with pytest.raises(tw.DeclarationError, match="must be that of a function, got 0"):
        tw.extern("g", 0, [tw.float64], tw.float64)
    with pytest.raises(tw.DeclarationError, match="has no arguments"):
        tw.extern("g", 4096, [], tw.float64)
    python = ctypes.pythonapi.PyFloat_AsDouble
    with pytest.raises(tw.DeclarationTypeError, match="need Python's lock"):
        tw.extern("g", python, [tw.int64], tw.float64)


def test_arguments_that_are_refused():
    g = tw.extern("g", lgamma())
    x, z = tw.input("x", [N], tw.float64), tw.input("z", [N], tw.complex128)
    with pytest.raises(tw.DeclarationTypeError, match="takes 1 argument, not 2"):
        g(x[i], 1)
    with pytest.raises(tw.DeclarationTypeError, match=r"argument 0 of g\(float64\) .* complex128"):
        g(z[i])
    h = tw.extern("h", 4096, [tw.int32], tw.float64)
    with pytest.raises(tw.DeclarationTypeError, match=r"is int32, but 1.5 is of type float64"):
        h(1.5)
    with pytest.raises(tw.DeclarationTypeError, match=r"made by tw.extern"):
        tw.Extern("g")


def test_gpus_refuse_it():
    x = tw.input("x", [N], tw.float64)
    g = tw.extern("g", lgamma())
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, g(x[i]))], target="gpu-emulator")
    np.testing.assert_allclose(f(np.ones(3)), np.zeros(3))  # no loop is on the GPU
    f["y"].split(i, 32).gpu_block("i0").gpu_thread("i1")
    with pytest.raises(
        tw.ScheduleError, match=r"calls g, a function of C .* the emulator"
    ) as error:
        f(np.ones(3))
    assert 'g = tw.extern("g", lgamma())' in str(error.value)
    f.target = "cpu"
    np.testing.assert_allclose(f(np.ones(3)), np.zeros(3))
