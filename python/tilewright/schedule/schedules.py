"""Schedules as values: the list of commands that a function was given.

A schedule is printed as the Python that makes it, compared, hashed by its content, saved as JSON and
replayed on another function of the same shape.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from .. import _core
from ..base.checks import (
    SCHEDULE,
    a_list,
    a_mapping,
    a_path,
    a_string,
    an_integer,
    described,
    made_by,
)
from ..base.display import preformatted, preformatted_lines
from ..base.errors import ScheduleError, ScheduleTypeError
from ..base.source import SourceLocation, caller_location

__all__ = ["Schedule", "ScheduleDifference"]

Command: TypeAlias = tuple[str, str, tuple[Any, ...]]


class Replayable(Protocol):
    """What a schedule needs of a function: its computations as they were declared."""

    _declared: tuple[str, ...]

    @property
    def name(self) -> str: ...

    def _replay(
        self,
        commands: list[tuple[str, str, list[Any]]],
        where: SourceLocation | None,
    ) -> None: ...


Target = TypeVar("Target", bound=Replayable)

_FORMAT = "tilewright schedule"
_VERSION = 1


@functools.cache
def commands_with(trait: str) -> frozenset[str]:
    """The commands that have a trait; the table stands in the core."""
    traits = _core.command_traits()
    return frozenset(name for name, row in traits.items() if row[trait] not in (False, None))


@functools.cache
def _keywords(command: str) -> tuple[int, tuple[str, ...]]:
    """How many arguments of a command stand in front of those that are given by keyword, and these."""
    row = _core.command_traits().get(command)
    return (row["positional"], tuple(row["keywords"])) if row else (0, ())


class Schedule:
    """What a function was told: commands, in order. Printed, it is the Python that makes it.

    Schedules compare by their commands and can be replayed on another function whose computations
    and loops have the same names::

        fast = matmul.schedule
        fast.save("matmul.json")
        tw.Schedule.load("matmul.json").apply_to(other)

    Args:
        commands: (computation, command, arguments) of each command; arguments are integers, texts,
            or lists of either.

    Raises:
        ScheduleError: when something else is given.
    """

    __slots__ = ("_commands",)

    _commands: tuple[Command, ...]

    def __init__(self, commands: Iterable[tuple[str, str, Iterable[Any]]] = ()) -> None:
        given = a_list(commands, "the commands of a schedule", SCHEDULE, "commands")
        self._commands = tuple(_command(command) for command in given)

    @property
    def commands(self) -> tuple[Command, ...]:
        """(computation, command, arguments) of each command."""
        return self._commands

    @property
    def computations(self) -> tuple[str, ...]:
        """The computations that are given commands, in the order of their first."""
        return tuple(dict.fromkeys(computation for computation, _, _ in self._commands))

    @property
    def key(self) -> str:
        """A hash of the content, in hexadecimal: the same in every process and on every machine."""
        return hashlib.sha256(_compact_json(self._commands).encode()).hexdigest()

    # ---- replaying ----

    def apply_to(self, function: Target) -> Target:
        """Replaces the schedule of a function by this one, and returns the function.

        Raises:
            ScheduleError: when a command makes no sense there; IllegalScheduleError when one would
                change the result. The function keeps the schedule that it had.
        """
        _require_function(function)
        self._require_computations(function)
        function._replay(self._as_lists(), caller_location())
        return function

    def renamed(self, computations: Mapping[str, str]) -> Schedule:
        """The same commands for computations of other names: ``renamed({"C": "D"})``.

        Buffers and loops keep their names.
        """
        names = a_mapping(computations, "what renamed takes", SCHEDULE, '{"C": "D"}')
        for new in names.values():
            a_string(new, "the new name of a computation", SCHEDULE)
        return Schedule(_renamed(command, names) for command in self._commands)

    def _require_computations(self, function: Replayable) -> None:
        known = set(function._declared)
        for computation, name, arguments in self._commands:
            mentioned = [computation]
            if name in commands_with("places") and arguments and isinstance(arguments[0], str):
                mentioned.append(arguments[0])
            for other in mentioned:
                if other not in known:
                    raise ScheduleError(
                        f"this schedule does not fit {function.name}: "
                        f"{command_text((computation, name, arguments))} needs a computation "
                        f"{other}, and {function.name} has {', '.join(function._declared)}. "
                        'Rename with schedule.renamed({"old": "new"}) where only the names differ'
                    )
            if name in commands_with("makes"):
                known.add(_made((computation, name, arguments), known))

    def _as_lists(self) -> list[tuple[str, str, list[Any]]]:
        return [
            (computation, name, [list(a) if isinstance(a, tuple) else a for a in arguments])
            for computation, name, arguments in self._commands
        ]

    # ---- comparing ----

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._commands == other._commands

    def __hash__(self) -> int:
        return int(self.key[:15], 16)

    def diff(self, other: Schedule) -> ScheduleDifference:
        """What has to change in this schedule to make it the other one.

        >>> _ = f["C"].tile(i, j, 32, 32).parallelize("i0")
        >>> _ = other["C"].tile(i, j, 32, 32).parallelize("j0")
        >>> print(f.schedule.diff(other.schedule))
          C.tile("i", "j", 32, 32)
        - C.parallelize("i0")
        + C.parallelize("j0")
        """
        if not isinstance(other, Schedule):
            raise ScheduleTypeError(f"diff compares with a schedule, got {type(other).__name__}")
        return ScheduleDifference(self, other)

    # ---- saving ----

    def to_json(self) -> str:
        """The schedule as JSON text, for `from_json`."""
        commands = ",\n".join(
            f"    {json.dumps([computation, name, list(arguments)])}"
            for computation, name, arguments in self._commands
        )
        body = f"[\n{commands}\n  ]" if commands else "[]"
        return f'{{\n  "format": "{_FORMAT}",\n  "version": {_VERSION},\n  "commands": {body}\n}}\n'

    @classmethod
    def from_json(cls, text: str | bytes) -> Schedule:
        """The schedule that `to_json` wrote.

        Raises:
            ScheduleError: when the text is no JSON, no schedule, or one of a later version.
        """
        if not isinstance(text, str | bytes | bytearray):
            raise ScheduleTypeError(f"a schedule is read from JSON text, got {described(text)}")
        try:
            content = json.loads(text)
        except (ValueError, TypeError) as error:
            raise ScheduleError(f"this is no JSON text: {error}") from None
        except RecursionError:
            raise ScheduleError(
                "this JSON text is no schedule: its brackets are nested too deeply to be read"
            ) from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ScheduleError(f'this JSON text is no schedule: it has no "format": "{_FORMAT}"')
        version = content.get("version")
        if version != _VERSION or isinstance(version, bool):
            raise ScheduleError(
                f"this schedule was saved in version {version} of the format; "
                f"this tilewright reads version {_VERSION}"
            )
        commands = content.get("commands")
        if not isinstance(commands, list):
            raise ScheduleError('this schedule has no list of "commands"')
        return cls(commands)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the schedule to a file, as JSON."""
        pathlib.Path(a_path(path, "the file of a schedule", SCHEDULE)).write_text(
            self.to_json(), encoding="utf-8"
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schedule:
        """Reads a schedule that `save` wrote.

        Raises:
            OSError: when the file cannot be read.
            ScheduleError: when it holds no schedule.
        """
        file = a_path(path, "the file of a schedule", SCHEDULE)
        try:
            return cls.from_json(pathlib.Path(file).read_bytes())
        except ScheduleError as error:
            raise ScheduleError(f"{file}: {error.message}") from None

    # ---- as a sequence, as text ----

    def __len__(self) -> int:
        return len(self._commands)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands)

    def __bool__(self) -> bool:
        return bool(self._commands)

    def __str__(self) -> str:
        return "\n".join(_python_lines(self._commands))

    def __repr__(self) -> str:
        return str(self) or "Schedule()"

    def _repr_html_(self) -> str:
        return preformatted(str(self) or "no commands")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Schedule, (self._commands,)


