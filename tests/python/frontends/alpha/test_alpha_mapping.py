"""Target mappings: sections 7 and 9.2 of the report by number, and systems that run under them."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_alpha_report import FIGURE_1, jacobi

import tilewright as tw

alpha = tw.alpha
RNG = np.random.default_rng(11)


def figure_1(a: str = "(t,i->t,i)", aout: str = "(i->T+1,i)") -> alpha.Program:
    p = alpha.load(FIGURE_1)
    return alpha.SetSTMap(alpha.SetSTMap(p, "A", a), "Aout", aout)


def runs(p: alpha.Program, steps: int = 7, size: int = 33) -> str:
    """The loops; the result is what NumPy has."""
    x = RNG.random(size)
    np.testing.assert_allclose(p["jacobi1D"](x, T=steps), jacobi(x, steps), rtol=1e-13)
    return str(p["jacobi1D"].loops)


# ---- section 7.1 ----


def test_7_1_1_skewing_script() -> None:
    """The report's script maps A alone; Aout needs it and runs after it."""
    loops = runs(alpha.SetSTMap(alpha.load(FIGURE_1), "A", "(t,i->t,i+t)"))
    assert "for t2 in range(t + 1, N + t - 1):" in loops
    assert loops.index("Aout[") > loops.rindex("A[t,")


def test_7_1_1_permutation() -> None:
    p = alpha.load("""affine t {N,M|N>0 && M>0} input long A {i,j|0<=i<N && 0<=j<M};
      output long B {i,j|0<=i<N && 0<=j<M}; let B[i,j] = 2*A[i,j];""")
    a = RNG.integers(0, 99, (3, 5))
    for text, first in (("(i,j->j,i)", "j"), ("(i,j->i,j)", "i")):
        q = alpha.SetSTMap(p, "B", text)
        np.testing.assert_array_equal(q["t"](a), 2 * a)
        assert str(q["t"].loops).startswith(f"for {first} in")


def test_7_1_restriction_one_number_of_dimensions() -> None:
    with pytest.raises(tw.DeclarationError, match=r"one number of dimensions.*A 2, Aout 1"):
        _ = figure_1(aout="(i->T+1)")["jacobi1D"]
    answer = alpha.verify(figure_1(aout="(i->T+1)"))
    assert not answer and "A 2, Aout 1" in str(answer)


def test_7_1_restriction_bijective() -> None:
    p = figure_1(a="(t,i->t,0)", aout="(i->T+1,i)")
    answer = alpha.verify(p)
    assert "gives two instances one time: A[0, " in str(answer.problems[0])
    with pytest.raises(tw.ScheduleError, match="same time"):
        _ = p["jacobi1D"]


def test_7_1_2_parallel_inner_loop_and_the_script_as_it_is_printed() -> None:
    p = alpha.SetDimensionType(figure_1(), 1, "parallel")
    assert runs(p).count("# parallel") == 3
    printed = alpha.SetDimensionType(figure_1(aout="(i)->(T-1,i)"), 1, "parallel")
    with pytest.raises(tw.IllegalScheduleError, match="Aout reads what A"):
        _ = printed["jacobi1D"]
    answer = alpha.verify(printed)
    (wrong,) = answer.violations
    assert isinstance(wrong, tw.alpha.verifier.DependenceVerdict)
    assert (wrong.consumer, wrong.producer, wrong.text) == ("Aout", "A", "A[T,i]")
    row = wrong.dimensions[0]
    assert row.verdict == "violated"
    assert row.domain == tw.Set("[N, T] -> { Aout[i] : 0 <= i < N }")
    assert wrong.witness is not None
    reader, source = wrong.witness.instances
    sizes = wrong.witness.parameters
    assert reader.point == (source.point[1],) and source.point[0] == sizes["T"]
    assert reader.time == (sizes["T"] - 1, reader.point[0]) < source.time


def test_7_1_2_at_the_same_time_is_not_after() -> None:
    answer = alpha.verify(figure_1(aout="(i->T,i)"))
    assert not answer and answer.dependences[-1].verdict == "weak"
    assert alpha.verify(figure_1(aout="(i->T+1,i)"))


ORDERED = """affine t {N|N>1} input long A {i,j|0<=(i,j)<N}; output long S1,S2 {i,j|0<=(i,j)<N};
  let S1[i,j] = A[i,j]; S2[i,j] = S1[i,N-1-j];"""


