"""External functions in C that is written and not run here: what links it defines them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

import tilewright as tw

from ..conversions import C_TYPES, DTYPES
from ..mathematics import prototype_of, standard_function, text_of
from ..tree import External, System

__all__ = ["c_prototypes", "declared_externs"]


def declared_externs(system: System, externs: Mapping[str, tw.Extern]) -> dict[str, tw.Extern]:
    """The external functions of a system by name: those that were given, and for the others what stands
    for their prototypes, which generated C calls by name.

    Args:
        system: the system, which declares them.
        externs: those that were given.

    Raises:
        DeclarationError: one has a name of C's library, and another prototype.
    """
    found = dict(externs)
    for declared in system.externals:
        _require_agreeing(declared)
        if declared.name not in found and standard_function(declared) is None:
            found[declared.name] = _prototype(declared)
    return found


def c_prototypes(system: System) -> list[str]:
    """What generated C declares of the external functions.

    Raises:
        DeclarationError: as `declared_externs`.
    """
    found = []
    for each in system.externals:
        _require_agreeing(each)
        kinds = ", ".join(C_TYPES[kind] for kind in each.arguments) or "void"
        found.append(f"extern {C_TYPES[each.type]} {each.name}({kinds});")
    return found


def _require_agreeing(declared: External) -> None:
    """C knows its own functions: another prototype of one of these does not compile."""
    known = prototype_of(declared.name)
    if known is not None and (known.type, known.arguments) != (declared.type, declared.arguments):
        raise tw.DeclarationError(
            f"{text_of(declared)} is {text_of(known)} in C's library, and C that is written cannot declare "
            "it as another function: declare that one, or rename yours"
        )


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
