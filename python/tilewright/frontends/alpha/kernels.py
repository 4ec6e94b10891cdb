"""From a system to a function on arrays: equations become computations of Layer I.

Each branch of an equation's case is a piece; an equation that only reads is a view. A reduction, with
any projection, sums over the indices of its body that the projection leaves open; what is left of the
projection is its condition. Use equations are instantiated first (`instances.instantiated`). Nothing
here rounds or reorders: where Layer I has no exact counterpart, the error says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

import tilewright as tw

from ...base.source import located_at
from .attributes import Attributes, attributes_of
from .conversions import COMPARISONS, DTYPES, LOGICAL, common_type, reduces_converted, type_of
from .domains import Domain, canonical, formula, fresh_names
from .errors import complaint, source_of
from .instances import instantiated
from .linear import Floor, Linear
from .mathematics import standard_function
from .presburger import Constraint
from .spaces import lines_along, near_domain, reduction_space, simplest_bounds
from .tree import (
    Binary,
    Call,
    Case,
    Constant,
    Declaration,
    Dependence,
    Equation,
    Expression,
    If,
    Index,
    Node,
    Path,
    Program,
    Reduce,
    Restrict,
    System,
    Unary,
    Variable,
    step,
)

__all__ = ["affine_value", "array_bounds", "identifier", "instance_names", "kernel"]

Value: TypeAlias = tw.Expression
Array: TypeAlias = "tw.Input | tw.Computation"

_REDUCTIONS: dict[str, Callable[..., Value]] = {
    "+": tw.sum,
    "*": tw.prod,
    "min": tw.min,
    "max": tw.max,
    "and": tw.all,
    "or": tw.any,
}


def identifier(name: str) -> str:
    """The name as an identifier: ``2mm-tiled`` is `_2mm_tiled`."""
    word = re.sub(r"\W", "_", name)
    return f"_{word}" if word[0].isdigit() else word


def kernel(
    system: System,
    program: Program,
    externs: dict[str, tw.Extern],
    statements: bool = False,
) -> tw.Function:
    """The function that computes the system's outputs from its inputs and parameters.

    Args:
        system: of `program`, checked.
        program: where the systems that it uses are.
        externs: the external functions by name.
        statements: whether equations that only read or convert are computed as others are, so that
            each has a time and memory.

    Raises:
        DeclarationError: for what Layer I cannot say: inputs with negative coordinates, an external
            function that was not given.
    """
    if not system.of_kind("output"):
        raise complaint(
            source_of(system), system.position,
            f"{system.name} has no output, so there is nothing that a function would give",
        )  # fmt: skip
    return _Translation(instantiated(system, program), externs, statements).function()


def instance_names(system: System, equation: Equation) -> tuple[str, ...]:
    """The names of the iterators of an equation's computation."""
    return fresh_names([identifier(name) for name in equation.indices], system.names())


def array_bounds(system: System, declared: Declaration) -> list[Linear]:
    """The extents of the array from 0 that holds an input or output.

    Raises:
        DeclarationError: for coordinates below 0, and where no affine bound holds everywhere.
    """
    found: list[Linear] = []
    domain = declared.domain
    if domain.is_empty:
        return [Linear()] * domain.arity
    for position, name in enumerate(domain.indices):
        others = [number for number in range(domain.arity) if number != position]
        line = Domain((name,), domain.points.project_out(*others) if others else domain.points)
        below = line & Domain.where((name,), [[Constraint(-Linear.of(name) - _ONE, False)]])
        if not below.is_empty:
            raise complaint(
                source_of(system), declared.position,
                f"the {declared.kind} {declared.name} is an array that begins at 0, but index {name} "
                "may be negative; shift it (CoB)", below.within(system.context),
            )  # fmt: skip
        bounds = [e for part in lines_along(domain, name) for e in _upper_bounds(part, name)]
        for bound in bounds:
            beyond = Constraint(Linear.of(name) - bound - _ONE, False)
            if (line & Domain.where((name,), [[beyond]])).is_empty:
                found.append(one_floor(bound + _ONE))
                break
        else:
            if not line.is_empty:
                raise complaint(
                    source_of(system), declared.position,
                    f"the extent of {declared.name} in {name} is no affine expression of the "
                    "parameters",
                )  # fmt: skip
            found.append(Linear())
    return found


_ONE = Linear(None, 1)


