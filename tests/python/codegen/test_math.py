"""The elementary functions of compiled code against mpmath, in units in the last place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tilewright as tw

mpmath = pytest.importorskip("mpmath")

N = tw.param("N")
i = tw.iter("i")

FUNCTIONS: dict[str, Any] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.power(2, x),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "expm1": mpmath.expm1,
    "log1p": mpmath.log1p,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "degrees": mpmath.degrees,
    "radians": mpmath.radians,
}
PAIRS: dict[str, Any] = {
    "power": mpmath.power,
    "arctan2": mpmath.atan2,
    "hypot": mpmath.hypot,
    "logaddexp": lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))),
}

# The largest errors that docs/math.md states: float32 and float64 without fast_math, then with it.
BOUNDS = {
    "exp": (0.70, 0.80, 1.5, 1.5),
    "exp2": (0.501, 0.80, 2.0, 1.5),
    "log": (0.501, 0.70, 1.5, 1.5),
    "log2": (0.501, 0.75, 2.0, 2.0),
    "log10": (0.501, 0.75, 2.0, 2.0),
    "sin": (0.501, 0.90, 2.5, 2.5),
    "cos": (0.501, 0.90, 2.5, 2.5),
    "tan": (0.501, 1.00, 0.501, 5.0),
    "arcsin": (0.501, 0.70, 0.501, 0.70),
    "arccos": (0.501, 0.70, 0.501, 0.70),
    "arctan": (0.501, 0.70, 0.501, 0.70),
    "sinh": (0.501, 0.95, 0.501, 1.1),
    "cosh": (0.501, 0.80, 0.501, 0.80),
    "tanh": (0.501, 0.90, 1.5, 2.5),
    "erf": (0.501, 1.10, 2.0, 1.5),
    "power": (0.501, 0.90, 0.501, 0.90),
    "arctan2": (0.501, 0.80, 0.501, 0.80),
    "expm1": (0.501, 0.85, 0.501, 1.8),
    "log1p": (0.501, 0.65, 0.501, 0.65),
    "cbrt": (0.501, 0.51, 0.501, 1.0),
    "arcsinh": (0.501, 0.65, 0.501, 1.8),
    "arccosh": (0.501, 0.70, 0.501, 2.6),
    "arctanh": (0.501, 0.65, 0.501, 2.0),
    "degrees": (0.75, 0.90, 0.75, 0.90),
    "radians": (0.75, 0.75, 0.75, 0.75),
    "hypot": (0.501, 0.51, 0.501, 1.1),
    # In units of the larger of the result and the larger argument.
    "logaddexp": (1.8, 2.0, 2.6, 2.2),
}


def bound(name: str, dtype: str, fast_math: bool) -> float:
    return BOUNDS[name][2 * fast_math + (dtype == "float64")]


def units(found: np.ndarray[Any, Any], wanted: list[Any]) -> np.ndarray[Any, Any]:
    """|found - wanted| in units in the last place of the type at `wanted`."""
    info = np.finfo(found.dtype)
    errors = []
    for value, exact in zip(found.tolist(), wanted, strict=True):
        if not mpmath.isfinite(exact) or abs(exact) >= mpmath.mpf(2) ** info.maxexp:
            same = mpmath.isnan(exact) if math.isnan(value) else float(exact) == value
            errors.append(0.0 if same or (math.isinf(value) and value * exact > 0) else math.inf)
            continue
        exponent = max(mpmath.frexp(exact)[1] - 1 if exact else info.minexp, int(info.minexp))
        unit = mpmath.mpf(2) ** (exponent - info.nmant)
        errors.append(float(abs(mpmath.mpf(value) - exact) / unit))
    return np.array(errors)


def compiled(name: str, dtype: str, lanes: int, fast_math: bool) -> tw.Function:
    a, b = tw.input("a", [N], dtype), tw.input("b", [N], dtype)
    if name == "power":
        body = a[i] ** b[i]
    elif name in PAIRS:
        body = getattr(tw, name)(a[i], b[i])
    else:
        body = getattr(tw, name)(a[i])
    c = tw.computation("c", {i: N}, body)
    f = tw.function("f", outputs=[c], fast_math=fast_math)
    if lanes > 1:
        c.vectorize(i, lanes)
    return f


def points(name: str, dtype: str) -> np.ndarray[Any, Any]:
    """Of all exponents, near roots and multiples of pi/2, and near the ends of the range."""
    random = np.random.default_rng(3)
    integer = np.uint32 if dtype == "float32" else np.uint64
    info = np.finfo(dtype)
    patterns = random.integers(0, np.iinfo(integer).max, 1500, dtype=integer, endpoint=True)
    turns = np.concatenate([np.arange(-60, 60), random.integers(-(10**6), 10**6, 200)])
    ends = {"exp": (-746, 710), "exp2": (-1075, 1024), "sinh": (-711, 711), "cosh": (-711, 711)}
    low, high = ends.get(name, (-40, 40))
    if dtype == "float32":
        low, high = max(low, -152), min(high, 130)
    parts = [
        patterns.view(dtype),
        random.uniform(-1.2, 1.2, 600).astype(dtype),
        random.uniform(low, high, 600).astype(dtype),
        (1 + random.uniform(-1e-3, 1e-3, 200)).astype(dtype),
        (turns * (np.pi / 2)).astype(dtype),
        np.exp(random.uniform(-3, 3, 200)).astype(dtype),
        np.array([info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan, 0], dtype),
    ]
    with np.errstate(all="ignore"):
        x = np.concatenate(parts)
    return np.concatenate([x, -x])


def domain(name: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What mpmath answers with a real number; and nothing whose digits would fill the memory."""
    if name == "log1p":
        return x[(x > -1) & np.isfinite(x)]
    if name.startswith("log"):
        return x[x > 0]
    if name in ("arcsin", "arccos"):
        return x[abs(x) <= 1]
    if name == "arctanh":
        return x[abs(x) < 1]
    x = x[np.isfinite(x)]
    if name == "arccosh":
        return x[x >= 1]
    if name in ("exp", "exp2", "expm1", "sinh", "cosh"):
        return x[abs(x) < 1e5]
    return x


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_as_stated(name, dtype, fast_math):
    x = domain(name, points(name, dtype))
    with mpmath.workprec(200):
        wanted = [FUNCTIONS[name](mpmath.mpf(value)) for value in x.tolist()]
        errors = units(compiled(name, dtype, 8, fast_math)(x), wanted)
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name, dtype, fast_math), f"{name}({x[worst]!r})"


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_errors_of_two_arguments(name, dtype, fast_math):
    random = np.random.default_rng(5)
    count, range_ = 3000, (85 if dtype == "float32" else 700)
    x = np.exp(random.uniform(-1, 1, count) * 10.0 ** random.uniform(-7, 1, count)).astype(dtype)
    y = random.uniform(-1, 1, count).astype(dtype)
    if name == "power":
        keep = x != 1
        x, y = x[keep], y[keep]
        y = (range_ * y / np.log(x.astype(np.float64))).astype(dtype)
    elif name == "logaddexp":
        x = random.uniform(-range_, range_, count).astype(dtype)
        y = (x + random.uniform(-40, 40, count) * y).astype(dtype)
    else:
        x = x * np.sign(random.uniform(-1, 1, count)).astype(dtype)
        y = (y * 10.0 ** random.uniform(-30, 30, count)).astype(dtype)
        if name == "hypot":
            scale = 2.0 ** random.integers(
                *((-145, 120) if dtype == "float32" else (-1070, 1020)), count
            )
            x, y = (
                (x * scale).astype(dtype),
                (x * scale * random.uniform(-2, 2, count)).astype(dtype),
            )
    with mpmath.workprec(200):
        arguments = [
            (mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)
        ]
        wanted = [PAIRS[name](a, b) for a, b in arguments]
        errors = units(compiled(name, dtype, 8, fast_math)(x, y), wanted)
        if name == "logaddexp":
            largest = [
                max(abs(w), abs(max(a, b))) for w, (a, b) in zip(wanted, arguments, strict=True)
            ]
            errors *= [float(abs(w) / x) for w, x in zip(wanted, largest, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name, dtype, fast_math), f"{name}({x[worst]!r}, {y[worst]!r})"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *PAIRS])
