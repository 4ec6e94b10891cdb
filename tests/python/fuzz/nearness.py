"""When values that were computed in another order are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

#: How far sums in another order may be apart, relative to the largest value.
PRECISION = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-10,
    "complex128": 1e-10,
}

#: The largest numbers of types in which sums of small integers overflow.
LARGEST = {"float16": 65504.0, "bfloat16": 3.3e38}


def same(a: Any, b: Any, precision: float) -> bool:
    """Equal; where floats were added in another order (a precision is given), nearly.

    How near is relative to the largest element, for all of them: a small sum may be what is left of
    terms as large as that, whose rounding it has. Infinities and NaN are at the same places, unless
    a narrow type comes so near its largest number that another order overflows elsewhere.
    """
    a, b = np.asarray(a), np.asarray(b)
    largest = LARGEST.get(str(b.dtype))
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    if a.dtype.kind == "V":  # bfloat16
        a, b = a.astype(np.float32), b.astype(np.float32)
    if not precision or not a.size:
        return bool(np.array_equal(a, b, equal_nan=True))
    finite = np.isfinite(b)
    wide = np.abs(b[finite])
    scale = float(wide.max()) if wide.size else 1.0
    if largest is not None and (wide.size < b.size or scale > largest / 64):
        finite &= np.isfinite(a)
        a, b = a[finite], b[finite]
    if a.dtype.kind == "c":
        infinite = ~(np.isfinite(a) & np.isfinite(b))
        if not np.array_equal(parts_of(a[infinite]), parts_of(b[infinite]), equal_nan=True):
            return False
        a, b = a[~infinite], b[~infinite]
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=0.0, atol=precision * (1.0 + scale), equal_nan=True))


def parts_of(values: Any) -> Any:
    """Real and imaginary parts; a part beside one that is infinite or NaN has the rounding of that, and is left out."""
    parts = np.stack([values.real, values.imag], axis=-1)
    parts[~np.isfinite(values)[..., None] & np.isfinite(parts)] = 0
    return parts
