"""The commands of a schedule as Python, and what is asked of single ones."""

from __future__ import annotations

import functools
import itertools
import json
import keyword
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from .. import _core

Command: TypeAlias = tuple[str, str, tuple[Any, ...]]

#: How the command begins that is a transaction; its arguments are commands.
TRANSACTION = ("", "transaction")


def is_transaction(command: Command) -> bool:
    """Whether a command is a transaction, whose arguments are commands."""
    return command[:2] == TRANSACTION


def each_command(commands: Iterable[Command]) -> Iterator[Command]:
    """Commands in order, those of transactions one by one."""
    for command in commands:
        if is_transaction(command):
            yield from each_command(command[2])
        else:
            yield command


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


def made_by_command(command: Command, known: Container[str]) -> str:
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


def _pairs_text(name: str, arguments: tuple[Any, ...]) -> str:
    """Recorded as names and values in turn; the method takes keywords, or a dict."""
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    if len(arguments) % 2 != 0:
        return ""
    if all(isinstance(key, str) and _is_keyword(key) for key, _ in pairs):
        return f".{name}({', '.join(f'{key}={_quoted(value)}' for key, value in pairs)})"
    return f".{name}({{{', '.join(f'{_quoted(key)}: {_quoted(value)}' for key, value in pairs)}}})"


def _is_keyword(name: str) -> bool:
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name)


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
    if name in commands_with("takes_pairs") and (text := _pairs_text(name, arguments)):
        return text
    texts = [_listed(a) if isinstance(a, tuple) else _quoted(a) for a in arguments]
    # Recorded in order, the last ones if given.
    position, names = _keywords(name)
    keywords = zip(names, arguments[position:], texts[position:], strict=False)
    texts[position:] = [
        f"{key}={text}"
        for key, value, text in keywords
        if value not in ("", "auto", (), 1 if key == "stages" else 0)
    ] + texts[position + len(names) :]
    return f".{name}({', '.join(texts)})"


def function_name(commands: Iterable[Command]) -> str:
    """How the function is called in the text of a schedule: f, unless that is a computation."""
    taken = set()
    for computation, name, arguments in each_command(commands):
        taken |= {computation, *arguments[:1]} if name in commands_with("places") else {computation}
    numbered = (f"f{number}" for number in itertools.count(1))
    return next(name for name in itertools.chain(["f"], numbered) if name not in taken)


def command_text(command: Command, function: str = "f") -> str:
    """One command as Python: ``C.tile("i", "j", 32, 32)``; of a transaction the first line."""
    if is_transaction(command):
        return f"with {function}.transaction():"
    return (command[0] or function) + _call(command)


#: What is said of a schedule: (computations, "X, Y and Z", or "" for all of it; a sentence).
Comment: TypeAlias = tuple[str, str]


def python_lines(commands: Sequence[Command], comments: Sequence[Comment] = ()) -> list[str]:
    """The Python that makes a schedule: a line for each run of commands of one computation, and the
    comments on a computation in front of its first one."""
    writer = _Writer(function_name(commands), comments)
    writer.add(commands, "")
    return writer.lines


class _Writer:
    """Writes commands as lines, and each comment once."""

    def __init__(self, function: str, comments: Sequence[Comment]) -> None:
        self.lines: list[str] = []
        self._function = function
        self._made: set[str] = set()
        self._comments = list(comments)

    def add(self, commands: Sequence[Command], indent: str) -> None:
        current: str | None = None
        self._comment_on_the_rest(commands, indent)
        for command in commands:
            computation, name, arguments = command
            if is_transaction(command):
                self.lines.append(indent + command_text(command, self._function))
                self.add(arguments, indent + "    ")
                current = None
                continue
            if computation != current:
                self._comment_on(computation, indent)
            if name in commands_with("makes"):
                self._made.add(new := made_by_command(command, self._made))
                self.lines.append(f"{indent}{new} = {command_text(command, self._function)}")
            elif computation == current:
                self.lines[-1] += _call(command)
            else:
                self.lines.append(indent + command_text(command, self._function))
            returns_another = name in commands_with("turns") | commands_with("makes")
            current = None if returns_another or not computation else computation

    def _comment_on(self, computation: str, indent: str) -> None:
        """Those about a computation; "": about the function."""
        self._write([each for each in self._comments if computation in _about(each)], indent)

    def _comment_on_the_rest(self, commands: Sequence[Command], indent: str) -> None:
        """Those on computations that are given no command, unless a transaction follows."""
        if any(map(is_transaction, commands)):
            return
        given = {computation for computation, _, _ in commands}
        self._write([each for each in self._comments if not given & set(_about(each))], indent)

    def _write(self, comments: Iterable[Comment], indent: str) -> None:
        for comment in comments:
            about, text = comment
            self.lines.append(f"{indent}# {about}: {text}" if about else f"{indent}# {text}")
            self._comments.remove(comment)


def _about(comment: Comment) -> list[str]:
    """The computations of "X, Y and Z"."""
    *first, last = comment[0].replace(" and ", ", ").split(", ")
    return [*first, last]
