"""The expression domain and the context domain of each node (CSU TR CS12-101, sections 4.3, 4.3.2).

The expression domain says where a node has a value, the context domain where its value is needed.
Arity errors and branches that overlap are found on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce as fold

import tilewright as tw

from ...base.plurals import counted
from .domains import AffineFunction, Domain
from .errors import complaint, source_of
from .tree import (
    Binary,
    Call,
    Case,
    Dependence,
    Equation,
    Expression,
    If,
    Index,
    Path,
    Reduce,
    Restrict,
    System,
    Unary,
    UseEquation,
    Variable,
    children,
    step,
)

__all__ = ["Attributes", "Edge", "attributes_of", "edges_of", "expression_domain"]


@dataclass
class Attributes:
    """What is known of the nodes of one expression, by their paths.

    Attributes:
        names: the index names where the node stands.
        expression: where it has a value.
        context: where its value is needed.
    """

    names: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    expression: dict[Path, Domain] = field(default_factory=dict)
    context: dict[Path, Domain] = field(default_factory=dict)


def attributes_of(
    system: System, node: Expression, names: tuple[str, ...], needed: Domain | None = None
) -> Attributes:
    """The attributes of an expression and all below it.

    Args:
        system: where the variables are declared.
        node: the expression.
        names: of the indices where it stands.
        needed: where its value is needed; where it has one, if left out.

    Raises:
        DeclarationError: for a variable or function of another number of dimensions, and for
            branches that overlap where they are needed; with the place and a point.
    """
    result = Attributes()
    _expression_domain(system, node, names, (), result)
    own = result.expression[()]
    _context(system, node, (), own if needed is None else needed & own, result)
    return result


def expression_domain(system: System, node: Expression, names: tuple[str, ...]) -> Domain:
    """Where an expression has a value."""
    result = Attributes()
    return _expression_domain(system, node, names, (), result)


def _expression_domain(
    system: System, node: Expression, names: tuple[str, ...], path: Path, into: Attributes
) -> Domain:
    into.names[path] = names
    below = [
        _expression_domain(system, child, inner, (*path, number), into)
        for number, (child, inner) in enumerate(
            zip(children(node), _inner_names(system, node, names), strict=True)
        )
    ]
    match node:
        case Variable():
            found = system.declaration(node.name).domain
            _require(system, node, node.name, found.arity, names)
        case Dependence():
            _require(system, node, "the function", len(node.function.indices), names)
            found = below[0].preimage(node.function)
        case Index():
            _require(system, node, "the function", len(node.function.indices), names)
            found = Domain.universe(names).within(system.context)
        case Restrict():
            _require(system, node, "the domain", node.domain.arity, names)
            found = (node.domain & below[0]).within(system.context)
        case Case():
            found = fold(Domain.__or__, below)
        case If() | Binary() | Unary() | Call() if below:
            found = fold(Domain.__and__, below)
        case Reduce():
            _require(system, node, "the projection", len(node.projection.results), names)
            found = below[0].image(node.projection)
        case _:
            found = Domain.universe(names).within(system.context)
    into.expression[path] = found.named(names)
    return into.expression[path]


def _inner_names(system: System, node: Expression, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    if isinstance(node, Reduce):
        return [node.projection.indices]
    if isinstance(node, Dependence):
        if isinstance(node.body, Variable):
            indices = system.declaration(node.body.name).domain.indices
            if len(indices) != len(node.function.results):
                raise complaint(
                    source_of(system), node.position,
                    f"{node.body.name} has {counted(len(indices), 'dimension')}, but the function gives "
                    f"{len(node.function.results)}",
                )  # fmt: skip
            return [indices]
        return [node.function.result_names()]
    return [names] * len(children(node))


def _require(
    system: System, node: Expression, what: str, arity: int, names: tuple[str, ...]
) -> None:
    if arity == len(names):
        return
    hint = ""
    if isinstance(node, Variable):
        subscripts = ", ".join(names[:arity])
        hint = f"; say which of its values, as in {what}[{subscripts}]"
    raise complaint(
        source_of(system),
        node.position,
        f"{what} has {counted(arity, 'dimension')}, but expressions here have {len(names)}{hint}",
    )


def _context(
    system: System, node: Expression, path: Path, needed: Domain, into: Attributes
) -> None:
    """`needed` is the node's context domain; those of the nodes below follow (section 4.3.2)."""
    into.context[path] = needed.named(into.names[path])
    if isinstance(node, Case):
        _disjoint(system, node, path, needed, into)
    for number, child in enumerate(children(node)):
        below = (*path, number)
        match node:
            case Dependence():
                inner = needed.image(node.function)
            case Reduce():
                inner = needed.preimage(node.projection) & into.expression[below]
            case Case() | Restrict():
                inner = needed & into.expression[below]
                if isinstance(node, Restrict):
                    inner = inner & node.domain
            case _:
                inner = needed
        _context(system, child, below, inner, into)


