"""Every operation on every type in a kernel: the emulator beside the evaluator, and PTX that the assembler takes. An
operation for which LLVM has no instruction would end the process; here it would end the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from checks import assemble, in_tuple

import tilewright as tw
from language.operations import edge_values, functions_of

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
REALS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]

UNARY = functions_of(1)
BINARY = functions_of(2)


def edges(dtype: str, pairs: bool) -> list[np.ndarray]:
    """Limits, zeros of both signs, units, infinities, NaN, usual numbers; with `pairs`, each beside each."""
    values: np.ndarray = edge_values(getattr(tw, dtype))  # type: ignore[no-untyped-call]
    return [np.repeat(values, len(values)), np.tile(values, len(values))] if pairs else [values]


def assert_same(own: np.ndarray, right: np.ndarray, name: str, loose: float) -> None:
    """Integers and bools exactly; floats within `loose` of themselves, NaN where NaN is."""
    assert own.dtype == right.dtype
    if own.dtype.kind in "bui":
        np.testing.assert_array_equal(own, right, err_msg=name)
        return
    if own.dtype.kind == "f" and not any(word in name for word in ("min", "max")):
        # Of two zeros either is the smaller one; elsewhere zeros have the sign that IEEE 754 gives them.
        zero = (right == 0) & (own == 0)
        np.testing.assert_array_equal(np.signbit(own)[zero], np.signbit(right)[zero], err_msg=name)
    kind = np.complex128 if own.dtype.kind == "c" else np.float64
    least = float((np if own.dtype.kind in "fc" else ml_dtypes).finfo(own.dtype).tiny)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            own.astype(kind), right.astype(kind), rtol=loose, atol=4 * least, err_msg=name
        )


def run(
    outputs: list[tw.Computation], arrays: list[np.ndarray], loose: float, **options: Any
) -> None:
    f = tw.function("f", outputs=outputs, target="gpu-emulator", **options)
    for output in outputs:
        output.gpu_tile("i", 32)
    given = arrays[: len(f.inputs)]
    for output, own, right in zip(
        outputs, in_tuple(f(*given)), in_tuple(f.evaluate(*given)), strict=True
    ):
        assert_same(own, right, output.name, loose)
    assemble(f, ["sm_75", "sm_90"])


def inputs(dtype: str, count: int, size: int) -> list[tw.Computation]:
    return [tw.input("AB"[k], [size], getattr(tw, dtype)) for k in range(count)]


def declare(name: str, size: int, value: tw.Expression) -> tw.Computation:
    return tw.computation(name, {tw.iter("i"): size}, value)


LOOSE = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


def loose(dtype: str) -> float:
    """What functions of the type may differ by; those of narrow integers are of narrow floats."""
    return (
        LOOSE.get({"8": "float16", "6": "float32"}.get(dtype[-1], dtype), 1e-12)
        if "int" in dtype
        else LOOSE.get(dtype, 1e-12)
    )


def declared(
    functions: dict[str, Callable[..., Any]], dtype: str, arguments: int, size: int
) -> list[tw.Computation]:
    """One computation for each function that is defined on the type."""
    given = inputs(dtype, arguments, size)
    i = tw.iter("i")
    outputs = []
    for k, (name, function) in enumerate(functions.items()):
        try:
            outputs.append(declare(f"r{k}_{name}", size, function(*(a[i] for a in given))))
        except tw.DeclarationTypeError:
            continue  # not defined on this type
    return outputs


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REALS])
def test_functions_of_one_argument(dtype: str) -> None:
    arrays = edges(dtype, pairs=False)
    outputs = declared(UNARY, dtype, 1, arrays[0].size)
    assert len(outputs) >= (10 if dtype == "bool" else 30)
    run(outputs, arrays, loose(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_functions_with_fast_math(dtype: str) -> None:
    # Infinities and NaN do not occur by that promise.
    arrays = [(np.arange(1, 41) / 8).astype(dtype)]
    run(declared(UNARY, dtype, 1, arrays[0].size), arrays, 1e-5, fast_math=True)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REALS, *COMPLEX])
def test_functions_of_two_arguments(dtype: str) -> None:
    arrays = edges(dtype, pairs=True)
    left_out = {"Pow"} if dtype in ("bool", *COMPLEX) else set()
    chosen = {name: function for name, function in BINARY.items() if name not in left_out}
    outputs = declared(chosen, dtype, 2, arrays[0].size)
    assert len(outputs) >= 6
    run(outputs, arrays, loose(dtype))


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REALS])
def test_conversions(dtype: str) -> None:
    arrays = edges(dtype, pairs=False)
    (a,) = inputs(dtype, 1, arrays[0].size)
    i = tw.iter("i")
    targets = ["bool", *INTEGERS, *REALS, "complex64"]
    outputs = [
        declare(f"to_{name}", arrays[0].size, tw.cast(a[i], getattr(tw, name)))
        for name in targets
        if name != dtype
    ]
    run(outputs, arrays, LOOSE.get(dtype, 1e-6))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("to", INTEGERS)
def test_floats_saturate_where_an_integer_does_not_hold_them(dtype: str, to: str) -> None:
    limits = np.iinfo(to)
    far = float(np.finfo(dtype).max)
    beyond = np.array([np.nan, np.inf, -np.inf, -1.5, 2.5], dtype)
    (a,) = inputs(dtype, 1, 5)
    f = tw.function(
        "f",
        outputs=[declare("C", 5, tw.cast(a[tw.iter("i")], getattr(tw, to)))],
        target="gpu-emulator",
    )
    f["C"].gpu_tile("i", 32)
    below = max(limits.min, -1)
    assert f(beyond).tolist() == [0, limits.max, limits.min, below, 2]
    if far > limits.max:
        far_away = np.array([far, -far, far, -far, 0], dtype)
        assert f(far_away).tolist() == [limits.max, limits.min, limits.max, limits.min, 0]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_parts(dtype: str) -> None:
    arrays = edges(dtype, pairs=False)
    (a,) = inputs(dtype, 1, arrays[0].size)
    i = tw.iter("i")
    parts = [
        tw.real(a[i]),
        tw.imag(a[i]),
        tw.conj(a[i]),
        -a[i],
        a[i] * tw.conj(a[i]),
        abs(a[i]),
        tw.sign(a[i]),
        tw.isinf(a[i]),
    ]
    run([declare(f"r{k}", arrays[0].size, part) for k, part in enumerate(parts)], arrays, 1e-5)


def test_functions_of_complex_numbers_are_refused_plainly() -> None:
    (a,) = inputs("complex128", 1, 48)
    C = declare("C", 48, tw.exp(a[tw.iter("i")]))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.gpu_tile("i", 32)
    with pytest.raises(tw.ScheduleError, match="no code for a GPU"):
        str(f.ptx)


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
def test_reductions(op: str) -> None:
    i, k = tw.iters("i k")
    is_bool = op in ("any", "all")
    A = tw.input("A", [48, 5], tw.bool if is_bool else tw.float32)
    C = tw.computation("C", {i: 48}, getattr(tw, op)(A[i, k], over={k: 5}))
    a = np.random.default_rng(0).integers(-3, 4, (48, 5))
    run([C], [a > 2 if op == "any" else a > -3 if is_bool else a.astype(np.float32)], 1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("op", ["sum", "min", "max"])
def test_atomic_updates(op: str, dtype: str) -> None:
    i, k = tw.iters("i k")
    A = tw.input("A", [4, 70], getattr(tw, dtype))
    C = tw.computation("C", {i: 4}, getattr(tw, op)(A[i, k], over={k: 70}))
    f = tw.function("f", outputs=[C], target="gpu-emulator")
    C.split(k, 32).reorder("k0", "i", "k1").atomic().gpu_block("k0", "i").gpu_thread("k1")
    a = np.random.default_rng(0).integers(0 if dtype[0] == "u" else -9, 10, (4, 70)).astype(dtype)
    np.testing.assert_array_equal(f(a), f.evaluate(a))
    assemble(f, ["sm_75", "sm_90"])
