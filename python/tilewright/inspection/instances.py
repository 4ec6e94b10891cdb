"""The instances of a scheduled function at concrete sizes: which there are, when each runs, and which
needs which. What pictures are drawn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..base.checks import SCHEDULE, a_mapping, an_integer
from ..base.errors import ScheduleError
from ..schedule.schedule_text import each_command
from ..schedule.scheduled_functions import ScheduledFunction

__all__ = ["Execution", "Instance", "InstanceDependence", "execution_at"]


@dataclass(frozen=True)
class Instance:
    """One instance of a statement, and when it runs.

    Attributes:
        statement: its statement; the computation's name, or that with a suffix where a computation
            has several.
        computation: the computation.
        is_initial: whether it sets the start value of a reduction.
        iterators: the names of the iterators; "@i0" for a loop in which compute_at makes a copy.
        values: their values.
        time: the time vector [s0, d0, s1, d1, ..., sD]: static positions and loops in turn.
        loop_names: the names of the loops that the statement has.
        element: the element of a buffer that it writes, as ``("C", (0, 1))``.
    """

    statement: str
    computation: str
    is_initial: bool
    iterators: tuple[str, ...]
    values: tuple[int, ...]
    time: tuple[int, ...]
    loop_names: tuple[str, ...]
    element: tuple[str, tuple[int, ...]]

    @property
    def loops(self) -> dict[str, int]:
        """The value of each loop."""
        return dict(zip(self.loop_names, self.time[1::2], strict=False))

    @property
    def coordinates(self) -> dict[str, int]:
        """The value of each iterator."""
        return dict(zip(self.iterators, self.values, strict=True))

    def __str__(self) -> str:
        copies = [name for name in self.iterators if name.startswith("@")]
        own = ",".join(map(str, self.values[len(copies) :]))
        if not copies:
            return f"{self.statement}[{own}]"
        loops = (f"{name[1:]}={v}" for name, v in zip(copies, self.values, strict=False))
        return f"{self.statement}[{own}]({','.join(loops)})"


@dataclass(frozen=True)
class InstanceDependence:
    """An instance that needs another one.

    Attributes:
        source: what must run first.
        sink: what needs it.
        kind: "flow" where the sink reads what the source computes; "accumulation" between two
            instances of a reduction that add to one element, in the order of the schedule.
        is_exact: False where the subscript is not affine or a condition on data decides whether it
            is read, so that the dependence only may be there.
    """

    source: Instance
    sink: Instance
    kind: str
    is_exact: bool = True


@dataclass(frozen=True)
class Execution:
    """All instances of a function at given sizes.

    Attributes:
        sizes: the values of the parameters.
        instances: in the order of the schedule; iterations of parallel and vector loops, which are
            not ordered, in the order of their numbers.
        dependences: which need which.
        tags: statement -> its loops' tags, outermost first: "", "parallel", "vector" or "unroll".
    """

    sizes: dict[str, int]
    instances: tuple[Instance, ...]
    dependences: tuple[InstanceDependence, ...]
    tags: dict[str, tuple[str, ...]]

    def find(self, statement: str, values: tuple[int, ...]) -> Instance | None:
        """The instance of that name and these values, or None."""
        for instance in self.instances:
            if instance.statement == statement and instance.values == values:
                return instance
        return None

    def are_ordered(self, first: Instance, second: Instance) -> bool:
        """Whether `first`, which is listed earlier, surely runs before `second`: their times differ
        first at a static position or at a loop whose iterations run one after the other."""
        for position, (a, b) in enumerate(zip(first.time, second.time, strict=True)):
            if a != b:
                if position % 2 == 0:
                    return True
                return self.tags[first.statement][position // 2] not in ("parallel", "vector")
        return False


def concrete_sizes(function: ScheduledFunction, sizes: Mapping[Any, int] | None) -> dict[str, int]:
    """The value of each parameter of a function, as integers by name. Those that the schedule fixes
    may be left out.

    Raises:
        ScheduleError: a parameter has no value, or a value no parameter, or the schedule fixes it at
            another one.
    """
    asked = {} if sizes is None else a_mapping(sizes, "sizes", SCHEDULE, '{"N": 4}')
    given = {
        getattr(key, "name", key): an_integer(value, f"the size {key}", SCHEDULE, bits=64)
        for key, value in asked.items()
    }
    for name, value in _fixed(function).items():
        if given.setdefault(name, value) != value:
            raise ScheduleError(
                f"sizes gives {name} = {given[name]}, but the schedule fixes {name} at {value}"
            )
    known = list(function.parameters)
    missing = [name for name in known if name not in given]
    unknown = [str(name) for name in given if name not in known]
    if missing or unknown:
        problem = (
            f"no value for {', '.join(missing)}"
            if missing
            else f"{', '.join(unknown)} is no parameter"
        )
        raise ScheduleError(
            f"sizes gives {problem}; the parameters of {function.name} are "
            f"{', '.join(known) or 'none'}, as in sizes={{'N': 4}}"
        )
    return given


def _fixed(function: ScheduledFunction) -> dict[str, int]:
    """The parameters that the schedule gives a value."""
    return {
        name: value
        for _, command, arguments in each_command(function.schedule.commands)
        if command == "fix"
        for name, value in zip(arguments[::2], arguments[1::2], strict=True)
    }


def execution_at(function: ScheduledFunction, sizes: Mapping[Any, int] | None = None) -> Execution:
    """The instances and dependences of a function, under its schedule, at concrete sizes.

    Args:
        function: the function.
        sizes: a value for each parameter, by name or by `Parameter`.

    Raises:
        ScheduleError: a size is missing.
        AnalysisLimitError: a statement has more than 20,000 instances at these sizes.
    """
    values = concrete_sizes(function, sizes)
    described = _core.describe(function)
    listed = _core.instances_at(function, values)
    instances: list[Instance] = []
    tags: dict[str, tuple[str, ...]] = {}
    for statement in described["statements"]:
        name = statement["name"]
        tags[name] = tuple(tag for tag, _ in statement["tags"])
        times, written = listed[name]
        elements = dict(written)
        for point, time in times:
            instances.append(
                Instance(
                    statement=name,
                    computation=statement["computation"],
                    is_initial=statement["role"] == "initialise",
                    iterators=tuple(statement["iterators"]),
                    values=point,
                    time=time,
                    loop_names=tuple(statement["loop_names"]),
                    element=(statement["buffer"], elements[point]),
                )
            )
    instances.sort(key=lambda instance: instance.time)
    by_name = {(instance.statement, instance.values): instance for instance in instances}
    dependences = [
        InstanceDependence(by_name[source, a], by_name[sink, b], "flow", exact)
        for source, sink, _, exact, pairs in _core.dependences_at(function, values)
        for a, b in pairs
    ]
    return Execution(values, tuple(instances), (*dependences, *_accumulations(instances)), tags)


def _accumulations(instances: list[Instance]) -> list[InstanceDependence]:
    """From each update of an element by a reduction to the next one, in order of time."""
    computations = {instance.computation for instance in instances if instance.is_initial}
    latest: dict[tuple[str, tuple[str, tuple[int, ...]]], Instance] = {}
    result = []
    for instance in instances:
        if instance.computation not in computations:
            continue
        place = (instance.computation, instance.element)
        previous = latest.get(place)
        if previous is not None and not instance.is_initial:
            result.append(InstanceDependence(previous, instance, "accumulation"))
        latest[place] = instance
    return result
