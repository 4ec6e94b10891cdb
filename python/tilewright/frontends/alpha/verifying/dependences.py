"""Dependences between the instances of statements, read by read (CSU TR CS12-101, section 8.2).

A dependence leads from the instance that consumes to the one that produces. Of a reduction whose body is
scheduled, instances are the points of the body: each needs what its term reads, and who reads the answer
needs all terms. Terms of one answer are added in the order of the schedule, as `SerializeReduction` would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import tilewright as tw

from ..attributes import Edge, edges_of
from ..mapping.plans import Plan, Statement
from ..tree import Declaration, Equation, Reduce, System, find
from .orders import Order

__all__ = ["Flow", "accumulations", "flows_of"]


@dataclass(frozen=True)
class Flow:
    """A dependence between statements.

    Attributes:
        consumer: the variable whose equation reads.
        producer: the variable that is read.
        text: the read: ``A[t-1,i]``.
        relation: from instances of the consumer to those of the producer.
        in_reduction: whether the read is in a reduction that one instance runs.
    """

    consumer: str
    producer: str
    text: str
    relation: tw.Map
    in_reduction: bool


def flows_of(plan: Plan) -> Iterator[Flow]:
    """All reads of what the system computes."""
    for statement in plan.statements.values():
        equation = plan.system.equation(statement.variable)
        system, name, in_body = plan.system, statement.variable, statement.in_body
        if in_body:
            system, equation = _body_as_equation(system, equation, statement)
        for edge in edges_of(system, equation):
            if edge.producer not in plan.statements:
                continue
            producer = plan.statements[edge.producer]
            relation = edge.relation.intersect_params(plan.system.context)
            relation = relation.intersect_domain(statement.domain.points)
            if producer.in_body:
                relation = relation.then(answers_map(producer).reverse())
            relation = relation.intersect_range(producer.domain.points).coalesce()
            if relation.is_empty:
                continue
            yield Flow(name, edge.producer, _text(edge), relation, _in_reduction(equation, edge))


def answers_map(statement: Statement) -> tw.Map:
    """From the instances of a statement to the points of its variable."""
    return statement.answers.map.intersect_domain(statement.domain.points)


def _body_as_equation(
    system: System, equation: Equation, statement: Statement
) -> tuple[System, Equation]:
    """The body of an equation's reduction as the equation of a variable of its own."""
    node = equation.expression
    assert isinstance(node, Reduce)
    name = system.fresh(f"{equation.name}_body")
    local = Declaration("local", "double", name, statement.domain)
    body = Equation(name, node.body, statement.domain.indices, position=equation.position)
    return replace(system, declarations=(*system.declarations, local)), body


def _in_reduction(equation: Equation, edge: Edge) -> bool:
    return any(
        isinstance(find(equation.expression, edge.path[:length]), Reduce)
        for length in range(len(edge.path))
    )


def _text(edge: Edge) -> str:
    subscripts = ",".join(map(str, edge.function.results))
    return f"{edge.producer}[{subscripts}]" if subscripts else edge.producer


def accumulations(statement: Statement, order: Order) -> tw.Map:
    """The pairs of terms of one answer whose first runs after the second in the order of times as
    they are written, whatever is parallel."""
    answers = answers_map(statement)
    left = answers.then(answers.reverse())
    found = left - left
    for dimension in range(len(order.first.times)):
        found = found | (left & order.where("greater", dimension))
        left = left & order.where("equal", dimension)
    return found
