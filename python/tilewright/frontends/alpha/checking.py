"""What a program must satisfy beyond its grammar (CSU TR CS12-101, sections 4.2, 4.3 and 4.7).

`check` raises the first error that it finds, with its place and a point where it happens.
"""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw

from ...base.plurals import counted
from .attributes import Attributes, attributes_of, edges_of, expression_domain
from .conversions import type_of
from .domains import AffineFunction, Domain, canonical, fresh_names
from .errors import complaint, source_of
from .linear import Floor, Linear
from .presburger import Constraint
from .tree import (
    Case,
    Declaration,
    Dependence,
    Equation,
    Expression,
    Path,
    Program,
    Reduce,
    Restrict,
    System,
    UseEquation,
    Variable,
    children,
    step,
    transformed,
    walk,
)

__all__ = ["check", "check_system", "grounded", "lifted_domain"]


def check(program: Program) -> Program:
    """The program, if it makes sense.

    Raises:
        DeclarationError: for a system that does not; see `check_system`; and for systems that call
            each other in a circle.
        DomainError: for a value that is needed where there is none.
    """
    _no_circles(program)
    for system in program.systems:
        check_system(system, program)
    return program


def grounded(program: Program) -> Program:
    """The program with every domain within the parameters' values, so that equal ones compare equal."""
    return replace(program, systems=tuple(map(_grounded, program.systems)))


def _grounded(system: System) -> System:
    context = system.context

    def within(node: Expression) -> Expression:
        if isinstance(node, Restrict):
            return replace(node, domain=node.domain.within(context))
        return node

    changed = system.mapped(lambda expression, _: transformed(expression, within))
    return replace(
        changed,
        declarations=tuple(
            replace(each, domain=each.domain.within(context)) for each in system.declarations
        ),
        equations=tuple(
            replace(each, extension=each.extension.within(context))
            if isinstance(each, UseEquation)
            else each
            for each in changed.equations
        ),
    )


def check_system(system: System, program: Program | None = None) -> None:
    """Each variable has one definition, which covers it; branches do not overlap; bodies of
    reductions are bounded; nothing needs itself; use equations fit the systems that they call.

    Raises:
        DeclarationError, DomainError: the first of these that does not hold.
    """
    if system.context.is_empty:
        raise complaint(
            source_of(system),
            system.position,
            f"no parameters are in the parameter domain of {system.name}",
        )
    for equation in system.equations:
        if isinstance(equation, UseEquation) and program is not None:
            _use(system, equation, program)
    _one_definition(system)
    for equation in system.equations:
        if isinstance(equation, UseEquation):
            continue
        declared = system.declaration(equation.name).domain.named(equation.indices)
        found = attributes_of(system, equation.expression, equation.indices, declared)
        type_of(system, equation.expression)
        missing = declared - found.expression[()]
        if not missing.is_empty:
            _undefined(system, equation.expression, (), missing, found)
        _bounded(system, equation.expression, found)
        _self_dependence(system, equation, found)


def _one_definition(system: System) -> None:
    source, defined = source_of(system), set[str]()
    for equation in system.equations:
        names = [equation.name] if isinstance(equation, Equation) else equation.outputs
        for name in names:
            if system.declaration(name).kind == "input":
                raise complaint(
                    source, equation.position, f"{name} is an input, which no equation defines"
                )
            if name in defined:
                raise complaint(source, equation.position, f"{name} is defined twice")
            defined.add(name)
    for each in system.declarations:
        if each.kind != "input" and each.name not in defined:
            raise complaint(source, each.position, f"the {each.kind} {each.name} has no equation")


