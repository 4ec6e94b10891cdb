"""Peers on a GPU. Each is used where it is: nothing is installed, and one that is not there is said
to be missing.

A contender is made for a kernel, a size and its arguments (arrays of the host), and has what does
one call, without waiting, and what fetches the result. All work goes to the default stream.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import importlib.metadata
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from kernels import Arrays, Kernel, Size

__all__ = ["PEERS", "Contender", "MissingError", "Peer", "compile_cuda", "ours", "versions"]


class MissingError(Exception):
    """A peer that is not there; the text says what was looked for."""


@dataclass(frozen=True)
class Contender:
    """What is timed.

    Attributes:
        call: puts one call's work on the default stream.
        result: waits, and gives the output as an array of the host.
    """

    call: Callable[[], Any]
    result: Callable[[], Any]


Peer = Callable[[Kernel, Size, Arrays], "Contender | None"]


def _device_arrays(kernel: Kernel, size: Size, arrays: Arrays) -> tuple[list[Any], Any]:
    given = [tw.to_device(array, "cuda") for array in arrays]
    out = tw.to_device(arrays[0], "cuda") if kernel.steps > 1 else None
    return given, tw.empty(kernel.output(size), tw.float32, "cuda") if out is None else out


def ours(kernel: Kernel, size: Size, arrays: Arrays) -> Contender:
    """The kernel by tilewright."""
    f = kernel.make("cuda")
    given, out = _device_arrays(kernel, size, arrays)
    if kernel.steps == 1:
        return Contender(lambda: f(*given, out=out), out.numpy)
    a = given[0]

    def both() -> None:
        f(a, out=out)
        f(out, out=a)

    return Contender(both, a.numpy)


# ---- cuBLAS, by its C interface ----


def _library(name: str, versions: Sequence[str]) -> ctypes.CDLL:
    """A library of NVIDIA's: from the linker's paths, a toolkit, or a wheel; loaded once."""
    names = [f"lib{name}.so.{version}" for version in versions] + [f"lib{name}.so"]
    folders = [
        os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64"),
        "/usr/local/cuda/targets/x86_64-linux/lib",
        *glob.glob("/usr/local/cuda-*/lib64"),
    ]
    # Wheels are namespaces below "nvidia": cublas/lib, cuda_nvrtc/lib, cu13/lib.
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or [] if spec else []:
        folders += glob.glob(os.path.join(place, "*", "lib"))
    paths = [os.path.join(folder, one) for one in names for folder in folders]
    for path in [*names, *filter(os.path.exists, paths)]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise MissingError(f"no lib{name}.so was found")


def _checked(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what} failed with status {status}")


def _pointer(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


_CUBLAS: list[tuple[ctypes.CDLL, ctypes.c_void_p]] = []


def cublas(kernel: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """Products by cuBLAS: of float32 in its default mode, without tensor cores; of bfloat16 by
    cublasGemmEx, with sums and result of float32."""
    if kernel.peers not in ("sgemm", "batched gemm", "bf16 gemm"):
        return None
    if not _CUBLAS:
        library = _library("cublas", ("13", "12", "11"))
        handle = ctypes.c_void_p()
        _checked(library.cublasCreate_v2(ctypes.byref(handle)), "cublasCreate")
        # 0 is CUBLAS_DEFAULT_MATH: tf32 has to be asked for.
        _checked(library.cublasSetMathMode(handle, 0), "cublasSetMathMode")
        _CUBLAS.append((library, handle))
    library, handle = _CUBLAS[0]
    (a, b), c = _device_arrays(kernel, size, arrays)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    # Matrices by rows are their transposes by columns: C' = B' A'.
    n, m, k = (32, 32, 32) if kernel.peers == "batched gemm" else size
    left: list[Any] = [ctypes.c_void_p(_pointer(b)), m]
    right: list[Any] = [ctypes.c_void_p(_pointer(a)), k]
    result: list[Any] = [ctypes.c_void_p(_pointer(c)), m]
    name, count = "cublasSgemm_v2", []
    if kernel.peers == "batched gemm":
        stride = ctypes.c_longlong(32 * 32)
        name, count = "cublasSgemmStridedBatched", [size[0]]
        left, right, result = ([*part, stride] for part in (left, right, result))
    if kernel.peers == "bf16 gemm":
        bfloat16, float32, compute_float32, usual = (
            14,
            0,
            68,
            -1,
        )  # of library_types.h, cublas_api.h
        name, count = "cublasGemmEx", [float32, m, compute_float32, usual]
        left, right = ([part[0], bfloat16, part[1]] for part in (left, right))
        result = result[:1]
    # Plain Python ints go as C ints, which is what sizes are there.
    given = [handle, 0, 0, m, n, k, ctypes.byref(one), *left, *right, ctypes.byref(zero)]
    function = getattr(library, name)

    def call() -> None:
        _checked(function(*given, *result, *count), name)
        assert a is not None and b is not None  # they live as long as the call

    return Contender(call, c.numpy)


# ---- CUDA C, by nvcc or NVRTC and the driver ----

SOURCE = pathlib.Path(__file__).with_name("kernels.cu")


def compile_cuda(architecture: str) -> tuple[bytes, str]:
    """The kernels of kernels.cu as a binary for ``"sm_90"``, and by what they were compiled."""
    usual = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
    nvcc = shutil.which("nvcc") or (usual if os.path.exists(usual) else None)
    problem = "no nvcc was found"
    if nvcc is not None:
        with tempfile.TemporaryDirectory() as folder:
            binary = pathlib.Path(folder, "kernels.cubin")
            command = [nvcc, "-O3", "--use_fast_math", f"-arch={architecture}", "-cubin"]
            done = subprocess.run(
                [*command, "-o", str(binary), str(SOURCE)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                return binary.read_bytes(), "nvcc"
            problem = f"nvcc failed: {' '.join(done.stderr.split())[:200]}"
    try:
        return _by_nvrtc(architecture), "NVRTC"
    except MissingError as missing:
        raise MissingError(f"{problem}; {missing}") from None


def _by_nvrtc(architecture: str) -> bytes:
    library = _library("nvrtc", ("13", "12", "11.2"))
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    created = library.nvrtcCreateProgram(
        ctypes.byref(program), SOURCE.read_bytes(), b"kernels.cu", 0, None, None
    )
    _checked(created, "nvrtcCreateProgram")
    options = [f"--gpu-architecture={architecture}".encode(), b"--use_fast_math"]
    given = (ctypes.c_char_p * len(options))(*options)
    status = library.nvrtcCompileProgram(program, len(options), given)
    if status != 0:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"NVRTC: {log.value.decode(errors='replace')[:300]}")
    _checked(library.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    binary = ctypes.create_string_buffer(size.value)
    _checked(library.nvrtcGetCUBIN(program, binary), "nvrtcGetCUBIN")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return binary.raw


_MODULE: list[tuple[ctypes.CDLL, ctypes.c_void_p]] = []


def _module() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    if not _MODULE:
        capability = tw.cuda.devices()[0].compute_capability
        binary, _ = compile_cuda(f"sm_{capability[0]}{capability[1]}")
        driver = ctypes.CDLL(os.environ.get("TILEWRIGHT_CUDA_DRIVER", "libcuda.so.1"))
        context, module = ctypes.c_void_p(), ctypes.c_void_p()
        # The primary context, which tilewright's arrays are in, too.
        retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        _checked(retained, "cuDevicePrimaryCtxRetain")
        _checked(driver.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
        _checked(driver.cuModuleLoadData(ctypes.byref(module), binary), "cuModuleLoadData")
        _MODULE.append((driver, module))
    return _MODULE[0]


def cuda_c(kernel: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """The same in CUDA C, mapped as PPCG does by default."""
    if kernel.peers == "bf16 gemm":
        return None
    driver, module = _module()
    given, out = _device_arrays(kernel, size, arrays)
    block, sizes = (32, 8, 1), list(size)
    if kernel.peers == "copy":
        grid, block = (-(-size[0] // 256), 1, 1), (256, 1, 1)
    elif kernel.peers == "softmax":
        grid, block, sizes = (size[0], 1, 1), (256, 1, 1), [size[1]]
    elif kernel.peers == "batched gemm":
        grid, sizes = (size[0], 1, 1), []
    elif kernel.peers == "heat 3D":
        grid, sizes = (-(-size[2] // 32), -(-size[1] // 8), -(-size[0] // 4)), [size[0]]
    else:
        grid = (-(-size[1] // 32), -(-size[0] // 32), 1)
    function = ctypes.c_void_p()
    name = kernel.peers.lower().replace(" ", "_").encode()
    _checked(driver.cuModuleGetFunction(ctypes.byref(function), module, name), "kernel not found")

    def launched(inputs: Sequence[Any], output: Any) -> Callable[[], None]:
        values: list[Any] = [ctypes.c_uint64(_pointer(array)) for array in [*inputs, output]]
        values += [ctypes.c_longlong(extent) for extent in sizes]
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values]
        )

        def launch() -> None:
            status = driver.cuLaunchKernel(function, *grid, *block, 0, None, pointers, None)
            _checked(status, "cuLaunchKernel")
            assert values and inputs  # they live as long as the call

        return launch

    first = launched(given, out)
    if kernel.steps == 1:
        return Contender(first, out.numpy)
    second = launched([out], given[0])

    def both() -> None:
        first()
        second()

    return Contender(both, given[0].numpy)


# ---- PyTorch, CuPy, Triton ----


def pytorch(kernel: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """What PyTorch has for it; float32 without tensor cores."""
    import torch

    if not torch.cuda.is_available():
        raise MissingError("this PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if kernel.peers == "bf16 gemm":
        # Its result is of bfloat16 where it is not asked for another one, which few versions know.
        factors = [torch.from_numpy(v.view(np.int16)).cuda().view(torch.bfloat16) for v in arrays]
        try:
            torch.mm(*factors, out_dtype=torch.float32)
        except TypeError:
            raise MissingError("this PyTorch has no product of bfloat16 in float32") from None
        products: list[Any] = [None]

        def multiply() -> None:
            products[0] = torch.mm(*factors, out_dtype=torch.float32)

        return Contender(multiply, lambda: products[0].cpu().numpy())
    given = [torch.from_numpy(array).cuda() for array in arrays]
    a = given[0]
    if kernel.peers in ("blur", "softmax"):
        weights = torch.full((1, 1, 3, 3), 1 / 9, device="cuda")
        made: list[Any] = [None]

        def convolve() -> None:
            made[0] = torch.nn.functional.conv2d(a[None, None], weights)[0, 0]

        def normalise() -> None:
            made[0] = torch.softmax(a, dim=1)

        call = convolve if kernel.peers == "blur" else normalise
        return Contender(call, lambda: made[0].cpu().numpy())
    out = torch.empty(kernel.output(size), device="cuda")
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: out.copy_(a),
        "sgemm": lambda: torch.mm(*given, out=out),
        "batched gemm": lambda: torch.bmm(*given, out=out),
    }
    if kernel.peers not in calls:
        return None
    return Contender(calls[kernel.peers], lambda: out.cpu().numpy())


def cupy(kernel: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """What CuPy has for it; stencils as one expression of shifted arrays."""
    if kernel.peers == "bf16 gemm":
        return None
    import cupy as cp

    given = [cp.asarray(array) for array in arrays]
    a = given[0]
    out = a.copy() if kernel.steps > 1 else cp.empty(kernel.output(size), cp.float32)
    if kernel.peers in ("blur", "heat 2D", "heat 3D"):
        return _fused(cp, kernel, a, out)
    calls: dict[str, Callable[[], Any]] = {
        "copy": lambda: cp.copyto(out, a),
        "sgemm": lambda: cp.matmul(*given, out=out),
        "batched gemm": lambda: cp.matmul(*given, out=out),
    }
    if kernel.peers not in calls:
        return None
    return Contender(calls[kernel.peers], lambda: cp.asnumpy(out))


def _fused(cp: Any, kernel: Kernel, a: Any, out: Any) -> Contender:
    """A stencil as one elementwise kernel over views."""
    axes = a.ndim
    if kernel.peers == "blur":
        n, m = out.shape
        names = [f"v{at}" for at in range(9)]
        code = f"y = ({' + '.join(names)}) * (1.0f / 9)"

        def views(array: Any) -> list[Any]:
            return [array[i : i + n, j : j + m] for i in range(3) for j in range(3)]
    else:
        names = [f"v{at}" for at in range(2 * axes + 1)]
        code = f"y = v0 + 0.1f * ({' + '.join(names[1:])} - {2 * axes} * v0)"

        def views(array: Any) -> list[Any]:
            inner = (slice(1, -1),) * axes
            result = [array[inner]]
            for axis in range(axes):
                for side in (slice(None, -2), slice(2, None)):
                    at = (*inner[:axis], side, *inner[axis + 1 :])
                    result.append(array[at])
            return result

    parameters = ", ".join(f"float32 {name}" for name in names)
    step = cp.ElementwiseKernel(parameters, "float32 y", code, "stencil")
    if kernel.steps == 1:
        given = views(a)
        return Contender(lambda: step(*given, out), lambda: cp.asnumpy(out))
    inner = (slice(1, -1),) * axes
    there, back = [*views(a), out[inner]], [*views(out), a[inner]]

    def both() -> None:
        step(*there)
        step(*back)

    return Contender(both, lambda: cp.asnumpy(a))


def triton(kernel: Kernel, size: Size, arrays: Arrays) -> Contender | None:
    """Triton's kernels as its tutorials have them: no search for the best sizes of tiles."""
    if kernel.peers not in ("copy", "softmax", "sgemm"):
        return None
    import torch
    import triton_kernels as written

    if not torch.cuda.is_available():
        raise MissingError("this PyTorch sees no GPU")
    given = [torch.from_numpy(array).cuda() for array in arrays]
    a = given[0]
    out = torch.empty(kernel.output(size), device="cuda")
    call: Callable[[], Any]
    if kernel.peers == "copy":
        grid: tuple[int, ...] = (-(-size[0] // 1024),)
        call = partial(written.copy[grid], a, out, size[0], block=1024)
    elif kernel.peers == "softmax":
        grid, block = (size[0],), 1 << (size[1] - 1).bit_length()
        call = partial(written.softmax[grid], a, out, size[1], block=block, num_warps=8)
    else:
        grid = (-(-size[0] // 128), -(-size[1] // 64))
        tiles = {"rows": 128, "columns": 64, "step": 16, "num_warps": 8}
        call = partial(written.sgemm[grid], *given, out, *size, **tiles)
    return Contender(call, lambda: out.cpu().numpy())


PEERS: dict[str, Peer] = {
    "cuBLAS": cublas,
    "CUDA C": cuda_c,
    "PyTorch": pytorch,
    "CuPy": cupy,
    "Triton": triton,
}


def versions() -> dict[str, str]:
    """The versions of what is here."""
    found = {"Python": sys.version.split()[0], "NumPy": np.__version__}
    for name in ("torch", "triton", "cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
