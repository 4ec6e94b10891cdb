"""The kernels of benchmarks/gpu: values on the emulator, PTX through the assembler, and the runner
with the emulator and with the test double of the driver."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from checks import reports

from fake_cuda import library

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "benchmarks" / "gpu"
if not FOLDER.is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


def imported(name: str) -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(FOLDER))


KERNELS = imported("kernels").KERNELS
CASES = [(kernel, size) for kernel in KERNELS for size in kernel.small]
NAMES = [f"{kernel.name} {size}" for kernel, size in CASES]


def runner(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, **variables},
    )


@pytest.mark.parametrize(("kernel", "size"), CASES, ids=NAMES)
def test_values(kernel: Any, size: tuple[int, ...]) -> None:
    arrays = kernel.inputs(size, np.random.default_rng(0))
    expected = kernel.expected(arrays, None)
    f = kernel.make("gpu-emulator")
    # The steps of a stencil leave its border as it was.
    result, evaluated = (
        [array.copy() for array in arrays] if kernel.steps > 1 else arrays for _ in range(2)
    )
    for _ in range(kernel.steps):
        if kernel.steps == 1:
            result, evaluated = [f(*result)], [f.evaluate(*evaluated)]
        else:
            border = result[0].copy()
            inner = (slice(1, -1),) * border.ndim
            step = f.evaluate(*evaluated)
            evaluated = [evaluated[0].copy()]
            evaluated[0][inner] = step[inner]
            result = [f(*result, out=border)]
    tolerances = kernel.tolerances(arrays)
    np.testing.assert_allclose(result[0], evaluated[0], **tolerances)
    np.testing.assert_allclose(result[0], expected, **tolerances)


def test_results_that_are_all_small_are_compared_all_the_same() -> None:
    (softmax,) = (kernel for kernel in KERNELS if kernel.name == "softmax")
    arrays = softmax.inputs((3, 4096), np.random.default_rng(0))
    expected = softmax.expected(arrays, None)
    wrong = expected.copy()
    wrong[1, np.argmin(expected[1])] *= 1.0001
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(wrong, expected, **softmax.tolerances(arrays))


def test_sums_of_tensor_cores_are_no_wrong_values() -> None:
    # They are cut off, not rounded, after every few terms.
    (gemm,) = (kernel for kernel in KERNELS if kernel.name == "bf16 gemm")
    depth, few = 8192, 8
    arrays = gemm.inputs((16, 512, depth), np.random.default_rng(0))
    a, b = (array.astype(np.float64) for array in arrays)
    sums = np.zeros((16, 512), np.float32)
    for k in range(0, depth, few):
        exact = sums + a[:, k : k + few] @ b[k : k + few]
        sums = exact.astype(np.float32)
        above = np.abs(sums.astype(np.float64)) > np.abs(exact)
        sums[above] = np.nextafter(sums[above], np.float32(0))
    expected = gemm.expected(arrays, None)
    tolerances = gemm.tolerances(arrays)
    allowed = tolerances["atol"] + tolerances["rtol"] * np.abs(expected)
    assert (4 * np.abs(sums - expected) < allowed).all()
    assert tolerances["atol"] < 0.01  # a term is up to 0.25


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
def test_assembled(kernel: Any) -> None:
    for report in reports(kernel.make("cuda"), ("sm_80", "sm_90")):
        # Where sizes are any, parts of tiles take registers, too.
        if kernel.name != "sgemm, any size":
            assert "0 bytes spill stores, 0 bytes spill loads" in report, report
            assert " 0 bytes stack frame" in report, report


def test_some_rows_are_the_same_as_all() -> None:
    rows = np.array([0, 2, 1, 2])
    for kernel in KERNELS:
        if kernel.peers == "copy":
            continue
        arrays = kernel.inputs(kernel.small[0], np.random.default_rng(0))
        all_rows = kernel.expected(arrays, None)
        np.testing.assert_allclose(kernel.expected(arrays, rows), all_rows[rows], rtol=1e-6)


def test_the_runner_on_the_emulator(tmp_path: pathlib.Path) -> None:
    done = runner("--emulator", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    with open(tmp_path / "gpu.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["kernel"] for row in rows] == [kernel.name for kernel, _ in CASES]
    assert not any(row["problem"] or row["rate"] for row in rows)
    assert done.stdout.count("values are right") == len(CASES)
    assert json.loads((tmp_path / "gpu.json").read_text())["device"] == "gpu-emulator"


def test_the_runner_without_a_device(tmp_path: pathlib.Path) -> None:
    done = runner("--output", str(tmp_path), TILEWRIGHT_CUDA_DRIVER="/nowhere/libcuda.so.1")
    assert done.returncode == 1
    assert "nothing was measured" in done.stderr
    assert not list(tmp_path.iterdir())


SMALL = """
import dataclasses, os, pathlib, sys, time
sys.path.insert(0, {folder!r})
import kernels, run
for at, kernel in enumerate(kernels.KERNELS):
    kernels.KERNELS[at] = dataclasses.replace(kernel, sizes=kernel.small[:1])
