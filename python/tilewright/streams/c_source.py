"""Stream functions as C source for audio callbacks: a state, `init`, `push`, `flush`, nothing allocated.

`push` takes any number of elements: longer ones are cut into steps, which changes no bit of what comes out. The state
has no pointers, so that copying its bytes copies the stream.
"""

from __future__ import annotations

import math
import os
import platform
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from ..base.checks import ARGUMENT, a_path, an_integer
from ..base.errors import ExportError
from ..base.results import Result
from ..export.exported_arguments import Argument
from ..export.exporting import checked_symbol, linked_externs
from ..export.source import SourceInterface
from .c_functions import Finite, Line, Port, Ring, Texts
from .c_kernel import C_BYTES, c_kernel, c_values, cases_of
from .steps import Step

__all__ = ["LARGEST", "ExportedStream", "export_stream_source", "stream_c_text"]

LARGEST = 1024
"""Elements of the first input in one step, by default."""

_CODES = (
    ("OK", 0, "done"),
    ("OUT_OF_MEMORY", 1, "never: the state has room for all temporaries"),
    ("SIZES", 2, "never: sizes are constants"),
    ("STATE", 3, "the state was not initialized, or is not aligned to 8 bytes"),
    (
        "COUNT",
        4,
        "a number of elements that is negative, does not fit the rates, or is too large",
    ),
    ("NULL_POINTER", 5, "an array is NULL, and it has elements"),
    ("SUBSCRIPT", 6, "a subscript that is computed from data is outside of its array"),
)

_TAKEN = frozenset("state s count status length before after scratch first last ticks".split())
"""Names of the functions' own."""


@dataclass(frozen=True)
class ExportedStream(Result):
    """What `StreamFunction.export_source` wrote.

    Attributes:
        name: what the names of the C functions begin with.
        prototypes: their declarations, as in the header.
        source: the C file.
        header: what declares the functions.
        state_nbytes: how large the state is.
    """

    name: str
    prototypes: tuple[str, ...]
    source: Path
    header: Path
    state_nbytes: int

    made_by = "StreamFunction.export_source"


def _c_name(name: str, symbol: str) -> str:
    own = str(_core.c_identifier(name))
    return f"{own}_" if own in _TAKEN or own.startswith(f"{symbol}_") else own