def test_7_1_3_ordering_dimensions() -> None:
    p = alpha.SetSTMap(alpha.load(ORDERED), "S1", "(i,j->i,0,j)")
    p = alpha.SetDimensionType(alpha.SetSTMap(p, "S2", "(i,j->i,1,j)"), 1, "ordering")
    a = RNG.integers(0, 9, (4, 4))
    for found, expected in zip(p["t"](a), (a, a[:, ::-1]), strict=True):
        np.testing.assert_array_equal(found, expected)
    loops = [line.strip() for line in str(p["t"].loops).splitlines()]
    assert loops == [
        "for i in range(0, N):", "for j in range(0, N):", "S1[i, j] = A[i, j]",
        "for j in range(0, N):", "S2[i, j] = S1[i, N - j - 1]"]  # fmt: skip
    assert alpha.verify(p)
    moved = alpha.SetSTMap(p, "S2", "(i,j->i,j,1)")
    assert "is no constant" in str(alpha.verify(moved).problems[0])


# ---- section 7.2 ----


def test_7_2_ping_pong_script() -> None:
    """The script gives no times: equations run in the order of their dependences."""
    p = alpha.SetMemoryMapping(alpha.load(FIGURE_1), "A", "(t,i->t,i)", "2,0")
    assert "A_memory = empty((2, N), float64)" in runs(p)
    assert alpha.verify(p)
    one = alpha.SetMemoryMapping(alpha.load(FIGURE_1), "A", "(t,i->t,i)", "1,0")
    assert not alpha.verify(one)
    with pytest.raises(tw.IllegalScheduleError):
        _ = one["jacobi1D"]


def test_7_2_projection_and_shared_memory() -> None:
    p = alpha.load("""affine t {N|N>0} input long A {i|0<=i<N}; output long Z {i|0<=i<N};
      local long X, Y {i|0<=i<N}; let X[i] = 2*A[i]; Y[i] = X[i]+1; Z[i] = 3*Y[i];""")
    for name, time in (("X", "(i->i,0)"), ("Y", "(i->i,1)"), ("Z", "(i->i,2)")):
        p = alpha.SetSTMap(p, name, time)
    scalar = alpha.SetMemoryMapping(alpha.SetMemoryMapping(p, "X", "(i->0)"), "Y", "(i->0)")
    shared = alpha.SetMemorySpace(scalar, "cell", "X, Y")
    a = RNG.integers(0, 99, 9)
    for q in (p, scalar, shared, alpha.SetMemorySpace(p, "row", "X,Y")):
        assert alpha.verify(q)
        np.testing.assert_array_equal(q["t"](a), 3 * (2 * a + 1))
    assert "X_memory" not in str(shared["t"].loops) and "cell" in str(shared["t"].loops)
    late = alpha.SetSTMap(alpha.SetSTMap(scalar, "Y", "(i->N+i,1)"), "Z", "(i->N+i,2)")
    answer = alpha.verify(late)
    (wrong,) = answer.violations
    assert wrong.witness is not None and len(wrong.witness.instances) == 3
    with pytest.raises(tw.IllegalScheduleError):
        _ = late["t"]


MATRIX = """affine mm {N|N>0} input double A,B {i,j|0<=(i,j)<N}; output double C {i,j|0<=(i,j)<N};
  let C[i,j] = reduce(+, [k], A[i,k]*B[k,j]);"""


@pytest.mark.parametrize(
    ("time", "types", "tiling"),
    [("(i,j->i,j)", {}, None), ("(i,j,k->i,k,j)", {}, None),
     ("(i,j,k->k,i,j)", {1: "parallel"}, None), ("(i,j->j,i)", {0: "parallel"}, ("0,1", "4,4")),
     ("(i,j,k->i,j,k)", {0: "parallel"}, ("0,1,2", "4,3,2")),
     ("(i,j,k->i,j,k)", {}, ("0,1,2", "4,3,2", "wavefront"))],
)  # fmt: skip
def test_7_2_1_reductions_by_answer_and_by_body(
    time: str, types: dict[int, str], tiling: tuple[str, ...] | None
) -> None:
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", time)
    for number, kind in types.items():
        p = alpha.SetDimensionType(p, number, kind)
    p = alpha.SetTiling(p, *tiling) if tiling else p
    a, b = RNG.random((2, 9, 9))
    assert alpha.verify(p)
    np.testing.assert_allclose(p["mm"](a, b), a @ b, rtol=1e-12)


