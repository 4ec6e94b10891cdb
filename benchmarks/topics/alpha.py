"""Alpha: scans in blocks beside NumPy's and Numba's, loops of target mappings as C beside the JIT's, reductions with
and without what they share, and how long a program takes to be read.

The scans are JIT-compiled (`scan_blocks`) and C that gcc compiled (`generateScanC`); a copy shows what the memory
gives. `generateScheduledC` and a call have the same mapping, or none: the planner's loops. Reductions are simplified by
`simplify_reductions`; the sizes grow, so that the complexity shows, in the picture that `pictures` draws, too.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import OURS, Case, Context, Missing, Row

TITLE = "Alpha: scans, loops of target mappings as C, simplified reductions"
THREADS = (1, 2)

PREFIX = """
affine prefix {N | N > 0}
  input  double A {i | 0 <= i < N};
  output double S {i | 0 <= i < N};
  let    S[i] = case {| i==0} : A[i]; {| i>0} : S[i-1] + A[i]; esac;
.
"""
SEGMENT = """
affine segment {N | N > 0}
  input  double A {i | 0 <= i < N};
  output double T {i | 0 <= i < N};
  local  double X {i | 0 <= i < N};
  let    X[i] = case {| i==0} : A[i]; {| i>0} : max(X[i-1] + A[i], A[i]); esac;
         T[i] = case {| i==0} : X[i]; {| i>0} : max(T[i-1], X[i]); esac;
.
"""
WINDOW = """
affine window {N, W | 0 < W < N}
  input  double A {i | 0 <= i < N};
  output double S {i | 0 <= i <= N-W};
  let    S[i] = reduce(+, [j], {| i <= j < i+W} : A[j]);
.
"""
RNA = """
affine loops {N | N > 5}
  input  double E {s | 0 <= s < N}; double V {k, l | 0 <= (k, l) < N};
  output double Y {i, j | 0 <= i && i+3 <= j < N};
  let    Y[i,j] = reduce(min, [k,l], {| i < k < l < j} : E[k-i+j-l] + V[k,l]);
.
"""
PRODUCT = """
affine mm {N | N > 0}
  input  double A, B {i, j | 0 <= (i, j) < N};
  output double C {i, j | 0 <= (i, j) < N};
  let    C[i,j] = reduce(+, [k], A[i,k] * B[k,j]);
.
"""
LU = """
affine lu {N | N > 1}
  input  double A {i, j | 0 <= (i, j) < N};
  output double L {i, k | 0 <= k < i < N}; double U {i, j | 0 <= i <= j < N};
  local  double X {k, i, j | 0 <= k < N && k <= i < N && k <= j < N};
  let    X[k,i,j] = case {| k==0} : A[i,j]; {| k>0} : X[k-1,i,j] - L[i,k-1] * X[k-1,k-1,j]; esac;
         L[i,k] = X[k,i,k] / X[k,k,k];
         U[i,j] = X[i,i,j];
.
"""
JACOBI = """
affine jacobi {N, T | N > 2 && T > 0}
  input  double Ain {i | 0 <= i < N};
  output double Aout {i | 0 <= i < N};
  local  double A {t, i | 0 <= t <= T && 0 <= i < N};
  let    A[t,i] = case
           {| t==0} : Ain[i];
           {| t>0 && i==0} : A[t-1,i];
           {| t>0 && i==N-1} : A[t-1,i];
           {| t>0 && 0<i<N-1} : (A[t-1,i-1] + A[t-1,i] + A[t-1,i+1]) / 3;
         esac;
         Aout[i] = A[T,i];