class _Source:
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
        self.counts = {f"{_c_name(name, symbol)}_count" for name in outputs}
        self.interface = SourceInterface(step.kernel, f"{symbol}_step")
        self.arguments = {each.parts[0][0]: each for each in self.interface.arguments}
        for name in (*inputs, *outputs):
            if step.streams[name].axis != 0:
                raise ExportError(
                    f"{step.kernel.name}: the time is not the first dimension of {name}, as it must be "
                    f"in C, where elements lie one behind the other"
                )
        timing = step.timing
        unit = math.lcm(*(timing.rates[name].denominator for name in inputs))
        longest = max(1, largest // unit) * unit
        cases = cases_of(step, sizes, list(outputs), longest, unit)
        self.kernel = c_kernel(step.kernel, self.interface, f"{symbol.upper()}_", cases)
        self.opening = None
        if step.opening is not None:
            self.opened = SourceInterface(step.opening.kernel, f"{symbol}_open")
            self.opening = c_kernel(
                step.opening.kernel, self.opened, f"{symbol.upper()}_", [c_values(sizes)]
            )
            if self.opening.subscripts:
                raise ExportError(
                    f"{step.kernel.name} computes arrays when a stream is opened with subscripts that are "
                    f"data, which may be outside of their array; compute them before, and give them"
                )
        counted = list(dict.fromkeys([*step.own_times, *step.first_times, *outputs, *step.lines]))
        begin = timing.counts(timing.onset)
        end = timing.counts(timing.onset + timing.period)
        texts = Texts(
            own=symbol,
            inputs=[self._port(name, name) for name in inputs],
            outputs=[
                self._port(name, f"{name}_out", "_out" if name in inputs else "")
                for name in outputs
            ],
            lines=[self._line(name, longest) for name in step.lines],
            rings=[self._ring(name) for name in step.rings],
            finite=[*self._finite_arrays(inputs)],
            counted=counted,
            table=[
                [timing.counts(tick)[name] for name in counted]
                for tick in range(timing.onset + timing.period)
            ],
            onset=timing.onset,
            moves=[end[name] - begin[name] for name in counted],
            unit=unit,
            largest=longest,
            latest=2**40 // max(1, math.ceil(max(timing.rates.values()))) - longest,
            scratch=max(self.kernel.scratch, self.opening.scratch if self.opening else 0),
            state_nbytes=0,
            call=[],
            opening="",
            waits=bool(step.first_times),
            may_fail=bool(self.kernel.subscripts),
        )
        texts.opening = self._opening_call(texts)
        texts.call = [
            *(["&scratch"] if self.kernel.scratch else []),
            *(self._time(parameter, counted) for parameter in self.interface.parameters),
            *(self._argument(name, texts) for name in self.arguments),
        ]
        texts.state_nbytes = _state_nbytes(texts)
        self.texts = texts

    # ---- what there is ----

    def _named(self, name: str) -> str:
        """A parameter's name: none that counts the elements of an output has it."""
        own = _c_name(name, self.symbol)
        return f"{own}_" if own in self.counts else own

    def _port(self, stream: str, argument: str, end: str = "") -> Port:
        rate = self.step.timing.rates[stream]
        return Port(
            name=f"{self._named(stream)}{end}",
            stream=stream,
            c_type=self.arguments[argument].c_type,
            dtype=str(self.step.types[stream]),
            elements=math.prod(extent or 0 for extent in self.step.shapes[stream][1:]),
            rate=(rate.numerator, rate.denominator),
        )

    def _line(self, stream: str, longest: int) -> Line:
        """Room for what is kept twice, so that it is moved to the front once in so many elements, and for the
        new elements of a step."""
        timing, line = self.step.timing, self.step.lines[stream]
        new = max(
            timing.counts(begin + longest)[stream] - timing.counts(begin)[stream]
            for begin in range(timing.onset + timing.period)
        )
        return Line(
            member=f"{_core.c_identifier(stream)}_line",
            stream=stream,
            c_type=self.arguments[f"{stream}_line"].c_type,
            kept=line.kept,
            ahead=line.ahead,
            room=max(2 * line.kept, line.kept + new) + line.ahead,
            elements=math.prod(line.shape),
        )

    def _ring(self, stream: str) -> Ring:
        argument = self.arguments[f"{stream}_ring"]
        length = math.prod(self.step.rings[stream][0])
        return Ring(f"{_core.c_identifier(stream)}_ring", argument.c_type, length)

    def _finite_arrays(self, inputs: Sequence[str]) -> Iterator[Finite]:
        """Those that the kernel of a push reads, and those that only the opening does."""
        known = {*inputs, *(f"{name}_line" for name in self.step.lines)}
        known |= {f"{name}_ring" for name in self.step.rings}
        tables = {} if self.step.opening is None else self.step.opening.tables
        for name, argument in self.arguments.items():
            if argument.is_input and name not in known:
                yield self._finite(name, argument, is_given=name not in tables)
        if self.opening is not None:
            for argument in self.opened.arguments:
                name = argument.parts[0][0]
                if argument.is_input and name not in self.arguments:
                    yield self._finite(name, argument, is_kept=False)

    def _finite(
        self, name: str, argument: Argument, is_given: bool = True, is_kept: bool = True
    ) -> Finite:
        return Finite(
            name=self._named(name),
            member=f"given_{_core.c_identifier(name)}",
            c_type=argument.c_type,
            dtype=argument.dtype,
            length=math.prod(self._extent(each) for each in argument.extents),
            is_number=SourceInterface.is_number(argument),
            is_given=is_given,
            is_kept=is_kept,
        )

    def _opening_call(self, texts: Texts) -> str:
        """What computes the tables in the state, from what `init` is given."""
        if self.opening is None or self.step.opening is None:
            return ""
        values = c_values(self.sizes)
        members = {each.member: each for each in texts.finite}
        tables = dict(zip(self.step.opening.outputs, self.step.opening.tables, strict=True))
        call = ["&scratch"] if self.opening.scratch else []
        call += [f"INT64_C({values[parameter]})" for parameter in self.opened.parameters]
        for argument in self.opened.arguments:
            name = argument.parts[0][0]
            if argument.is_input:
                call.append(self._named(name))
                continue
            table = members[f"given_{_core.c_identifier(tables[name])}"]
            call.append(f"&s->{table.member}" if table.is_number else f"s->{table.member}")
        return f"{self.symbol}_open({', '.join(call)})"

    def _extent(self, expression: str) -> int:
        return int(eval(expression.replace("/", "//"), {"__builtins__": {}}, dict(self.sizes)))

    # ---- what the kernel is called with ----

    def _time(self, parameter: str, counted: list[str]) -> str:
        own = self.symbol
        for name in self.step.own_times:
            known = f"{own}_known({{}}, {counted.index(name)})"
            if parameter == _core.c_identifier(f"{name}_begin"):
                return known.format("before")
            if parameter == _core.c_identifier(f"{name}_end"):
                return known.format("after")
        for name in self.step.first_times:
            if parameter == _core.c_identifier(f"{name}_first"):
                known = f"{own}_known({{}}, {counted.index(name)})"
                return f"{own}_first({known.format('before')}, {known.format('after')})"
        return f"INT64_C({c_values(self.sizes)[parameter]})"

    def _argument(self, name: str, texts: Texts) -> str:
        for port, own in [
            *((port, port.stream) for port in texts.inputs),
            *((port, f"{port.stream}_out") for port in texts.outputs),
        ]:
            if name == own:
                return port.name
        for line in texts.lines:
            if name == f"{line.stream}_line":
                return line.at(f"s->{line.place}")
        for stream, ring in zip(self.step.rings, texts.rings, strict=True):
            if name == f"{stream}_ring":
                return f"s->{ring.member}"
        return f"s->given_{_core.c_identifier(name)}"

    # ---- files ----

    def about(self) -> str:
        texts, own = self.texts, self.symbol
        first = texts.inputs[0].name
        flag = " -mfma" if self._has_fma() else ""
        prose = (
            f"The state is a block of {own}_state_size() bytes, {texts.upper}_STATE_NBYTES, aligned to 8. "
            f"{own}_init prepares it and copies the arrays; {own}_reset goes back to the time before the first "
            f"element; {own}_push takes `count` elements of {first}, and of others what goes with them, gives what "
            f"can be computed then, and says how many elements that is; {own}_counts says it before; {own}_flush "
            f"gives what has not come out yet and depends on nothing that is still to be pushed, which is nothing: "
            f"a push gives each element at once. A copy of the block is a copy of the stream. Nothing is allocated "
            f"and nothing waits. What comes out has the bits of the compiled function, but for the order in which a "
            f"vector loop sums up floats, and the digits of NaN. A push that returns another status than "
            f"{texts.upper}_OK has changed nothing in the state."
        )
        if texts.may_fail:
            prose += (
                f" Subscripts are computed from data here: a push takes at most {texts.largest} elements of {first}, "
                f"and where one is outside of its array, the status is {texts.upper}_SUBSCRIPT in the low 8 "
                f"bits, and above them its number; then no element has been given, whatever the arrays of the "
                f"outputs have become:"
            )
        lines = [f"{self.step.kernel.name}, a stream.", "", *textwrap.wrap(prose, 94)]
        lines += [f"  {number}: {text}" for number, text in enumerate(self.kernel.subscripts)]
        lines.append("")
        for port, role in [
            *((p, "in") for p in texts.inputs),
            *((p, "out") for p in texts.outputs),
        ]:
            number, of = port.rate
            rate = "" if port is texts.inputs[0] else f"; {number} for {of} of {first}"
            extent = "" if port.elements == 1 else f"[{port.elements}]"
            lines.append(f"  {port.name}: {role}, elements of {port.dtype}{extent}{rate}")
        for each in texts.finite:
            extent = "" if each.is_number else f"[{each.length}]"
            how = "copies" if each.is_given and each.is_kept else "reads"
            how = how if each.is_given else "computes"
            lines.append(f"  {each.name}: {each.dtype}{extent}, which {own}_init {how}")
        lines += [
            *(f"  {name} = {value}" for name, value in self.sizes.items()),
            "",
            "Arrays do not overlap. Compile it with",
            f"-std=c99 -O2 -ffp-contract=off -fopenmp-simd{flag}, and link it with -lm.",
            *linked_externs(self.step.kernel),
        ]
        body = "\n".join(f" * {line}".rstrip().replace("*/", "* /") for line in lines)
        return f"/*\n{body}\n */\n"

    def _has_fma(self) -> bool:
        kernels = [self.kernel, *([self.opening] if self.opening else [])]
        found = any(re.search(r"\bfmaf?\(", each.definition) for each in kernels)
        return found and platform.machine() in ("x86_64", "AMD64")

    def header(self) -> str:
        texts = self.texts
        upper, prototypes = texts.upper, texts.prototypes()
        complex_ = any("_Complex" in each for each in prototypes)
        needed = "#include <complex.h>\n" if complex_ else ""
        needed += "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
        codes = [f"#define {upper}_{name} {value} /* {text} */\n" for name, value, text in _CODES]
        declared = "".join(f"{prototype};\n" for prototype in prototypes)
        return (
            f"{self.about()}#ifndef {upper}_H\n#define {upper}_H\n\n{needed}\n{''.join(codes)}"
            f"#define {upper}_STATE_NBYTES {texts.state_nbytes}\n\n"
            f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declared}\n'
            f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
        )

    def definitions(self) -> str:
        includes = self.kernel.includes.rstrip("\n")
        if "<string.h>" not in includes:
            includes += "\n#include <string.h>"
        parts = [self.kernel.definition, self.texts.text()]
        if self.opening is not None:
            lines = dict.fromkeys([*includes.split("\n"), *self.opening.includes.split("\n")])
            includes = "\n".join(line for line in lines if line)
            parts.insert(0, self.opening.definition)
            # Both begin with the small functions that they call.
            before = set(parts[0].strip("\n").split("\n\n"))
            own = parts[1].strip("\n").split("\n\n")
            parts[1] = "\n\n".join(each for each in own if each not in before) + "\n"
        return f"{includes}\n\n" + "\n".join(parts)


