"""The commands of AlphaZ under the names and with the arguments of the report (CSU TR CS12-101).

A command that changes a program gives a new one; the old one stays. Functions and domains are text as in
programs, ``"(i,j -> i+j)"`` and ``"{i | i==0}"``; an expression is named by its identifier, the path of
integers that `PrintAST` shows: ``"[0, 1, 0, 2]"`` is, in system 0, in equation 1, below its expression 0, the
third child.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TypeAlias

import tilewright as tw

from ...base.checks import DECLARATION, a_path, an_integer, described
from . import tree
from .c.scanning import scan_c
from .c.wrapping import make_text, wrapper_c
from .c.writing import write_c
from .domains import AffineFunction
from .graphs import Graph, build_prdg, export_prdg
from .history import recorder
from .kernels import identifier
from .program import Program, load
from .reading import read, read_domain, read_function
from .rewrites.basis import change_of_basis
from .rewrites.composing import compose_reductions
from .rewrites.decomposing import decompose_reduction
from .rewrites.distributing import distribute_reduction
from .rewrites.factoring import factor_out_from_reduction
from .rewrites.inlining import inline
from .rewrites.isolating import normalize_reductions
from .rewrites.normalizing import normalize
from .rewrites.permuting import permute_case_reduce
from .rewrites.renaming import rename_system, rename_variable
from .rewrites.repetitions import drop_repetitions
from .rewrites.reusing import simplify_reduction
from .rewrites.serializing import serialize_reduction
from .rewrites.simplifying import simplify
from .rewrites.splitting import split, split_union
from .rewrites.splitting_bodies import split_reduction_body
from .rewrites.transforming_bodies import transform_reduction_body
from .rewrites.unused import remove_unused_variables

__all__ = [
    "ASave",
    "AShow",
    "BuildPRDG",
    "CoB",
    "DistributeReduction",
    "DropRepetitions",
    "ExportPRDG",
    "FactorOutFromReduction",
    "Inline",
    "Normalize",
    "NormalizeReduction",
    "PermutationCaseReduce",
    "PrintAST",
    "ReadAlphabets",
    "ReductionComposition",
    "ReductionDecomposition",
    "RemoveUnusedVariables",
    "RenameSystem",
    "RenameVariable",
    "Save",
    "SerializeReduction",
    "Show",
    "Simplify",
    "SimplifyingReduction",
    "Split",
    "SplitReductionBody",
    "SplitUnion",
    "TransformReductionBody",
    "generateMakefile",
    "generateScanC",
    "generateVerificationC",
    "generateWrapperC",
    "generateWriteC",
]

Identifier: TypeAlias = "str | Sequence[int]"

recorded = recorder(Program)


# ---- basic commands (section 5.2) ----


def ReadAlphabets(filePath: str | os.PathLike[str]) -> Program:  # the report's own argument names
    """The program of a file; `load`."""
    return load(FilePath(a_path(filePath, "filePath")))


@recorded
def RenameSystem(program: Program, system: str, newSystemName: str) -> Program:
    """A system under another name; see `rewrites.renaming.rename_system`."""
    program.system(system)
    _require_name(newSystemName, "affine {name} {{N | N > 0}} output int X; let X = 1; .")
    mapping = program.mapping(system)
    renamed = program.with_tree(rename_system(program.tree, system, newSystemName))
    return renamed.with_mapping(newSystemName, mapping)


@recorded
def RenameVariable(program: Program, system: str, varName: str, newVarName: str) -> Program:
    """A variable under another name; see `rewrites.renaming.rename_variable`."""
    _require_name(
        newVarName,
        "affine s {{ {name}_N | {name}_N > 0 }} output int {name}, {name}_ {{ i | i == 0 }}; "
        "let {name}[i] = 1; {name}_[i] = {name}[i] + {name}[i]; .",
    )
    return program.with_system(rename_variable(program.system(system), varName, newVarName))


@recorded
def RemoveUnusedVariables(program: Program, system: str | None = None) -> Program:
    """Without the locals that no output needs; of one system, or of all."""
    return _each(program, system, remove_unused_variables)


@recorded
def Normalize(program: Program, system: str | None = None) -> Program:
    """Cases at the top; see `rewrites.normalizing.normalize`."""
    return _each(program, system, normalize)


def Show(program: Program) -> str:
    """Prints the program with all index names, and gives the text."""
    _require_program(program, "Show")
    print(program.show())
    return program.show()


def AShow(program: Program) -> str:
    """Prints the program in array notation, and gives the text."""
    _require_program(program, "AShow")
    print(program)
    return str(program)


def Save(program: Program, outDir: str | os.PathLike[str]) -> FilePath:
    """Writes what `Show` prints to a file; into a folder, under the name of the first system."""
    _require_program(program, "Save")
    return _written(program, outDir, program.show())


def ASave(program: Program, outDir: str | os.PathLike[str]) -> FilePath:
    """Writes what `AShow` prints to a file; into a folder, under the name of the first system."""
    _require_program(program, "ASave")
    return _written(program, outDir, str(program))


def PrintAST(program: Program) -> str:
    """Prints the tree with identifiers, expression domains D and context domains X, and gives the text."""
    _require_program(program, "PrintAST")
    print(program.print_ast())
    return program.print_ast()


# ---- transformations (sections 5.3 to 5.8) ----


@recorded
def CoB(program: Program, systemName: str, varName: str, function: str) -> Program:
    """Another basis for a variable; see `rewrites.basis.change_of_basis`."""
    system = program.system(systemName)
    return program.with_system(change_of_basis(system, varName, _function(system, function)))


@recorded
def Inline(program: Program, systemName: str, targetEq: str, inlineEq: str) -> Program:
    """A definition in place of a variable; see `rewrites.inlining.inline`."""
    return program.with_system(inline(program.system(systemName), targetEq, inlineEq))


@recorded
def Split(program: Program, systemName: str, varName: str, sepDomain: str) -> Program:
    """A variable as two; see `rewrites.splitting.split`."""
    system = program.system(systemName)
    names = system.declaration(varName).domain.indices
    domain = read_domain(sepDomain, system.parameters.indices, names)
    return program.with_system(split(system, varName, domain))


@recorded
def SplitUnion(program: Program, nodeID: Identifier) -> Program:
    """A union as a case; see `rewrites.splitting.split_union`."""
    system, place = _place(program, nodeID)
    return program.with_system(split_union(system, place))


@recorded
def Simplify(program: Program, system: str | None = None) -> Program:
    """Shorter restrictions, fewer reductions; see `rewrites.simplifying.simplify`."""
    return _each(program, system, simplify)


def BuildPRDG(program: Program, system: str, inputs: bool = False) -> Graph:
    """The dependence graph of a system; see `graphs.build_prdg`."""
    _require_program(program, "BuildPRDG")
    return build_prdg(program.system(system), inputs)


def ExportPRDG(prdg: Graph, filename: str | os.PathLike[str]) -> FilePath:
    """Writes a dependence graph in Graphviz's language DOT."""
    if not isinstance(prdg, Graph):
        raise tw.DeclarationTypeError(
            f"ExportPRDG takes what BuildPRDG answers, got {described(prdg)}"
        )
    path = FilePath(a_path(filename, "filename"))
    path.write_text(export_prdg(prdg), encoding="utf-8")
    return path