def test_7_2_1_the_body_must_be_the_whole_equation() -> None:
    p = alpha.load(MATRIX.replace("A[i,k]*B[k,j])", "A[i,k]*B[k,j]) + 1"))
    with pytest.raises(tw.DeclarationError, match="must take 2 indices"):
        alpha.SetSTMap(p, "C", "(i,j,k->i,j,k)")
    a, b = RNG.random((2, 5, 5))
    q = alpha.SetDimensionType(alpha.SetSTMap(p, "C", "(i,j->i,j)"), 0, "parallel")
    np.testing.assert_allclose(q["mm"](a, b), a @ b + 1, rtol=1e-12)


def test_7_2_1_a_parallel_loop_must_not_carry_a_sum() -> None:
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->k,i,j)")
    p = alpha.SetDimensionType(p, 0, "parallel")
    (wrong,) = alpha.verify(p).violations
    assert isinstance(wrong, tw.alpha.verifier.DependenceVerdict)
    assert wrong.kind == "accumulation" and wrong.dimensions[0].verdict == "violated"
    with pytest.raises(tw.IllegalScheduleError):
        _ = p["mm"]


SKEWED = """affine cv {N|N>3} input long A {i|0<=i<N}; input long B {i,j|0<=(i,j)<N};
  output long D, E {i|0<=i<N}; output long C {i|0<=i<2N-1};
  let D[i] = case {|i==0} : A[0];
    {|i>0} : 2*reduce(max, [j], {|0<=j<i} : A[j]*reduce(+, [k], B[j,k]+[i])) + reduce(max, [j], A[j]);
    esac;
  E[i] = (i->)@reduce(+, (j->), A[j]) + D[i];
  C[i] = reduce(+, (i,j->i+j), (i,j->i)@A * (i,j->j)@D);"""


@pytest.mark.parametrize(("dimension", "kind"), [(0, "parallel"), (1, "ordering")])
@pytest.mark.parametrize("c", ["(i->N+1,0,i)", "(i,j->N+1,j,i)"])
def test_7_2_1_inner_reductions_run_with_their_equation(dimension: int, kind: str, c: str) -> None:
    """Reductions as operands, below dependences and in bodies of others are atomic."""
    p = alpha.load(SKEWED)
    q = alpha.SetSTMap(alpha.SetSTMap(p, "E", "(i->i,1,0)"), "D", "(i->i,0,0)")
    q = alpha.SetSTMap(q, "C", c)
    if kind == "ordering" and c.startswith("(i,j"):
        kind = "sequential"
    if kind == "parallel":  # C in a dimension of its own must not be parallel to what it needs
        q = alpha.SetSTMap(alpha.SetSTMap(q, "E", "(i->0,i,1)"), "D", "(i->0,i,0)")
        dimension = 1 if c.startswith("(i->") else 0
        kind = "parallel" if dimension else "sequential"
    q = alpha.SetDimensionType(q, dimension, kind)
    a, b = RNG.integers(-9, 9, 7), RNG.integers(-9, 9, (7, 7))
    assert alpha.verify(q)
    for found, expected in zip(q["cv"](a, b), p["cv"](a, b), strict=True):
        np.testing.assert_array_equal(found, expected)


# ---- section 7.3 ----


@pytest.mark.parametrize("kind", ["sequential", "wavefront"])
@pytest.mark.parametrize("sizes", ["4,8", "1,1", "64,64", "3,5"])
def test_7_3_1_tiling(kind: str, sizes: str) -> None:
    p = alpha.SetTiling(figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)"), "0,1", sizes, kind)
    assert alpha.verify(p)
    loops = runs(p)
    assert ("# parallel" in loops) == (kind == "wavefront")
    assert not alpha.verify(alpha.SetTiling(figure_1(), "0,1", sizes, kind))
    assert runs(alpha.SetTiling(p, "")) == runs(figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)"))


# ---- mappings as values ----


