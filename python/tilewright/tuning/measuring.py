"""Calls that are timed: on copies of what a call overwrites, and compared once with the default schedule's values."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..devices.device_arrays import DeviceArray
from ..schedule.automatic import AutomaticFunction

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Bench", "Call"]

#: Runs a function on arguments by name.
Call = Callable[[Any, dict[str, Any]], Any]

#: Calls that are shorter than this are timed several at a time.
_SHORT = 200e-6
_MOST_AT_ONCE = 100
#: Units in the last place by which sums in another order may differ, of the largest value.
_UNITS = 4096


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, DeviceArray) else np.array(value)


def _on_host(value: Any) -> np.ndarray[Any, Any]:
    return value.numpy() if isinstance(value, DeviceArray) else np.asarray(value)


def _refill(copy: Any, original: Any) -> None:
    if isinstance(copy, DeviceArray):
        copy.copy_from(original)
    else:
        np.copyto(copy, original)


class Bench:
    """The arguments of a call, and the values that every schedule must give.

    Args:
        call: how a function is run on them.
        given: the arguments by name; the arrays in it are left as they are.
        overwritten: those that a call may change, of whatever schedule.
    """

    def __init__(self, call: Call, given: Mapping[str, Any], overwritten: frozenset[str]) -> None:
        self._call = call
        self._originals = {name: given[name] for name in overwritten if name in given}
        self._given = {**given, **{name: _copy(each) for name, each in self._originals.items()}}
        self._expected: list[np.ndarray[Any, Any]] = []

    def _results(self, function: AutomaticFunction) -> list[np.ndarray[Any, Any]]:
        self._restore()
        results = self._call(function, self._given)
        results = results if isinstance(results, tuple) else (results,)
        return [_on_host(result) for result in results]

    def _restore(self) -> None:
        for name, original in self._originals.items():
            _refill(self._given[name], original)

    def compiled(self, function: AutomaticFunction) -> Future[dict[str, Any]]:
        """Compiles it for these arguments, on another thread."""
        given = {name: value for name, value in self._given.items() if name != "threads"}
        return cast(Any, function).compile_async(**given)  # type: ignore[no-any-return]

    def expect(self, function: AutomaticFunction) -> None:
        """Keeps the values that this function gives; its errors are those of a call."""
        self._expected = [np.array(result) for result in self._results(function)]

    def difference(self, function: AutomaticFunction) -> str:
        """Runs it once. "", or how its values differ from what is expected."""
        for expected, result in zip(self._expected, self._results(function), strict=True):
            text = _difference(expected, result)
            if text:
                return text
        return ""

    def seconds(self, function: AutomaticFunction, about: float | None = None) -> float:
        """The time of a call, of several if it takes `about` so little."""
        calls = 1
        if about is not None and not self._originals:
            calls = max(1, min(_MOST_AT_ONCE, int(_SHORT / max(about, 1e-7))))
        self._restore()
        begin = time.perf_counter()
        for _ in range(calls):
            self._call(function, self._given)
        return (time.perf_counter() - begin) / calls


def _difference(expected: np.ndarray[Any, Any], result: np.ndarray[Any, Any]) -> str:
    if expected.shape != result.shape or expected.dtype != result.dtype:
        return f"an array of {result.dtype}{list(result.shape)}"
    if expected.dtype.names:
        texts = (_difference(expected[name], result[name]) for name in expected.dtype.names)
        return next(filter(None, texts), "")
    if expected.dtype.kind not in "fcV":
        differs = expected != result
    else:
        differs = _is_far(expected, result)
    if not differs.any():
        return ""
    where = tuple(int(n) for n in np.argwhere(differs)[0])
    return f"{result[where]} at {list(where)}, not {expected[where]}"


def _is_far(expected: np.ndarray[Any, Any], result: np.ndarray[Any, Any]) -> Any:
    """Where numbers differ by more than sums in another order do."""
    try:
        unit = float(np.finfo(expected.dtype).eps)
    except ValueError:  # bfloat16, which NumPy does not know
        unit = 2.0**-7
        expected, result = expected.astype(np.float32), result.astype(np.float32)
    with np.errstate(all="ignore"):
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        one, other = expected.astype(wide), result.astype(wide)
        sizes = np.abs(one[np.isfinite(one)])
        near = _UNITS * unit * float(sizes.max(initial=0.0))
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        return ~(same | (np.abs(one - other) <= near))
