"""ScheduledC whose tiles have their sizes at run time (CSU TR CS12-101, section 9.2; Kim and Rajopadhye,
"Efficient Tiled Loop Generation: D-Tiling", LCPC 2009).

Loops over tiles go through the box of the tiled dimensions, and loops inside of a tile are those of the untiled
program, cut to the tile; so no bound multiplies two things that are not known. Statements that share loops are
told apart where they run; along an innermost dimension whose order is free, each branch of a case has a loop of
its own. ``NAME_tiles`` sets the sizes, which are 32 before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import tilewright as tw

from ..attributes import Attributes, attributes_of
from ..conversions import C_TYPES
from ..domains import Domain
from ..errors import complaint, source_of
from ..kernels import array_bounds, identifier
from ..linear import Linear
from ..mapping.plans import Plan, Statement, plan_of
from ..mapping.values import TargetMapping, Tiling
from ..presburger import Constraint
from ..rewrites.normalizing import normalize
from ..rewrites.renaming import rename_variable
from ..spaces import bounds, lines_along
from ..tree import Case, Declaration, Expression, Path, Reduce, System, step
from .externals import c_prototypes
from .innermost import Row, instance_lines
from .scheduled import require_names
from .statements import Statements, affine_text, folded_text, loop_lines
from .tile_loops import TileLoops
from .writing import signature

__all__ = ["tiled_c"]

_HEAD = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGEST (INT64_C(1) << 40)

enum { missing = 0 };  /* every value is there when it is read */

static inline void *room(int64_t count, size_t size) {
  void *memory = calloc(count > 0 ? (size_t)count : 1, size);
  if (memory == NULL) { fprintf(stderr, "out of memory\\n"); exit(1); }
  return memory;
}

static inline int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t modulo(int64_t a, int64_t b) { return a - floor_divide(a, b) * b; }
static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
"""
_PREFIX = "v_"


def tiled_c(system: System, whole: System, mapping: TargetMapping, free: bool = False) -> str:
    """The C of a system whose tiling has sizes that are names.

    Args:
        system: as its users call it.
        whole: the same without use equations.
        mapping: a legal one.
        free: whether the innermost dimension would be legal as a parallel one: then each statement
            has an innermost loop of its own, without tests, which vectors may run.

    Raises:
        DeclarationError: for what is there with sizes that are numbers only: shared memories, memory
            maps of reductions that are scheduled by their bodies.
    """
    tiling = mapping.tiling
    require_names(system, tiling.names if tiling else ())
    for name in mapping.spaces:
        raise _only_numbers(whole, f"the shared memory of {name}")
    whole = normalize(whole)
    plan = plan_of(whole, mapping)
    for each in plan.statements.values():
        if each.in_body and each.variable in mapping.memory:
            raise _only_numbers(
                whole, f"the memory map of {each.variable}, a reduction by its body,"
            )
    return _Writer(system, whole, plan, free and plan.labels[-1].isdigit()).text()


def _only_numbers(system: System, what: str) -> tw.DeclarationError:
    return complaint(
        source_of(system), None, f"{what} needs sizes of tiles that are numbers in SetTiling"
    )


@dataclass(frozen=True)
class _Piece:
    """A branch of a statement: the C function that runs it, and what it runs."""

    function: str
    names: tuple[str, ...]
    found: Attributes
    path: Path
    node: Expression
    domain: Domain


