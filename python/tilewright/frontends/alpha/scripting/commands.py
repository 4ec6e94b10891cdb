"""The commands of compiler scripts by name.

Those of the report are the functions of `tw.alpha`. Public AlphaZ scripts spell some otherwise; these
spellings stand below, with the arguments that such scripts give.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tilewright as tw

from .. import commands as report
from ..mapping import commands as mapping
from ..printing import ashow, show
from ..program import Program, load
from ..verifier import VerifyTargetMapping

__all__ = ["COMMANDS", "Command", "nearest"]


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        function: what it does.
        paths: which arguments are paths, by position.
        reads: whether it reads a program, and takes external functions beside the path.
    """

    function: Callable[..., Any]
    paths: tuple[int, ...] = ()
    reads: bool = False

    @cached_property
    def signature(self) -> inspect.Signature:
        """The arguments."""
        return inspect.signature(self.function)

    @property
    def names(self) -> list[str]:
        """What the arguments are called; ``...`` for any more."""
        kinds = self.signature.parameters.values()
        return [
            "..." if each.kind is inspect.Parameter.VAR_POSITIONAL else each.name
            for each in kinds
            if each.kind is not inspect.Parameter.KEYWORD_ONLY
        ]

    @property
    def options(self) -> list[str]:
        """The arguments that are given by name only."""
        kinds = self.signature.parameters.values()
        return [each.name for each in kinds if each.kind is inspect.Parameter.KEYWORD_ONLY]


def nearest(name: str) -> str:
    """The commands of a similar name, as the end of a message."""
    folded = {each.lower(): each for each in COMMANDS}
    found = [folded[each] for each in difflib.get_close_matches(name.lower(), folded, 3)]
    return f"; is {' or '.join(found)} meant?" if found else ""


# ---- what scripts have beside Python ----


def _read(path: Path, externs: Mapping[str, tw.Extern]) -> Program:
    return load(path, externs=externs)


def _program(given: object) -> Program:
    if not isinstance(given, Program):
        raise tw.DeclarationTypeError(f"it takes a program first, not {given!r}")
    return given


def _show(program: Program, system: str | None = None) -> str:
    text = _program(program).show() if system is None else show(program.system(system))
    print(text)
    return text


def _ashow(program: Program, system: str | None = None) -> str:
    text = str(_program(program)) if system is None else ashow(program.system(system))
    print(text)
    return text


def _print_ast(program: Program, system: str | None = None) -> str:
    if system is not None:
        _program(program).system(system)
    text = _program(program).print_ast()
    print(text)
    return text


def _print(*values: object) -> None:
    """What variables have, for people."""
    print(*values)


# ---- the spelling of public scripts ----


def _check_program(program: Program) -> bool:
    """A program has been checked when it was read, and after each command."""
    return bool(_program(program).systems)


def _parallel(program: Program, system: str, orderingPrefix: str, dimensions: Any) -> Program:
    """Parallel dimensions; of the variables that have these constants in ordering dimensions."""
    if orderingPrefix not in ("", []):
        raise tw.DeclarationError(
            "setParallel with a prefix of ordering dimensions is not understood: "
            'SetDimensionType(prog, system, dimension, "parallel", variable) says it by variable'
        )
    return _typed(program, system, dimensions, "parallel")


def _ordering(program: Program, system: str, dimensions: Any) -> Program:
    return _typed(program, system, dimensions, "ordering")


def _typed(program: Program, system: str, dimensions: Any, kind: str) -> Program:
    numbers = dimensions.strip("[]{}() ").split(",") if isinstance(dimensions, str) else dimensions
    for number in numbers if isinstance(numbers, list) else [numbers]:
        program = mapping.SetDimensionType(program, system, number, kind)
    return program


def _dimension_type(program: Program, *arguments: Any) -> Program:
    """``(program, system, variable, dimension, "S")`` of public scripts, too."""
    kinds = {"s": "sequential", "p": "parallel", "o": "ordering"}
    given = list(arguments)
    if given and isinstance(given[-1], str):
        given[-1] = kinds.get(given[-1].strip().lower(), given[-1])
    if len(given) == 4 and isinstance(given[1], str) and not given[1].strip().isdigit():
        system, variable, dimension, kind = given
        given = [system, dimension, kind, variable]
    return mapping.SetDimensionType(program, *given)


