"""program_of and f.alpha: functions of the other front doors said in Alpha, with the same values, as text that
reads back equal; what Alpha has no words for is refused by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alpha_programs import evaluated, results_of

import tilewright as tw

alpha = tw.alpha

N, M = (tw.param(name, minimum=1) for name in "NM")
i, j, k = tw.iters("i j k")
D = tw.input("D", [N], tw.float64)
F = tw.input("F", [N], tw.float32)
L = tw.input("L", [N], tw.int64)
I = tw.input("I", [N], tw.int32)
S = tw.input("S", [N], tw.int8)
U = tw.input("U", [N], tw.uint8)
B = tw.input("B", [N], tw.bool)

RANDOM = np.random.default_rng(4)
SIZE = 7
ARRAYS: dict[str, Any] = {
    "D": RANDOM.uniform(-1, 1, SIZE),
    "F": RANDOM.uniform(-1, 1, SIZE).astype(np.float32),
    "L": RANDOM.integers(-9, 9, SIZE),
    "I": RANDOM.integers(-(2**31), 2**31 - 1, SIZE, dtype=np.int32),
    "S": RANDOM.integers(-128, 127, SIZE, dtype=np.int8),
    "U": RANDOM.integers(0, 255, SIZE, dtype=np.uint8),
    "B": RANDOM.random(SIZE) > 0.5,
}


def said(function: tw.Function) -> alpha.Program:
    """The program, which reads back equal."""
    program = alpha.program_of(function)
    assert str(function.alpha) == str(program)
    externs = program._externs
    assert alpha.load(str(program), externs=externs) == program
    assert alpha.load(program.show(), externs=externs) == program
    return program


def same(function: tw.Function, program: alpha.Program, *arrays: Any, **given: Any) -> None:
    own = program[next(iter(program))]
    expected = evaluated(function, *arrays, **given)
    for found in (evaluated(own, *arrays, **given), results_of(own, *arrays, **given)):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-6)


EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "affine": lambda: i * 2 + 1,
    "index": lambda: tw.cast(i, tw.float64) * D[i],
    "stride": lambda: L[i // 2] + L[(i * 2) % 3 % N] if False else L[i // 2],
    "narrow": lambda: S[i] + S[N - 1 - i],
    "narrow in wide": lambda: (S[i] * 2) + L[i],
    "unsigned": lambda: tw.maximum(U[i] + U[i], 3),
    "unsigned and long": lambda: U[i] - L[i],
    "wraps": lambda: I[i] * I[i],
    "widened": lambda: I[i] + L[i],
    "fractions": lambda: F[i] * D[i] / 3,
    "single": lambda: F[i] * 2.5 + 1,
    "floor division": lambda: L[i] // 3 - 7 // (L[i] * 0 + 2),
    "remainder": lambda: L[i] % 5 + L[i] % L[N - 1 - i],
    "cast down": lambda: tw.cast(I[i], tw.int8),
    "cast to integer": lambda: tw.cast(D[i] * 10, tw.int32) + 1,
    "cast of a truth": lambda: tw.cast(B[i], tw.int64) + L[i],
    "truth of a number": lambda: tw.cast(L[i], tw.bool),
    "logic": lambda: (B[i] & (D[i] > 0)) | ~B[i],
    "comparison": lambda: L[i] == L[N - 1 - i],
    "select": lambda: tw.select(B[i], L[i], -L[i]),
    "select by index": lambda: tw.select(i > 0, L[i - 1], 7),
    "select by parity": lambda: tw.select(i % 2 == 0, L[i], L[i // 2]),
    "functions": lambda: tw.sqrt(abs(D[i])) + tw.arctan2(D[i], D[i] + 2) + tw.exp(D[i]),
    "single functions": lambda: tw.exp(F[i]) + abs(F[i]),
    "power": lambda: D[i] ** 3 + F[i] ** 2,
    "absolute": lambda: abs(L[i]),
    "not a number": lambda: tw.isnan(D[i] / 0.0),
    "infinite": lambda: tw.minimum(D[i], float("inf")) + -0.0,
    "sum": lambda: tw.sum(D[k], over={k: i}),
    "sum of narrow": lambda: tw.sum(S[k], over={k: N}),
    "sum where": lambda: tw.sum(L[k], over={k: N}, where=L[k] > 0),
    "maximum": lambda: tw.max(L[k], over={k: (i, N)}),
    "minimum of none": lambda: tw.min(D[k], over={k: i}),
    "minimum of no truths": lambda: tw.min(B[k], over={k: i}),
    "maximum of no truths": lambda: tw.max(B[k], over={k: i}),
    "minimum of no unsigned": lambda: tw.min(tw.cast(L[k], tw.uint64), over={k: i}),
    "strided product": lambda: tw.prod(F[k], over={k: (0, N, 2)}),
    "any": lambda: tw.any(B[k], over={k: i + 1}),
    "nested": lambda: tw.sum(D[k] * tw.max(D[j], over={j: k + 1}), over={k: i + 1}),
    "data condition": lambda: tw.sum(D[k], over={k: N}, where=(k <= i) & (D[k] > 0)),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name: str) -> None:
    function = tw.function("f", outputs=[tw.computation("Y", {i: N}, EXPRESSIONS[name]())])
    given = {each: ARRAYS[each] for each in function.inputs} or {"N": SIZE}
    same(function, said(function), **given)


def test_matrix_product_is_said_as_people_write_it() -> None:
    a, b = tw.input("A", [N, M], tw.float32), tw.input("B", [M, N], tw.float32)
    c = tw.computation("C", {i: N, j: N}, tw.sum(a[i, k] * b[k, j], over={k: M}))
    program = said(tw.function("matmul", outputs=[c]))
    assert "C[i,j] = reduce(+, [k], {| 0<=k<M} : A[i,k] * B[k,j]);" in str(program)
    assert list(program) == ["matmul"]
    assert alpha.system_of(tw.function("matmul", outputs=[c])).name == "matmul"


@pytest.mark.parametrize(
    ("extent", "step"),
    [(N // 2, 2), ((N + 1) // 2, 2), ((N + 2) // 3, 3)],
    ids=["down", "up", "third"],
)
def test_outputs_of_a_part_of_the_size(extent: Any, step: int) -> None:
    function = tw.function("part", outputs=[tw.computation("Y", {i: extent}, L[step * i])])
    program = said(function)
    for size in (1, 2, 3, 7, 8):
        same(function, program, L=ARRAYS["L"][:1].repeat(size) + np.arange(size))


def test_recurrences_views_and_several_outputs() -> None:
    t, x = tw.iters("t x")
    steps = tw.param("T", minimum=1)
    u = tw.computation("u", {t: steps, x: N}, dtype=tw.float64)
    u.define(t == 0, D[x])
    u.define((t > 0) & (x > 0) & (x < N - 1), (u[t - 1, x - 1] + u[t - 1, x + 1]) / 2)
    u.define((t > 0) & ((x == 0) | (x == N - 1)), u[t - 1, x])
    last = tw.view("last", {x: N}, u[steps - 1, x])
    first = tw.computation("first", {}, u[0, 0] * 2)
    function = tw.function("heat", outputs=[last, first])
    same(function, said(function), ARRAYS["D"], T=5)


def test_transformations_of_a_python_declaration() -> None:
    total = tw.computation("Y", {i: N}, tw.sum(L[k], over={k: i + 1}))
    function = tw.function("prefix", outputs=[total])
    program = said(function)
    simplified, report = alpha.simplify_reductions(program)
    assert (report.before.degree, report.after.degree) == (2, 1)
    same(function, simplified, ARRAYS["L"])
    serial = alpha.SerializeReduction(program, "[0, 0, 0]", "(i,k->i,k)")
    same(function, alpha.Normalize(serial), ARRAYS["L"])
    scanned = simplified["prefix"]["Y"].scan_blocks(4)
    np.testing.assert_array_equal(scanned(ARRAYS["L"]), np.cumsum(ARRAYS["L"]))
    # What scan_blocks makes is affine, too.
    same(scanned, said(scanned), ARRAYS["L"])


def test_names_that_are_words_of_the_language() -> None:
    case, val = tw.param("case", minimum=1), tw.iter("val")
    given = tw.input("input", [case], tw.int64)
    let = tw.computation("let", {val: case}, given[val] + val)
    function = tw.function("reduce", outputs=[let])
    program = said(function)
    (own,) = program.systems.values()
    np.testing.assert_array_equal(program[own.name](ARRAYS["L"]), function(ARRAYS["L"]))


def test_external_functions_come_along() -> None:
    libm = ctypes.CDLL("libm.so.6")
    libm.tgamma.argtypes, libm.tgamma.restype = [ctypes.c_double], ctypes.c_double
    gamma = tw.extern("tgamma", libm.tgamma)
    function = tw.function("f", outputs=[tw.computation("Y", {i: N}, gamma(D[i] + 2))])
    program = said(function)
    assert "double tgamma(double);" in str(program)
    same(function, program, ARRAYS["D"])


def test_functions_of_c_need_not_be_given() -> None:
    text = """
    double hypot(double, double);
    float sqrtf(float);
    affine f {N | N>0}
      input double A {i | 0<=i<N}; float B {i | 0<=i<N};
      output double X {i | 0<=i<N}; float Y {i | 0<=i<N};
      let X[i] = hypot(A[i], 2.0); Y[i] = sqrtf(B[i]);
    .
    """
    x, y = alpha.load(text)["f"](ARRAYS["D"], abs(ARRAYS["F"]))
    np.testing.assert_allclose(x, np.hypot(ARRAYS["D"], 2))
    np.testing.assert_allclose(y, np.sqrt(abs(ARRAYS["F"])))


def test_programs_of_alpha_are_themselves() -> None:
    program = alpha.load("""affine one {N | N>0} input long A {i|0<=i<N};
        output long B {i|0<=i<N}; let B[i] = A[i] + 1; .""")
    assert alpha.program_of(program["one"]) is program
    assert alpha.system_of(program["one"]) is program.system("one")


def fold_function() -> tw.Expression:
    found: tw.Expression = tw.fold(lambda s, v: s * 2 + v, 0.0, D[k], over={k: N})
    return found


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "bits": (lambda: L[i] & 3, "Alpha has no operation for & of int64"),
    "shift": (lambda: L[i] << 1, "Alpha has no operation for << of int64"),
    "complex": (lambda: D[i] * 1j, "Alpha has no type complex128"),
    "position": (lambda: tw.argmax(D[k], over={k: N}), "the position of an extremum"),
    "fold": (fold_function, "a fold is no reduction of Alpha"),
    "gather": (lambda: D[tw.clamp(L[i], 0, N - 1)], "at a place that data give"),
    "bits of a number": (lambda: tw.bit_count(L[i]), "Alpha has no function bitcount"),
    "ordered": (lambda: tw.sum(D[k], over={k: N}, ordered=True), "keeps the order of its terms"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_alpha_has_no_words_for(name: str) -> None:
    make, message = REFUSED[name]
    function = tw.function("f", outputs=[tw.computation("Y", {i: N}, make())])
    with pytest.raises(tw.DeclarationError, match=f"Y of f cannot be said in Alpha: .*{message}"):
        alpha.program_of(function)
    with pytest.raises(tw.DeclarationError, match="cannot be said in Alpha"):
        _ = function.alpha


def test_arguments_are_checked() -> None:
    for junk in (None, 3, "f", alpha):
        with pytest.raises(tw.DeclarationTypeError, match="takes a function"):
            alpha.program_of(junk)  # type: ignore[arg-type]
        with pytest.raises(tw.DeclarationTypeError, match="takes a function"):
            alpha.system_of(junk)  # type: ignore[arg-type]


def test_c_is_said_in_alpha() -> None:
    module = tw.c.load("""
    void smooth(int t, int n, double A[n]) {
    #pragma scop
      for (int s = 0; s < t; s++)
        for (int i = 1; i < n - 1; i++)
          A[i] = (A[i-1] + A[i] + A[i+1]) / 3.0;
    #pragma endscop
    }""")
    program = alpha.program_of(module.smooth)
    assert alpha.load(str(program)) == program
    assert "S1[s-1,i+1]" in str(program)
    values = np.random.default_rng(1).random(9)
    found = program["smooth"](values, t=3)
    module.smooth(3, len(values), values)
    np.testing.assert_array_equal(found, values)


@tw.jit
def lu_loops(A):  # type: ignore[no-untyped-def]
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, A.shape[0]):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]


@tw.jit
def seidel_loops(A):  # type: ignore[no-untyped-def]
    for _t in range(3):
        for i in range(1, A.shape[0] - 1):
            for j in range(A.shape[1] - 2, 0, -1):
                A[i, j] = (A[i - 1, j] + A[i, j + 1] + A[i, j]) * 0.25


@pytest.mark.parametrize("loops", [lu_loops, seidel_loops])
def test_python_loops_that_work_in_place(loops: Any) -> None:
    a = np.random.default_rng(4).random((6, 6)) + 3 * np.eye(6)
    function = loops.inspect(a)
    program = alpha.load(function.alpha)
    assert alpha.load(str(program)) == program
    given = np.copy(a)
    loops(given)
    found = program[next(iter(program))](a)
    np.testing.assert_array_equal(found, given)