# ---- reductions (section 6) ----


@recorded
def SimplifyingReduction(
    program: Program,
    system: str,
    varName: str,
    reuseVector: str | Sequence[int],
    *,
    reassociate: bool = False,
) -> Program:
    """A scan in place of a reduction; see `rewrites.reusing.simplify_reduction`."""
    vector = _integers(reuseVector, "the reuse vector")
    changed = simplify_reduction(program.system(system), varName, vector, reassociate=reassociate)
    return program.with_system(changed)


@recorded
def PermutationCaseReduce(program: Program, systemName: str, targetVar: str) -> Program:
    """A case out of a reduction; see `rewrites.permuting.permute_case_reduce`."""
    return program.with_system(permute_case_reduce(program.system(systemName), targetVar))


@recorded
def ReductionDecomposition(program: Program, nodeID: Identifier, f1: str, f2: str) -> Program:
    """One reduction as two, by f2 and then by f1; see `rewrites.decomposing.decompose_reduction`."""
    system, place = _place(program, nodeID)
    outer, inner = _function(system, f1), _function(system, f2)
    return program.with_system(decompose_reduction(system, place, outer, inner))


@recorded
def ReductionComposition(program: Program, nodeID: Identifier) -> Program:
    """Two reductions as one; see `rewrites.composing.compose_reductions`."""
    system, place = _place(program, nodeID)
    return program.with_system(compose_reductions(system, place))


