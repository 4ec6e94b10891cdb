"""ScanC: three phases with OpenMP, compiled by gcc, beside the evaluator (CSU TR CS12-101, section 9.3)."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alpha_programs import evaluated, results_of

import tilewright as tw

alpha = tw.alpha

FLAGS = ["-std=gnu11", "-O2", "-fopenmp", "-fwrapv", "-ffp-contract=off", "-Wall", "-Werror"]

SEGMENT = """
affine mss {N | N > 0}
  input  TYPE A {i | 0 <= i < N};
  output TYPE T {i | 0 <= i < N};
  local  TYPE X {i | 0 <= i < N};
  let
    X[i] = case {| i==0} : A[i]; {| i>0} : max(X[i-1] + A[i], A[i]); esac;
    T[i] = case {| i==0} : X[i]; {| i>0} : max(T[i-1], X[i]); esac;
.
"""
MATRICES = """
affine rotations {N | N > 0}
  input  double A, B {i | 0 <= i < N};
  output double P, Q {i | 0 <= i < N};
  let
    P[i] = case {| i==0} : A[i]; {| i>0} : A[i] * P[i-1] - B[i] * Q[i-1]; esac;
    Q[i] = case {| i==0} : B[i]; {| i>0} : B[i] * P[i-1] + A[i] * Q[i-1]; esac;
.
"""
AFFINE = """
affine filter {N, M | N > 0 && M > 0}
  input  double A, B {j, i | 0 <= j < M && 0 <= i < N};
  output double X {j, i | 0 <= j < M && 0 <= i < N};
  let    X[j,i] = case {| i==0} : B[j,i]; {| i>0} : A[j,i] * X[j,i-1] + B[j,i]; esac;
