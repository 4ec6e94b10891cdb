"""Programs over memory as functions: against the interpreter, bit for bit, in place."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judged import check, check_evaluator, copied, expected, random_commands, same
from random_programs import Programs
from small_language import program

import tilewright as tw
from tilewright.frontends.dataflow import to_function
from tilewright.frontends.interpreter import interpret

RANDOM = np.random.default_rng(1)


def arrays(**shapes):
    return {name: RANDOM.standard_normal(shape) for name, shape in shapes.items()}


GEMM = """
for i in range(N):
    for j in range(N):
        C[i, j] = C[i, j] * beta
    for k in range(N):
        for j in range(N):
            C[i, j] = C[i, j] + alpha * A[i, k] * B[k, j]
"""
SEIDEL = """
for t in range(T):
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5.0
"""
JACOBI = """
for t in range(T):
    for i in range(1, N - 1):
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
    for i in range(1, N - 1):
        a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])
"""
LU = """
for i in range(N):
    for j in range(i):
        for k in range(j):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
        A[i, j] = A[i, j] / A[j, j]
    for j in range(i, N):
        for k in range(i):
            A[i, j] = A[i, j] - A[i, k] * A[k, j]
"""
PROGRAMS = {
    "gemm": (GEMM, {"A": "N N", "B": "N N", "C": "N N", "alpha": "", "beta": ""}),
    "seidel": (SEIDEL, {"A": "N N"}),
    "jacobi": (JACOBI, {"a": "N", "b": "N"}),
    "lu": (LU, {"A": "N N"}),
    "prefix sum": ("for i in range(1, N):\n    a[i] = a[i] + a[i - 1]", {"a": "N"}),
    "back substitution": (
        "for i in range(N - 1, -1, -1):\n"
        "    s = b[i]\n"
        "    for j in range(i + 1, N):\n"
        "        s = s - A[i, j] * x[j]\n"
        "    x[i] = s / A[i, i]",
        {"A": "N N", "b": "N", "x": "N"},
    ),
    "every third, backwards": (
        "for i in range(N - 1, 0, -3):\n    a[i] = a[i - 1] + a[N - 1]",
        {"a": "N"},
    ),
    "a scalar that is known": (
        "k = 1\nfor i in range(N - 2):\n    m = i + k\n    a[m] = a[m + 1] * b[k]",
        {"a": "N", "b": "N"},
    ),
    "guards": (
        "for i in range(N):\n"
        "    if a[i] > 0.0 and i > 1:\n"
        "        a[i] = b[i]\n"
        "        b[i] = a[i - 1]\n"
        "    else:\n"
        "        b[i] = a[i] + 1.0",
        {"a": "N", "b": "N"},
    ),
    "listing 2": (
        "for i in range(N):\n"
        "    for j in range(N):\n"
        "        if A[i, j] > 0.0:\n"
        "            continue\n"
        "        a[i] = a[i] + A[i, j]",
        {"A": "N N", "a": "N"},
    ),
    "listing 3": (
        "for i in range(N):\n    if a[i] > 0.0:\n        t = a[i]\n        b[i] = t",
        {"a": "N", "b": "N"},
    ),
    "leaving loops": (
        "assert N > 0\n"
        "for i in range(N):\n"
        "    if a[i] > 1.0:\n"
        "        break\n"
        "    for j in range(N):\n"
        "        if A[i, j] > 1.5:\n"
        "            return\n"
        "        if A[i, j] < 0.0:\n"
        "            if j > 2:\n"
        "                continue\n"
        "            a[j] = a[j] + 1.0\n"
        "        b[i] = b[i] + A[i, j]\n"
        "a[0] = 3.0",
        {"A": "N N", "a": "N", "b": "N"},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    text, extents = PROGRAMS[name]
    tree = program(text, extents, "N T")
    for n in (1, 2, 7) if "assert" in text else (0, 1, 2, 7):
        values = {"N": n, "T": 3}
        for array, shape in extents.items():
            values[array] = RANDOM.standard_normal([n] * len(shape.split()))
        function = check(tree, values)
        check_evaluator(function, tree, values)


def test_loops_are_those_of_the_program():
    function = to_function(program(GEMM, PROGRAMS["gemm"][1], "N"))
    assert (
        str(function.loops)
        == """\
