"""The kernel of a step as C without allocation: temporaries come from a block that the caller has.

The core prints the kernel as for `Function.export_source`, where a temporary begins with a line
``T *name = tw_allocate(count, ...)`` and ends with ``free(name)``. Here both become places in a block, whose size
follows from the counts at the longest step, in all phases of the period.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..base.errors import ExportError
from ..export.source import SourceInterface
from ..functions.functions import Function
from .steps import Step

__all__ = ["C_BYTES", "CKernel", "c_kernel", "c_values", "cases_of"]

_ALIGNMENT = 64

C_BYTES = {
    "bool": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "int16_t": 2,
    "uint16_t": 2,
    "int32_t": 4,
    "uint32_t": 4,
    "int64_t": 8,
    "uint64_t": 8,
    "float": 4,
    "double": 8,
    "float _Complex": 8,
    "double _Complex": 16,
}
"""Bytes of an element, by its type in C."""

_SCRATCH = """/* Temporaries, which lie in the state. */
typedef struct {
  char *base;
  size_t size, used;
} tw_scratch;

static inline void *tw_take(tw_scratch *scratch, int64_t count, size_t bytes) {
  size_t needed = count <= 0 ? 64 : ((size_t)count * bytes + 63) / 64 * 64;
  void *taken = scratch->base + scratch->used;
  if (needed > scratch->size - scratch->used) {
    return NULL;
  }
  scratch->used += needed;
  return taken;
}

static inline void tw_give(tw_scratch *scratch, const void *taken) {
  size_t place = (size_t)((const char *)taken - scratch->base);
  scratch->used = place < scratch->used ? place : scratch->used;
}
"""


@dataclass(frozen=True)
class CKernel:
    """A kernel in C.

    Attributes:
        includes: what its text needs.
        definition: of the static function and of what it calls.
        scratch: the bytes of its temporaries, at most; 0 where there are none, and no argument for them.
        subscripts: those that are data, by their numbers; one that is outside of its array ends the kernel.
    """

    includes: str
    definition: str
    scratch: int
    subscripts: tuple[str, ...]


def times_at(step: Step, before: int, after: int) -> dict[str, int]:
    """The parameters of the kernel that say from when to when it computes."""
    first, last = step.timing.counts(before), step.timing.counts(after)
    found: dict[str, int] = {}
    for name in step.own_times:
        found[f"{name}_begin"], found[f"{name}_end"] = first[name], last[name]
    for name in step.first_times:
        found[f"{name}_first"] = max(first[name], min(0, last[name]))
    return found


def cases_of(
    step: Step, sizes: Mapping[str, int], outputs: list[str], largest: int, unit: int
) -> list[dict[str, int]]:
    """The parameters of steps among which are those that need the most memory.

    Args:
        sizes: the values of the other parameters.
        outputs: the streams that it gives.
        largest: how many elements of the first input a step takes at most.
        unit: of how many it takes a multiple.
    """
    names = c_values(sizes)
    return [
        {**names, **times_at(step, ticks, ticks + length)}
        for ticks in _phases(step, outputs, unit)
        for length in sorted({largest, unit})
    ]


def c_values(sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes by the names that they have in C."""
    return {str(_core.c_identifier(name)): value for name, value in sizes.items()}


def _phases(step: Step, outputs: list[str], unit: int) -> Iterator[int]:
    """When steps may begin: in the beginning, in all phases of the period, and late."""
    period = step.timing.period
    late = max(step.timing.latency(name) for name in outputs)
    yield from range(0, step.timing.onset + period, unit)
    for begin in ((late // period + 1) * period, 2**20 * period):
        yield from range(begin, begin + period, unit)


def _most(expression: str, cases: list[dict[str, Any]]) -> int | None:
    """The largest value of a count in C; None where it depends on more than what is given."""
    text = re.sub(r"/", "//", re.sub(r"\(int64_t\)|(?<=\d)LL?\b", "", expression))
    known = {
        "__builtins__": {},
        "tw_min": min,
        "tw_max": max,
        "tw_count": lambda a, b: max(a, 0) * max(b, 0),
        "tw_floor_divide_int64": lambda a, b: a // b if b else 0,
    }
    try:
        code = compile(text, "count", "eval")
        return max(int(eval(code, {**known, **case})) for case in cases)
    except (NameError, SyntaxError, TypeError, ZeroDivisionError):
        return None


def c_kernel(
    kernel: Function, interface: SourceInterface, prefix: str, cases: list[dict[str, int]]
) -> CKernel:
    """The kernel as a static function named as `interface` says.

    Args:
        prefix: of the statuses that it returns.
        cases: values of its parameters, among them those for which it needs the most memory.

    Raises:
        ExportError: the kernel needs memory of an unknown size.
    """
    own = kernel.name
    arguments = interface.declared_arguments(True)

    def printed(first: list[str]) -> tuple[str, str, list[str]]:
        declared = f"static int {interface.symbol}({', '.join([*first, *arguments])})"
        places = interface.places(kernel)
        made = _core.export_c_source(
            kernel, interface.symbol, declared, prefix, places, interface.parameters
        )
        includes, text, subscripts = made
        return includes, text, subscripts

    includes, text, subscripts = printed([])
    pattern = r"^ *(\w[\w ]*?) \*(\w+) = tw_allocate\((.*), sizeof \*\2\);$"
    allocations = re.findall(pattern, text, re.MULTILINE)
    scratch = 0
    if allocations:
        includes, text, _ = printed(["tw_scratch *scratch"])
        for c_type, name, count in allocations:
            most, bytes_ = _most(count, cases), C_BYTES.get(c_type.strip())
            if most is None or bytes_ is None:
                raise ExportError(
                    f"{own}: how large the temporary {name} becomes is not known before it runs "
                    f"({count}), so that it cannot lie in the state"
                )
            scratch += max(1, -(-most * bytes_ // _ALIGNMENT)) * _ALIGNMENT
        helper = r"/\*[^*]*\*/\nstatic void \*tw_allocate\(.*?\n}\n"
        text = re.sub(helper, lambda _: _SCRATCH, text, flags=re.DOTALL)
        text = text.replace("= tw_allocate(", "= tw_take(scratch, ")
        text = re.sub(r"^( *)free\((\w+)\);$", r"\1tw_give(scratch, \2);", text, flags=re.MULTILINE)
    # A callback runs in one thread.
    text = re.sub(r"^ *#pragma omp (parallel|atomic write).*\n", "", text, flags=re.MULTILINE)
    if re.search(r"\b(malloc|free|tw_allocate)\(", text):
        raise ExportError(f"{own} cannot be printed without allocation")
    includes = re.sub(r"#include <stdlib.h>\n", "", includes)
    return CKernel(includes, text, scratch, tuple(subscripts))
