"""The header and the example program of exported functions (see `exporting`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from .. import _core
from ..base.errors import ExportError
from ..schedule.scheduled_functions import ScheduledFunction
from .exported_arguments import C_TYPES, TYPE_NOTES, Argument, Interface, c_name

__all__ = ["example_program", "header"]

# ---- the header ----


def _wrapped(text: str, width: int = 96, indent: str = "    ") -> str:
    """A declaration over several lines, broken at commas."""
    lines = [""]
    for part in re.split(r"(?<=,) ", text):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append(indent + part)
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)


def _comment(lines: Sequence[str]) -> str:
    body = "\n".join(f" * {line}".rstrip().replace("*/", "* /") for line in lines)
    return f"/*\n{body}\n */"


def _described(argument: Argument, strides: bool) -> str:
    role = "in and out" if argument.is_input and argument.is_written else "in"
    role = role if argument.is_input else "out"
    if argument.by_value:
        return f"{argument.name}: a number ({'; '.join(argument.notes) or argument.dtype})"
    kind = argument.c_type if argument.fields else argument.dtype
    shape = f"[{', '.join(argument.extents)}]" if argument.extents else " (one element)"
    text = f"{argument.name}: {role}, {kind}{shape}"
    if len(argument.extents) > 1:
        text += (
            f", with {', '.join(argument.stride_names())} elements from one index to the next"
            if strides
            else ", row-major without gaps"
        )
    return "; ".join([text, *argument.notes])


_STATUSES = (
    ("OK", 0, "all outputs are written"),
    ("SUBSCRIPT", 1, "a subscript that is computed from data is outside of its array"),
    ("OUT_OF_MEMORY", 2, "no memory for temporaries"),
    ("SIZES", 4, "the function is not defined for these sizes"),
    ("NULL_POINTER", 5, "an array is NULL"),
    ("ALIGNMENT", 6, "an array is not aligned as its type is"),
    ("OVERLAP", 7, "a written array overlaps another one"),
    ("PROCESSOR", 8, "this processor lacks what the code was compiled for"),
)


def _structures(interface: Interface) -> Iterator[str]:
    for argument in interface.arguments:
        if not argument.fields:
            continue
        packed = "its fields are packed" in argument.notes
        lines = ["#pragma pack(push, 1)"] if packed else []
        lines.append(f"{argument.c_type} {{")
        end = 0
        for each in argument.fields:
            if packed and each.offset > end:
                lines.append(f"  char unused_{end}[{each.offset - end}];")
            count = "[2]" if each.dtype.startswith("complex") else ""
            note = f" /* {TYPE_NOTES[each.dtype]} */" if each.dtype in TYPE_NOTES else ""
            lines.append(f"  {C_TYPES[each.dtype][0]} {c_name(each.name)}{count};{note}")
            end = each.offset + C_TYPES[each.dtype][1]
        if packed and argument.element_bytes > end:
            lines.append(f"  char unused_{end}[{argument.element_bytes - end}];")
        lines.append("};")
        yield "\n".join([*lines, "#pragma pack(pop)"] if packed else lines)


def header(
    function: ScheduledFunction, interface: Interface, cpu: str, build: str, linked: Sequence[str]
) -> str:
    symbol = interface.symbol
    upper = symbol.upper()
    schedule = str(function.schedule) or str(function.default_schedule) or "none"
    about = [
        f"{function.signature}",
        f"as a C function, made by tilewright {_core.__version__} for {cpu}"
        + (", with fast_math." if function.fast_math else "."),
        "",
        "Schedule:",
        *(f"  {line}" for line in schedule.splitlines()),
        "",
        "Loops:",
        *(f"  {line}" for line in function.loops.splitlines()),
        "",
        "The example is built with",
        f"  {build}",
        *linked,
    ]
    arguments = [
        f"Computes {function.signature}.",
        "",
        *(f"  {_described(argument, interface.strides)}" for argument in interface.arguments),
        *(f"  {name}: a size" for name in interface.parameters),
        "",
        "Written arrays share no memory with others. May be called from any thread. Parallel loops",
        f"run on threads of the library's own: see {symbol}_set_num_threads.",
        "",
        f"Returns {upper}_OK, or what was wrong: the low 8 bits are one of the statuses above, the",
        "others the number of the array (or of the subscript) that it is about. With another status",
        "than OK, SUBSCRIPT and OUT_OF_MEMORY nothing has been written.",
    ]
    statuses = "\n".join(f"  {upper}_{n} = {v}, /* {text} */" for n, v, text in _STATUSES)
    structures = "".join(f"{text}\n\n" for text in _structures(interface))
    return f"""{_comment(about)}
#ifndef {upper}_H
#define {upper}_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

enum {{
{statuses}
}};

{structures}{_comment(arguments)}
{_wrapped(interface.prototype())};

/* A text about a status, which is there as long as the library. */
const char *{symbol}_message(int32_t status);

/* How many threads parallel loops may use from now on. 0, as at the start: OMP_NUM_THREADS, else
   the processors that this process may use. */
void {symbol}_set_num_threads(int32_t count);

#ifdef __cplusplus
}}
#endif

