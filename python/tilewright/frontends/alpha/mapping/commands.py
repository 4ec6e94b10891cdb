"""The commands that say when, where and in which memory a system runs (CSU TR CS12-101, section 7).

Each takes a program and gives one with another target mapping; the equations stay. The name of the
system may be left out where the program has one system, as in the report's scripts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import tilewright as tw

from ....base.checks import a_path, described
from ....base.plurals import counted
from ..c.scheduled import scheduled_c
from ..c.tiled import tiled_c
from ..domains import AffineFunction
from ..history import recorder
from ..kernels import identifier
from ..program import Program
from ..reading import read_function
from ..tree import Declaration, Equation, System
from ..verifier import verify
from .plans import top_body
from .running import whole_system
from .values import DIMENSION_TYPES, TILINGS, MemoryMapping, TargetMapping, Tiling

__all__ = [
    "SetDimensionType",
    "SetMemoryMapping",
    "SetMemorySpace",
    "SetSTMap",
    "SetStatementOrdering",
    "SetTiling",
    "generateScheduledC",
    "setSpaceTimeMap",
]

recorded = recorder(Program)


@recorded
def SetSTMap(program: Program, *arguments: str) -> Program:
    """When each value of a variable is computed, `SetSTMap(program, [system,] variable, function)`.

    Before, all equations of the system run in the order of their dependences::

        for t in range(0, T + 1):
            for i in range(0, N):
                A[t, i] = ...

    After ``SetSTMap(p, "A", "(t,i -> t,i+t)")``::

        for t in range(0, T + 1):
            for t1 in range(t, N + t):
                A[t, t1 - t] = ...

    Results of the function are dimensions of time, numbered from 0; maps of all variables give one
    number of them. If the equation of the variable is a reduction, the function may take the indices of its
    body: then each term has a time of its own. Otherwise a reduction is one operation. Variables
    without a map run before or after those with one, as dependences say.

    Args:
        program: the program.
        *arguments: the system, where there are several; the variable, or several with commas; the
            function as text.

    Raises:
        DeclarationError: there is no such variable, it is an input, or the function takes another
            number of indices.

    Source: CSU TR CS12-101, sections 7.1 and 7.2.1.
    """
    name, (variable, text) = _system(program, arguments, "SetSTMap", "variable, function", 2)
    if "," in variable:
        for each in variable.split(","):
            program = SetSTMap(program, name, each.strip(), text)
        return program
    whole = whole_system(program.tree, name)
    declared = _defined(whole, variable, "SetSTMap")
    function = _function(whole, text, "the function of SetSTMap")
    body = top_body(whole, variable)
    known = [declared.domain.arity]
    known += [len(body[0].projection.indices)] if body else []
    if len(function.indices) not in known:
        *others, last = dict.fromkeys(known)
        wanted = " or ".join([*map(str, others), counted(last, "index")])
        raise tw.DeclarationError(
            f"SetSTMap: the map of {variable} must take {wanted}, got {function}"
            + (": those of the variable, or of its reduction's body" if body else "")
        )
    return program.with_mapping(name, program.mapping(name).having("times", variable, function))


setSpaceTimeMap = SetSTMap


@recorded
def SetDimensionType(program: Program, *arguments: object) -> Program:
    """What a dimension of time is, `SetDimensionType(program, [system,] dimension, type[, variable])`.

    Before::

        for t in range(0, T + 1):
            for i in range(0, N):
                A[t, i] = ...

    After ``SetDimensionType(p, 1, "parallel")``::

        for t in range(0, T + 1):
            for i in range(0, N):  # parallel
                A[t, i] = ...

    Args:
        program: the program.
        *arguments: the system, where there are several; the number of the dimension, from 0; "sequential",
            "parallel" or "ordering" (a constant for each variable, which orders loops); the
            variable, if it is not for all of them.

    Raises:
        DeclarationError: there is no such type, variable or system, or the space-time maps that were set have no
            such dimension.

    Source: CSU TR CS12-101, sections 7.1.2 and 7.1.3.
    """
    given = list(arguments)
    name = _only_system(program, "SetDimensionType")
    if given and isinstance(given[0], str) and not given[0].strip().isdigit():
        name = str(given.pop(0))
    elif name is None:
        raise _several(program, "SetDimensionType")
    if len(given) not in (2, 3):
        raise _wrong_count("SetDimensionType", "dimension, type[, variable]", arguments)
    number = _number(given[0], "the dimension of SetDimensionType", 0)
    kind = _text(given[1], "the type of SetDimensionType").strip().lower()
    if kind not in DIMENSION_TYPES:
        raise tw.DeclarationError(
            f"SetDimensionType: a dimension is {_choices(DIMENSION_TYPES)}, got {given[1]!r}"
        )
    mapping = program.mapping(name)
    variable = None
    if len(given) == 3:
        variable = _text(given[2], "the variable of SetDimensionType")
        _defined(whole_system(program.tree, name), variable, "SetDimensionType")
    _require_dimension(mapping, variable, number)
    return program.with_mapping(name, mapping.having("types", (variable, number), kind))


def _require_dimension(mapping: TargetMapping, variable: str | None, number: int) -> None:
    """Refuses a dimension that no map has; without a map yet, a later SetSTMap says which there are."""
    named = [variable] if variable in mapping.times else list(mapping.times)
    width = min((len(mapping.times[each].results) for each in named if each), default=number + 1)
    if number >= width:
        has = f"dimensions 0 to {width - 1}" if width > 1 else "dimension 0 only"
        raise tw.DeclarationError(
            f"SetDimensionType: dimension {number} is not there: times of "
            f"{', '.join(map(str, named))} have {has}"
        )


@recorded
def SetMemoryMapping(program: Program, *arguments: object) -> Program:
    """Where each value of a local is kept, `SetMemoryMapping(program, [system,] variable, function[, factors])`.

    Before::

        A[t, i] = ...

    After ``SetMemoryMapping(p, "A", "(t,i -> t,i)", "2,0")``::

        A_memory[t % 2, i] = ...

    Args:
        program: the program.
        *arguments: the system, where there are several; the variable; the function; a modulo factor for each of its
            results, where 0 takes none.

    Raises:
        DeclarationError: there is no such variable, or numbers of indices or factors are wrong. Inputs
            and outputs are arrays of the caller, which `CoB` changes; they have the identity.

    Source: CSU TR CS12-101, section 7.2.
    """
    given = list(arguments)
    at = next((n for n, each in enumerate(given) if isinstance(each, str) and "->" in each), 2)
    name = _only_system(program, "SetMemoryMapping")
    if at == 2 and given:
        name = _text(given.pop(0), "the system of SetMemoryMapping")
    elif name is None:
        raise _several(program, "SetMemoryMapping")
    if len(given) not in (2, 3):
        raise _wrong_count("SetMemoryMapping", "variable, function[, factors]", arguments)
    program.system(name)
    variable = _text(given[0], "the variable of SetMemoryMapping")
    whole = whole_system(program.tree, name)
    declared = _declared(whole, variable, "SetMemoryMapping")
    function = _function(whole, given[1], "the function of SetMemoryMapping")
    if len(function.indices) != declared.domain.arity:
        raise tw.DeclarationError(
            f"SetMemoryMapping: the function of {variable} must take "
            f"{counted(declared.domain.arity, 'index')}, got {function}"
        )
    count = len(function.results)
    moduli = (0,) * count
    if len(given) == 3:
        moduli = _numbers(given[2], "the factors of SetMemoryMapping", 0)
        if len(moduli) != count:
            raise tw.DeclarationError(
                f"SetMemoryMapping: {function} has {counted(count, 'result')}, but there are "
                f"{len(moduli)} modulo factors; 0 takes none"
            )
    if declared.kind != "local":
        if function.is_identity and not any(moduli):
            return program  # which is where it is
        raise _of_the_caller("SetMemoryMapping", declared)
    mapping = program.mapping(name)
    made = MemoryMapping(function, moduli)
    return program.with_mapping(name, mapping.having("memory", variable, made))


@recorded
def SetMemorySpace(program: Program, *arguments: str) -> Program:
    """One memory for several variables, `SetMemorySpace(program, [system,] space, variables)`.

    Before::

        X_memory[i] = ...
        Y_memory[i] = ...

    After ``SetMemorySpace(p, "buffer", "X,Y")``::

        buffer[i] = ...
        buffer[i] = ...

    If the space has the name of a variable, others are kept in its memory, which is the caller's array for
    an output: after ``SetMemoryMapping(p, "T", "(i,j,k -> i,j)")`` and ``SetMemorySpace(p, "C", "T,C")`` partial
    sums T are kept where C comes to be::

        C[i, j] = C[i, j] + ...

    It is not in the report's text, which knows of a memory for each variable only.

    Args:
        program: the program.
        *arguments: the system, where there are several; the name of the memory, or of a variable; the variables,
            separated by commas.

    Raises:
        DeclarationError: there is no such local, the memory is that of an input; their types or numbers of
            memory dimensions differ.
    """
    name, (space, text) = _system(program, arguments, "SetMemorySpace", "space, variables", 2)
    if not re.fullmatch(r"[A-Za-z_]\w*", space):
        raise tw.DeclarationError(f"SetMemorySpace: {space!r} is no name of a memory")
    whole = whole_system(program.tree, name)
    variables = [each.strip() for each in text.split(",") if each.strip()]
    if variables == [space]:
        _defined(whole, space, "SetMemorySpace")
        return program  # a memory of its own is what it has
    if not variables:
        raise tw.DeclarationError("SetMemorySpace: no variable is named")
    mapping = program.mapping(name)
    home = next((each for each in whole.declarations if each.name == space), None)
    if home is not None and home.kind == "input":
        raise _of_the_caller("SetMemorySpace", home)
    taken = whole.names() | {f"{each.name}_memory" for each in whole.declarations}
    if home is None and space in taken:
        raise tw.DeclarationError(f"SetMemorySpace: the name {space} is taken")
    if home is not None:
        variables = [each for each in variables if each != space]
    if home is not None and home.kind == "local":
        variables.insert(0, space)
        space = mapping.spaces.get(space, f"{space}_memory")
    for variable in variables:
        _local(whole, variable, "SetMemorySpace")
        mapping = mapping.having("spaces", variable, space)
    kinds = {whole.declaration(v).type for v, s in mapping.spaces.items() if s == space}
    kinds |= {home.type} if home is not None else set()
    if len(kinds) > 1:
        raise tw.DeclarationError(
            f"SetMemorySpace: variables in {space} have types {', '.join(sorted(kinds))}; one memory "
            "has one type"
        )
    return program.with_mapping(name, mapping)


@recorded
def SetStatementOrdering(program: Program, *arguments: str) -> Program:
    """Which of two variables runs first at equal times, `SetStatementOrdering(program, [system,] first, second)`.

    Before, both maps give (i, j), and neither comes first::

        for i in range(0, N):
            for j in range(0, N):
                X[i, j] = ...; Y[i, j] = ...

    It is an ordering dimension behind all others, which need not be written into each map: after
    ``SetStatementOrdering(p, "Y", "X")``, Y runs first. Several calls order more variables.

    Args:
        program: the program.
        *arguments: the system, where there are several; the variable that runs first; the one behind it.

    Raises:
        DeclarationError: there is no such variable, it has no space-time map, or orders go in a circle.

    Source: setStatementOrdering of public AlphaZ scripts.
    """
    name, pair = _system(program, arguments, "SetStatementOrdering", "first, second", 2)
    whole = whole_system(program.tree, name)
    mapping = program.mapping(name)
    for each in pair:
        _defined(whole, each, "SetStatementOrdering")
        if each not in mapping.times:
            raise tw.DeclarationError(
                f"SetStatementOrdering: {each} has no space-time map; SetSTMap gives it one first"
            )
    first, second = pair
    mapping = replace(mapping, orders=(*mapping.orders, (first, second)))
    if mapping.positions() is None:
        raise tw.DeclarationError(
            f"SetStatementOrdering: {second} is to run before {first} already, so this is a circle"
        )
    return program.with_mapping(name, mapping)


@recorded
def SetTiling(program: Program, *arguments: object) -> Program:
    """Cuts dimensions of time into tiles, `SetTiling(program, [system,] dimensions, sizes[, type])`.

    Before::

        for t in range(0, T):
            for i in range(t, N + t):
                A[t, i - t] = ...

    After ``SetTiling(p, "0,1", "4,8")``::

        for t0 in range(0, ceil(T / 4)):
            for t1 in range(...):
                for t in range(4 * t0, min(T, 4 * t0 + 4)):
                    for i in range(max(t, 8 * t1), min(N + t, 8 * t1 + 8)):
                        A[t, i - t] = ...

    After ``SetTiling(p, "0,1", "4,8", "wavefront")`` the outermost loop is over the sum of the tiles'
    numbers, and tiles of one sum run in parallel. All dimensions must be permutable, which
    `verify` asks. If the outermost of them are parallel, tiles of a sequential tiling are, too.

    Args:
        program: the program.
        *arguments: the system, where there are several; the numbers of the dimensions, increasing;
            the sizes of a tile, of which a name is one that is given at run time, to what
            `generateScheduledC` writes; "sequential", which is the default, or "wavefront" ("parallel" and
            "openmp" mean it too). Without dimensions (``""``) there is no tiling any more.

    Raises:
        DeclarationError: numbers of sizes are wrong, dimensions do not increase.

    Source: CSU TR CS12-101, section 7.3.1.
    """
    given = list(arguments)
    name = _only_system(program, "SetTiling")
    if given and isinstance(given[0], str) and re.search(r"[A-Za-z_]", given[0]):
        name = str(given.pop(0))
    elif name is None:
        raise _several(program, "SetTiling")
    if len(given) == 1 and isinstance(given[0], str) and not given[0]:
        return program.with_mapping(name, replace(program.mapping(name), tiling=None))
    if len(given) not in (2, 3):
        raise _wrong_count("SetTiling", "dimensions, sizes[, type]", arguments)
    dimensions = _numbers(given[0], "the dimensions of SetTiling", 0)
    sizes = _sizes(given[1])
    kind = "sequential" if len(given) == 2 else _text(given[2], "the type of SetTiling")
    kind = {"parallel": "wavefront", "openmp": "wavefront"}.get(kind.lower(), kind.lower())
    if kind not in TILINGS:
        raise tw.DeclarationError(f"SetTiling: a tiling is {_choices(TILINGS)}, got {kind!r}")
    if len(dimensions) != len(sizes):
        raise tw.DeclarationError(
            f"SetTiling: {counted(len(dimensions), 'dimension')}, but {counted(len(sizes), 'size')}"
        )
    if not dimensions or list(dimensions) != sorted(set(dimensions)):
        raise tw.DeclarationError(
            f"SetTiling: dimensions must increase, as in '0,1', got {described(given[0])}"
        )
    mapping = replace(program.mapping(name), tiling=Tiling(dimensions, sizes, kind))
    return program.with_mapping(name, mapping)


# ---- the generator (section 9.2) ----


def generateScheduledC(program: Program, system: str, outDir: str | os.PathLike[str]) -> Path:
    """Writes NAME.c, C whose loops are those of the target mapping; see `c.scheduled.scheduled_c`.

    Sizes of tiles that are names are set by ``NAME_tiles(...)``, 32 before; the wrapper takes them behind
    the parameters. Its function has the interface of `generateWriteC`'s: `generateWrapperC` and
    `generateMakefile` write a program around it.

    Args:
        program: the program.
        system: the name.
        outDir: the folder, which is made.

    Raises:
        IllegalScheduleError: the mapping would change a result; `verify` says more.
    """
    _only_system(program, "generateScheduledC")
    tree, mapping = program.system(system), program.mapping(system)
    if mapping.tiling is not None and mapping.tiling.names:
        if wrong := verify(program, system).violations:
            raise tw.DeclarationError(
                f"generateScheduledC: the mapping of {system} is not legal: {wrong[0]}"
            )
        whole = whole_system(program.tree, system)
        last = max((len(each.results) for each in mapping.times.values()), default=0) - 1
        unordered = SetDimensionType(program, system, last, "parallel")
        # What has no map runs in loops of its own, which have no types.
        computed = {each.name for each in (*whole.of_kind("output"), *whole.of_kind("local"))}
        free = computed <= mapping.times.keys() and bool(verify(unordered, system))
        text = tiled_c(tree, whole, mapping, free)
    else:
        text = scheduled_c(tree, program.tree, program._externs, mapping)
    folder = Path(a_path(outDir, "outDir"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{identifier(tree.name)}.c"
    path.write_text(text, encoding="utf-8")
    return path


# ---- arguments ----


def _only_system(program: object, command: str) -> str | None:
    """The name of a program's system, if it has one only."""
    if not isinstance(program, Program):
        raise tw.DeclarationTypeError(
            f"{command} takes a program that tw.alpha.load made first, not {type(program).__name__}"
        )
    return next(iter(program)) if len(program) == 1 else None


