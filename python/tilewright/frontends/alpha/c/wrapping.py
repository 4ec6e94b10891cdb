"""WrapperC and the Makefile (CSU TR CS12-101, sections 9.4 and 9.5)."""

from __future__ import annotations

from collections.abc import Sequence

from ..conversions import C_TYPES
from ..errors import complaint, source_of
from ..kernels import array_bounds, identifier
from ..printing import constraint_text
from ..tree import Declaration, System
from .statements import RESERVED, affine_text, condition_text
from .writing import signature

__all__ = ["make_text", "wrapper_c"]

_OWN = {"argc", "argv", "array_of_zeros", "at", "begin", "end", "integer_argument", "wrong"}
_FORMATS = {"float": ("%f", "float"), "double": ("%lf", "double")}
_TOLERANCES = {"float": "1e-4", "double": "1e-6"}
_INTEGER = [
    "static int64_t integer_argument(const char *name, const char *text, int64_t least) {",
    "  char *behind;",
    "  errno = 0;",
    "  const long long value = strtoll(text, &behind, 10);",
    "  if (behind == text || *behind != 0 || errno != 0 || value < least) {",
    '    fprintf(stderr, "%s must be an integer of 64 bits%s, got %s\\n", name,',
    '            least > 0 ? " above 0" : "", text);',
    "    exit(2);",
    "  }",
    "  return value;",
    "}",
    "",
]
_ZEROS = [
    "static void *array_of_zeros(const char *name, int64_t count, size_t size) {",
    "  void *made = calloc((size_t)(count > 0 ? count : 0) + 1, size);",
    "  if (made == NULL) {",
    '    fprintf(stderr, "there is no memory for %s\\n", name);',
    "    exit(2);",
    "  }",
    "  return made;",
    "}",
    "",
]


