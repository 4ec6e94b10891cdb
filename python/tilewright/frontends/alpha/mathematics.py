"""The functions of C's library, which Alpha programs declare as external functions and need not be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilewright as tw

from .tree import External

__all__ = ["C_FUNCTIONS", "standard_function"]

#: C's names of the operations of Layer I, by their names there.
C_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "hypot": "hypot", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "erf": "erf", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "copysign": "copysign", "fmin": "fmin", "fmax": "fmax", "fmod": "fmod",
}  # fmt: skip

_STANDARD: dict[str, Callable[..., Any]] = {
    c: getattr(tw, name) for name, c in C_FUNCTIONS.items()
} | {"pow": lambda a, b: a**b, "fabs": abs}


def standard_function(external: External) -> Callable[..., Any] | None:
    """The function of Layer I for one of C's library, declared as C declares it: ``double sqrt(double)``,
    ``float sqrtf(float)``."""
    kind = external.type
    name = external.name.removesuffix("f") if kind == "float" else external.name
    is_plain = kind in ("double", "float") and set(external.arguments) == {kind}
    if not is_plain or (kind == "float" and not external.name.endswith("f")):
        return None
    return _STANDARD.get(name)
