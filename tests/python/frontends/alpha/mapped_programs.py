"""Random systems under random target mappings, and what enumeration says of them.

A system is made of rows of integers, from which its text and the instances, reads and times are made
independently of the library. The size is fixed by the parameter domain, so that the verifier speaks of
the same instances. `Enumerated` asks each question of the report's section 8 for each pair of instances.

``python mapped_programs.py 5000 [first seed]`` compares so many mappings, and says how many are legal.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mapped_rows import SHAPES, SIZE, Point, Row, affine, at, composed, names_of, points, where

import tilewright as tw

alpha = tw.alpha


@dataclass
class Variable:
    """An equation. Of a reduction, `body` are the constraints of its body, and `projection` leads to the
    variable; otherwise reads are there where all of them have a value."""

    name: str
    kind: str
    shape: str
    reads: list[tuple[str, list[Row]]] = field(default_factory=list)
    body: list[Row] | None = None
    projection: list[Row] = field(default_factory=list)
    is_operand: bool = False  # 1 + reduce(...)
    conditions: list[Row] = field(default_factory=list)

    @property
    def arity(self) -> int:
        return SHAPES[self.shape][0]

    @property
    def points(self) -> list[Point]:
        return points(SHAPES[self.shape][1], self.arity)


class RandomMapping:
    """A random system with a random mapping."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: dict[str, Variable] = {}
        self.times: dict[str, list[Row]] = {}
        self.types: dict[tuple[str | None, int], str] = {}
        self.memory: dict[str, tuple[list[Row], list[int]]] = {}
        self.spaces: dict[str, str] = {}
        self.tiling: tuple[list[int], list[int], str] | None = None
        self.system()
        self.width = self.random.choice([2, 2, 3])
        self.mapping()

    # ---- the system ----

    def system(self) -> None:
        choice = self.random
        for name in ["X", "Y"][: choice.randint(1, 2)]:
            self.variables[name] = Variable(
                name, "local", choice.choice(["line", "square", "square", "triangle"])
            )
        if choice.random() < 0.5:
            self.variables["S"] = self.reduction()
        self.variables["Z"] = Variable("Z", "output", choice.choice(["line", "square"]))
        for variable in self.variables.values():
            if variable.body is None:
                self.add_reads(variable)

    def add_reads(self, variable: Variable) -> None:
        choice = self.random
        for _ in range(choice.randint(1, 2)):
            before = [n for n in self.variables if n < variable.name and n != "S"] or ["X"]
            others = before if variable.name == "Z" else [variable.name, variable.name, *before]
            if choice.random() < 0.08:
                others = [n for n in self.variables if n != "Z"]
            if variable.name == "Z" and "S" in self.variables:
                others = [*others, "S", "S"]
            producer = self.variables[choice.choice(others)]
            function = self.function(variable.arity, producer.arity, variable is producer)
            rows = [composed(row, function) for row in SHAPES[producer.shape][1]]
            if variable is producer and any(
                tuple(at(row, each) for row in function) == each for each in variable.points
            ):
                continue
            variable.reads.append((producer.name, function))
            variable.conditions += rows

    def function(self, count: int, results: int, own: bool) -> list[Row]:
        """Results near the indices, mostly before them if the variable reads itself."""
        choice, found = self.random, []
        for number in range(results):
            unit = [int(n == (number if choice.random() < 0.85 else choice.randrange(count)))
                    for n in range(count)]  # fmt: skip
            if number >= count:
                unit = [0] * (count - 1) + [1]
            offset = choice.choice([-1, 0, 0, 1])
            if own and choice.random() < 0.9:  # an earlier one
                late = any(row[-1] < 0 for row in found)
                offset = choice.choice([-1, 0, 1] if late else [-1, -1, 0])
                offset = -1 if number == results - 1 and not late else offset
            found.append((*unit, offset))
        return found

    def reduction(self) -> Variable:
        choice = self.random
        box = [(1, 0, 0), (-1, 0, SIZE - 1), (0, 1, 0), (0, -1, SIZE - 1)]
        canonic = choice.random() < 0.7
        made = Variable("S", "local", "line" if canonic else "long line", body=list(box))
        made.projection = [(1, 0, 0)] if canonic else [(1, 1, 0)]
        if canonic and choice.random() < 0.4:
            made.body = [*box, (1, -1, 0)]  # j <= i
        made.is_operand = choice.random() < 0.3
        for _ in range(choice.randint(1, 2)):
            producer = self.variables[choice.choice(list(self.variables))]
            single: list[Row] = [(1, 0, 0), (0, 1, 0)]
            if producer.shape == "triangle":
                function = choice.choice([[single[0], single[0]], [single[1], single[1]]])
            else:
                function = [choice.choice(single) for _ in range(producer.arity)]
            made.reads.append((producer.name, function))
        return made

    # ---- the mapping ----

    def mapping(self) -> None:
        choice = self.random
        plans = ["phases", "delays", "skewed"] if self.width == 3 else ["delays", "skewed"]
        plan = choice.choice(plans) if choice.random() < 0.75 else "none"
        for position, variable in enumerate(self.variables.values()):
            count = variable.arity
            if variable.body is not None and not variable.is_operand and choice.random() < 0.6:
                count = 2
            rows = self.planned(plan, position, count, variable.name)
            if choice.random() < 0.12:
                rows[choice.randrange(self.width)] = self.time_row(count)
            self.times[variable.name] = rows
        for number in range(self.width):
            if choice.random() < 0.15:
                self.types[None, number] = choice.choice(["parallel", "parallel", "ordering"])
        if choice.random() < 0.07:
            name = choice.choice(list(self.variables))
            self.types[name, choice.randrange(self.width)] = choice.choice(
                ["parallel", "sequential"]
            )
        if choice.random() < 0.35:
            dimensions = sorted(choice.sample(range(self.width), choice.randint(1, self.width)))
            sizes = [choice.randint(1, 3) for _ in dimensions]
            self.tiling = (dimensions, sizes, choice.choice(["sequential", "wavefront"]))
        self.memories()

    def planned(self, plan: str, position: int, count: int, name: str) -> list[Row]:
        """Times that are often legal."""
        first = (1, *[0] * count)
        last = (0, 1, 0) if count == 2 else self.random.choice([(0, 0), (1, 0)])
        late = 4 * SIZE if name in ("S", "Z") else 0
        delay = position * self.random.choice([1, 2, 2]) + late * (1 + (name == "Z"))
        if plan == "phases":
            rows = [(*[0] * count, position), first, last]
        elif plan == "delays":
            rows = [(*first[:-1], delay), last]
        elif plan == "skewed":
            both = tuple(a + b for a, b in zip(first, last, strict=True))
            rows = [(*first[:-1], delay), (*both[:-1], delay)]
        else:
            rows = [self.time_row(count) for _ in range(self.width)]
        return [*rows, *[(*[0] * count, 0)] * (self.width - len(rows))]

    def time_row(self, count: int) -> Row:
        choice = self.random
        units: list[Row] = [(*tuple(int(n == d) for n in range(count)), 0) for d in range(count)]
        kind = choice.random()
        if kind < 0.65:
            return choice.choice(units)
        if kind < 0.8 and count == 2:
            return choice.choice([(1, 1, 0), (-1, 1, 0), (1, 2, 0), (2, 1, 0)])
        if kind < 0.9:
            return (*(-c for c in choice.choice(units)[:-1]), SIZE)
        return (*[0] * count, choice.randint(0, 2))

    def memories(self) -> None:
        choice = self.random
        for variable in self.variables.values():
            if variable.kind != "local" or choice.random() < 0.5:
                continue
            rows: list[Row] = []
            for _ in range(choice.randint(1, 2)):
                units = [(*tuple(int(n == d) for n in range(variable.arity)), 0)
                         for d in range(variable.arity)]  # fmt: skip
                more = [(1, 1, 0), (-1, 1, 0)] if variable.arity == 2 else [(0, 0)]
                unit = units[len(rows) % len(units)]
                rows.append(choice.choice([unit] * 5 + more))
            moduli = [choice.choice([0, 0, 0, 1, 2, 2, 3, 3]) for _ in rows]
            self.memory[variable.name] = (rows, moduli)
        names = [n for n in self.memory if len(self.memory[n][0]) == 2]
        if len(names) > 1 and choice.random() < 0.5:
            self.spaces = dict.fromkeys(names, "room")
        fitting = [n for n in self.memory if len(self.memory[n][0]) == self.variables["Z"].arity]
        if fitting and choice.random() < 0.3:  # in the array of the output
            self.spaces = dict.fromkeys(fitting, "Z")

    @property
    def room(self) -> list[str]:
        """The variables that are kept in one memory."""
        return [*self.spaces, *(["Z"] if "Z" in self.spaces.values() else [])]

    # ---- as text ----

    def text(self) -> str:
        declared, equations = [], []
        for each in self.variables.values():
            names = names_of(each.arity)
            domain = f"{{{','.join(names)} | {where(SHAPES[each.shape][1], names)}}}"
            declared.append(f"{each.kind} long {each.name} {domain};")
            equations.append(f"{each.name}[{','.join(names)}] = {self.value(each)};")
        first = "\n  ".join(sorted(declared, key=lambda line: not line.startswith("local")))
        return (
            f"affine mapped {{N | N=={SIZE}}}\n  input long A {{i | 0<=i<{4 * SIZE}}};\n  {first}\n"
            f"  let {chr(10).join(equations)}\n."
        )

    def value(self, variable: Variable) -> str:
        count = variable.arity if variable.body is None else 2
        names = names_of(count)
        terms = [
            f"{name}[{','.join(affine(row, names) for row in function)}]"
            for name, function in variable.reads
        ]
        if variable.body is not None:
            projection = ",".join(affine(row, names) for row in variable.projection)
            body = f"{{{','.join(names)} | {where(variable.body, names)}}} : {' + '.join(terms)}"
            reduced = f"reduce(+, ({','.join(names)}->{projection}), {body})"
            return f"1 + {reduced}" if variable.is_operand else reduced
        if not terms:
            return "A[i]"
        branches, held = [], []
        for row in variable.conditions:
            opposite = (*(-c for c in row[:-1]), -row[-1] - 1)
            if any(all(at(r, p) >= 0 for r in [*held, opposite]) for p in variable.points):
                branches.append((where([*held, opposite], names), "A[i]+1"))
            held.append(row)
        if any(all(at(r, p) >= 0 for r in held) for p in variable.points):
            branches.append((where(held, names), " + ".join(["1", *terms])))
        written = " ".join(f"{{| {domain}}} : {value};" for domain, value in branches)
        return f"case {written} esac"

    def program(self) -> tw.alpha.Program:
        """The program with its mapping."""
        program = alpha.load(self.text())
        for name, rows in self.times.items():
            program = alpha.SetSTMap(program, name, self.map_text(rows))
        for (variable, number), kind in self.types.items():
            more = [variable] if variable else []
            program = alpha.SetDimensionType(program, number, kind, *more)
        for name, (rows, moduli) in self.memory.items():
            factors = ",".join(map(str, moduli))
            program = alpha.SetMemoryMapping(program, name, self.map_text(rows), factors)
        if self.spaces:
            (space,) = set(self.spaces.values())
            program = alpha.SetMemorySpace(program, space, ",".join(self.spaces))
        if self.tiling:
            dimensions, sizes, kind = self.tiling
            program = alpha.SetTiling(
                program, ",".join(map(str, dimensions)), ",".join(map(str, sizes)), kind
            )
        return program

    @staticmethod
    def map_text(rows: Sequence[Row]) -> str:
        names = names_of(len(rows[0]) - 1)
        return f"({','.join(names)}->{','.join(affine(row, names) for row in rows)})"


