"""The test double of libcuda (tests/cpp/runtime/fake) for Python: compiled once in a session, and
chosen as the process's driver. Its settings for a process are in TILEWRIGHT_TEST_FAKE_CUDA."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

import tilewright as tw
from children import run_python

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests" / "cpp" / "runtime" / "fake"
EXECUTOR = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
)


@functools.cache
def library() -> pathlib.Path:
    """The compiled double; skips the test where there are no sources or no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not (ROOT / "cpp").is_dir():
        pytest.skip("no C++ compiler, or no sources, for the test double of libcuda")
    folder = tempfile.mkdtemp(prefix="fake-cuda-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = pathlib.Path(folder) / "libfake_cuda.so"
    subprocess.run(
        [
            compiler,
            "-std=c++20",
            "-shared",
            "-fPIC",
            f"-I{ROOT / 'cpp'}",
            "-o",
            str(path),
            *map(str, sorted(SOURCE.glob("*.cpp"))),
        ],
        check=True,
    )
    return path


class Fake:
    """The double in this process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library()))
        self.library.fake_cuda_log.restype = ctypes.c_char_p
        self.library.fake_cuda_bytes_in_use.restype = ctypes.c_size_t

    def log(self) -> list[str]:
        """What happened since the last call of this."""
        text = self.library.fake_cuda_log().decode()
        self.library.fake_cuda_clear_log()
        return text.splitlines()

    def bytes_in_use(self, device: int = 0) -> int:
        return self.library.fake_cuda_bytes_in_use(device)

    def depth(self) -> int:
        return self.library.fake_cuda_context_depth()


def run(code: str, settings: str = "", **environment: str) -> str:
    """What a program prints in a process of its own, whose driver is the double."""
    variables = {
        "TILEWRIGHT_CUDA_DRIVER": str(library()),
        "TILEWRIGHT_TEST_FAKE_CUDA": settings,
        **environment,
    }
    program = "import numpy as np, tilewright as tw\n" + code
    return run_python("-c", program, timeout=120, **variables).stdout


@contextlib.contextmanager
def two_devices() -> Iterator[Fake]:
    """The process's driver is the double, with two devices of 256 MiB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CUDA_DRIVER", str(library()))
        patch.setenv("TILEWRIGHT_TEST_FAKE_CUDA", "devices=2;memory=268435456")
        double = Fake()
        assert tw.cuda.is_available()
        yield double
