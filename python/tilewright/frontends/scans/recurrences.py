"""Recognising recurrences in Layer I: which computations carry values from one iteration to the next, along
which iterator, and the linear form of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import tilewright as tw

from ... import _core
from ..alpha.domains import Domain, witness_text
from ..alpha.layer_one import condition_of, domain_of, linear_of, unnamed
from ..alpha.linear import Linear
from .semirings import ONE, SEMIRINGS, Entry, Form, Repeated, Semiring, times, valued

__all__ = ["Member", "Recurrence", "State", "arrays_of", "producers_of", "recurrence_of"]

Combine = Callable[[tw.Expression, tw.Expression], tw.Expression]

#: The most values of earlier iterations that a recurrence may need.
_MOST_STATES = 8


@dataclass(frozen=True)
class State:
    """A value that the next iteration needs: that of a computation so many iterations before."""

    computation: str
    delay: int


@dataclass
class Member:
    """A computation of a recurrence.

    Attributes:
        computation: as it was declared.
        domain: all of it.
        steps: the pieces that need earlier iterations, over their domains.
        firsts: the other pieces.
    """

    computation: _core.Computation
    domain: Domain
    steps: list[tuple[Domain, _core.Expr]] = field(default_factory=list)
    firsts: list[tuple[Domain, _core.Expr]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.computation.name

    @property
    def stepped(self) -> Domain:
        """Where it needs earlier iterations."""
        result = self.steps[0][0]
        for part, _ in self.steps[1:]:
            result = result | part
        return result


@dataclass
class Recurrence:
    """Computations that need each other's earlier values along one iterator.

    Attributes:
        members: by name, in an order in which those of one iteration can be computed.
        axis: the number of the iterator.
        direction: 1 if what is needed comes before, -1 if behind.
        states: what one iteration needs of those before it.
        semiring: in which the steps are linear; None for an associative operation alone.
        forms: of each state, the step.
        combine: the associative operation, and `operand`, what is combined with the state.
    """

    members: dict[str, Member]
    axis: int
    direction: int
    states: list[State]
    semiring: Semiring | None = None
    forms: dict[State, Form] = field(default_factory=dict)
    combine: Combine | None = None
    operand: tw.Expression | None = None

    @property
    def first(self) -> Member:
        """One that carries a value."""
        return self.members[self.states[0].computation]

    @property
    def firsts_are_steps(self) -> bool:
        """Whether some first iterations need earlier ones."""
        return any(
            node.producer is not None
            and node.producer.name in self.members
            and place_of(node, member.computation.iterators) != (0, 0)
            for member in self.members.values()
            for _, value in member.firsts
            for node in value.nodes()
        )

    @property
    def iterators(self) -> list[str]:
        """The names of the iterators, outermost first."""
        return list(self.first.computation.iterators)


def producers_of(computation: _core.Computation) -> Iterator[_core.Computation]:
    """What the pieces of a computation read."""
    for _, value in computation.pieces:
        for node in value.nodes():
            if node.producer is not None:
                yield node.producer


def arrays_of(function: tw.Function) -> dict[str, _core.Computation]:
    """All inputs and computations of a function by name, views among them, what is read first."""
    found: dict[str, _core.Computation] = {}
    seen: set[str] = set()

    def visit(start: _core.Computation) -> None:
        pending: list[tuple[_core.Computation, bool]] = [(start, False)]
        while pending:
            computation, is_done = pending.pop()
            if is_done:
                found[computation.name] = computation
                continue
            if computation.name in seen:
                continue
            seen.add(computation.name)
            pending.append((computation, True))
            for _, value in computation.pieces:
                for node in value.nodes():
                    if node.producer is not None and node.producer.name not in seen:
                        pending.append((node.producer, False))

    for name in (*function.inputs, *function.computations, *function.outputs):
        visit(function._array(name))
    return found


def in_its_direction(computations: dict[str, _core.Computation], name: str) -> list[str] | None:
    """Loops of a computation that run as it needs them, if it is a recurrence that runs backwards: that of its
    iterator the other way round. None of others."""
    reads = {each: {p.name for p in producers_of(one)} for each, one in computations.items()}
    own = _component(reads, name)
    if not own:
        return None
    try:
        found = _recurrence(computations, own, own, name)
    except tw.DeclarationError:
        return None
    if found.direction > 0:
        return None
    loops = list(computations[name].iterators)
    loops[found.axis] = f"-{loops[found.axis]}"
    return loops


def recurrence_of(
    computations: dict[str, _core.Computation],
    name: str,
    combine: Combine | None,
    of: tw.Expression | None,
    together: bool,
) -> Recurrence:
    """The recurrence that a computation is in.

    Args:
        computations: of a function, by name.
        name: of the computation.
        combine, of: the associative operation that the caller knows.
        together: whether recurrences that it reads may become part of it, if all are linear in one
            semiring: one scan of two values reads and writes less than two scans do.

    Raises:
        DeclarationError: it is in none, or in one of another kind; the message says what is in the way.
    """
    reads = {
        each: {producer.name for producer in producers_of(computation)}
        for each, computation in computations.items()
    }
    own = _component(reads, name)
    if not own:
        raise _refusal(name, "it does not need earlier values of its own")
    whole = set(own)
    for each in [each for each in computations if together and combine is None]:
        if any(each in reads[reader] for reader in whole):
            whole |= _component(reads, each)
    if whole != own:
        try:
            found = _recurrence(computations, whole, own, name)
            if _solve(found):
                return found
        except tw.DeclarationError:
            pass  # then each is a scan of its own
    found = _recurrence(computations, own, own, name)
    if combine is not None or not _solve(found):
        _solve_by(found, name, combine, of)
    return found


def _recurrence(
    computations: dict[str, _core.Computation], names: set[str], own: set[str], name: str
) -> Recurrence:
    """The computations as a recurrence of which nothing is known yet but its states."""
    members = _members(computations, names, own)
    carried: dict[str, int] = {}
    ways: set[tuple[int, int]] = set()
    for member in members.values():
        for axis, delay, producer in _accesses(members, member, name):
            if delay:
                ways.add((axis, 1 if delay > 0 else -1))
                carried[producer] = max(carried.get(producer, 0), abs(delay))
    if len(ways) != 1:
        raise _refusal(name, "it needs values along several iterators or in both directions")
    ordered = _in_order(members, name)
    axis, direction = ways.pop()
    states = [
        State(each, delay)
        for each in ordered
        if each in carried
        for delay in range(1, carried[each] + 1)
    ]
    if len(states) > _MOST_STATES:
        raise _refusal(
            name,
            f"an iteration needs {len(states)} earlier values, of which {_MOST_STATES} are the most",
        )
    found = Recurrence({each: members[each] for each in ordered}, axis, direction, states)
    _begin_with_all_states(found)
    _require_one_start(found, name)
    return found


def _refusal(name: str, reason: str) -> tw.DeclarationError:
    return tw.DeclarationError(f"{name} is no scan: {reason}")


def _component(reads: dict[str, set[str]], name: str) -> set[str]:
    """The computations that the named one needs and that need it; none if it does not need itself."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        pending = list(reads[start])
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending += reads.get(each, ())
        return seen

    return {each for each in reach(name) if each in reads and name in reach(each)}


