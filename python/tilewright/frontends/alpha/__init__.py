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
    from .commands import (
        ASave,
        AShow,
        BuildPRDG,
        CoB,
        DistributeReduction,
        DropRepetitions,
        ExportPRDG,
        FactorOutFromReduction,
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
        Show,
        Simplify,
        SimplifyingReduction,
        Split,
        SplitReductionBody,
        SplitUnion,
        TransformReductionBody,
        generateMakefile,
        generateScanC,
        generateVerificationC,
        generateWrapperC,
        generateWriteC,
    )
    from .graphs import (
        Graph,
    )
    from .mapping.commands import (
        SetDimensionType,
        SetMemoryMapping,
        SetMemorySpace,
        SetStatementOrdering,
        SetSTMap,
        SetTiling,
        generateScheduledC,
        setSpaceTimeMap,
    )
    from .saying.functions import (
        program_of,
        system_of,
    )
    from .scripts import (
        run_script,
    )
    from .simplification.simplify import (
        simplify_reductions,
    )
    from .verifier import (
        Verification,
        VerifyTargetMapping,
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
    from .loaded_late import load as loaded

    late = loaded()
    globals().update({each: late[each] for each in __all__ if each in late})
    return globals()[name]


def __dir__() -> list[str]:
    """What is loaded when it is first named is there, too: editors complete it."""
    return sorted({*globals(), *__all__})
