"""Schedules as values: the list of commands that a function was given.

A schedule is printed as the Python that makes it, compared, hashed by its content, saved as JSON and
replayed on another function of the same shape. The commands of a transaction are one command of it,
``("", "transaction", commands)``; those given to the whole function have no computation either.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

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
from .schedule_text import (
    TRANSACTION,
    Command,
    Comment,
    command_text,
    commands_with,
    each_command,
    function_name,
    is_transaction,
    made_by_command,
    python_lines,
)

__all__ = ["Schedule", "ScheduleDifference"]


class Replayable(Protocol):
    """What a schedule needs of a function: its computations as they were declared."""

    _declared: tuple[str, ...]
    _commented: Schedule | None

    @property
    def name(self) -> str: ...

    def _replay(
        self,
        commands: list[tuple[str, str, list[Any]]],
        where: SourceLocation | None,
    ) -> None: ...


Target = TypeVar("Target", bound=Replayable)

_FORMAT = "tilewright schedule"
#: What is written where all commands are given to one computation each; transactions, and commands
#: given to the whole function, came with the second version.
_VERSION, _LATEST_VERSION = 1, 2


class Schedule:
    """What a function was told: commands, in order. Printed, it is the Python that makes it, with `f`
    for the function itself.

    Schedules compare by their commands and can be replayed on another function whose computations
    and loops have the same names::

        fast = matmul.schedule
        fast.save("matmul.json")
        tw.Schedule.load("matmul.json").apply_to(other)

    Args:
        commands: (computation, command, arguments) of each command; arguments are integers, texts,
            or lists of either. The computation is "" of a command that is given to the whole
            function, and the arguments of ``("", "transaction", ...)`` are the commands of it.

        comments: (computations, sentence) of what is to be said of them, "X" or "X, Y and Z", or ""
            for the whole function. They are printed as Python's comments in front of the commands,
            and saved; they count neither when schedules are compared nor when they are replayed.

    Raises:
        ScheduleError: when something else is given.
    """

    __slots__ = ("_commands", "_comments")

    _commands: tuple[Command, ...]
    _comments: tuple[Comment, ...]

    def __init__(
        self,
        commands: Iterable[tuple[str, str, Iterable[Any]]] = (),
        comments: Iterable[tuple[str, str]] = (),
    ) -> None:
        given = a_list(commands, "the commands of a schedule", SCHEDULE, "commands")
        # A transaction without a command is none.
        self._commands = tuple(one for one in map(_command, given) if one != (*TRANSACTION, ()))
        said = a_list(comments, "the comments of a schedule", SCHEDULE, "comments")
        self._comments = tuple(map(_comment, said))

    @property
    def commands(self) -> tuple[Command, ...]:
        """(computation, command, arguments) of each command; a transaction is one."""
        return self._commands

    @property
    def comments(self) -> tuple[Comment, ...]:
        """(computations, sentence) of what is said of it: why it is as it is."""
        return self._comments

    @property
    def computations(self) -> tuple[str, ...]:
        """The computations that are given commands, in the order of their first."""
        named = (
            name for command in each_command(self._commands) for name in _computations(command)
        )
        return tuple(dict.fromkeys(named))

    @property
    def key(self) -> str:
        """A hash of the content, in hexadecimal: the same in every process and on every machine."""
        import hashlib  # which brings OpenSSL along

        text = json.dumps([_FORMAT, self._version(), self._commands], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _version(self) -> int:
        """The first version of the format that can hold this schedule."""
        return _VERSION if all(computation for computation, _, _ in self._commands) else 2

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
        function._commented = self if self._comments else None
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
        for computation, name, arguments in each_command(self._commands):
            mentioned = _computations((computation, name, arguments))
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
                known.add(made_by_command((computation, name, arguments), known))

    def _as_lists(self) -> list[tuple[str, str, list[Any]]]:
        return [_as_list(command) for command in self._commands]

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
        body = _json_list(self._commands, "  ")
        version = self._version()
        if self._comments:
            said = ",\n".join(f"    {json.dumps(list(comment))}" for comment in self._comments)
            body += f',\n  "comments": [\n{said}\n  ]'
        return f'{{\n  "format": "{_FORMAT}",\n  "version": {version},\n  "commands": {body}\n}}\n'

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
        if version not in range(_VERSION, _LATEST_VERSION + 1) or isinstance(version, bool):
            raise ScheduleError(
                f"this schedule was saved in version {version} of the format; "
                f"this tilewright reads versions {_VERSION} to {_LATEST_VERSION}"
            )
        commands = content.get("commands")
        if not isinstance(commands, list):
            raise ScheduleError('this schedule has no list of "commands"')
        comments = content.get("comments", [])
        if not isinstance(comments, list):
            raise ScheduleError('the "comments" of this schedule are no list')
        return cls(commands, comments)

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
        return "\n".join(python_lines(self._commands, self._comments))

    def __repr__(self) -> str:
        return str(self) or "Schedule()"

    def _repr_html_(self) -> str:
        return preformatted(str(self) or "no commands")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Schedule, (self._commands, self._comments)


class ScheduleDifference:
    """The difference of two schedules, see `Schedule.diff`; printed, it has a line a command.

    It is true where the schedules differ.
    """

    __slots__ = ("_function", "_lines")

    #: The sign of each command, and whether it is one of a transaction. A transaction is a line
    #: without arguments, and its commands follow.
    _lines: tuple[tuple[str, Command, bool], ...]
    _function: str

    def __init__(self, old: Schedule, new: Schedule) -> None:
        for schedule in (old, new):
            made_by("Schedule.diff", schedule, Schedule, "tw.ScheduleDifference", SCHEDULE)
        import difflib

        a, b = list(_lines_of(old.commands)), list(_lines_of(new.commands))
        lines: list[tuple[str, Command, bool]] = []
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        for operation, a0, a1, b0, b1 in matcher.get_opcodes():
            if operation == "equal":
                lines += [(" ", *line) for line in a[a0:a1]]
            else:
                lines += [("-", *line) for line in a[a0:a1]]
                lines += [("+", *line) for line in b[b0:b1]]
        self._lines = tuple(lines)
        self._function = function_name([*old.commands, *new.commands])

    @property
    def added(self) -> tuple[Command, ...]:
        """The commands that only the other schedule has, those of transactions one by one."""
        return self._with_sign("+")

    @property
    def removed(self) -> tuple[Command, ...]:
        """The commands that only the first schedule has, those of transactions one by one."""
        return self._with_sign("-")

    def _with_sign(self, wanted: str) -> tuple[Command, ...]:
        return tuple(
            command
            for sign, command, _ in self._lines
            if sign == wanted and not is_transaction(command)
        )

    def _texts(self) -> list[tuple[str, str]]:
        """The sign and the text of each line."""
        return [
            (sign, f"{sign} {'    ' if inside else ''}{command_text(command, self._function)}")
            for sign, command, inside in self._lines
        ]

    def __bool__(self) -> bool:
        return any(sign != " " for sign, _, _ in self._lines)

    def __str__(self) -> str:
        if not self:
            return "no difference"
        return "\n".join(text for _, text in self._texts())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        if not self:
            return preformatted(str(self))
        colours = {"+": "#1a7f37", "-": "#b3261e", " ": ""}
        return preformatted_lines((text, colours[sign]) for sign, text in self._texts())


def _lines_of(commands: Iterable[Command]) -> Iterator[tuple[Command, bool]]:
    """What a difference has a line for: commands, and whether they are those of a transaction."""
    for command in commands:
        if is_transaction(command):
            yield (*TRANSACTION, ()), False
            yield from ((each, True) for each in command[2])
        else:
            yield command, False


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
    if (computation, name) == TRANSACTION:
        return computation, name, _commands_of_transaction(arguments)
    what = f"{computation or 'f'}.{name}"
    given = a_list(arguments, f"the arguments of {what}", SCHEDULE)
    return computation, name, tuple(_argument(argument, what) for argument in given)


def _commands_of_transaction(given: Any) -> tuple[Command, ...]:
    inside = a_list(given, "the commands of a transaction", SCHEDULE, "commands")
    for command in inside:
        if isinstance(command, list | tuple) and tuple(command[:2]) == TRANSACTION:
            raise ScheduleError(
                "a transaction of a schedule holds commands; one within another joins it, so give "
                "the commands of both as one"
            )
    return tuple(map(_command, inside))


def _comment(given: Any) -> Comment:
    pair = list(given) if isinstance(given, list | tuple) else []
    if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise ScheduleTypeError(
            f"a comment of a schedule is (computations, sentence), got {described(given)}"
        )
    about, text = (" ".join(a_string(part, "a comment", SCHEDULE).split()) for part in pair)
    return about, text  # each on one line


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


def _as_list(command: Command) -> tuple[str, str, list[Any]]:
    """A command as the core takes it."""
    computation, name, arguments = command
    if is_transaction(command):
        return computation, name, [_as_list(each) for each in arguments]
    return computation, name, [list(a) if isinstance(a, tuple) else a for a in arguments]


def _json_list(commands: tuple[Command, ...], indent: str) -> str:
    """A JSON list with a command a line."""
    lines = []
    for command in commands:
        computation, name, arguments = command
        text = json.dumps([computation, name, list(arguments)])
        if is_transaction(command):
            text = f'["", "{name}", {_json_list(arguments, indent + "  ")}]'
        lines.append(f"{indent}  {text}")
    body = ",\n".join(lines)
    return f"[\n{body}\n{indent}]" if lines else "[]"


#: The name of a tuple from which a map starts.
_MAPPED = r"\b(\w+)(?=\s*\[[^\]]*\]\s*->)"


def _computations(command: Command) -> list[str]:
    """The computations that a command is given to."""
    computation, name, arguments = command
    if computation:
        return [computation]
    takes_map = name in commands_with("takes_map") and arguments and isinstance(arguments[0], str)
    return list(dict.fromkeys(re.findall(_MAPPED, arguments[0]))) if takes_map else []


def _renamed(command: Command, names: Mapping[str, str]) -> Command:
    computation, name, arguments = command
    if is_transaction(command):
        return computation, name, tuple(_renamed(each, names) for each in arguments)
    new = list(arguments)
    naming = commands_with("places") | commands_with("reads")
    if name in naming and new and isinstance(new[0], str):
        new[0] = names.get(new[0], new[0])
    if name in commands_with("takes_map") and new and not computation:
        new[0] = re.sub(_MAPPED, lambda found: names.get(found[1], found[1]), str(new[0]))
    if name in commands_with("takes_map") and new and computation in names:
        # The tuple before the arrow is the computation's.
        new[0] = re.sub(
            rf"\b{re.escape(computation)}(?=\s*\[)", names[computation], new[0], count=1
        )
    return names.get(computation, computation), name, tuple(new)