def _several(program: Program, command: str) -> tw.DeclarationError:
    return tw.DeclarationError(
        f"{command}: say which system is meant, before the other arguments; there are "
        f"{', '.join(program)}"
    )


def _wrong_count(command: str, wanted: str, given: Sequence[object]) -> tw.DeclarationTypeError:
    shown = ", ".join(map(described, given)) or "nothing"
    return tw.DeclarationTypeError(f"{command} takes program, [system,] {wanted}; got {shown}")


def _system(
    program: Program, arguments: Sequence[str], command: str, wanted: str, count: int
) -> tuple[str, Sequence[str]]:
    """The system that is meant, and the other arguments."""
    name = _only_system(program, command)
    if len(arguments) not in (count, count + 1):
        raise _wrong_count(command, wanted, arguments)
    given = [_text(each, f"an argument of {command}") for each in arguments]
    if len(given) > count:
        name = given[0]
    elif name is None:
        raise _several(program, command)
    program.system(name)
    return name, given[-count:]


def _declared(system: System, variable: str, command: str) -> Declaration:
    for each in system.declarations:
        if each.name == variable:
            return each
    known = ", ".join(each.name for each in system.declarations if each.kind != "input")
    raise tw.DeclarationError(
        f"{command}: {system.name} has no variable {variable!r}; it computes {known}"
    )


