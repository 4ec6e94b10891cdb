"""Compiler scripts: the commands of AlphaZ in a file, one after the other (CSU TR CS12-101, section 2.1).

::

    prog = ReadAlphabets("jacobi1D.ab");           # a program
    system = "jacobi1D";
    SetSTMap(prog, system, "A", "(t,i -> t,i+t)"); # changes prog
    VerifyTargetMapping(prog, system, 2);
    generateScheduledC(prog, system, "out/" + system);

Variables have the type of what they are given: a program, a string, an integer, a truth value, a list ``[0, 1]``,
or what a command answers. A command that changes a program and stands alone changes the program that its
variable names, as those of AlphaZ do; in an assignment it leaves that one alone and gives another.
What the commands of Python take by name is given by name here, too: ``SimplifyingReduction(prog, system, "S", "1,0",
reassociate=true)``. Files are looked for, and written, from the folder of the script. The public AlphaZ scripts'
spelling of target mappings (``setParallel``, ``setMemoryMap``, ...) is understood, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import tilewright as tw

from .program import Program
from .scripting.commands import COMMANDS, Command, nearest

__all__ = ["run_script"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|(?:\#|//)[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>\d+(?![\w.]))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign>[=()\[\]{},;+-])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t"}
_DEEPEST = 100
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


class _Reference:
    """A program that a variable names; commands change it for all variables that do."""

    def __init__(self, program: Program) -> None:
        self.program = program


def run_script(
    source: str | os.PathLike[str],
    *,
    externs: Mapping[str, tw.Extern] | None = None,
) -> dict[str, Any]:
    """Runs a compiler script.

    Args:
        source: the path of a ``.cs`` file, or the text of a script (which has a ``;``).
        externs: the external functions of the programs that it reads, as `load` takes them.

    Returns:
        the variables at the end, by name.

    Raises:
        DeclarationError: for what is no script, and for a command that refuses what it is given; the
            message has the line and the command, ``details`` has "line" and "command".
        OSError: the script cannot be read.

    Source: CSU TR CS12-101, section 2.1.
    """
    if not isinstance(source, str | os.PathLike):
        raise tw.DeclarationTypeError(
            f"run_script takes the path or the text of a script, not {type(source).__name__}"
        )
    if isinstance(source, str) and (";" in source or "\n" in source or not source.strip()):
        return _Run(source, "<script>", Path(), dict(externs or {})).variables()
    path = Path(source)
    text = path.read_text(encoding="utf-8")
    return _Run(text, str(path), path.parent, dict(externs or {})).variables()


class _Run:
    """Reads a script and does what it says, statement by statement."""

    def __init__(self, text: str, file: str, folder: Path, externs: dict[str, tw.Extern]) -> None:
        self.file = file
        self.lines = text.splitlines()
        self.folder = folder
        self.externs = externs
        self.values: dict[str, Any] = {}
        self.tokens = self.tokenized(text)
        self.at = 0
        self.depth = 0

    def variables(self) -> dict[str, Any]:
        while self.peek().kind != "end":
            self.statement()
        return {
            name: value.program if isinstance(value, _Reference) else value
            for name, value in self.values.items()
        }

    # ---- text ----

    def tokenized(self, text: str) -> list[_Token]:
        found: list[_Token] = []
        place, line = 0, 1
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                self.fail(line, "", f"{text[place]!r} begins nothing that a script has")
            kind = match.lastgroup or ""
            if kind != "space":
                found.append(_Token(kind, match[0], line))
            line += match[0].count("\n")
            place = match.end()
        found.append(_Token("end", "the end of the script", max(1, len(self.lines))))
        return found

    def fail(
        self, line: int, command: str, message: str, cause: BaseException | None = None
    ) -> NoReturn:
        source = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        head = f"line {line}, {command}" if command else f"line {line}"
        message = message.removeprefix(f"{command}: ") if command else message
        raise tw.DeclarationError(
            f"{self.file}, {head}: {message}",
            tw.SourceLocation(self.file, line, source),
            {"line": str(line), "command": command},
        ) from cause

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self) -> _Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def took(self, sign: str) -> bool:
        found = self.peek().kind == "sign" and self.peek().text == sign
        self.at += found
        return found

    def expect(self, sign: str) -> None:
        if not self.took(sign):
            token = self.peek()
            before = self.tokens[max(0, self.at - 1)]
            line = before.line if sign == ";" else token.line
            self.fail(line, "", f"{sign!r} expected, not {token.text}")

    # ---- statements ----

    def statement(self) -> None:
        token = self.take()
        if token.kind != "name":
            self.fail(token.line, "", f"an assignment or a command expected, not {token.text}")
        if self.took("="):
            self.values[token.text] = self.expression()
        elif self.took("("):
            self.call(token, assigned=False)
        else:
            self.fail(token.line, "", f"'=' or '(' expected behind {token.text}")
        if self.peek().kind != "end":
            self.expect(";")

    def expression(self) -> Any:
        token = self.peek()
        value = self.term()
        while self.peek().text in ("+", "-") and self.peek().kind == "sign":
            sign, other = self.take(), self.term()
            value = self.combined(token.line, sign.text, value, other)
        return value

    def combined(self, line: int, sign: str, left: Any, right: Any) -> Any:
        def both(kind: type | tuple[type, ...]) -> bool:
            pair = (left, right)
            return all(isinstance(e, kind) and not isinstance(e, bool) for e in pair)

        if both(int):
            return left + right if sign == "+" else left - right
        if sign == "+" and both(list):
            return left + right
        if sign == "+" and both((int, str)):
            return f"{left}{right}"
        self.fail(line, "", f"{_kind(left)} {sign} {_kind(right)} means nothing")

    def term(self) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(self.peek().line, "", f"more than {_DEEPEST} parentheses are open")
        value = self.one_term()
        self.depth -= 1
        return value

    def one_term(self) -> Any:
        token = self.take()
        if token.kind == "string":
            return re.sub(
                r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1], flags=re.DOTALL
            )
        if token.kind == "number":
            return int(token.text)
        if token.kind == "name":
            if self.took("("):
                return self.call(token, assigned=True)
            if token.text in ("true", "false"):
                return token.text == "true"
            if token.text not in self.values:
                known = ", ".join(self.values) or "none yet"
                self.fail(token.line, "", f"there is no variable {token.text}; there are: {known}")
            return self.values[token.text]
        if token.text == "-":
            value = self.term()
            if isinstance(value, bool) or not isinstance(value, int):
                self.fail(token.line, "", f"-{_kind(value)} means nothing")
            return -value
        if token.text == "(":
            value = self.expression()
            self.expect(")")
            return value
        if token.text in _CLOSING:
            return self.items(_CLOSING[token.text])
        self.fail(token.line, "", f"a value expected, not {token.text}")

    def items(self, closing: str) -> list[Any]:
        found: list[Any] = []
        while not self.took(closing):
            if found:
                self.expect(",")
            found.append(self.expression())
        return found

    # ---- commands ----

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """What stands in parentheses: values, then ``reassociate=true``."""
        found: list[Any] = []
        named: dict[str, Any] = {}
        while not self.took(")"):
            if found or named:
                self.expect(",")
            token, sign = self.peek(), self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if token.kind == "name" and (sign.kind, sign.text) == ("sign", "="):
                self.at += 2
                named[token.text] = self.expression()
            elif named:
                self.fail(token.line, "", "a value without a name stands behind one with a name")
            else:
                found.append(self.expression())
        return found, named

    def call(self, name: _Token, assigned: bool) -> Any:
        arguments, named = self.arguments()
        command = COMMANDS.get(name.text)
        if command is None:
            self.fail(name.line, name.text, f"there is no such command{nearest(name.text)}")
        given = [each.program if isinstance(each, _Reference) else each for each in arguments]
        self.require_options(name, command, named)
        if command.reads:
            result = self.done(name, lambda: command.function(self.path(given), self.externs))
        else:
            placed = [
                self.folder / each if number in command.paths and isinstance(each, str) else each
                for number, each in enumerate(given)
            ]
            self.bound(name, command, placed, named)
            if command.names[:1] == ["program"] and not isinstance(given[0], Program):
                self.fail(name.line, name.text, f"it takes a program first, not {_kind(given[0])}")
            result = self.done(name, lambda: command.function(*placed, **named))
        if not isinstance(result, Program):
            return result
        if assigned or not arguments or not isinstance(arguments[0], _Reference):
            return _Reference(result)
        arguments[0].program = result
        return arguments[0]

    def path(self, given: list[Any]) -> Path:
        if len(given) != 1 or not isinstance(given[0], str):
            raise tw.DeclarationTypeError("it takes the path of a program, a string")
        return self.folder / given[0]

    def require_options(self, name: _Token, command: Command, named: dict[str, Any]) -> None:
        """Refuses names that the command does not have."""
        for each in named:
            if each not in command.options:
                known = f"; it has {', '.join(command.options)}" if command.options else ""
                self.fail(name.line, name.text, f"it has no argument {each}={known}")

    def bound(
        self, name: _Token, command: Command, given: list[Any], named: dict[str, Any]
    ) -> None:
        """Refuses a wrong number of arguments."""
        try:
            command.signature.bind(*given, **named)
        except TypeError:
            kinds = ", ".join(map(_kind, given)) or "nothing"
            self.fail(name.line, name.text, f"it takes ({', '.join(command.names)}), got ({kinds})")

    def done(self, name: _Token, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except tw.TilewrightError as error:
            self.fail(name.line, name.text, error.message, error)
        except KeyError as error:
            self.fail(name.line, name.text, str(error.args[0]), error)
        except (AttributeError, IndexError, OSError, TypeError, ValueError) as error:
            self.fail(name.line, name.text, str(error), error)


def _kind(value: object) -> str:
    """What a value is, as scripts say it."""
    if isinstance(value, _Reference | Program):
        return "a program"
    if isinstance(value, Path | str):
        return "a string"
    names: dict[type, str] = {int: "an integer", bool: "a truth value", list: "a list"}
    return names.get(type(value), type(value).__name__)
