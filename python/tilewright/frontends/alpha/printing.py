"""Programs as text: Show, AShow and PrintAST (CSU TR CS12-101, sections 5.2.5 and 5.2.6).

`show` writes functions and domains with their index names, `ashow` array notation wherever the
context gives the names. Either text read again gives an equal program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .attributes import Attributes, attributes_of
from .domains import AffineFunction, Domain, fresh_names
from .linear import Linear
from .presburger import Constraint
from .tree import (
    Binary,
    Call,
    Case,
    Constant,
    Declaration,
    Dependence,
    Equation,
    Expression,
    External,
    If,
    Index,
    Path,
    Program,
    Reduce,
    Restrict,
    System,
    Unary,
    UseEquation,
    Variable,
    children,
)

__all__ = ["ashow", "constraint_text", "domain_text", "print_ast", "show"]

_LEVELS = {"or": 1, "xor": 1, "and": 2, "nand": 2}
_LEVELS |= dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3)
_LEVELS |= {"+": 4, "-": 4, "%": 5, "*": 6, "/": 6}
_UNARY, _ATOM = 8, 9


# ---- domains ----


def constraint_text(part: Sequence[Constraint], indices: Sequence[str]) -> str:
    """A conjunction in Alpha's words: bounds of an index in one chain."""
    bounds: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in indices}
    others: list[str] = []
    for each in part:
        mentioned = [name for name in indices if name in each.linear.names()]
        alone = mentioned[-1] if mentioned else None
        factor = each.linear.terms.get(alone, 0) if alone is not None else 0
        if each.is_equality or abs(factor) != 1 or alone is None:
            others.append(_sides(each))
            continue
        rest = each.linear - Linear({alone: factor})
        if factor == 1:
            bounds[alone][0].append(str(-rest))
        elif rest.constant == -1:
            bounds[alone][1].append(f"<{rest + Linear(None, 1)}")
        else:
            bounds[alone][1].append(f"<={rest}")
    found: list[str] = []
    for name, (lower, upper) in bounds.items():
        for number in range(max(len(lower), len(upper))):
            right = upper[number] if number < len(upper) else ""
            if number < len(lower):
                found.append(
                    f"{lower[number]}<={name}{right}" if right else f"{name}>={lower[number]}"
                )
            else:
                found.append(f"{name}{right}")
    return " && ".join([*others, *found])


def _sides(constraint: Constraint) -> str:
    """Positive terms on the left, negative ones on the right."""
    linear = constraint.linear
    left = Linear({n: f for n, f in linear.terms.items() if f > 0}, max(linear.constant, 0))
    right = Linear({n: -f for n, f in linear.terms.items() if f < 0}, max(-linear.constant, 0))
    return f"{left}{'==' if constraint.is_equality else '>='}{right}"


def domain_text(domain: Domain, system: System, named: bool = True) -> str:
    """A domain without what holds of the parameters anyway.

    Args:
        domain: the domain.
        system: whose parameters it has.
        named: whether the index names are written; else they follow from the context.
    """
    within = Domain.universe(domain.indices).within(system.context)
    return _braces(domain.gist(within), named)


def _braces(domain: Domain, named: bool = True) -> str:
    names = f"{', '.join(domain.indices)} | " if domain.indices and named else "| "
    texts = [constraint_text(part, domain.indices) for part in domain.parts]
    return " || ".join(f"{{{names}{text}}}" for text in texts) or f"{{{names}0==1}}"


# ---- expressions ----


class _Printer:
    """Writes expressions of one system; `names` is the context, or None where there is none."""

    def __init__(self, system: System, arrays: bool) -> None:
        self.system = system
        self.arrays = arrays
        self.taken = set(system.parameters.indices)

    def text(self, node: Expression, names: tuple[str, ...] | None, level: int, indent: str) -> str:
        text, own = self.written(node, names, indent)
        return f"({text})" if own < level else text

    def written(
        self, node: Expression, names: tuple[str, ...] | None, indent: str
    ) -> tuple[str, int]:
        """The text, and how tightly it binds."""
        match node:
            case Constant():
                return self.constant(node), _ATOM
            case Variable():
                return node.name + self.subscripts(names), _ATOM
            case Index():
                if names is None:
                    return f"val{node.function}", _ATOM
                return f"[{node.function.named(names).results[0]}]", _ATOM
            case Dependence():
                return self.dependence(node, names, indent), _UNARY
            case Restrict():
                domain = node.domain.named(names) if names is not None else node.domain
                text = domain_text(domain, self.system, named=names is None)
                return f"{text} : {self.text(node.body, names, 0, indent)}", 0
            case If():
                parts = [self.text(each, names, 0, indent) for each in children(node)]
                return "if {} then {} else {}".format(*parts), 0
            case Case():
                inner = indent + "  "
                lines = [f"{inner}{self.text(e, names, 0, inner)};\n" for e in node.branches]
                return f"case\n{''.join(lines)}{indent}esac", _ATOM
            case Unary():
                sign = "-" if node.operator == "-" else "not "
                return sign + self.text(node.body, names, _UNARY, indent), _UNARY
            case Binary():
                return self.binary(node, names, indent)
            case Call():
                values = [self.text(each, names, 0, indent) for each in node.arguments]
                return f"{node.function}({', '.join(values)})", _ATOM
            case Reduce():
                return self.reduce(node, names, indent), _ATOM

    def constant(self, node: Constant) -> str:
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        if node.text:
            return node.text
        return f"{node.value!r}{'f' if node.is_single else node.suffix}"

    def subscripts(self, names: tuple[str, ...] | None) -> str:
        return "" if names is None else f"[{','.join(names)}]"

    def dependence(self, node: Dependence, names: tuple[str, ...] | None, indent: str) -> str:
        if isinstance(node.body, Variable) and names is not None and not node.function.is_identity:
            results = node.function.named(names).results
            return f"{node.body.name}[{','.join(map(str, results))}]"
        function = node.function if names is None else node.function.named(names)
        return f"{function}@{self.text(node.body, None, _UNARY, indent)}"

    def binary(self, node: Binary, names: tuple[str, ...] | None, indent: str) -> tuple[str, int]:
        if node.operator in ("min", "max"):
            values = [self.text(each, names, 0, indent) for each in (node.left, node.right)]
            return f"{node.operator}({', '.join(values)})", _ATOM
        level = _LEVELS[node.operator]
        left = self.text(node.left, names, level, indent)
        right = self.text(node.right, names, level + 1, indent)
        return f"{left} {node.operator} {right}", level

    def reduce(self, node: Reduce, names: tuple[str, ...] | None, indent: str) -> str:
        projection = node.projection
        if names is not None and projection.is_canonic and len(projection.indices) > len(names):
            added = fresh_names(projection.indices[len(names) :], self.taken | set(names))
            inner = (*names, *added)
            text = f"[{','.join(added)}]"
        else:
            inner = projection.indices
            text = str(projection)
        context = inner if self.arrays else None
        return f"reduce({node.operator}, {text}, {self.text(node.body, context, 0, indent)})"


