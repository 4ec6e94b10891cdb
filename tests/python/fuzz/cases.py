"""One case: a program, commands, sizes; every verdict judged, every legal mapping compiled and compared."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

import tilewright as tw
from fuzz.automatic import judge_automatic, map_to_device
from fuzz.checked_loops import CheckedLoops, OutOfPlace, Undecided, arguments_of
from fuzz.circles import has_circle
from fuzz.commands import Command, as_drawn, draw_command, give
from fuzz.generator import draw_program
from fuzz.judge import Judge, TooLarge
from fuzz.linear import Refused
from fuzz.model import Model, NotModelled
from fuzz.nearness import PRECISION, same
from fuzz.order_of_partials import turned_round
from fuzz.programs import (
    AXES,
    Declaration,
    Program,
    deepest,
    dtype_of,
    reassociated,
    types_of,
)
from fuzz.refused_at import is_senseless_at
from fuzz.rewriting import points
from fuzz.smallest import smallest_buffer, smallest_fold
from fuzz.sources import SourceOracle
from fuzz.space import SEARCHED, Space, World
from fuzz.starting import Unknown, disagreement, start_table
from fuzz.transactions import Failure, flat, give_together, kind_of
from tilewright import _core

Case = dict[str, Any]


#: How seeds begin of cases that `auto_schedule` schedules.
AUTOMATIC = "auto-"
#: How seeds begin of cases that `auto_schedule` maps to a GPU.
DEVICES = ("gpu-emulator", "cuda")


def draw_case(seed: str) -> Case:
    rng = random.Random(seed)
    program = draw_program(rng)
    sizes = [tuple(rng.choice((0, 1, 2, 3, 4, 5, 6)) for _ in AXES) for _ in range(2)]
    sizes.append(tuple(rng.choice((3, 4, 5)) for _ in AXES))
    automatic = seed.startswith(AUTOMATIC) or random.Random(f"{seed}:auto").random() < 0.05
    device = next((target for target in DEVICES if seed.startswith(target)), None)
    return {
        "seed": seed, "program": program, "sizes": sizes, "commands": None, "auto": automatic, "device": device,
    }  # fmt: skip


def drawn_commands(case: Case) -> list[Command]:
    """The commands that a run of the case gives, by verdicts alone (nothing is compiled)."""
    runner = Runner(case, compiled=False)
    try:
        runner.run()
    except Failure as failure:
        return failure.commands
    except Exception:
        pass  # what went wrong is told already; here it is asked which command it was
    return runner.attempted


def computations_read(layers: str, description: dict[str, Any]) -> list[str]:
    """Those that others read: readers of a view may read what it shows instead."""
    values = re.findall(r"^ +\{ (\w+)\[.*?\} : (.*)$", layers, re.MULTILINE)
    return [
        name
        for name in description["computations"]
        if any(re.search(rf"\b{name}\[", value) for own, value in values if own != name)
    ]


def nonnegative_parameters(layers: str) -> set[str]:
    """The parameters that no call has below 0."""
    context = re.search(r"^ *parameters \[.*$", layers, re.MULTILINE)
    return set(re.findall(r"(\w+) >= 0", context[0])) if context else set()


def sizes_of_witness(error: Any) -> tuple[int, ...]:
    """The sizes at which a refusal shows its example; 3 where it does not say."""
    known = dict(re.findall(r"(\w+) = (-?\d+)", error.parameters or ""))
    return tuple(int(known.get(axis, 3)) for axis in AXES)


class Runner:
    """Runs one case and counts what happened."""

    def __init__(self, case: Case, compiled: bool = True, c_compiler: str = "") -> None:
        self.case = case
        self.compiled = compiled
        self.source = SourceOracle(c_compiler) if compiled and c_compiler else None
        self.program: Program = case["program"]
        self.statistics: dict[str, int] = {}
        self.worlds: dict[Any, World] = {}
        self.starts: dict[tuple[int, ...], Any] = {}
        self.done: list[Command] = []
        self.attempted: list[Command] = []
        #: Why the model does not know the mapping any more; then only values are compared.
        self.lost = ""
        #: Loops are generated after each command, or only at the end: they are half of a case's time.
        self.lowers_each = (
            case["commands"] is not None or random.Random(case["seed"] + ":loops").random() < 0.25
        )
        self.has_old_loops = True
        #: The loops, printed; None if isl was stopped.
        self.loops: str | None = None

    def count(self, what: str) -> None:
        self.statistics[what] = self.statistics.get(what, 0) + 1

    def run(self) -> dict[str, int]:
        self.count("cases")
        try:
            self.original = Declaration(self.program).function
        except tw.SelfDependenceError as error:
            sizes = dict.fromkeys(AXES, 3)
            sizes.update((n, int(v)) for n, v in re.findall(r"([NMK]) = (-?\d+)", str(error)))
            if not has_circle(self.program, sizes):
                raise Failure("false refusal", f"no circle at its sizes: {error}", []) from error
            self.count("programs that need their own values")
            return self.statistics
        except tw.DeclarationError as error:
            self.count(f"not a program ({type(error).__name__})")
            return self.statistics
        self.description = _core.describe_mapping(self.original)
        self.function = self.original.copy()  # of the same first schedule
        layers = str(self.original.layers)
        self.description["read"] = computations_read(layers, self.description)
        self.model = Model(self.description, self.program)
        if list(self.description["computations"]) != list(self.model.computations):
            text = f"computations {list(self.description['computations'])}"
            raise Failure("instances", f"{text}, not {list(self.model.computations)}", [])
        for name, one in self.description["computations"].items():
            if self.model.iterators[name] != one["iterators"]:
                text = f"{name} is scheduled by {one['iterators']}, not by {self.model.iterators[name]}"
                raise Failure("instances", text, [])
        self.model.parameters = list(self.function.parameters)
        self.model.nonnegative = nonnegative_parameters(layers)
        self.model.shapes = {
            name: extents for name, _, extents, is_output in self.function._arguments if is_output
        }
        try:
            self.function._require_legal()
        except tw.IllegalScheduleError:
            self.count("no default schedule found")
            return self.statistics
        try:
            if any(self.model.in_place(name) for name in self.model.planned):
                raise Unknown("times of what makes no statement")
            self.agree(self.model)
            if self.model.planned:
                self.same_times(self.model)
        except Unknown:
            self.count("starting point not judged")
            return self.statistics
        if self.case.get("device"):
            map_to_device(self, self.case["device"])
            return self.statistics
        if self.compiled and self.case["commands"] is None:
            self.compare_default()
        if self.case["commands"] is None and self.case.get("auto"):
            judge_automatic(self)
        elif self.case["commands"] is None:
            rng = random.Random(self.case["seed"] + ":commands")
            if (  # what the library chooses is judged as well
                rng.random() < 0.2 and (default := self.original.default_schedule.commands)
            ):
                for computation, name, arguments in default:
                    self.step([computation, name, as_drawn(name, arguments)])
                    if not self.done or self.done[-1][1] != name:
                        text = f"a command of the default schedule is refused: {name}"
                        raise Failure("default", text, self.done)
                self.count("default schedules judged")
            else:
                for _ in range(rng.randint(1, 7)):
                    if not self.lost and rng.random() < 0.12:
                        give_together(self, None, abandoned=rng.random() < 0.2)
                        continue
                    command = draw_command(rng, self.model)
                    if command is not None:
                        self.step(command)
        else:
            for command in self.case["commands"]:
                self.step(command)
        self.compare_values()
        return self.statistics

    def compare_values(self) -> None:
        if self.has_old_loops:
            self.generate_loops()
        if not self.lost:
            self.same_times(self.model)
        if any(command[1] == "independent" for command in flat(self.done)):
            self.count("values not compared: a promise was drawn, which need not be true")
            return
        self.run_loops()
        if self.compiled:
            for sizes in self.case["sizes"]:
                self.compare(sizes)

    def run_loops(self) -> None:
        """No loop leaves an array, or reads what nothing has written."""
        if self.loops is None:
            return
        loops = CheckedLoops(self.loops)
        for sizes in self.case["sizes"]:
            known = dict(zip(AXES, self.model.at(sizes), strict=True))
            try:
                loops.run(known, arguments_of(self.function, known))
            except Undecided as error:
                self.count(f"loops not run ({error})")
            except OutOfPlace as error:
                raise Failure("place", f"at {shown(sizes)}: {error}", self.done) from error
            else:
                self.count("loops run with checked arrays")

    # ---- verdicts ----

    def judge(self, model: Model, sizes: tuple[int, ...], limit: int = 12000) -> Judge | None:
        world = self.worlds.setdefault(model.key(), World(model))
        space = world.space(sizes, limit)
        if space is None:
            return None
        if model.planned and sizes not in self.starts:
            known = dict(zip(AXES, sizes, strict=True))
            statements = _core.statements_at(self.original, known)
            self.starts[sizes] = start_table(self.description, statements, model)
        return Judge(model, world, space, self.starts.get(sizes))

    def agree(self, model: Model) -> None:
        """The library says legal: no violation at any size."""
        for sizes in self.case["sizes"]:
            problem = self.problem(model, sizes)
            if problem is None:
                self.count("sizes too large to judge")
            elif problem:
                raise Failure("missed", f"found legal, but at {shown(sizes)}: {problem}", self.done)

    def same_times(self, model: Model) -> None:
        """Every instance runs at the time that the model says, and writes the element that it says."""
        sizes = model.at(self.case["sizes"][-1])
        try:
            judge = self.judge(model, sizes)
        except TooLarge:
            judge = None
        if judge is not None:
            statements = _core.statements_at(self.function, dict(zip(AXES, sizes, strict=True)))
            difference = disagreement(judge, statements)
            if difference:
                raise Failure("order", f"at {shown(sizes)}: {difference}", self.done)

    def lower(self) -> None:
        self.has_old_loops = not self.lowers_each
        if self.lowers_each:
            self.generate_loops()

    def generate_loops(self) -> None:
        """Only the operation limit may stand in the way."""
        try:
            self.loops = str(self.function.loops)
        except tw.AnalysisLimitError:
            self.loops = None
            self.count("operation limit reached at the loops")
        except tw.TilewrightError as error:
            raise Failure(
                "accepted", f"accepted, yet there are no loops: {error}", self.done
            ) from error
        else:
            self.count("schedules with loops")

    def has_no_instances(self, computation: str, given: Model | None = None) -> bool:
        """Whether a computation has an empty domain, or its reduction no term, at whichever sizes."""
        model = self.model if given is None else given
        if computation not in model.computations:
            return False
        for sizes in dict.fromkeys(map(model.at, [*self.case["sizes"], *SEARCHED])):
            try:
                space = Space(model, dict(zip(AXES, sizes, strict=True)))
            except OverflowError:
                continue
            values, *terms = space.bases[computation]
            if next((base.rows for base in terms if base.role == "update"), values.rows):
                return False
        return True

    def unjudged(self, command: Command) -> None:
        """A command whose result the model does not know: only values are compared."""
        try:
            give(self.function, command, self.model)
        except tw.IllegalScheduleError:
            self.count(f"not judged ({self.lost}): refused")
        except (tw.ScheduleError, KeyError):
            self.count(f"not judged ({self.lost}): without sense")
        except tw.AnalysisLimitError:
            self.count("operation limit reached")
        else:
            self.done = [*self.done, command]
            if command[1] == "fix":  # calls have this size, whatever the order is
                names, values = command[2][::2], command[2][1::2]
                self.model.fixed.update(zip(names, values, strict=True))
            self.lower()
            self.count(f"not judged ({self.lost}): legal")

    def take_names(self, command: Command, after: Model, attempted: list[Command]) -> None:
        """What the library calls the loops of a map: those that the map names have these names."""
        maps: dict[str, Any] = {}
        if command[1] in ("set_schedule", "apply_schedule"):
            computation, _, arguments = command
            maps = {computation: arguments} if computation else {c: m for c, *m in arguments[0]}
        for computation, (dimensions, *rest) in maps.items():
            found = [name for name, _ in self.function._loops(computation)]
            given = rest[0] if rest else [""] * len(dimensions)
            wrong = [g for g, name in zip(given, found, strict=True) if g and g != name]
            if wrong:
                raise Failure("names", f"loops {found}, not {given}", attempted)
            if command[1] == "set_schedule":
                after.named(computation, found)
            elif found != [loop.name for loop in after.nests[computation].loops]:
                expected = [loop.name for loop in after.nests[computation].loops]
                raise Failure("names", f"loops {found}, not {expected}", attempted)

    def step(self, command: Command) -> None:
        if command[1] in ("transaction", "abandoned"):
            if not self.lost:
                give_together(self, command[2], command[1] == "abandoned")
            return
        if command[1] == "storage_fold" and len(command[2]) < 2 and not self.lost:
            if not command[2]:
                smallest_buffer(self, command)
                return
            if isinstance(command[2][0], str):
                smallest_fold(self, command)
                return
        self.attempted.append(command)
        self.count("commands")
        after: Model | None = None
        try:
            if not self.lost:
                after = self.model.after(command)
        except Refused:
            pass
        except NotModelled as error:
            self.lost = str(error)
        if self.lost:
            self.unjudged(command)
            return
        attempted = [*self.done, command]
        try:
            give(self.function, command, self.model)
        except tw.IllegalScheduleError as error:
            self.count(f"refused: {kind_of(command)}")
            if after is not None:
                self.confirm(error, after, attempted)
            elif command[0] and self.has_no_instances(command[0]):
                # No term comes several times where there is none: the rest of its order is illegal.
                self.count("orders of nothing")
            elif not self.also_turned_round(error, command):
                text = f"{command} makes no sense, yet only its legality was refused"
                raise Failure("accepted", text, attempted) from error
            return
        except (tw.ScheduleError, KeyError) as error:
            if after is not None and not is_senseless_at(self.model, command, str(error)):
                raise Failure(
                    "command", f"refused, but it makes sense: {error}", attempted
                ) from error
            self.count(f"without sense: {kind_of(command)}")
            self.count("verdicts: no sense / no sense")
            return
        except tw.AnalysisLimitError:
            self.count("operation limit reached")
            return
        if after is None and command[0] and self.has_no_instances(command[0]):
            # No term comes several times where there is none. The model knows no such order.
            self.lost = "a computation without instances"
            self.done = attempted
            self.count("orders of nothing")
            return
        if after is None:
            raise Failure("accepted", "accepted, but it makes no sense", attempted)
        self.take_names(command, after, attempted)
        self.count(f"legal: {kind_of(command)}")
        self.done = attempted
        self.model = after
        self.agree(after)
        self.lower()
        self.count("verdicts: legal / legal")

    def problem(self, model: Model, sizes: tuple[int, ...], limit: int = 12000) -> str | None:
        """What the judge finds wrong, "" for nothing, None where there is too much to look at."""
        try:
            judge = self.judge(model, model.at(sizes), limit)
            return None if judge is None else judge.violation() or ""
        except TooLarge:
            return None

    def confirm(self, error: Any, model: Model, attempted: list[Command]) -> None:
        """The library says illegal: there is a violation at its witness, or at some small sizes."""
        witness = sizes_of_witness(error)
        tried = 0
        too_large = False
        searched = map(model.at, [witness, *self.case["sizes"], *SEARCHED])
        for sizes in dict.fromkeys(searched):
            if max(sizes) > (400 if sizes == witness else 40):
                too_large = too_large or sizes == witness
                continue
            problem = self.problem(model, sizes, 150000 if sizes == witness else 12000)
            if problem is None:
                too_large = too_large or sizes == witness
                continue
            tried += 1
            if problem:
                self.count("verdicts: refused / refused")
                if sizes != witness:
                    self.count("refusals not shown by their witness")
                return
            if tried > 260:
                break
        if too_large:
            self.count("not judged (the witness is too large)")
            return
        raise Failure(
            "false refusal",
            f"no violation at {tried} sizes, the witness {shown(witness)} among them: {error}",
            attempted,
        )

    def also_turned_round(self, error: Any, command: Command) -> bool:
        """Whether what makes no sense is illegal as well, so that either may be said: partial results out of order."""
        witness = sizes_of_witness(error)
        try:
            model = self.model.after(command, whole=False)
        except Refused:
            return False
        every = map(model.at, [witness, *self.case["sizes"], *SEARCHED])
        return any(turned_round(model, dict(zip(AXES, sizes, strict=True))) for sizes in every)

    # ---- values ----

    def compare_default(self) -> None:
        """What runs without a command."""
        self.compare_large(self.original)
        self.count("calls of default schedules")

    def compare_large(self, function: tw.Function) -> None:
        """Small sizes keep the declared loops, and are one tile, so there are large ones, too."""
        rng = random.Random(self.case["seed"] + ":default")
        large = tuple(rng.choice((9, 15, 16, 17, 23, 33, 40)) for _ in AXES)
        # The evaluator takes a microsecond for a term: six loops of 40 iterations are an hour's work.
        # And sums of too many terms come to numbers that a narrow float has not, whatever is added to them.
        narrow = any(PRECISION.get(t, 0.0) > 1e-3 for t in types_of(self.program).values())
        loops, terms = deepest(self.program)
        while max(large) ** loops > 10**7 or (narrow and max(large) ** terms > 1000):
            large = tuple(size // 2 for size in large)
        for sizes in (self.case["sizes"][-1], large):
            self.compare(sizes, function)

    def compare(self, sizes: tuple[int, ...], function: tw.Function | None = None) -> None:
        if function is None:
            function, sizes = self.function, self.model.at(sizes)
        known = dict(zip(AXES, sizes, strict=True))
        rng = np.random.default_rng(sum(s * 7**k for k, s in enumerate(sizes)))
        arrays = {}
        for array in self.program["inputs"]:
            if array["name"] not in function.inputs:
                continue
            shape = tuple(
                e[0] + sum(c * known[a] for a, c in e[1].items()) for e in array["extents"]
            )
            values = np.zeros(shape, int) if array.get("index") else rng.integers(-4, 5, shape)
            if array["dtype"] in ("float16", "bfloat16"):
                values //= 2
            if array["dtype"].startswith("complex"):
                values = values + 1j * rng.integers(-2, 3, shape)
            arrays[array["name"]] = values.astype(dtype_of(array["dtype"]))
        parameters = {name: known[name] for name in function.parameters}
        try:
            expected = as_tuple(function.evaluate(**arrays, **parameters))
        except tw.SelfDependenceError as error:
            raise Failure(
                "default", f"a legal schedule of what depends on itself: {error}", self.done
            ) from error
        except ValueError as error:
            if "array is too big" in str(error) or "negative" in str(error):
                self.count("sizes that a call refuses")
                return
            raise
        got = function(**fresh(arrays), **parameters)
        self.agree_on_values(as_tuple(got), expected, sizes)
        self.count("calls equal to the evaluator")
        if self.source is not None:
            self.compare_source(self.source, function, sizes, as_tuple(got), arrays, parameters)
        if sizes == self.case["sizes"][-1] and random.Random(self.case["seed"]).random() < 0.4:
            self.watch(function, sizes, expected, arrays, parameters)

    def compare_source(
        self,
        source: SourceOracle,
        function: tw.Function,
        sizes: tuple[int, ...],
        got: tuple[Any, ...],
        arrays: dict[str, Any],
        parameters: dict[str, int],
    ) -> None:
        """The C source computes the bits of the compiled function, and what the evaluator does."""
        loose = reassociated(self.program)
        near = {k for k, name in enumerate(self.program["outputs"]) if name in loose}
        given = {**fresh(arrays), **parameters}
        try:
            problem = source.difference(function, got, near, **given)
            self.agree_on_values(source(function, **fresh(arrays), **parameters), got, sizes)
        except AssertionError as error:
            problem = str(error)
        if problem:
            raise Failure("C source", f"at {shown(sizes)}: {problem}", self.done)
        self.count("calls of C source equal to the compiled function")

    def watch(
        self,
        function: tw.Function,
        sizes: tuple[int, ...],
        expected: Any,
        arrays: dict[str, Any],
        parameters: dict[str, int],
    ) -> None:
        """No access of a legal schedule leaves its memory, and a NaN begins among numbers."""
        watched = function.copy()
        watched.check_bounds = True
        try:
            self.agree_on_values(as_tuple(watched(**fresh(arrays), **parameters)), expected, sizes)
        except tw.OutOfBoundsError as error:
            raise Failure("bounds", str(error), self.done) from error
        self.count("calls with checked accesses")
        found = watched.trace_nan(**fresh(arrays), **parameters)
        if found is not None:
            values = [read.value for read in found.reads]
            if not np.isnan(found.value) or any(np.isnan(value) for value in values):
                raise Failure("trace", str(found), self.done)

    def agree_on_values(self, got: Any, expected: Any, sizes: tuple[int, ...]) -> None:
        known = dict(zip(AXES, sizes, strict=True))
        loose = reassociated(self.program)
        precision = max(PRECISION.get(t, 0.0) for t in types_of(self.program).values())
        for name, a, b in zip(self.program["outputs"], got, expected, strict=True):
            if self.model.storage[name][0] in self.model.inputs:
                a, b = (self.written(name, known, values) for values in (a, b))
            if not same(a, b, precision if name in loose else 0.0):
                raise Failure(
                    "values", f"{name} at {shown(sizes)}: got\n{a}\nexpected\n{b}", self.done
                )

    def written(self, name: str, sizes: dict[str, int], values: Any) -> Any:
        """The elements that a computation writes: in place, the others stay what the input was."""
        one = self.model.computations[name]
        cells = points(one["iterators"], one["ranges"], one["where"], sizes)
        own = [tuple(env[i] for i in one["iterators"]) for env in cells]
        return np.array([values[cell] for cell in own], values.dtype)


def fresh(arrays: dict[str, Any]) -> dict[str, Any]:
    """Copies: a call may overwrite what it is given."""
    return {name: array.copy() for name, array in arrays.items()}


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def shown(sizes: tuple[int, ...]) -> str:
    return ", ".join(f"{axis} = {size}" for axis, size in zip(AXES, sizes, strict=True))


def run_case(case: Case, compiled: bool = True, c_compiler: str = "") -> dict[str, int]:
    """Statistics of one case; raises Failure."""
    return Runner(case, compiled, c_compiler).run()