class ScheduleDifference:
    """The difference of two schedules, see `Schedule.diff`; printed, it has a line a command.

    It is true where the schedules differ.
    """

    __slots__ = ("_lines",)

    _lines: tuple[tuple[str, Command], ...]

    def __init__(self, old: Schedule, new: Schedule) -> None:
        for schedule in (old, new):
            made_by("Schedule.diff", schedule, Schedule, "tw.ScheduleDifference", SCHEDULE)
        a, b = old.commands, new.commands
        lines: list[tuple[str, Command]] = []
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        for operation, a0, a1, b0, b1 in matcher.get_opcodes():
            if operation == "equal":
                lines += [(" ", command) for command in a[a0:a1]]
            else:
                lines += [("-", command) for command in a[a0:a1]]
                lines += [("+", command) for command in b[b0:b1]]
        self._lines = tuple(lines)

    @property
    def added(self) -> tuple[Command, ...]:
        """The commands that only the other schedule has."""
        return tuple(command for sign, command in self._lines if sign == "+")

    @property
    def removed(self) -> tuple[Command, ...]:
        """The commands that only the first schedule has."""
        return tuple(command for sign, command in self._lines if sign == "-")

    def __bool__(self) -> bool:
        return any(sign != " " for sign, _ in self._lines)

    def __str__(self) -> str:
        if not self:
            return "no difference"
        return "\n".join(f"{sign} {command_text(command)}" for sign, command in self._lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        if not self:
            return preformatted(str(self))
        colours = {"+": "#1a7f37", "-": "#b3261e", " ": ""}
        return preformatted_lines(
            (f"{sign} {command_text(command)}", colours[sign]) for sign, command in self._lines
        )


def _require_function(value: object) -> None:
    if not isinstance(value, _core.Function):
        raise ScheduleTypeError(f"a schedule is applied to a function, got {described(value)}")


# ---- one command ----


def _command(command: Any) -> Command:
    """A command with every argument in the one form that is compared; refuses what is none."""
    parts = list(command) if isinstance(command, list | tuple) else []
    if len(parts) != 3:
        raise ScheduleTypeError(
            f"a command is (computation, name, arguments), got {described(command)}"
        )
    computation, name, arguments = parts
    if not (isinstance(computation, str) and isinstance(name, str)):
        raise ScheduleTypeError(
            "a command names a computation and a command, got "
            f"{described(computation)} and {described(name)}"
        )
    what = f"{computation}.{name}"
    given = a_list(arguments, f"the arguments of {what}", SCHEDULE)
    return computation, name, tuple(_argument(argument, what) for argument in given)


def _argument(value: Any, what: str) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_single(entry, what) for entry in value)
    return _single(value, what)


