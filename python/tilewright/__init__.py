"""tilewright: a polyhedral just-in-time compiler for Python.

import numpy as np, tilewright as tw

N, M, K = tw.params("N M K")
i, j, k = tw.iters("i j k")
A = tw.input("A", [N, K], tw.float32)
B = tw.input("B", [K, M], tw.float32)
C = tw.computation("C", {i: N, j: M}, tw.sum(A[i, k] * B[k, j], over={k: K}))
matmul = tw.function("matmul", outputs=[C])
c = matmul(a, b)
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import caching as cache
from ._core import __version__
from .background import compile_all
from .buffers import Buffer
from .caching import CacheInfo
from .commands import ComputationHandle
from .computations import Array, Computation, Input, computation, input
from .configuration import Settings, check_environment, settings
from .debugging import NanTrace, ReadValue
from .declaration import function
from .device_arrays import DeviceArray, as_device_array, empty, to_device
from .elementary import (
    abs,
    arccos,
    arcsin,
    arctan,
    arctan2,
    cast,
    ceil,
    clamp,
    conj,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    floor,
    imag,
    isnan,
    log,
    log2,
    log10,
    make_complex,
    maximum,
    minimum,
    real,
    rint,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from .errors import (
    AnalysisLimitError,
    ArgumentError,
    ArgumentOverflowError,
    ArgumentTypeError,
    DeclarationError,
    DeclarationTypeError,
    DeviceError,
    DeviceMemoryError,
    DomainError,
    ExportError,
    IllegalScheduleError,
    InternalError,
    OutOfBoundsError,
    ScheduleError,
    SelfDependenceError,
    SettingError,
    SubscriptError,
    TilewrightError,
)
from .exporting import Exported
from .expressions import Expression, Iterator, Parameter, iter, iters, param, params
from .functions import Function
from .loops import while_loop
from .memory import kept_memory, release_memory, set_kept_memory_limit
from .notices import TilewrightWarning
from .plotting import Picture, plot_domain
from .profiling import LoopNest, Profile, RooflinePlot
from .reductions import all, any, argmax, argmin, max, min, prod, sum
from .roofline import Machine, machine
from .schedules import Schedule, ScheduleDifference
from .source import SourceLocation
from .structs import StructInput, StructOutput, struct
from .threads import get_num_threads, set_num_threads
from .types import (
    DType,
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .types import bool_ as bool

if _TYPE_CHECKING:
    from . import cuda, kernels

__all__ = [
    "AnalysisLimitError",
    "ArgumentError",
    "ArgumentOverflowError",
    "ArgumentTypeError",
    "Array",
    "Buffer",
    "CacheInfo",
    "Computation",
    "ComputationHandle",
    "DType",
    "DeclarationError",
    "DeclarationTypeError",
    "DeviceArray",
    "DeviceError",
    "DeviceMemoryError",
    "DomainError",
    "ExportError",
    "Exported",
    "Expression",
    "Function",
    "IllegalScheduleError",
    "Input",
    "InternalError",
    "Iterator",
    "LoopNest",
    "Machine",
    "NanTrace",
    "OutOfBoundsError",
    "Parameter",
    "Picture",
    "Profile",
    "ReadValue",
    "RooflinePlot",
    "Schedule",
    "ScheduleDifference",
    "ScheduleError",
    "SelfDependenceError",
    "SettingError",
    "Settings",
    "SourceLocation",
    "StructInput",
    "StructOutput",
    "SubscriptError",
    "TilewrightError",
    "TilewrightWarning",
    "__version__",
    "abs",
    "all",
    "any",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "argmax",
    "argmin",
    "as_device_array",
    "as_dtype",
    "bfloat16",
    "bool",
    "cache",
    "cast",
    "ceil",
    "clamp",
    "compile_all",
    "complex64",
    "complex128",
    "computation",
    "conj",
    "cos",
    "cosh",
    "cuda",
    "empty",
    "erf",
    "exp",
    "exp2",
    "float16",
    "float32",
    "float64",
    "floor",
    "function",
    "get_num_threads",
    "imag",
    "input",
    "int8",
    "int16",
    "int32",
    "int64",
    "isnan",
    "iter",
    "iters",
    "kept_memory",
    "kernels",
    "log",
    "log2",
    "log10",
    "machine",
    "make_complex",
    "max",
    "maximum",
    "min",
    "minimum",
    "param",
    "params",
    "plot_domain",
    "prod",
    "promote_types",
    "real",
    "release_memory",
    "rint",
    "rsqrt",
    "select",
    "set_kept_memory_limit",
    "set_num_threads",
    "settings",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "struct",
    "sum",
    "tan",
    "tanh",
    "to_device",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "while_loop",
]

check_environment()


def load_ipython_extension(shell: _Any) -> None:
    """``%load_ext tilewright``: a refusal shows its witness as a picture below the traceback."""
    from .notebook import show_errors

    show_errors(shell)


def __getattr__(name: str) -> _Any:
    """Modules that only some programs need are loaded when they are first named."""
    if name in ("cuda", "kernels"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