def _system_text(system: System, arrays: bool) -> str:
    printer = _Printer(system, arrays)
    parameters = _braces(system.parameters)
    lines = [f"affine {system.name} {parameters}"]
    for kind in ("input", "output", "local"):
        declared = system.of_kind(kind)
        lines += [f"  {kind}"] if declared else []
        lines += [f"    {_declaration_text(each, system)}" for each in declared]
    lines.append("  let")
    for equation in system.equations:
        if isinstance(equation, UseEquation):
            lines.append(f"    {_use_text(equation, printer, system)};")
            continue
        names = equation.indices if arrays else None
        left = f"[{','.join(equation.indices)}]" if arrays and equation.indices else ""
        value = printer.text(equation.expression, names, 0, "    ")
        lines.append(f"    {equation.name}{left} = {value};")
    return "\n".join([*lines, "."]) + "\n"


def _declaration_text(each: Declaration, system: System) -> str:
    domain = domain_text(each.domain, system)
    suffix = "" if domain == "{| }" else f" {domain}"
    return f"{each.type} {each.name}{suffix};"


def _use_text(equation: UseEquation, printer: _Printer, system: System) -> str:
    domain = domain_text(equation.extension, system)
    extension = "" if domain == "{| }" else f"{domain} "
    parameters = ",".join(map(str, equation.parameters.results))
    inputs = ", ".join(printer.text(each, None, 0, "    ") for each in equation.inputs)
    outputs = ", ".join(equation.outputs)
    return f"use {extension}{equation.system}[{parameters}] ({inputs}) returns ({outputs})"


def _text(what: Program | System, arrays: bool) -> str:
    externals: Iterable[External] = what.externals
    head = [f"{each.type} {each.name}({', '.join(each.arguments)});" for each in externals]
    systems = what.systems if isinstance(what, Program) else (what,)
    parts = ["\n".join(head) + "\n"] if head else []
    return "\n".join([*parts, *(_system_text(each, arrays) for each in systems)])


def show(what: Program | System) -> str:
    """The text with all index names (Show)."""
    return _text(what, arrays=False)


def ashow(what: Program | System) -> str:
    """The text in array notation (AShow)."""
    return _text(what, arrays=True)


# ---- the tree ----


def print_ast(program: Program) -> str:
    """The tree, one node a line: its identifier, what it is, its expression and context domain."""
    lines: list[str] = []
    for number, system in enumerate(program.systems):
        lines.append(f"[{number}] system {system.name} {_braces(system.parameters)}")
        for each in system.declarations:
            lines.append(f"  {each.kind} {_declaration_text(each, system)}")
        for position, equation in enumerate(system.equations):
            place = (number, position)
            if isinstance(equation, UseEquation):
                lines.append(f"  {_identifier(place)} use {equation.system}")
                continue
            declared = system.declaration(equation.name).domain
            lines.append(f"  {_identifier(place)} equation {equation.name}")
            found = attributes_of(system, equation.expression, equation.indices, declared)
            _nodes(system, equation, equation.expression, (), (*place, 0), found, lines)
    return "\n".join(lines) + "\n"


def _identifier(path: Path) -> str:
    return f"[{', '.join(map(str, path))}]"


def _nodes(
    system: System,
    equation: Equation,
    node: Expression,
    path: Path,
    identifier: Path,
    found: Attributes,
    lines: list[str],
) -> None:
    domain = domain_text(found.expression[path], system)
    context = domain_text(found.context[path], system)
    indent = "  " * len(identifier)
    lines.append(f"{indent}{_identifier(identifier)} {_label(node)}  D {domain}  X {context}")
    for number, child in enumerate(children(node)):
        _nodes(system, equation, child, (*path, number), (*identifier, number), found, lines)


def _label(node: Expression) -> str:
    match node:
        case Constant():
            return f"constant {node.text or node.value}"
        case Variable():
            return f"variable {node.name}"
        case Index():
            return f"index {node.function}"
        case Dependence():
            return f"dependence {node.function}"
        case Restrict():
            return "restrict"
        case Unary() | Binary():
            return f"operator {node.operator}"
        case Call():
            return f"call {node.function}"
        case Reduce():
            return f"reduce {node.operator} {_function_text(node.projection)}"
        case _:
            return type(node).__name__.lower()


def _function_text(function: AffineFunction) -> str:
    return str(function)
