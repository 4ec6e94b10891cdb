"""C source of functions whose loops run on a GPU: compiled by the machine's C compilers and called, on
the test double of CUDA's driver, which interprets the kernels' PTX. The emulator says what is right."""

from __future__ import annotations

import ctypes
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import fake_cuda
import tilewright as tw
from compiled_c import COMPILERS, CompiledC, check
from gpu.checks import random, tiled_matmul

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C compiler on PATH")

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")

Steer = Callable[[str], None]


@pytest.fixture
def device(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Steer:
    """Settings of a driver that runs kernels, and that no other test has opened."""
    path = tmp_path / "libcuda_of_this_test.so"
    shutil.copy(fake_cuda.library(), path)
    monkeypatch.setenv("TILEWRIGHT_CUDA_DRIVER", str(path))
    monkeypatch.setenv("TILEWRIGHT_TEST_FAKE_CUDA", "run=1")
    double = ctypes.CDLL(str(path))
    return lambda settings: double.fake_cuda_add(settings.encode())


def test_a_product_with_tiles_in_shared_memory(device: Steer, tmp_path: pathlib.Path) -> None:
    f = tiled_matmul(tile=8, steps=4, each=2)
    assert "barrier" in str(f.loops)
    check(f, tmp_path, A=random(9, 6), B=random(6, 10))


def test_kernels_one_after_the_other_through_memory_of_the_device(
    device: Steer, tmp_path: pathlib.Path
) -> None:
    x = tw.input("x", [N], tw.float64)
    first = tw.computation("first", {i: N}, tw.exp(x[i]))
    last = tw.computation("last", {i: (1, N - 1)}, first[i - 1] + tw.exp(first[i + 1]))
    f = tw.function("stages", outputs=[last], target="gpu-emulator")
    first.gpu_tile(i, 8)
    last.gpu_tile(i, 8)
    # The first and the last element are what they were: zeros, which this test gives.
    check(f, tmp_path, x=np.arange(21.0) / 8)


def test_loops_of_the_host_around_launches(device: Steer, tmp_path: pathlib.Path) -> None:
    x = tw.input("x", [N], tw.int16)
    a = tw.computation(
        "a",
        {k: K, i: N},
        lambda a: [(k == 0, x[i]), (k > 0, a[k - 1, N - 1 - i] + tw.cast(k * i, tw.int16))],
        dtype=tw.int16,
    )
    f = tw.function("steps", outputs=[a], target="gpu-emulator")
    a.gpu_tile(i, 4)
    check(f, tmp_path, x=np.arange(11, dtype=np.int16), K=np.int64(3))
    assert "; ++k) {\n    /* a */\n    tilewright_gpu_launch(" in f.c


def test_structures_and_numbers(device: Steer, tmp_path: pathlib.Path) -> None:
    P = tw.input("P", [N], np.dtype([("m", "f4"), ("at", "f8")], align=True))
    scale = tw.input("scale", [], tw.float64)
    y = tw.computation("y", {i: N}, P.at[i] * scale + P.m[i])
    f = tw.function("weights", outputs=[y], target="gpu-emulator")
    y.gpu_tile(i, 8)
    given = np.zeros(13, np.dtype([("m", "f4"), ("at", "f8")], align=True))
    given["m"], given["at"] = np.arange(13), np.arange(13) / 3
    check(f, tmp_path, P=given, scale=np.float64(1.5), N=np.int64(13))


def test_packed_structures_are_refused(tmp_path: pathlib.Path) -> None:
    P = tw.input("P", [N], np.dtype([("m", "u1"), ("at", "f8")]))
    y = tw.computation("y", {i: N}, P.at[i] * 2)
    f = tw.function("weights", outputs=[y], target="gpu-emulator")
    y.gpu_tile(i, 8)
    with pytest.raises(tw.ExportError, match="fields of P are packed"):
        f.export_source(tmp_path)


def gather() -> tw.Function:
    x = tw.input("x", [N], tw.float32)
    at = tw.input("at", [M], tw.int32)
    y = tw.computation("y", {i: M}, x[at[i]])
    f = tw.function("gather", outputs=[y], target="gpu-emulator")
    y.gpu_tile(i, 8)
    return f


def problem(compiled: CompiledC, folder: pathlib.Path) -> str:
    (library,) = folder.glob("*.so")
    text = ctypes.CDLL(str(library))[f"{compiled.exported.name}_problem"]
    text.restype = ctypes.c_char_p
    return text().decode()


def test_subscripts_that_data_decide_about(device: Steer, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "out"
    compiled = CompiledC(gather(), folder, COMPILERS[0])
    x, at = np.arange(5, dtype=np.float32), np.array([4, 0, 3], np.int32)
    (found,), status = compiled(x=x, at=at)
    assert status == 0 and found.tolist() == [4, 0, 3]
    (found,), status = compiled(x=x, at=at + 1)
    assert status == 1 and not found.any()  # nothing is written
    (found,), status = compiled(x=x, at=at[:0])  # no element, no launch
    assert status == 0 and found.size == 0


def test_calls_that_fail_write_nothing(device: Steer, tmp_path: pathlib.Path) -> None:
    given = {"x": np.arange(5, dtype=np.float32), "at": np.array([1, 2], np.int32)}

    def fails(compiled: CompiledC, folder: pathlib.Path, error: int, function: str) -> None:
        (found,), status = compiled(**given)
        assert (status & 255, status >> 8) == (9, error) and not found.any()
        assert problem(compiled, folder).startswith(f"{function}: ")

    refused = CompiledC(gather(), tmp_path / "refused", COMPILERS[0])
    device("fail=cuModuleGetFunction:1:500")
    for _ in range(2):  # the driver is not asked again
        fails(refused, tmp_path / "refused", 500, "cuModuleGetFunction")
    compiled = CompiledC(gather(), tmp_path / "out", COMPILERS[0])
    device("fail=cuMemAlloc_v2:2:2")
    fails(compiled, tmp_path / "out", 2, "cuMemAlloc")
    device("fail=cuLaunchKernel:1:701")
    fails(compiled, tmp_path / "out", 701, "cuLaunchKernel")
    (found,), status = compiled(**given)
    assert status == 0 and found.tolist() == [1, 2]
    device("fail=cuMemcpyDtoHAsync_v2:2:719")  # the first one asks whether a thread failed
    _, status = compiled(**given)
    assert status & 255 == 10


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CUDA_DRIVER", str(tmp_path / "nowhere.so"))
    compiled = CompiledC(gather(), tmp_path, COMPILERS[0])
    (found,), status = compiled(x=np.ones(3, np.float32), at=np.zeros(3, np.int32))
    assert status == 9 and not found.any()
    assert "nowhere.so cannot be loaded" in problem(compiled, tmp_path)


def test_the_files(tmp_path: pathlib.Path) -> None:
    exported = gather().export_source(tmp_path / "src")
    header = exported.header.read_text()
    assert "const char *gather_problem(void);" in header and "GATHER_DEVICE = 9" in header
    subprocess.run(["make", "-s", f"CC={COMPILERS[0]}"], cwd=tmp_path / "src", check=True)
    assert exported.library.exists()
