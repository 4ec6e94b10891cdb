"""ScheduledC: loops in the order of the target mapping (CSU TR CS12-101, section 9.2).

The loops are those of the function under its mapping, as `Function.c` prints them: OpenMP for parallel
dimensions, tiles, memory with modulo factors. Around them is a function with the interface that WriteC's has, so
that the same wrapper and Makefile serve both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import tilewright as tw

from ..errors import complaint, source_of
from ..kernels import identifier
from ..mapping.running import mapped_function
from ..mapping.values import TargetMapping
from ..tree import Program, System
from .externals import declared_externs
from .statements import RESERVED
from .writing import signature

__all__ = ["require_names", "scheduled_c"]


def scheduled_c(
    system: System, program: Program, externs: dict[str, tw.Extern], mapping: TargetMapping
) -> str:
    """The C of a system under a mapping: a function of its parameters, inputs and outputs.

    The function ends the program with a message if there is no memory for the locals, or if the system
    is not defined for these parameters.

    Args:
        system: of `program`.
        program: where the systems that it uses are.
        externs: the external functions, as far as they are given: C calls them by name.
        mapping: when and where values are computed.

    Raises:
        IllegalScheduleError: the mapping would change a result.
        DeclarationError: see `mapped_function`.
    """
    name = identifier(system.name)
    require_names(system)
    inner = f"{name}_scheduled"
    function = mapped_function(
        replace(system, name=inner), program, declared_externs(system, externs), mapping
    )
    text = re.sub(rf"(?m)^int {inner}\(", f"static int {inner}(", function.c)
    parameters = [each for each in function.parameters if each in system.parameters.indices]
    given = [*parameters]
    for each in (*system.of_kind("input"), *system.of_kind("output")):
        given.append(each.name)
    call = f"{inner}({', '.join(given)})"
    upper = inner.upper()
    return f"""{text}

#include <stdio.h>

{signature(system)} {{
  const int status = {call};
  if (status != {upper}_OK) {{
    fprintf(stderr, status == {upper}_OUT_OF_MEMORY ? "{name}: no memory for the locals\\n"
                    : "{name}: not defined for these parameters\\n");
    exit(1);
  }}
}}
"""


def require_names(system: System, more: Sequence[str] = ()) -> None:
    """Refuses names of arguments that C has for itself.

    Args:
        system: the system.
        more: names beside those of its parameters, inputs and outputs.
    """
    arrays = [each.name for each in system.declarations if each.kind != "local"]
    for word in (identifier(system.name), *system.parameters.indices, *arrays, *more):
        if word in RESERVED:
            raise complaint(
                source_of(system), system.position, f"{word} means something else in C; rename it"
            )
