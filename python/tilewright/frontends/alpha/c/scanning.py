"""ScanC: recurrences as parallel scans in C with OpenMP (CSU TR CS12-101, section 9.3).

Each recurrence of the system becomes three phases: a local reduction of each block, a scan over the blocks,
and the blocks themselves from the values before them (`tilewright.frontends.scans`). The C is that of
`Function.c`, below a function with the arguments that WriteC's have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import tilewright as tw

from ...scans.blocks import scan_blocks
from ..errors import complaint, source_of
from ..kernels import identifier, kernel
from ..tree import Program, System
from .externals import declared_externs
from .statements import RESERVED
from .writing import signature

__all__ = ["scan_c", "scanned"]


@dataclass(frozen=True)
class Scanned:
    """A function whose recurrences are scans.

    Attributes:
        function: the function.
        scans: the variables that became scans.
        serial: why other recurrences did not, by the variable.
    """

    function: tw.Function
    scans: tuple[str, ...]
    serial: dict[str, str]


def scanned(
    function: tw.Function, size: int, reassociate: bool, associative: Sequence[tw.Extern] = ()
) -> Scanned:
    """The function with all of its recurrences in blocks, as far as these are scans.

    Args:
        function: the function.
        size: of the blocks.
        reassociate: whether sums and products of fractions may be rounded differently.
        associative: external functions that are associative.

    Raises:
        DeclarationError: no recurrence is a scan; the message says why.
    """
    serial: dict[str, str] = {}
    scans: list[str] = []
    found = function
    for name in function.computations:
        if name in scans:
            continue
        for combine in (None, *associative):
            try:
                made = scan_blocks(found, name, size, reassociate=reassociate, combine=combine)
            except tw.DeclarationError as error:
                if "does not need earlier values" not in error.message:
                    serial.setdefault(name, error.message)
                continue
            new = set(made.computations) - set(found.computations)
            scans += [
                each
                for each in function.computations
                if each == name or any(one.startswith(f"{each}_carry") for one in new)
            ]
            found = made
            break
    serial = {name: why for name, why in serial.items() if name not in scans}
    if not scans:
        told = "; ".join(serial.values()) or "no variable needs earlier values of its own"
        raise tw.DeclarationError(f"{function.name} has no scan: {told}")
    return Scanned(found, tuple(scans), serial)


def scan_c(
    system: System,
    program: Program,
    externs: Mapping[str, tw.Extern],
    size: int,
    reassociate: bool,
    associative: Sequence[tw.Extern],
) -> str:
    """The C of a system: a function of its parameters, inputs and outputs, arrays in row-major order.

    Args:
        system: of `program`.
        program: where the systems that it uses are.
        externs: the external functions.
        size, reassociate, associative: as of `scanned`.

    Raises:
        DeclarationError: there is no scan; or a name means something else in C.
    """
    name = identifier(system.name)
    arrays = [each.name for each in system.declarations if each.kind != "local"]
    for word in (name, *system.parameters.indices, *arrays):
        if word in RESERVED:
            raise complaint(
                source_of(system), system.position, f"{word} means something else in C; rename it"
            )
    inner = f"{name}_scan"
    function = kernel(replace(system, name=inner), program, declared_externs(system, externs))
    found = scanned(function, size, reassociate, associative)
    text = re.sub(rf"(?m)^int {inner}\(", f"static int {inner}(", found.function.c)
    given = [e for e in found.function.parameters if e in system.parameters.indices]
    given += [each.name for each in (*system.of_kind("input"), *system.of_kind("output"))]
    told = [f" * Scans over blocks of {size}: {', '.join(found.scans)}."]
    told += [f" * {each} stays serial: {why}" for each, why in found.serial.items()]
    status = inner.upper()
    return f"""/*
{chr(10).join(told).replace("*/", "* /")}
 */
{text}

#include <stdio.h>

{signature(system)} {{
  const int status = {inner}({", ".join(given)});
  if (status != {status}_OK) {{
    fprintf(stderr, status == {status}_OUT_OF_MEMORY ? "{name}: no memory for the locals\\n"
                    : "{name}: not defined for these parameters\\n");
    exit(1);
  }}
}}
"""
