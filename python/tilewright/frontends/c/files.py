"""A C file that was parsed, and the functions in it: what `tw.c.load` asks unless it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pycparser import c_ast

from ...base.errors import ArgumentError, TranslationError
from ..accesses import Summary, summary_of
from ..depth import many_levels
from ..tree import Location
from . import bodies, parsing, preprocessing, programs, scops
from .refusals import refuse

__all__ = ["File"]


class File:
    """A C file.

    Args:
        text, name, macros, folders: see `preprocessing.preprocess`.
        externs: functions that are given by value.
        scop: what becomes a function (`tw.c.load`).
        libm: whether mathematics is the C library's.

    Raises:
        TranslationError: for what is malformed, and for what has no translation, unless functions are
            translated when they are first named.
    """

    def __init__(
        self,
        text: str,
        name: str,
        macros: Mapping[str, str],
        folders: Sequence[str],
        externs: Mapping[str, object],
        scop: str,
        libm: bool,
    ) -> None:
        preprocessed = preprocessing.preprocess(text, name, macros, folders)
        self.files = preprocessed.files
        self._parsed = parsing.parse(preprocessed, name)
        self._externs = externs
        self._libm = libm
        programs.check_file(self._parsed, externs)
        self._translated: dict[str, programs.Translated] = {}
        self._regions: dict[str, scops.Region] = {}
        if scop == "autodetect":
            self._detect()
            return
        regions = (scops.functions_of if scop == "function" else scops.pragma_regions)(self._parsed)
        if scop == "pragma" and not regions:
            refuse(
                Location(name, 1, 1),
                "there is no #pragma scop in this file",
                'write #pragma scop and #pragma endscop around the loops, or load it with scop="function"',
            )
        self._regions = {each.name: each for each in regions}
        if scop == "pragma":
            for each in self._regions:
                self.translated(each)

    @property
    def signatures(self) -> dict[str, dict[str, np.ndarray | None] | None]:
        """The functions in the order of the file, with their arguments (`Translated.signature`); None of
        those that are translated when they are first named."""
        return {
            name: self._translated[name].signature if name in self._translated else None
            for name in self._regions
        }

    def translated(
        self,
        name: str,
        replacements: Sequence[bodies.Body] = (),
        numbers: Mapping[str, int | None] | None = None,
    ) -> programs.Translated:
        """A function, with other bodies of some statements, and numbers for some parameters."""
        if replacements or numbers:
            with bodies.replaced(self._parsed, replacements):
                return self._made(self._regions[name], numbers or {})
        if name not in self._translated:
            self._translated[name] = self._made(self._regions[name])
        return self._translated[name]

    def summary(self, function: str) -> Summary:
        """See `CModule.summary`."""
        described, _ = self._parsed.source.summaries.get(function, (function, None))
        for region in scops.functions_of(self._parsed):
            if region.name == described:
                made = programs.translate(
                    self._parsed, region, self._externs, True, summarising=True
                )
                return summary_of(made.program)
        known = ", ".join(self._parsed.functions) or "none"
        raise ArgumentError(f"the file defines no function {function!r}; it has {known}")

    def _made(
        self, region: scops.Region, numbers: Mapping[str, int | None] | None = None
    ) -> programs.Translated:
        with many_levels(self._parsed.place(self._parsed.functions[region.function])):
            return programs.translate(
                self._parsed, region, self._externs, self._libm, numbers=numbers or {}
            )

    # Autodetection ----------------------------------------------------------------------------

    def _detect(self) -> None:
        """Functions as a whole if that goes, else the longest runs of statements with loops that go."""
        for region in scops.functions_of(self._parsed):
            made = self._tried(region)
            if made is not None:
                self._keep(region, made)
                continue
            count = 0
            items = list(region.items)
            at = 0
            while at < len(items):
                end = at
                best: tuple[scops.Region, programs.Translated] | None = None
                for stop in range(at + 1, len(items) + 1):
                    if not _has_loop(items[at]):
                        break
                    name = f"{region.function}_scop{count + 1}"
                    part = scops.Region(
                        name, region.function, (tuple(items[:at]),), tuple(items[at:stop]), False
                    )
                    made = self._tried(part)
                    if made is None:
                        break
                    best, end = (part, made), stop
                if best is not None:
                    count += 1
                    self._keep(*best)
                at = max(end, at + 1)

    def _keep(self, region: scops.Region, made: programs.Translated) -> None:
        self._regions[region.name] = region
        self._translated[region.name] = made

    def _tried(self, region: scops.Region) -> programs.Translated | None:
        try:
            return self._made(region)
        except TranslationError:
            return None  # it is not a part that becomes a function


def _has_loop(item: object) -> bool:
    return any(isinstance(each, c_ast.For | c_ast.While) for each in parsing.nodes(item))