class _Writer:
    def __init__(self, declared: System, whole: System, plan: Plan, free: bool) -> None:
        self.declared = declared
        self.free = free
        self.plan = plan
        tiling = plan.mapping.tiling
        assert tiling is not None
        self.tiling: Tiling = tiling
        self.flat = whole
        for each in whole.declarations:
            self.flat = rename_variable(self.flat, each.name, f"{_PREFIX}{each.name}")
        self.computed = [d for d in whole.declarations if d.kind != "input"]

    def text(self) -> str:
        parts = [_HEAD]
        parts += c_prototypes(self.declared)
        parts += [f"static int64_t {name};" for name in self.flat.parameters.indices]
        for each in self.flat.of_kind("input"):
            kind = C_TYPES[each.type]
            parts.append(
                f"static {f'const {kind} *' if each.domain.arity else f'{kind} '}{each.name};"
            )
        parts.append(self.sizes())
        parts += [self.memory(each) for each in self.computed]
        for each in self.computed:
            statement = self.plan.statements[each.name]
            parts += [self.run(statement, piece) for piece in self.pieces(statement)]
        parts += ["\nstatic void loops(void) {", *self.loops(), "}", self.entry()]
        return "\n".join(parts)

    def sizes(self) -> str:
        names = list(dict.fromkeys(each for each in self.tiling.sizes if isinstance(each, str)))
        lines = [f"static int64_t alpha_size_{name} = 32;" for name in names]
        given = ", ".join(f"int64_t {name}" for name in names)
        lines.append(f"\nvoid {identifier(self.declared.name)}_tiles({given}) {{")
        lines += [f"  alpha_size_{name} = least(greatest(1, {name}), LARGEST);" for name in names]
        return "\n".join([*lines, "}"])

    # ---- memory ----

    def cells(self, name: str, point: Sequence[Linear]) -> list[str]:
        """The place of a value, dimension by dimension, as C."""
        given = self.plan.mapping.memory.get(name)
        if given is None:
            return [affine_text(each) for each in point]
        values = dict(zip(given.function.indices, point, strict=True))
        texts = [affine_text(each.substituted(values)) for each in given.function.results]
        return [
            f"modulo({text}, {modulus})" if modulus else text
            for text, modulus in zip(texts, given.moduli, strict=True)
        ]

    def memory(self, declared: Declaration) -> str:
        """The array of a variable, and the function that reads it."""
        name = f"{_PREFIX}{declared.name}"
        names = [f"alpha_z{number}" for number in range(declared.domain.arity)]
        cells = self.cells(declared.name, list(map(Linear.of, names)))
        place = ""
        lines = [f"\nstatic {C_TYPES[declared.type]} *{name};"]
        for number, cell in enumerate(cells):
            lines.append(f"static int64_t {name}_low{number}, {name}_size{number};")
            own = f"({cell} - {name}_low{number})"
            place = own if not place else f"({place} * {name}_size{number} + {own})"
        arguments = ", ".join(f"int64_t {each}" for each in names) or "void"
        lines.append(
            f"static inline int64_t place_{name}({arguments}) {{ return {place or '0'}; }}"
        )
        call = ", ".join(names)
        lines.append(
            f"static inline {C_TYPES[declared.type]} read_{name}({arguments}) "
            f"{{ return {name}[place_{name}({call})]; }}"
        )
        return "\n".join(lines)

    def box(self, declared: Declaration) -> list[tuple[str, str]]:
        """The first coordinate and the extent of each dimension of a variable's memory."""
        if declared.kind == "output":
            sizes = array_bounds(self.flat, declared)
            return [("0", f"greatest(0, {affine_text(each)})") for each in sizes]
        given = self.plan.mapping.memory.get(declared.name)
        domain, moduli = declared.domain, (0,) * declared.domain.arity
        if given is not None:
            names = tuple(f"alpha_m{number}" for number in range(len(given.moduli)))
            domain, moduli = domain.image(given.function, names), given.moduli
        return [
            ("0", str(modulus)) if modulus else self.extent(domain, position, declared)
            for position, modulus in enumerate(moduli)
        ]

    def extent(self, domain: Domain, position: int, declared: Declaration) -> tuple[str, str]:
        name = domain.indices[position]
        lows, highs = [], []
        for part in lines_along(domain, name):
            lower, upper = bounds(part, name)
            if not lower or not upper:
                raise complaint(
                    source_of(self.flat), declared.position,
                    f"the memory of {declared.name} has no bound in dimension {position}",
                )  # fmt: skip
            lows.append(folded_text("greatest", lower))
            highs.append(folded_text("least", upper))
        low, high = lows[0], highs[0]
        for one, other in zip(lows[1:], highs[1:], strict=True):
            low, high = f"least({low}, {one})", f"greatest({high}, {other})"
        return low, f"greatest(0, {high} - ({low}) + 1)"

    # ---- statements ----

    def pieces(self, statement: Statement) -> list[_Piece]:
        """The branches of a statement's case, each with its instances."""
        name = f"{_PREFIX}{statement.variable}"
        names = tuple(f"alpha_z{number}" for number in range(statement.domain.arity))
        node = self.flat.equation(name).expression
        declared = self.flat.declaration(name)
        if statement.in_body:
            assert isinstance(node, Reduce)
            indices = tuple(f"alpha_a{number}" for number in range(declared.domain.arity))
            found = attributes_of(self.flat, node, indices, declared.domain.named(indices))
            return [
                _Piece(f"run_{name}", names, found, (0,), node.body, statement.domain.named(names))
            ]
        found = attributes_of(self.flat, node, names, declared.domain.named(names))
        if not isinstance(node, Case):
            return [_Piece(f"run_{name}", names, found, (), node, statement.domain.named(names))]
        made = []
        for number, branch in enumerate(node.branches):
            domain = found.context[step((), number)].named(names).within(self.flat.context)
            if not domain.is_empty:
                call = f"run_{name}_{number}"
                made.append(_Piece(call, names, found, step((), number), branch, domain))
        return made

    def run(self, statement: Statement, piece: _Piece) -> str:
        """The function that runs one instance of a piece."""
        name = f"{_PREFIX}{statement.variable}"
        declared, node = self.flat.declaration(name), self.flat.equation(name).expression
        point = tuple(map(Linear.of, piece.names))
        answer: Sequence[Linear] = statement.answers.named(piece.names).results
        values = Statements(self.flat, piece.found, piece.domain)
        value = values.value(piece.node, piece.path, point)
        kind = C_TYPES[declared.type]
        place = f"place_{name}({', '.join(map(affine_text, answer))})"
        if statement.in_body:
            assert isinstance(node, Reduce)
            values.lines.append(f"{kind} *sum = &{name}[{place}];")
            values.lines.append(values.accumulation(node.operator, "*sum", value, declared.type))
        else:
            values.lines.append(f"{name}[{place}] = ({kind}){value};")
        arguments = ", ".join(f"int64_t {each}" for each in piece.names) or "void"
        body = "\n".join(f"  {line}" for line in values.lines)
        unused = "".join(f" (void){each};" for each in piece.names)
        return f"\nstatic inline void {piece.function}({arguments}) {{\n {unused}\n{body}\n}}"

    # ---- loops ----

    def loops(self) -> list[str]:
        plain = replace(self.tiling, sizes=(1,) * len(self.tiling.sizes))
        plan = replace(self.plan, mapping=replace(self.plan.mapping, tiling=plain))
        times = tuple(f"alpha_c{number}" for number in range(len(self.plan.labels)))
        emitted = TileLoops(
            times,
            [self.plan.place(each) for each in self.tiling.dimensions],
            [f"alpha_size_{e}" if isinstance(e, str) else str(e) for e in self.tiling.sizes],
            self.tiling.kind == "wavefront",
        )
        for statement in self.plan.statements.values():
            names = tuple(f"alpha_z{number}" for number in range(statement.domain.arity))
            values = dict(zip(statement.domain.indices, map(Linear.of, names), strict=True))
            own = [each.substituted(values) for each in statement.times]
            equal = [
                Constraint(Linear.of(time) - value, True)
                for time, value in zip(times, own, strict=True)
            ]

            def over_times(points: Domain, same: Sequence[Constraint] = equal) -> Domain:
                parts = [[*part, *same] for part in points.parts]
                return Domain.where((*times, *points.indices), parts)

            inside: list[str] = []
            rows: list[Row] = []
            for piece in self.pieces(statement):
                call = f"{piece.function}({', '.join(names)});"
                for part in over_times(piece.domain).disjoint_parts:
                    inside += instance_lines(part, len(times), call)
                    rows.append(Row(part, len(times), call))
            domain = over_times(statement.domain.named(names))
            types = plan.tiled(statement)[1]
            emitted.add(domain, own, names, types, inside, rows if self.free else None)
        return emitted.lines()

    # ---- the function ----

    def entry(self) -> str:
        text = signature(self.declared)
        head, _, arguments = text.partition("(")
        renamed = arguments.replace(",", "_given,").replace(")", "_given)")
        lines = [f"\n{text if arguments == 'void)' else f'{head}({renamed}'} {{"]
        lines += [f"  {name} = {name}_given;" for name in self.flat.parameters.indices]
        for each in self.flat.of_kind("input"):
            lines.append(f"  {each.name} = {each.name.removeprefix(_PREFIX)}_given;")
        for each in self.computed:
            name, total = f"{_PREFIX}{each.name}", "1"
            for number, (low, size) in enumerate(self.box(each)):
                lines.append(f"  {name}_low{number} = {low};")
                lines.append(f"  {name}_size{number} = {size};")
                total += f" * {name}_size{number}"
            made = (
                f"{each.name}_given" if each.kind == "output" else f"room({total}, sizeof *{name})"
            )
            lines.append(f"  {name} = {made};")
            if self.plan.statements[each.name].in_body:
                lines += self.started(name)
        lines.append("  loops();")
        lines += [f"  free({_PREFIX}{e.name});" for e in self.computed if e.kind != "output"]
        return "\n".join([*lines, "}"]) + "\n"

    def started(self, name: str) -> list[str]:
        """What a sum begins with, before its first term comes."""
        node = self.flat.equation(name).expression
        assert isinstance(node, Reduce)
        declared = self.flat.declaration(name)
        names = tuple(f"alpha_z{number}" for number in range(declared.domain.arity))
        start = Statements.start(node.operator, declared.type)
        lines: list[str] = []
        for part in declared.domain.named(names).disjoint_parts:
            opening, closing = loop_lines(part, names)
            lines += [*opening, f"{name}[place_{name}({', '.join(names)})] = {start};", closing]
        return [f"  {each}" for each in lines]