class Enumerated:
    """What enumeration says of a random mapping."""

    def __init__(self, given: RandomMapping) -> None:
        self.given = given
        self.in_body = {
            name
            for name, each in given.variables.items()
            if each.body is not None and len(given.times[name][0]) == 3
        }

    # ---- instances and their times ----

    def instances(self, name: str) -> list[Point]:
        variable = self.given.variables[name]
        if name in self.in_body:
            assert variable.body is not None
            return points(variable.body, 2)
        return variable.points

    def answer(self, name: str, point: Point) -> Point:
        """The point of the variable that an instance is for."""
        if name not in self.in_body:
            return point
        return tuple(at(row, point) for row in self.given.variables[name].projection)

    def time(self, name: str, point: Point) -> Point:
        return tuple(at(row, point) for row in self.given.times[name])

    def kind(self, name: str, number: int) -> str:
        own = self.given.types.get((name, number))
        return own or self.given.types.get((None, number), "sequential")

    def kinds(self, name: str) -> list[str]:
        return [self.kind(name, number) for number in range(self.given.width)]

    def tiled(self, name: str, point: Point) -> tuple[Point, list[str]]:
        """The time in tiled loops, and the types of its dimensions."""
        time, kinds = list(self.time(name, point)), self.kinds(name)
        if self.given.tiling is None:
            return tuple(time), kinds
        dimensions, sizes, how = self.given.tiling
        tiles = [time[d] // size for d, size in zip(dimensions, sizes, strict=True)]
        tile_kinds = ["sequential"] * len(tiles)
        if how == "wavefront":
            tiles[0] = sum(tiles)
            tile_kinds[1:] = ["parallel"] * (len(tiles) - 1)
            for d in dimensions:
                kinds[d] = "sequential"
        else:
            for number, d in enumerate(dimensions):
                if kinds[d] != "parallel":
                    break
                tile_kinds[number], kinds[d] = "parallel", "sequential"
        cut = dimensions[0]
        return tuple(time[:cut] + tiles + time[cut:]), kinds[:cut] + tile_kinds + kinds[cut:]

    @staticmethod
    def first_is_before(first: tuple[Point, list[str]], second: tuple[Point, list[str]]) -> bool:
        for a, b, one, other in zip(first[0], second[0], first[1], second[1], strict=True):
            if a != b:
                return a < b and "parallel" not in (one, other)
        return False

    # ---- dependences ----

    def reads(self, name: str) -> Iterator[tuple[int, Point, str, Point, bool]]:
        """(number of the read, instance, producer, its point, whether a reduction reads it)."""
        variable = self.given.variables[name]
        for instance in self.instances(name):
            if variable.body is None:
                if all(at(row, instance) >= 0 for row in variable.conditions):
                    for number, (producer, function) in enumerate(variable.reads):
                        yield number, instance, producer, self.image(function, instance), False
                continue
            terms = [instance] if name in self.in_body else [
                each for each in points(variable.body, 2)
                if tuple(at(row, each) for row in variable.projection) == instance
            ]  # fmt: skip
            for term in terms:
                for number, (producer, function) in enumerate(variable.reads):
                    inside = name not in self.in_body
                    yield number, instance, producer, self.image(function, term), inside

    @staticmethod
    def image(function: Sequence[Row], point: Point) -> Point:
        return tuple(at(row, point) for row in function)

    def pairs(self) -> dict[tuple[str, int], list[tuple[Point, str, Point, bool]]]:
        """(instance, producer, its instance, inside a reduction) by reader and number of the read."""
        found: dict[tuple[str, int], list[tuple[Point, str, Point, bool]]] = {}
        for name in self.given.variables:
            for number, instance, producer, point, inside in self.reads(name):
                for each in self.instances(producer):
                    if self.answer(producer, each) == point:
                        found.setdefault((name, number), []).append(
                            (instance, producer, each, inside)
                        )
        return found

    def walked(
        self, pairs: Sequence[tuple[str, Point, str, Point]]
    ) -> tuple[list[str], list[str], bool, bool]:
        """Of pairs (consumer, instance, producer, instance): the verdict of each dimension, the verdict
        of each alone, whether some have equal times, whether tiling breaks one."""
        verdicts, alone, left = [], [], list(pairs)
        tiled = self.given.tiling[0] if self.given.tiling else []
        in_tiles: list[tuple[str, Point, str, Point]] | None = None
        breaks = False

        def differences(which: Sequence[tuple[str, Point, str, Point]], d: int) -> list[int]:
            return [self.time(c, z)[d] - self.time(p, y)[d] for c, z, p, y in which]

        for d in range(self.given.width):
            every = differences(pairs, d)
            alone.append("violated" if min(every) < 0 else "strict" if min(every) > 0 else "weak")
            if d in tiled:
                in_tiles = left if in_tiles is None else in_tiles
                breaks = breaks or any(each < 0 for each in differences(in_tiles, d))
            own = differences(left, d)
            parallel = any("parallel" in (self.kind(c, d), self.kind(p, d)) for c, _, p, _ in left)
            wrong = [each for each in own if each < 0 or (parallel and each)]
            verdicts.append(
                "" if not left else "violated" if wrong else "weak" if 0 in own else "strict"
            )
            left = [pair for pair, each in zip(left, own, strict=True) if each == 0]
        return verdicts, alone, bool(left), breaks

    def dependences_are_legal(self) -> bool:
        for (consumer, _), pairs in self.pairs().items():
            listed = [(consumer, z, p, y) for z, p, y, _ in pairs]
            verdicts, _, equal, breaks = self.walked(listed)
            if "violated" in verdicts or equal or breaks:
                return False
        return all(self.accumulates(name) for name in self.in_body)

    def accumulates(self, name: str) -> bool:
        """Terms of one answer are ordered, before and after tiling: no parallel loop has two."""
        for a, b in itertools.permutations(self.instances(name), 2):
            if self.answer(name, a) == self.answer(name, b):
                plain = [(self.time(name, each), self.kinds(name)) for each in (a, b)]
                tiled = [self.tiled(name, each) for each in (a, b)]
                for first, second in (plain, tiled):
                    for x, y, kind, _ in zip(first[0], second[0], first[1], second[1], strict=True):
                        if x != y:
                            if kind == "parallel":
                                return False
                            break
        return True

    # ---- the rest ----

    def times_are_legal(self) -> bool:
        for name in self.given.variables:
            times = [self.time(name, each) for each in self.instances(name)]
            if len(set(times)) < len(times):
                return False
            for number in range(self.given.width):
                row = self.given.times[name][number]
                if self.kind(name, number) == "ordering" and any(row[:-1]):
                    return False
        for first, second in itertools.combinations(self.given.variables, 2):
            for number in range(self.given.width):
                kinds = {self.kind(first, number), self.kind(second, number)}
                if "ordering" in kinds:
                    one, other = (self.given.times[n][number] for n in (first, second))
                    if one[-1] != other[-1] or any(one[:-1]) != any(other[:-1]):
                        break
                    if any(one[:-1]) and one != other:
                        break
                elif len(kinds) > 1:
                    return False
        return True

    def cell(self, name: str, point: Point) -> Point:
        if name not in self.given.memory:
            return point
        rows, moduli = self.given.memory[name]
        values = [at(row, point) for row in rows]
        return tuple(v % m if m else v for v, m in zip(values, moduli, strict=True))

    def cleared(self, name: str, point: Point) -> tuple[Point, list[str]]:
        """When the sum of a term is cleared: before the first loop over terms (-1000)."""
        time, kinds = self.tiled(name, point)
        rows = list(self.given.times[name])
        if self.given.tiling is not None:
            dimensions, _, how = self.given.tiling
            tiles = [rows[d] for d in dimensions]
            if how == "wavefront":  # the sum of the tiles varies if one of them does
                tiles[0] = next((r for r in tiles if self.varies(name, r)), tiles[0])
            rows = [*rows[: dimensions[0]], *tiles, *rows[dimensions[0] :]]
        for place, row in enumerate(rows):
            if self.varies(name, row):
                later = ["sequential"] * (len(kinds) - place)
                return (*time[:place], -1000, *time[place + 1 :]), kinds[:place] + later
        return time, kinds

    def varies(self, name: str, row: Row) -> bool:
        """Whether terms of one answer may have several values of a row."""
        rows = [each[:-1] for each in self.given.variables[name].projection]
        a, b = next((each for each in rows if any(each)), (0, 0))
        return any(row[:-1]) if not (a or b) else a * row[1] != b * row[0]

    def memory_is_legal(self) -> bool:
        room = self.given.room
        return self.output_is_left(room) and all(
            self.keeps(consumer, z, producer, y, writer, w, inside)
            for (consumer, _), pairs in self.pairs().items()
            for z, producer, y, inside in pairs
            if producer in self.given.memory or producer in room
            for writer in (room if producer in room else [producer])
            for w in self.instances(writer)
        )

    def output_is_left(self, room: Sequence[str]) -> bool:
        """Whether others that are kept in the output's array are done with each element before it is there."""
        for z in self.instances("Z") if "Z" in room else []:
            value = self.answer("Z", z)
            begun = self.cleared("Z", z) if "Z" in self.in_body else self.tiled("Z", z)
            for writer in room[:-1]:
                for w in self.instances(writer):
                    same = self.cell(writer, self.answer(writer, w)) == self.cell("Z", value)
                    if same and not self.first_is_before(self.tiled(writer, w), begun):
                        return False
        return True

    def keeps(
        self, consumer: str, z: Point, producer: str, y: Point, writer: str, w: Point, inside: bool
    ) -> bool:
        """Whether w, or the clearing of its sum, leaves what y computes and z reads as it is."""
        value, result = self.answer(producer, y), self.answer(writer, w)
        is_same = writer == producer and result == value
        if is_same or self.cell(writer, result) != self.cell(producer, value):
            return True
        own = writer == consumer and w == z and not inside and writer not in self.in_body
        written, read = self.tiled(producer, y), self.tiled(consumer, z)
        start = self.tiled(writer, w)
        begun = self.cleared(producer, y) if producer in self.in_body else written
        for end in (begun, written):
            if not (self.first_is_before(start, end) or self.first_is_before(read, start) or own):
                return False
        if writer in self.in_body:
            cleared = self.cleared(writer, w)
            return self.first_is_before(cleared, written) or self.first_is_before(read, cleared)
        return True

    def is_legal(self) -> bool:
        return self.times_are_legal() and self.dependences_are_legal() and self.memory_is_legal()


def disagreement(seed: int) -> tuple[bool, str]:
    """Whether enumeration finds the mapping of a seed legal, and where the verifier says otherwise."""
    given = RandomMapping(seed)
    enumerated = Enumerated(given)
    answer = alpha.verify(given.program())
    legal = enumerated.is_legal()
    if bool(answer) != legal:
        return legal, f"verifier: {bool(answer)}, enumeration: {legal}"
    listed = enumerated.pairs()
    for name, variable in given.variables.items():
        rows = [e for e in answer if e.consumer == name and e.kind == "read"]
        mine = [
            [(name, z, p, y) for z, p, y, _ in listed[name, number]]
            for number in range(len(variable.reads))
            if (name, number) in listed
        ]
        if len(rows) != len(mine):
            return legal, f"{name}: {len(rows)} dependences, enumeration has {len(mine)}"
        for row, pairs in zip(rows, mine, strict=True):
            verdicts, alone, equal, _ = enumerated.walked(pairs)
            found = [e.verdict for e in row.dimensions], [e.alone for e in row.dimensions]
            if found != (verdicts, alone) or equal == row.unordered.is_empty:
                return legal, f"{row}: {found}, enumeration has {verdicts}, {alone}, {equal}"
            if row.witness is not None and not row.is_legal:
                first, second = row.witness.instances
                if (name, first.point, second.variable, second.point) not in pairs:
                    return legal, f"{row}: the witness is no dependence"
                if first.time != enumerated.time(name, first.point):
                    return legal, f"{row}: the witness has another time"
    return legal, ""


def main(count: int, first: int) -> int:
    """Compares mappings; the number of wrong verdicts."""
    verdicts: Counter[bool] = Counter()
    wrong = 0
    for seed in range(first, first + count):
        legal, text = disagreement(seed)
        verdicts[legal] += 1
        if text:
            wrong += 1
            print(f"seed {seed}: {text}")
    print(f"{count} mappings from seed {first}: {verdicts[True]} legal, {verdicts[False]} not; "
          f"{wrong} wrong verdicts")  # fmt: skip
    return wrong


if __name__ == "__main__":
    arguments = [*map(int, sys.argv[1:]), 0]
    raise SystemExit(main(arguments[0] or 1000, arguments[1] if len(sys.argv) > 2 else 0) > 0)