def _members(
    computations: dict[str, _core.Computation], names: set[str], own: set[str]
) -> dict[str, Member]:
    """The named computations; those that are not in `own` come first."""
    found: dict[str, Member] = {}
    for each in sorted((e for e in computations if e in names), key=lambda e: e in own):
        computation = computations[each]
        member = Member(computation, domain_of(computation))
        for text, value in computation.pieces:
            domain = unnamed(text, each, computation.iterators)
            read = [
                (node.producer.name, place_of(node, computation.iterators))
                for node in value.nodes()
                if node.producer is not None and node.producer.name in names
            ]
            copies = each in own and all(
                producer not in own
                and place == (0, 0)
                and (domain - _started(found[producer])).is_empty
                for producer, place in read
            )
            (member.firsts if copies or not read else member.steps).append((domain, value))
        found[each] = member
    return found


def _started(member: Member) -> Domain:
    """Where a member does not need earlier iterations."""
    return member.domain - member.stepped if member.steps else member.domain


def _accesses(
    members: dict[str, Member], member: Member, name: str
) -> Iterator[tuple[int, int, str]]:
    """The reads of members: along which iterator, how many iterations before, of whom."""
    iterators = member.computation.iterators
    for _, value in member.steps:
        for node in value.nodes():
            if node.producer is None or node.producer.name not in members:
                continue
            place = place_of(node, iterators)
            if place is None:
                raise _refusal(name, f"{member.name} reads {node}, which is no earlier iteration")
            yield (*place, node.producer.name)