def test_a_mapping_stays_as_long_as_it_fits() -> None:
    p = figure_1()
    assert alpha.Normalize(p).mapping("jacobi1D") == p.mapping("jacobi1D")
    renamed = alpha.RenameSystem(p, "jacobi1D", "other")
    assert renamed.mapping("other") == p.mapping("jacobi1D")
    changed = alpha.CoB(p, "jacobi1D", "A", "(t,i->t,t+i)")
    assert changed.mapping("jacobi1D") == alpha.TargetMapping()
    assert p != alpha.load(FIGURE_1) and alpha.load(str(p)) == alpha.load(FIGURE_1)
    assert str(alpha.TargetMapping()) == "no mapping"
    assert "A at (t,i->t,i)" in str(p.mapping("jacobi1D"))


def test_use_equations_are_mapped_by_the_names_of_their_instances() -> None:
    p = alpha.load("""affine double_ {N|N>0} input long a {i|0<=i<N}; output long b {i|0<=i<N};
        let b[i] = 2*a[i]; .
      affine top {N|N>0} input long A {i|0<=i<N}; output long B {i|0<=i<N};
        let use double_[N] (A) returns (B); .""")
    q = alpha.SetSTMap(p, "top", "double__b", "(i->N-i)")
    a = RNG.integers(0, 9, 5)
    np.testing.assert_array_equal(q["top"](a), 2 * a)
    assert alpha.verify(q, "top")
    with pytest.raises(tw.DeclarationError, match="say which system"):
        alpha.verify(q)
    with pytest.raises(tw.DeclarationError, match="say which system"):
        alpha.SetSTMap(q, "double__b", "(i->i)")


def test_without_a_map_statements_run_around_those_with_one() -> None:
    p = alpha.load("""affine t {N|N>1} input long A {i|0<=i<N}; output long Z {i|0<=i<N};
      local long B, X, C {i|0<=i<N};
      let Z[i] = C[i]+1; C[i] = X[N-1-i]; X[i] = case {i==0} : B[N-1]; {i>0} : X[i-1]+B[i]; esac;
      B[i] = A[N-1-i];""")
    q = alpha.SetSTMap(p, "X", "(i->2i)")
    a = RNG.integers(0, 9, 6)
    answer = alpha.verify(q)
    assert answer and "phase (ord)" in answer.table
    np.testing.assert_array_equal(q["t"](a), p["t"](a))
    between = alpha.SetSTMap(alpha.SetSTMap(p, "B", "(i->i)"), "Z", "(i->3N+i)")
    with pytest.raises(tw.DeclarationError, match="needs a space-time map"):
        _ = between["t"]
    assert "needs a space-time map" in str(alpha.verify(between))


def test_mutual_recurrences_without_a_map() -> None:
    p = alpha.load("""affine t {N|N>1} input long A {i|0<=i<N}; output long Z {i|0<=i<N};
      local long X, Y {i|0<=i<N}; long M {i|0<=i<N};
      let Y[i] = case {i==0} : 0; {i>0} : X[i-1]; esac; X[i] = Y[i] + A[i];
      M[i] = A[i]; Z[i] = X[i] + Y[N-1-i] + M[i];""")
    q = alpha.SetMemoryMapping(p, "M", "(i->i)", "0")
    a = RNG.integers(0, 9, 6)
    assert "text (ord)" in alpha.verify(q).table and alpha.verify(q)
    np.testing.assert_array_equal(q["t"](a), p["t"](a))


def test_memory_that_a_variable_has_anyway() -> None:
    p = figure_1()
    assert alpha.SetMemoryMapping(p, "Aout", "(z->z)", "0") == p
    assert alpha.SetMemorySpace(p, "Aout", "Aout") == p == alpha.SetMemorySpace(p, "A", "A")


