"""What programs over unbounded time are declared with: `tw.forever` and `tw.stream`.

A computation over ``{n: tw.forever}`` has an element for each n = 0, 1, 2, ...; `tw.stream_function`
makes a kernel of such computations (Leben and Tzanetakis, ACM TACO 16(3), 2019, section 3).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..base.checks import DECLARATION, a_list, an_integer, described
from ..base.errors import DeclarationError, DeclarationTypeError
from ..language.computations import declare
from ..language.names import Parameter
from ..language.names import iter as iterator
from ..schedule.computations import Computation

__all__ = ["StreamInput", "declaration_number", "forever", "stream"]

forever = Parameter("forever", "[forever] -> { : forever >= 0 }")
"""The end of a range that has none: ``{n: tw.forever}`` is n = 0, 1, 2, ..."""


_numbers = itertools.count(1)
_declared: dict[int, int] = {}
"""When each input was declared, by its identity. A new one at an old address replaces what was there."""


def declaration_number(handle: _core.Computation) -> int:
    """Inputs that were declared later have higher ones."""
    return _declared.get(_core.computation_identity(handle), 0)


class StreamInput(Computation):
    """An input whose elements come one after the other; made by `tw.stream`.

    Read it like any array, the time first: ``x[n]``, ``x[n - 1, channel]``.
    """

    def _define(self, condition: object, value: object, where: object) -> None:
        raise DeclarationError(
            f"{self.name} is an input: its elements are pushed; declare a computation instead"
        )


def stream(name: str, dtype: Any, shape: Sequence[Any] = ()) -> StreamInput:
    """An input over n = 0, 1, 2, ..., whose elements are pushed in chunks::

        x = tw.stream("x", tw.float64)                    # x[n]
        s = tw.stream("s", tw.float32, shape=[2])         # s[n, channel]

    Args:
        name: its name, which `push` takes as a keyword, too.
        dtype: the type of an element.
        shape: what there is at each n, such as the number of channels; a chunk of L elements is an
            array of shape ``(L, *shape)``.

    Raises:
        DeclarationError: the name is no identifier, or an extent no number or parameter.
        DeclarationTypeError: the shape is no list.
    """
    if isinstance(shape, str):
        raise DeclarationTypeError(f"the shape of {name} must be a list, got {described(shape)}")
    extents = a_list(shape, f"the shape of {name}", DECLARATION, "numbers or parameters")
    for extent in extents:
        if isinstance(extent, int):
            an_integer(extent, f"an extent of {name}", DECLARATION, minimum=0)
    ranges: dict[Any, Any] = {iterator("n"): forever}
    for number, extent in enumerate(extents):
        ranges[iterator(f"c{number}")] = extent
    made = declare(StreamInput, name, ranges, None, None, dtype, None)
    _declared[_core.computation_identity(made._handle)] = next(_numbers)
    return made