def wrapper_c(system: System, sizes: Sequence[str] = ()) -> str:
    """A `main` that allocates, fills, times, prints and compares; macros choose what it does.

    RANDOM fills inputs with random values. CHECKING asks for them and prints all outputs; with NO_PROMPT,
    without words. VERIFY calls ``NAME_verify``, which its user gives in ``NAME_verify.c``, and compares.

    Args:
        system: the system.
        sizes: of tiles, which may follow the parameters, for `tiled_c`.

    Raises:
        DeclarationError: an input or output is no array from 0.
    """
    _require_names(system)
    name = identifier(system.name)
    outputs = system.of_kind("output")
    prototype = signature(system)
    lines = [
        "#include <errno.h>", "#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>", "#include <stdio.h>",
        "#include <stdlib.h>", "#include <time.h>", "", *_floors(system), f"{prototype};", "#ifdef VERIFY",
        *_tolerances(outputs), f"{prototype.replace(f'void {name}(', f'void {name}_verify(', 1)};", "#endif", "",
        *_tiles(name, sizes), *(_INTEGER if sizes or system.parameters.indices else ()), *_ZEROS,
        "int main(int argc, char **argv) {",
        *_parameters(system, sizes),
    ]  # fmt: skip
    for each in (*system.of_kind("input"), *outputs):
        lines += _allocated(system, each)
    for each in system.of_kind("input"):
        lines += _filled(system, each)
    arguments = [*system.parameters.indices]
    arguments += [e.name if e.domain.arity else f"{e.name}[0]" for e in system.of_kind("input")]
    call = ", ".join([*arguments, *(each.name for each in outputs)])
    verified = ", ".join([*arguments, *(f"{each.name}_verify" for each in outputs)])
    lines += [
        "  struct timespec begin, end;",
        "  clock_gettime(CLOCK_MONOTONIC, &begin);",
        f"  {name}({call});",
        "  clock_gettime(CLOCK_MONOTONIC, &end);",
        "  fprintf(stderr, \"Execution time: %f s\\n\", (double)(end.tv_sec - begin.tv_sec) +",
        "          1e-9 * (double)(end.tv_nsec - begin.tv_nsec));",
        "#ifdef CHECKING",
    ]  # fmt: skip
    for each in outputs:
        lines += _printed(system, each)
    lines += ["#endif", "  int wrong = 0;", "#ifdef VERIFY", f"  {name}_verify({verified});"]
    for each in outputs:
        lines += _compared(system, each)
    lines += [
        '  puts(wrong ? "TEST FAILED" : "TEST PASSED");',
        "#endif",
        "  return wrong != 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _require_names(system: System) -> None:
    """Refuses names that `main` has, or C."""
    given = [each.name for each in (*system.of_kind("input"), *system.of_kind("output"))]
    made = {f"{name}_{of}" for name in (*given, system.name) for of in ("count", "verify", "most")}
    taken = RESERVED | _OWN | made
    for name in (*system.parameters.indices, *given):
        if name in taken:
            raise complaint(
                source_of(system),
                system.position,
                f"{name} means something else in the wrapper's C; rename it",
            )


def _floors(system: System) -> list[str]:
    """What extents such as ``floor(N/2)`` need."""
    given = (*system.of_kind("input"), *system.of_kind("output"))
    texts = [affine_text(each) for one in given for each in array_bounds(system, one)]
    texts.append(condition_text(system.parameters.parts))
    if not any("floor_divide" in each for each in texts):
        return []
    return [
        "static inline int64_t floor_divide(int64_t a, int64_t b) {",
        "  return a / b - (a % b != 0 && (a < 0) != (b < 0));",
        "}",
        "",
    ]


def _tolerances(outputs: Sequence[Declaration]) -> list[str]:
    """How far fractions may be apart; -DTOLERANCE_FLOAT=1e-2 says it otherwise."""
    lines = []
    for kind, distance in _TOLERANCES.items():
        if any(each.type == kind for each in outputs):
            name = f"TOLERANCE_{kind.upper()}"
            lines += [f"#ifndef {name}", f"#define {name} {distance}", "#endif"]
    return lines


def _tiles(name: str, sizes: Sequence[str]) -> list[str]:
    """The declaration of what sets the sizes of tiles; there need not be one."""
    if not sizes:
        return []
    arguments = ", ".join(f"int64_t {each}" for each in sizes)
    return [f"extern void {name}_tiles({arguments}) __attribute__((weak));", ""]


def _parameters(system: System, sizes: Sequence[str]) -> list[str]:
    names = system.parameters.indices
    counts = [len(names) + 1, *([len(names) + 1 + len(sizes)] if sizes else [])]
    wrong = " && ".join(f"argc != {count}" for count in counts)
    usage = " ".join([*names, *([f"[{' '.join(sizes)}]"] if sizes else [])])
    lines = [
        f"  if ({wrong}) {{",
        f'    fprintf(stderr, "usage: %s {usage}\\n", argv[0]);',
        "    return 2;",
        "  }",
    ]
    for number, name in enumerate(names, 1):
        read = f'integer_argument("{name}", argv[{number}], INT64_MIN)'
        lines.append(f"  const int64_t {name} = {read};")
    allowed = " || ".join(constraint_text(part, names) for part in system.parameters.parts)
    if names and allowed:
        lines += [
            f"  if (!({condition_text(system.parameters.parts)})) {{",
            f'    fprintf(stderr, "the parameters of {system.name} must satisfy %s\\n", "{allowed}");',
            "    return 2;",
            "  }",
        ]
    if sizes:
        given = ", ".join(
            f'integer_argument("{each}", argv[{number}], 1)'
            for number, each in enumerate(sizes, len(names) + 1)
        )
        tiles = f"{identifier(system.name)}_tiles"
        lines.append(f"  if (argc == {counts[-1]} && {tiles}) {tiles}({given});")
    return lines


def _count(system: System, declared: Declaration) -> str:
    return " * ".join(
        [f"({affine_text(each)})" for each in array_bounds(system, declared)] or ["1"]
    )


def _allocated(system: System, declared: Declaration) -> list[str]:
    kind, name, count = C_TYPES[declared.type], declared.name, _count(system, declared)
    lines = [
        f"  const int64_t {name}_count = {count};",
        f"  {kind} *{name} = {_zeroed(name)};",
    ]
    if declared.kind == "output":
        lines += [
            "#ifdef VERIFY",
            f"  {kind} *{name}_verify = {_zeroed(name)};",
            "#endif",
        ]
    return lines


def _zeroed(name: str) -> str:
    """An array, and perhaps an element that nobody reads: calloc may give nothing for no bytes."""
    return f'array_of_zeros("{name}", {name}_count, sizeof *{name})'


def _element(system: System, declared: Declaration) -> tuple[str, str]:
    """The element at a position as `printf` writes it: its format, and its arguments."""
    extents = [f"({affine_text(each)})" for each in array_bounds(system, declared)]
    if len(extents) < 2:
        return f"{declared.name}[%lld]", "(long long)at"
    places = []
    for number, extent in enumerate(extents):
        place = " / ".join(["at", *extents[number + 1 :]])
        places.append(f"(long long)({place} % {extent})" if number else f"(long long)({place})")
    return f"{declared.name}[{','.join(['%lld'] * len(extents))}]", ", ".join(places)


def _filled(system: System, declared: Declaration) -> list[str]:
    kind, name = C_TYPES[declared.type], declared.name
    pattern, read = _FORMATS.get(declared.type, ("%lld", "long long"))
    random = "(double)rand() / RAND_MAX" if declared.type in _FORMATS else "rand() % 100"
    element, places = _element(system, declared)
    return [
        f"  for (int64_t at = 0; at < {name}_count; at++) {{",
        "#ifdef CHECKING",
        f"    {read} given;",
        "#ifndef NO_PROMPT",
        f'    printf("{element} = ", {places});',
        "#endif",
        f'    if (scanf("{pattern}", &given) != 1) {{',
        f'      fprintf(stderr, "there is no number for {element} in the input\\n", {places});',
        "      return 2;",
        "    }",
        f"    {name}[at] = ({kind})given;",
        "#elif defined(RANDOM)",
        f"    {name}[at] = ({kind})({random});",
        "#endif",
        "  }",
    ]


def _printed(system: System, declared: Declaration) -> list[str]:
    name = declared.name
    real = declared.type in _FORMATS
    pattern, kind = ("%.17g", "double") if real else ("%lld", "long long")
    element, places = _element(system, declared)
    return [
        f"  for (int64_t at = 0; at < {name}_count; at++) {{",
        "#ifndef NO_PROMPT",
        f'    printf("{element} = ", {places});',
        "#endif",
        f'    printf("{pattern}\\n", ({kind}){name}[at]);',
        "  }",
    ]


def _compared(system: System, declared: Declaration) -> list[str]:
    """Fractions may be rounded in another order: what counts is the distance beside the largest value."""
    name = declared.name
    head = f"  for (int64_t at = 0; at < {name}_count; at++)"
    differs = f"{name}[at] != {name}_verify[at]"
    element, places = _element(system, declared)
    shown = f'printf("{element} differs\\n", {places});'
    if declared.type not in _FORMATS:
        return [head, f"    if ({differs} && !wrong++) {shown}"]
    return [
        f"  double {name}_most = 1;",
        head,
        f"    if (isfinite({name}_verify[at])) {name}_most = fmax({name}_most, fabs({name}_verify[at]));",
        head,
        f"    if ({differs} && !(isnan({name}[at]) && isnan({name}_verify[at])) &&",
        f"        !(fabs((double){name}[at] - {name}_verify[at]) <= "
        f"TOLERANCE_{declared.type.upper()} * {name}_most) && !wrong++) {shown}",
    ]


def make_text(system: System) -> str:
    """A Makefile with the report's five rules, for what `write_c` or `scheduled_c`, and
    `wrapper_c`, wrote. It compiles for this machine, on which fma is an instruction and no call."""
    name = identifier(system.name)
    rules = {
        "plain": ("-DRANDOM", ""),
        "check": ("-DCHECKING", ""),
        "check-noprompt": ("-DCHECKING -DNO_PROMPT", ""),
        "verify": ("-DCHECKING -DVERIFY", f" {name}_verify.c"),
        "verify-rand": ("-DRANDOM -DVERIFY", f" {name}_verify.c"),
    }
    lines = [
        "CC ?= gcc",
        "CFLAGS ?= -O3 -march=native -std=gnu11 -fwrapv -ffp-contract=off -fopenmp",
        "",
        f".PHONY: all {' '.join(rule for rule in rules if rule != 'plain')} clean",
        "",
    ]
    for rule, (flags, more) in rules.items():
        target = "all" if rule == "plain" else rule
        suffix = "" if rule == "plain" else f".{rule}"
        sources = f"{name}.c {name}-wrapper.c{more}"
        lines += [
            f"{target}: {sources}",
            f"\t$(CC) $(CFLAGS) {flags} {sources} -o {name}{suffix} -lm",
            "",
        ]
    lines += ["clean:", f"\trm -f {name} {' '.join(f'{name}.{r}' for r in rules if r != 'plain')}"]
    return "\n".join(lines) + "\n"
