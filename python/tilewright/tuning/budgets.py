"""How long a search may take: seconds, or a text such as "30s"."""

from __future__ import annotations

import datetime
import math
import re

from ..base.checks import a_number, described
from ..base.errors import ArgumentError, ArgumentTypeError

__all__ = ["seconds_of"]

_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "": 1.0}
_EXPECTED = 'a time such as "30s", "500ms", "2min", "1h" or a number of seconds'


def seconds_of(budget: object) -> float:
    """The seconds of a budget.

    Raises:
        ArgumentTypeError: it is neither a text, nor a number, nor a `datetime.timedelta`.
        ArgumentError: it is no time, or not above zero and finite.
    """
    if isinstance(budget, datetime.timedelta):
        seconds = budget.total_seconds()
    elif isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})\s*([a-z]*)\s*", budget)
        if found is None or found[2] not in _UNITS:
            raise ArgumentError(f"the budget must be {_EXPECTED}, got {described(budget)}")
        seconds = float(found[1]) * _UNITS[found[2]]
    elif isinstance(budget, bool) or not hasattr(budget, "__float__"):
        raise ArgumentTypeError(f"the budget must be {_EXPECTED}, got {described(budget)}")
    else:
        seconds = a_number(budget, "the budget of tune()")
    if not 0 < seconds < math.inf:
        raise ArgumentError(
            f"the budget must be a finite time above zero, got {described(budget)}; {_EXPECTED}"
        )
    return seconds