def _undefined(
    system: System, node: Expression, path: Path, missing: Domain, found: Attributes
) -> None:
    """Raises for the innermost node that has no value at the points `missing`."""
    source = source_of(system)
    where = missing.named(found.names[path])

    def fail(message: str) -> tw.DeclarationError:
        return complaint(source, node.position, message, where, tw.DomainError)

    if isinstance(node, Variable):
        raise fail(f"{node.name} is read outside of its domain")
    if isinstance(node, Case):
        for number, branch in enumerate(node.branches):
            if isinstance(branch, Restrict):
                inside = missing & branch.domain.named(missing.indices)
                if not inside.is_empty:  # the branch is for them, and does not give a value
                    _undefined(system, branch, (*path, number), inside, found)
        raise fail("no branch of this case has a value")
    if isinstance(node, Reduce):
        raise fail("there is nothing to reduce")
    if isinstance(node, Restrict):
        outside = missing - node.domain
        if not outside.is_empty:
            where = outside.named(found.names[path])
            raise fail("a value is needed outside of the domain of this restriction")
    for number, child in enumerate(children(node)):
        below = (*path, number)
        inner = missing.image(node.function) if isinstance(node, Dependence) else missing
        inner = inner - found.expression[below]
        if not inner.is_empty:
            _undefined(system, child, below, inner, found)
    raise fail("this expression has no value")


def _bounded(system: System, expression: Expression, found: Attributes) -> None:
    for path, node in walk(expression):
        if not isinstance(node, Reduce):
            continue
        body = found.context[step(path, 0)]
        for part in body.parts:
            direction = _unbounded_direction(part, node)
            if direction is not None:
                steps = ", ".join(
                    f"{name} {step:+d}"
                    for name, step in zip(body.indices, direction, strict=True)
                    if step
                )
                raise complaint(
                    source_of(system), node.position,
                    f"the body of this reduction is unbounded: it goes on in the direction {steps}",
                    Domain.where(body.indices, [part]),
                )  # fmt: skip


def _unbounded_direction(part: list[Constraint], node: Reduce) -> list[int] | None:
    """A direction in which the body goes on forever while the projection stays: a point other than
    0 of the recession cone."""
    indices = node.projection.indices
    names = dict(zip(indices, canonical(len(indices)), strict=True))
    floors: dict[Floor, str] = {}
    rows: list[Constraint] = []

    def homogeneous(linear: Linear) -> Linear:
        result = Linear()
        for variable, factor in linear.terms.items():
            if isinstance(variable, Floor):
                if variable not in floors:
                    floors[variable] = f"_q{len(floors)}"
                    numerator = homogeneous(variable.numerator)
                    quotient = Linear({floors[variable]: variable.divisor})
                    rows.append(Constraint(numerator - quotient, True))
                result += Linear({floors[variable]: factor})
            elif variable in names:
                result += Linear({names[variable]: factor})
        return result

    for each in part:
        rows.append(replace(each, linear=homogeneous(each.linear)))
    for result in node.projection.results:
        rows.append(Constraint(homogeneous(result), True))
    dimensions = ", ".join([*names.values(), *floors.values()])
    nonzero = " or ".join(f"{name} != 0" for name in names.values()) or "false"
    conditions = " and ".join([*map(str, rows), f"({nonzero})"])
    point = tw.Set(f"{{ [{dimensions}] : {conditions} }}").sample()
    return None if point is None else [*point][: len(indices)]


def _self_dependence(system: System, equation: Equation, found: Attributes) -> None:
    if _reads_others(equation.expression, equation.name, AffineFunction.identity(equation.indices)):
        return
    for edge in edges_of(system, equation, found):
        if edge.producer != equation.name:
            continue
        relation = edge.relation
        itself = relation & relation.domain.identity()
        if itself:
            raise complaint(
                source_of(system), equation.position,
                f"{equation.name} needs its own value",
                Domain(equation.indices, itself.domain), tw.SelfDependenceError,
            )  # fmt: skip


def _reads_others(node: Expression, name: str, function: AffineFunction) -> bool:
    """Whether the expression, at the values of the function, reads the variable at fixed distances other than 0
    only, if at all: most recurrences do, and need no question to isl."""
    match node:
        case Variable():
            differences = [
                result - Linear.of(index)
                for result, index in zip(function.results, function.indices, strict=False)
            ]
            return node.name != name or any(
                each.constant and not each.terms for each in differences
            )
        case Dependence():
            return _reads_others(node.body, name, node.function.after(function))
        case Reduce():
            return not any(isinstance(n, Variable) and n.name == name for _, n in walk(node))
        case _:
            return all(_reads_others(each, name, function) for each in children(node))


