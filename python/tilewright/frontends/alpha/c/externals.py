"""External functions in C that is written and not run here: what links it defines them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

import tilewright as tw

from ..conversions import DTYPES
from ..mathematics import standard_function
from ..tree import External, System

__all__ = ["declared_externs"]


def declared_externs(system: System, externs: Mapping[str, tw.Extern]) -> dict[str, tw.Extern]:
    """The external functions of a system by name: those that were given, and for the others what stands
    for their prototypes, which generated C calls by name.

    Args:
        system: the system, which declares them.
        externs: those that were given.
    """
    found = dict(externs)
    for declared in system.externals:
        if declared.name not in found and standard_function(declared) is None:
            found[declared.name] = _prototype(declared)
    return found


def _prototype(declared: External) -> tw.Extern:
    kinds = [np.ctypeslib.as_ctypes_type(DTYPES[each]) for each in declared.arguments]
    result = np.ctypeslib.as_ctypes_type(DTYPES[declared.type])

    def undefined(*values: Any) -> Any:
        raise RuntimeError(f"the external function {declared.name} is defined in C alone")

    return tw.extern(
        declared.name,
        ctypes.CFUNCTYPE(result, *kinds)(undefined),
        [DTYPES[each] for each in declared.arguments],
        DTYPES[declared.type],
    )
