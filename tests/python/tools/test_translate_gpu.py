"""``tilewright translate --target cuda``: whole C programs, compiled without a CUDA toolkit, whose kernels
the test double of CUDA's driver interprets."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess

import pytest

import fake_cuda
from tilewright.tools.cli import main

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

#: Several scops with sizes at run time: double and float, a loop of time on the host, two kernels.
PROGRAM = """#include <stdio.h>
#include <stdlib.h>
static void gemm(int ni, int nj, int nk, double alpha, double beta, double C[ni][nj],
                 double A[ni][nk], double B[nk][nj]) {
#pragma scop
  for (int i = 0; i < ni; i++) {
    for (int j = 0; j < nj; j++) C[i][j] *= beta;
    for (int k = 0; k < nk; k++)
      for (int j = 0; j < nj; j++) C[i][j] += alpha * A[i][k] * B[k][j];
  }
#pragma endscop
}
static void jacobi(int steps, int n, float A[n][n], float B[n][n]) {
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.2f * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = 0.2f * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
#pragma endscop
}
static void atax(int m, int n, double A[m][n], double x[n], double y[n], double tmp[m]) {
#pragma scop
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int i = 0; i < m; i++) {
    tmp[i] = 0.0;
    for (int j = 0; j < n; j++) tmp[i] = tmp[i] + A[i][j] * x[j];
    for (int j = 0; j < n; j++) y[j] = y[j] + A[i][j] * tmp[i];
  }
#pragma endscop
}
int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 9, n = 11;
  double(*A)[n] = malloc(sizeof(double[m][n])), (*B)[m] = malloc(sizeof(double[n][m]));
  double(*C)[m] = malloc(sizeof(double[m][m])), x[n], y[n], tmp[m];
  float(*P)[n] = malloc(sizeof(float[n][n])), (*Q)[n] = malloc(sizeof(float[n][n]));
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) A[i][j] = B[j][i] = i * 0.125 + j, C[i][j % m] = i - j / 3.0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) P[i][j] = i * j % 7, Q[i][j] = i, x[j] = 1.0 / (j + 1);
  gemm(m, m, n, 1.5, 1.2, C, A, B);
  jacobi(3, n, P, Q);
  atax(m, n, A, x, y, tmp);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) printf("%a\\n", C[i][j]);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) printf("%a %a %a\\n", P[i][j], Q[i][j], y[j] + (m ? tmp[i % m] : 0));
  return 3;
}
"""

CC = "gcc -O1 -ffp-contract=off"


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CUDA_DRIVER", str(fake_cuda.library()))
    monkeypatch.setenv("TILEWRIGHT_TEST_FAKE_CUDA", "run=1")


def run(folder: pathlib.Path, *options: str, text: str = PROGRAM) -> int:
    path = folder / "program.c"
    path.write_text(text)
    return main(["translate", str(path), "--target", "cuda", "--cc", CC, *options])


def built(folder: pathlib.Path, file: str) -> pathlib.Path:
    """The program of a file, compiled as a person would do it."""
    program = folder / f"{file}.exe"
    flags = ["-Wall", "-Wno-unknown-pragmas", "-Werror", "-pthread"]
    command = [*CC.split(), *flags, str(folder / file), "-o", str(program), "-ldl", "-lm"]
    subprocess.run(command, check=True)
    return program


def output(program: pathlib.Path, *arguments: str) -> tuple[int, str, str]:
    """Status, output and error output."""
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_programs_print_what_they_printed(
    driver: None, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "schedules.json"
    assert run(tmp_path, "--check", "--save-schedule", str(path)) == 0
    assert "check: both programs print the same" in capsys.readouterr().out
    made = (tmp_path / "program.tw.c").read_text()
    assert made.count(".visible .entry") == 5 and "#pragma omp" not in made
    assert made.count("#include <dlfcn.h>") == 1 and "cuda.h" not in made
    assert sorted(json.loads(path.read_text())) == ["atax", "gemm", "jacobi"]
    assert run(tmp_path, "--schedule", str(path)) == 0
    assert (tmp_path / "program.tw.c").read_text() == made


def test_without_a_driver_statements_run_as_written(
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    assert run(tmp_path, "--check") == 3
    said = capsys.readouterr().err
    assert "check: no kernel ran" in said and "/nowhere/libcuda.so.1 cannot be loaded" in said
    ours = output(built(tmp_path, "program.tw.c"))
    theirs = output(built(tmp_path, "program.c"))
    assert ours[:2] == theirs[:2]
    assert ours[2].startswith("gemm runs as written, not on a GPU: CUDA's driver /nowhere/libcuda")
    assert len(ours[2].splitlines()) == 1  # of all scops


def test_when_a_call_fails_the_statements_run_as_written(
    driver: None, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path) == 0
    program, original = built(tmp_path, "program.tw.c"), built(tmp_path, "program.c")
    theirs = output(original)
    assert output(program) == theirs
    assert output(program, "0") == output(original, "0")  # matrices without elements
    for settings, reason in {
        "run=1;devices=0": "finds no device",
        "run=1;capability=70": "cuModuleLoadDataEx",
        "run=1;memory=2000": "out of memory",
        "run=1;fault=*:719": "(CUDA error 719)",
    }.items():
        monkeypatch.setenv("TILEWRIGHT_TEST_FAKE_CUDA", settings)
        ours = output(program)
        assert ours[:2] == theirs[:2] and reason in ours[2]


@pytest.mark.filterwarnings("ignore:.*keeps the order of the program")
def test_what_data_decide_about_stays_on_the_processor(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """int f(int n, const int x[restrict n]) {
  int i = 0;
#pragma scop
  while (i < n && x[i] > 0) i += x[i];
#pragma endscop
  return i;
}
"""
    assert run(tmp_path, text=text) == 0
    assert "no loop of it can run on a GPU" in capsys.readouterr().err
    assert "tilewright_gpu" not in (tmp_path / "program.tw.c").read_text()


@pytest.mark.parametrize("options", [["--tile", "8,8"], ["--schedule", "program"]])
def test_options_that_make_no_sense(
    options: list[str], tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, *options) == 2
    assert "needs loops over blocks and threads" in capsys.readouterr().err


def test_schedules_without_loops_of_a_gpu(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """void f(int n, int x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) x[i] = i;
#pragma endscop
}
"""
    path, schedules = tmp_path / "program.c", tmp_path / "schedules.json"
    path.write_text(text)
    assert main(["translate", str(path), "--save-schedule", str(schedules)]) == 0
    capsys.readouterr()
    assert run(tmp_path, "--schedule", str(schedules), text=text) == 2
    assert "maps no loops to blocks and threads" in capsys.readouterr().err