# ---- use equations ----


def _no_circles(program: Program) -> None:
    callees = {
        system.name: {
            each.system: each for each in system.equations if isinstance(each, UseEquation)
        }
        for system in program.systems
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        for callee, equation in callees.get(name, {}).items():
            if callee in (*above, name):
                chain = " -> ".join([*above, name, callee])
                system = next(each for each in program.systems if each.name == name)
                raise complaint(
                    source_of(system), equation.position,
                    f"systems call each other in a circle: {chain}",
                )  # fmt: skip
            if callee not in done:
                visit(callee, (*above, name))
        done.add(name)

    for system in program.systems:
        visit(system.name, ())


def lifted_domain(domain: Domain, callee: System, equation: UseEquation) -> Domain:
    """The product of the extension domain and a domain of the callee, with the callee's parameters
    replaced by what the use equation gives for them."""
    outer = equation.extension.indices
    inner = canonical(domain.arity, "_c")
    values = dict(zip(callee.parameters.indices, equation.parameters.results, strict=True))
    values |= {old: Linear.of(new) for old, new in zip(domain.indices, inner, strict=True)}
    product = domain.substituted((*outer, *inner), values)
    return product & equation.extension.substituted((*outer, *inner), {})


def _use(system: System, equation: UseEquation, program: Program) -> None:
    source, at = source_of(system), equation.position
    callee = next((each for each in program.systems if each.name == equation.system), None)
    if callee is None:
        known = ", ".join(each.name for each in program.systems)
        raise complaint(source, at, f"there is no system {equation.system}; there are {known}")
    for what, given, wanted in (
        ("parameters", len(equation.parameters.results), callee.parameters.arity),
        ("inputs", len(equation.inputs), len(callee.of_kind("input"))),
        ("outputs", len(equation.outputs), len(callee.of_kind("output"))),
    ):
        if given != wanted:
            what = what if wanted != 1 else what.rstrip("s")
            raise complaint(source, at, f"{callee.name} has {wanted} {what}, got {given}")
    extension = equation.extension.within(system.context)
    allowed = callee.parameters.preimage(equation.parameters)
    outside = extension - allowed
    if not outside.is_empty:
        raise complaint(
            source,
            at,
            f"the parameters are outside of the parameter domain of {callee.name}",
            outside,
        )

    def named(product: Domain, declared: Declaration) -> Domain:
        """Points as people write them: of the extension domain, then of the callee's variable."""
        outer = equation.extension.indices
        taken = {*outer, *system.parameters.indices}
        return product.named((*outer, *fresh_names(declared.domain.indices, taken)))

    for value, declared in zip(equation.inputs, callee.of_kind("input"), strict=True):
        needed = lifted_domain(declared.domain, callee, equation).within(system.context)
        given_domain = expression_domain(system, value, needed.indices)
        missing = needed - given_domain
        if not missing.is_empty:
            raise complaint(
                source, value.position or at,
                f"the input {declared.name} of {callee.name} is not given everywhere",
                named(missing, declared),
                tw.DomainError,
            )  # fmt: skip
        found = attributes_of(system, value, needed.indices, needed)
        _bounded(system, value, found)
    for name, declared in zip(equation.outputs, callee.of_kind("output"), strict=True):
        product = lifted_domain(declared.domain, callee, equation).within(system.context)
        own = system.declaration(name).domain
        if own.arity != product.arity:
            raise complaint(
                source, at,
                f"{name} has {counted(own.arity, 'dimension')}, but the instances of {callee.name} give "
                f"{declared.name} {product.arity}",
            )  # fmt: skip
        for outside, message in (
            (product - own, f"{name} does not have all that the instances of {callee.name} give"),
            (own - product, f"the instances of {callee.name} do not cover {name}"),
        ):
            if not outside.is_empty:
                raise complaint(source, at, message, outside.named(own.indices), tw.DomainError)
