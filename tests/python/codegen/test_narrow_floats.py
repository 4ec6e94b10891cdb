"""Elementary functions of float16 and bfloat16 at every number that there is, on the CPU and the emulator, and the
tails of what is composed of others: no step overflows or underflows before the result does."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

i = tw.iter("i")
DTYPES: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def logistic(x: np.ndarray) -> np.ndarray:
    decayed = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, decayed, 1.0) / (1 + decayed))


EXACT: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan "
        "arcsinh arccosh arctanh sqrt cbrt degrees radians".split()
    )
}
EXACT |= {
    "erf": np.vectorize(math.erf),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": logistic,
}


def places(values: np.ndarray) -> np.ndarray:
    """Numbers of two bytes, counted from zero."""
    bits = values.view(np.int16).astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


@pytest.mark.parametrize("target", ["cpu", "gpu-emulator"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_of_two_bytes(dtype: str, target: str) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype])
    a = tw.input("a", [x.size], getattr(tw, dtype))
    outputs = [tw.computation(name, {i: x.size}, getattr(tw, name)(a[i])) for name in EXACT]
    f = tw.function("f", outputs=outputs, target=target)
    if target != "cpu":
        for output in outputs:
            output.gpu_tile(i, 256)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        for (name, exact), found in zip(EXACT.items(), f(x), strict=True):
            right = exact(wide).astype(x.dtype)
            is_nan = np.isnan(right)
            np.testing.assert_array_equal(np.isnan(found), is_nan, err_msg=name)
            apart = np.abs(places(found) - places(right))[~is_nan]
            # Two roundings, of which the first one seldom matters.
            assert apart.max() <= 1, f"{name} of {x[~is_nan][apart.argmax()]}"
            # One mantissa of a cube root comes back at each third exponent.
            most = 20 if name == "cbrt" else 9
            assert np.count_nonzero(apart) <= most, f"{name}: {np.count_nonzero(apart)}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", ["cpu", "gpu-emulator"])
def test_the_logistic_function_is_zero_no_sooner_than_its_type_says(
    dtype: str, target: str
) -> None:
    last = -math.log(float(np.finfo(dtype).smallest_subnormal))
    x = np.linspace(-last, last, 1001).astype(dtype)
    x = np.concatenate([x, np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)])
    a = tw.input("a", [x.size], getattr(tw, dtype))
    f = tw.function(
        "f", outputs=[tw.computation("c", {i: x.size}, tw.sigmoid(a[i]))], target=target
    )
    if target != "cpu":
        f["c"].gpu_tile(i, 64)
    right = logistic(x.astype(np.longdouble)).astype(dtype)
    least = float(np.finfo(dtype).smallest_subnormal)
    for found in (f(x), f.evaluate(x)):
        np.testing.assert_allclose(found, right, rtol=2 * float(np.finfo(dtype).eps), atol=least)
        assert (found[1:1001] > 0).all()
