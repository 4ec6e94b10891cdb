"""The verifier: section 8 of the report by number, and against enumeration on random mappings."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from alpha_programs import FLAGS, evaluated, results_of
from mapped_programs import SIZE, Enumerated, RandomMapping, disagreement
from test_alpha_mapping import MATRIX, figure_1, runs
from test_alpha_report import FIGURE_1

import tilewright as tw
from tilewright.frontends.alpha.verifier import DependenceVerdict, MemoryVerdict

alpha = tw.alpha

# ---- section 8.2 ----

EDGE = """affine edge {N|N>2} input long X {i,j,k|0<=(i,j,k)<N}; output long A, B {i,j,k|0<=(i,j,k)<N};
  let B = X; A[i,j,k] = case {|j>0 && k<N-1} : B[i,j-1,k+1]; {|j==0} || {|j>0 && k==N-1} : 0; esac;"""


def test_8_2_1_the_four_statements() -> None:
    p = alpha.load(EDGE)
    for name in "AB":
        p = alpha.SetSTMap(p, name, "(i,j,k->i,j,k)")
    answer = alpha.verify(p, "edge")
    (edge,) = answer
    assert (edge.consumer, edge.producer, edge.text) == ("A", "B", "B[i,j-1,k+1]")
    assert edge.verdict == "strict"  # strictly satisfied
    assert edge.satisfied_at == "1"  # at dimension 1
    assert edge.alone(0) == "weak"  # weakly, if only dimension 0 is considered
    assert edge.alone(2) == "violated"  # violated, if only dimension 2 is
    assert [each.verdict for each in edge.dimensions] == ["weak", "strict", ""]
    assert answer.is_legal and "A -> B[i,j-1,k+1]" in answer.table
    with pytest.raises(tw.DeclarationError, match="no dimension 3; there are 0, 1, 2"):
        edge.alone(3)


def test_8_2_1_violated_by_a_dimension_for_a_domain() -> None:
    p = alpha.SetSTMap(alpha.load(EDGE), "B", "(i,j,k->i,k,j)")
    answer = alpha.verify(alpha.SetSTMap(p, "A", "(i,j,k->i,k,j)"))
    (edge,) = answer.violations
    assert isinstance(edge, DependenceVerdict)
    row = edge.dimensions[1]
    assert (row.verdict, row.dimension, edge.verdict) == ("violated", "1", "violated")
    expected = tw.Set("[N] -> { A[i,j,k] : 0 <= i < N and 0 < j < N and 0 <= k < N - 1 }")
    assert row.domain.intersect_params("N > 2") == expected.intersect_params("N > 2")
    assert "violated by dimension 1 for" in str(edge)


def test_8_2_1_satisfied_by_several_dimensions() -> None:
    """A dependence that is not uniform: dimension 0 orders some of its pairs, dimension 1 others."""
    p = alpha.load("""affine t {N|N>2} input long X {i,j|0<=(i,j)<N}; output long A, B {i,j|0<=(i,j)<N};
      let B = X; A[i,j] = case {|j>0} : B[0,j-1]; {|j==0} : 0; esac;""")
    p = alpha.SetSTMap(alpha.SetSTMap(p, "A", "(i,j->i,j)"), "B", "(i,j->i,j)")
    (edge,) = alpha.verify(p)
    assert [each.verdict for each in edge.dimensions] == ["weak", "strict"]
    assert edge.dimensions[0].satisfied.domain == tw.Set(
        "[N] -> { A[i,j] : 0 < i < N and 0 < j < N }"
    )


def test_8_2_2_parallel_dimensions() -> None:
    assert alpha.verify(alpha.SetDimensionType(figure_1(), 1, "parallel"))
    answer = alpha.verify(alpha.SetDimensionType(figure_1(), 0, "parallel"))
    assert {each.verdict for each in answer} == {"violated"}
    assert "carried by the parallel dimension 0" in str(answer)


def test_8_2_2_a_loop_is_not_both_parallel_and_sequential() -> None:
    text = """affine t {N|N>1} input long A {i|0<=i<N}; output long S1, S2 {i|0<=i<N};
      let S1 = A; S2 = A;"""
    for orders, legal in ((("0", "0"), False), (("0", "1"), True)):
        p = alpha.load(text)
        for name, order in zip(("S1", "S2"), orders, strict=True):
            p = alpha.SetSTMap(p, name, f"(i->{order},i)")
        p = alpha.SetDimensionType(p, 0, "ordering")
        p = alpha.SetDimensionType(p, 1, "parallel", "S1")
        answer = alpha.verify(p)
        assert bool(answer) == legal
        assert ("which share its loop" in str(answer)) != legal


def test_8_2_3_atomic_reductions_need_all_inputs_before() -> None:
    p = alpha.load("""affine t {N|N>1} input long A {i|0<=i<N}; output long Z; local long X {i|0<=i<N};
      let X = A; Z = reduce(+, [i], X[i]);""")
    p = alpha.SetSTMap(p, "X", "(i->i)")
    for time, legal in (("(->N)", True), ("(->N-1)", False), ("(i->N+i)", True), ("(i->i)", False)):
        answer = alpha.verify(alpha.SetSTMap(p, "Z", time))
        assert bool(answer) == legal, time
    assert alpha.verify(alpha.SetSTMap(alpha.SetSTMap(p, "X", "(i->i,0)"), "Z", "(i->i,1)"))


def test_8_2_3_a_body_is_checked_as_its_serialization_is() -> None:
    """Who reads the answer runs after the last term; SerializeReduction makes the same dependences."""
    text = MATRIX.replace("output double C", "local double C {i,j|0<=(i,j)<N}; output double D")
    text += " D[i,j] = 2*C[i,j];"
    for time, legal in (("(i,j->N,i,j)", True), ("(i,j->N-1,i,j)", False), ("(i,j->i,j,N)", False)):
        p = alpha.SetSTMap(alpha.load(text), "C", "(i,j,k->k,i,j)")
        p = alpha.SetSTMap(p, "D", time)
        assert bool(alpha.verify(p)) == legal, time
        q = alpha.SerializeReduction(alpha.load(text), "[0, 0, 0]", "(i,j,k->k,i,j)")
        serial = alpha.SetSTMap(q, "C_serial", "(k,i,j->k,i,j,0)")
        serial = alpha.SetSTMap(serial, "D", time[:-1] + ",1)")
        serial = alpha.SetSTMap(serial, "C", time[:-1] + ",0)")
        assert bool(alpha.verify(serial)) == legal, time


def test_8_2_4_tiled_dimensions_must_be_permutable() -> None:
    (wrong,) = alpha.verify(alpha.SetTiling(figure_1(), "0,1", "4,4")).violations
    assert isinstance(wrong, DependenceVerdict) and wrong.verdict == "strict"
    assert wrong.text == "A[t-1,i+1]" and wrong.untileable[0][0] == "1"
    assert "dimension 1 cannot be tiled" in str(wrong)
    skewed = figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)")
    assert alpha.verify(alpha.SetTiling(skewed, "0,1", "4,4"))
    assert alpha.verify(alpha.SetTiling(figure_1(), "1", "4"))  # time orders all dependences
    assert alpha.verify(alpha.SetTiling(figure_1(), "0", "4"))


def test_8_2_4_tiles_of_a_wave_must_not_add_to_one_answer() -> None:
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->i,j,k)")
    assert alpha.verify(alpha.SetTiling(p, "0,1,2", "4,4,4", "wavefront"))
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->i,j+k,k)")
    assert alpha.verify(alpha.SetTiling(p, "1,2", "4,4"))
    turned = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->i,j-k,k)")
    answer = alpha.verify(alpha.SetTiling(turned, "1,2", "1,1", "wavefront"))
    assert not answer and answer.violations[0].kind == "accumulation"
    with pytest.raises(tw.IllegalScheduleError):
        _ = alpha.SetTiling(turned, "1,2", "1,1", "wavefront")["mm"]


# ---- section 8.3, with what the report leaves out ----


@pytest.mark.parametrize(
    ("function", "factors", "legal"),
    [("(t,i->t,i)", "2,0", True), ("(t,i->t,i)", "1,0", False), ("(t,i->t,i)", "0,0", True),
     ("(t,i->i)", "0", False), ("(t,i->2t-i)", "0", True), ("(t,i->t,i)", "3,0", True)],
)  # fmt: skip
def test_8_3_memory(function: str, factors: str, legal: bool) -> None:
    answer = alpha.verify(alpha.SetMemoryMapping(figure_1(), "A", function, factors))
    assert bool(answer) == legal
    if legal:
        runs(alpha.SetMemoryMapping(figure_1(), "A", function, factors))
    for wrong in answer.violations:
        assert isinstance(wrong, MemoryVerdict) and wrong.witness is not None
        reader, value, overwriter = wrong.witness.instances
        assert value.time < overwriter.time < reader.time or overwriter == reader
        assert "overwritten by A[" in str(wrong)


def test_8_3_memory_under_tiling() -> None:
    """Untiled, a value is needed for one step; in tiles that are tall in time, as long as a tile is."""
    text = """affine t {N,T|N>1 && T>1} input long A {i|0<=i<N}; output long Z {i|0<=i<N};
      local long X {t,i|0<=t<=T && 0<=i<N};
      let X[t,i] = case {|t==0} : A[i]; {|t>0 && i==0} : X[t-1,0]; {|t>0 && i>0} : X[t-1,i-1]; esac;
          Z[i] = X[T,i];"""
    p = alpha.SetSTMap(alpha.load(text), "X", "(t,i->t,i)")
    p = alpha.SetSTMap(p, "Z", "(i->T+1,i)")
    two = alpha.SetMemoryMapping(p, "X", "(t,i->t,i)", "2,0")
    assert alpha.verify(two)
    assert not alpha.verify(alpha.SetTiling(two, "0,1", "8,1"))
    assert not alpha.verify(alpha.SetTiling(two, "0,1", "3,2"))
    assert alpha.verify(
        alpha.SetTiling(alpha.SetMemoryMapping(p, "X", "(t,i->t,i)", "10,0"), "0,1", "8,1")
    )
    with pytest.raises(tw.IllegalScheduleError):
        _ = alpha.SetTiling(two, "0,1", "3,2")["t"]


def test_8_3_memory_under_tiles_of_any_size() -> None:
    skewed = figure_1("(t,i->t,t+i)", "(i->T+1,T+1+i)")
    for factors, legal in (("2,0", True), ("1,0", False), ("0,0", True)):
        p = alpha.SetMemoryMapping(skewed, "A", "(t,i->t,i)", factors)
        for kind in ("sequential", "wavefront"):
            assert bool(alpha.verify(alpha.SetTiling(p, "0,1", "a,b", kind))) == legal
    p = alpha.SetSTMap(alpha.load(MATRIX), "C", "(i,j,k->i,j-k,k)")
    assert alpha.verify(alpha.SetTiling(p, "1,2", "a,b"))
    assert not alpha.verify(alpha.SetTiling(p, "1,2", "a,b", "wavefront"))


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_what_is_legal_for_any_size_is_for_each(first: int) -> None:
    """Tiles of named sizes are accepted only if enumeration finds no size that breaks something."""
    found = 0
    for seed in range(first, first + 100):
        given = RandomMapping(seed)
        if given.tiling is None or not Enumerated(given).times_are_legal():
            continue
        dimensions, sizes, kind = given.tiling
        given.tiling = (dimensions, [f"s{d}" for d in dimensions], kind)  # type: ignore[assignment]
        if not alpha.verify(given.program()):
            continue
        found += 1
        for own in ([1] * len(sizes), [2] * len(sizes), [7, *[1] * (len(sizes) - 1)],
                    [*[1] * (len(sizes) - 1), 5], sizes):  # fmt: skip
            given.tiling = (dimensions, own, kind)
            assert Enumerated(given).is_legal(), (seed, own)
    assert found


# ---- answers ----


def test_the_report_prints_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    p = figure_1(aout="(i->T-1,i)")
    for verbosity, count in ((0, 1), (1, 2), (2, 10)):
        answer = alpha.VerifyTargetMapping(p, "jacobi1D", verbosity)
        assert len(capsys.readouterr().out.splitlines()) == count
    assert str(answer).startswith("jacobi1D: not legal")
    assert len(answer) == 5 and not answer.is_legal
    with pytest.raises(TypeError, match="verbosity"):
        alpha.VerifyTargetMapping(p, "jacobi1D", "high")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="program"):
        alpha.verify(FIGURE_1)  # type: ignore[arg-type]


# ---- random mappings ----


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_verdicts_are_those_of_enumeration(first: int) -> None:
    found = {seed: disagreement(seed) for seed in range(first, first + 10)}
    assert {seed: text for seed, (_, text) in found.items() if text} == {}


CLEARED = """affine mapped {N | N==3} input long A {i|0<=i<2N}; output long Y,Z {i|0<=i<N};
  local long X,S {i|0<=i<N}; let X[i] = A[i]+1; Y[i] = X[i];
  S[i] = reduce(+,[k],{|0<=k<N} : A[i+k]); Z[i] = S[i];."""


@pytest.mark.parametrize(
    ("times", "legal"),
    [
        (("(i->0,i)", "(i->1,i)", "(i,k->k+5,i)", "(i->N+9,i)"), False),
        (("(i->i,0)", "(i->i,1)", "(i,k->i,k+2)", "(i->i,N+2)"), False),
        (("(i->0,0,i)", "(i->0,1,i)", "(i,k->0,k+2,i)", "(i->1,0,i)"), False),
        (("(i->i,0,0)", "(i->i,1,0)", "(i,k->i,2,k)", "(i->i,3,0)"), True),
        (("(i->0,i,0)", "(i->1,i,0)", "(i,k->2,k,i)", "(i->3,i,0)"), True),
        (("(i->3,i,0)", "(i->4,i,0)", "(i,k->1,k,i)", "(i->2,i,0)"), True),
        (("(i->5,i,0)", "(i->5,i,1)", "(i,k->1,k,i)", "(i->1,i+N,0)"), True),
    ],
)
def test_a_sum_is_cleared_before_the_loops_over_its_terms(
    times: tuple[str, ...], legal: bool
) -> None:
    """A shared memory must be free then; the verifier and the function's own check agree."""
    plain = mapped = alpha.load(CLEARED)
    for name, text in zip("XYSZ", times, strict=True):
        mapped = alpha.SetSTMap(mapped, name, text)
    assert alpha.verify(mapped)
    mapped = alpha.SetMemorySpace(mapped, "room", "X,S")
    answer = alpha.verify(mapped)
    assert bool(answer) == legal
    if legal:
        a = np.arange(6) * 7 % 11
        for one, other in zip(mapped["mapped"](a, N=3), plain["mapped"](a, N=3), strict=True):
            np.testing.assert_array_equal(one, other)
        return
    assert "a sum is cleared before the outermost loop over its terms" in str(answer.violations[0])
    with pytest.raises(tw.IllegalScheduleError, match="written by S_init"):
        _ = mapped["mapped"]


