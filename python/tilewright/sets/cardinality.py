"""How many points a set has, as a function of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..base.checks import SET, made_by
from ..base.display import preformatted
from .parameters import parameter_values

__all__ = ["Cardinality"]


class Cardinality:
    """The number of points of a set, as polynomials of its parameters; made by `Set.cardinality`.

    Printed, it has a polynomial for each part of the parameter space, in isl's notation, and is 0
    elsewhere. Called with the values of all parameters, it is an integer.

    Example:
        >>> size = tw.Set("[N] -> { S[i, j] : 0 <= j <= i < N }").cardinality()
        >>> print(size)
        [N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }
        >>> size(N=1000)
        500500
    """

    __slots__ = ("_handle",)

    def __init__(self, handle: _core.Cardinality) -> None:
        made_by("Set.cardinality", handle, _core.Cardinality, "tw.Cardinality", SET)
        self._handle = handle

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that it is a function of."""
        return tuple(self._handle.parameters())

    def __call__(self, values: Mapping[Any, int] | None = None, /, **parameters: int) -> int:
        """The number of points at these values of all parameters.

        Raises:
            SetError: a parameter has no value, or a value belongs to none.
        """
        return self._handle.at(parameter_values(values, parameters, "a cardinality"))

    def __str__(self) -> str:
        return self._handle.text()

    def __repr__(self) -> str:
        return f"<cardinality {self}>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))