.
"""


def compiled(
    program: alpha.Program, name: str, folder: Path, sizes: dict[str, int], *arrays: Any,
    more: str = "", **options: Any,
) -> tuple[np.ndarray[Any, Any], ...]:  # fmt: skip
    source = alpha.generateScanC(program, name, folder, 16, **options)
    extra = folder / "more.c"
    extra.write_text(more, encoding="utf-8")
    library = folder / "scan.so"
    command = [
        "gcc",
        *FLAGS,
        "-shared",
        "-fPIC",
        str(source),
        str(extra),
        "-o",
        str(library),
        "-lm",
    ]
    subprocess.run(command, check=True, timeout=120)
    assert source.read_text(encoding="utf-8").count("#pragma omp parallel for") >= 2
    system = program.system(name)
    given: list[Any] = [ctypes.c_int64(sizes[each]) for each in system.parameters.indices]
    given += [each.ctypes.data_as(ctypes.c_void_p) for each in arrays]
    expected = evaluated(program[name], *arrays)
    results = [np.zeros_like(each) for each in expected]
    given += [each.ctypes.data_as(ctypes.c_void_p) for each in results]
    getattr(ctypes.CDLL(str(library)), name)(*given)
    return tuple(results)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
def test_9_3_maximum_segment_sum(n: int, tmp_path: Path) -> None:
    program = alpha.load(SEGMENT.replace("TYPE", "long"))
    values = np.random.default_rng(n).integers(-9, 9, n)
    (found,) = compiled(program, "mss", tmp_path, {"N": n}, values)
    np.testing.assert_array_equal(found, evaluated(program["mss"], values)[0])


def test_9_3_fractions_are_asked_for(tmp_path: Path) -> None:
    program = alpha.load(AFFINE)
    with pytest.raises(tw.DeclarationError, match="reassociate=True"):
        alpha.generateScanC(program, "filter", tmp_path)
    random = np.random.default_rng(1)
    a, b = random.random((3, 50)), random.random((3, 50))
    sizes = {"N": 50, "M": 3}
    (found,) = compiled(program, "filter", tmp_path, sizes, a, b, reassociate=True)
    np.testing.assert_allclose(found, evaluated(program["filter"], a, b)[0], rtol=1e-12)


def test_9_3_matrices(tmp_path: Path) -> None:
    program = alpha.load(MATRICES)
    random = np.random.default_rng(2)
    a, b = random.uniform(-1, 1, (2, 90))
    found = compiled(program, "rotations", tmp_path, {"N": 90}, a, b, reassociate=True)
    for one, other in zip(found, evaluated(program["rotations"], a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    scanned = program["rotations"]["P"].scan_blocks(16, reassociate=True)
    for one, other in zip(results_of(scanned, a, b), found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_9_3_functions_of_the_user(tmp_path: Path) -> None:
    text = """
    long join(long, long);
    affine joined {N | N > 0}
      input  long A {i | 0 <= i < N};
      output long X {i | 0 <= i < N};
      let    X[i] = case {| i==0} : A[i]; {| i>0} : join(X[i-1], A[i]); esac;
    .
    """
    code = """
    #include <stdint.h>
    int64_t join(int64_t a, int64_t b) { return b ? b : a; }
    """
    library = tmp_path / "join.so"
    source = tmp_path / "join.c"
    source.write_text(code, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    join = tw.extern("join", ctypes.CDLL(str(library)).join, [tw.int64] * 2, tw.int64)
    program = alpha.load(text, externs={"join": join})
    with pytest.raises(tw.DeclarationError, match="no associative operation that is known"):
        alpha.generateScanC(program, "joined", tmp_path)
    with pytest.raises(tw.DeclarationError, match="no external function 'other'"):
        alpha.generateScanC(program, "joined", tmp_path, associative=["other"])
    values = np.random.default_rng(3).integers(0, 2, 70) * np.arange(70)
    (found,) = compiled(
        program, "joined", tmp_path, {"N": 70}, values, more=code, associative=["join"]
    )
    np.testing.assert_array_equal(found, evaluated(program["joined"], values)[0])


def test_9_3_what_is_no_scan(tmp_path: Path) -> None:
    program = alpha.load("""affine square {N | N > 0}
      input double A {i | 0<=i<N}; output double X {i | 0<=i<N};
      let X[i] = case {i==0} : A[i]; {i>0} : X[i-1] * X[i-1]; esac;""")
    with pytest.raises(tw.DeclarationError, match="square_scan has no scan: X is no scan"):
        alpha.generateScanC(program, "square", tmp_path)
    copies = alpha.load("""affine copies {N | N > 0}
      input double A {i | 0<=i<N}; output double X {i | 0<=i<N}; let X[i] = A[i] + 1;""")
    with pytest.raises(tw.DeclarationError, match="no variable needs earlier values"):
        alpha.generateScanC(copies, "copies", tmp_path)


def test_9_3_with_the_wrapper(tmp_path: Path) -> None:
    program = alpha.load(SEGMENT.replace("TYPE", "int"))
    alpha.generateScanC(program, "mss", tmp_path, 4)
    alpha.generateWrapperC(program, "mss", tmp_path)
    alpha.generateMakefile(program, "mss", tmp_path)
    flags = f"CFLAGS={' '.join(FLAGS)}"
    subprocess.run(
        ["make", "-s", "-C", str(tmp_path), "check-noprompt", flags], check=True, timeout=120
    )
    found = subprocess.run(
        [tmp_path / "mss.check-noprompt", "5"], input="1 -3 4 -1 2", capture_output=True,
        text=True, timeout=60, check=True,
    )  # fmt: skip
    assert found.stdout.split() == ["1", "1", "4", "4", "5"]


def test_second_order_with_two_branches_to_start(tmp_path: Path) -> None:
    p = alpha.load("""affine iir {N | N>3} input long A {i | 0<=i<N}; output long X {i | 0<=i<N};
      let X[i] = case {| i==0} : A[i]; {| i==1} : A[i]+X[i-1]; {| i>=2} : A[i]+X[i-1]-2*X[i-2]; esac; .""")
    a = np.random.default_rng(1).integers(-9, 9, 50)
    (found,) = compiled(p, "iir", tmp_path, {"N": 50}, a)
    np.testing.assert_array_equal(found, p["iir"](a))
    assert "Scans over blocks of 16: X." in (tmp_path / "iir.c").read_text("utf-8")