def place_of(node: _core.Expr, iterators: list[str]) -> tuple[int, int] | None:
    """Of a read at the iterators, all but one of them as they are: which one, and how much before (less
    than 0 for behind)."""
    subscripts = [linear_of(each) for each in node.operands]
    if len(subscripts) != len(iterators):
        return None
    axis, delay = 0, 0
    for number, (subscript, iterator) in enumerate(zip(subscripts, iterators, strict=True)):
        if subscript is None or (subscript - Linear.of(iterator)).terms:
            return None
        distance = -(subscript - Linear.of(iterator)).constant
        if distance and delay:
            return None
        if distance:
            axis, delay = number, distance
    return axis, delay


def _in_order(members: dict[str, Member], name: str) -> list[str]:
    """Such that what is read of the same iteration comes first."""
    needs = {
        each: {
            node.producer.name
            for _, value in member.steps
            for node in value.nodes()
            if node.producer is not None
            and node.producer.name in members
            and place_of(node, member.computation.iterators) == (0, 0)
        }
        for each, member in members.items()
    }
    ordered: list[str] = []
    while len(ordered) < len(members):
        ready = [each for each in members if each not in ordered and needs[each] <= set(ordered)]
        if not ready:
            raise _refusal(name, "values of one iteration need each other")
        ordered.append(ready[0])
    return ordered


def _begin_with_all_states(found: Recurrence) -> None:
    """Iterations that do not have all earlier values before them are first ones, even if they need some of
    them: the second of ``x[i-1] + x[i-2]`` may be computed of the first alone."""
    carriers = {state.computation for state in found.states}
    if any(
        delay
        for member in found.members.values()
        if member.name not in carriers
        for _, delay, _ in _accesses(found.members, member, member.name)
    ):
        return  # what only passes earlier values on is to be put into its readers
    longest = max(state.delay for state in found.states)
    back = tw.Map(_shifted(found.first.domain.arity, found.axis, longest * found.direction))
    for member in found.members.values():
        whole = Domain(member.domain.indices, member.domain.points.apply(back))
        parts = [(domain & whole, domain - whole, value) for domain, value in member.steps]
        if all(late.is_empty for late, _, _ in parts):
            continue
        member.steps = [(late, value) for late, _, value in parts if not late.is_empty]
        member.firsts += [(early, value) for _, early, value in parts if not early.is_empty]


