"""`scan_blocks`: a recurrence in blocks that run at once (CSU TR CS12-101, section 9.3; Merrill and Grimshaw,
"Parallel Scan for Stream Architectures", 2009).

Three phases: what each block does to the values before it, found without them; a scan over the blocks;
and the blocks themselves, each from the values before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import tilewright as tw

from ... import _core
from ...base.checks import DECLARATION, a_boolean, a_callable, a_string, an_integer, described
from ..alpha.domains import Domain
from ..alpha.layer_one import condition_of, declaration_of, expression_of, isl_domain
from ..alpha.linear import Floor, Linear
from ..alpha.presburger import Constraint
from ..alpha.spaces import bounds
from .commands import Commands
from .recurrences import Combine, Member, Recurrence, State, arrays_of, recurrence_of
from .summaries import summary_of

__all__ = ["scan_blocks"]


def scan_blocks(
    function: tw.Function,
    name: str,
    size: int,
    *,
    reassociate: bool = False,
    combine: Combine | None = None,
    of: tw.Expression | None = None,
) -> tw.Function:
    """The function with a recurrence in blocks; `Computation.scan_blocks` says all of it.

    Args:
        function: the function.
        name: the computation.
        size, reassociate, combine, of: as of the method.
    """
    if not isinstance(function, tw.Function):
        raise tw.DeclarationTypeError(f"scan_blocks takes a function, got {described(function)}")
    a_string(name, "the computation of scan_blocks", DECLARATION)
    count = an_integer(size, "the size of scan_blocks", DECLARATION, minimum=2, bits=31)
    rounding = a_boolean(reassociate, "reassociate= of scan_blocks", DECLARATION)
    if combine is not None:
        a_callable(combine, "combine= of scan_blocks", DECLARATION)
    if of is not None and (combine is None or not isinstance(of, tw.Expression)):
        raise tw.DeclarationTypeError(
            f"of= of scan_blocks is the expression that combine= combines with, got {described(of)}"
        )
    if name not in function.computations:
        raise tw.DeclarationError(
            f"{function.name} has no computation {name!r}; it has {', '.join(function.computations)}"
        )
    arrays = arrays_of(function)
    computed = {key: each for key, each in arrays.items() if each.pieces}
    exact = tw.as_dtype(computed[name].type).dtype.kind not in "fcV" if name in computed else False
    found = recurrence_of(computed, name, combine, of, together=rounding or exact)
    _require_exact(found, name, rounding)
    longest = max(state.delay for state in found.states)
    if count < 2 * longest:
        raise tw.DeclarationError(
            f"the size of scan_blocks must be at least {2 * longest}, as {name} needs its latest "
            f"{longest} values; got {count}"
        )
    return _Rewrite(function, arrays, found, count).function()


def _require_exact(found: Recurrence, name: str, reassociate: bool) -> None:
    kind = tw.as_dtype(found.first.computation.type).dtype
    rounds = kind.kind in "fcV" if found.semiring is None else found.semiring.rounds(kind)
    if found.semiring is not None and _is_extremum(found):
        rounds = False
    if found.semiring is None and found.combine is not None and kind.kind not in "fcV":
        rounds = False
    if rounds and not reassociate:
        raise tw.DeclarationError(
            f"the blocks of {name} would round its values ({kind}) differently; ask for it by "
            "reassociate=True"
        )


def _is_extremum(found: Recurrence) -> bool:
    """Whether values are only compared: a maximum is the same in any order."""
    assert found.semiring is not None
    forms = found.forms.values()
    trivial = all(not isinstance(e, tw.Expression) for f in forms for e in f.coefficients.values())
    return trivial and found.semiring.plus in ("maximum", "minimum")


@dataclass
class _Rewrite:
    """Declares the computations anew, those of the recurrence in three phases.

    Attributes:
        old: the function.
        arrays: its arrays by name.
        found: the recurrence.
        size: of a block.
        new: what was declared, by name.
    """

    old: tw.Function
    arrays: dict[str, _core.Computation]
    found: Recurrence
    size: int
    new: dict[str, tw.Computation] = field(default_factory=dict)
    carries: dict[State, tw.Computation] = field(default_factory=dict)
    firsts: dict[str, tw.Computation] = field(default_factory=dict)
    seeds: dict[str, tw.Computation] = field(default_factory=dict)
    totals: list[str] = field(default_factory=list)
    #: Those whose terms may be taken in any order.
    reductions: set[str] = field(default_factory=set)
    #: Pieces that are defined when all is declared.
    later: list[tuple[tw.Computation, Domain, _core.Expr]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.taken = set(self.arrays) | set(self.old.parameters)
        for each in self.arrays.values():
            self.taken |= set(each.iterators)
        self.parameters = list(self.old.parameters)
        self.declaration = declaration_of(self.old)
        if self.declaration.ends_by_data:
            raise tw.DeclarationError(
                f"{self.old.name} iterates until a condition holds (until=), which is not rewritten"
            )
        self.iterators = self.found.iterators
        self.axis = self.found.axis
        self.along = self.iterators[self.axis]
        self.block = self.fresh("b")
        self.block_names = tuple(
            self.block if k == self.axis else each for k, each in enumerate(self.iterators)
        )

    def fresh(self, wanted: str) -> str:
        """A name that nothing has."""
        name, number = wanted, 0
        while name in self.taken:
            name, number = f"{wanted}{number}", number + 1
        self.taken.add(name)
        return name

    # ---- the function ----

    def function(self) -> tw.Function:
        """The new function, scheduled."""
        names = self.rewired()
        for name in names:
            self.new[name] = self.declared(self.arrays[name])
        pairs = [(self.arrays[name], self.new[name]._handle) for name in names]
        self.declare_phases()
        # A first value that reads another member's reads its first one, which is there before blocks.
        first = [
            (old, self.firsts[old.name]._handle) if old.name in self.firsts else (old, made)
            for old, made in pairs
        ]
        for made, domain, value in self.later:
            self.piece(made, domain, value, first)
        for name in names:
            if name in self.found.members:
                # The first iterations that need earlier ones may be in several blocks.
                starting = first if self.found.firsts_are_steps else pairs
                self.define_member(self.found.members[name], starting, pairs)
            else:
                self.define(self.arrays[name], pairs)
        outputs = [self.output(name) for name in self.old.outputs]
        inputs = [tw.Input(self.old._array(name)) for name in self.old.inputs]
        result = tw.Function(
            self.old.name, outputs, inputs or None, self.context(), self.old.options, None
        )
        commands = Commands(
            self.old, self.arrays, self.found, self.size, self.block, self.block_names, self.totals,
            self.reductions, [each.name for each in self.carries.values()],
            [each.name for each in self.firsts.values()], self.fresh,
        )  # fmt: skip
        commands.apply(result)
        return result

    def rewired(self) -> list[str]:
        """The computations, which are declared anew."""
        kept = {name for name, each in self.arrays.items() if each.is_input or not each.pieces}
        for name in [each for each in kept if not self.arrays[each].is_input]:
            raise tw.DeclarationError(
                f"{self.old.name} has a block of code, {name}, and is not rewritten"
            )
        return [name for name in self.arrays if name not in kept]

    def output(self, name: str) -> tw.Computation:
        found = self.new.get(name)
        return tw.Computation(self.arrays[name]) if found is None else found

    def context(self) -> list[tw.Expression] | None:
        """What the function requires of its parameters."""
        condition = condition_of(self.declaration.context.parts, ())
        return None if condition is None else [condition]

    def declared(self, computation: _core.Computation) -> tw.Computation:
        """A computation of the same name and domain without a value."""
        handle = _core.declare_computation_isl(
            computation.domain.text(), computation.type, computation.extents, None
        )
        if computation.name in self.declaration.views:
            _core.make_view(handle)
        return tw.Computation(handle)

    def define(
        self, computation: _core.Computation, pairs: Sequence[tuple[_core.Computation, Any]]
    ) -> None:
        for text, value in computation.pieces:
            _core.define_piece_isl(
                self.new[computation.name]._handle, text, _core.with_producers(value, pairs)
            )

    # ---- the three phases ----

    def declare_phases(self) -> None:
        """What blocks do to the values before them, the values that are carried, and a view through
        which the first iterations of a block read those."""
        for member in self.carriers():
            if not member.firsts:
                raise tw.DeclarationError(
                    f"{member.name} is no scan that is cut into blocks: it has no branch for the first "
                    "iterations, which need no earlier one; give it one, or put what reads earlier "
                    "iterations for it into it (Inline)"
                )
        steps = self.found.firsts_are_steps
        for member in self.found.members.values() if steps else self.carriers():
            if member.firsts:
                name = self.fresh(f"{member.name}_first")
                self.firsts[member.name] = self.of_pieces(name, member, member.firsts)
        whole = self.blocks_of(self.steps)
        summary = summary_of(
            self.found,
            self.ends(),
            tuple(map(tw.iter, self.block_names)),
            lambda wanted, value: self.total(whole, wanted, value),
        )
        needed = whole & self.moved(whole, -1)
        before = needed & self.moved(needed, 1)
        for state in self.found.states:
            name = self.fresh(f"{state.computation}_carry")
            self.carries[state] = tw.computation(self.text(needed, name), dtype=self.kind)
            self.new[name] = self.carries[state]
        block = tw.iter(self.block)
        for state, carry in self.carries.items():
            earlier = {s: c[self.at(block - self.direction)] for s, c in self.carries.items()}
            starts = {s: self.start(s) for s in self.carries}
            for domain, values in ((needed - before, starts), (before, earlier)):
                if not domain.is_empty:
                    value = tw.cast(summary(state, values), self.kind)
                    carry.define(self.text(domain, carry.name), value)
        for member in self.carriers():
            self.seeds[member.name] = self.seed(member, needed)

    def carriers(self) -> list[Member]:
        """The members whose earlier values are needed."""
        names = dict.fromkeys(state.computation for state in self.found.states)
        return [self.found.members[name] for name in names]

    @property
    def kind(self) -> tw.DType:
        return tw.as_dtype(self.found.first.computation.type)

    @property
    def direction(self) -> int:
        return self.found.direction

    @property
    def steps(self) -> Domain:
        """The iterations that need earlier ones."""
        return self.found.first.stepped

    def text(self, domain: Domain, name: str) -> str:
        return isl_domain(domain, name, self.parameters)

    def along_axis(self, domain: Domain, change: str, names: Sequence[str]) -> Domain:
        """A domain with another index along the recurrence, text with ``@`` for the index."""
        old = [f"_{k}" for k in range(domain.arity)]
        new = [change.replace("@", each) if k == self.axis else each for k, each in enumerate(old)]
        change_map = tw.Map(f"{{ [{', '.join(old)}] -> [{', '.join(new)}] }}")
        return Domain(tuple(names), domain.points.apply(change_map).coalesce())

    def blocks_of(self, domain: Domain) -> Domain:
        """The blocks that have a point of a domain."""
        return self.along_axis(domain, f"floor(@/{self.size})", self.block_names)

    def moved(self, domain: Domain, blocks: int) -> Domain:
        """The blocks so many further in the direction of the recurrence."""
        return self.along_axis(domain, f"@+{blocks * self.direction}", domain.indices)

    def at(self, place: tw.Expression | int) -> tuple[Any, ...]:
        """Subscripts: the iterators, and a place along the recurrence."""
        return tuple(
            place if k == self.axis else tw.iter(each) for k, each in enumerate(self.iterators)
        )

    def limits(self) -> tuple[list[Linear], list[Linear]]:
        """The first and the last iterations that need earlier ones."""
        (part,) = self.steps.parts
        return bounds(part, self.along)

    def ends(self) -> tuple[tw.Expression, tw.Expression]:
        """The half-open range of the iterations of a block that need earlier ones."""
        lower, upper = self.limits()
        block = tw.iter(self.block)
        lows = [expression_of(each, self.iterators) for each in lower]
        highs = [expression_of(each, self.iterators) + 1 for each in upper]
        return (
            _folded(tw.maximum, [block * self.size, *lows]),
            _folded(tw.minimum, [block * self.size + self.size, *highs]),
        )

    def start(self, state: State) -> tw.Expression:
        """What a state is before the first iteration that needs it."""
        lower, upper = self.limits()
        chosen = lower if self.direction > 0 else upper
        if len(chosen) != 1:
            where = (
                f"is one of {', '.join(map(str, chosen))}, as other iterators say"
                if chosen
                else "has no affine place, as where only each second one needs an earlier one"
            )
            raise tw.DeclarationError(
                f"{state.computation} is no scan that is cut into blocks: its first iteration {where}"
            )
        place = chosen[0] - Linear(None, state.delay * self.direction)
        return self.firsts[state.computation][self.at(expression_of(place, self.iterators))]

    def of_pieces(
        self, name: str, member: Member, pieces: Sequence[tuple[Domain, _core.Expr]]
    ) -> tw.Computation:
        """A computation of some pieces of a member, where these are."""
        domain = pieces[0][0]
        for each, _ in pieces[1:]:
            domain = domain | each
        made = tw.computation(self.text(domain, name), dtype=tw.as_dtype(member.computation.type))
        for each, value in pieces:
            self.later.append((made, each, value))
        self.new[name] = made
        return made

    def total(self, blocks: Domain, wanted: str, value: tw.Expression) -> tw.Computation:
        """What a block does, or one number of it."""
        name = self.fresh(f"{self.found.first.name}_{wanted}")
        made = tw.computation(self.text(blocks, name), dtype=self.kind)
        self.later.append((made, blocks, tw.cast(value, self.kind)._handle))
        self.new[name] = made
        self.totals.append(name)
        if value._handle.kind == "reduce":
            self.reductions.add(name)
        return made

    def positions(self, domain: Domain, first: int, last: int) -> Domain:
        """The points whose position in their block, in the direction of the recurrence, is within two."""
        size, place = self.size, Linear.of(self.along)
        position = place - Linear({Floor(place, size): size})
        if self.direction < 0:
            position = Linear(None, size - 1) - position
        limits = [
            Constraint(position - Linear(None, first), False),
            Constraint(Linear(None, last) - position, False),
        ]
        return domain & Domain.where(domain.indices, [limits])

    @property
    def longest(self) -> int:
        """How many iterations back values are needed."""
        return max(state.delay for state in self.found.states)

    def seed(self, member: Member, needed: Domain) -> tw.Computation:
        """What the first iterations of a block read of a member: its first values, what the block
        before leaves, and what the block itself has computed."""
        name = self.fresh(f"{member.name}_before")
        here = self.at(tw.iter(self.along))
        starts = member.domain - self.steps
        pieces = [(starts, self.firsts[member.name][here])]
        near = self.positions(self.steps, 0, self.longest - 1)
        pieces.append((near, self.new[member.name][here]))
        for state, carry in self.carries.items():
            if state.computation == member.name:
                place = self.size - state.delay
                far = self.positions(self.steps, place, place) & self.blocks_as_points(needed)
                pieces.append((far, carry[self.at(tw.iter(self.along) // self.size)]))
        domain = pieces[0][0]
        for each, _ in pieces[1:]:
            domain = domain | each
        view = tw.view(self.text(domain, name), dtype=tw.as_dtype(member.computation.type))
        for each, value in pieces:
            if not each.is_empty:
                view.define(self.text(each, name), value)
        return view

    def blocks_as_points(self, blocks: Domain) -> Domain:
        """The points of blocks."""
        old = [f"_{k}" for k in range(blocks.arity)]
        cut = [f"floor({e}/{self.size})" if k == self.axis else e for k, e in enumerate(old)]
        cutting = tw.Map(f"{{ [{', '.join(old)}] -> [{', '.join(cut)}] }}")
        return Domain(tuple(self.iterators), blocks.points.apply(cutting.reverse()))

    def define_member(
        self,
        member: Member,
        starting: Sequence[tuple[_core.Computation, _core.Computation]],
        pairs: Sequence[tuple[_core.Computation, _core.Computation]],
    ) -> None:
        """The pieces of a member; those that read earlier values, apart at the start of a block.

        Args:
            member: the member.
            starting: what stands for the computations in its first iterations.
            pairs: what stands for them in the others.
        """
        made = self.new[member.name]
        for domain, value in member.firsts:
            self.piece(made, domain, value, starting)
        seeds = [
            (self.arrays[name], self.seeds[name]._handle) if name in self.seeds else (old, new)
            for (old, new), name in ((pair, pair[0].name) for pair in pairs)
        ]
        for domain, value in member.steps:
            first = self.positions(domain, 0, self.longest - 1)
            self.piece(made, first, value, seeds)
            self.piece(made, domain - first, value, pairs)

    def piece(
        self,
        made: tw.Computation,
        domain: Domain,
        value: _core.Expr,
        pairs: Sequence[tuple[_core.Computation, _core.Computation]],
    ) -> None:
        if not domain.is_empty:
            text = self.text(domain, made.name)
            _core.define_piece_isl(made._handle, text, _core.with_producers(value, pairs))


def _folded(function: Callable[..., Any], values: Sequence[Any]) -> Any:
    result = values[0]
    for each in values[1:]:
        result = function(result, each)
    return result