def test_the_schedule_changes_no_bit(name, dtype):
    everything = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = everything if dtype == "float16" else points(name, dtype)
    arguments = (x, x[::-1].copy()) if name in PAIRS else (x,)
    plain = compiled(name, dtype, 1, False)(*arguments)
    for lanes in (3, 4, 16):
        vector = compiled(name, dtype, lanes, False)(*arguments)
        np.testing.assert_array_equal(vector, plain)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_numpy_s(name, dtype):
    if name == "erf":
        x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], dtype)
        wanted = np.array([1, -1, np.nan, 0.0, -0.0], dtype)
    else:
        x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0], dtype)
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x)
    for fast_math in (False, True):
        found = compiled(name, dtype, 4, fast_math)(x)
        close = 4 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=close)
        zero = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
def test_compositions(dtype):
    a = tw.input("a", [N], dtype)
    f = tw.function("f", outputs=[tw.computation("c", {i: N}, tw.sigmoid(a[i]))])
    g = tw.function("g", outputs=[tw.computation("c", {i: N}, tw.rsqrt(a[i]))])
    x = np.arange(-9, 9).astype(dtype)
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        roots = 1 / np.sqrt(x)
    logistic = 1 / (1 + np.exp(-wide))
    assert f(x).dtype == g(x).dtype == roots.dtype
    close = 4 * np.finfo(roots.dtype).eps
    np.testing.assert_allclose(f(x), logistic.astype(roots.dtype), rtol=close)
    np.testing.assert_allclose(f(x), f.evaluate(x), rtol=close)
    np.testing.assert_allclose(g(x), roots, rtol=close)