@recorded
def DistributeReduction(
    program: Program, nodeID: Identifier, *, reassociate: bool = False
) -> Program:
    """Each operand reduced on its own; see `rewrites.distributing.distribute_reduction`."""
    system, place = _place(program, nodeID)
    changed = distribute_reduction(system, place, reassociate=reassociate)
    return program.with_system(changed)


@recorded
def DropRepetitions(
    program: Program, system: str, varName: str, vector: str | Sequence[int]
) -> Program:
    """A repeated value once; see `rewrites.repetitions.drop_repetitions`."""
    along = _integers(vector, "the vector")
    return program.with_system(drop_repetitions(program.system(system), varName, along))


@recorded
def NormalizeReduction(program: Program, system: str | None = None) -> Program:
    """An equation for each reduction; see `rewrites.isolating.normalize_reductions`."""
    return _each(program, system, normalize_reductions)


@recorded
def FactorOutFromReduction(
    program: Program, nodeID: Identifier, *, reassociate: bool = False
) -> Program:
    """What is constant outside; see `rewrites.factoring.factor_out_from_reduction`."""
    system, place = _place(program, nodeID)
    changed = factor_out_from_reduction(system, place, reassociate=reassociate)
    return program.with_system(changed)


@recorded
def SerializeReduction(program: Program, nodeID: Identifier, schedule: str) -> Program:
    """A reduction as a chain; see `rewrites.serializing.serialize_reduction`."""
    system, place = _place(program, nodeID)
    return program.with_system(serialize_reduction(system, place, _function(system, schedule)))


@recorded
def SplitReductionBody(program: Program, nodeID: Identifier, splitDomain: str) -> Program:
    """One reduction as two, combined; see `rewrites.splitting_bodies.split_reduction_body`."""
    system, place = _place(program, nodeID)
    domain = read_domain(splitDomain, system.parameters.indices)
    return program.with_system(split_reduction_body(system, place, domain))


@recorded
def TransformReductionBody(program: Program, nodeID: Identifier, T: str) -> Program:
    """Another basis for a body; see `rewrites.transforming_bodies.transform_reduction_body`."""
    system, place = _place(program, nodeID)
    return program.with_system(transform_reduction_body(system, place, _function(system, T)))


# ---- arguments ----


def _require_program(program: object, command: str) -> None:
    """What `recorded` asks of the commands that make a program."""
    if not isinstance(program, Program):
        raise tw.DeclarationTypeError(f"{command} takes an Alpha program, got {described(program)}")


def _require_name(name: object, text: str) -> None:
    """Refuses what does not read back as a name, such as a word of the language."""
    if not isinstance(name, str):
        raise tw.DeclarationTypeError(f"a name is text, got {described(name)}")
    try:
        if not re.fullmatch(r"[\w-]+", name):
            raise tw.DeclarationError("no name")
        read(text.format(name=name))
    except tw.DeclarationError:
        raise tw.DeclarationError(f"{described(name)} is no name that Alpha can read") from None


def _each(
    program: Program, name: str | None, change: Callable[[tree.System], tree.System]
) -> Program:
    """One system changed, or all."""
    if name is not None:
        return program.with_system(change(program.system(name)))
    systems = tuple(change(each) for each in program.tree.systems)
    return program.with_tree(replace(program.tree, systems=systems))


def _function(system: tree.System, text: str) -> AffineFunction:
    return read_function(text, system.parameters.indices)


