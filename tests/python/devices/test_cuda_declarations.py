"""Our declarations of the driver's interface (cpp/runtime/cuda_api.h) beside a toolkit's, where one is installed."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]

NUMBERS = {
    "Success": "CUDA_SUCCESS",
    "InvalidValue": "CUDA_ERROR_INVALID_VALUE",
    "OutOfMemory": "CUDA_ERROR_OUT_OF_MEMORY",
    "NotInitialized": "CUDA_ERROR_NOT_INITIALIZED",
    "Deinitialized": "CUDA_ERROR_DEINITIALIZED",
    "StubLibrary": "CUDA_ERROR_STUB_LIBRARY",
    "DeviceUnavailable": "CUDA_ERROR_DEVICE_UNAVAILABLE",
    "NoDevice": "CUDA_ERROR_NO_DEVICE",
    "InvalidDevice": "CUDA_ERROR_INVALID_DEVICE",
    "InvalidImage": "CUDA_ERROR_INVALID_IMAGE",
    "InvalidContext": "CUDA_ERROR_INVALID_CONTEXT",
    "NoBinaryForDevice": "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "EccUncorrectable": "CUDA_ERROR_ECC_UNCORRECTABLE",
    "InvalidPtx": "CUDA_ERROR_INVALID_PTX",
    "LinkUncorrectable": "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "NoCompiler": "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    "UnsupportedPtxVersion": "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    "CompilationDisabled": "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    "InvalidHandle": "CUDA_ERROR_INVALID_HANDLE",
    "NotFound": "CUDA_ERROR_NOT_FOUND",
    "NotReady": "CUDA_ERROR_NOT_READY",
    "IllegalAddress": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "OutOfResources": "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "LaunchTimeout": "CUDA_ERROR_LAUNCH_TIMEOUT",
    "ContextDestroyed": "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "Assertion": "CUDA_ERROR_ASSERT",
    "StackError": "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "IllegalInstruction": "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "MisalignedAddress": "CUDA_ERROR_MISALIGNED_ADDRESS",
    "InvalidAddressSpace": "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "InvalidProgramCounter": "CUDA_ERROR_INVALID_PC",
    "LaunchFailed": "CUDA_ERROR_LAUNCH_FAILED",
    "NotSupported": "CUDA_ERROR_NOT_SUPPORTED",
    "SystemNotReady": "CUDA_ERROR_SYSTEM_NOT_READY",
    "SystemMismatch": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "CompatibilityNotSupported": "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "ExternalDevice": "CUDA_ERROR_EXTERNAL_DEVICE",
    "Unknown": "CUDA_ERROR_UNKNOWN",
    "MaxThreadsPerBlock": "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "MaxBlockX": "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X",
    "MaxBlockX + 2": "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z",
    "MaxGridX": "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X",
    "MaxGridX + 2": "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z",
    "SharedBytesPerBlock": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK",
    "WarpSize": "CU_DEVICE_ATTRIBUTE_WARP_SIZE",
    "MaxPitch": "CU_DEVICE_ATTRIBUTE_MAX_PITCH",
    "Multiprocessors": "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
    "CapabilityMajor": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CapabilityMinor": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "SharedBytesPerBlockOptIn": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "MemoryPools": "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED",
    "FunctionMaxThreads": "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "FunctionSharedBytes": "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES",
    "FunctionRegisters": "CU_FUNC_ATTRIBUTE_NUM_REGS",
    "FunctionMaxDynamicSharedBytes": "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "JitErrorLog": "CU_JIT_ERROR_LOG_BUFFER",
    "JitErrorLogBytes": "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
    "InputIsPtx": "CU_JIT_INPUT_PTX",
    "PoolReleaseThreshold": "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
    "PointerDevice": "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL",
    "StreamNonBlocking": "CU_STREAM_NON_BLOCKING",
    "EventWithoutTiming": "CU_EVENT_DISABLE_TIMING",
    "HostMemory": "CU_MEMORYTYPE_HOST",
    "DeviceMemoryKind": "CU_MEMORYTYPE_DEVICE",
    "PoolProperties().allocation_type": "CU_MEM_ALLOCATION_TYPE_PINNED",
    "PoolProperties().location_type": "CU_MEM_LOCATION_TYPE_DEVICE",
}
FIELDS = {
    "PoolProperties": (
        "CUmemPoolProps",
        {
            "allocation_type": "allocType",
            "handle_types": "handleTypes",
            "location_type": "location.type",
            "location": "location.id",
            "security": "win32SecurityAttributes",
            "max_bytes": "maxSize",
            "reserved": "reserved",
        },
    ),
    "CopyOfRows": (
        "CUDA_MEMCPY2D",
        {
            "from.x": "srcXInBytes",
            "from.kind": "srcMemoryType",
            "from.host": "srcHost",
            "from.device": "srcDevice",
            "from.array": "srcArray",
            "from.pitch": "srcPitch",
            "to.x": "dstXInBytes",
            "to.kind": "dstMemoryType",
            "to.device": "dstDevice",
            "to.pitch": "dstPitch",
            "bytes": "WidthInBytes",
            "rows": "Height",
        },
    ),
}
CODE = """
#include <cuda.h>
#include <cstddef>
#include <type_traits>
#include "runtime/cuda_api.h"
using namespace tilewright::cuda;

template <class Own, class Theirs>
constexpr bool same = sizeof(Own) == sizeof(Theirs) &&
                      std::is_pointer_v<Own> == std::is_pointer_v<Theirs>;
template <class Own, class Theirs> struct Call : std::false_type {};
template <class... Own, class... Theirs>
struct Call<Result (*)(Own...), CUresult (*)(Theirs...)> {
  static constexpr bool same_number = sizeof...(Own) == sizeof...(Theirs);
  static constexpr bool value = [] {
    if constexpr (same_number) {
      return (same<Own, Theirs> && ... && true);
    }
    return false;
  }();
};
#define COMPARE(member, exported, arguments) \\
  static_assert(Call<Result(*) arguments, decltype(&::exported)>::value, #exported);
TILEWRIGHT_CUDA_FUNCTIONS(COMPARE)
"""


def header() -> pathlib.Path | None:
    folders = [os.environ.get("CUDA_HOME", "/usr/local/cuda")]
    nvcc = shutil.which("nvcc")
    if nvcc is not None:
        folders.append(str(pathlib.Path(nvcc).resolve().parents[1]))
    found = [pathlib.Path(folder, "include", "cuda.h") for folder in folders]
    return next((path for path in found if path.is_file()), None)


def test_declarations_are_those_of_the_toolkit(tmp_path: pathlib.Path) -> None:
    path, compiler = header(), shutil.which("c++") or shutil.which("g++")
    if path is None or compiler is None or not (ROOT / "cpp").is_dir():
        pytest.skip("no toolkit, no compiler, or no sources")
    lines = [
        f'static_assert(static_cast<long>({own}) == static_cast<long>({theirs}), "{own}");'
        for own, theirs in NUMBERS.items()
    ]
    for own, (theirs, fields) in FIELDS.items():
        lines.append(f"static_assert(sizeof({own}) == sizeof({theirs}));")
        lines += [
            f"static_assert(offsetof({own}, {one}) == offsetof({theirs}, {other}));"
            for one, other in fields.items()
        ]
    source = tmp_path / "declarations.cpp"
    source.write_text(CODE + "\n".join(lines) + "\n")
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'cpp'}", f"-I{path.parent}"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
