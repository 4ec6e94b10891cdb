"""NumPy's functions of whole arrays, called with an expression, which is one element (NEP 18).

`np.where` and its like have a counterpart. Reductions and sorts have another form here, which the error says;
everything else does what NumPy makes of an object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import DeclarationTypeError

__all__ = ["apply_numpy"]

_REDUCTIONS = {
    **{name: name for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    "amax": "max",
    "amin": "min",
}
_OTHERS = {
    "mean": "a mean over i is tw.sum(x[i], over={i: N}) / N",
    "average": "a mean over i is tw.sum(x[i], over={i: N}) / N",
    "dot": "a dot product is tw.sum(x[i] * y[i], over={i: N})",
    "inner": "a dot product is tw.sum(x[i] * y[i], over={i: N})",
    "vdot": "a dot product is tw.sum(x[i] * y[i], over={i: N})",
    "cumsum": "a prefix sum is a computation that reads itself: s[i - 1] + x[i], and x[0] where i is 0",
    "cumprod": "a prefix product is a computation that reads itself: p[i - 1] * x[i]",
    "sort": "sort the array before the call, or count how many elements are before each",
    "argsort": "sort the array before the call, or count how many elements are before each",
    "std": "declare the mean and tw.sum((x[i] - mean[()])**2, over={i: N})",
    "var": "declare the mean and tw.sum((x[i] - mean[()])**2, over={i: N})",
    "median": "sort the array before the call",
}


def apply_numpy(
    function: Callable[..., Any],
    given: Sequence[Any],
    named: Mapping[str, Any],
    counterparts: Mapping[tuple[str, int], Callable[..., Any]],
) -> Any:
    """What a function of NumPy gives for these arguments, of which some are expressions.

    Args:
        function, given, named: the call.
        counterparts: what gives the same of expressions, by NumPy's name and the number of arguments.

    Raises:
        DeclarationTypeError: it is one of whole arrays; the error says what there is instead.
    """
    name = function.__name__
    if (name, len(given)) in counterparts and not named:
        return counterparts[name, len(given)](*given)
    if name in _REDUCTIONS:
        advice = f"a reduction over i is tw.{_REDUCTIONS[name]}(x[i], over={{i: N}})"
    elif name in _OTHERS:
        advice = _OTHERS[name]
    else:
        return function._implementation(*given, **named)  # type: ignore[attr-defined]
    raise DeclarationTypeError(
        f"np.{name} takes arrays, and an expression is one element: {advice}"
    )