def _require_one_start(found: Recurrence, name: str) -> None:
    """All that carry values do so for the same iterations: all but the first ones."""
    carriers = [found.members[each] for each in dict.fromkeys(s.computation for s in found.states)]
    first = carriers[0]
    if len(first.stepped.parts) != 1:
        raise _refusal(
            name, f"the iterations that need earlier ones are no one polyhedron: {first.stepped}"
        )
    for member in carriers:
        if member.domain != first.domain or member.stepped != first.stepped:
            raise _refusal(
                name, f"{first.name} and {member.name} do not start and end with the same iteration"
            )
        if list(member.computation.iterators) != list(first.computation.iterators):
            raise _refusal(
                name, f"{first.name} and {member.name} do not have the same names of iterators"
            )
    delay = max(state.delay for state in found.states)
    starts = first.domain - first.stepped
    # Iterations that have so many before them need them, and the others do not.
    back = tw.Map(_shifted(first.domain.arity, found.axis, delay * found.direction))
    late = Domain(first.domain.indices, starts.points & first.domain.points.apply(back))
    if not late.is_empty:
        raise _refusal(name, f"it starts anew in the middle, for example {witness_text(late)}")


def _shifted(arity: int, axis: int, distance: int) -> str:
    names = [f"_{number}" for number in range(arity)]
    moved = [f"{each}+{distance}" if k == axis else each for k, each in enumerate(names)]
    return f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}"


# ---- linear forms ----


class _NotLinear(Exception):
    pass


def _solve(found: Recurrence) -> bool:
    """Finds a semiring in which all steps are linear."""
    for semiring in SEMIRINGS:
        try:
            forms = {
                state: _Reader(found, semiring).member(state.computation)
                for state in found.states
                if state.delay == 1
            }
        except (_NotLinear, Repeated, tw.TilewrightError):
            continue
        for number, state in enumerate(found.states):
            if state.delay > 1:  # what was one iteration before, one more before
                forms[state] = Form({number - 1: ONE})
        found.semiring, found.forms = semiring, forms
        return True
    return False


class _Reader:
    """Reads expressions as linear forms of the states."""

    def __init__(self, found: Recurrence, semiring: Semiring) -> None:
        self.found = found
        self.semiring = semiring

    def member(self, name: str) -> Form:
        """The value of a member, over all of its pieces that need earlier iterations."""
        member = self.found.members[name]
        pieces = [(domain, self.form(value, name)) for domain, value in member.steps]
        if name not in {state.computation for state in self.found.states}:
            pieces += [(domain, self.form(value, name)) for domain, value in member.firsts]
        result = pieces[-1][1]
        for domain, form in reversed(pieces[:-1]):
            condition = condition_of(domain.gist(member.domain).parts, member.computation.iterators)
            if condition is not None:
                result = self.chosen(condition, form, result)
        return result

    def chosen(self, condition: tw.Expression, then: Form, otherwise: Form) -> Form:
        kinds = [
            each.dtype
            for form in (then, otherwise)
            for each in (*form.coefficients.values(), form.constant)
            if isinstance(each, tw.Expression)
        ]
        kind = kinds[0] if kinds else self.kind

        def both(a: Entry | None, b: Entry | None) -> Entry | None:
            if a is b:
                return a
            zero = self.semiring.zero(kind.dtype)
            if zero is None and None in (a, b):
                raise _NotLinear
            values = [
                tw.cast(zero, kind) if each is None else valued(each, self.semiring, kind)  # type: ignore[arg-type]
                for each in (a, b)
            ]
            return tw.select(condition, values[0], values[1])

        states = dict.fromkeys((*then.coefficients, *otherwise.coefficients))
        coefficients = {
            s: both(then.coefficients.get(s), otherwise.coefficients.get(s)) for s in states
        }
        constant = both(then.constant, otherwise.constant)
        return Form({s: e for s, e in coefficients.items() if e is not None}, constant)  # type: ignore[arg-type]

    @property
    def kind(self) -> tw.DType:
        return tw.as_dtype(self.found.first.computation.type)

    def form(self, node: _core.Expr, name: str) -> Form:
        """The form of an expression within a member."""
        if not any(
            each.producer is not None and each.producer.name in self.found.members
            for each in node.nodes()
        ):
            return Form(constant=tw.Expression(node))
        if node.kind == "access":
            return self.read(node, name)
        if node.kind == "select":
            condition, *branches = node.operands
            if self.form(condition, name).coefficients:
                raise _NotLinear
            return self.chosen(tw.Expression(condition), *(self.form(b, name) for b in branches))
        if node.kind == "unary" and node.operation == "-" and self.semiring.times == "*":
            return self.form(node.operands[0], name).mapped(self.negated)
        if node.kind == "binary":
            return self.binary(node, name)
        raise _NotLinear

    def read(self, node: _core.Expr, name: str) -> Form:
        assert node.producer is not None
        place = place_of(node, self.found.members[name].computation.iterators)
        producer = node.producer.name
        if place is None:
            raise _NotLinear
        if place[1] == 0:
            return self.member(producer)
        return Form({self.found.states.index(State(producer, abs(place[1]))): ONE})

    def negated(self, entry: Entry) -> tw.Expression:
        return -valued(entry, self.semiring, self.kind)

    def binary(self, node: _core.Expr, name: str) -> Form:
        left, right = (self.form(each, name) for each in node.operands)
        if node.operation == self.semiring.plus:
            return left.plus(right, self.semiring)
        if node.operation == "-" and self.semiring.times == "*":
            return left.plus(right.mapped(self.negated), self.semiring)
        scaled, factor = (left, right) if left.coefficients else (right, left)
        if factor.coefficients or factor.constant is None:
            raise _NotLinear
        if node.operation == self.semiring.times:
            return self.scaled(scaled, factor.constant)
        if node.operation == "/" and self.semiring.times == "*" and scaled is left:
            return self.scaled(scaled, 1 / factor.constant)
        if node.operation == "-" and self.semiring.times == "+" and scaled is left:
            return self.scaled(scaled, -factor.constant)
        raise _NotLinear

    def scaled(self, form: Form, factor: tw.Expression) -> Form:
        def entry(value: Entry) -> tw.Expression:
            product = times(value, factor, self.semiring)
            assert isinstance(product, tw.Expression)
            return product

        return form.mapped(entry)


