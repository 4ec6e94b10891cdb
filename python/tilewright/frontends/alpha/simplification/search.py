"""The search: which moves, in which order, leave the fewest operations.

Dynamic programming over the reductions that a move leaves behind (Gupta and Rajopadhye, POPL 2006,
section 6), with operations counted exactly at one large size of the parameters. It is bounded by a number
of moves; what it has found by then is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import tilewright as tw

from ..attributes import variables_read
from ..domains import Domain
from ..history import Step
from ..program import Program
from ..tree import Equation, Reduce, System
from .counting import operations_of_equation
from .moves import Finder, Move, is_scan, is_union, stages

__all__ = ["Plan", "Search", "Sizes"]

#: So many moves of a stage are followed.
_MOST = 5


class Sizes:
    """Values of the parameters at which costs are compared, and counts there.

    Attributes:
        values: of the parameters.
    """

    def __init__(self, system: System) -> None:
        self.values = _large_sizes(system)
        self._known: dict[str, float] = {}

    def count(self, domain: Domain) -> float:
        """The number of points of a domain."""
        key = str(domain.points)
        if key not in self._known:
            self._known[key] = self._counted(domain)
        return self._known[key]

    def _counted(self, domain: Domain) -> float:
        try:
            size = domain.points.cardinality()
            return float(size({name: self.values[name] for name in size.parameters}))
        except tw.SetError:
            pass
        try:
            return float(domain.points.fix(self._given(domain)).count())
        except (tw.SetError, tw.AnalysisLimitError):
            return float("inf")

    def _given(self, domain: Domain) -> dict[str, int]:
        return {n: v for n, v in self.values.items() if n in domain.points.parameters}

    def cost(self, system: System, name: str) -> float:
        """The operations of the equation of a variable. What copies costs a little, too."""
        equation = system.equation(name)
        counted = operations_of_equation(system, equation)
        copies = self.count(system.declaration(name).domain)
        return sum(map(self.count, counted)) + copies / 16


def _large_sizes(system: System) -> dict[str, int]:
    names = system.parameters.indices
    for least in (1000, 200, 40, 10, 4):
        rows = " and ".join(f"{name} >= {least + number}" for number, name in enumerate(names))
        point = tw.Set(f"[{', '.join(names)}] -> {{ [] : {rows or 'true'} }}")
        found = point.intersect_params(system.context).sample()
        if found is not None:
            return {name: found.parameters.get(name, least) for name in names}
    found = tw.Set(f"[{', '.join(names)}] -> {{ [] }}").intersect_params(system.context).sample()
    return {name: found.parameters.get(name, 1) if found else 1 for name in names}


@dataclass(frozen=True)
class Plan:
    """What the search proposes for some reductions.

    Attributes:
        system: what comes out.
        steps: the commands.
        cost: the operations of the equations concerned.
    """

    system: System
    steps: tuple[Step, ...]
    cost: float


@dataclass
class Search:
    """The search in one program.

    Attributes:
        program: the program.
        number: of the system in it.
        reassociate: whether sums of fractions may be rounded differently.
        limit: the most moves that are looked at.
        negligible: reductions of fewer operations stay.
        reasons: why reductions stay as they are, by the variable.
    """

    program: Program
    number: int
    sizes: Sizes
    reassociate: bool
    limit: int
    negligible: float = 0.0
    looked_at: int = 0
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def best(self, system: System, name: str) -> Plan:
        """The reduction of a variable, simplified as far as it goes."""
        plain = Plan(system, (), self.sizes.cost(system, name))
        if not isinstance(system.equation(name).expression, Reduce):
            return plain
        if plain.cost <= self.negligible:
            return plain
        finder = Finder(system, self.number, name, self.reassociate)
        # Below some operations for each answer there is nothing to gain.
        least = 12 * self.sizes.count(system.declaration(name).domain)
        best = plain
        for moves in stages(finder):
            for move in self._promising(finder, moves, plain.cost):
                plan = self._followed(finder, move)
                # A loop over one of several polyhedra does no work for the others.
                bound = best.cost * (1.1 if is_union(move) and best is plain else 0.999)
                if plan.cost < bound and self._is_causal(plan.system, name, system):
                    best = plan
                if best.cost <= least:
                    return best
        if best is plain:
            self.reasons[name] = self._reasons(finder)
        return best

    def _promising(self, finder: Finder, moves: Iterator[Move], cost: float) -> list[Move]:
        """The moves that leave the least behind, those first."""
        found: list[tuple[float, int, Move]] = []
        for move in moves:
            self.looked_at += 1
            left = self._cost_of(finder, move)
            if not is_scan(move) or left < cost:
                found.append((left, len(found), move))
            if self.looked_at >= self.limit:
                break
        return [move for _, _, move in sorted(found, key=lambda one: one[:2])[:_MOST]]

    def _cost_of(self, finder: Finder, move: Move) -> float:
        return sum(self.sizes.cost(move.system, each) for each in finder.concerned(move))

    def _followed(self, finder: Finder, move: Move) -> Plan:
        """A move, and all reductions that it leaves simplified in turn."""
        system, steps, cost = move.system, list(move.steps), 0.0
        for each in move.reductions:
            if self.looked_at < self.limit:
                plan = self.best(system, each)
            else:
                plan = Plan(system, (), self.sizes.cost(system, each))
            system, cost = plan.system, cost + plan.cost
            steps += plan.steps
        others = finder.concerned(move) - set(move.reductions)
        cost += sum(self.sizes.cost(move.system, each) for each in others)
        return Plan(system, tuple(steps), cost)

    def _is_causal(self, changed: System, name: str, before: System) -> bool:
        """Whether nothing needs itself. Only what depends on itself before can afterwards."""
        if name not in _reachable(before, name):
            return True
        try:
            self.program.with_system(changed)[changed.name]
        except tw.TilewrightError as error:
            self.reasons.setdefault(name, []).append(f"values would need themselves: {error}")
            return False
        return True

    def _reasons(self, finder: Finder) -> list[str]:
        body = finder.body
        told = list(self.reasons.get(finder.name, []))
        if not body.shared:
            reads = ", ".join(sorted({str(each) for each in body.functions}))
            told.append(f"its body reads by {reads}, which change in every direction within it")
        elif all(not any(body.node.projection.linear_part().at(v)) for v in body.shared):
            told.append(
                f"its body stays the same along {_shown(body.shared)} only, where the answer "
                "stays the same, too"
            )
        return [*told, *finder.reasons()] or ["no move leaves fewer operations"]


def _shown(vectors: Sequence[Sequence[int]]) -> str:
    return ", ".join(str(list(each)) for each in vectors)


def _reachable(system: System, name: str) -> set[str]:
    """The variables that the value of one depends on."""
    reads: dict[str, set[str]] = {}
    for each in system.equations:
        read = variables_read(system, each)
        for made in (each.name,) if isinstance(each, Equation) else each.outputs:
            reads[made] = read
    found: set[str] = set()
    pending = [name]
    while pending:
        for read_name in reads.get(pending.pop(), set()) - found:
            found.add(read_name)
            pending.append(read_name)
    return found
