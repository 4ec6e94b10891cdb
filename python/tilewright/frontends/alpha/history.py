"""The transformations that a program has gone through, as a value: printed, saved, replayed, undone.

A schedule is a value (`tw.Schedule`); what is done to the equations before there is a schedule is one,
too, and so is what a target mapping says. Each command of `commands` and of `mapping.commands` that changes
a program leaves a `Step` behind.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import tilewright as tw

from ...base.checks import SCHEDULE, a_list, a_path, described

__all__ = ["Rewrites", "Step", "recorder"]

P = ParamSpec("P")
Kind = TypeVar("Kind", bound="Recorded")

_COMMANDS: dict[str, Callable[..., Any]] = {}
_FORMAT = "tilewright alpha rewrites"


def commands() -> Mapping[str, Callable[..., Any]]:
    """The commands that change programs, by name."""
    from .loaded_late import load

    load()  # each registers itself here
    return _COMMANDS


class Recorded(Protocol):
    """A program that remembers how it was made."""

    def _came_from(self: Kind, program: Kind, step: Step) -> Kind: ...


class Step(NamedTuple):
    """One command: its name, and its arguments behind the program."""

    command: str
    arguments: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        given = ["p", *(repr(_plain(each)) for each in self.arguments)]
        given += [f"{name}={value!r}" for name, value in self.keywords]
        return f"p = tw.alpha.{self.command}({', '.join(given)})"

    def run(self, program: Any) -> Any:
        """The command given to a program.

        Raises:
            DeclarationError: what the command needs does not hold there.
        """
        return commands()[self.command](program, *self.arguments, **dict(self.keywords))


class Rewrites:
    """Transformations of an Alpha program in order, as a value; of a program, `rewrites`.

    >>> q = tw.alpha.Normalize(tw.alpha.Simplify(p))
    >>> print(q.rewrites)
    p = tw.alpha.Simplify(p)
    p = tw.alpha.Normalize(p)
    >>> q.rewrites.apply_to(p) == q
    True

    Args:
        steps: commands, each as (name, arguments, keyword arguments).

    Raises:
        ScheduleTypeError: what is no command.
        ScheduleError: there is no command of this name.
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: Iterable[Any] = ()) -> None:
        given = a_list(steps, "the steps of Rewrites", SCHEDULE, "commands")
        self._steps = tuple(map(_step, given))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The commands."""
        return self._steps

    def apply_to(self, program: Any) -> Any:
        """Gives all commands to a program, in order, and returns what comes out.

        Raises:
            DeclarationTypeError: this is no program.
            DeclarationError: what a command needs does not hold there.
        """
        for step in self._steps:
            program = step.run(program)
        return program

    def to_json(self) -> str:
        """The commands as JSON text, for `from_json`."""
        steps = [[name, list(arguments), dict(keywords)] for name, arguments, keywords in self]
        return json.dumps({"format": _FORMAT, "version": 1, "steps": steps}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Rewrites:
        """The commands that `to_json` wrote.

        Raises:
            ScheduleError: the text is no JSON, or holds no commands.
        """
        if not isinstance(text, str | bytes | bytearray):
            raise tw.ScheduleTypeError(f"rewrites are read from JSON text, got {described(text)}")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise tw.ScheduleError(f"this is no JSON text: {error}") from None
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise tw.ScheduleError(f'this JSON text holds no rewrites: no "format": "{_FORMAT}"')
        if content.get("version") != 1 or not isinstance(content.get("steps"), list):
            raise tw.ScheduleError('these rewrites have no list of "steps" of version 1')
        return cls(content["steps"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the commands to a file, as JSON."""
        pathlib.Path(a_path(path, "the file of rewrites", SCHEDULE)).write_text(
            self.to_json(), encoding="utf-8"
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rewrites:
        """Reads commands that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ScheduleError: it holds no commands.
        """
        return cls.from_json(
            pathlib.Path(a_path(path, "the file of rewrites", SCHEDULE)).read_bytes()
        )

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rewrites) and self._steps == other._steps

    def __hash__(self) -> int:
        return hash(tuple(each.command for each in self._steps))

    def __str__(self) -> str:
        return "\n".join(map(str, self._steps))

    def __repr__(self) -> str:
        return str(self) or "Rewrites()"


def recorder(
    kind: type[Kind],
) -> Callable[[Callable[P, Kind]], Callable[P, Kind]]:
    """A decorator of commands: their answer knows which program it came from, and how.

    Args:
        kind: the class of programs.
    """

    def recorded(command: Callable[P, Kind]) -> Callable[P, Kind]:
        signature = inspect.signature(command)
        first = next(iter(signature.parameters))

        @functools.wraps(command)
        def run(*arguments: P.args, **keywords: P.kwargs) -> Kind:
            given = signature.bind(*arguments, **keywords).arguments
            program = given.pop(first)
            if not isinstance(program, kind):
                raise tw.DeclarationTypeError(
                    f"{command.__name__} takes an Alpha program, got {described(program)}; "
                    "tw.alpha.program_of(f) is the program of a function"
                )
            result = command(*arguments, **keywords)
            return result._came_from(program, _recorded_step(command.__name__, signature, given))

        _COMMANDS[command.__name__] = run
        return run

    return recorded


def _recorded_step(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> Step:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for key, value in given.items():
        kind = signature.parameters[key].kind
        if kind is inspect.Parameter.KEYWORD_ONLY:
            named[key] = value
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        else:
            positional.append(value)
    return _step((name, positional, named))


def _plain(value: Any) -> Any:
    """As it is printed: lists, not tuples."""
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _step(given: Any) -> Step:
    """A command with every argument in the one form that is compared."""
    parts = list(given) if isinstance(given, list | tuple) else []
    if len(parts) != 3 or not isinstance(parts[0], str):
        raise tw.ScheduleTypeError(
            f"a step is (command, arguments, keyword arguments), got {described(given)}"
        )
    name, arguments, keywords = parts
    if name not in commands():
        raise tw.ScheduleError(f"there is no command {name!r}; there are {', '.join(commands())}")
    if not isinstance(arguments, list | tuple):
        raise tw.ScheduleTypeError(
            f"the arguments of {name} are a list, got {described(arguments)}"
        )
    if isinstance(keywords, dict):
        keywords = tuple(keywords.items())
    if not isinstance(keywords, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in keywords
    ):
        raise tw.ScheduleTypeError(f"the keywords of {name} are a dict, got {described(keywords)}")
    fixed = tuple(sorted((str(key), _fixed(value)) for key, value in keywords))
    return Step(name, tuple(map(_fixed, arguments)), fixed)


def _fixed(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return tuple(_fixed(each) for each in value)
    return value