for i in range(0, N):
  for j in range(0, N):
    C[i, j] = C[i, j] * beta[()]
  for k in range(0, N):
    for j in range(0, N):
      C[i, j] = C[i, j] + alpha[()] * A[i, k] * B[k, j]"""
    )
    function["S2"].interchange("k", "j")
    function["S1"].parallelize("i")
    with pytest.raises(tw.IllegalScheduleError):
        function["S2"].reverse("k")


def test_an_assumption_makes_a_loop_parallel():
    """Listing 7: without m > n, iteration i may read what iteration i - m wrote."""
    text = "for i in range(n):\n    A[i] = A[i + m]"
    extents = {"A": "n+m"}
    with pytest.raises(tw.IllegalScheduleError):
        to_function(program(text, extents, "n m"))["S1"].parallelize("i")
    assumed = program("assert m > n\n" + text, extents, "n m")
    function = to_function(assumed)
    function["S1"].parallelize("i")
    values = {"n": 4, "m": 5, "A": RANDOM.standard_normal(9)}
    wanted = expected(assumed, values)
    found = copied(values)
    function(**found)
    same(found, wanted)
    with pytest.raises(tw.ArgumentError):
        function(5, 4, np.zeros(9))


def test_an_assumption_inside_of_a_choice_is_not_asked_of_every_call():
    text = "if n > 3:\n    assert m > n\n    A[0] = 1.0\nA[1] = 2.0"
    function = to_function(program(text, {"A": "n+2"}, "n m"))
    a = np.zeros(3)
    function(1, 0, a)
    np.testing.assert_array_equal(a, [0, 2, 0])


def test_listing_12():
    text = """
for i in range(N):
    for k in range(1, N):
        a0 = a[i, k]
        am1 = a[i, k - 1]
        x[i, k] = a0 + am1
for i in range(N):
    for k in range(N - 1):
        a0 = a[i, k]
        rho[i, k] = a0 * x[i, k]
"""
    tree = program(text, {"a": "N N", "x": "N N", "rho": "N N"}, "N")
    values = {"N": 5, **arrays(a=(5, 5), x=(5, 5), rho=(5, 5))}
    function = check(tree, values)
    # The scalar's place is what forbids more; its values do not.
    for name in ("S1", "S2", "S4"):
        function[name].auto_allocate_map()
    for name in ("S1", "S2", "S3", "S4", "S5"):
        function[name].parallelize("i")
    found = copied(values)
    function(**found)
    same(found, expected(tree, values))


def test_scatters_and_gathers():
    types = {"p": "int64"}
    histogram = program(
        "for i in range(N):\n    a[p[i]] = a[p[i]] + b[i]",
        {"a": "M", "b": "N", "p": "N"},
        "N M",
        types,
    )
    values = {"N": 9, "M": 4, **arrays(a=4, b=9), "p": RANDOM.integers(0, 4, 9)}
    function = check(histogram, values)
    assert "index = p[i]" in str(function.loops)  # no loop over all elements
    for text in (
        "for t in range(T):\n    for i in range(N):\n        a[i] = b[i] + 0.5 * a[p[i]]",
        "for i in range(N):\n    a[p[i]] = a[N - 1 - i]\n    b[i] = a[p[i]]",
        "for i in range(N):\n    p[p[i]] = i\nfor i in range(N):\n    b[p[i]] = a[i]",
        "for i in range(N):\n    if a[i] > 0.0:\n        a[p[i]] = a[i] + a[p[i]]",
    ):
        tree = program(text, {"a": "N", "b": "N", "p": "N"}, "N T", types)
        check(tree, {"N": 6, "T": 2, **arrays(a=6, b=6), "p": RANDOM.permutation(6)})


def test_a_parallel_loop_is_proved():
    text = """
for i in prange(N):
    s = 0.0
    for j in range(N):
        s = s + A[i, j]
    x[i] = s
