"""The tree of an Alpha program: systems, declarations, equations and expressions.

Nodes are immutable values; two are equal if they mean the same, whatever their index names and
positions. A node is found by its identifier, the path from the root (CSU TR CS12-101, section 5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import tilewright as tw

from .domains import AffineFunction, Domain, set_of

__all__ = [
    "Binary",
    "Call",
    "Case",
    "Constant",
    "Declaration",
    "Dependence",
    "Equation",
    "Expression",
    "External",
    "If",
    "Index",
    "Operation",
    "Path",
    "Position",
    "Program",
    "Reduce",
    "Restrict",
    "System",
    "Unary",
    "UseEquation",
    "Variable",
    "children",
    "find",
    "replaced",
    "step",
    "transformed",
    "walk",
    "with_children",
]

Path: TypeAlias = tuple[int, ...]


class Position(NamedTuple):
    """A place in the text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class Node:
    """What has a place in the text."""

    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Constant(Node):
    """A number or a truth value; `text` is how it was written, `suffix` of an integer is "U", "L" or "UL"
    where its type is written, as in C."""

    value: int | float | bool
    text: str = field(default="", compare=False)
    is_single: bool = False
    suffix: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        mine, theirs = self.value, other.value
        kinds = (type(mine), self.is_single, self.suffix)
        return kinds == (type(theirs), other.is_single, other.suffix) and mine == theirs

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Variable(Node):
    """The value of a variable at the point where it stands."""

    name: str


@dataclass(frozen=True)
class Index(Node):
    """``val(f)``: the value of a function with one result."""

    function: AffineFunction


@dataclass(frozen=True)
class Dependence(Node):
    """``f@E``: the value of E at f(z)."""

    function: AffineFunction
    body: Expression


@dataclass(frozen=True)
class Restrict(Node):
    """``D : E``."""

    domain: Domain
    body: Expression


@dataclass(frozen=True)
class Case(Node):
    """``case E1; E2; esac``: the branch whose domain has the point."""

    branches: tuple[Expression, ...]