BAD: list[tuple[str, tuple[Any, ...], str]] = [
    ("SetSTMap", ("B", "(i->i)"), "no variable 'B'"),
    ("SetSTMap", ("Ain", "(i->i)"), "Ain is an input"),
    ("SetSTMap", ("A", "(i->i)"), "must take 2 indices"),
    ("SetSTMap", ("A", "t,i->t"), "syntax error"),
    ("SetSTMap", ("A", "(t,i->t,q)"), "q is neither an index nor a parameter"),
    ("SetSTMap", ("A", 3), "must be text"),
    ("SetSTMap", ("A",), "takes program"),
    ("SetDimensionType", (1, "fast"), "'sequential', 'parallel' or 'ordering'"),
    ("SetDimensionType", (-1, "parallel"), "at least 0"),
    ("SetDimensionType", (1.5, "parallel"), "must be an integer"),
    ("SetDimensionType", (1, "parallel", "B"), "no variable 'B'"),
    ("SetDimensionType", (), "takes program"),
    ("SetMemoryMapping", ("A", "(t,i->t,i)", "2"), "1 modulo factors"),
    ("SetMemoryMapping", ("A", "(t,i->t,i)", "-2,0"), "at least 0"),
    ("SetMemoryMapping", ("Aout", "(i->2i)"), "array of the caller"),
    ("SetMemoryMapping", ("Aout", "(i->i)", "2"), "array of the caller"),
    ("SetMemorySpace", ("m", "A,Aout"), "array of the caller"),
    ("SetMemoryMapping", ("A", "(i->i)"), "must take 2 indices"),
    ("SetMemoryMapping", ("A",), "takes program"),
    ("SetMemorySpace", ("A_memory", "A"), "is taken"),
    ("SetMemorySpace", ("Ain", "A"), "array of the caller"),
    ("SetMemorySpace", ("m", ""), "no variable is named"),
    ("SetMemorySpace", ("1m", "A"), "no name of a memory"),
    ("SetTiling", ("0,1", "4"), "2 dimensions, but 1 size"),
    ("SetTiling", ("1,0", "4,4"), "must increase"),
    ("SetTiling", ("0", "0"), "at least 1"),
    ("SetTiling", ("0", "4", "spiral"), "'sequential' or 'wavefront'"),
    ("SetTiling", ("0", None), "must be an integer"),
]


@pytest.mark.parametrize(("command", "arguments", "message"), BAD)
def test_bad_arguments(command: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message):
        getattr(alpha, command)(alpha.load(FIGURE_1), *arguments)
    with pytest.raises(TypeError, match="program"):
        getattr(alpha, command)("jacobi1D", *arguments)


SCALARS = """affine s {N|N>0} input double A {i|0<=i<N}; output double Y {i|0<=i<N};
  let Y[i] = 2*A[i]; ."""


def test_dimensions_that_are_not_there() -> None:
    with pytest.raises(
        tw.DeclarationError, match="dimension 9 is not there: times of A, Aout have dim"
    ):
        alpha.SetDimensionType(figure_1(), 9, "parallel")
    line = alpha.SetSTMap(alpha.load(SCALARS), "Y", "(i->i)")
    with pytest.raises(tw.DeclarationError, match="times of Y have dimension 0 only"):
        alpha.SetDimensionType(line, 1, "parallel", "Y")
    assert alpha.SetDimensionType(line, 0, "ordering").mapping("s").types
    early = alpha.SetDimensionType(alpha.load(SCALARS), 1, "parallel")  # before the maps
    for p in (alpha.SetSTMap(early, "Y", "(i->i)"),
              alpha.SetTiling(figure_1(), "0,2", "4,4"),
              alpha.SetDimensionType(alpha.load(FIGURE_1), 0, "parallel")):  # fmt: skip
        assert not alpha.verify(p)
        with pytest.raises(tw.DeclarationError, match="is not there"):
            _ = p[next(iter(p))]


# ---- section 9.2 ----


def verified(
    p: alpha.Program,
    name: str,
    folder: Path,
    *sizes: int,
    tiles: tuple[tuple[int, ...], ...] = ((),),
) -> str:
    """ScheduledC of a program, which its WriteC verifies on random inputs; the C.

    Args:
        p, name, folder: of the program.
        *sizes: the parameters.
        tiles: sizes of tiles, with which it runs again.
    """
    source = alpha.generateScheduledC(p, name, folder)
    alpha.generateWrapperC(p, name, folder)
    alpha.generateMakefile(p, name, folder)
    other = alpha.generateWriteC(p, name, folder / "demand").read_text(encoding="utf-8")
    (folder / f"{name}_verify.c").write_text(re.sub(rf"\b{name}\(", f"{name}_verify(", other))
    flags = "CFLAGS=-O1 -std=gnu11 -fwrapv -ffp-contract=off -fopenmp -Wall -Wextra -Werror"
    subprocess.run(["make", "-s", "-C", str(folder), "verify-rand", flags], check=True, timeout=120)
    for own in tiles:
        command = [folder / f"{name}.verify-rand", *map(str, sizes), *map(str, own)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.stdout == "TEST PASSED\n" and done.returncode == 0, own
    return source.read_text(encoding="utf-8")


def test_9_2_scheduled_c_with_tiles_threads_and_memory(tmp_path: Path) -> None:
    p = figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)")
    p = alpha.SetMemoryMapping(p, "A", "(t,i->t,i)", "2,0")
    p = alpha.SetTiling(p, "0,1", "8,16", "wavefront")
    text = verified(p, "jacobi1D", tmp_path, 100, 37)
    assert "#pragma omp parallel for" in text and "tw_count(2, N)" in text
    # Each branch of the case is a statement.
    assert "= Ain[" in text and "* 0.333333;" in text and "] = A_memory[" in text


