"""WriteC: demand-driven C with memoisation, for any system (CSU TR CS12-101, section 9.1).

Nothing says in which order values are computed: an output demands what it needs. A value that is not known
yet goes on a stack of the program's own, so that chains of millions of values work; a value that needs
itself ends the program with a message. Arithmetic is that of the kernels: integers wrap around (compile with
``-fwrapv -ffp-contract=off``) and divide to 0 by 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..attributes import attributes_of
from ..conversions import C_TYPES
from ..errors import complaint, source_of
from ..instances import instantiated
from ..kernels import array_bounds, identifier
from ..linear import Linear
from ..rewrites.renaming import rename_variable
from ..rewrites.unused import remove_unused_variables
from ..spaces import bounds, lines_along
from ..tree import Declaration, Equation, Program, System
from .externals import c_prototypes
from .statements import RESERVED, Statements, affine_text, folded_text, loop_lines

__all__ = ["signature", "write_c"]

_HEAD = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Values are not known (0), in work (1) or known (2). */
enum { UNKNOWN, IN_WORK, KNOWN };

typedef struct { int variable; int64_t at[MOST_DIMENSIONS]; } instance;

static instance *stack;
static size_t stack_size, stack_room;
static int missing;  /* whether the latest attempt read what is not known yet */

static void fail(const char *message) { fprintf(stderr, "%s\\n", message); exit(1); }

static void *room(int64_t count, size_t size) {
  void *memory = calloc(count > 0 ? (size_t)count : 1, size);
  if (memory == NULL) fail("out of memory");
  return memory;
}

static instance *push(int variable) {
  if (stack_size == stack_room) {
    stack_room = stack_room ? 2 * stack_room : 1024;
    stack = realloc(stack, stack_room * sizeof *stack);
    if (stack == NULL) fail("out of memory");
  }
  stack[stack_size].variable = variable;
  return &stack[stack_size++];
}

static inline int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
"""


def signature(system: System) -> str:
    """The prototype of the function that `write_c` writes."""
    parts = [f"int64_t {name}" for name in system.parameters.indices]
    for each in system.of_kind("input"):
        star = "*" if each.domain.arity else ""
        parts.append(f"const {C_TYPES[each.type]} {star}{each.name}")
    parts += [f"{C_TYPES[each.type]} *{each.name}" for each in system.of_kind("output")]
    return f"void {identifier(system.name)}({', '.join(parts) or 'void'})"


def write_c(system: System, program: Program) -> str:
    """The C of a system: a function of its parameters, inputs and outputs, arrays in row-major order.

    Args:
        system: of `program`.
        program: where the systems that it uses are.

    Raises:
        DeclarationError: an input or output is no array from 0; a domain without a bound.
    """
    for name in (*system.parameters.indices, identifier(system.name)):
        if name in RESERVED:
            raise complaint(
                source_of(system), system.position, f"{name} means something else in C; rename it"
            )
    flat = remove_unused_variables(instantiated(system, program))
    for each in flat.declarations:
        flat = rename_variable(flat, each.name, flat.fresh(f"{_PREFIX}{each.name}"))
    return _Writer(system, flat).text()


# Variables of the program have names in C that neither C nor its library has.
_PREFIX = "v_"