@dataclass(frozen=True)
class If(Node):
    """``if C then E1 else E2``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Unary(Node):
    """``-E`` or ``not E``."""

    operator: str
    body: Expression


@dataclass(frozen=True)
class Binary(Node):
    """Two operands and an operator between them; min and max are operators."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call(Node):
    """A call of an external function."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Reduce(Node):
    """``reduce(op, f, E)``."""

    operator: str
    projection: AffineFunction
    body: Expression


Operation: TypeAlias = Unary | Binary | Call
Expression: TypeAlias = (
    Constant | Variable | Index | Dependence | Restrict | Case | If | Unary | Binary | Call | Reduce
)


@dataclass(frozen=True)
class Declaration(Node):
    """A variable: what it is for ("input", "output", "local"), its type, name and domain."""

    kind: str
    type: str
    name: str
    domain: Domain


@dataclass(frozen=True)
class Equation(Node):
    """``X[i] = E``; `indices` name the dimensions of X for array notation."""

    name: str
    expression: Expression
    indices: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True)
class UseEquation(Node):
    """``use E name[P](inputs) returns (outputs)``.

    `indices` name the extension domain's dimensions, over which `parameters` are written.
    """

    extension: Domain
    system: str
    parameters: AffineFunction
    inputs: tuple[Expression, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class External(Node):
    """A function of C: its type, its name, and the types of its arguments."""

    type: str
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class System(Node):
    """An affine system."""

    name: str
    parameters: Domain
    declarations: tuple[Declaration, ...]
    equations: tuple[Equation | UseEquation, ...]
    externals: tuple[External, ...] = ()
    file: str = field(default="<alpha>", compare=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def context(self) -> tw.Set:
        """The values that the parameters may have."""
        names = self.parameters.indices
        parts = [" and ".join(map(str, part)) or "true" for part in self.parameters.parts] or [
            "false"
        ]
        joined = " or ".join(f"({part})" for part in parts)
        return set_of(f"[{', '.join(names)}] -> {{ : {joined} }}")

    def declaration(self, name: str) -> Declaration:
        """That of a variable.

        Raises:
            KeyError: there is none of this name.
        """
        for each in self.declarations:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.declarations)
        raise KeyError(f"{self.name} has no variable {name!r}; it has {known}")

    def of_kind(self, kind: str) -> list[Declaration]:
        """The inputs, outputs or locals."""
        return [each for each in self.declarations if each.kind == kind]

    def equation(self, name: str) -> Equation:
        """That which defines a variable.

        Raises:
            KeyError: the variable is an input, or a use equation defines it.
        """
        for each in self.equations:
            if isinstance(each, Equation) and each.name == name:
                return each
        self.declaration(name)
        raise KeyError(f"{self.name} has no equation of its own for {name}")

    def with_equation(self, changed: Equation) -> System:
        """With the equation of a variable replaced."""
        return replace(
            self,
            equations=tuple(
                changed if isinstance(each, Equation) and each.name == changed.name else each
                for each in self.equations
            ),
        )

    def mapped(self, function: Callable[[Expression, int], Expression]) -> System:
        """With each expression of an equation, or input of a use equation, replaced by what
        `function` makes of it and of the number of its dimensions."""
        changed: list[Equation | UseEquation] = []
        for each in self.equations:
            if isinstance(each, Equation):
                arity = self.declaration(each.name).domain.arity
                changed.append(replace(each, expression=function(each.expression, arity)))
            else:
                inputs = tuple(function(value, -1) for value in each.inputs)
                changed.append(replace(each, inputs=inputs))
        return replace(self, equations=tuple(changed))

    def names(self) -> set[str]:
        """All names in use: parameters, variables, external functions."""
        found = set(self.parameters.indices) | {each.name for each in self.externals}
        return found | {each.name for each in self.declarations}

    def fresh(self, wanted: str) -> str:
        """The name, or the name with a number behind it, that nothing has."""
        taken, number, name = self.names(), 0, wanted
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name


@dataclass(frozen=True)
class Program(Node):
    """Systems, in order; `program["name"]` is one as a function on arrays."""

    systems: tuple[System, ...]
    externals: tuple[External, ...] = ()


# ---- walking ----


def step(path: Path, number: int) -> Path:
    """The path of a child."""
    return (*path, number)


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions directly below one, in the order of their identifiers."""
    match node:
        case Dependence() | Restrict() | Unary() | Reduce():
            return (node.body,)
        case Case():
            return node.branches
        case If():
            return (node.condition, node.then, node.otherwise)
        case Binary():
            return (node.left, node.right)
        case Call():
            return node.arguments
        case _:
            return ()


def with_children(node: Expression, new: Sequence[Expression]) -> Expression:
    """The node with others below it."""
    if tuple(map(id, new)) == tuple(map(id, children(node))):
        return node
    match node:
        case Dependence() | Restrict() | Unary() | Reduce():
            return replace(node, body=new[0])
        case Case():
            return replace(node, branches=tuple(new))
        case If():
            return replace(node, condition=new[0], then=new[1], otherwise=new[2])
        case Binary():
            return replace(node, left=new[0], right=new[1])
        case Call():
            return replace(node, arguments=tuple(new))
        case _:
            return node


def walk(node: Expression, path: Path = ()) -> Iterator[tuple[Path, Expression]]:
    """All nodes below one and itself, with their paths, parents first."""
    yield path, node
    for number, child in enumerate(children(node)):
        yield from walk(child, (*path, number))


def transformed(node: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Each node replaced by what `function` makes of it, children first."""
    below = [transformed(child, function) for child in children(node)]
    return function(with_children(node, below))


def find(node: Expression, path: Path) -> Expression:
    """The node at a path below another.

    Raises:
        IndexError: there is none.
    """
    for step in path:
        node = children(node)[step]
    return node


def replaced(node: Expression, path: Path, new: Expression) -> Expression:
    """With the node at a path replaced."""
    if not path:
        return new
    below = list(children(node))
    below[path[0]] = replaced(below[path[0]], path[1:], new)
    return with_children(node, below)
