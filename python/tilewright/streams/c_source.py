"""Stream functions as C source for audio callbacks: a state block, `init`, `push`, `flush`, nothing allocated.

The kernel of a step is printed as `Function.export_source` prints functions, but that its temporaries come from a part of the
state block that is large enough for the longest step. `push` takes any number of elements: longer ones are cut into steps,
which changes no bit of what comes out. The state has no pointers, so that copying its bytes copies the stream.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from ..base.checks import ARGUMENT, a_path, an_integer
from ..base.errors import ExportError
from ..base.results import Result
from ..export.exported_arguments import Argument
from ..export.exporting import checked_symbol, linked_externs
from ..export.source import SourceInterface
from .steps import Step

__all__ = ["ExportedStream", "export_stream_source", "stream_c_text"]

_ALIGNMENT = 64
"""Of the state block, and of what lies in it."""

LARGEST = 1024
"""Elements of the first input in one step, by default."""


@dataclass(frozen=True)
class ExportedStream(Result):
    """What `StreamFunction.export_source` wrote.

    Attributes:
        name: what the C functions' names begin with.
        prototypes: their declarations, as in the header.
        source: the C file.
        header: what declares the functions.
        state_nbytes: how large the state block is.
    """

    name: str
    prototypes: tuple[str, ...]
    source: Path
    header: Path
    state_nbytes: int

    made_by = "StreamFunction.export_source"


def _up(number: int) -> int:
    return -(-number // _ALIGNMENT) * _ALIGNMENT


@dataclass
class _Port:
    """A stream that is pushed or given."""

    name: str  # in C
    stream: str
    c_type: str
    dtype: np.dtype[Any]
    elements: int  # at each time


class _Writer:
    """The texts of one stream function, for known sizes."""

    def __init__(
        self,
        step: Step,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sizes: dict[str, int],
        symbol: str,
        largest: int,
    ) -> None:
        self.step, self.sizes, self.symbol = step, sizes, symbol
        self.upper = symbol.upper()
        self.kernel = step.kernel
        self.interface = SourceInterface(self.kernel, f"{symbol}_step")
        self.arguments = {each.parts[0][0]: each for each in self.interface.arguments}
        self.inputs = [self._port(name, self.arguments[name]) for name in inputs]
        self.outputs = [self._port(name, self.arguments[f"{name}_out"]) for name in outputs]
        for port in (*self.inputs, *self.outputs):
            if step.streams[port.stream].axis != 0:
                raise ExportError(
                    f"{self.kernel.name}: the time is not the first dimension of {port.stream}, as it "
                    f"must be in C, where elements are pushed one behind the other"
                )
        timing = step.timing
        self.period = timing.period
        self.unit = 1
        for name in inputs:
            rate = timing.rates[name]
            self.unit = np.lcm(self.unit, rate.denominator).item()
        self.largest = max(1, largest // self.unit) * self.unit
        self.finite = [
            each
            for name, each in self.arguments.items()
            if each.is_input and name not in inputs and name not in {f"{n}_past" for n in step.past}
        ]
        self.members: list[tuple[str, str, str, int, int]] = []  # C type, name, extents, offset, bytes
        self.scratch = 0
        self.includes, self.definition = self._kernel()
        self.nbytes = self._lay_out()

    def _port(self, stream: str, argument: Argument) -> _Port:
        dtype = self.step.past[stream][1]
        elements = 1
        for extent in self.step.shapes[stream]:
            elements *= 1 if extent is None else extent
        return _Port(argument.name, stream, argument.c_type, dtype, elements)

    # ---- the kernel ----

    def _kernel(self) -> tuple[str, str]:
        """The kernel as a static function whose temporaries lie in the state block."""
        listed = ["tw_scratch *scratch", *self.interface.declared_arguments(True)]
        declaration = f"static int {self.symbol}_step({', '.join(listed)})"
        includes, text, subscripts = _core.export_c_source(
            self.kernel,
            declaration,
            f"{self.upper}_",
            self.interface.places(self.kernel),
            self.interface.parameters,
        )
        if subscripts:
            raise ExportError(
                f"{self.kernel.name} has subscripts that are data, which may be outside of their array: "
                f"a push in C could not say which elements are lost"
            )
        text = re.sub(r"^ *#pragma omp parallel.*\n", "", text, flags=re.MULTILINE)
        text = re.sub(
            r"/\*[^*]*\*/\nstatic void \*tw_allocate\(.*?\n}\n", _SCRATCH, text, flags=re.DOTALL
        )
        self.allocations = re.findall(
            r"^ *(\w[\w ]*?) \*(\w+) = tw_allocate\((.*), sizeof \*\2\);$", text, re.MULTILINE
        )
        if text.count("tw_allocate(") != len(self.allocations):
            raise ExportError(f"{self.kernel.name} has temporaries of an unknown size")
        text = re.sub(r"= tw_allocate\(", "= tw_take(scratch, ", text)
        text = re.sub(r"^( *)free\((\w+)\);$", r"\1tw_give(scratch, \2);", text, flags=re.MULTILINE)
        if "malloc" in text or "free(" in text:
            raise ExportError(f"{self.kernel.name} cannot be printed without allocation")
        if not self.allocations:
            text = _SCRATCH + "\n" + text
            text = text.replace(f"{declaration.split('(')[0]}", declaration.split("(")[0])
        includes = re.sub(r"#include <stdlib.h>\n", "", includes)
        self.scratch = max(_ALIGNMENT, sum(self._temporary(*each) for each in self.allocations))
        return includes, text

    def _temporary(self, c_type: str, name: str, count: str) -> int:
        """The bytes that a temporary takes at most in a step of the largest length."""
        bytes_ = _C_BYTES.get(c_type.strip())
        expression = re.sub(r"/", "//", re.sub(r"\(int64_t\)|(?<=\d)LL?\b", "", count))
        known: dict[str, Any] = {
            "__builtins__": {},
            "tw_min": min,
            "tw_max": max,
            "tw_count": lambda a, b: max(a, 0) * max(b, 0),
        }
        most = 0
        try:
            for ticks in self._times():
                for length in {self.largest, self.unit}:
                    given = self._parameters(ticks, ticks + length)
                    most = max(most, int(eval(expression, {**known, **given})))
        except (NameError, SyntaxError, TypeError):
            bytes_ = None
        if bytes_ is None:
            raise ExportError(
                f"{self.kernel.name}: how large the temporary {name} becomes is not known ({count})"
            )
        return _up(bytes_ * most) + _ALIGNMENT

    def _times(self) -> Iterator[int]:
        """When steps may begin: in the beginning, in all phases of the period, and late."""
        late = max(self.step.timing.latency(port.stream) for port in self.outputs)
        for begin in (0, (late // self.period + 1) * self.period, 2**32 * self.period):
            yield from range(begin, begin + self.period, self.unit)

    def _parameters(self, before: int, after: int) -> dict[str, int]:
        first, last = self.step.timing.counts(before), self.step.timing.counts(after)
        found = {str(_core.c_identifier(name)): value for name, value in self.sizes.items()}
        for name in self.step.own_times:
            found[f"{name}_begin"], found[f"{name}_end"] = first[name], last[name]
        for name in self.step.first_times:
            found[f"{name}_first"] = max(first[name], min(0, last[name]))
        return found

    # ---- the state ----

    def _lay_out(self) -> int:
        """The members of the state, and how large it is."""
        for name in self.step.past:
            argument = self.arguments[f"{name}_past"]
            length = int(np.prod(self.step.past[name][0]))
            bytes_ = self.step.past[name][1].itemsize * length
            self.members.append((argument.c_type, f"{name}_past", f"[2][{max(1, length)}]", length, bytes_))
        for argument in self.finite:
            length = self._length(argument)
            extents = "" if SourceInterface.is_number(argument) else f"[{max(1, length)}]"
            self.members.append((argument.c_type, argument.name, extents, length, 0))
        total = _ALIGNMENT  # ticks, which past is the present one, the mark
        for _, _, extents, length, bytes_ in self.members:
            copies = 2 if extents.startswith("[2]") else 1
            total += _up(copies * max(bytes_, 16 * max(1, length)))
        return _up(total + self.scratch) + 2 * _ALIGNMENT

    def _length(self, argument: Argument) -> int:
        length = 1
        for extent in argument.extents:
            length *= int(eval(extent, {"__builtins__": {}}, dict(self.sizes)))
        return length

    def _members(self) -> Iterator[str]:
        for c_type, name, extents, _, _ in self.members:
            yield f"  {c_type} state_{name}{extents};"

    # ---- declarations ----

    def prototypes(self) -> tuple[str, ...]:
        own = self.symbol
        arrays = [
            f"{each.c_type} {each.name}"
            if SourceInterface.is_number(each)
            else f"const {each.c_type} *{each.name}"
            for each in self.finite
        ]
        given = [f"const {port.c_type} *{port.name}" for port in self.inputs]
        results = [f"{port.c_type} *{port.name}" for port in self.outputs]
        numbers = [f"int64_t *{port.name}_count" for port in self.outputs]
        both = [one for pair in zip(results, numbers, strict=True) for one in pair]
        return (
            f"size_t {own}_state_size(void)",
            f"int {own}_init({', '.join(['void *state', *arrays])})",
            f"int {own}_reset(void *state)",
            f"int {own}_counts({', '.join(['const void *state', 'int64_t count', *numbers])})",
            f"int {own}_push({', '.join(['void *state', 'int64_t count', *given, *both])})",
            f"int {own}_flush({', '.join(['void *state', *both])})",
        )

    def about(self) -> str:
        upper, own = self.upper, self.symbol
        first = self.inputs[0].name
        lines = [
            f"{self.kernel.name}: a stream.",
            "",
            f"A block of {own}_state_size() bytes, {upper}_STATE_NBYTES, aligned to {_ALIGNMENT}, is the state.",
            f"{own}_init prepares it and copies the arrays; {own}_reset goes back to the time before the",
            f"first element; {own}_push takes `count` elements of {first} and gives what can be computed then;",
            f"{own}_counts says how many elements a push would give; {own}_flush gives what depends on what",
            "was pushed only and has not come out yet, which is nothing: push gives each element at once.",
            "A copy of the block is a copy of the stream. Nothing is allocated, and nothing waits.",
            "",
        ]
        for port in self.inputs:
            rate = self.step.timing.rates[port.stream]
            note = "" if port is self.inputs[0] else f", {rate} for each of {first}"
            lines.append(f"  {port.name}: in, {port.elements} x {port.dtype} for each element{note}")
        for port in self.outputs:
            rate = self.step.timing.rates[port.stream]
            lines.append(f"  {port.name}: out, {port.elements} x {port.dtype} for each element, {rate} for each of {first}")
        for argument in self.finite:
            lines.append(f"  {argument.name}: {argument.dtype}{'' if SourceInterface.is_number(argument) else f'[{self._length(argument)}]'}, given to {own}_init")
        lines += [*linked_externs(self.kernel)]
        lines += ["", "Compile it with -std=c99 -O2 -ffp-contract=off -fopenmp-simd."]
        body = "\n".join(f" * {line}".rstrip().replace("*/", "* /") for line in lines)
        return f"/*\n{body}\n */\n"

    def header(self) -> str:
        upper = self.upper
        has_complex = any("_Complex" in prototype for prototype in self.prototypes())
        needed = ("#include <complex.h>\n" if has_complex else "") + (
            "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        )
        codes = "".join(
            f"#define {upper}_{name} {value} /* {text} */\n" for name, value, text in _CODES
        )
        declared = "".join(f"{prototype};\n" for prototype in self.prototypes())
        return (
            f"{self.about()}#ifndef {upper}_H\n#define {upper}_H\n\n{needed}\n{codes}"
            f"#define {upper}_STATE_NBYTES {self.nbytes}\n\n"
            f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declared}\n'
            f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
        )

    # ---- definitions ----

    def text(self) -> str:
        return "\n".join(
            [
                self.includes.rstrip("\n"),
                "#include <string.h>",
                "",
                self.definition,
                self._state(),
                self._counts(),
                self._functions(),
            ]
        )

    def _state(self) -> str:
        own = self.symbol
        members = "\n".join(self._members())
        return f"""typedef struct {{
  int64_t mark; /* of a block that was initialized */
  int64_t ticks; /* elements of {self.inputs[0].name} so far */
  int64_t present; /* which of two pasts */
{members}
  int64_t scratch[{_up(self.scratch) // 8 + _ALIGNMENT // 8}];
}} {own}_state;

typedef char {own}_state_fits[sizeof({own}_state) <= {self.upper}_STATE_NBYTES ? 1 : -1];

#define {self.upper}_MARK INT64_C({_mark(own)})

static int {own}_is_ready(const void *state) {{
  return state != NULL && (uintptr_t)state % 8 == 0 && ((const {own}_state *)state)->mark == {self.upper}_MARK;
}}
"""

    def _names(self) -> list[str]:
        """The streams whose numbers of elements a step has to know."""
        outputs = [port.stream for port in self.outputs]
        return list(dict.fromkeys([*self.step.own_times, *self.step.first_times, *outputs]))

    def _counts(self) -> str:
        own, timing, names = self.symbol, self.step.timing, self._names()
        rows = ",\n  ".join(
            "{" + ", ".join(str(timing.counts(tick)[name]) for name in names) + "}"
            for tick in range(self.period)
        )
        ends = timing.counts(self.period)
        moves = ", ".join(str(ends[name] - timing.counts(0)[name]) for name in names)
        return f"""/* How many elements of {", ".join(names)} are known after so many of {self.inputs[0].name}. */
static const int64_t {own}_table[{self.period}][{len(names)}] = {{
  {rows}}};
static const int64_t {own}_moves[{len(names)}] = {{{moves}}};

static int64_t {own}_known(int64_t ticks, int stream) {{
  return {own}_table[ticks % {self.period}][stream] + {own}_moves[stream] * (ticks / {self.period});
}}

static int64_t {own}_new(int64_t before, int64_t after, int stream) {{
  int64_t first = {own}_known(before, stream), last = {own}_known(after, stream);
  return (last > 0 ? last : 0) - (first > 0 ? first : 0);
}}
"""

    def _step_arguments(self) -> list[str]:
        own, names = self.symbol, self._names()
        found = ["&scratch"]
        for parameter in self.interface.parameters:
            found.append(self._time_of(parameter, names))
        for name, argument in self.arguments.items():
            if name in [port.stream for port in self.inputs]:
                found.append(argument.name)
            elif name.endswith("_past") and name[:-5] in self.step.past:
                found.append(f"s->state_{name}[s->present]")
            elif name.endswith("_next") and name[:-5] in self.step.past:
                found.append(f"s->state_{name[:-5]}_past[1 - s->present]")
            elif name.endswith("_out"):
                found.append(argument.name)
            else:
                found.append(f"s->state_{argument.name}")
        del own
        return found

    def _time_of(self, parameter: str, names: list[str]) -> str:
        own = self.symbol
        for name in self.step.own_times:
            if parameter == f"{name}_begin":
                return f"{own}_known(s->ticks, {names.index(name)})"
            if parameter == f"{name}_end":
                return f"{own}_known(after, {names.index(name)})"
        for name in self.step.first_times:
            if parameter == f"{name}_first":
                k = names.index(name)
                return f"{own}_first({own}_known(s->ticks, {k}), {own}_known(after, {k}))"
        return f"INT64_C({self.sizes[parameter]})"

    def _functions(self) -> str:
        own, upper, names = self.symbol, self.upper, self._names()
        size, init, reset, counts, push, flush = self.prototypes()
        copies = []
        for argument in self.finite:
            member = f"s->state_{argument.name}"
            if SourceInterface.is_number(argument):
                copies.append(f"  {member} = {argument.name};")
            elif self._length(argument):
                copies.append(f"  memcpy({member}, {argument.name}, sizeof {member});")
        checks = [
            f"  if ({argument.name} == NULL) {{\n    return {upper}_NULL_POINTER;\n  }}"
            for argument in self.finite
            if not SourceInterface.is_number(argument) and self._length(argument)
        ]
        zeros = "\n".join(
            f"  memset(s->state_{name}_past, 0, sizeof s->state_{name}_past);"
            for name in self.step.past
        )
        numbers = "\n".join(
            f"  *{port.name}_count = {own}_new(s->ticks, s->ticks + count, {names.index(port.stream)});"
            for port in self.outputs
        )
        cleared = "\n".join(f"  *{port.name}_count = 0;" for port in self.outputs)
        given = "\n".join(
            f"  if ({port.name} == NULL && count > 0) {{\n    return {upper}_NULL_POINTER;\n  }}"
            for port in self.inputs
        )
        rooms = "\n".join(
            f"  if ({port.name} == NULL && {own}_new(s->ticks, s->ticks + count, {names.index(port.stream)}) > 0) {{\n"
            f"    return {upper}_NULL_POINTER;\n  }}"
            for port in self.outputs
        )
        moved = "\n".join(self._moved(names))
        unused = "\n".join(f"  (void){port.name};" for port in self.outputs)
        first = ""
        if self.step.first_times:
            first = f"""static int64_t {own}_first(int64_t before, int64_t after) {{
  int64_t first = after < 0 ? after : 0;
  return before > first ? before : first;
}}

"""
        return f"""{first}{size} {{
  return {upper}_STATE_NBYTES;
}}

{reset} {{
  {own}_state *s = state;
  if (!{own}_is_ready(state)) {{
    return {upper}_STATE;
  }}
  s->ticks = 0;
  s->present = 0;
{zeros}
  return {upper}_OK;
}}

{init} {{
  {own}_state *s = state;
  if (state == NULL) {{
    return {upper}_NULL_POINTER;
  }}
  if ((uintptr_t)state % 8 != 0) {{
    return {upper}_STATE;
  }}
{chr(10).join(checks)}
{chr(10).join(copies)}
  s->mark = {upper}_MARK;
  return {own}_reset(state);
}}

{counts} {{
  const {own}_state *s = state;
  if (!{own}_is_ready(state)) {{
    return {upper}_STATE;
  }}
  if (count < 0 || count % {self.unit} != 0 || count > {_LATEST} - s->ticks) {{
    return {upper}_COUNT;
  }}
{numbers}
  return {upper}_OK;
}}

{push} {{
  {own}_state *s = state;
  int status = {own}_counts({", ".join(["state", "count", *(f"{p.name}_count" for p in self.outputs)])});
  if (status != {upper}_OK) {{
    return status;
  }}
{given}
{rooms}
  while (count > 0) {{
    int64_t length = count < {self.largest} ? count : {self.largest};
    int64_t after = s->ticks + length;
    tw_scratch scratch = {{(char *)s->scratch, sizeof s->scratch, 0}};
    status = {own}_step({", ".join(self._step_arguments())});
    if (status != {upper}_OK) {{
      return status;
    }}
{moved}
    s->ticks = after;
    s->present = 1 - s->present;
    count -= length;
  }}
  return {upper}_OK;
}}

{flush} {{
  if (!{own}_is_ready(state)) {{
    return {upper}_STATE;
  }}
{unused}
{cleared}
  return {upper}_OK;
}}
"""

    def _moved(self, names: list[str]) -> Iterator[str]:
        """After a step: where the next one reads and writes."""
        for port in self.inputs:
            rate = self.step.timing.rates[port.stream]
            factor = rate.numerator * port.elements
            yield f"    {port.name} += length * {factor} / {rate.denominator};"
        for port in self.outputs:
            new = f"{self.symbol}_new(s->ticks, after, {names.index(port.stream)})"
            yield f"    {port.name} += {new} * {port.elements};"


_LATEST = "(INT64_C(1) << 40)"

_CODES = (
    ("OK", 0, "done"),
    ("OUT_OF_MEMORY", 1, "not given: the state has room for all temporaries"),
    ("SIZES", 2, "not given: sizes are constants"),
    ("STATE", 3, "the state was not initialized, or is not aligned"),
    ("COUNT", 4, "a negative number of elements, one that does not fit the rates, or 2**40 of them"),
    ("NULL_POINTER", 5, "an array is NULL, and it has elements"),
)

_SCRATCH = """/* Temporaries, which lie in the state block. */
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

_C_BYTES = {
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


def _mark(symbol: str) -> int:
    """A number that memory holds by chance in no program."""
    found = 1469598103934665603
    for letter in symbol.encode():
        found = (found ^ letter) * 1099511628211 % 2**63
    return found


def _made(
    step: Step,
    inputs: Sequence[str],
    outputs: Sequence[str],
    sizes: dict[str, int],
    name: str | None,
    largest: Any,
) -> _Writer:
    number = an_integer(largest, "largest", ARGUMENT, minimum=1, bits=32)
    symbol = checked_symbol(step.kernel, name)
    return _Writer(step, inputs, outputs, sizes, symbol, number)


def stream_c_text(
    step: Step, inputs: Sequence[str], outputs: Sequence[str], sizes: dict[str, int]
) -> str:
    """See `StreamFunction.c`."""
    made = _made(step, inputs, outputs, sizes, None, LARGEST)
    return f"{made.header()}\n{made.text()}"


def export_stream_source(
    step: Step,
    inputs: Sequence[str],
    outputs: Sequence[str],
    sizes: dict[str, int],
    directory: str | os.PathLike[str],
    name: str | None,
    largest: Any,
) -> ExportedStream:
    """See `StreamFunction.export_source`."""
    target = Path(a_path(directory, "directory"))
    if target.exists() and not target.is_dir():
        raise ExportError(f"{target} is there already and is no directory; name another one")
    made = _made(step, inputs, outputs, sizes, name, largest)
    target.mkdir(parents=True, exist_ok=True)
    source, header = target / f"{made.symbol}.c", target / f"{made.symbol}.h"
    header.write_text(made.header(), encoding="utf-8")
    source.write_text(
        f'{made.about()}#include "{made.symbol}.h"\n\n{made.text()}', encoding="utf-8"
    )
    return ExportedStream(made.symbol, made.prototypes(), source, header, made.nbytes)
