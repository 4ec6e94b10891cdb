"""C files with their scops replaced by scheduled C, as PPCG makes them: `translate_file`.

Each scop becomes a call of a function with the schedule's loops, which stands at the top of the file.
Behind the call stand the statements as they were, for calls that the translation does not hold for:
pointers that overlap, sizes that C takes and arrays do not have, a GPU that is not there. The rest of
the file is kept letter for letter, so that the program compiles and runs as it did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...export.source import SourceInterface, gpu_host, source_of
from ...schedule.scheduled_functions import ScheduledFunction
from ..tree import Location
from . import parsing, preprocessing, programs, ranges, scops
from .calls import call_text
from .functions import CFunction
from .parsing import nodes
from .refusals import refuse

__all__ = ["NO_KERNELS", "STRICT", "Replaced", "translate_text"]

Scheduler = Callable[[CFunction], None]

#: With this macro, the new program ends where the statements as written would run.
STRICT = "TILEWRIGHT_STRICT"

#: What the new program says of a GPU that cannot be used.
NO_KERNELS = "runs as written, not on a GPU"

_FAILED = """static void tilewright_failed(const char *name, int status) {
  fprintf(stderr, "%s: %s\\n", name,
          status == -1 ? "pointers overlap, or sizes do not fit" :
          (status & 255) == 1 ? "a subscript that data decide about is outside its array"
                              : "there is no memory for temporary arrays");
  abort();
}
"""


_NO_DEVICE = f"""/* Says once why the statements run as they are written. */
static void tilewright_no_device(const char *name) {{
  static int is_said = 0;
  if (!is_said) {{
    fprintf(stderr, "%s {NO_KERNELS}: %s\\n", name, tilewright_gpu_problem);
  }}
  is_said = 1;
#ifdef {STRICT}
  abort();
#endif
}}