if {trusting}:
    run.Values.check = lambda self, result: None
run.FOLDER, run.CASE_SECONDS = pathlib.Path(__file__).parent, 6
measure = run.measure
def measured(kernel, size, *arguments):
    if kernel.name == {ends!r}:
        os._exit(7)
    if kernel.name == {hangs!r}:
        time.sleep(100)
    return measure(kernel, size, *arguments)
run.measure = measured
sys.exit(run.main())
"""


def python_with_double(
    *arguments: str, modules: Sequence[pathlib.Path] = ()
) -> subprocess.CompletedProcess[str]:
    """Python with the benchmark's modules, and others, and the test double of the driver."""
    paths = [str(path) for path in (ROOT / "python", FOLDER, *modules)]
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "TILEWRIGHT_CUDA_DRIVER": str(library()),
            "PYTHONPATH": os.pathsep.join(paths),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def on_the_double(
    folder: pathlib.Path, *arguments: str, trusting: bool = True, ends: str = "", hangs: str = ""
) -> tuple[int, str, dict[str, Any]]:
    """Runs all cases at small sizes with a driver that computes nothing."""
    script = folder / "run.py"
    text = SMALL.format(folder=str(FOLDER), trusting=trusting, ends=ends, hangs=hangs)
    script.write_text(text)
    done = python_with_double(str(script), "--output", str(folder), "--seconds", "0", *arguments)
    return done.returncode, done.stdout, json.loads((folder / "gpu.json").read_text())


def test_wrong_values_are_not_timed(tmp_path: pathlib.Path) -> None:
    status, text, stored = on_the_double(tmp_path, "--peers", "CuPy", trusting=False)
    assert status == 1
    ours = [row for row in stored["rows"] if row["by"] == "tilewright"]
    assert len(ours) == len(KERNELS)
    assert all(row["problem"].startswith("WRONG VALUES") for row in ours)
    assert not any("rate" in row for row in stored["rows"])
    assert "WRONG VALUES" in text


def test_a_case_that_ends_the_process_and_one_that_hangs(tmp_path: pathlib.Path) -> None:
    status, text, stored = on_the_double(
        tmp_path, "--peers", "CuPy", ends="blur", hangs="softmax", trusting=True
    )
    assert status == 1
    ours = {row["kernel"]: row for row in stored["rows"] if row["by"] == "tilewright"}
    assert set(ours) == {kernel.name for kernel in KERNELS}
    assert "ended the process (status 7)" in ours["blur"]["problem"]
    assert "did not end" in ours["softmax"]["problem"]
    for name, row in ours.items():
        assert name in ("blur", "softmax") or (row["rate"] > 0 and row["repeats"] >= 5)
    assert ours["heat 3D"]["goal"].startswith("of the copy's rate")
    assert "Fake GPU" in text
    with open(tmp_path / "gpu.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(stored["rows"])


def test_what_does_not_fit_into_the_limit_is_named(tmp_path: pathlib.Path) -> None:
    status, text, stored = on_the_double(tmp_path, "--limit", "0")
    assert status == 0
    assert stored["left_out"] and not stored["rows"]
    assert text.count("the limit of 0 s was reached") == len(stored["left_out"]) == len(KERNELS)


def test_launch_costs_without_a_peer_that_does_not_work(tmp_path: pathlib.Path) -> None:
    broken = "def zeros(*args, **kwargs): raise AssertionError('Torch not compiled with CUDA')"
    (tmp_path / "torch.py").write_text(broken)
    (tmp_path / "cupy.py").write_text("raise RuntimeError('no CUDA root')")
    code = """
import launch
names = ["tilewright, new array", "PyTorch add", "CuPy RawKernel"]
launch.CONTENDERS = {name: launch.CONTENDERS[name] for name in names}
print([(row[0], launch.judged(*row[:2])) for row in launch.rows(2)])
"""
    done = python_with_double("-c", code, modules=[tmp_path])
    assert done.returncode == 0, done.stderr
    assert "tilewright, new array" in done.stdout and "goal <= 4: " in done.stdout
    assert "PyTorch" not in done.stdout
    assert "PyTorch add: AssertionError: Torch not compiled with CUDA" in done.stderr
    assert "CuPy RawKernel: RuntimeError: no CUDA root" in done.stderr


def test_cuda_c_compiles() -> None:
    contenders = imported("contenders")
    try:
        binary, _ = contenders.compile_cuda("sm_80")
    except contenders.MissingError as missing:
        pytest.skip(str(missing))
    for kernel in KERNELS:
        if kernel.peers == "bf16 gemm":
            continue  # tensor cores are cuBLAS's and ours
        assert kernel.peers.lower().replace(" ", "_").encode() in binary


def test_programs_that_the_planner_maps(tmp_path: pathlib.Path) -> None:
    done = runner("--topic", "auto", "--emulator", "--only", "sums", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "gpu.json").read_text())["rows"]
    assert len(rows) == 2 and all(row["note"] == "values are right" for row in rows)