def _upper_bounds(part: Sequence[Constraint], name: str) -> list[Linear]:
    found: list[Linear] = []
    for each in part:
        factor = each.linear.terms.get(name, 0)
        rest = each.linear - Linear({name: factor})
        if any(name in v.numerator.names() for v in rest.terms if isinstance(v, Floor)):
            continue
        if factor == -1:
            found.append(rest)
        elif factor == 1 and each.is_equality:
            found.append(-rest)
        elif factor < -1:  # 2i < N where N is 2H: i < H
            rests = [rest, *(rest.substituted(same) for same in _equal_parameters(part, name))]
            found += [
                Linear({v: f // -factor for v, f in one.terms.items()}, one.constant // -factor)
                for one in rests
                if all(f % factor == 0 for f in one.terms.values())
            ]
            if not any(isinstance(v, Floor) for v in rest.terms):  # 2i < N: i <= floor((N - 1)/2)
                found.append(Linear({Floor(rest, -factor): 1}))
    plain = [each for each in found if not any(isinstance(v, Floor) for v in each.terms)]
    return [*plain, *(each for each in found if each not in plain and _is_floor(each))]


def _is_floor(linear: Linear) -> bool:
    """Whether it is the floor of an expression without others in it, and a number."""
    return len(linear.terms) == 1 and all(
        isinstance(v, Floor) and factor == 1 for v, factor in linear.terms.items()
    )


def one_floor(extent: Linear) -> Linear:
    """An extent in one form: ``floor((N - 2)/2) + 1`` is ``floor(N/2)``."""
    if not _is_floor(extent):
        return extent
    ((floor, _),) = extent.terms.items()
    assert isinstance(floor, Floor)
    within = floor.numerator + Linear(None, extent.constant * floor.divisor)
    return Linear({Floor(within, floor.divisor): 1})


def _equal_parameters(part: Sequence[Constraint], name: str) -> list[dict[str, Linear]]:
    """What single parameters are in terms of others, by the equalities of a polyhedron."""
    found: list[dict[str, Linear]] = []
    for each in part:
        if each.is_equality and name not in each.linear.names():
            for other, factor in each.linear.terms.items():
                if isinstance(other, str) and abs(factor) == 1:
                    found.append({other: Linear({other: 1}) - each.linear * factor})
    return found


def affine_value(linear: Linear, values: dict[str, Value]) -> Value | int:
    """An affine expression over names as an expression."""
    result: Value | int = 0
    for variable, factor in linear.terms.items():
        if isinstance(variable, Floor):
            term: Value | int = affine_value(variable.numerator, values) // variable.divisor
        else:
            term = values[variable]
        term = term if factor == 1 else term * factor
        result = term if isinstance(result, int) and result == 0 else result + term
    return result + linear.constant if linear.constant else result


class _Translation:
    """Of one system without use equations."""

    def __init__(
        self, system: System, externs: dict[str, tw.Extern], statements: bool = False
    ) -> None:
        self.system = system
        self.statements = statements
        self.externs = externs
        names = system.parameters.indices
        constraint = formula(system.parameters.parts)
        given = tw.params(" ".join(names), constraint, minimum=None) if names else ()
        self.parameters: dict[str, Value] = dict(zip(names, given, strict=True))
        self.arrays: dict[str, Array] = {}
        # Locals that are other variables in another type: converted where they are read.
        self.conversions: dict[str, Equation] = {}

    def at(self, node: Node) -> AbstractContextManager[None]:
        """What is declared within has the place of the node."""
        if node.position is None:
            return located_at(None)
        source, line = source_of(self.system), node.position.line
        return located_at(tw.SourceLocation(source.file, line, source.line(line)))

    def value(self, linear: Linear) -> Value | int:
        names = linear.names() - set(self.parameters)
        return affine_value(linear, self.parameters | {name: tw.iter(name) for name in names})

    def function(self) -> tw.Function:
        inputs: list[tw.Input] = []
        for each in self.system.of_kind("input"):
            shape = [self.value(bound) for bound in array_bounds(self.system, each)]
            with self.at(each):
                made = tw.input(each.name, shape, DTYPES[each.type])
            self.arrays[each.name] = made
            inputs.append(made)
        equations: list[Equation] = []
        for equation in self.system.equations:
            assert isinstance(equation, Equation)
            if self.converts(equation):
                self.conversions[equation.name] = equation
            else:
                equations.append(equation)
        for equation in equations:
            self.declare(equation)
        for equation in equations:
            self.define(equation)
        outputs = [self.arrays[each.name] for each in self.system.of_kind("output")]
        return tw.function(
            identifier(self.system.name),
            outputs=[each for each in outputs if isinstance(each, tw.Computation)],
            inputs=inputs or None,
            default_schedule=not self.statements,  # a mapping says it all
        )

    # ---- equations ----

    def names_of(self, equation: Equation) -> tuple[str, ...]:
        return instance_names(self.system, equation)

    def declare(self, equation: Equation) -> None:
        declared = self.system.declaration(equation.name)
        shape: list[Value] | None = None
        if declared.kind == "output":
            bounds = array_bounds(self.system, declared)  # which refuses what is no array from 0
            # Of every other point, an array has the points between, too, and a last one.
            if any(
                isinstance(v, Floor)
                for p in declared.domain.parts
                for c in p
                for v in c.linear.terms
            ):
                shape = [tw.maximum(self.value(each), 0) for each in bounds]
        names = self.names_of(equation)
        parts = declared.domain.named(names).parts
        text = f"{{ {equation.name}[{', '.join(names)}] : {formula(parts)} }}"
        is_view = self.only_reads(equation)
        # What is converted where it is read is computed there.
        if is_view and (self.read_alone(equation) or set()) & self.conversions.keys():
            is_view = False
        make = tw.view if is_view else tw.computation
        with self.at(equation):
            self.arrays[equation.name] = make(
                self.with_parameters(text), dtype=DTYPES[declared.type], shape=shape
            )

    def with_parameters(self, text: str) -> str:
        return f"[{', '.join(self.parameters)}] -> {text}"

    def only_reads(self, equation: Equation) -> bool:
        """Whether it computes nothing, and converts nothing."""
        if self.statements:
            return False
        read = self.read_alone(equation)
        kind = self.system.declaration(equation.name).type
        return read is not None and all(self.system.declaration(n).type == kind for n in read)

    def converts(self, equation: Equation) -> bool:
        """Whether it is a local that only converts inputs and what is computed."""
        if self.statements:
            return False
        if self.system.declaration(equation.name).kind != "local" or self.only_reads(equation):
            return False
        read = self.read_alone(equation)
        return read is not None and not read & self.conversions.keys()

    def read_alone(self, equation: Equation) -> set[str] | None:
        """What it reads, if it does nothing else, and does not read itself."""
        found: set[str] = set()
        pending = [equation.expression]
        while pending:
            node = pending.pop()
            match node:
                case Case():
                    pending += node.branches
                case Restrict() | Dependence():
                    pending.append(node.body)
                case Variable():
                    found.add(node.name)
                case _:
                    return None
        return None if equation.name in found else found

    def converted(self, name: str, domain: Domain, point: tuple[Linear, ...]) -> Value:
        """The value of one of `conversions` at a point."""
        equation = self.conversions[name]
        declared = self.system.declaration(name)
        found = attributes_of(self.system, equation.expression, equation.indices, declared.domain)
        value = _Scope(self, found, domain).value(equation.expression, (), point)
        return self.as_type(value, declared.type)

    def define(self, equation: Equation) -> None:
        names = self.names_of(equation)
        declared = self.system.declaration(equation.name)
        domain = declared.domain.named(names)
        found = attributes_of(self.system, equation.expression, names, domain)
        array = self.arrays[equation.name]
        assert isinstance(array, tw.Computation)
        place = tuple(map(Linear.of, names))
        if domain.is_empty and not array.pieces:  # a piece without points, as there must be one
            nothing = f"{{ {equation.name}[{', '.join(names)}] : false }}"
            array.define(self.with_parameters(nothing), self.as_type(0, declared.type))
        for path, node in _pieces(equation.expression):
            piece = found.context[path]
            if piece.is_empty:
                continue
            scope = _Scope(self, found, piece.named(names))
            with self.at(node):
                if self.statements and isinstance(node, Reduce):
                    value: Value | int = scope.reduce(node, path, place, declared.type)
                else:
                    value = scope.value(node, path, place)
                value = self.as_type(value, declared.type)
                parts = formula(piece.named(names).parts)
                text = f"{{ {equation.name}[{', '.join(names)}] : {parts} }}"
                array.define(self.with_parameters(text), value)

    def as_type(self, value: Value | int | float | bool, kind: str) -> Value:
        dtype = DTYPES[kind]
        if isinstance(value, tw.Expression) and value.dtype == dtype:
            return value
        return tw.cast(value, dtype)


def _differs(value: Value | int, dtype: str) -> Value:
    """Whether a value is not 0."""
    return tw.cast(value, dtype) != tw.cast(0, dtype)


def _pieces(node: Expression, path: Path = ()) -> list[tuple[Path, Expression]]:
    """The branches of the cases at the top."""
    if isinstance(node, Case):
        found: list[tuple[Path, Expression]] = []
        for number, branch in enumerate(node.branches):
            found += _pieces(branch, (*path, number))
        return found
    if isinstance(node, Restrict):
        return _pieces(node.body, (*path, 0))
    return [(path, node)]


class _Scope:
    """The iterators around an expression: a domain over their names."""

    def __init__(self, translation: _Translation, found: Attributes, domain: Domain) -> None:
        self.translation = translation
        self.system = translation.system
        self.found = found
        self.domain = domain

    def value(self, node: Expression, path: Path, point: tuple[Linear, ...]) -> Value | int:
        """The value of a node at a point: affine expressions over the iterators."""
        match node:
            case Constant():
                return tw.cast(node.value, DTYPES[type_of(self.system, node)])
            case Variable():
                if node.name in self.translation.conversions:
                    return self.translation.converted(node.name, self.domain, point)
                subscripts = tuple(self.translation.value(each) for each in point)
                return self.translation.arrays[node.name][subscripts]
            case Index():
                (place,) = node.function.results
                values = dict(zip(node.function.indices, point, strict=True))
                return tw.cast(self.translation.value(place.substituted(values)), "int64")
            case Dependence():
                values = dict(zip(node.function.indices, point, strict=True))
                inner = tuple(each.substituted(values) for each in node.function.results)
                return self.value(node.body, (*path, 0), inner)
            case Restrict():
                return self.value(node.body, (*path, 0), point)
            case Case():
                return self.case(node, path, point)
            case If():
                kind = type_of(self.system, node)
                return tw.select(
                    self.operand(node.condition, (*path, 0), point, "bool"),
                    self.operand(node.then, (*path, 1), point, kind),
                    self.operand(node.otherwise, (*path, 2), point, kind),
                )
            case Unary():
                kind = type_of(self.system, node)
                body = self.operand(node.body, (*path, 0), point, kind)
                return ~body if node.operator == "not" else -body
            case Binary():
                return self.binary(node, path, point)
            case Call():
                return self.call(node, path, point)
            case Reduce():
                return self.reduce(node, path, point)

    def operand(self, node: Expression, path: Path, point: tuple[Linear, ...], kind: str) -> Value:
        """The value, converted as C does."""
        value = self.value(node, path, point)
        if kind == "bool" and type_of(self.system, node) != "bool":
            return _differs(value, DTYPES[type_of(self.system, node)])
        return self.translation.as_type(value, kind)

    def binary(self, node: Binary, path: Path, point: tuple[Linear, ...]) -> Value:
        kind = type_of(self.system, node)
        if node.operator in LOGICAL:
            kind = "bool"
        elif node.operator in COMPARISONS:
            kind = common_type(type_of(self.system, node.left), type_of(self.system, node.right))
        left = self.operand(node.left, (*path, 0), point, kind)
        right = self.operand(node.right, (*path, 1), point, kind)
        exact = kind not in ("float", "double")
        match node.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return tw.truncated_divide(left, right) if exact else left / right
            case "%":
                return tw.fmod(left, right)
            case "min":
                return tw.minimum(left, right)
            case "max":
                return tw.maximum(left, right)
            case "and":
                return left & right
            case "or":
                return left | right
            case "xor":
                return left ^ right
            case "nand":
                return ~(left & right)
            case "==":
                return left == right
            case "!=":
                return left != right
            case "<":
                return left < right
            case "<=":
                return left <= right
            case ">":
                return left > right
            case _:
                return left >= right

    def call(self, node: Call, path: Path, point: tuple[Linear, ...]) -> Value:
        declared = next(e for e in self.system.externals if e.name == node.function)
        given = self.translation.externs.get(node.function)
        function = standard_function(declared) if given is None else given
        if function is None:
            raise complaint(
                source_of(self.system), node.position,
                f"the external function {node.function} was not given: say "
                f'externs={{"{node.function}": tw.extern(...)}} of tw.alpha.load',
            )  # fmt: skip
        values = [
            self.operand(each, (*path, number), point, kind)
            for number, (each, kind) in enumerate(
                zip(node.arguments, declared.arguments, strict=True)
            )
        ]
        return self.translation.as_type(function(*values), declared.type)

    def case(self, node: Case, path: Path, point: tuple[Linear, ...]) -> Value:
        kind = type_of(self.system, node)
        branches = [
            (number, branch)
            for number, branch in enumerate(node.branches)
            if not self.found.context[step(path, number)].is_empty
        ]
        number, last = branches[-1]
        result = self.operand(last, (*path, number), point, kind)
        for number, branch in reversed(branches[:-1]):
            below = (*path, number)
            names = canonical(len(point), "_p")
            domain = self.found.expression[below].gist(self.found.context[path])
            values = dict(zip(names, point, strict=True))
            parts = [[each.substituted(values) for each in p] for p in domain.named(names).parts]
            chosen = self.operand(branch, below, point, kind)
            result = tw.select(self.condition(parts), chosen, result)
        return result

    def condition(self, parts: Sequence[Sequence[Constraint]]) -> Value:
        """Disjuncts as an expression of type bool."""
        joined: Value | None = None
        for part in parts:
            term: Value | None = None
            for each in part:
                side = tw.cast(self.translation.value(each.linear), "int64")
                holds = side == 0 if each.is_equality else side >= 0
                term = holds if term is None else term & holds
            if term is None:
                return tw.cast(True, "bool")
            joined = term if joined is None else joined | term
        return tw.cast(False, "bool") if joined is None else joined

    # ---- reductions ----

    def reduce(
        self, node: Reduce, path: Path, point: tuple[Linear, ...], wanted: str | None = None
    ) -> Value:
        """Of this type, if the terms may as well be converted to it: then the whole equation is a
        reduction, whose terms can have times of their own."""
        kind, below = type_of(self.system, node), (*path, 0)
        taken = self.system.names()
        space = reduction_space(node, self.found.expression[below], self.domain, point, taken)
        inner, body_point, domain, around = space
        scope = _Scope(self.translation, self.found, domain)
        body_kind = "bool" if node.operator in LOGICAL else type_of(self.system, node.body)
        value = scope.operand(node.body, below, body_point, body_kind)
        operator = node.operator
        if wanted not in (None, kind) and reduces_converted(operator, kind, wanted):
            value, kind = self.translation.as_type(value, wanted), wanted
            operator = {"and": "min", "or": "max"}.get(operator, operator)
        if not inner:
            return self.translation.as_type(value, kind)
        between = self.bounds(node, domain, inner)
        ranges = {
            tw.iter(name): (self.translation.value(lower), self.translation.value(upper + _ONE))
            for name, (lower, upper) in between.items()
        }
        known = [
            Constraint(side, False)
            for name, (lower, upper) in between.items()
            for side in (Linear.of(name) - lower, upper - Linear.of(name))
        ]
        where = self.condition(domain.gist(around & Domain.where(domain.indices, [known])).parts)
        if operator == "xor":
            ones = tw.sum(tw.cast(value, "int64"), over=ranges, where=where)
            return _differs(tw.fmod(ones, tw.cast(2, "int64")), "int64")
        reduced = _REDUCTIONS[operator](value, over=ranges, where=where)
        return self.translation.as_type(reduced, kind)

    def bounds(
        self, node: Reduce, domain: Domain, inner: Sequence[str]
    ) -> dict[str, tuple[Linear, Linear]]:
        """The first and the last value of each iterator, and perhaps more, over those before it."""
        found: dict[str, tuple[Linear, Linear]] = {}
        for name in inner:
            near = near_domain(domain, name)
            lower, upper = simplest_bounds(near, name)
            if near.is_empty:
                lower, upper = Linear(), Linear(None, -1)
            if lower is None or upper is None:
                raise complaint(
                    source_of(self.system), node.position,
                    f"no affine bound of {name} was found: the body of this reduction is a union "
                    "whose parts lie at places that the parameters move apart; split it "
                    "(SplitReductionBody)",
                )  # fmt: skip
            found[name] = (lower, upper)
        return found
