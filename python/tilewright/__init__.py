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

from . import _core
from ._core import __version__
from .base import caching as cache
from .base import core_errors as _core_errors
from .base import notices as _notices
from .base.caching import CacheInfo
from .base.configuration import Settings, settings
from .base.environment import check_environment
from .base.errors import (
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
    ScheduleTypeError,
    SelfDependenceError,
    SetError,
    SettingError,
    SetTypeError,
    SubscriptError,
    TilewrightError,
    TranslationError,
)
from .base.memory import kept_memory, release_memory, set_kept_memory_limit
from .base.notices import TilewrightWarning
from .base.source import SourceLocation
from .base.threads import get_num_threads, set_num_threads
from .devices.device_arrays import DeviceArray, as_device_array, empty, to_device
from .export.exporting import Exported
from .export.source import ExportedSource
from .functions.declaration import function
from .functions.functions import Function
from .functions.structs import StructOutput, struct
from .functions.warming import compile_all
from .inspection.debugging import NanTrace, ReadValue
from .inspection.passes import CompilerPass, Passes
from .inspection.plotting import Picture, plot_domain
from .inspection.profiling import LoopNest, Profile, RooflinePlot
from .inspection.roofline import Machine, machine
from .language.arrays import Array, Input
from .language.elementary import (
    abs,
    absolute_difference,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bit_count,
    cbrt,
    ceil,
    clamp,
    conj,
    copysign,
    cos,
    cosh,
    count_leading_zeros,
    count_trailing_zeros,
    degrees,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    fmax,
    fmin,
    fmod,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    make_complex,
    maximum,
    minimum,
    radians,
    real,
    reciprocal,
    remainder,
    rint,
    round,
    rsqrt,
    saturating_add,
    saturating_subtract,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
    truncated_divide,
)
from .language.expressions import (
    DType,
    Expression,
    as_dtype,
    bfloat16,
    cast,
    checked,
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
    select,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .language.expressions import bool_ as bool
from .language.externs import Extern, extern
from .language.folds import fold
from .language.inputs import StructInput, input
from .language.names import Iterator, Parameter, iter, iters, param, params
from .language.reductions import all, any, argmax, argmin, max, min, prod, sum
from .language.views import phi
from .language.while_loops import while_loop
from .schedule.blocks import Block, block
from .schedule.buffers import Buffer
from .schedule.commands import ComputationHandle
from .schedule.computations import Computation, computation, view
from .schedule.nests import Nest
from .schedule.schedules import Schedule, ScheduleDifference
from .schedule.verdicts import Verdict, Witness
from .sets.cardinality import Cardinality
from .sets.pictures import SetPicture
from .sets.points import Point
from .sets.values import Map, Set
from .tuning.methods import tuned

if _TYPE_CHECKING:
    from . import kernels, streams
    from .devices import cuda
    from .frontends import alpha, c
    from .frontends.loops import jit, prange
    from .streams import Stream, StreamFunction, forever, stream, stream_function
    from .tuning.trials import Trial, TunedSchedule

__all__ = [
    "AnalysisLimitError",
    "ArgumentError",
    "ArgumentOverflowError",
    "ArgumentTypeError",
    "Array",
    "Block",
    "Buffer",
    "CacheInfo",
    "Cardinality",
    "CompilerPass",
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
    "ExportedSource",
    "Expression",
    "Extern",
    "Function",
    "IllegalScheduleError",
    "Input",
    "InternalError",
    "Iterator",
    "LoopNest",
    "Machine",
    "Map",
    "NanTrace",
    "Nest",
    "OutOfBoundsError",
    "Parameter",
    "Passes",
    "Picture",
    "Point",
    "Profile",
    "ReadValue",
    "RooflinePlot",
    "Schedule",
    "ScheduleDifference",
    "ScheduleError",
    "ScheduleTypeError",
    "SelfDependenceError",
    "Set",
    "SetError",
    "SetPicture",
    "SetTypeError",
    "SettingError",
    "Settings",
    "SourceLocation",
    "Stream",
    "StreamFunction",
    "StructInput",
    "StructOutput",
    "SubscriptError",
    "TilewrightError",
    "TilewrightWarning",
    "TranslationError",
    "Trial",
    "TunedSchedule",
    "Verdict",
    "Witness",
    "__version__",
    "abs",
    "absolute_difference",
    "all",
    "alpha",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "as_device_array",
    "as_dtype",
    "bfloat16",
    "bit_count",
    "block",
    "bool",
    "c",
    "cache",
    "cast",
    "cbrt",
    "ceil",
    "checked",
    "clamp",
    "compile_all",
    "complex64",
    "complex128",
    "computation",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_leading_zeros",
    "count_trailing_zeros",
    "cuda",
    "degrees",
    "empty",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "extern",
    "float16",
    "float32",
    "float64",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "fold",
    "forever",
    "function",
    "get_num_threads",
    "hypot",
    "imag",
    "input",
    "int8",
    "int16",
    "int32",
    "int64",
    "isfinite",
    "isinf",
    "isnan",
    "iter",
    "iters",
    "jit",
    "kept_memory",
    "kernels",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "machine",
    "make_complex",
    "max",
    "maximum",
    "min",
    "minimum",
    "param",
    "params",
    "phi",
    "plot_domain",
    "prange",
    "prod",
    "promote_types",
    "radians",
    "real",
    "reciprocal",
    "release_memory",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "saturating_add",
    "saturating_subtract",
    "select",
    "set_kept_memory_limit",
    "set_num_threads",
    "settings",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stream",
    "stream_function",
    "streams",
    "struct",
    "sum",
    "tan",
    "tanh",
    "to_device",
    "trunc",
    "truncated_divide",
    "tuned",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "view",
    "while_loop",
]

# What the core calls: it imports no module of ours.
_core.set_error_factory(_core_errors.make_error)
_core.set_notices(_notices.compiled, _notices.copied)

check_environment()


def load_ipython_extension(shell: _Any) -> None:
    """``%load_ext tilewright``: a refusal shows its witness as a picture below the traceback."""
    from .inspection.notebook import show_errors

    show_errors(shell)

    def alpha(line: str, cell: str) -> _Any:
        """A program in Alpha; its systems are functions afterwards."""
        import importlib

        notebook = importlib.import_module(".frontends.alpha.notebook", __name__)
        return notebook.alpha_cell(shell, line, cell)

    shell.register_magic_function(alpha, "cell", "alpha")


# Which module a name is found in that is loaded when somebody first says it, and its name there
# ("": it is the module).
_LAZY = {
    "alpha": (".frontends.alpha", ""),
    "c": (".frontends.c", ""),
    "cuda": (".cuda", ""),
    "jit": (".frontends.loops", "jit"),
    "kernels": (".kernels", ""),
    "prange": (".frontends.loops", "prange"),
    "Stream": (".streams", "Stream"),
    "StreamFunction": (".streams", "StreamFunction"),
    "forever": (".streams", "forever"),
    "stream": (".streams", "stream"),
    "stream_function": (".streams", "stream_function"),
    "Trial": (".tuning.trials", "Trial"),
    "TunedSchedule": (".tuning.trials", "TunedSchedule"),
    "streams": (".streams", ""),
}


def __getattr__(name: str) -> _Any:
    """Modules that only some programs need are loaded when they are first named."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    place, own = _LAZY[name]
    module = importlib.import_module(place, __name__)
    return getattr(module, own) if own else module


def __dir__() -> list[str]:
    """What is loaded when it is first named is there, too: editors complete it."""
    return sorted({*globals(), *_LAZY})
