"""The module as a whole: its names, its documentation, and its life beside other copies of isl and LLVM."""

import importlib.util
import inspect

import pytest

import tilewright as tw
from children import run_python
from tilewright import _core

USE = """
import numpy as np
import tilewright as tw
N, i = tw.param("N"), tw.iter("i")
x = tw.input("x", [N], tw.float32)
C = tw.computation("C", {i: N}, tw.sqrt(x[i]) + 1)
f = tw.function("f", outputs=[C])
C.split(i, 4)
assert f(np.full(5, 4, np.float32)).tolist() == [3] * 5
"""

ISLPY = """
import islpy
assert islpy.Set("[N] -> { [i] : 0 <= i < N }").is_bounded()
"""

LLVMLITE = """
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
module = llvm.parse_assembly("define i32 @f(i32 %a) { %b = add i32 %a, 1  ret i32 %b }")
target = llvm.Target.from_default_triple().create_target_machine()
with llvm.create_mcjit_compiler(module, target) as engine:
    engine.finalize_object()
    import ctypes
    f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(engine.get_function_address("f"))
    assert f(41) == 42
"""


# Compiles more each time it runs.
NUMBA = """
import numba
import numpy as np
steps = globals().get("steps", 0) + 1
@numba.njit
def numba_sum(x, start):
    for value in x:
        start += value * value
    return start
for dtype in (np.float32, np.float64):
    assert numba_sum(np.arange(steps + 10, dtype=dtype), dtype(1)) == 1 + sum(
        n * n for n in range(steps + 10)
    )
"""

OTHERS = {"islpy": ISLPY, "llvmlite": LLVMLITE, "numba": NUMBA}


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("first", [True, False], ids=["after", "before"])
def test_other_copies_of_isl_and_llvm_in_the_process(library, first):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    other = OTHERS[library]
    run_python("-c", other + USE + other if first else USE + other + USE)


def test_the_isl_that_answers_is_named():
    assert _core.isl_version.startswith("isl-")
    assert tw.__version__ == _core.__version__


def test_public_names_exist_and_are_documented():
    for name in tw.__all__:
        value = getattr(tw, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name
            members = vars(value).items() if inspect.isclass(value) else ()
            for member, function in members:
                if not member.startswith("_") and callable(function):
                    assert inspect.getdoc(function), f"{name}.{member}"


def test_every_error_is_a_usual_python_error_too():
    usual = {
        "DeclarationError": ValueError,
        "DeclarationTypeError": TypeError,
        "DomainError": IndexError,
        "SelfDependenceError": ValueError,
        "ScheduleError": ValueError,
        "IllegalScheduleError": ValueError,
        "AnalysisLimitError": RuntimeError,
        "SubscriptError": IndexError,
        "OutOfBoundsError": IndexError,
        "InternalError": RuntimeError,
    }
    for name, base in usual.items():
        error = getattr(tw, name)
        assert issubclass(error, base) and issubclass(error, tw.TilewrightError)


def test_import_brings_no_libraries_that_few_calls_need():
    """Each takes milliseconds, in every process."""
    rarely = ("concurrent.futures", "difflib", "hashlib", "html", "json.tool", "matplotlib", "tqdm")
    program = "\n".join(
        [
            "import sys, numpy, ml_dtypes",
            "before = set(sys.modules)",
            "import tilewright",
            f"print([name for name in {rarely} if name in set(sys.modules) - before])",
        ]
    )
    assert run_python("-c", program).stdout.strip() == "[]"