static void tilewright_lost(const char *name) {{
  fprintf(stderr, "%s: what the GPU wrote did not come back: %s\\n", name, tilewright_gpu_problem);
  abort();
}}
"""


@dataclass(frozen=True)
class Replaced:
    """A scop that was replaced.

    Attributes:
        name: of its function in the output.
        location: of its `#pragma scop`.
        schedule: the commands that it has.
        on_device: whether its loops run on a GPU.
    """

    name: str
    location: Location
    schedule: str
    on_device: bool


def translate_text(
    text: str,
    name: str,
    macros: Mapping[str, str],
    folders: Sequence[str],
    schedule: Scheduler,
    libm: bool = True,
) -> tuple[str, list[Replaced]]:
    """The file with each scop replaced.

    Args:
        text: of the C file.
        name: its path.
        macros: as ``-D`` has them; the output defines them, too.
        folders: as ``-I`` has them.
        schedule: gives the function of a scop its schedule, and its target.
        libm: whether mathematics is the C library's, which a GPU does not have.

    Returns:
        the text of the new file, and what was replaced.

    Raises:
        TranslationError: for what is malformed or has no translation.
    """
    parsed = parsing.parse(preprocessing.preprocess(text, name, macros, folders), name)
    programs.check_file(parsed, {})
    regions = scops.pragma_regions(parsed)
    if not regions:
        refuse(
            Location(name, 1, 1),
            "there is no #pragma scop in this file",
            "write #pragma scop and #pragma endscop around the loops",
        )
    taken = set(re.findall(r"[A-Za-z_]\w*", text))
    lines = text.splitlines(keepends=True)
    definitions: list[str] = []
    replaced: list[Replaced] = []
    for region in reversed(regions):
        begin, end = (parsed.place(each) for each in region.pragmas)
        _check_region(parsed, region, name, begin, end)
        translated = programs.translate(parsed, region, {}, libm)
        function = CFunction.of(translated)
        schedule(function)
        symbol = _free(f"{region.name}_scheduled", taken)
        made = _Definition(function, symbol, any(parsed.asked.values()))
        definitions.insert(0, made.definition)
        original = "".join(lines[begin.line : end.line - 1])
        lines[begin.line - 1 : end.line] = [made.call(region.name, original, parsed.renamed)]
        replaced.insert(0, Replaced(symbol, begin, str(function.schedule), made.on_device))
    head = _head(text, macros, definitions, any(each.on_device for each in replaced))
    return head + "".join(lines), replaced


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _check_region(
    parsed: parsing.CFile, region: scops.Region, name: str, begin: Location, end: Location
) -> None:
    if begin.file != name or end.file != name:
        refuse(
            begin,
            f"this scop stands in {begin.file}, which is included",
            f"translate {begin.file} by itself, or move the scop into {name}",
        )
    for item in region.items:
        for each in nodes(item):
            word = type(each).__name__.lower()
            if word == "return" and not region.whole:
                refuse(
                    parsed.place(each),
                    "this return leaves a scop that other statements of the function follow or precede",
                    "set a variable, and return behind #pragma endscop",
                )
    declared = {each.name for each in region.items if type(each).__name__ == "Decl"}
    if declared and not region.whole:
        used = _names_behind(parsed, region) & declared
        if used:
            refuse(
                begin,
                f"{', '.join(sorted(used))} is declared in the scop and used behind it",
                "declare it before #pragma scop",
            )


def _names_behind(parsed: parsing.CFile, region: scops.Region) -> set[str]:
    """The names in the function behind a scop."""
    found: set[str] = set()
    behind = False
    for each in nodes(parsed.functions[region.function].body):
        behind = behind or each is region.pragmas[1]
        if behind and type(each).__name__ == "ID":
            found.add(each.name)
    return found


class _Definition:
    """The function of a schedule, and its call."""

    def __init__(self, function: CFunction, symbol: str, asks_pointers: bool) -> None:
        self.symbol = symbol
        made = function.function
        scheduled: ScheduledFunction = made.function
        self.on_device = scheduled._on_device
        source = source_of(scheduled, symbol)
        body = source.needed + source.includes + source.declarations + source.definition
        self.definition = _private(body, symbol)
        interface = SourceInterface(scheduled, symbol)
        self.text = call_text(function._translated, made, scheduled, interface)
        if (
            asks_pointers
        ):  # whether they are NULL, and takes them to be none: here, or in what is inlined
            self.text.conditions += [
                f"{each.name} != 0"
                for each in function._translated.arguments
                if each.extents and each.kind == "array"
            ]

    def call(self, name: str, original: str, renamed: Mapping[str, str]) -> str:
        """The lines in the place of the scop.

        Args:
            original: the statements of the scop.
            renamed: what variables are called where it stands, by their names in the program.
        """
        text = self.text
        upper = f"{self.symbol.upper()}"
        lines = [f"  {{ /* {name}, scheduled by tilewright */"]
        lines.append(f"    int tilewright_status = {upper}_SIZES;")
        if text.result:
            lines.append(f"    {text.result} tilewright_result = 0;")
        lines.append("    {")
        lines += [f"      {line}" for line in text.before if line.startswith("const long long")]
        conditions = "\n          && ".join(dict.fromkeys(text.conditions)) or "1"
        lines.append(f"      if ({conditions}) {{")
        lines += [f"        {line}" for line in text.before if not line.startswith("const long")]
        arguments = ", ".join(text.arguments)
        lines.append(f"        tilewright_status = {self.symbol}({arguments});")
        lines += [f"        {line}" for line in text.after]
        lines.append("      }\n    }")
        as_written = f"tilewright_status == {upper}_SIZES"
        if self.on_device:
            is_device = f"(tilewright_status & 255) == {upper}_DEVICE"
            lines.append(f'    if ({is_device}) tilewright_no_device("{name}");')
            lines.append(
                f'    if ((tilewright_status & 255) == {upper}_LOST) tilewright_lost("{name}");'
            )
            as_written += f" || {is_device}"
        lines.append(f"    if ({as_written}) {{ /* as written */")
        lines.append(f'#ifdef {STRICT}\n      tilewright_failed("{name}", -1);\n#endif')
        if original and not original.endswith("\n"):
            original += "\n"
        end = f"    }} else if (tilewright_status != {upper}_OK)\n"
        end += f'      tilewright_failed("{name}", tilewright_status);\n'
        if text.result:
            end += "    return tilewright_result;\n"
        before = "\n".join(lines)
        for own, word in renamed.items():
            before = re.sub(rf"\b{own}\b", word, before)
        return before + "\n" + original + end + "  }\n"


def _private(body: str, symbol: str) -> str:
    """The text with everything in it known in this file only, and under names of its own."""
    lines = []
    names = set(re.findall(r"^static [^=;{]*?\b(\w+)\(", body, re.M))
    for line in body.split("\n"):
        if re.match(rf"int {symbol}\(", line):
            line = f"static {line}"
        lines.append(line)
    text = "\n".join(lines)
    for each in sorted(names - {symbol}):
        text = re.sub(rf"(?<![\w.]){re.escape(each)}(?=\()", f"{symbol}_{each}", text)
    return text


def _head(text: str, macros: Mapping[str, str], definitions: Sequence[str], on_device: bool) -> str:
    """What stands before the user's text."""
    flags = "-pthread -ldl -lm" if on_device else "-fopenmp -lm"
    parts = [f"/* Scops replaced by `tilewright translate`; compile with {flags}. */\n"]
    before = re.split(r"^\s*#\s*include\b", text, maxsplit=1, flags=re.M)[0]
    asked = re.findall(r"^\s*#\s*define\s+(_[A-Z]\w*)(.*)$", before, re.M)
    parts += [f"#define {name}{value}\n" for name, value in asked]
    for name, value in macros.items():
        own = name.split("(")[0]
        parts.append(f"#ifndef {own}\n#define {name} {value}\n")
        if re.fullmatch(r"-?\d+", value) and own == name:
            what = json.dumps(f"translated for {name} = {value}: give -D{name}={value}, or none")
            parts.append(f"#elif ({name} + 0) != {value}\n#error {what}\n")
        parts.append("#endif\n")
    parts.append("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
    parts += [ranges.HELPERS, _FAILED, "\n"]
    parts += [gpu_host(), _NO_DEVICE, "\n"] if on_device else []
    parts += [f"{definition}\n" for definition in definitions]
    return "".join(parts)