"""
    tree = program(text, {"A": "N N", "x": "N"}, "N")
    function = check(tree, {"N": 6, **arrays(A=(6, 6), x=6)})
    assert "# parallel" in str(function.loops)
    with pytest.raises(tw.IllegalScheduleError):
        to_function(program("for i in prange(1, N):\n    x[i] = x[i - 1]", {"x": "N"}, "N"))


def test_a_kill_ends_what_an_array_holds():
    tree = program(
        "del w\nfor i in range(N):\n    w[i] = a[i]\n    b[i] = w[i]\ndel w",
        {"a": "N", "b": "N", "w": "N"},
        "N",
    )
    function = to_function(tree)
    assert function.outputs == ["b_out"]
    values = {"N": 4, **arrays(a=4, b=4, w=4)}
    found = copied(values)
    function(**found)
    np.testing.assert_array_equal(found["b"], values["a"])


def test_calls():
    function = to_function(program("for i in range(N):\n    a[i] = 2.0 * a[i]", {"a": "N"}, "N"))
    a = np.arange(4.0)
    assert function(4, a) is None
    np.testing.assert_array_equal(a, [0, 2, 4, 6])
    function(N=4, a=a[::-1])
    np.testing.assert_array_equal(a, [0, 4, 8, 12])
    with pytest.raises(tw.ArgumentTypeError, match="misses a"):
        function(4)
    with pytest.raises(tw.ArgumentTypeError, match="several values"):
        function(4, a, N=4)
    with pytest.raises(tw.ArgumentTypeError, match="no argument 'b'"):
        function(4, a, b=a)
    with pytest.raises(tw.ArgumentTypeError, match="takes 2 arguments"):
        function(4, a, 5)
    with pytest.raises(tw.ArgumentError):
        function(5, a)
    assert "a[i]" in str(function.loops) and "S1" in str(function.layers)


def test_an_output_that_is_stored_elsewhere_still_arrives():
    function = to_function(program("for i in range(N):\n    a[i] = 2.0 * a[i]", {"a": "N"}, "N"))
    function["a_out"].auto_allocate_map()
    a = np.arange(4.0)
    function(4, a)
    np.testing.assert_array_equal(a, [0, 2, 4, 6])


@pytest.mark.parametrize(
    "text",
    [
        "x[0] = 1.0\nwhile x[0] < 20.0:\n    x[0] = x[0] + 1.0\n    x[N] = x[0] - x[N]",
        "for i in range(N):\n    for j in range(p[i]):\n        x[j] = x[j] + 1.0",
        "for i in range(N):\n    for j in range(p[i], 0, -2):\n        x[N - j] = x[j] + 1.0",
        "for i in range(N):\n    while x[i] < p[i]:\n        x[i] = x[i] + 1.0\n"
        "        if x[i] == 2.0:\n            break",
    ],
)
def test_data_decide_how_often_loops_run(text):
    tree = program(text, {"x": "N+1", "p": "N"}, "N", {"p": "int64"})
    function = to_function(tree)
    x, p = np.arange(6.0) % 3, np.array([3, 0, 5, 1, 2])
    want = x.copy()
    interpret(tree, {"x": want, "p": p, "N": 5})
    evaluated = function.evaluate(N=5, x=x, p=p)["x"]
    function(N=5, x=x, p=p)
    np.testing.assert_array_equal(x, want)
    np.testing.assert_array_equal(evaluated, want)


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("break", "outside of loops", 1),
        ("y = x[0]", "leaves nothing", 1),
    ],
)
def test_refusals_have_a_place(text, reason, line):
    tree = program(text, {"x": "N+1", "p": "N"}, "N", {"p": "int64"})
    with pytest.raises(tw.TranslationError, match=reason) as refused:
        to_function(tree)
    assert refused.value.line == line
    assert refused.value.file == "<small>"


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
@given(st.integers(0, 2**32), st.sampled_from([(False, False), (True, False), (False, True)]))
def test_random_programs(seed, kind):
    random = Random(seed)
    made = Programs(random, *kind)
    tree = made.program()
    values = made.arguments()
    try:
        wanted = expected(tree, values)
    except IndexError:
        return  # a random subscript is outside of its array
    try:
        function = to_function(tree)
    except tw.DomainError:
        return  # the checker of declarations could not follow the choice among many sources
    except tw.TranslationError as refused:
        assert "leaves nothing" in str(refused)
        return
    found = copied(values)
    function(**found)
    same(found, wanted)
    random_commands(function, random)
    found = copied(values)
    function(**found)
    same(found, wanted)


def test_what_takes_too_long_is_refused_at_its_place(monkeypatch):
    def endless(scanned):
        raise tw.AnalysisLimitError("dataflow: more operations than its limit allows; simplify it")

    monkeypatch.setattr("tilewright.frontends.dataflow.memory_of", endless)
    reason = (
        r"the dataflow of small takes too long to find \(dataflow: more [\w ]*\): divide its loops"
    )
    with pytest.raises(tw.TranslationError, match=reason) as refusal:
        to_function(program(GEMM, PROGRAMS["gemm"][1], "N"))
    assert (refusal.value.file, refusal.value.line) == ("<small>", 1)
