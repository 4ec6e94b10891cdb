"""The polyhedral reduced dependence graph (CSU TR CS12-101, sections 3.5 and 5.8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .attributes import Edge, edges_of
from .domains import Domain
from .printing import domain_text
from .tree import Equation, System

__all__ = ["Graph", "build_prdg", "export_prdg"]


@dataclass(frozen=True)
class Graph:
    """Nodes are variables with their domains; an edge leads from who reads to who is read.

    Attributes:
        system: the system.
        nodes: the domain of each variable.
        edges: the dependences, read by read.
    """

    system: System
    nodes: dict[str, Domain]
    edges: tuple[Edge, ...]

    def __iter__(self) -> Iterator[Edge]:
        return iter(self.edges)

    def __str__(self) -> str:
        return export_prdg(self)


def build_prdg(system: System, inputs: bool = False) -> Graph:
    """The dependences of a system without use equations.

    Args:
        system: the system.
        inputs: whether those on inputs are in it.
    """
    left_out = set() if inputs else {each.name for each in system.of_kind("input")}
    edges = [
        edge
        for equation in system.equations
        if isinstance(equation, Equation)
        for edge in edges_of(system, equation)
        if edge.producer not in left_out
    ]
    nodes = {e.name: e.domain for e in system.declarations if e.name not in left_out}
    return Graph(system, nodes, tuple(edges))


def export_prdg(graph: Graph) -> str:
    """The graph in Graphviz's language DOT."""
    lines = [f"digraph {_quoted(graph.system.name)} {{"]
    for name, domain in graph.nodes.items():
        label = f"{name}\n{domain_text(domain, graph.system)}"
        lines.append(f"  {_quoted(name)} [label={_quoted(label)}];")
    for number, edge in enumerate(graph.edges, 1):
        label = f"E{number}: {edge.function}\n{domain_text(edge.domain, graph.system)}"
        ends = f"{_quoted(edge.consumer)} -> {_quoted(edge.producer)}"
        lines.append(f"  {ends} [label={_quoted(label)}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