def _state_nbytes(texts: Texts) -> int:
    """At least the size of the structure, whatever the compiler puts between its members."""
    sizes = [C_BYTES[each.c_type] * max(1, each.length) for each in texts.pasts]
    kept = [each for each in texts.finite if each.is_kept]
    sizes += [C_BYTES[each.c_type] * max(1, each.length) for each in kept]
    return 32 + 8 * len(texts.lines) + sum(-(-size // 16) * 16 for size in [*sizes, texts.scratch])


def _made(
    step: Step,
    inputs: Sequence[str],
    outputs: Sequence[str],
    sizes: dict[str, int],
    name: str | None,
    largest: Any,
) -> _Source:
    number = an_integer(largest, "largest", ARGUMENT, minimum=1, bits=32)
    symbol = checked_symbol(step.kernel, name)
    return _Source(step, inputs, outputs, sizes, symbol, number)


def stream_c_text(
    step: Step, inputs: Sequence[str], outputs: Sequence[str], sizes: dict[str, int]
) -> str:
    """See `StreamFunction.c`."""
    made = _made(step, inputs, outputs, sizes, None, LARGEST)
    return f"{made.header()}\n{made.definitions()}"


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
        f'{made.about()}#include "{made.symbol}.h"\n\n{made.definitions()}', encoding="utf-8"
    )
    return ExportedStream(
        made.symbol, made.texts.prototypes(), source, header, made.texts.state_nbytes
    )