def test_9_2_scheduled_c_of_a_product_and_of_operands(tmp_path: Path) -> None:
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->i,k,j)")
    p = alpha.SetDimensionType(p, 0, "parallel")
    assert "#pragma omp parallel for" in verified(p, "mm", tmp_path / "mm", 20)
    verified(alpha.load(SKEWED), "cv", tmp_path / "cv", 9)  # no mapping at all


def test_9_2_scheduled_c_without_a_mapping_has_the_loops_of_a_call(tmp_path: Path) -> None:
    """Tiles for the caches, and two rows in the place of T + 1 steps."""
    assert "_cache[" in verified(alpha.load(MATRIX), "mm", tmp_path / "mm", 40)
    rows = verified(alpha.load(FIGURE_1), "jacobi1D", tmp_path / "jacobi", 50, 11)
    assert "tw_count(2, N)" in rows


def test_9_2_scheduled_c_refuses_what_is_not_legal(tmp_path: Path) -> None:
    with pytest.raises(tw.IllegalScheduleError):
        alpha.generateScheduledC(figure_1(aout="(i->T-1,i)"), "jacobi1D", tmp_path)
    p = alpha.load(
        "affine t {N|N>0} input long A {i|0<=i<N}; output long int_ {i|0<=i<N}; let int_ = A;"
    )
    alpha.generateScheduledC(p, "t", tmp_path)
    q = alpha.RenameVariable(p, "t", "int_", "register")
    with pytest.raises(tw.DeclarationError, match="means something else in C"):
        alpha.generateScheduledC(q, "t", tmp_path)


# ---- tiles whose sizes are given at run time ----

TILES = ((), (1, 1), (3, 7), (1000, 2), (10**12, 10**12))


@pytest.mark.parametrize("kind", ["sequential", "wavefront"])
def test_9_2_d_tiling_of_jacobi(kind: str, tmp_path: Path) -> None:
    p = figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)")
    p = alpha.SetMemoryMapping(p, "A", "(t,i->t,i)", "2,0")
    p = alpha.SetTiling(p, "0,1", "tall,wide", kind)
    assert alpha.verify(p)
    text = verified(p, "jacobi1D", tmp_path, 20, 9, tiles=TILES)
    assert "void jacobi1D_tiles(int64_t tall, int64_t wide)" in text
    assert ("#pragma omp parallel for" in text) == (kind == "wavefront")
    assert "#pragma omp simd" in text  # time orders all dependences: along i the order is free
    with pytest.raises(tw.DeclarationError, match="the sizes tall, wide of tiles are arguments"):
        _ = p["jacobi1D"]


@pytest.mark.parametrize(
    ("time", "types", "tiling"),
    [("(i,j,k->i,j,k)", {0: "parallel"}, ("0,1,2", "a,4,b")),
     ("(i,j,k->k,i,j)", {}, ("0,1,2", "a,b,a", "wavefront")), ("(i,j->j,i)", {}, ("1", "a")),
     ("(i,j->0,j,i)", {0: "ordering", 1: "parallel"}, ("1,2", "a,b"))],
)  # fmt: skip
def test_9_2_d_tiling_of_products(
    time: str, types: dict[int, str], tiling: tuple[str, ...], tmp_path: Path
) -> None:
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", time)
    for number, kind in types.items():
        p = alpha.SetDimensionType(p, number, kind)
    p = alpha.SetTiling(p, *tiling)
    assert alpha.verify(p)
    count = len(set(tiling[1].split(",")) & {"a", "b"})
    verified(p, "mm", tmp_path, 7, tiles=((), (2,) * count, (5,) * count))


