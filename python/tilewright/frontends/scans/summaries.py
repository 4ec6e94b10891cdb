"""What a block of a recurrence does to the values before it, in a few numbers: the composition of its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tilewright as tw

from .recurrences import Recurrence, State
from .semirings import ONE, Entry, Semiring, add, times, valued

__all__ = ["Applied", "summary_of"]

#: Makes a computation of a number of each block, by the end of its name and its value.
Declare = Callable[[str, tw.Expression], tw.Computation]
#: The value of a state behind a block, from the values of all states before it.
Applied = Callable[[State, Mapping[State, tw.Expression]], tw.Expression]
Key = tuple[int, int]  # (state, state before), or (state, -1) for the constant


def summary_of(
    found: Recurrence,
    ends: tuple[tw.Expression, tw.Expression],
    here: tuple[tw.Expression, ...],
    declare: Declare,
) -> Applied:
    """Declares what sums blocks up, and says how a block changes the states.

    Args:
        found: the recurrence.
        ends: the half-open range of the iterations of a block.
        here: the iterators of a block.
        declare: makes computations over blocks.

    Raises:
        DeclarationError: the type has no neutral element that several states would need.
    """
    along = tw.iter(found.iterators[found.axis])
    over = {along: ends}
    if found.semiring is None:
        return _of_operation(found, over, along == ends[0], here, declare)
    return _Linear(found, found.semiring, over, along == ends[0]).applied(here, declare)


def _of_operation(
    found: Recurrence,
    over: dict[tw.Iterator, tuple[tw.Expression, tw.Expression]],
    is_first: tw.Expression,
    here: tuple[tw.Expression, ...],
    declare: Declare,
) -> Applied:
    combine, operand = found.combine, found.operand
    assert combine is not None and operand is not None
    kind = operand.dtype

    def step(total: tw.Expression) -> tw.Expression:
        both = combine(total, operand) if found.direction > 0 else combine(operand, total)
        return tw.select(is_first, operand, both)

    total = declare("total", tw.fold(step, tw.cast(0, kind), over=over))
    return lambda state, before: combine(before[state], total[here])


class _Linear:
    """A block as a matrix and a vector over a semiring; entries that are zero or one in any number of
    steps are not computed."""

    def __init__(
        self,
        found: Recurrence,
        semiring: Semiring,
        over: dict[tw.Iterator, tuple[tw.Expression, tw.Expression]],
        is_first: tw.Expression,
    ) -> None:
        self.found = found
        self.semiring = semiring
        self.over = over
        self.is_first = is_first
        self.kind = tw.as_dtype(found.first.computation.type)
        self.size = len(found.states)
        self.step: dict[Key, Entry] = {}
        for number, state in enumerate(found.states):
            form = found.forms[state]
            for other, entry in form.coefficients.items():
                self.step[number, other] = entry
            if form.constant is not None:
                self.step[number, -1] = form.constant
        self.fixed = self._fixed()

    def identity(self) -> dict[Key, Entry]:
        return {(number, number): ONE for number in range(self.size)}

    def composed(self, before: Mapping[Key, Entry]) -> dict[Key, Entry]:
        """A step behind what is composed already; in front of it, against the order of the loop."""
        if self.found.direction > 0:
            return self.product(self.step, before)
        return self.product(before, self.step)

    def product(self, outer: Mapping[Key, Entry], inner: Mapping[Key, Entry]) -> dict[Key, Entry]:
        result: dict[Key, Entry] = {}
        for row in range(self.size):
            for column in range(-1, self.size):
                entry = outer.get((row, -1)) if column < 0 else None
                for between in range(self.size):
                    both = times(
                        outer.get((row, between)), inner.get((between, column)), self.semiring
                    )
                    if both is not None:
                        entry = both if entry is None else self.sum(entry, both)
                if entry is not None:
                    result[row, column] = entry
        return result

    def sum(self, a: Entry, b: Entry) -> Entry:
        values = [valued(each, self.semiring, self.kind) for each in (a, b)]
        return add(values[0], values[1], self.semiring)

    def _fixed(self) -> dict[Key, Entry | None]:
        """The entries that are one, or that are missing, however many steps there are."""
        keys = [(row, column) for row in range(self.size) for column in range(-1, self.size)]
        start = self.identity()
        fixed: dict[Key, Entry | None] = {key: start.get(key) for key in keys}
        token = tw.cast(1, self.kind)
        while True:
            known = {
                key: token if key not in fixed else fixed[key]
                for key in keys
                if key not in fixed or fixed[key] is not None
            }
            following = self.composed({k: e for k, e in known.items() if e is not None})
            changed = [key for key in fixed if not _same(following.get(key), fixed[key])]
            if not changed:
                return fixed
            for key in changed:
                del fixed[key]

    def applied(self, here: tuple[tw.Expression, ...], declare: Declare) -> Applied:
        """Declares the entries that are computed."""
        keys = [
            (row, column)
            for row in range(self.size)
            for column in range(-1, self.size)
            if (row, column) not in self.fixed
        ]
        numbers = dict(zip(keys, self.totals(keys, declare), strict=True))

        def entry(key: Key) -> Entry | None:
            return numbers[key][here] if key in numbers else self.fixed[key]

        def value(state: State, before: Mapping[State, tw.Expression]) -> tw.Expression:
            row = self.found.states.index(state)
            result = entry((row, -1))
            for column, other in enumerate(self.found.states):
                term = times(entry((row, column)), before[other], self.semiring)
                if term is not None:
                    result = term if result is None else self.sum(result, term)
            assert isinstance(result, tw.Expression)
            return result

        return value

    def totals(self, keys: list[Key], declare: Declare) -> list[tw.Computation]:
        """A computation for each entry."""
        if not keys:
            return []
        alone = self.reduced(keys)
        if alone is not None:
            return [declare("total", alone)]
        zero = self.semiring.zero(self.kind.dtype)
        selects = zero is None and any(self.identity().get(key) is None for key in keys)
        if selects and any(key not in self.step for key in keys):
            raise tw.DeclarationError(
                f"{self.found.first.name} is no scan in {self.kind}: its steps are linear in "
                f"{self.semiring.name}, for whose zero this type has no number; fractions have one"
            )
        initial = [self.initial(key, zero) for key in keys]

        def combine(*states: tw.Expression) -> tuple[tw.Expression, ...]:
            before = {key: entry for key, entry in self.fixed.items() if entry is not None}
            before |= dict(zip(keys, states, strict=True))
            made = self.composed(before)
            values = [valued(made[key], self.semiring, self.kind) for key in keys]
            if selects:
                values = [
                    tw.select(
                        self.is_first, valued(self.step[key], self.semiring, self.kind), value
                    )
                    for key, value in zip(keys, values, strict=True)
                ]
            return tuple(values)

        results = tw.fold(combine, tuple(initial), over=self.over)
        return [
            declare("total" if len(keys) == 1 else f"total_{number}", result)
            for number, result in enumerate(results)
        ]

    def initial(self, key: Key, zero: object) -> tw.Expression:
        one = self.semiring.one(self.kind.dtype)
        chosen = one if self.identity().get(key) is not None or zero is None else zero
        return tw.cast(chosen, self.kind)  # type: ignore[arg-type]

    def reduced(self, keys: list[Key]) -> tw.Expression | None:
        """A single number as a reduction, whose terms may come in any order."""
        if self.size > 1 or len(keys) > 1:
            return None
        (key,) = keys
        by = self.semiring.reduce_plus if key[1] < 0 else self.semiring.reduce_times
        value = self.step.get(key)
        if by is None or not isinstance(value, tw.Expression):
            return None
        return by(value, over=self.over)


def _same(a: Entry | None, b: Entry | None) -> bool:
    return a is b
