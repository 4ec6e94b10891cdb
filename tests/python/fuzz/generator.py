"""Draws random affine programs, as `programs` describes them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from fuzz.drawn_partial import DrawsPartial
from fuzz.drawn_views import DrawsViews
from fuzz.programs import (
    AXES,
    CALLED,
    Program,
    affine,
    names_read,
    pruned,
    self_reads,
    shifted,
    substitute,
    type_of,
    unique,
    walk,
)

REDUCTIONS = ("sum", "min", "max", "prod")
#: Types that go together in one program; plain ones come more often than others.
TYPES = (
    ["int32"],
    ["int64"],
    ["float32"],
    ["float64"],
    ["int32", "int64"],
    ["float64", "float32"],
    ["float64", "float32"],
    ["int32", "int64"],
    ["int8", "int16", "int64"],
    ["uint8", "uint16", "int32"],
    ["uint32", "uint64", "int64"],
    ["float16"],
    ["float16", "float32"],
    ["bfloat16", "float32", "float64"],
    ["bool", "int32"],
    ["bool", "uint8", "float32"],
    ["complex64"],
    ["complex128", "complex64"],
)


CONVERTED = {"bool": "int64", "uint64": "int64", "bfloat16": "float32"}


class Generator(DrawsPartial, DrawsViews):
    """Draws one program. Reads stay inside by construction: a consumer takes on the constraints that the
    producers of its reads have at the subscripts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.inputs: list[dict[str, Any]] = []
        self.computations: list[dict[str, Any]] = []
        self.types = rng.choice(TYPES)
        #: The type of each array, by which values of awkward ones are converted where they are read.
        self.known: dict[str, str] = {}
        self.complex = self.types[0].startswith("complex")
        #: Sums of these round even where their terms are small integers, so no value may decide between others.
        self.rough = bool({"float16", "bfloat16"} & set(self.types))
        self.slack = rng.randint(0, 2)
        #: How often ranges begin below 0.
        self.below = rng.choice((0, 0, 0, 0.3))
        #: The iterators of the computation at hand whose ranges have steps: (first value, step).
        self.stepping: dict[str, tuple[int, int]] = {}

    # ---- pieces of a program ----

    def axes(self, rank: int) -> list[str]:
        if self.rng.random() < 0.5:
            return [self.rng.choice(AXES[:2])] * rank
        return [self.rng.choice(AXES[:2]) for _ in range(rank)]

    def new_input(self, axes: list[str], dtype: str | None = None) -> dict[str, Any]:
        array = {
            "name": f"x{len(self.inputs)}",
            "axes": axes,
            "extents": [affine(self.slack, **{axis: 1}) for axis in axes],
            "dtype": dtype or self.rng.choice(self.types),
        }
        self.inputs.append(array)
        self.known[array["name"]] = array["dtype"]
        return array

    def converted(self, value: list[Any]) -> list[Any]:
        """Truth values, which have no arithmetic, unsigned 64-bit integers, which become floats beside others, and
        bfloat16, which NumPy does not mix with integers, are computed with in other types."""
        name = type_of(value, self.known).name
        return ["cast", CONVERTED[name], value] if name in CONVERTED else value

    def array_for(self, axes: list[str]) -> dict[str, Any]:
        """An input or an earlier computation; mostly a computation."""
        choices = [c for c in self.computations if self.rng.random() < 0.8]
        if choices and self.rng.random() < 0.75:
            return self.rng.choice(choices)
        if self.inputs and self.rng.random() < 0.6:
            return self.rng.choice(self.inputs)
        wanted = axes or [AXES[0]]
        return self.new_input(wanted[: self.rng.randint(1, len(wanted))])

    def subscript(self, axis: str, around: dict[str, str], reach: int) -> list[Any]:
        fitting = [name for name, own in around.items() if own == axis]
        if fitting and self.rng.random() < 0.93:
            name = self.rng.choice(fitting)
            if self.rng.random() < 0.06:
                return affine(-1, **{name: -1, axis: 1})  # runs backwards: N - 1 - i
            return affine(self.rng.randint(-reach, reach), **{name: 1})
        return affine(self.rng.randint(0, 1))

    @staticmethod
    def steps_of(array: dict[str, Any]) -> dict[int, tuple[int, int]]:
        """(first value, step) of the dimensions whose ranges have one."""
        ranges = array.get("ranges", [])
        return {d: (r[0][0], r[2]) for d, r in enumerate(ranges) if len(r) == 3}

    def stepped(self, low: int, step: int, axis: str, around: dict[str, str]) -> list[Any]:
        """A subscript that is a whole number of steps from `low`, wherever it is inside."""
        alike = [n for n, own in self.stepping.items() if n in around and own == (low, step)]
        if alike and self.rng.random() < 0.8:
            return affine(step * self.rng.randint(-1, 1), **{self.rng.choice(alike): 1})
        fitting = [name for name, own in around.items() if own == axis] or list(around)
        if fitting:
            return affine(low + step * self.rng.randint(-1, 1), **{self.rng.choice(fitting): step})
        return affine(low)

    def read(
        self, array: dict[str, Any], around: dict[str, str], needs: list[Any], reach: int = 1
    ) -> list[Any]:
        """A read and, in `needs`, what must hold for it to stay inside."""
        subscripts: list[Any] = [self.subscript(axis, around, reach) for axis in array["axes"]]
        steps = self.steps_of(array)
        for d, (low, step) in steps.items():
            subscripts[d] = self.stepped(low, step, array["axes"][d], around)
        dense = sorted(set(range(len(subscripts))) - set(steps))
        if self.rng.random() < 0.04 and dense and around:
            # Indirect, by an index input that holds 0 only: inside wherever anything is, unless a step leaves 0 out.
            index = next((x for x in self.inputs if x.get("index")), None)
            if index is None:
                index = self.new_input([AXES[0]], "int64")
                index["index"] = True
            low = self.subscript(AXES[0], around, 0)
            needs.extend(self.bounds(index, [low]))
            position = self.rng.choice(dense)
            first = [affine(0) if d == position else s for d, s in enumerate(subscripts)]
            needs.extend(self.bounds(array, first))
            subscripts[position] = ["at", ["read", index["name"], [low]]]
            array.pop("partial", None)
            return self.converted(["read", array["name"], subscripts])
        needs.extend(self.bounds(array, subscripts))
        return self.asked(array, subscripts, self.converted(["read", array["name"], subscripts]))

    def bounds(self, array: dict[str, Any], subscripts: list[Any]) -> list[Any]:
        if "extents" in array:
            return [*subscripts] + [
                [e[0] - s[0] - 1, substitute([0, {"e": 1, "s": -1}], {"e": e, "s": s})[1]]
                for e, s in zip(array["extents"], subscripts, strict=True)
            ]
        names = dict(zip(array["iterators"], subscripts, strict=True))
        return [substitute(constraint, names) for constraint in array["domain"]]

    def value(
        self, around: dict[str, str], needs: list[Any], depth: int, reads: list[Any]
    ) -> list[Any]:
        rng = self.rng
        draw = rng.random()
        if depth <= 0 or draw < 0.35:
            if reads and rng.random() < 0.85:
                taken: list[Any] = reads.pop()
                return taken
            if rng.random() < 0.85:
                return self.read(self.array_for(list(around.values())), around, needs)
            if around and rng.random() < 0.5:
                return ["aff", affine(rng.randint(-2, 2), **{rng.choice(list(around)): 1})]
            return ["const", rng.randint(-3, 3)]
        if draw < 0.42:
            return ["neg", self.value(around, needs, depth - 1, reads)]
        if draw < 0.50 and around:
            condition = affine(
                rng.randint(-2, 1), **{rng.choice(list(around)): rng.choice((1, -1))}
            )
            inside: list[Any] = []
            first = self.value(around, inside if rng.random() < 0.7 else needs, depth - 1, reads)
            return [
                "select",
                [condition, *inside],
                first,
                self.value(around, needs, depth - 1, reads),
            ]
        if draw < 0.53 and not self.complex and not self.rough:
            return ["choose", *(self.value(around, needs, 0, reads) for _ in range(4))]
        if draw < 0.545 and not self.complex and not self.rough:
            values = [self.value(around, needs, 0, reads) for _ in range(3)]
            return self.converted(["while", *values, rng.randint(1, 4)])
        if draw < 0.59 and not self.complex and not self.rough:
            return self.called(around, needs, reads)
        if draw < 0.62:
            return self.converted(self.reduction(around, needs, depth - 1))
        ordered = ("add", "add", "sub", "mul", "min", "max")
        op = rng.choice(ordered[:4] if self.complex else ordered)
        return [
            op,
            self.value(around, needs, depth - 1, reads),
            self.value(around, needs, depth - 1, reads),
        ]

    def called(self, around: dict[str, str], needs: list[Any], reads: list[Any]) -> list[Any]:
        """A function of one or two values; of the first one alone where it is not defined on both together."""
        values = [self.value(around, needs, 0, reads) for _ in range(2)]
        # What the library may see through as an affine function, the judge does not.
        values = [
            v if v[0] in ("read", "cast") else self.read(self.array_for([]), around, needs)
            for v in values
        ]
        kind = np.result_type(*(type_of(v, self.known) for v in values)).kind
        fitting = [f for f, (count, kinds) in CALLED.items() if kind in kinds]
        if not fitting:
            return values[0]
        function = self.rng.choice(fitting)
        return self.converted(["call", function, *values[: CALLED[function][0]]])

    def single_term(self, reduced: str, around: dict[str, str]) -> list[Any]:
        """f * k = i + c, or N + c: one term, or none where f does not divide."""
        rng = self.rng
        other = rng.choice([*around, *AXES])
        difference = affine(rng.randint(-1, 1), **{reduced: rng.choice((1, 2, 2, 3)), other: -1})
        return [difference, [-difference[0], {n: -c for n, c in difference[1].items()}]]

    def conditions(self, around: dict[str, str]) -> list[Any]:
        """What a piece asks: one comparison, sometimes several of them, of iterators with each other or a size."""
        rng = self.rng
        result = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            first = rng.choice(list(around))
            others = [n for n in (*around, around[first]) if n != first]
            sign = rng.choice((1, -1))
            terms = {first: sign}
            if rng.random() < 0.3:
                terms[rng.choice(others)] = -sign
            result.append(affine(rng.randint(-2, 1), **terms))
        return result

    def reduction(self, around: dict[str, str], needs: list[Any], depth: int) -> list[Any]:
        rng = self.rng
        ranges, inner = [], dict(around)
        where: list[Any] = []
        for _ in range(rng.choice((1, 1, 1, 2))):
            name = next(n for n in ("k", "l", "m", "n", "o", "p") if n not in inner)
            axis = rng.choice(AXES)
            outer = [n for n, own in inner.items() if own == axis]
            if outer and rng.random() < 0.5:
                other = rng.choice(outer)
                low, high = (affine(0), affine(rng.randint(0, 1), **{other: 1}))
                if rng.random() < 0.3:
                    low, high = affine(0, **{other: 1}), affine(0, **{axis: 1})
            else:
                low, high = (
                    affine(rng.choice((0, 0, 1))),
                    affine(rng.choice((0, 0, -1)), **{axis: 1}),
                )
            step = [rng.choice((2, 2, 3))] if rng.random() < 0.12 else []
            ranges.append([name, low, high, *step])
            inner[name] = axis
        body_needs: list[Any] = []
        body = self.value(inner, body_needs, min(depth, 1), [])
        where.extend(body_needs)  # reads only where they are inside
        if rng.random() < 0.15:
            where.extend(self.single_term(ranges[0][0], around))
        if "bool" in self.types and rng.random() < 0.4:
            return ["reduce", rng.choice(("any", "all")), ranges, where, ["cast", "bool", body]]
        op = rng.choice(REDUCTIONS[:3] if rng.random() < 0.9 else REDUCTIONS)
        if body[:2] == ["cast", "float32"] and rng.random() < 0.5:
            body = body[2]  # added up in bfloat16
        if rng.random() < 0.12 and not self.complex and not self.rough:
            first = self.read(self.array_for(list(inner.values())), inner, where)
            body = ["guard", first, self.value(inner, where, 0, []), body]
        if self.complex:
            op = "sum" if op != "prod" else op
        if op == "sum" and rng.random() < 0.08:
            op = "osum"
        value = body[3] if body[0] == "guard" else body
        kind = type_of(value, self.known).kind
        if kind != "b" and rng.random() < 0.2:
            draw = rng.random() if kind in "iu" else 1.0
            op = "nfold" if draw < 0.3 else "fold" if draw < 0.7 else "ofold"
        if op == "nfold" and any(n[0] == "reduce" and n[1] in ("all", "any") for n in walk(body)):
            op = "fold"  # is the last one not 0? That compares such a reduction, which is then isolated with it
        return ["reduce", op, ranges, where, body]

    def epilogue(self, around: dict[str, str], needs: list[Any]) -> tuple[list[Any], str]:
        """A reduction within an expression (scaled, with a bias, a bound, an activation), and the reduction's type."""
        rng = self.rng
        reduction = self.reduction(around, needs, 1)
        dtype = type_of(reduction, self.known).name
        decides = not self.complex and not self.rough and reduction[1] != "prod"
        value = self.converted(reduction)
        for _ in range(rng.choice((1, 1, 2, 3))):
            draw = rng.random()
            other = self.value(around, needs, rng.choice((0, 0, 1)), [])
            if rng.random() < 0.15:  # which of two it is scheduled by
                second = self.reduction(around, needs, 0)
                other, decides = self.converted(second), decides and second[1] != "prod"
            if draw < 0.1:
                value = ["neg", value]
            elif draw < 0.2 and decides:
                sides = rng.choice(((value, other), (other, value)))
                rest = [self.value(around, needs, 0, []) for _ in range(2)]
                value = ["choose", *sides, *rest]
            elif draw < 0.25 and around:
                condition = affine(rng.randint(-2, 1), **{rng.choice(list(around)): 1})
                value = ["select", [condition], *rng.sample((value, other), 2)]
            elif draw < 0.32 and not self.complex:
                value = self.converted(["call", "fmax", value, self.plain_read(around, needs)])
            else:
                ordered = ("add", "add", "add", "sub", "mul", "min", "max")
                op = rng.choice(ordered[:5] if self.complex else ordered)
                value = [op, *rng.choice(((value, other), (other, value)))]
        return value, dtype

    def plain_read(self, around: dict[str, str], needs: list[Any]) -> list[Any]:
        return self.read(self.array_for(list(around.values())), around, needs)

    # ---- computations ----

    def box(self, iterators: list[str], axes: list[str]) -> tuple[list[Any], list[Any]]:
        """Ranges (low, high) and the constraints that they stand for; sometimes triangular."""
        rng = self.rng
        ranges = []
        for d, axis in enumerate(axes):
            low, high = affine(0), affine(0, **{axis: 1})
            earlier = [i for i, own in zip(iterators[:d], axes[:d], strict=True) if own == axis]
            if earlier and rng.random() < 0.2:
                other = rng.choice(earlier)
                draw = rng.random()
                if draw < 0.4:
                    high = affine(rng.randint(0, 1), **{other: 1})
                elif draw < 0.8:
                    low = affine(0, **{other: 1})
                else:
                    high = affine(0, **{axis: 1, other: -1})  # N - i: the other triangle
            elif rng.random() < 0.2:
                low = affine(1)
            elif rng.random() < self.below:
                low = rng.choice((affine(-1), affine(-2), affine(-1, **{axis: -1})))
            if high[1] == {axis: 1} and rng.random() < 0.2:
                high = shifted(high, rng.choice((-1, 1)))
            ranges.append([low, high])
        constraints = []
        for name, (low, high) in zip(iterators, ranges, strict=True):
            constraints.append(
                substitute([0, {"i": 1, "l": -1}], {"i": affine(0, **{name: 1}), "l": low})
            )
            constraints.append(
                substitute([-1, {"h": 1, "i": -1}], {"i": affine(0, **{name: 1}), "h": high})
            )
        return ranges, constraints

    def declare(self, name: str, iterators: list[str], axes: list[str]) -> dict[str, Any]:
        ranges, constraints = self.box(iterators, axes)
        dtype = self.known[name] = self.rng.choice(self.types)
        return {
            "name": name,
            "iterators": iterators,
            "axes": axes,
            "ranges": ranges,
            "domain": constraints,
            "where": [],
            "dtype": dtype,
            "pieces": [],
        }

    def restrict(self, computation: dict[str, Any], needs: list[Any]) -> None:
        known = [repr(c) for c in computation["domain"]]
        for constraint in needs:
            if not constraint[1]:
                if constraint[0] < 0:
                    computation["where"].append(constraint)
                    computation["domain"].append(constraint)
                continue
            if repr(constraint) not in known:
                known.append(repr(constraint))
                computation["where"].append(constraint)
                computation["domain"].append(constraint)

    def iterators(self, rank: int) -> list[str]:
        return ["i", "j", "k"][:rank] if self.rng.random() < 0.7 else ["a", "b", "c"][:rank]

    def plain(self, name: str) -> dict[str, Any]:
        """Reads earlier arrays; sometimes in two pieces, sometimes a reduction."""
        rng = self.rng
        rank = rng.choice((0, 1, 1, 2, 2, 2, 3)) if rng.random() < 0.97 else 0
        axes = self.axes(rank)
        iterators = self.iterators(rank)
        result = self.declare(name, iterators, axes)
        for bounds in result["ranges"]:
            if not bounds[0][1] and rng.random() < 0.07:
                bounds.append(rng.choice((2, 2, 3)))
        self.stepping = {iterators[d]: own for d, own in self.steps_of(result).items()}
        around = dict(zip(iterators, axes, strict=True))
        needs: list[Any] = []
        draw = rng.random()
        if draw < 0.22:
            value = self.reduction(around, needs, 1)
            if type_of(value[-1], self.known).kind in "iu" and rng.random() < 0.3:
                bools = any(n[0] == "reduce" and n[1] in ("all", "any") for n in walk(value[-1]))
                value[1] = rng.choice(("fold", "fold", "fold" if bools else "nfold"))
            if value[1] in ("fold", "nfold", "ofold") and rng.random() < 0.5:
                value[1] += "s"  # of several states
            result["pieces"] = [[None, value]]
            result["dtype"] = None
            self.known[name] = type_of(result["pieces"][0][1], self.known).name
        elif draw < 0.42:
            value, dtype = self.epilogue(around, needs)
            result["pieces"] = [[None, value]]
            if rng.random() < 0.8:
                result["dtype"] = self.known[name] = dtype
        elif iterators and rng.random() < 0.25:
            condition = self.conditions(around)
            result["pieces"] = [
                [["all", condition], self.value(around, needs, 1, [])],
                [["not", condition], self.value(around, needs, 1, [])],
            ]
        else:
            result["pieces"] = [[None, self.value(around, needs, 2, [])]]
            self.may_be_partial(result, around, needs)
        self.restrict(result, needs)
        self.computations.append(result)
        self.stepping = {}
        return result

    def distance(self, rank: int) -> list[int]:
        """A lexicographically negative distance, mostly short."""
        while True:
            vector = [self.rng.choice((-1, -1, 0, 0, 1)) for _ in range(rank)]
            first = next((v for v in vector if v != 0), 0)
            if first < 0:
                if self.rng.random() < 0.1:
                    vector[vector.index(first)] = -2
                return vector

    def recurrence(self, name: str) -> dict[str, Any]:
        rng = self.rng
        rank = rng.choice((1, 2, 2, 3))
        axes, iterators = self.axes(rank), self.iterators(rank)
        result = self.declare(name, iterators, axes)
        around = dict(zip(iterators, axes, strict=True))
        sign = -1 if rng.random() < 0.08 else 1
        inside: list[Any] = []
        reads = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            vector = [sign * v for v in self.distance(rank)]
            subscripts = [affine(v, **{i: 1}) for i, v in zip(iterators, vector, strict=True)]
            inside.extend(self.bounds(result, subscripts))
            reads.append(self.converted(["read", name, subscripts]))
        needs: list[Any] = []
        body = ["add", reads.pop(), self.value(around, needs, 1, [])]
        for read in reads:
            body = [rng.choice(("add", "sub", "add" if self.complex else "max")), body, read]
        if rank == 1 and sign == 1 and rng.random() < 0.15:
            inner = "k"
            over = [[inner, result["ranges"][0][0], affine(0, **{iterators[0]: 1})]]
            if inner not in iterators:
                read = self.converted(["read", name, [affine(0, **{inner: 1})]])
                body = self.converted(["reduce", "sum", over, [], read])
                body = ["add", body, self.value(around, needs, 0, [])]
                inside = [affine(-1, **{iterators[0]: 1})]
        start = self.value(around, needs, 0, [])
        before = list(result["domain"])
        self.restrict(result, needs)
        # Constraints that reads of other arrays brought hold at the own reads too.
        added = result["domain"][len(before) :]
        for node in walk(body):
            if node[0] == "reduce" and self_reads(node, name):
                names = {iterators[0]: affine(0, k=1)}
                node[3].extend(substitute(c, names) for c in result["domain"])
                break
        else:
            for subscripts in [r[2] for r in self_reads(body, name)]:
                names = dict(zip(iterators, subscripts, strict=True))
                inside.extend(substitute(c, names) for c in added)
        inside = unique(inside)
        result["pieces"] = [[["all", inside], body], [["not", inside], start]]
        self.computations.append(result)
        return result

    def mutual(self, first: str, second: str) -> None:
        """Two computations over one domain that read each other: earlier instances, or in one direction the same."""
        rng = self.rng
        rank = rng.choice((1, 1, 2))
        axes, iterators = self.axes(rank), self.iterators(rank)
        a = self.declare(first, iterators, axes)
        b = self.declare(second, iterators, axes)
        b["ranges"], b["domain"] = a["ranges"], list(a["domain"])
        b["dtype"] = self.known[second] = a["dtype"]
        around = dict(zip(iterators, axes, strict=True))
        needs: list[Any] = []
        pieces = []
        # Where both are the same instances, they need their own values.
        for own, other, may_be_same in ((a, b, rng.random() < 0.1), (b, a, True)):
            vectors = [self.distance(rank)]
            if may_be_same and rng.random() < 0.6:
                vectors = [[0] * rank]
            if rng.random() < 0.4:
                vectors.append(self.distance(rank))
            body = self.value(around, needs, 1, [])
            inside: list[Any] = []
            for n, vector in enumerate(vectors):
                target = other if n == 0 else own
                subscripts = [affine(v, **{i: 1}) for i, v in zip(iterators, vector, strict=True)]
                body = ["add", body, self.converted(["read", target["name"], subscripts])]
                inside.append(subscripts)
            pieces.append((own, body, inside, self.value(around, needs, 0, [])))
        for own in (a, b):
            self.restrict(own, needs)
        for own, body, reads, start in pieces:
            inside = unique([c for subscripts in reads for c in self.bounds(own, subscripts)])
            own["pieces"] = [[["all", inside], body], [["not", inside], start]]
        self.computations.extend((a, b))

    @staticmethod
    def below_zero(computation: dict[str, Any]) -> dict[str, list[Any]]:
        """How far each iterator may go below 0."""
        found: dict[str, list[Any]] = {}
        for name, (low, *_) in zip(computation["iterators"], computation["ranges"], strict=True):
            constant, terms = substitute(low, found)
            found[name] = [min(0, constant), {n: c for n, c in terms.items() if c < 0}]
        return found

    def begins_below(self, computation: dict[str, Any]) -> bool:
        return any(by != affine() for by in self.below_zero(computation).values())

    def from_zero(self, name: str, below: dict[str, Any]) -> None:
        """A computation of the same elements as one with negative coordinates, which no output has."""
        moved = self.below_zero(below)
        back = {i: substitute([0, {i: 1, "by": 1}], {"by": by}) for i, by in moved.items()}
        ranges = []
        for i, (low, high, *step) in zip(below["iterators"], below["ranges"], strict=True):
            ends = [substitute(end, back) for end in (low, high)]
            away = [substitute([0, {"e": 1, "by": -1}], {"e": e, "by": moved[i]}) for e in ends]
            ranges.append([*away, *step])
        around = dict(zip(below["iterators"], below["axes"], strict=True))
        self.known[name] = self.known[below["name"]]
        self.computations.append(
            {
                "name": name,
                "iterators": list(around),
                "axes": below["axes"],
                "ranges": ranges,
                "domain": [substitute(c, back) for c in below["domain"]],
                "where": [substitute(c, back) for c in below["where"]],
                "dtype": self.known[below["name"]],
                "pieces": [[None, ["read", below["name"], list(back.values())]]],
            }
        )

    def program(self) -> Program:
        rng = self.rng
        for _ in range(rng.choice((1, 2))):
            self.new_input(self.axes(rng.choice((1, 2, 2))))
        names = iter("CDEFGHPQRSTU")
        for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
            draw = rng.random()
            if draw < 0.22:
                self.recurrence(next(names))
            elif draw < 0.28:
                self.mutual(next(names), next(names))
            elif draw < 0.38:
                self.view(next(names))
            else:
                self.plain(next(names))
        read = {name for c in self.computations for name in names_read(c)}
        for c in list(self.computations):
            is_last = c is self.computations[-1]
            if (is_last or c["name"] not in read) and self.begins_below(c):
                self.from_zero(next(names), c)
                read.add(c["name"])
        last = self.computations[-1]["name"]
        outputs = [
            c["name"]
            for c in self.computations
            if c["name"] == last
            or c["name"] not in read
            or (rng.random() < 0.1 and not self.begins_below(c))
        ]
        self.make_whole(outputs)
        return pruned(
            {"inputs": self.inputs, "computations": self.computations, "outputs": outputs}
        )


def draw_program(rng: random.Random) -> Program:
    return Generator(rng).program()