def test_9_2_d_tiling_with_locals_phases_and_inner_reductions(tmp_path: Path) -> None:
    p = alpha.load(SKEWED)
    p = alpha.SetSTMap(alpha.SetSTMap(p, "D", "(i->i,0)"), "E", "(i->i,1)")  # C comes after
    verified(alpha.SetTiling(p, [0], ["s"]), "cv", tmp_path / "cv", 6, tiles=((2,), (50,)))
    q = alpha.load("""affine t {N|N>1} input long A {i|0<=i<N}; output long Z {i|0<=i<N};
      local long X {i,j|-N<=i<=0 && 0<=j<N};
      let X[i,j] = case {|i==0} : A[j]; {|i<0 && j>0} : X[i+1,j-1]+X[i+1,j]; {|i<0 && j==0} : 1; esac;
          Z[i] = X[-i,N-1] + reduce(max, [k], X[-i,k]);""")
    q = alpha.SetSTMap(alpha.SetSTMap(q, "X", "(i,j->-i,j-i)"), "Z", "(i->2N,2N+i)")
    q = alpha.SetTiling(q, "0,1", "s,t", "wavefront")
    verified(q, "t", tmp_path / "t", 8, tiles=((1, 1), (2, 3), (3, 100)))


def test_9_2_d_tiling_refuses_what_some_size_breaks(tmp_path: Path) -> None:
    late = alpha.SetTiling(figure_1(), "0,1", "a,b")
    with pytest.raises(tw.DeclarationError, match=r"not legal: .*dimension 1 cannot be tiled"):
        alpha.generateScheduledC(late, "jacobi1D", tmp_path)
    p = alpha.SetTiling(figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)"), "0,1", "a,int")
    with pytest.raises(tw.DeclarationError, match="int means something else in C"):
        alpha.generateScheduledC(p, "jacobi1D", tmp_path)
    shared = alpha.SetMemorySpace(alpha.SetTiling(p, "0,1", "a,b"), "room", "A")
    with pytest.raises(tw.DeclarationError, match="the shared memory of A needs sizes"):
        alpha.generateScheduledC(shared, "jacobi1D", tmp_path)


# ---- commands as values ----


def every_command(p: alpha.Program) -> list[alpha.Program]:
    """Figure 1 under one mapping command after the other, and a transformation between them."""
    made = [alpha.SetSTMap(p, "jacobi1D", "A", "(t,i->t,i+t)")]
    made.append(alpha.SetSTMap(made[-1], "Aout", "(i->T+1,i+T+1)"))
    made.append(alpha.SetDimensionType(made[-1], 1, "sequential", "A"))
    made.append(alpha.Normalize(made[-1]))
    made.append(alpha.SetMemoryMapping(made[-1], "A", "(t,i->t,i)", [2, 0]))
    made.append(alpha.SetMemorySpace(made[-1], "room", "A"))
    made.append(alpha.SetTiling(made[-1], range(2), (4, "8"), "wavefront"))
    made.append(alpha.SetTiling(made[-1], ""))
    return made


def test_mapping_commands_are_recorded_and_undone() -> None:
    p = alpha.load(FIGURE_1)
    made = every_command(p)
    last = made[-1]
    for number, each in enumerate(made):
        assert len(each.rewrites) == number + 1
        assert last.undo(len(made) - 1 - number) == each
        assert last.undo(len(made) - 1 - number).rewrites == each.rewrites
    assert last.undo(len(made)) == p and not p.rewrites
    assert last.mapping("jacobi1D").tiling is None and last.undo().mapping("jacobi1D").tiling
    assert last.rewrites.apply_to(p) == last
    assert alpha.Rewrites.from_json(last.rewrites.to_json()) == last.rewrites
    assert "p = tw.alpha.SetSTMap(p, 'jacobi1D', 'A', '(t,i->t,i+t)')" in str(last.rewrites)
    shown: dict[str, Any] = {"tw": tw, "p": p}
    exec(str(last.rewrites), shown)  # the text is the Python that makes it
    assert shown["p"] == last