def _disjoint(system: System, node: Case, path: Path, needed: Domain, into: Attributes) -> None:
    for second in range(len(node.branches)):
        mine = into.expression[step(path, second)] & needed
        for first in range(second):
            both = mine & into.expression[step(path, first)]
            if not both.is_empty:
                raise complaint(
                    source_of(system), node.branches[second].position or node.position,
                    f"branches {first + 1} and {second + 1} of this case overlap", both,
                )  # fmt: skip


# ---- dependences ----


@dataclass(frozen=True)
class Edge:
    """A dependence: `consumer` at z needs `producer` at function(z), for z in `domain`.

    In a reduction, z is a point of its body, and `to_consumer` relates the consumer's points to
    those of the body.
    """

    consumer: str
    producer: str
    domain: Domain
    function: AffineFunction
    to_consumer: tw.Map
    path: Path

    @property
    def relation(self) -> tw.Map:
        """From the points of the consumer to those of the producer that they need."""
        reads = self.function.map.intersect_domain(self.domain.points)
        return self.to_consumer.then(reads)


def edges_of(system: System, equation: Equation, found: Attributes | None = None) -> Iterator[Edge]:
    """The dependences of an equation, read by read.

    Args:
        system: where the variables are declared.
        equation: the equation.
        found: the attributes of its expression where the variable has values, if they are known.
    """
    if found is None:
        declared = system.declaration(equation.name).domain
        found = attributes_of(system, equation.expression, equation.indices, declared)
    identity = AffineFunction.identity(equation.indices)
    walker = _EdgeWalker(equation.name, found)
    yield from walker.edges(equation.expression, (), identity, identity.map, found.context[()])


class _EdgeWalker:
    """Goes through an expression, with the points of the equation or of the body around."""

    def __init__(self, consumer: str, found: Attributes) -> None:
        self.consumer = consumer
        self.found = found

    def edges(
        self,
        node: Expression,
        path: Path,
        function: AffineFunction,
        to_consumer: tw.Map,
        domain: Domain,
    ) -> Iterator[Edge]:
        """`function` leads from the points of `domain` to where `node` stands."""
        if isinstance(node, Variable):
            yield Edge(self.consumer, node.name, domain, function, to_consumer, path)
        for number, child in enumerate(children(node)):
            below = (*path, number)
            match node:
                case Dependence():
                    inner = node.function.after(function)
                    yield from self.edges(child, below, inner, to_consumer, domain)
                case Reduce():
                    # From the points before the reduction to the points of its body.
                    here = function.map.intersect_domain(domain.points)
                    lifted = to_consumer.then(here).then(node.projection.map.reverse())
                    identity = AffineFunction.identity(node.projection.indices)
                    body = self.found.context[below]
                    yield from self.edges(child, below, identity, lifted, body)
                case Case() | Restrict():
                    own = self.found.expression[below]
                    if isinstance(node, Restrict):
                        own = own & node.domain
                    chosen = domain & own.preimage(function)
                    yield from self.edges(child, below, function, to_consumer, chosen)
                case _:
                    yield from self.edges(child, below, function, to_consumer, domain)


def variables_read(system: System, equation: Equation | UseEquation) -> set[str]:
    """The names of the variables that an equation reads."""
    values = [equation.expression] if isinstance(equation, Equation) else equation.inputs
    found: set[str] = set()
    pending = list(values)
    while pending:
        node = pending.pop()
        if isinstance(node, Variable):
            found.add(node.name)
        pending += children(node)
    return found


def with_domain(system: System, name: str, domain: Domain) -> System:
    """With another domain of a variable."""
    return replace(
        system,
        declarations=tuple(
            replace(each, domain=domain) if each.name == name else each
            for each in system.declarations
        ),
    )
