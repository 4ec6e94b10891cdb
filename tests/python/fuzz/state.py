"""What the model of a mapping knows: equations, order, loops and storage, each as text and numbers."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fuzz.isolation import Isolation
from fuzz.linear import Linear, Loop, Nest, counted
from fuzz.programs import AXES, Program, types_of, walk
from fuzz.reductions import scheduled
from fuzz.rewriting import with_replaced
from fuzz.views import affine_of, names_reached, read_through


class NotModelled(Exception):
    """What the command makes of the loops follows from something that the model does not know."""


def constant_of(value: str) -> int | None:
    """The number that a loop's value is, as isl prints it, for all instances alike."""
    found = re.fullmatch(r"(?:\[[^]]*\] -> )?\{ [^;]*? -> \[\(?(-?\d+)\)?\](?: : [^;]*)? \}", value)
    return int(found[1]) if found else None


class Placement(NamedTuple):
    """`computation` runs after (or before) `other`, sharing its `shared` outermost loops; `inside`: by compute_at."""

    computation: str
    other: str
    shared: int
    before: bool
    inside: bool = False


class MappingState:
    """A mapping. Nests, equations and storage are never changed in place, but replaced."""

    def __init__(self, description: dict[str, Any], program: Program) -> None:
        self.order: list[str] = list(description["order"])
        self.placements = [Placement(*p) for p in description["placements"]]
        #: The equations, as rewritten by commands, in the order of the function.
        by_name = {c["name"]: c for c in program["computations"]}
        read = names_reached(by_name, program["outputs"])
        self.inputs = {a["name"]: a for a in program["inputs"] if a["name"] in read}
        self.outputs = list(program["outputs"])
        self.types = types_of(program)
        inputs = [array["name"] for array in program["inputs"]]
        through = read_through(
            by_name, self.outputs, description.get("read", description["computations"])
        )
        declared = {n: through[n] for n in description["computations"] if n in by_name}
        self.computations = Isolation(declared, inputs, self.types).computations
        #: What `reduction` has found, and of which equations.
        self._scheduled: dict[str, tuple[dict[str, Any], list[Any] | None]] = {}
        #: What is known of outputs that lie in place.
        self._in_place: dict[Any, list[Any]] = {}
        #: The extents of outputs, as texts.
        self.shapes: dict[str, list[str]] = {}
        #: Changes with every rewriting; programs with one key have the same instances.
        self.rewritten: tuple[Any, ...] = ()
        #: Of folds that are not commutative: the computation, its fold, and the loop of the partial results.
        self.grouped: tuple[tuple[dict[str, Any], list[Any], Any], ...] = ()
        self.iterators: dict[str, list[str]] = {}
        self.reduced: dict[str, int] = {}
        self.nests: dict[str, Nest] = {}
        self.storage: dict[str, tuple[str, list[Any]]] = {}
        #: store_at: the buffer lives inside so many loops of a reader; private: of no reader, of the computation's own.
        self.allocations: dict[str, tuple[str, int]] = {}
        #: private: the innermost of these loops.
        self.private_loops: dict[str, str] = {}
        #: Reductions whose updates may meet; what is known of subscripts: (reader, index array) -> their largest value.
        self.atomic: set[str] = set()
        self.assumed: dict[tuple[str, str], int] = {}
        #: For each promise: the values of the loop that it was given for, by computation.
        self.independent: list[dict[str, Linear]] = []
        #: Of the function: its parameters, those of one value, the conditions of versions, the work below which the
        #: declared loops run.
        self.parameters: list[str] = list(AXES)
        self.nonnegative: set[str] = set()  # parameters that no call has below 0
        self.fixed: dict[str, int] = {}
        self.shown: tuple[
            int, ...
        ] = ()  # sizes at which somebody says that a command makes no sense
        self.variants: list[list[Any]] = []
        self.least_work = 0
        #: Computations whose loops at the start are a planner's: their values are looked up in a table, by the
        #: instances that they had at the start.
        self.planned: dict[str, list[str]] = {}
        #: Those of them that reduced iterators drive: (computation, position).
        self.planned_driven: set[tuple[str, int]] = set()
        for name, one in description["computations"].items():
            if name in self.computations:
                self._start(name, one)

    def _start(self, name: str, one: dict[str, Any]) -> None:
        self._find_instances(name)
        names, own = self.iterators[name], self.own(name)
        loops = []
        for position, loop in enumerate(one["loops"]):
            if not one["explicit"] and loop["name"] in names:
                loops.append(Loop(loop["name"], self.declared_loop(name, loop["name"])))
            else:
                at = constant_of(loop["value"])
                value = Linear(0, {("start", position): 1}) if at is None else Linear(at)
                loops.append(Loop(loop["name"], value))
                self.planned[name] = names
                reduced = set(names[len(own) :])
                if reduced & set(re.findall(r"\w+", loop["value"].split("->", 2)[-1])):
                    self.planned_driven.add((name, position))
        self.nests[name] = Nest(loops, one["explicit"])
        self.storage[name] = (name, [[0, {n: 1}] for n in own])
        if one.get("buffer", name) != name:  # in an output that shows it
            self.storage[name] = (one["buffer"], [affine_of(index) for index in one["index"]])

    def reduction(self, c: str) -> list[Any] | None:
        """The reduction by whose terms a computation is scheduled."""
        known = self._scheduled.get(c)
        if known is None or known[0] is not self.computations[c]:
            found = scheduled(self.computations[c], self.types)
            known = self._scheduled[c] = (self.computations[c], found)
        return known[1]

    def declared_loop(self, c: str, name: str) -> Linear:
        """The loop of an iterator: its values, or, of a range with a step, their numbers."""
        one, reduction = self.computations[c], self.reduction(c)
        ranges = dict(zip(one["iterators"], one["ranges"], strict=True))
        ranges.update({r[0]: r[1:] for r in (reduction[2] if reduction else ())})
        low, _, step = (*ranges[name], 1)[:3]
        low, step = one.get("strides", {}).get(name, (low, step))
        return counted(name, low, step)

    def reduced_names(self, c: str) -> list[str]:
        reduction = self.reduction(c)
        return [r[0] for r in reduction[2]] if reduction is not None else []

    def driven(self, c: str) -> list[bool]:
        """Which loops of a computation run over its terms."""
        summed: set[Any] = set(self.iterators[c][len(self.own(c)) :])
        summed |= {("start", position) for name, position in self.planned_driven if name == c}
        return [loop.value.uses(summed) for loop in self.nests[c].loops]

    def outside_terms(self, c: str) -> int:
        """How many loops stand outside of the first one over terms."""
        driven = self.driven(c)
        return driven.index(True) if True in driven else len(driven)

    def require_known_beginning(self, c: str) -> None:
        """A reduction begins in the loops outside of the first one over terms. Nobody says whether one of a single
        iteration, as (k % 3) // 4, is over terms: isl sees in some that no iterator is left, and not in others."""
        first = self.outside_terms(c)
        loops = self.nests[c].loops
        if first < len(loops) and loops[first].value.own_range(1) is not None:
            raise NotModelled(
                "a loop of one iteration, which belongs to either side of a reduction"
            )

    def finish_reads(self, c: str, array: str) -> bool:
        """Whether what is computed from the result of all terms reads an array."""
        reduction, (_, value) = self.reduction(c), self.computations[c]["pieces"][0]
        if reduction is None:
            return False
        rest = with_replaced(value, reduction, ["const", 0])
        return any(node[:2] == ["read", array] for node in walk(rest))

    def placement(self, c: str) -> Placement | None:
        return next((p for p in self.placements if p.computation == c), None)

    def inherited(self, c: str) -> int:
        """How many loops a computation shares by compute_at; they stand outside its own."""
        found = self.placement(c)
        return found.shared if found is not None and found.inside else 0

    def _find_instances(self, c: str) -> None:
        """What the instances of a computation are, from its equation."""
        names = self.reduced_names(c)
        self.iterators[c] = [*self.computations[c]["iterators"], *names]
        self.reduced[c] = len(names)

    def key(self) -> Any:
        """Models with one key have the same instances and reads."""
        return (self.rewritten, frozenset(self.assumed.items()), tuple(self.overwritten()))

    def overwritten(self) -> list[str]:
        """The inputs in whose arrays computations are stored."""
        return sorted({buffer for buffer, _ in self.storage.values() if buffer in self.inputs})

    def own(self, c: str) -> list[str]:
        """The iterators of a computation without those that it reduces."""
        return self.iterators[c][: len(self.iterators[c]) - self.reduced[c]]
