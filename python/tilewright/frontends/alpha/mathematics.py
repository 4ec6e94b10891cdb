"""The functions of C's library, which Alpha programs declare as external functions and need not be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilewright as tw

from .tree import External

__all__ = ["C_FUNCTIONS", "prototype_of", "standard_function", "text_of"]

#: C's names of the operations of Layer I, by their names there.
C_FUNCTIONS = {
    "sqrt": "sqrt", "cbrt": "cbrt", "hypot": "hypot", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "erf": "erf", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "rint": "rint", "copysign": "copysign", "fmin": "fmin", "fmax": "fmax", "fmod": "fmod",
}  # fmt: skip


def _rounded(value: Any) -> Any:
    """C's round: halves away from 0."""
    whole = tw.trunc(value)
    further = whole + tw.copysign(tw.cast(1, value.dtype), value)
    return tw.copysign(tw.select(abs(value - whole) >= 0.5, further, whole), value)


_STANDARD: dict[str, Callable[..., Any]] = {
    c: getattr(tw, name) for name, c in C_FUNCTIONS.items()
} | {"pow": lambda a, b: a**b, "fabs": abs, "round": _rounded}

_OF_INTEGERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "abs": ("int", abs),
    "labs": ("long", abs),
}

_WITH_TWO = {
    "hypot",
    "atan2",
    "copysign",
    "fmin",
    "fmax",
    "fmod",
    "pow",
    "remainder",
    "fdim",
    "nextafter",
}

#: The prototypes of <math.h> and <stdlib.h> that C which is written cannot declare in another way.
_PROTOTYPES = {
    **{
        name: External("double", name, ("double",) * (2 if name in _WITH_TWO else 1))
        for name in (*_STANDARD, "remainder", "fdim", "nextafter", "nearbyint", "erfc", "tgamma", "lgamma", "logb")
    },
    **{name: External(of, name, (of,)) for name, (of, _) in _OF_INTEGERS.items()},
    "lround": External("long", "lround", ("double",)),
    "lrint": External("long", "lrint", ("double",)),
    "ldexp": External("double", "ldexp", ("double", "int")),
    "fma": External("double", "fma", ("double",) * 3),
    "rand": External("int", "rand", ()),
}  # fmt: skip


def standard_function(external: External) -> Callable[..., Any] | None:
    """The function of Layer I for one of C's library, declared as C declares it: ``double sqrt(double)``,
    ``float sqrtf(float)``."""
    if external.name in _OF_INTEGERS:
        of, function = _OF_INTEGERS[external.name]
        return function if (external.type, *external.arguments) == (of, of) else None
    kind = external.type
    name = external.name.removesuffix("f") if kind == "float" else external.name
    is_plain = kind in ("double", "float") and set(external.arguments) == {kind}
    if not is_plain or (kind == "float" and not external.name.endswith("f")):
        return None
    return _STANDARD.get(name)


def prototype_of(name: str) -> External | None:
    """What C's library has under a name; None where it has nothing, or nothing that is known here."""
    if name in _PROTOTYPES:
        return _PROTOTYPES[name]
    double = _PROTOTYPES.get(name.removesuffix("f"))
    if not name.endswith("f") or double is None or "double" not in (double.type, *double.arguments):
        return None
    types = ["float" if each == "double" else each for each in (double.type, *double.arguments)]
    return External(types[0], name, tuple(types[1:]))


def text_of(external: External) -> str:
    """The prototype as C writes it."""
    return f"{external.type} {external.name}({', '.join(external.arguments) or 'void'})"
