"""The verifier: whether a target mapping is legal, and why not (CSU TR CS12-101, section 8).

Dependence by dependence and dimension by dimension; then parallel dimensions, reductions, tiling and
memory. Nothing is raised for a mapping that is not legal: the answer is a value that says where and shows two
instances.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import tilewright as tw

from ...base.checks import described
from .mapping.landing import clearing_place
from .mapping.plans import Plan, Statement, plan_of
from .mapping.running import whole_system
from .program import Program
from .verifying.answers import (
    DependenceVerdict,
    DimensionVerdict,
    Instance,
    MemoryVerdict,
    Problem,
    Verification,
    Witness,
)
from .verifying.causality import dependence_verdict, pair_of
from .verifying.dependences import Flow, accumulations, answers_map, flows_of
from .verifying.memory import memory_rank, memory_verdicts, overwritten_outputs
from .verifying.orders import Order, OrderOfAnyTiles, Timed

__all__ = [
    "DependenceVerdict",
    "DimensionVerdict",
    "Instance",
    "MemoryVerdict",
    "Problem",
    "Verification",
    "VerifyTargetMapping",
    "Witness",
    "verify",
]


def verify(program: Program, system: str | None = None) -> Verification:
    """Whether the target mapping of a system is legal::

        p = tw.alpha.SetSTMap(p, "A", "(t,i -> t,i)")
        p = tw.alpha.SetSTMap(p, "Aout", "(i -> T-1,i)")
        answer = tw.alpha.verify(p)
        bool(answer)                        # False
        print(answer)                       # a table, and what is wrong

    Checked are: each dependence, by dimension: strictly satisfied, weakly, violated; that parallel
    dimensions carry none, and that loops are not both parallel and sequential; that no two instances of
    a variable have one time; reductions, as one operation or term by term; that tiled dimensions are
    permutable; that memory keeps values until they are read, with modulo factors, and in the order of tiles.

    Args:
        program: the program.
        system: the name, where there are several.

    Returns:
        the answer, which is true if the mapping is legal.

    Raises:
        DeclarationError: the name of the system is left out, and there are several.
        KeyError: there is no such system.

    Source: CSU TR CS12-101, section 8.
    """
    if not isinstance(program, Program):
        raise tw.DeclarationTypeError(
            f"verify takes a program that tw.alpha.load made, not {type(program).__name__}"
        )
    if system is None:
        if len(program) != 1:
            raise tw.DeclarationError(
                f"verify: say which system is meant; there are {', '.join(program)}"
            )
        system = next(iter(program))
    mapping = program.mapping(system)
    whole = whole_system(program.tree, system)
    try:
        plan = plan_of(whole, mapping)
    except tw.DeclarationError as error:
        return Verification(system, problems=(Problem(error.message),))
    return _Verifier(plan, system).answer()


def VerifyTargetMapping(
    program: Program, system: str | None = None, verbosity: int = 1
) -> Verification:
    """`verify`, printed.

    Args:
        program: the program.
        system: the name, where there are several.
        verbosity: 0 prints whether the mapping is legal, 1 what is wrong, 2 all dependences.
    """
    answer = verify(program, system)
    if isinstance(verbosity, bool) or not isinstance(verbosity, int):
        raise tw.DeclarationTypeError(
            f"the verbosity must be 0, 1 or 2, got {described(verbosity)}"
        )
    if verbosity >= 2:
        print(answer)
    else:
        print(f"{answer.system}: {'legal' if answer else 'not legal'}")
        for each in answer.violations if verbosity else ():
            print(each)
    return answer


class _Verifier:
    def __init__(self, plan: Plan, name: str) -> None:
        self.plan = plan
        self.name = name
        self.parameters = plan.system.parameters.indices
        self.untiled = {
            each.variable: Timed(each.variable, each.domain, each.times, each.types)
            for each in plan.statements.values()
        }
        tiling = plan.mapping.tiling
        self.any_sizes = [] if tiling is None or not tiling.names else [
            plan.place(each) for each in tiling.dimensions
        ]  # fmt: skip
        self.timed = self.untiled if self.any_sizes else {
            each.variable: Timed(each.variable, each.domain, *plan.tiled(each))
            for each in plan.statements.values()
        }  # fmt: skip
        self.orders: dict[tuple[str, str, bool], Order] = {}

    def order(self, first: str, second: str, tiled: bool = False) -> Order:
        key = (first, second, tiled)
        if key not in self.orders:
            timed = self.timed if tiled else self.untiled
            self.orders[key] = (
                OrderOfAnyTiles(timed[first], timed[second], self.any_sizes)
                if tiled and self.any_sizes
                else Order(timed[first], timed[second])
            )
        return self.orders[key]

    def answer(self) -> Verification:
        flows = list(flows_of(self.plan))
        dependences = [self.dependence(flow) for flow in flows]
        for each in self.plan.statements.values():
            if each.in_body:
                dependences.append(self.accumulation(each))
        # Tiles of named sizes have their sums cleared before all loops (`c.tiled`).
        cleared = {
            each.variable: 0 if self.any_sizes else clearing_place(self.plan, each)
            for each in self.plan.statements.values()
            if each.in_body
        }
        memory = memory_verdicts(
            self.plan, flows, self.timed, lambda one, other: self.order(one, other, True), cleared
        )
        overwritten = overwritten_outputs(
            self.plan, self.timed, lambda one, other: self.order(one, other, True), cleared
        )
        problems = (*self.problems(), *overwritten)
        return Verification(self.name, tuple(dependences), tuple(memory), problems)

    def dependence(self, flow: Flow) -> DependenceVerdict:
        tiling = self.plan.mapping.tiling
        return dependence_verdict(
            flow.consumer, flow.producer, flow.text, "read", flow.relation,
            self.order(flow.consumer, flow.producer), self.plan.labels,
            list(map(str, tiling.dimensions)) if tiling else [], self.plan.system.context,
        )  # fmt: skip

    def accumulation(self, statement: Statement) -> DependenceVerdict:
        """Terms of one answer are added one after the other, in any order: parallel loops must not
        carry them, and tiles may reorder them unless they run in parallel."""
        name = statement.variable
        pairs = accumulations(statement, self.order(name, name))
        row = dependence_verdict(
            name, name, f"{name}'s terms", "accumulation", pairs, self.order(name, name),
            self.plan.labels, [], self.plan.system.context,
        )  # fmt: skip
        if self.plan.mapping.tiling is None or row.verdict == "violated":
            return row
        order = self.order(name, name, True)
        answers = answers_map(statement)
        left = answers.then(answers.reverse())
        if self.any_sizes:
            return self.accumulation_in_any_tiles(row, left)
        for place in range(len(order.first.times)):
            same = left & order.where("equal", place)
            if order.is_parallel(place) and (raced := left - same):
                witness = pair_of(self.order(name, name), raced, self.parameters)
                dimensions = self.plan.mapping.tiling.dimensions
                return _with_untileable(row, str(dimensions[0]), witness)
            left = same
        return row

    def accumulation_in_any_tiles(self, row: DependenceVerdict, left: tw.Map) -> DependenceVerdict:
        """Tiles of one wave must not add to one answer, whatever their sizes: of two terms of one answer, one
        is later in no tiled dimension."""
        tiling = self.plan.mapping.tiling
        if tiling is None or tiling.kind != "wavefront":
            return row
        order = self.order(row.consumer, row.consumer)
        for place in range(self.any_sizes[0]):
            left = left & order.where("equal", place)
        later = earlier = left - left
        for place in self.any_sizes:
            later = later | (left & order.where("greater", place))
            earlier = earlier | (left & order.where("less", place))
        if raced := later & earlier:
            witness = pair_of(order, raced, self.parameters)
            return _with_untileable(row, str(tiling.dimensions[0]), witness)
        return row

    # ---- what is no dependence ----

    def problems(self) -> Iterator[Problem]:
        for each in self.plan.statements.values():
            yield from self.one_time_each(each)
            yield from self.constant_orders(each)
        yield from self.one_type_of_loop()
        yield from self.one_shape_of_memory()

    def one_time_each(self, statement: Statement) -> Iterator[Problem]:
        name = statement.variable
        times = self.untiled[name].map
        both = times.then(times.reverse()) - statement.domain.points.identity()
        if both:
            witness = pair_of(self.order(name, name), both, self.parameters)
            assert witness is not None
            first, second = witness.instances
            yield Problem(
                f"the space-time map of {name} gives two instances one time: {first} and "
                f"{second.variable}[{', '.join(map(str, second.point))}]", witness,
            )  # fmt: skip

    def constant_orders(self, statement: Statement) -> Iterator[Problem]:
        indices = set(statement.domain.indices)
        for label, time, kind in zip(
            self.plan.labels, statement.times, statement.types, strict=True
        ):
            if kind == "ordering" and time.names() & indices:
                yield Problem(
                    f"dimension {label} is an ordering dimension, but {statement.variable} is at "
                    f"{time} in it, which is no constant"
                )

    def one_type_of_loop(self) -> Iterator[Problem]:
        """What shares the constants of the ordering dimensions in front of a dimension is one loop
        (section 8.2.2)."""
        for first, second in combinations(self.plan.statements.values(), 2):
            for place, label in enumerate(self.plan.labels):
                kinds = first.types[place], second.types[place]
                if "ordering" in kinds:
                    if first.times[place] != second.times[place]:
                        break
                    continue
                if len(set(kinds)) > 1 and label.isdigit():
                    yield Problem(
                        f"dimension {label} is {kinds[0]} for {first.variable} and {kinds[1]} for "
                        f"{second.variable}, which share its loop: their ordering dimensions are "
                        "the same"
                    )

    def one_shape_of_memory(self) -> Iterator[Problem]:
        spaces = self.plan.spaces
        for space in sorted(set(spaces.values())):
            counts = {
                name: memory_rank(self.plan, name) for name, own in spaces.items() if own == space
            }
            if len(set(counts.values())) > 1:
                listed = ", ".join(f"{name} {count}" for name, count in counts.items())
                yield Problem(f"memory {space} has several numbers of dimensions: {listed}")


def _with_untileable(
    row: DependenceVerdict, dimension: str, witness: Witness | None
) -> DependenceVerdict:
    return DependenceVerdict(
        row.consumer, row.producer, row.text, row.kind, row.relation, row.dimensions,
        row.unordered, row.unordered_witness, ((dimension, witness),),
    )  # fmt: skip