def _single(value: Any, what: str) -> int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ScheduleTypeError(
            f"an argument of {what} is an integer, a text or a list of either, got "
            f"{described(value)}"
        )
    return an_integer(value, f"an argument of {what}", SCHEDULE, bits=64)


def _compact_json(commands: tuple[Command, ...]) -> str:
    return json.dumps([_FORMAT, _VERSION, commands], separators=(",", ":"))


def _renamed(command: Command, names: Mapping[str, str]) -> Command:
    computation, name, arguments = command
    new = list(arguments)
    naming = commands_with("places") | commands_with("reads")
    if name in naming and new and isinstance(new[0], str):
        new[0] = names.get(new[0], new[0])
    if name in commands_with("takes_map") and new and computation in names:
        # The tuple before the arrow is the computation's.
        new[0] = re.sub(
            rf"\b{re.escape(computation)}(?=\s*\[)", names[computation], new[0], count=1
        )
    return names.get(computation, computation), name, tuple(new)


# ---- as Python ----


def _made(command: Command, known: Container[str]) -> str:
    """The computation that a command makes, where those of `known` are there already."""
    computation, name, arguments = command
    position = _core.command_traits()[name]["makes"]
    if len(arguments) > position and arguments[position]:
        return str(arguments[position])
    if name not in commands_with("reads"):
        return f"{computation}_partial"
    kind = "local" if arguments and arguments[0] == computation else "cache"
    first = f"{arguments[0]}_{kind}" if arguments else kind
    numbered = (f"{first}{number}" for number in itertools.count(2))
    return next(made for made in itertools.chain([first], numbered) if made not in known)