def _defined(system: System, variable: str, command: str) -> Declaration:
    declared = _declared(system, variable, command)
    if not any(isinstance(e, Equation) and e.name == variable for e in system.equations):
        raise tw.DeclarationError(f"{command}: {variable} is an input, which nothing computes")
    return declared


def _local(system: System, variable: str, command: str) -> Declaration:
    declared = _declared(system, variable, command)
    if declared.kind != "local":
        raise _of_the_caller(command, declared)
    return declared


def _of_the_caller(command: str, declared: Declaration) -> tw.DeclarationError:
    return tw.DeclarationError(
        f"{command}: {declared.name} is an {declared.kind}, an array of the caller; change its domain "
        "(CoB), or keep the values in a local"
    )


def _function(system: System, text: object, what: str) -> AffineFunction:
    return read_function(_text(text, what), system.parameters.indices)


def _text(given: object, what: str) -> str:
    if not isinstance(given, str):
        raise tw.DeclarationTypeError(f"{what} must be text, got {described(given)}")
    return given


def _number(given: object, what: str, least: int) -> int:
    if isinstance(given, str) and re.fullmatch(r"\s*-?\d+\s*", given):
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        raise tw.DeclarationTypeError(f"{what} must be an integer, got {described(given)}")
    if given < least:
        raise tw.DeclarationError(f"{what} must be at least {least}, got {given}")
    return int(given)


def _numbers(given: object, what: str, least: int) -> tuple[int, ...]:
    """Integers as "2,0", or in a sequence, or one alone."""
    if isinstance(given, str):
        parts: list[object] = list(given.strip("[]() ").split(","))
    elif isinstance(given, Sequence):
        parts = list(given)
    else:
        parts = [given]
    return tuple(_number(each, what, least) for each in parts)


def _sizes(given: object) -> tuple[int | str, ...]:
    """Sizes of tiles: numbers, and names of those that come at run time."""
    parts = list(given.strip("[]() ").split(",")) if isinstance(given, str) else given
    found: list[int | str] = []
    for each in parts if isinstance(parts, Sequence) else [parts]:
        if isinstance(each, str) and re.fullmatch(r"\s*[A-Za-z]\w*\s*", each):
            found.append(each.strip())
        else:
            found.append(_number(each, "a size of SetTiling", 1))
    return tuple(found)


def _choices(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f" or '{names[-1]}'"
