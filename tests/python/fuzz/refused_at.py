"""Whether a command makes no sense at the sizes that a refusal names: the model itself tries small ones only."""

from __future__ import annotations

import copy
import re
from typing import Any

from fuzz.linear import Refused
from fuzz.model import Model
from fuzz.programs import AXES

__all__ = ["is_senseless_at"]


def is_senseless_at(model: Model, command: list[Any], message: str) -> bool:
    """Whether the model refuses the command at the sizes in the message, "(N = 5, M = 8)"."""
    named = re.search(r"\(((?:\w+ = -?\d+(?:, )?)+)\)", message)
    if named is None:
        return False
    known = dict(re.findall(r"(\w+) = (-?\d+)", named[1]))
    asked = copy.copy(model)
    asked.shown = tuple(int(known.get(axis, 3)) for axis in AXES)
    try:
        asked.after(command)
    except Refused:
        return True
    return False
