"""Expressions of Alpha as statements of C.

Each operation is a statement of its own, so that reductions are loops and the branches of `if` and `case` are
branches. A read of what is not known yet gives 0 and sets `missing`; what follows is thrown away then.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..attributes import Attributes
from ..conversions import C_TYPES, COMPARISONS, LOGICAL, common_type, type_of
from ..domains import Domain, canonical
from ..kernels import array_bounds
from ..linear import Floor, Linear
from ..presburger import Constraint
from ..spaces import bounds, near_domain, reduction_space
from ..tree import (
    Binary,
    Call,
    Case,
    Constant,
    Dependence,
    Expression,
    If,
    Index,
    Path,
    Reduce,
    Restrict,
    System,
    Unary,
    Variable,
)

__all__ = ["RESERVED", "Statements", "affine_text", "condition_text", "folded_text", "loop_lines"]

_LOGIC = {"and": "{} && {}", "or": "{} || {}", "xor": "!{} != !{}", "nand": "!({} && {})"}
_LIMITS = {
    "bool": ("0", "1"),
    "char": ("INT8_MIN", "INT8_MAX"),
    "unsigned char": ("0", "UINT8_MAX"),
    "short": ("INT16_MIN", "INT16_MAX"),
    "unsigned short": ("0", "UINT16_MAX"),
    "int": ("INT32_MIN", "INT32_MAX"),
    "unsigned int": ("0", "UINT32_MAX"),
    "long": ("INT64_MIN", "INT64_MAX"),
    "unsigned long": ("0", "UINT64_MAX"),
    "float": ("-INFINITY", "INFINITY"),
    "double": ("-INFINITY", "INFINITY"),
}

#: Words of C, and names that its library or the generated code has.
RESERVED = set(
    """
    asm auto bool break case char const continue default do double else enum extern float for goto if
    inline int int64_t long main missing register restrict return short signed sizeof static struct switch
    typedef typeof union unsigned void volatile while j0 j1 jn y0 y1 yn gamma div abs exp log pow sin cos tan
    sqrt floor ceil fabs fmax fmin stack least greatest room push fail demand time random rand read write
    rint round trunc fmod cbrt hypot atan atan2 asin acos sinh cosh tanh isnan isfinite index malloc calloc free
    abort exit printf fprintf puts scanf stdin stdout stderr labs llabs EOF NULL true false
    """.split()
)


def affine_text(linear: Linear) -> str:
    """An affine expression of 64 bits."""
    parts: list[str] = []
    for variable, factor in linear.terms.items():
        name = (
            f"floor_divide({affine_text(variable.numerator)}, {variable.divisor})"
            if isinstance(variable, Floor)
            else variable
        )
        parts.append(name if factor == 1 else f"{factor} * {name}")
    if linear.constant or not parts:
        parts.append(f"INT64_C({linear.constant})" if not parts else str(linear.constant))
    return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


def condition_text(parts: Sequence[Sequence[Constraint]]) -> str:
    """Whether one of the parts holds."""
    texts = []
    for part in parts:
        sides = [
            f"{affine_text(each.linear)} {'==' if each.is_equality else '>='} 0" for each in part
        ]
        texts.append(" && ".join(sides) or "1")
    return " || ".join(f"({each})" for each in texts) or "0"


def loop_lines(part: Domain, names: Sequence[str], skip: int = 0) -> tuple[list[str], str]:
    """Loops over a polyhedron, behind its first `skip` dimensions, and what closes them."""
    lines: list[str] = []
    for name in names[skip:]:
        near = near_domain(part, name)
        lower, upper = bounds(near.parts[0], name) if near.parts else ([], [])
        low = folded_text("greatest", lower) if lower else "0"
        high = folded_text("least", upper) if upper else "-1"
        lines.append(f"for (int64_t {name} = {low}; {name} <= {high}; {name}++) {{")
    lines.append(f"if ({condition_text(part.parts)}) {{")
    return lines, "}" * len(lines)


def folded_text(function: str, values: Sequence[Linear]) -> str:
    """The least or greatest of several affine expressions."""
    result = affine_text(values[0])
    for each in values[1:]:
        result = f"{function}({result}, {affine_text(each)})"
    return result


class Statements:
    """The statements that compute one expression.

    Attributes:
        lines: the statements.
        demands: the computed variables that they read.
    """

    def __init__(self, system: System, found: Attributes, domain: Domain) -> None:
        self.system = system
        self.found = found
        self.domain = domain
        self.lines: list[str] = []
        self.demands: set[str] = set()
        self.count = 0

    def new(self, kind: str, value: str) -> str:
        """A variable of C with this value."""
        name = f"alpha_t{self.count}"
        self.count += 1
        self.lines.append(f"{C_TYPES[kind]} {name} = {value};")
        return name

    def value(self, node: Expression, path: Path, point: tuple[Linear, ...]) -> str:
        """The name of what holds the value of a node at a point, over the iterators around."""
        kind = type_of(self.system, node)
        match node:
            case Constant():
                return self.new(kind, _constant(node, kind))
            case Variable():
                return self.read(node, kind, point)
            case Index():
                values = dict(zip(node.function.indices, point, strict=True))
                return self.new(kind, affine_text(node.function.results[0].substituted(values)))
            case Dependence():
                values = dict(zip(node.function.indices, point, strict=True))
                inner = tuple(each.substituted(values) for each in node.function.results)
                return self.value(node.body, (*path, 0), inner)
            case Restrict():
                return self.value(node.body, (*path, 0), point)
            case Case():
                return self.case(node, path, point, kind)
            case If():
                return self.choice(node, path, point, kind)
            case Unary():
                body = self.value(node.body, (*path, 0), point)
                return self.new(kind, f"{'!' if node.operator == 'not' else '-'}{body}")
            case Binary():
                left = self.value(node.left, (*path, 0), point)
                right = self.value(node.right, (*path, 1), point)
                return self.new(kind, self.operation(node, left, right, kind))
            case Call():
                values_given = [
                    self.value(each, (*path, number), point)
                    for number, each in enumerate(node.arguments)
                ]
                call = f"{node.function}({', '.join(values_given)})"
                return self.new(kind, f"missing ? 0 : {call}")
            case Reduce():
                return self.reduce(node, path, point, kind)

    def read(self, node: Variable, kind: str, point: tuple[Linear, ...]) -> str:
        declared = self.system.declaration(node.name)
        subscripts = [affine_text(each) for each in point]
        if declared.kind != "input":
            self.demands.add(node.name)
            return self.new(kind, f"read_{node.name}({', '.join(subscripts)})")
        if not subscripts:
            return self.new(kind, node.name)
        extents = _extents(self.system, node.name)
        place = subscripts[0]
        for size, each in zip(extents[1:], subscripts[1:], strict=True):
            place = f"({place} * {size} + {each})"
        return self.new(kind, f"{node.name}[{place}]")

    def operation(self, node: Binary, left: str, right: str, kind: str) -> str:
        """Two operands, converted as C does, and an operation between them."""
        if node.operator in LOGICAL:
            return _LOGIC[node.operator].format(left, right)
        both = common_type(type_of(self.system, node.left), type_of(self.system, node.right))
        typed = C_TYPES[both]
        left, right = f"({typed}){left}", f"({typed}){right}"
        if node.operator in COMPARISONS:
            return f"{left} {node.operator} {right}"
        return combined(node.operator, left, right, kind)

    def choice(self, node: If, path: Path, point: tuple[Linear, ...], kind: str) -> str:
        condition = self.value(node.condition, (*path, 0), point)
        result = self.new(kind, "0")
        self.lines.append(f"if (!missing && {condition}) {{")
        self.branch(result, kind, node.then, (*path, 1), point)
        self.lines.append("} else if (!missing) {")
        self.branch(result, kind, node.otherwise, (*path, 2), point)
        self.lines.append("}")
        return result

    def branch(
        self, result: str, kind: str, node: Expression, path: Path, point: tuple[Linear, ...]
    ) -> None:
        value = self.value(node, path, point)
        self.lines.append(f"{result} = ({C_TYPES[kind]}){value};")

    def case(self, node: Case, path: Path, point: tuple[Linear, ...], kind: str) -> str:
        result = self.new(kind, "0")
        names = canonical(len(point), "_p")
        values = dict(zip(names, point, strict=True))
        chain = ""
        for number, branch in enumerate(node.branches):
            below = (*path, number)
            if self.found.context[below].is_empty:
                continue
            domain = self.found.expression[below].gist(self.found.context[path]).named(names)
            parts = [[each.substituted(values) for each in part] for part in domain.parts]
            self.lines.append(f"{chain}if ({condition_text(parts)}) {{")
            self.branch(result, kind, branch, below, point)
            chain = "} else "
        self.lines.append("}")
        return result

    def reduce(self, node: Reduce, path: Path, point: tuple[Linear, ...], kind: str) -> str:
        below, around = (*path, 0), self.domain
        taken = self.system.names() | RESERVED
        space = reduction_space(node, self.found.expression[below], around, point, taken)
        result = self.new(kind, _identity(node.operator, kind))
        names, skip = space.domain.indices, around.arity
        for part in space.domain.disjoint_parts:
            loops, closing = loop_lines(part, names, skip)
            self.lines += loops
            self.domain = part
            value = self.value(node.body, below, space.point)
            self.lines += [self.accumulation(node.operator, result, value, kind), closing]
        self.domain = around
        return result

    @staticmethod
    def start(operator: str, kind: str) -> str:
        """What a reduction begins with."""
        return _identity(operator, kind)

    def accumulation(self, operator: str, result: str, value: str, kind: str) -> str:
        if operator in LOGICAL:
            return f"{result} = {_LOGIC[operator].format(result, f'({value} != 0)')};"
        typed = f"({C_TYPES[kind]}){value}"
        return f"{result} = ({C_TYPES[kind]})({combined(operator, result, typed, kind)});"


def combined(operator: str, left: str, right: str, kind: str) -> str:
    """Two values of a type and an operator; NaN comes through, and integers divide to 0 by 0."""
    if operator in ("min", "max"):
        sign = "<" if operator == "min" else ">"
        nan = f" || {left} != {left}" if kind in ("float", "double") else ""
        return f"({left} {sign} {right}{nan}) ? {left} : {right}"
    if operator in ("/", "%") and kind not in ("float", "double"):
        signed = not kind.startswith("unsigned")
        wrapped = f"-{left}" if operator == "/" else "0"
        guard = f"{right} == -1 ? {wrapped} : " if signed else ""
        return f"{right} == 0 ? 0 : {guard}{left} {operator} {right}"
    return f"{left} {operator} {right}"


def _constant(node: Constant, kind: str) -> str:
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, int):
        sized = {"long": "INT64_C", "unsigned int": "UINT32_C", "unsigned long": "UINT64_C"}
        return f"{sized[kind]}({node.value})" if kind in sized else str(node.value)
    return f"{node.value!r}{'f' if node.is_single else ''}"


def _identity(operator: str, kind: str) -> str:
    match operator:
        case "+" | "or" | "xor":
            return "0"
        case "*" | "and":
            return "1"
        case "min":
            return _LIMITS[kind][1]
        case _:
            return _LIMITS[kind][0]


def _extents(system: System, name: str) -> list[str]:
    return [affine_text(each) for each in array_bounds(system, system.declaration(name))]