def _memory_map(
    program: Program, system: str, variable: str, space: str, function: str, factors: Any = None
) -> Program:
    """``setMemoryMap(program, system, variables, space, function[, factors])``."""
    more = [] if factors is None else [factors]
    for name in str(variable).split(","):
        own = name.strip()
        program = mapping.SetMemoryMapping(program, system, own, function, *more)
        if space != own:
            program = mapping.SetMemorySpace(program, system, space, own)
    return program


class _Options:
    """What createTiledCGOptionForScheduledC gives: the mapping itself says how code is tiled."""


def _without_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The generator without the options that public scripts give it."""

    def generate(program: Program, system: str, *outDir: Any) -> Any:
        return function(program, system, *(x for x in outDir if not isinstance(x, _Options)))

    return generate


def _default_tiles(program: Program, system: str, *given: Any) -> Program:
    """``setDefaultDTilerConfiguration(program, system, [first, last,] type)``: tiles of all dimensions of time, or of
    those from `first` to `last`. Sizes are given at run time, and are 32 where variables share a memory."""
    ends, kind = list(given[:-1]), given[-1] if given else None
    mapped = _program(program).mapping(system)
    width = max((len(each.results) for each in mapped.times.values()), default=0)
    first, last = (int(each) for each in (ends if len(ends) == 2 else (0, width - 1)))
    dimensions = list(map(str, range(first, last + 1)))
    if len(ends) not in (0, 2) or not dimensions:
        raise tw.DeclarationError(
            "it takes (program, system, [first, last,] type), and the dimensions of space-time maps"
        )
    sizes = ["32" if mapped.spaces else f"ts{each}" for each in dimensions]
    return mapping.SetTiling(program, system, ",".join(dimensions), ",".join(sizes), kind)


def _serialized(program: Program, nodeID: Any, schedule: str) -> Program:
    """As public scripts know it: what X is summed up in has the name ``_serX``."""
    made = report.SerializeReduction(program, nodeID, schedule)
    for system in made.systems:
        names = [each.name for each in made.system(system).declarations]
        before = {each.name for each in program.system(system).declarations}
        for name in (each for each in names if each not in before):
            own = f"_ser{name.partition('_serial')[0]}"
            if own not in names:
                made = report.RenameVariable(made, system, name, own)
    return made


COMMANDS: dict[str, Command] = {
    "ReadAlphabets": Command(_read, reads=True),
    "Show": Command(_show),
    "AShow": Command(_ashow),
    "PrintAST": Command(_print_ast),
    "print": Command(_print),
    "Save": Command(report.Save, (1,)),
    "ASave": Command(report.ASave, (1,)),
    "ExportPRDG": Command(report.ExportPRDG, (1,)),
    "VerifyTargetMapping": Command(VerifyTargetMapping),
    "CheckProgram": Command(_check_program),
    "SetDimensionType": Command(_dimension_type),
    "setDimensionType": Command(_dimension_type),
    "setMemoryMap": Command(_memory_map),
    "setParallel": Command(_parallel),
    "setOrderingDimensions": Command(_ordering),
    "createTiledCGOptionForScheduledC": Command(_Options),
    "createCGOptionForScheduledC": Command(_Options),
    "setDefaultDTilerConfiguration": Command(_default_tiles),
    "SerializeReduction": Command(_serialized),
    "generateScheduledCode": Command(_without_options(mapping.generateScheduledC), (2, 3)),
    "generateMakefile": Command(_without_options(report.generateMakefile), (2, 3)),
    "generateWriteCode": Command(report.generateWriteC, (2,)),
    "generateWrapper": Command(_without_options(report.generateWrapperC), (2, 3)),
    "generateVerificationCode": Command(report.generateVerificationC, (2,)),
}
for _module in (report, mapping):
    for _name in _module.__all__:
        _paths = (2,) if _name.startswith("generate") else ()
        COMMANDS.setdefault(_name, Command(getattr(_module, _name), _paths))
COMMANDS["setMemorySpace"] = COMMANDS["SetMemorySpace"]
COMMANDS["setStatementOrdering"] = COMMANDS["SetStatementOrdering"]
COMMANDS["setTiling"] = COMMANDS["SetTiling"]