.
"""
BLOCK = 8192
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-fwrapv", "-ffp-contract=off", "-fopenmp"]


def cases(context: Context) -> Iterator[Case]:
    yield from _scans(context)
    yield from _scheduled(context)
    yield from _reductions(context)
    program = _thirty_equations()
    yield Case(
        "30 equations: parsed and checked", lambda: len(tw.alpha.load(program).systems), {}, goals={"ms": 100}
    )  # fmt: skip


def _scans(context: Context) -> Iterator[Case]:
    size = 1 << 14 if context.quick else 100_000_000
    a = np.random.default_rng(1).random(size) - 0.5
    out = {key: np.empty(size) for key in ("ours", "plain", "c", "peer")}
    program = tw.alpha.load(PREFIX)
    sums = program["prefix"]["S"].scan_blocks(BLOCK, reassociate=True)
    peers = {
        "NumPy's cumsum": _into(np.cumsum, a, out["peer"]),
        "plain recurrence": _into(program["prefix"], a, out["plain"]),
        "ScanC, gcc": _scan_c(program, "prefix", a, out["c"], context),
    }
    yield Case(
        f"prefix sum {size:,}", _into(sums, a, out["ours"]), peers, work=16.0 * size, unit="GB/s",
        rtol=1e-6, atol=1e-3, goals={"NumPy's cumsum": 1.8},
    )  # fmt: skip
    yield Case(
        f"prefix sum {size:,} and a copy, the memory's limit", _into(sums, a, out["ours"]),
        {"NumPy's copy": _copied(a, out["peer"])}, work=16.0 * size, unit="GB/s",
        compare=_sums_or_copy_of(a), goals={"NumPy's copy": 0.9},
    )  # fmt: skip
    program = tw.alpha.load(SEGMENT)
    segments = program["segment"]["T"].scan_blocks(BLOCK, reassociate=True)
    peers = {
        "plain recurrence": _into(program["segment"], a, out["plain"]),
        "ScanC, gcc": _scan_c(program, "segment", a, out["c"], context),
        "Numba, serial loop": _numba_segment(a, out["peer"]),
    }
    yield Case(
        f"maximum segment sum {size:,}", _into(segments, a, out["ours"]), peers, work=16.0 * size,
        unit="GB/s", rtol=1e-6, atol=1e-3, goals={"Numba, serial loop": 3.0},
    )  # fmt: skip


def _sums_or_copy_of(a: Any) -> Callable[[Any, Any], None]:
    """The result is the elements themselves, of the copy, or their prefix sums."""

    def compare(result: Any, _expected: Any) -> None:
        (given,) = result
        if not np.array_equal(given, a):
            np.testing.assert_allclose(given, np.cumsum(a), rtol=1e-6, atol=1e-3)

    return compare


def _into(function: Any, a: Any, out: Any) -> Callable[[], Any]:
    return lambda: function(a, out=out)


def _copied(a: Any, out: Any) -> Callable[[], Any]:
    def run() -> Any:
        np.copyto(out, a)
        return out

    return run


def _numba_segment(a: Any, out: Any) -> Callable[[], Any] | Missing:
    numba = peers.module("numba")
    if isinstance(numba, Missing):
        return numba

    def segment(a: Any, out: Any) -> None:
        ending = a[0]
        best = ending
        out[0] = best
        for i in range(1, len(a)):
            ending = max(ending + a[i], a[i])
            best = max(best, ending)
            out[i] = best

    compiled = numba.njit(segment)

    def run() -> Any:
        compiled(a, out)
        return out

    return run


def _compiled(source: Path, name: str, context: Context) -> Any:
    """The function of a C file that gcc compiled; its threads are OpenMP's."""
    library = source.with_suffix(".so")
    gcc = ["gcc", *FLAGS, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    subprocess.run(gcc, check=True)
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(context.threads)
    return getattr(ctypes.CDLL(str(library)), name)


def _pointers(*arrays: Any) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(each.ctypes.data) for each in arrays]


def _scan_c(
    program: Any, name: str, a: Any, out: Any, context: Context
) -> Callable[[], Any] | Missing:
    """What ScanC writes, compiled; its threads are OpenMP's."""
    if shutil.which("gcc") is None:
        return Missing("gcc is not installed")
    folder = Path(tempfile.mkdtemp())
    source = tw.alpha.generateScanC(program, name, folder, BLOCK, reassociate=True)
    compiled = _compiled(source, name, context)

    def run() -> Any:
        compiled(ctypes.c_int64(len(a)), *_pointers(a, out))
        return out

    return run


# ---- target mappings ----


def _mapped_product() -> Any:
    program = tw.alpha.SetSTMap(tw.alpha.load(PRODUCT), "C", "(i,j,k->i,k,j)")
    return tw.alpha.SetDimensionType(program, 0, "parallel")


def _tiled_product() -> Any:
    program = tw.alpha.SetSTMap(tw.alpha.load(PRODUCT), "C", "(i,j,k->i,k,j)")
    return tw.alpha.SetTiling(program, "0,1,2", "32,32,256")