def _integers(given: Identifier, what: str) -> tuple[int, ...]:
    if isinstance(given, str):
        if not re.fullmatch(r"[\[(]?\s*-?\d+(\s*,\s*-?\d+)*\s*[\])]?", given.strip()):
            raise tw.DeclarationError(f"{what} must be integers such as '[0, 1]', not {given!r}")
        return tuple(map(int, re.findall(r"-?\d+", given)))
    integers = isinstance(given, Sequence) and all(type(each) is int for each in given)
    if not integers or not given:
        raise tw.DeclarationTypeError(f"{what} must be integers such as '[0, 1]', not {given!r}")
    return tuple(int(each) for each in given)


def _place(program: Program, identifier: Identifier) -> tuple[tree.System, tree.Path]:
    """The system that an identifier is in, and the rest of the identifier."""
    path = _integers(identifier, "the identifier of an expression")
    systems = program.tree.systems
    if not 0 <= path[0] < len(systems):
        raise tw.DeclarationError(
            f"the identifier {list(path)} begins with the number of the system, of which there are "
            f"{len(systems)}"
        )
    return systems[path[0]], path[1:]


def _written(program: Program, where: str | os.PathLike[str], text: str) -> FilePath:
    path = FilePath(a_path(where, "outDir"))
    if path.is_dir():
        path = path / f"{next(iter(program))}.ab"
    path.write_text(text, encoding="utf-8")
    return path


# ---- generators (section 9) ----


def generateWriteC(program: Program, system: str, outDir: str | os.PathLike[str]) -> FilePath:
    """Writes NAME.c, demand-driven C; see `c.writing.write_c`."""
    _require_program(program, "generateWriteC")
    text = write_c(program.system(system), program.tree)
    return _generated(outDir, f"{identifier(system)}.c", text)


def generateVerificationC(
    program: Program, system: str, outDir: str | os.PathLike[str]
) -> FilePath:
    """Writes NAME_verify.c, demand-driven C under that name: what ``make verify`` compares the results of another
    generator's NAME.c with."""
    _require_program(program, "generateVerificationC")
    name = f"{identifier(system)}_verify"
    text = write_c(replace(program.system(system), name=name), program.tree)
    return _generated(outDir, f"{name}.c", text)


def generateScanC(
    program: Program,
    system: str,
    outDir: str | os.PathLike[str],
    size: int = 16384,
    *,
    reassociate: bool = False,
    associative: Sequence[str] = (),
) -> FilePath:
    """Writes NAME.c, C with OpenMP in which the recurrences of the system are scans over blocks of `size`
    values; `associative` names external functions that are associative. See `c.scanning`."""
    _require_program(program, "generateScanC")
    size = an_integer(size, "the size of generateScanC", DECLARATION, minimum=2, bits=31)
    externs = [_extern(program, name) for name in _names(associative, "associative=")]
    text = scan_c(
        program.system(system), program.tree, program._externs, size, reassociate, externs
    )
    return _generated(outDir, f"{identifier(system)}.c", text)


def _names(given: Sequence[str], what: str) -> Sequence[str]:
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise tw.DeclarationTypeError(f"{what} must be a list of names, not {given!r}")
    return given


def _extern(program: Program, name: str) -> tw.Extern:
    if name not in program._externs:
        known = ", ".join(program._externs) or "none"
        raise tw.DeclarationError(
            f"there is no external function {name!r} in externs= of tw.alpha.load; there are {known}"
        )
    return program._externs[name]


def generateWrapperC(program: Program, system: str, outDir: str | os.PathLike[str]) -> FilePath:
    """Writes NAME-wrapper.c, a `main` around NAME; see `c.wrapping.wrapper_c`."""
    _require_program(program, "generateWrapperC")
    tiling = program.mapping(system).tiling
    text = wrapper_c(program.system(system), tiling.names if tiling else ())
    return _generated(outDir, f"{identifier(system)}-wrapper.c", text)


def generateMakefile(program: Program, system: str, outDir: str | os.PathLike[str]) -> FilePath:
    """Writes a Makefile with the rules all, check, check-noprompt, verify and verify-rand."""
    _require_program(program, "generateMakefile")
    return _generated(outDir, "Makefile", make_text(program.system(system)))


def _generated(folder: str | os.PathLike[str], name: str, text: str) -> FilePath:
    path = FilePath(a_path(folder, "outDir"))
    path.mkdir(parents=True, exist_ok=True)
    path = path / name
    path.write_text(text, encoding="utf-8")
    return path
