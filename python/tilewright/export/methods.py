"""What a function has of export: the methods that `tw.Function` inherits."""

from __future__ import annotations

import os

from ..base.display import Text
from ..schedule.scheduled_functions import ScheduledFunction
from .exporting import Exported, export_function
from .source import ExportedSource, c_text, export_source

__all__ = ["ExportableFunction"]


class ExportableFunction(ScheduledFunction):
    """A function with its schedule that writes what C programs use."""

    def export(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str | None = None,
        kind: str = "shared",
        cpu: str | None = None,
        strides: bool = False,
        linker: str | None = None,
    ) -> Exported:
        """Writes a library for C programs, with a header and an example, that needs neither Python
        nor LLVM::

            matmul.export("lib")          # lib/libmatmul.so, lib/matmul.h, lib/matmul_example.c

        The C function takes a pointer for each array, numbers by value, then the parameters as
        ``int64_t``, and returns 0 or a status. The page docs/export.md has the details.

        Args:
            directory: where the files go; made where it is not there.
            name: of the C function; by default, the function's own.
            kind: "shared" for a shared object, which takes a linker (`ld` or a C compiler); "static"
                for a static library, which takes nothing.
            cpu: which processors the code is for, as in `tw.function`; by default, the function's.
                It need not be one that this machine can be.
            strides: whether the C function also takes the distance, in elements, from one index to
                the next of each dimension but the last; else arrays have no gaps.
            linker: the program that links; by default, TILEWRIGHT_LINKER, else the first of ld,
                ld.lld, ld.gold, mold, cc, gcc, clang that is on PATH.

        Raises:
            ExportError: a name that C programs cannot have, no linker, or one that fails.
            ValueError: an unknown kind or CPU.
            OSError: the files cannot be written.
        """
        return export_function(self, directory, name, kind, cpu, strides, linker)

    def export_source(
        self, directory: str | os.PathLike[str], *, name: str | None = None
    ) -> ExportedSource:
        """Writes the function as C source, with a header and a Makefile::

            matmul.export_source("src")   # src/matmul.c, src/matmul.h, src/Makefile

        The source is C99 with OpenMP, as `c` has it: the loops of the schedule, with the names of
        the declaration. It needs the C library alone, and computes the bits of the compiled function
        without fast_math; the page docs/export.md says of what it does not. If the loops run on a
        GPU, it is host code with the kernels as PTX, which opens CUDA's driver when it is called.

        Args:
            directory: where the files go; made where it is not there.
            name: of the C function; by default, the function's own.

        Raises:
            ArgumentTypeError: directory is no path; a TypeError.
            ExportError: a name that C programs cannot have, a directory that is a file, or packed
                structures for a GPU.
            OSError: the files cannot be written.
        """
        return export_source(self, directory, name)

    @property
    def c(self) -> Text:
        """The function as C source: C99 with OpenMP, for row-major arrays. `export_source` writes
        it to a file.

        The loops are those of `loops`, before they become vectors. Those over blocks and threads of
        a GPU are launches, with their kernels as PTX.

        Raises:
            ExportError: packed structures for a GPU.
        """
        return Text(c_text(self))