class _Writer:
    def __init__(self, declared: System, system: System) -> None:
        self.declared = declared
        self.system = system
        self.attempts = self.demanded()
        self.computed = [each for each in system.declarations if each.name in self.attempts]
        self.numbers = {each.name: number for number, each in enumerate(self.computed)}

    def text(self) -> str:
        most = max([1, *(each.domain.arity for each in self.computed)])
        parts = [f"#define MOST_DIMENSIONS {most}", _HEAD]
        parts += c_prototypes(self.declared)
        parts += self.globals()
        parts += [self.reader(each) for each in self.computed]
        parts += [self.attempts[each.name] for each in self.computed]
        parts += [self.demand(), self.entry()]
        return "\n".join(parts)

    def demanded(self) -> dict[str, str]:
        """What computes the outputs and all that these need, by variable. What is read only where no
        value is asked for (in a branch without points, say) is not there."""
        found: dict[str, str] = {}
        pending = [each.name for each in self.system.of_kind("output")]
        while pending:
            name = pending.pop()
            if name not in found:
                found[name], needed = self.attempt(self.system.equation(name))
                pending += needed
        return found

    # ---- memory ----

    def globals(self) -> list[str]:
        lines = [f"static int64_t {name};" for name in self.system.parameters.indices]
        for each in self.system.of_kind("input"):
            kind = C_TYPES[each.type]
            pointed = f"const {kind} *" if each.domain.arity else f"{kind} "
            lines.append(f"static {pointed}{each.name};")
        for each in self.computed:
            lines.append(f"static {C_TYPES[each.type]} *{each.name};")
            lines.append(f"static unsigned char *{each.name}_state;")
            for number in range(each.domain.arity):
                lines.append(f"static int64_t {each.name}_low{number}, {each.name}_size{number};")
        return lines

    def box(self, declared: Declaration) -> list[tuple[str, str]]:
        """The first coordinate and the extent of each dimension, as C."""
        if declared.kind == "output":
            sizes = array_bounds(self.system, declared)
            return [("0", f"greatest(0, {affine_text(each)})") for each in sizes]
        domain, found = declared.domain, []
        if domain.is_empty:  # for all parameters: a case left it no points
            return [("0", "0")] * domain.arity
        for name in domain.indices:
            lows: list[str] = []
            highs: list[str] = []
            for part in lines_along(domain, name):
                lower, upper = bounds(part, name)
                if not lower or not upper:
                    raise complaint(
                        source_of(self.system),
                        declared.position,
                        f"the domain of {declared.name} has no bound in {name}",
                    )
                lows.append(folded_text("greatest", lower))
                highs.append(folded_text("least", upper))
            low = _nested("least", lows or ["0"])
            high = _nested("greatest", highs or ["-1"])
            found.append((low, f"greatest(0, {high} - ({low}) + 1)"))
        return found

    def place(self, name: str, subscripts: Sequence[str]) -> str:
        """The index of an element of a computed variable."""
        text = ""
        for number, each in enumerate(subscripts):
            own = f"({each} - {name}_low{number})"
            text = own if not text else f"({text} * {name}_size{number} + {own})"
        return text or "0"

    # ---- functions ----

    def reader(self, declared: Declaration) -> str:
        name, arity = declared.name, declared.domain.arity
        names = [f"alpha_z{number}" for number in range(arity)]
        arguments = ", ".join(f"int64_t {each}" for each in names) or "void"
        message = ", ".join(["%lld"] * arity)
        values = "".join(f", (long long){each}" for each in names)
        pushes = "".join(f"\n  new->at[{n}] = {each};" for n, each in enumerate(names))
        return f"""
static {C_TYPES[declared.type]} read_{name}({arguments}) {{
  const int64_t place = {self.place(name, names)};
  if ({name}_state[place] == KNOWN) return {name}[place];
  if ({name}_state[place] == IN_WORK) {{
    fprintf(stderr, "self dependence on {name.removeprefix(_PREFIX)} at ({message})\\n"{values});
    exit(1);
  }}
  missing = 1;
  instance *new = push({self.numbers[name]});{pushes or f"{chr(10)}  (void)new;"}
  return 0;
}}"""

    def attempt(self, equation: Equation) -> tuple[str, set[str]]:
        """A function that computes a value, if all that it reads is known, and the computed variables
        that it reads."""
        declared = self.system.declaration(equation.name)
        names = tuple(f"alpha_z{number}" for number in range(declared.domain.arity))
        domain = declared.domain.named(names)
        found = attributes_of(self.system, equation.expression, names, domain)
        statements = Statements(self.system, found, domain)
        value = statements.value(equation.expression, (), tuple(map(Linear.of, names)))
        arguments = "".join(f", int64_t {each}" for each in names)
        body = "\n".join(f"  {line}" for line in statements.lines)
        unused = "".join(f" (void){each};" for each in names)
        text = f"""
static void compute_{equation.name}(int64_t place{arguments}) {{
 {unused}
{body}
  if (missing) return;
  {equation.name}[place] = ({C_TYPES[declared.type]}){value};
  {equation.name}_state[place] = KNOWN;
}}"""
        return text, statements.demands

    def demand(self) -> str:
        cases = []
        for each in self.computed:
            names = [f"top.at[{number}]" for number in range(each.domain.arity)]
            arguments = "".join(f", {name}" for name in names)
            number = self.numbers[each.name]
            cases.append(f"""\
      case {number}: {{
        const int64_t place = {self.place(each.name, names)};
        if ({each.name}_state[place] == KNOWN) {{ stack_size--; break; }}
        {each.name}_state[place] = IN_WORK;
        compute_{each.name}(place{arguments});
        if (!missing) stack_size--;
        break;
      }}""")
        return "\n".join(
            [
                "\n/* Computes what is on the stack, and what that needs. */",
                "static void demand(void) {",
                "  while (stack_size) {",
                "    const instance top = stack[stack_size - 1];",
                "    missing = 0;",
                "    switch (top.variable) {",
                *cases,
                "    }",
                "  }",
                "}",
            ]
        )

    def entry(self) -> str:
        lines = [f"\n{self._renamed_signature()} {{"]
        for name in self.system.parameters.indices:
            lines.append(f"  {name} = {name}_given;")
        for each in self.system.of_kind("input"):
            lines.append(f"  {each.name} = {each.name.removeprefix(_PREFIX)}_given;")
        for each in self.computed:
            total = "1"
            for number, (low, size) in enumerate(self.box(each)):
                lines.append(f"  {each.name}_low{number} = {low};")
                lines.append(f"  {each.name}_size{number} = {size};")
                total += f" * {each.name}_size{number}"
            made = f"{each.name.removeprefix(_PREFIX)}_given" if each.kind == "output" else (
                f"room({total}, sizeof *{each.name})"
            )  # fmt: skip
            lines.append(f"  {each.name} = {made};")
            lines.append(f"  {each.name}_state = room({total}, 1);")
        for each in self.system.of_kind("output"):
            names = tuple(f"alpha_z{number}" for number in range(each.domain.arity))
            for part in each.domain.named(names).disjoint_parts:
                loops, closing = loop_lines(part, names)
                call = ", ".join(names)
                inside = [f"read_{each.name}({call});", "demand();"]
                lines += [f"  {line}" for line in [*loops, *inside, closing]]
        for each in self.computed:
            lines.append(f"  free({each.name}_state);")
            if each.kind != "output":
                lines.append(f"  free({each.name});")
        lines += ["  free(stack);", "  stack = NULL;", "  stack_room = 0;", "}"]
        return "\n".join(lines) + "\n"

    def _renamed_signature(self) -> str:
        """The prototype with other names for the arguments, which are kept in variables of the file."""
        text = signature(self.declared)
        head, _, arguments = text.partition("(")
        renamed = arguments.replace(",", "_given,").replace(")", "_given)")
        return text if arguments == "void)" else f"{head}({renamed}"


def _nested(function: str, texts: Sequence[str]) -> str:
    result = texts[0]
    for each in texts[1:]:
        result = f"{function}({result}, {each})"
    return result
