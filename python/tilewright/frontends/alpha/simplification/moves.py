"""What a search may do to one reduction: each move is a few commands of `tw.alpha` and the system that they
make (Gupta and Rajopadhye, POPL 2006, sections 4 to 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import tilewright as tw

from ..domains import AffineFunction, Domain, fresh_names
from ..history import Step
from ..linear import Linear
from ..printing import domain_text
from ..rewrites.decomposing import decompose_reduction
from ..rewrites.distributing import OPERANDS, distribute_reduction
from ..rewrites.factoring import factor_out_from_reduction
from ..rewrites.isolating import normalize_reductions
from ..rewrites.places import attributes, is_pointwise, leaf_functions, top_reduction
from ..rewrites.repetitions import IDEMPOTENT, drop_repetitions
from ..rewrites.reusing import simplify_reduction
from ..rewrites.splitting_bodies import split_reduction_body
from ..tree import Binary, Equation, Expression, Reduce, Restrict, System, step, walk
from .spaces import Vector, inner_rows, reuse_vectors, rows_of, share_space

__all__ = ["Body", "Finder", "Move", "body_of", "is_scan", "is_union", "stages"]


class Move(NamedTuple):
    """A way to go on.

    Attributes:
        steps: the commands.
        system: what they make of the system.
        reductions: the variables whose equations are reductions that may be simplified further.
    """

    steps: tuple[Step, ...]
    system: System
    reductions: tuple[str, ...]


class Body(NamedTuple):
    """The body of a reduction, as the search looks at it."""

    node: Reduce
    domain: Domain
    value: Expression
    functions: list[AffineFunction]
    shared: list[tuple[int, ...]]


def body_of(system: System, name: str) -> Body:
    """The body of the reduction that defines a variable."""
    equation, node = top_reduction(system, name)
    domain = attributes(system, equation).context[(0,)].named(node.projection.indices)
    value = node.body.body if isinstance(node.body, Restrict) else node.body
    functions = leaf_functions(value, node.projection.indices) if is_pointwise(value) else []
    return Body(node, domain, value, functions, share_space(functions, domain))


class Finder:
    """Makes the moves for one reduction.

    Attributes:
        refusals: why moves were not possible, each with the vectors that it holds for.
    """

    def __init__(self, system: System, number: int, name: str, reassociate: bool) -> None:
        self.system = system
        self.number = number
        self.name = name
        self.reassociate = reassociate
        self.body = body_of(system, name)
        self.refusals: dict[str, list[str]] = {}

    @property
    def place(self) -> tuple[int, ...]:
        """The identifier of the reduction, without the number of the system."""
        for number, each in enumerate(self.system.equations):
            if isinstance(each, Equation) and each.name == self.name:
                return (number, 0)
        raise KeyError(self.name)

    def identifier(self, system: System, name: str, path: tuple[int, ...] = ()) -> str:
        for number, each in enumerate(system.equations):
            if isinstance(each, Equation) and each.name == name:
                return str([self.number, number, 0, *path])
        raise KeyError(name)

    @property
    def flag(self) -> tuple[tuple[str, bool], ...]:
        """The keyword that asks for reassociation."""
        return (("reassociate", True),) if self.reassociate else ()

    def made_by(self, system: System) -> tuple[str, ...]:
        """The variables that a system has in addition, and that are reductions."""
        known = {each.name for each in self.system.declarations}
        return tuple(
            each.name
            for each in system.equations
            if isinstance(each, Equation)
            and isinstance(each.expression, Reduce)
            and (each.name not in known or each.name == self.name)
        )

    def concerned(self, move: Move) -> set[str]:
        """The variables that a move made or changed."""
        known = {each.name for each in self.system.declarations}
        return {each.name for each in move.system.declarations} - known | {self.name}

    def refused(self, error: tw.DeclarationError, vector: Vector | None = None) -> None:
        vectors = self.refusals.setdefault(_reason(error), [])
        if vector is not None:
            vectors.append(str(list(vector)))

    def reasons(self) -> list[str]:
        """The refusals as text."""
        return [
            f"along {', '.join(vectors[:4])}: {reason}" if vectors else reason
            for reason, vectors in self.refusals.items()
        ]

    # ---- moves ----

    def union(self) -> Move | None:
        """A body of several polyhedra as a reduction for each of them."""
        parts = self.body.domain.disjoint_parts
        if len(parts) < 2:
            return None
        system, steps = self.system, list[Step]()
        path: tuple[int, ...] = ()
        for part in parts[:-1]:
            found = _reduction_with(system, self.name, part)
            if found is None:
                break
            path = found
            text = domain_text(part.named(self.body.node.projection.indices), system)
            steps.append(
                Step("SplitReductionBody", (self.identifier(system, self.name, path), text))
            )
            place = (int(self.place[0]), 0, *path)
            system = split_reduction_body(system, place, part)
        return self.isolated(system, steps) if steps else None

    def isolated(self, system: System, steps: list[Step]) -> Move:
        changed = normalize_reductions(system)
        if changed != system:
            steps = [*steps, Step("NormalizeReduction", (system.name,))]
        return Move(tuple(steps), changed, self.made_by(changed))

    def factored(self) -> Move | None:
        """A constant operand outside."""
        try:
            changed = factor_out_from_reduction(
                self.system, self.place, reassociate=self.reassociate
            )
        except tw.DeclarationError as error:
            if "reassociate" in str(error):
                self.refused(error)
            return None
        identifier = self.identifier(self.system, self.name)
        made = Step("FactorOutFromReduction", (identifier,), self.flag)
        return self.isolated(changed, [made])

    def distributed(self) -> Move | None:
        """The operands of a sum, if one of them alone has a larger share space."""
        value = self.body.value
        if (
            not isinstance(value, Binary)
            or (self.body.node.operator, value.operator) not in OPERANDS
        ):
            return None
        if not is_pointwise(value):
            return None
        indices = self.body.node.projection.indices
        spaces = [
            share_space(leaf_functions(each, indices), self.body.domain)
            for each in (value.left, value.right)
        ]
        if all(len(each) <= len(self.body.shared) for each in spaces):
            return None
        try:
            changed = distribute_reduction(self.system, self.place, reassociate=self.reassociate)
        except tw.DeclarationError as error:
            self.refused(error)
            return None
        identifier = self.identifier(self.system, self.name)
        return self.isolated(changed, [Step("DistributeReduction", (identifier,), self.flag)])

    def without_repetitions(self) -> Move | None:
        """A value that is there several times for one answer, once."""
        node = self.body.node
        if node.operator not in IDEMPOTENT:
            return None
        rows = [row for each in self.body.functions for row in rows_of(each)]
        rows += rows_of(node.projection)
        for vector in reuse_vectors(_within(self.body, rows)):
            try:
                changed = drop_repetitions(self.system, self.name, vector)
            except tw.DeclarationError:
                continue
            made = Step("DropRepetitions", (self.system.name, self.name, str(list(vector))))
            return Move((made,), changed, (self.name,))
        return None

    def reused(self) -> Iterator[Move]:
        """Scans along vectors of the share space."""
        projection = self.body.node.projection.linear_part()
        for vector in reuse_vectors(self.body.shared):
            if not any(projection.at(vector)):
                continue
            try:
                changed = simplify_reduction(
                    self.system, self.name, vector, reassociate=self.reassociate
                )
            except tw.DeclarationError as error:
                self.refused(error, vector)
                continue
            text = str(list(vector))
            made = Step("SimplifyingReduction", (self.system.name, self.name, text), self.flag)
            yield Move((made,), changed, self.made_by(changed))

    def decomposed(self) -> Iterator[Move]:
        """An inner reduction that keeps more: what an operand reads by, so that it can be factored
        out; or what makes a face of the body one that nothing leaves by."""
        node, indices = self.body.node, self.body.node.projection.indices
        operands = _functions_of_operands(self.body.value, indices)
        for rows in inner_rows(node.projection, operands, self.body.domain):
            names = fresh_names(
                [
                    each.single() or f"s{number}"
                    for number, each in enumerate(node.projection.results)
                ]
                + [each.single() or f"t{number}" for number, each in enumerate(rows)],
                set(self.system.parameters.indices),
            )
            inner = AffineFunction(indices, (*node.projection.results, *rows))
            kept = names[: len(node.projection.results)]
            outer = AffineFunction(names, tuple(map(Linear.of, kept)))
            try:
                changed = decompose_reduction(self.system, self.place, outer, inner)
            except tw.DeclarationError:
                continue
            identifier = self.identifier(self.system, self.name)
            steps = [Step("ReductionDecomposition", (identifier, str(outer), str(inner)))]
            below = (*self.place, 0)
            with_factor = self._factored_below(changed, below)
            if with_factor is not None:
                text = str([self.number, *below])
                steps.append(Step("FactorOutFromReduction", (text,), self.flag))
                changed = with_factor
            yield self.isolated(changed, steps)

    def _factored_below(self, system: System, place: tuple[int, ...]) -> System | None:
        try:
            return factor_out_from_reduction(system, place, reassociate=self.reassociate)
        except tw.DeclarationError as error:
            if "reassociate" in str(error):
                self.refused(error)
            return None


def is_union(move: Move) -> bool:
    """Whether it is one of `Finder.union`."""
    return move.steps[0].command == "SplitReductionBody"


def is_scan(move: Move) -> bool:
    """Whether it is one of `Finder.reused`."""
    return move.steps[0].command == "SimplifyingReduction"


def stages(finder: Finder) -> Iterator[Iterator[Move]]:
    """All moves, in groups: a later group is for what the earlier ones leave. A move that never costs
    anything comes alone."""
    for sure in (finder.union, finder.without_repetitions, finder.factored):
        move = sure()
        if move is not None:
            yield iter((move,))
            return
    yield finder.reused()
    distributed = finder.distributed()
    if distributed is not None:
        yield iter((distributed,))
    yield finder.decomposed()


def _within(body: Body, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """A basis of the directions within the body that the rows take to 0."""
    functions = [
        AffineFunction(
            body.node.projection.indices,
            tuple(
                Linear(dict(zip(body.node.projection.indices, row, strict=True))) for row in rows
            ),
        )
    ]
    return share_space(functions, body.domain)


def _functions_of_operands(value: Expression, indices: tuple[str, ...]) -> list[AffineFunction]:
    """For each operand of the body, and of its operands, the functions by which it reads, as one."""
    if not isinstance(value, Binary) or not is_pointwise(value):
        return []
    found: list[AffineFunction] = []
    for each in (value.left, value.right):
        found += _functions_of_operands(each, indices)
        functions = [one.named(indices) for one in leaf_functions(each, indices)]
        results = tuple(result for one in functions for result in one.results)
        found.append(AffineFunction(indices, results))
    return found


def _reduction_with(system: System, name: str, part: Domain) -> tuple[int, ...] | None:
    """The path of a reduction in the equation of a variable whose body has a part and more."""
    equation = system.equation(name)
    found = attributes(system, equation)
    for path, node in walk(equation.expression):
        if isinstance(node, Reduce):
            body = found.expression[step(path, 0)]
            if not (body & part).is_empty and not body <= part:
                return path
    return None


def _reason(error: tw.DeclarationError) -> str:
    """What an error says, without its place."""
    head, _, rest = error.message.partition(": ")
    return rest if head.startswith("line ") else error.message
