"""Every operation on every type in a kernel: the emulator beside the evaluator, and PTX that the assembler takes. An
operation for which LLVM has no instruction would end the process; here it would end the tests."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assemble

import tilewright as tw

SIZE = 48
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
REALS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]

Operation = tuple[str, Callable[..., Any]]
UNARY_REAL = [
    tw.exp, tw.exp2, tw.log, tw.log2, tw.log10, tw.sin, tw.cos, tw.tan, tw.sinh, tw.cosh, tw.tanh,
    tw.arcsin, tw.arccos, tw.arctan, tw.erf, tw.sqrt, tw.rsqrt, tw.sigmoid, tw.floor, tw.ceil,
    tw.trunc, tw.rint, tw.isnan, operator.abs, operator.neg,
]  # fmt: skip
BINARY = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.lt,
    operator.le, operator.eq, operator.ne, tw.minimum, tw.maximum,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor]


def values(dtype: str, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    numbers = generator.integers(1, 6, SIZE)
    element = getattr(tw, dtype).dtype
    if dtype.startswith(("float", "bfloat")):
        return (numbers / 8).astype(element)  # type: ignore[no-any-return]
    if dtype.startswith("complex"):
        return (numbers / 8 + 1j * generator.integers(-3, 4, SIZE)).astype(element)  # type: ignore[no-any-return]
    return numbers.astype(element)


def run(outputs: list[tw.Computation], arrays: list[np.ndarray], loose: float) -> None:
    f = tw.function("f", outputs=outputs, target="gpu-emulator")
    for output in outputs:
        output.gpu_tile("i", 32)
    given = arrays[: len(f.inputs)]
    results, expected = f(*given), f.evaluate(*given)
    results = results if isinstance(results, tuple) else (results,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for output, own, right in zip(outputs, results, expected, strict=True):
        exact = own.dtype.kind in "bui"
        np.testing.assert_allclose(
            own.astype(complex),
            right.astype(complex),
            rtol=0 if exact else loose,
            err_msg=output.name,
        )
    assemble(f, ["sm_75", "sm_90"])


def declare(name: str, value: tw.Expression) -> tw.Computation:
    return tw.computation(name, {tw.iter("i"): SIZE}, value)


LOOSE = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


@pytest.mark.parametrize("dtype", REALS)
def test_real_functions(dtype: str) -> None:
    A = tw.input("A", [SIZE], getattr(tw, dtype))
    i = tw.iter("i")
    outputs = [declare(f"r{k}", function(A[i])) for k, function in enumerate(UNARY_REAL)]
    run(outputs, [values(dtype, 0)], LOOSE.get(dtype, 1e-12))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_functions_with_fast_math(dtype: str) -> None:
    A = tw.input("A", [SIZE], getattr(tw, dtype))
    i = tw.iter("i")
    outputs = [declare(f"r{k}", function(A[i])) for k, function in enumerate(UNARY_REAL)]
    f = tw.function("f", outputs=outputs, target="gpu-emulator", fast_math=True)
    for output in outputs:
        output.gpu_tile("i", 32)
    a = values(dtype, 0)
    for own, right in zip(f(a), f.evaluate(a), strict=True):
        np.testing.assert_allclose(own, right, rtol=1e-5)
    assemble(f, ["sm_75", "sm_90"])


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REALS, *COMPLEX])
def test_binary_operations(dtype: str) -> None:
    A = tw.input("A", [SIZE], getattr(tw, dtype))
    B = tw.input("B", [SIZE], getattr(tw, dtype))
    i = tw.iter("i")
    outputs = []
    operations = [*BINARY, operator.truediv]
    operations += BITS if dtype in ("bool", *INTEGERS) else []
    operations += [operator.lshift, operator.rshift] if dtype in INTEGERS else []
    operations += [tw.arctan2] if dtype in REALS else []
    operations += [operator.pow] if dtype not in ("bool", *COMPLEX) else []
    for k, operation in enumerate(operations):
        try:
            outputs.append(declare(f"r{k}", operation(A[i], B[i])))
        except tw.DeclarationTypeError:
            continue  # not defined on this type
    assert len(outputs) >= 6
    run(outputs, [values(dtype, 0), values(dtype, 1)], LOOSE.get(dtype, 1e-12))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REALS])
def test_conversions(dtype: str) -> None:
    A = tw.input("A", [SIZE], getattr(tw, dtype))
    i = tw.iter("i")
    targets = ["bool", *INTEGERS, *REALS, "complex64"]
    outputs = [
        declare(f"to_{name}", tw.cast(A[i], getattr(tw, name))) for name in targets if name != dtype
    ]
    run(outputs, [values(dtype, 0)], LOOSE.get(dtype, 1e-6))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_parts(dtype: str) -> None:
    A = tw.input("A", [SIZE], getattr(tw, dtype))
    i = tw.iter("i")
    parts = [tw.real(A[i]), tw.imag(A[i]), tw.conj(A[i]), -A[i], A[i] * tw.conj(A[i])]
    run([declare(f"r{k}", part) for k, part in enumerate(parts)], [values(dtype, 0)], 1e-5)


def test_functions_of_complex_numbers_are_refused_plainly() -> None:
    A = tw.input("A", [SIZE], tw.complex128)
    i = tw.iter("i")
    C = declare("C", tw.exp(A[i]))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile("i", 32)
    with pytest.raises(tw.ScheduleError, match="no code for a GPU"):
        str(f.ptx)


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
def test_reductions(op: str) -> None:
    i, k = tw.iters("i k")
    dtype = tw.bool if op in ("any", "all") else tw.float32
    A = tw.input("A", [SIZE, 5], dtype)
    C = tw.computation("C", {i: SIZE}, getattr(tw, op)(A[i, k], over={k: 5}))
    a = np.random.default_rng(0).integers(0, 3, (SIZE, 5)).astype(dtype.dtype)
    run([C], [a], 1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "min", "max"])
def test_atomic_updates(op: str, dtype: str) -> None:
    i, k = tw.iters("i k")
    A = tw.input("A", [4, 70], getattr(tw, dtype))
    body = getattr(tw, op)(A[i, k], over={k: 70})
    C = tw.computation("C", {i: 4}, tw.cast(body, getattr(tw, dtype)) if op == "sum" else body)
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    if f["C"].loops == ["i"]:
        pytest.skip("the sum is inside of a cast")
    C.split(k, 32).reorder("k0", "i", "k1").atomic().gpu_block("k0", "i").gpu_thread("k1")
    a = np.random.default_rng(0).integers(0, 3, (4, 70)).astype(getattr(tw, dtype).dtype)
    np.testing.assert_array_equal(f(a), f.evaluate(a))
    assemble(f, ["sm_75", "sm_90"])