#endif
"""


# ---- the example ----


def _example_sizes(function: ScheduledFunction) -> tuple[list[int], dict[str, list[int]]]:
    """Values for the parameters, and the extents of the kernel's arguments for them."""
    count = len(function.parameters)
    max_elements = 2_000_000
    unlike = [60 - 7 * (k % 7) for k in range(count)]
    usual = (unlike, *([size] * count for size in (64, 32, 16, 12, 8, 5, 4, 3, 2, 1, 0)))
    least = (_core.least_sizes(function, bound) for bound in (1, 0))
    for values in (*usual, *least):
        if values is None:
            continue
        extents = _core.extents_at(function, values)
        if extents is not None and all(
            min(each, default=0) >= 0 and np.prod(each, dtype=float) <= max_elements
            for each in extents
        ):
            names = [name for name, _, _, _ in function._arguments]
            return values, dict(zip(names, extents, strict=True))
    raise ExportError(
        f"{function.name}: no small sizes were found that keep its conditions; the example needs "
        f"some",
    )


def _value(dtype: str, seed: int) -> str:
    """The C expression of element k of an example's array."""
    number = f"(k * 37 + {seed}) % "
    if dtype == "bool":
        return f"{number}2 == 0"
    if dtype == "float16":
        return f"(uint16_t)(0x3c00 + {number}256)"
    if dtype == "bfloat16":
        return f"(uint16_t)(0x3f80 + {number}64)"
    if dtype.startswith(("int", "uint")):
        return f"({C_TYPES[dtype][0]})({number}3)"
    return f"({C_TYPES[dtype][0]})({number}101) / 64"


def example_program(function: ScheduledFunction, interface: Interface, build: str) -> str:
    symbol = interface.symbol
    sizes, extents = _example_sizes(function)
    lines: list[str] = []
    call: list[str] = []
    frees: list[str] = []
    for parameter, size in zip(interface.parameters, sizes, strict=True):
        lines.append(f"const int64_t {parameter} = {size};")
    for number, argument in enumerate(interface.arguments):
        shape = extents[argument.parts[0][0]]
        elements = int(np.prod(shape, dtype=np.int64))
        scalars = elements * (2 if argument.dtype.startswith("complex") else 1)
        if argument.by_value:
            value = _value(argument.dtype, number).replace("k *", "0 *")
            lines.append(f"const {argument.c_type} {argument.name} = {value};")
            call.append(argument.name)
            continue
        text = f"{', '.join(argument.extents)}"
        lines.append(
            f"{argument.c_type} *{argument.name} = new_array({scalars}, "
            f"sizeof *{argument.name}); /* [{text}] */"
        )
        if argument.is_input:
            targets = [(each.dtype, f".{c_name(each.name)}") for each in argument.fields]
            lines.append(f"for (int64_t k = 0; k < {scalars}; ++k) {{")
            for dtype, member in targets or [(argument.dtype, "")]:
                if member and dtype.startswith("complex"):
                    lines += [
                        f"  {argument.name}[k]{member}[{part}] = {_value(dtype, number)};"
                        for part in (0, 1)
                    ]
                else:
                    lines.append(f"  {argument.name}[k]{member} = {_value(dtype, number)};")
            lines.append("}")
        call.append(argument.name)
        frees.append(f"free({argument.name});")
        if interface.strides:
            call += [str(int(np.prod(shape[d + 1 :]))) for d in range(len(shape) - 1)]
    call += interface.parameters
    lines += [
        "",
        _wrapped(f"int32_t status = {symbol}({', '.join(call)});", 90),
        f"if (status != {symbol.upper()}_OK) {{",
        f'  fprintf(stderr, "{symbol}: %s\\n", {symbol}_message(status));',
        "  return 1;",
        "}",
    ]
    for argument in interface.arguments:
        if argument.is_written:
            elements = int(np.prod(extents[argument.parts[0][0]], dtype=np.int64))
            lines += _printed(argument, elements)
    body = "\n".join(
        f"  {line}" if line else "" for line in "\n".join([*lines, *frees]).split("\n")
    )
    return f"""/* Calls {symbol} and prints the sum of each output. Build and run it with

     {build}
     ./{symbol}_example
*/
#include "{symbol}.h"

#include <stdio.h>
#include <stdlib.h>

static void *new_array(size_t count, size_t size) {{
  void *memory = calloc(count > 0 ? count : 1, size);
  if (memory == NULL) {{
    fputs("no memory\\n", stderr);
    exit(1);
  }}
  return memory;
}}

int main(void) {{
{body}
  return 0;
}}
"""


def _printed(argument: Argument, elements: int) -> list[str]:
    """Statements that print the sums of an output, or of its fields."""
    lines = []
    targets = [(each.dtype, f".{c_name(each.name)}", each.name) for each in argument.fields]
    for dtype, member, name in targets or [(argument.dtype, "", "")]:
        label = f"{argument.name}.{name}" if name else argument.name
        if dtype.startswith("complex"):
            places = [f"[k]{member}[{part}]" if member else f"[2 * k + {part}]" for part in (0, 1)]
            sums = [("real", places[0]), ("imaginary", places[1])]
        else:
            sums = [("", f"[k]{member}")]
        for part, index in sums:
            shown = f"{label} ({part})" if part else label
            lines += [
                "{",
                "  double sum = 0;",
                f"  for (int64_t k = 0; k < {elements}; ++k) {{",
                f"    sum += (double){argument.name}{index};",
                "  }",
                f'  printf("{shown}: {elements} elements, sum %.17g\\n", sum);',
                "}",
            ]
    return lines