# ---- any associative operation ----

#: Associative operations of Layer I beside those of the semirings.
_ASSOCIATIVE: dict[str, Combine] = {
    "*": lambda a, b: a * b,
    "hypot": tw.hypot,
    "fmin": tw.fmin,
    "fmax": tw.fmax,
}


def _solve_by(
    found: Recurrence, name: str, combine: Combine | None, of: tw.Expression | None
) -> None:
    """The one state combined with what does not need it, by an associative operation."""
    member = found.first
    if len(found.states) != 1 or len(found.members) != 1 or len(member.steps) != 1:
        raise _refusal(
            name,
            "its steps are linear in no semiring, and for another operation there must be one "
            "computation that needs its latest value in one piece",
        )
    value = member.steps[0][1]
    earlier = next(each for each in value.nodes() if each.producer and each.producer.name == name)
    others = [tw.Expression(e) for e in value.operands if not _reads(e, name)]
    if combine is None:
        if value.operation not in _ASSOCIATIVE or not others:
            raise _refusal(
                name,
                f"its step {value} is linear in no semiring (+ and *, max and +, min and +, max and "
                "min, or and and, xor and and) and is no associative operation that is known; if it "
                "combines the latest value with another by an associative function, say so: "
                "combine=function, of=the other",
            )
        combine = _ASSOCIATIVE[value.operation]
    for other in [of] if of is not None else others:
        for turned in (False, True):
            function = _turned(combine) if turned else combine
            told = function(tw.Expression(earlier), other)
            if isinstance(told, tw.Expression) and str(told) == str(value):
                found.combine, found.operand = function, other
                return
    raise _refusal(
        name,
        f"its step {value} is not what combine= makes of the latest value {earlier} and "
        + (f"of={of}" if of is not None else "one other operand; say which: of="),
    )


def _turned(combine: Combine) -> Combine:
    """With the operands the other way round."""
    return lambda a, b: combine(b, a)


def _reads(node: _core.Expr, name: str) -> bool:
    return any(each.producer is not None and each.producer.name == name for each in node.nodes())