def test_tiles_of_named_sizes_clear_their_sums_first() -> None:
    """In one cell, the second sum would begin with the first one's value."""
    p = alpha.load("""affine t {N | N>1} input long A {i|0<=i<2N}; output long Z {i|0<=i<N};
      local long S {i|0<=i<N}; let S[i] = reduce(+,[k],{|0<=k<N} : A[i+k]); Z[i] = S[i];.""")
    p = alpha.SetSTMap(alpha.SetSTMap(p, "S", "(i,k->i,0,k)"), "Z", "(i->i,1,0)")
    p = alpha.SetMemoryMapping(p, "S", "(i->i)", "1")
    assert alpha.verify(p) and alpha.verify(alpha.SetTiling(p, "2", "4"))
    answer = alpha.verify(alpha.SetTiling(p, "2", "size"))
    assert not answer and "a sum is cleared" in str(answer.violations[0])


def test_both_verdicts_are_among_them() -> None:
    assert {disagreement(seed)[0] for seed in range(8)} == {True, False}


@pytest.mark.parametrize("seed", range(24))
def test_what_the_verifier_accepts_runs(seed: int) -> None:
    """Legality is asked again of the function: it must agree, and values are the evaluator's."""
    given = RandomMapping(seed)
    mapped = given.program()
    a = np.arange(4 * SIZE) * 7 % 11
    if alpha.verify(mapped):
        expected = evaluated(alpha.load(given.text())["mapped"], a, N=SIZE)
        for one, other in zip(results_of(mapped["mapped"], a, N=SIZE), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        try:
            mapped["mapped"]
        except (tw.IllegalScheduleError, tw.ScheduleError, tw.DeclarationError):
            return
        # Values of no output, equal times that the text orders, tiles without a size to break at.
        expected = evaluated(alpha.load(given.text())["mapped"], a, N=SIZE)
        for one, other in zip(results_of(mapped["mapped"], a, N=SIZE), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_what_the_verifier_accepts_is_compiled_by_gcc(first: int, tmp_path: Path) -> None:
    """ScheduledC of random mappings; tiles have names for sizes, and are run in several."""
    a = np.arange(4 * SIZE, dtype=np.int64) * 7 % 11
    done = 0
    for seed in range(first, first + 20):
        given = RandomMapping(seed)
        count = 0
        if given.tiling is not None:
            dimensions, _, kind = given.tiling
            count = len(dimensions)
            given.tiling = (dimensions, [f"s{d}" for d in dimensions], kind)  # type: ignore[assignment]
        mapped = given.program()
        if not alpha.verify(mapped) or (count and given.spaces):
            continue
        expected = evaluated(alpha.load(given.text())["mapped"], a, N=SIZE)
        source = alpha.generateScheduledC(mapped, "mapped", tmp_path / str(seed))
        library = source.with_suffix(".so")
        flags = [*FLAGS, "-fopenmp", "-shared", "-fPIC"]
        subprocess.run(
            ["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True, timeout=60
        )
        compiled = ctypes.CDLL(str(library))
        for sizes in [(1, 2, 3)[:count], (7, 1, 2)[:count]] if count else [()]:
            if sizes:
                compiled.mapped_tiles(*map(ctypes.c_int64, sizes))
            found = [np.zeros_like(each) for each in expected]
            pointers = [ctypes.c_void_p(each.ctypes.data) for each in (a, *found)]
            compiled.mapped(ctypes.c_int64(SIZE), *pointers)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
            done += 1
    assert done > 3
