"""Pluto and PPCG, which write a C file anew with other loops in its scop.

Neither is a package of Debian or PyPI. They are used if ``polycc`` (https://github.com/bondhugula/pluto) or
``ppcg`` (https://repo.or.cz/ppcg.git) is on the PATH.
"""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["TRANSLATORS", "Translator"]

#: Seconds, after which a program counts as one that it does not take.
LONGEST = 60


@dataclass(frozen=True)
class Translator:
    """A compiler from C to C.

    Attributes:
        program: what it is called.
        flags: what makes it write tiled loops that run in parallel.
        reads_macros: whether it preprocesses the file, and so is told its folders and macros.
    """

    program: str
    flags: tuple[str, ...]
    reads_macros: bool

    def write(
        self,
        path: pathlib.Path,
        output: pathlib.Path,
        folders: Sequence[pathlib.Path],
        macros: Mapping[str, object],
    ) -> None:
        """Writes the file with its loops to `output`, and what it leaves beside it into that folder.

        Raises:
            subprocess.SubprocessError: it fails, or takes longer than `LONGEST`.
        """
        words = [self.program, *self.flags]
        if self.reads_macros:
            words += [f"-I{folder.resolve()}" for folder in folders]
            words += [f"-D{name}" for name in macros]
        subprocess.run(
            [*words, str(path.resolve()), "-o", str(output.resolve())],
            cwd=output.parent,
            capture_output=True,
            check=True,
            timeout=LONGEST,
        )


#: Pluto tiles for concurrent start ("diamonds") by default.
TRANSLATORS = {
    "Pluto": Translator("polycc", ("--tile", "--parallel"), reads_macros=False),
    "PPCG": Translator("ppcg", ("--target=c", "--openmp", "--tile"), reads_macros=True),
}