def test_one_call_is_one_step() -> None:
    """Maps of several variables, the other name of the command, and what is so already."""
    p = alpha.load("""affine t {N|N>0} input long A {i|0<=i<N}; output long B, C {i|0<=i<N};
      let B[i] = A[i]; C[i] = B[i];""")
    both = alpha.setSpaceTimeMap(p, "B, C", "(i->i)")
    assert [step.command for step in both.rewrites] == ["SetSTMap"] and both.undo() == p
    assert set(both.mapping("t").times) == {"B", "C"} and not p.mapping("t").times
    same = alpha.SetMemoryMapping(both, "C", "(i->i)")
    assert same == both and len(same.rewrites) == 2 and same.undo() == both
    with pytest.raises(tw.ScheduleError, match="only 2 transformations"):
        same.undo(3)


def test_9_2_external_functions_need_not_be_here(tmp_path: Path) -> None:
    """Generated C calls them by name; only a call in this process needs their code."""
    p = alpha.load("""double twice(double, int);
      affine calls {N|N>0} input double A {i|0<=i<N}; output double B {i|0<=i<N};
      let B[i] = twice(A[i], 2); .""")
    source = alpha.generateScheduledC(p, "calls", tmp_path)
    assert "double twice(double" in source.read_text()
    definition = "double twice(double a, int b) { return a * b; }"
    (tmp_path / "twice.c").write_text(definition)
    flags = ["-shared", "-fPIC", "-Wall", "-Werror", "-fopenmp"]
    library = tmp_path / "calls.so"
    files = [str(source), str(tmp_path / "twice.c"), "-o", str(library), "-lm"]
    subprocess.run(["gcc", *flags, *files], check=True, timeout=60)
    a, b = np.arange(4.0), np.zeros(4)
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, b)]
    ctypes.CDLL(str(library)).calls(ctypes.c_int64(4), *pointers)
    np.testing.assert_array_equal(b, 2 * a)
    with pytest.raises(tw.DeclarationError, match="the external function twice was not given"):
        p["calls"]


CHAIN = """affine product {N | 0<N}
  input double A, B {i,j | 0<=(i,j)<N};
  output double C {i,j | 0<=(i,j)<N};
  local double P {i,j,k | 0<=(i,j,k)<N};
  let
    C[i,j] = P[i,j,N-1];
    P[i,j,k] = case {| k==0} : A[i,k]*B[k,j]; {| k>0} : A[i,k]*B[k,j] + P[i,j,k-1]; esac;
."""


def test_orders_of_what_has_one_time(tmp_path: Path) -> None:
    p = alpha.load(CHAIN)
    mapped = alpha.SetSTMap(alpha.SetSTMap(p, "P", "(i,j,k->i,j,k)"), "C", "(i,j->i,j,N-1)")
    assert not alpha.verify(mapped)  # equal times are no order
    assert not alpha.verify(alpha.SetStatementOrdering(mapped, "C", "P"))
    ordered = alpha.SetStatementOrdering(mapped, "product", "P", "C")
    assert "P before C at equal times" in str(ordered.mapping("product"))
    assert ordered.rewrites.apply_to(p) == ordered and ordered.undo() == mapped != ordered
    a, b = RNG.random((2, 5, 5))
    for each in (ordered, alpha.SetTiling(ordered, "0,1,2", "2,3,2")):
        assert alpha.verify(each)
        np.testing.assert_allclose(each["product"](a, b), a @ b, rtol=1e-13)
    with pytest.raises(tw.DeclarationError, match="P is to run before C already"):
        alpha.SetStatementOrdering(ordered, "C", "P")
    with pytest.raises(tw.DeclarationError, match="C has no space-time map"):
        alpha.SetStatementOrdering(p, "C", "P")
    (tmp_path / "product.ab").write_text(CHAIN, encoding="utf-8")
    script = """prog = ReadAlphabets("product.ab"); system = "product";
      setSpaceTimeMap(prog, system, "P", "(i,j,k->i,j,k)");
      setSpaceTimeMap(prog, system, "C", "(i,j->i,j,N-1)");
      setStatementOrdering(prog, system, "P", "C");
      VerifyTargetMapping(prog, system, 1);"""
    (tmp_path / "script.cs").write_text(script, encoding="utf-8")
    variables = alpha.run_script(tmp_path / "script.cs")
    assert variables["prog"] == ordered
