"""Alpha, the equational language of AlphaZ (CSU TR CS12-101): programs, transformations, C.

`load` reads a program, whose systems are functions on arrays; the commands of the report, under its names,
take programs and give programs. This is `tw.alpha`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .history import Rewrites, Step
from .mapping.values import MemoryMapping, TargetMapping, Tiling
from .program import Program, load

if _TYPE_CHECKING:
    from .loaded_late import (
        ASave,
        AShow,
        BuildPRDG,
        CoB,
        DistributeReduction,
        DropRepetitions,
        ExportPRDG,
        FactorOutFromReduction,
        Graph,
        Inline,
        Normalize,
        NormalizeReduction,
        PermutationCaseReduce,
        PrintAST,
        ReadAlphabets,
        ReductionComposition,
        ReductionDecomposition,
        RemoveUnusedVariables,
        RenameSystem,
        RenameVariable,
        Save,
        SerializeReduction,
        SetDimensionType,
        SetMemoryMapping,
        SetMemorySpace,
        SetStatementOrdering,
        SetSTMap,
        SetTiling,
        Show,
        Simplify,
        SimplifyingReduction,
        Split,
        SplitReductionBody,
        SplitUnion,
        TransformReductionBody,
        Verification,
        VerifyTargetMapping,
        generateMakefile,
        generateScanC,
        generateScheduledC,
        generateVerificationC,
        generateWrapperC,
        generateWriteC,
        program_of,
        run_script,
        setSpaceTimeMap,
        simplify_reductions,
        system_of,
        verify,
    )

__all__ = [
    "ASave",
    "AShow",
    "BuildPRDG",
    "CoB",
    "DistributeReduction",
    "DropRepetitions",
    "ExportPRDG",
    "FactorOutFromReduction",
    "Graph",
    "Inline",
    "MemoryMapping",
    "Normalize",
    "NormalizeReduction",
    "PermutationCaseReduce",
    "PrintAST",
    "Program",
    "ReadAlphabets",
    "ReductionComposition",
    "ReductionDecomposition",
    "RemoveUnusedVariables",
    "RenameSystem",
    "RenameVariable",
    "Rewrites",
    "Save",
    "SerializeReduction",
    "SetDimensionType",
    "SetMemoryMapping",
    "SetMemorySpace",
    "SetSTMap",
    "SetStatementOrdering",
    "SetTiling",
    "Show",
    "Simplify",
    "SimplifyingReduction",
    "Split",
    "SplitReductionBody",
    "SplitUnion",
    "Step",
    "TargetMapping",
    "Tiling",
    "TransformReductionBody",
    "Verification",
    "VerifyTargetMapping",
    "generateMakefile",
    "generateScanC",
    "generateScheduledC",
    "generateVerificationC",
    "generateWrapperC",
    "generateWriteC",
    "load",
    "program_of",
    "run_script",
    "setSpaceTimeMap",
    "simplify_reductions",
    "system_of",
    "verify",
]


def __getattr__(name: str) -> _Any:
    """Commands are loaded, all of them, when one is first named: calling a program needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import loaded_late

    globals().update({each: getattr(loaded_late, each) for each in loaded_late.__all__})
    return globals()[name]


def __dir__() -> list[str]:
    """What is loaded when it is first named is there, too: editors complete it."""
    return sorted({*globals(), *__all__})
