"""Alpha programs as people have them: read, checked, printed, and called on NumPy arrays."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import tilewright as tw

from ...base.checks import SCHEDULE, an_integer, described
from .checking import check, grounded
from .errors import Source
from .history import Rewrites, Step
from .mapping.running import mapped_function, still_fitting
from .mapping.values import TargetMapping
from .nesting import require_shallow, too_deep
from .printing import ashow, print_ast, show
from .reading import read
from .tree import Program as ProgramTree
from .tree import System

__all__ = ["Program", "load", "origin_of"]


class Program:
    """An Alpha program: its systems by name, each a function on arrays; see `load`.

    Transformations (`tw.alpha.Normalize`, ...) take a program and give another one.
    """

    def __init__(
        self,
        program: ProgramTree,
        externs: Mapping[str, tw.Extern] | None = None,
        mappings: Mapping[str, TargetMapping] | None = None,
    ) -> None:
        if not isinstance(program, ProgramTree):
            raise tw.DeclarationTypeError(
                f"a program is made by tw.alpha.load, not from {type(program).__name__}"
            )
        self._tree = check(grounded(program))
        self._externs = dict(externs or {})
        self._mappings = dict(mappings or {})
        self._functions: dict[str, tw.Function] = {}
        self._before: tuple[Program, Step] | None = None

    @property
    def rewrites(self) -> Rewrites:
        """The transformations that made this program out of the one that was read, as a value."""
        steps: list[Step] = []
        program = self
        while program._before is not None:
            program, step = program._before
            steps.append(step)
        return Rewrites(reversed(steps))

    def undo(self, steps: int = 1) -> Program:
        """The program before the latest transformations; see `rewrites`.

        Args:
            steps: how many.

        Raises:
            ScheduleError: there were not so many.
        """
        count = an_integer(steps, "the number of steps to undo", SCHEDULE, minimum=0)
        program, left = self, count
        while left:
            if program._before is None:
                raise tw.ScheduleError(
                    f"undo({count}): only {count - left} transformations were made"
                )
            program, left = program._before[0], left - 1
        return program

    def _came_from(self, program: Program, step: Step) -> Program:
        """A program that knows how it was made. Of one that knows already, or that nothing changed,
        it is another object."""
        result = self
        if self is program or self._before is not None:
            result = copy.copy(self)
            result._functions = {}
        result._before = (program, step)
        return result

    @property
    def tree(self) -> ProgramTree:
        """The tree."""
        return self._tree

    @cached_property
    def systems(self) -> dict[str, System]:
        """The systems by name, in the order of the text."""
        return {each.name: each for each in self._tree.systems}

    def system(self, name: str) -> System:
        """The tree of one system.

        Raises:
            KeyError: there is none of this name.
            DeclarationTypeError: the name is no string.
        """
        if not isinstance(name, str):
            raise tw.DeclarationTypeError(
                f"the name of a system must be a string, got {described(name)}"
            )
        if name not in self.systems:
            known = ", ".join(self.systems)
            raise KeyError(f"there is no system {name!r}; there are {known}")
        return self.systems[name]

    def __getitem__(self, name: str) -> tw.Function:
        """The system of this name as a function: inputs are arrays, outputs are returned.

        A system with a target mapping runs as that says.

        Raises:
            IllegalScheduleError: its mapping would change a result; `tw.alpha.verify` says more.
        """
        if name not in self._functions:
            system, mapping = self.system(name), self.mapping(name)
            function = mapped_function(system, self._tree, self._externs, mapping)
            function._alpha = (self, name)
            self._functions[name] = function
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def __contains__(self, name: object) -> bool:
        return name in self.systems

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self._tree == other._tree and self._mappings == other._mappings

    def __hash__(self) -> int:
        return hash(tuple(self.systems))

    def with_system(self, changed: System, name: str | None = None) -> Program:
        """The program with one system replaced.

        Args:
            changed: the new system.
            name: of the one that it takes the place of; its own unless given.
        """
        old = changed.name if name is None else name
        systems = tuple(changed if each.name == old else each for each in self._tree.systems)
        return self.with_tree(replace(self._tree, systems=systems))

    def with_tree(self, tree: ProgramTree) -> Program:
        """The program with other systems. A system keeps its target mapping as long as the variables
        that the mapping names have the domains that they had."""
        kept = {
            name: mapping
            for name, mapping in self._mappings.items()
            if still_fitting(mapping, name, self._tree, tree)
        }
        return Program(tree, self._externs, kept)

    def mapping(self, name: str) -> TargetMapping:
        """The target mapping of a system; one that says nothing where none was given.

        Raises:
            KeyError: there is no such system.
        """
        self.system(name)
        return self._mappings.get(name, TargetMapping())

    def with_mapping(self, name: str, mapping: TargetMapping) -> Program:
        """The program with another target mapping of a system."""
        self.system(name)
        made = copy.copy(self)
        made._functions = {}
        made._mappings = {**self._mappings, name: mapping}
        if mapping == TargetMapping():  # one that says nothing is none
            del made._mappings[name]
        return made

    def show(self) -> str:
        """The text with all index names."""
        return show(self._tree)

    def print_ast(self) -> str:
        """The tree with identifiers, expression domains and context domains."""
        return print_ast(self._tree)

    def __str__(self) -> str:
        return ashow(self._tree)

    def __repr__(self) -> str:
        return f"<Alpha program of {', '.join(self.systems)}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def _is_path(source: str) -> bool:
    """Whether it is the path of a file, and no text of a program."""
    if not source.strip() or any(each in source for each in "{\n\0"):
        return False
    return not re.match(r"\s*(//|/\*|affine\b)", source) or Path(source).exists()


def load(
    source: str | os.PathLike[str], *, externs: Mapping[str, tw.Extern] | None = None
) -> Program:
    """Reads an Alpha program::

        p = tw.alpha.load('''
          affine prefix {N | N > 0}
            input  double A {i | 0 <= i < N};
            output double S {i | 0 <= i < N};
            let    S[i] = reduce(+, [j], {| 0 <= j <= i} : A[j]);
          .
        ''')
        s = p["prefix"](a)

    Args:
        source: the text, or the path of a file that has it.
        externs: the external functions that the program declares, by name (`tw.extern`).

    Returns:
        the program, checked: every variable is defined once and everywhere, branches do not
        overlap, reductions are bounded.

    Raises:
        DeclarationError: for what is no program; the message has the line and the column, and a
            point where it goes wrong.
        DomainError: for a value that is needed where there is none.
        OSError: the file cannot be read.
        DeclarationTypeError: for a source that is neither text nor a path.

    Source: CSU TR CS12-101, section 4.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _is_path(source)):
        path = Path(source)
        return _loaded(str(path), path.read_text(encoding="utf-8"), externs)
    if not isinstance(source, str):
        raise tw.DeclarationTypeError(
            f"tw.alpha.load takes the text of a program or a path, not {type(source).__name__}"
        )
    return _loaded("<alpha>", source, externs)


def _loaded(file: str, text: str, externs: Mapping[str, tw.Extern] | None) -> Program:
    mark = "\ufeff"  # some editors begin files with it
    source = Source(file, text.removeprefix(mark))
    try:
        read_tree = read(source.text, source.file)
        require_shallow(source, read_tree)
        return Program(read_tree, externs)
    except RecursionError:
        raise too_deep(source) from None


def origin_of(function: tw.Function) -> tuple[Program, str] | None:
    """The program that a function was made from, and the name of its system."""
    origin: tuple[Program, str] | None = getattr(function, "_alpha", None)
    return origin