def _mapped_lu() -> Any:
    program = tw.alpha.SetSTMap(tw.alpha.load(LU), "X", "(k,i,j->k,0,i,j)")
    program = tw.alpha.SetSTMap(program, "L", "(i,k->k,1,i,0)")
    program = tw.alpha.SetSTMap(program, "U", "(i,j->i,2,j,0)")
    return tw.alpha.SetMemoryMapping(program, "X", "(k,i,j->i,j)")


def _mapped_jacobi() -> Any:
    program = tw.alpha.SetSTMap(tw.alpha.load(JACOBI), "A", "(t,i->t,i)")
    program = tw.alpha.SetSTMap(program, "Aout", "(i->T+1,i)")
    return tw.alpha.SetMemoryMapping(program, "A", "(t,i->t,i)", "2,0")


def _skewed_jacobi() -> Any:
    program = tw.alpha.SetSTMap(tw.alpha.load(JACOBI), "A", "(t,i->t,i+t)")
    program = tw.alpha.SetSTMap(program, "Aout", "(i->T+1,i+T+1)")
    program = tw.alpha.SetMemoryMapping(program, "A", "(t,i->t,i)", "2,0")
    return tw.alpha.SetTiling(program, "0,1", "16,256")


def _scheduled(context: Context) -> Iterator[Case]:
    """The loops of one mapping, as C that gcc compiled and in this process."""
    n = 24 if context.quick else 500
    length, steps = (100, 5) if context.quick else (20_000, 500)
    random = np.random.default_rng(3)
    square = random.random((n, n)), random.random((n, n))
    dominant = (random.random((n, n)) + n * np.eye(n),)
    line = (random.random(length),)
    for title, program, arrays, sizes, shapes in (
        ("matrix product, i parallel", _mapped_product(), square, {"N": n}, [(n, n)]),
        ("matrix product, tiles", _tiled_product(), square, {"N": n}, [(n, n)]),
        ("LU in place", _mapped_lu(), dominant, {"N": n}, [(n, n - 1), (n, n)]),
        ("Jacobi, two rows", _mapped_jacobi(), line, {"N": length, "T": steps}, [(length,)]),
        ("Jacobi, skewed tiles", _skewed_jacobi(), line, {"N": length, "T": steps}, [(length,)]),
        ("matrix product, no mapping", tw.alpha.load(PRODUCT), square, {"N": n}, [(n, n)]),
        ("LU, no mapping", tw.alpha.load(LU), dominant, {"N": n}, [(n, n - 1), (n, n)]),
        ("Jacobi, no mapping", tw.alpha.load(JACOBI), line, {"N": length, "T": steps}, [(length,)]),
    ):
        name = next(iter(program))
        out = tuple(np.zeros(shape) for shape in shapes)
        within = {} if "no mapping" in title else {"JIT, same loops": 0.9}
        yield Case(
            f"ScheduledC: {title}",
            _scheduled_c(program, name, arrays, sizes, context),
            {"JIT, same loops": _with_out(program[name], arrays, out, sizes)},
            group="ScheduledC", rtol=0, goals=within,
        )  # fmt: skip


def _with_out(
    function: Any, arrays: tuple[Any, ...], out: tuple[Any, ...], sizes: dict[str, int]
) -> Callable[[], Any]:
    given = {"T": sizes["T"]} if "T" in sizes else {}
    into = out if len(out) > 1 else out[0]
    return lambda: function(*arrays, out=into, **given)


def _scheduled_c(
    program: Any, name: str, arrays: tuple[Any, ...], sizes: dict[str, int], context: Context
) -> Callable[[], Any]:
    if shutil.which("gcc") is None:
        return lambda: program[name](*arrays, **{key: sizes[key] for key in sizes if key == "T"})
    source = tw.alpha.generateScheduledC(program, name, Path(tempfile.mkdtemp()))
    compiled = _compiled(source, name, context)
    example = program[name](*arrays, **{key: sizes[key] for key in sizes if key == "T"})
    example = example if isinstance(example, tuple) else (example,)
    out = tuple(np.zeros_like(each) for each in example)
    given = [*map(ctypes.c_int64, sizes.values()), *_pointers(*arrays, *out)]

    def run() -> Any:
        compiled(*given)
        return out if len(out) > 1 else out[0]

    return run


