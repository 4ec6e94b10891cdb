"""`simplify_reductions`: fewer operations, found without being told how.

Gupta and Rajopadhye, "Simplifying Reductions", POPL 2006. The share spaces, the reuse vectors, the inner
reductions that operands or faces ask for, and the order of all that are found by a search; what it answers
with are commands of `tw.alpha`, which check what they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import tilewright as tw

from ....base.checks import DECLARATION, a_boolean, an_integer, described
from ..history import Rewrites, Step
from ..program import Program
from ..rewrites.composing import is_composable
from ..tree import Case, Equation, Expression, Reduce, Restrict, System, walk
from .counting import Operations, operations_of_system
from .search import Search, Sizes

__all__ = ["Simplification", "SimplifiedSystem", "simplify_reductions"]


@dataclass(frozen=True)
class SimplifiedSystem:
    """What became of one system.

    Attributes:
        before: its operations, as polynomials of its parameters.
        after: those of the simplified system.
        kept: why reductions stay as they are, by the variables that they define.
    """

    before: Operations
    after: Operations
    kept: dict[str, tuple[str, ...]]


class Simplification(NamedTuple):
    """What `simplify_reductions` answers with.

    Attributes:
        program: the simplified program; the one that was given if nothing is gained.
        report: what was done, and why no more.
    """

    program: Program
    report: Report


class Report:
    """What `simplify_reductions` did; printed, in words.

    Attributes:
        systems: for each system that was looked at, its operations before and after, and why reductions
            stay as they are.
        rewrites: the commands that make the new program out of the old one.
    """

    __slots__ = ("rewrites", "systems")

    def __init__(self, systems: dict[str, SimplifiedSystem], rewrites: Rewrites) -> None:
        self.systems = systems
        self.rewrites = rewrites

    def _only(self, what: str) -> SimplifiedSystem:
        if len(self.systems) != 1:
            raise tw.DeclarationError(
                f"{what}: {len(self.systems)} systems were looked at; ask report.systems[...] for one "
                f"of {', '.join(self.systems)}"
            )
        return next(iter(self.systems.values()))

    @property
    def before(self) -> Operations:
        """The operations of the system as it was."""
        return self._only("before").before

    @property
    def after(self) -> Operations:
        """The operations of the simplified system."""
        return self._only("after").after

    def __str__(self) -> str:
        lines: list[str] = []
        for name, each in self.systems.items():
            lines += [
                f"system {name}",
                f"  operations before: {each.before}",
                f"  operations after:  {each.after}",
            ]
            for variable, reasons in each.kept.items():
                lines += [f"  {variable} stays as it is: {reason}" for reason in reasons]
        lines += [str(step) for step in self.rewrites]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def simplify_reductions(
    program: Program, system: str | None = None, *, reassociate: bool = False, limit: int = 300
) -> Simplification:
    """Reductions as scans wherever neighbouring answers share values, to the lowest number of operations
    that a search finds::

        X[i] = reduce(+, [j], {| 0<=j<=i} : A[j]);                 // N*(N+1)/2 additions

        X[i] = case {| i==0} : X_add; {| i>=1} : X_add + X[i-1]; esac;   // N - 1
        X_add[i] = A[i];

    Example:
        >>> q, report = tw.alpha.simplify_reductions(p)
        >>> print(report.after)
        [N] -> { (-1 + N) : N > 0 }
        >>> report.rewrites.apply_to(p) == q
        True

    Args:
        program: the program.
        system: the name of one system; all of them unless given.
        reassociate: whether sums and products of fractions may be rounded differently.
        limit: the most moves that the search looks at in a system.

    Returns:
        the new program, and a report: the operations before and after, the commands, and for each
        reduction that stays the reason. A program in which nothing is gained stays as it is.

    Raises:
        DeclarationTypeError: this is no program.
        KeyError: there is no system of this name.

    Source: Gupta and Rajopadhye, "Simplifying Reductions", POPL 2006.
    """
    if not isinstance(program, Program):
        raise tw.DeclarationTypeError(
            f"simplify_reductions takes an Alpha program, got {described(program)}; "
            "tw.alpha.program_of(f) is the program of a function"
        )
    rounding = a_boolean(reassociate, "reassociate= of simplify_reductions", DECLARATION)
    most = an_integer(limit, "limit= of simplify_reductions", DECLARATION, minimum=1)
    names = list(program) if system is None else [program.system(system).name]
    done: dict[str, SimplifiedSystem] = {}
    result, steps = program, list[Step]()
    for name in names:
        before = operations_of_system(program.system(name), program.tree)
        result, own, done[name] = _simplified(result, name, before, rounding, most)
        steps += own
    return Simplification(result, Report(done, Rewrites(steps)))


def _simplified(
    program: Program, name: str, before: Operations, reassociate: bool, limit: int
) -> tuple[Program, list[Step], SimplifiedSystem]:
    prepared, steps = _prepared(program, name)
    number = list(prepared).index(name)
    system = prepared.system(name)
    search = Search(prepared, number, Sizes(system), reassociate, limit)
    declared, changed = _reductions(system), set[str]()
    for variable in declared:
        # What costs no more than writing the answers is of no higher order.
        search.negligible = 1.5 * search.sizes.count(system.declaration(variable).domain)
        plan = search.best(system, variable)
        if plan.steps:
            changed.add(variable)
        system = plan.system
        steps += plan.steps
    kept = {
        variable: tuple(dict.fromkeys(search.reasons.get(variable, ())))
        for variable in declared
        if variable not in changed
    }
    if changed:
        steps.append(Step("Simplify", (name,)))
        result = Rewrites(steps).apply_to(program)
        after = operations_of_system(result.system(name), result.tree)
        if _is_less(after, before, search.sizes):
            return result, steps, SimplifiedSystem(before, after, kept)
    after = operations_of_system(program.system(name), program.tree)
    return program, [], SimplifiedSystem(before, after, kept)


def _is_less(after: Operations, before: Operations, sizes: Sizes) -> bool:
    def value(operations: Operations) -> float:
        known = set(operations.points.parameters)
        return operations(**{n: v for n, v in sizes.values.items() if n in known})

    return value(after) < value(before)


def _reductions(system: System) -> list[str]:
    return [
        each.name
        for each in system.equations
        if isinstance(each, Equation) and isinstance(each.expression, Reduce)
    ]


# ---- before the search ----


def _prepared(program: Program, name: str) -> tuple[Program, list[Step]]:
    """Reductions at the top of equations, each of a body without cases and reductions."""
    steps: list[Step] = []

    def do(command: str, *arguments: object) -> None:
        nonlocal program
        step = Step(command, arguments)
        program = step.run(program)
        steps.append(step)

    number = list(program).index(name)
    tried: set[tuple[int, ...]] = set()
    while True:
        place = next((p for p in _composable(program.system(name)) if p not in tried), None)
        if place is None:
            break
        tried.add(place)
        try:
            do("ReductionComposition", str([number, *place]))
            tried.clear()
        except tw.DeclarationError:  # a conversion between the two
            continue
    if any(map(_has_cases, _bodies(program.system(name)))):
        do("Normalize", name)
    if _is_nested(program.system(name)):
        do("NormalizeReduction", name)
    for variable in _reductions(program.system(name)):
        body = next(_bodies(program.system(name), variable))
        if isinstance(body, Case):
            try:
                do("PermutationCaseReduce", name, variable)
            except tw.DeclarationError:  # it has no points that are needed
                continue
    return program, steps


def _composable(system: System) -> Iterator[tuple[int, ...]]:
    for number, each in enumerate(system.equations):
        if isinstance(each, Equation):
            for path, node in walk(each.expression):
                if isinstance(node, Reduce) and is_composable(node):
                    yield (number, 0, *path)


def _bodies(system: System, name: str | None = None) -> Iterator[Expression]:
    for each in system.equations:
        if isinstance(each, Equation) and name in (None, each.name):
            for _, node in walk(each.expression):
                if isinstance(node, Reduce):
                    yield node.body


def _has_cases(body: Expression) -> bool:
    """Whether there is a case, or a restriction that is not at the top."""
    inner = body.body if isinstance(body, Restrict) else body
    return any(isinstance(node, Case | Restrict) for _, node in walk(inner))


def _is_nested(system: System) -> bool:
    return any(
        isinstance(node, Reduce) and path
        for each in system.equations
        if isinstance(each, Equation)
        for path, node in walk(each.expression)
    )
