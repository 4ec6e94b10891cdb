"""Compares a loop function with CPython on the undecorated one: arrays, results, their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontends import tree
from tilewright.frontends.interpreter import interpret
from tilewright.frontends.loops import kernels
from tilewright.frontends.loops.facts import value_of
from tilewright.frontends.loops.signatures import signature_of
from tilewright.frontends.loops.translation import Translated, Translation


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        each.copy(order="K") if isinstance(each, np.ndarray) else each for each in arguments
    )


def by_python(function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """What the function returns, then its arguments afterwards."""
    given = copies(arguments)
    with np.errstate(all="ignore"):
        returned = function(*given)
    return [*flat(returned), *given]


def interpreted(program: tree.Program, values: dict[str, Any]) -> dict[str, Any]:
    """The arrays behind the program."""
    values = dict(values)
    for name, array in program.arrays.items():
        if not array.local and name not in values:
            shape = tuple(value_of(extent, values) for extent in array.shape)
            values[name] = np.zeros(shape, array.dtype)
    interpret(program, values)
    return values


def in_program(translated: Translated, values: dict[str, Any]) -> dict[str, Any]:
    """The values as the program has them: arrays in Fortran's order have their axes reversed."""
    turned = {name: values[name].T for name in translated.turned}
    return {**values, **turned}


def by_interpreter(function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """The same by its statement tree, run in order."""
    given = copies(arguments)
    bound = function._signature.bind(*given)
    bound.apply_defaults()
    signature, values = signature_of("f", bound.arguments)
    translated = kernels.translated(
        Translation("f"), function.__tilewright_loops__, signature, values, {}
    )
    try:
        values = interpreted(translated.program, in_program(translated, values))
    except IndexError:  # a subscript below 0: a kernel counts it from the end
        given = copies(arguments)
        bound = function._signature.bind(*given)
        bound.apply_defaults()
        signature, values = signature_of("f", bound.arguments)
        translated = function._kernel(signature, dict(values)).translated
        values = interpreted(translated.program, in_program(translated, values))
    results: list[Any] = [None] if translated.results is None else []
    for result in translated.results or ():
        array = values[result.array]
        if result.kind is None:
            results.append(array.T if result.turned else array)
        else:
            results.append(array.item() if result.kind.weak else array[()])
    return [*results, *given]


def by_kernel(function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """The same by the compiled kernel."""
    given = copies(arguments)
    return [*flat(function(*given)), *given]


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def same(want: list[Any], got: list[Any], tolerant: bool = False) -> bool:
    """Whether all values have the same bits, shapes and types; close ones for `tolerant`.

    A number may have a wider type: one variable has one type, that of all its assignments.
    """
    if len(want) != len(got):
        return False
    for a, b in zip(want, got, strict=True):
        if a is None or b is None or isinstance(a, str):
            if a != b:
                return False
            continue
        x, y = np.asarray(a), np.asarray(b)
        widened = x.ndim == 0 and np.can_cast(x.dtype, y.dtype)
        if x.shape != y.shape or not (x.dtype == y.dtype or widened):
            return False
        if tolerant and x.dtype.kind in "fc":
            if not np.allclose(x, y, rtol=1e-12, atol=1e-13, equal_nan=True):
                return False
        elif not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc"):
            return False
    return True