def _quoted(value: int | str) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _listed(values: Iterable[int | str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _matrix_text(entries: tuple[int, ...], size: int) -> str:
    rows = (entries[start : start + size] for start in range(0, len(entries), size))
    return f"[{', '.join(map(_listed, rows))}]"


def _split_subscripts(text: str) -> list[str]:
    """ "i, (j + 1) % 2" at its outer commas."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _transform_text(arguments: tuple[Any, ...]) -> str:
    """Recorded with the matrix row by row; the method takes a list of rows."""
    size = len(arguments) - 1
    if size > 0 and isinstance(arguments[-1], tuple) and len(arguments[-1]) == size * size:
        return f".transform({_listed(arguments[:-1])}, {_matrix_text(arguments[-1], size)})"
    return ""


def _store_text(arguments: tuple[Any, ...]) -> str:
    """Recorded as a text and the sizes of its buffer; the method takes an element of a Buffer."""
    if len(arguments) not in (2, 4) or not isinstance(arguments[0], str):
        return ""
    buffer, _, subscripts = arguments[0].partition("[")
    shape = _listed(int(e) if str(e).isdigit() else e for e in arguments[1])
    index = _listed(_split_subscripts(subscripts.rpartition("]")[0]))
    record = ""
    if len(arguments) == 4:
        place = ", ".join(map(str, arguments[3]))
        record = f", record=({_quoted(arguments[2])}, {place})"
    return f".store_in(tw.Buffer({_quoted(buffer.strip())}, {shape}{record}), {index})"


# The commands that Python's methods take in another form than the recorded one.
_SPECIAL: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "transform": _transform_text,
    "store_in": _store_text,
}


def _call(command: Command) -> str:
    """ ".tile("i", "j", 32, 32)": what Python's method takes, which for a few commands is not what
    is recorded."""
    _, name, arguments = command
    special = _SPECIAL.get(name)
    if special and (text := special(arguments)):
        return text
    texts = [_listed(a) if isinstance(a, tuple) else _quoted(a) for a in arguments]
    # Recorded in order, the last ones if given.
    position, names = _keywords(name)
    keywords = zip(names, arguments[position:], texts[position:], strict=False)
    texts[position:] = [
        f"{keyword}={text}" for keyword, value, text in keywords if value not in ("", "auto", (), 0)
    ] + texts[position + len(names) :]
    return f".{name}({', '.join(texts)})"


def command_text(command: Command) -> str:
    """One command as Python: ``C.tile("i", "j", 32, 32)``."""
    return command[0] + _call(command)


def _python_lines(commands: Iterable[Command]) -> list[str]:
    """The Python that makes a schedule: a line for each run of commands of one computation."""
    lines: list[str] = []
    current: str | None = None
    made: set[str] = set()
    for command in commands:
        computation, name, _ = command
        if name in commands_with("makes"):
            made.add(new := _made(command, made))
            lines.append(f"{new} = {command_text(command)}")
        elif computation == current:
            lines[-1] += _call(command)
        else:
            lines.append(command_text(command))
        returns_another = name in commands_with("turns") | commands_with("makes")
        current = None if returns_another else computation
    return lines