# ---- reductions ----


def _reductions(context: Context) -> Iterator[Case]:
    """The same reduction at growing sizes, simplified and not."""
    random = np.random.default_rng(2)
    program = tw.alpha.load(WINDOW)
    fast, report = tw.alpha.simplify_reductions(program, reassociate=True)
    for size in (200,) if context.quick else (1_000, 10_000, 100_000):
        a = random.random(size)
        window = size // 10
        counted = report.before(N=size, W=window), report.after(N=size, W=window)
        yield Case(
            f"sum over {window:,} of {size:,}",
            _with(fast["window"], (a,), W=window),
            {"unsimplified": _with(program["window"], (a,), W=window)},
            group="windows", rtol=1e-9, note=f"{counted[0]:,} operations became {counted[1]:,}",
        )  # fmt: skip
    program = tw.alpha.load(RNA)
    fast, report = tw.alpha.simplify_reductions(program)
    for size in (12,) if context.quick else (50, 100, 200):
        given = random.random(size), random.random((size, size))
        counted = report.before(N=size), report.after(N=size)
        yield Case(
            f"internal loops of RNA, {size}",
            _with(fast["loops"], given),
            {"unsimplified": _with(program["loops"], given)},
            group="RNA", note=f"{counted[0]:,} operations became {counted[1]:,}",
        )  # fmt: skip


def _with(function: Any, arrays: tuple[Any, ...], **sizes: int) -> Callable[[], Any]:
    return lambda: function(*arrays, **sizes)


# ---- reading ----


def _thirty_equations() -> str:
    """Recurrences, reductions, stencils and conditions, each over the variable before it."""
    kinds = [
        "case {| i==0} : P[i,j]; {| i>0} : X[i-1,j] + P[i,j]; esac",
        "reduce(+, [k], {| 0<=k<=j} : P[i,k] * B[k])",
        "case {| j==0} : P[i,j]; {| 0<j<M-1} : (P[i,j-1] + P[i,j] + P[i,j+1]) / 3; {| j==M-1} : P[i,j]; esac",
        "if P[i,j] > 0 then P[i,j] * 2 else -P[i,j]",
        "max(P[i,j], A[i,j]) + B[j]",
    ]
    names = [f"X{number}" for number in range(29)]
    before = ["A", *names]
    lines = ["affine big {N, M | N > 2 && M > 3}", "  input double A {i, j | 0<=i<N && 0<=j<M};"]
    lines += ["    double B {j | 0<=j<M};", "  output double Y {i | 0<=i<N};", "  local"]
    lines += [f"    double {name} {{i, j | 0<=i<N && 0<=j<M}};" for name in names] + ["  let"]
    for number, name in enumerate(names):
        value = (
            kinds[number % len(kinds)].replace("X[", f"{name}[").replace("P[", f"{before[number]}[")
        )
        lines.append(f"    {name}[i,j] = {value};")
    return "\n".join([*lines, "    Y[i] = reduce(max, [j], {| 0<=j<M} : X28[i,j]);", "."])


# ---- a picture ----


def pictures(rows: Sequence[Row], folder: Path) -> list[Path]:
    """The time of reductions by size, simplified and not, on logarithmic axes.

    Args:
        rows: what was measured.
        folder: of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [row for row in rows if row.group in ("windows", "RNA") and row.minimum == row.minimum]
    groups = sorted({row.group for row in shown})
    if not groups:
        return []
    threads = min(row.threads for row in shown)
    figure, panels = pyplot.subplots(
        1, len(groups), figsize=(4.5 * len(groups), 3.5), layout="constrained", squeeze=False
    )
    for axes, group in zip(panels[0], groups, strict=True):
        for contender in (OURS, "unsimplified"):
            points = sorted(
                (_size_of(row.case), row.minimum)
                for row in shown
                if (row.group, row.contender, row.threads) == (group, contender, threads)
            )
            label = "simplified" if contender == OURS else contender
            axes.loglog(*zip(*points, strict=True), "o-", label=label)
        axes.set(title=group, xlabel="N", ylabel="seconds")
        axes.minorticks_off()
        axes.legend()
    path = folder / "alpha_complexity.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return [path]


def _size_of(case: str) -> int:
    """The number at the end of a case's name."""
    return int(case.split()[-1].replace(",", ""))
