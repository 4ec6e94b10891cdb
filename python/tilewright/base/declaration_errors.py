"""The errors of declarations, and of programs in other languages that become such. `errors` has all."""

from __future__ import annotations

from collections.abc import Mapping

from .root_error import TilewrightError
from .source import SourceLocation

__all__ = [
    "DeclarationError",
    "DeclarationTypeError",
    "DomainError",
    "SelfDependenceError",
    "TranslationError",
]


class DeclarationError(TilewrightError, ValueError):
    """A declaration that makes no sense: pieces that overlap, no upper bound, a name used twice, an
    expression of more than 2000 operations inside each other.

    Fails, because both pieces hold at i = 0 (the message names that point)::

        C = tw.computation("C", {i: N}, [(i <= 0, x[0]), (i >= 0, y[i])])

    Mended::

        C = tw.computation("C", {i: N}, [(i <= 0, x[0]), (i > 0, y[i])])
    """

    class_code = "TW100"


class DeclarationTypeError(DeclarationError, TypeError):
    """Operands or values whose types do not go together.

    Fails, because a float64 value does not become an integer without being told to::

        C = tw.computation("C", {i: N}, x[i] * 1.5, dtype=tw.int32)

    Mended::

        C = tw.computation("C", {i: N}, tw.cast(x[i] * 1.5, tw.int32))

    Also raised where Python asks for the truth of an expression. Fails::

        C = tw.computation("C", {i: N, j: M}, x[i], where=0 <= i < j)

    Mended::

        C = tw.computation("C", {i: N, j: M}, x[i], where=(0 <= i) & (i < j))
    """

    class_code = "TW101"


class TranslationError(DeclarationError):
    """A program of another language (C) that is malformed, or says what has no translation.

    The message ends with the place in that program's file: line and column, the line itself, and a
    caret below what is meant.

    Fails, because a `goto` that leads back is no loop::

        tw.c.load('''
        void f(int n, double A[n]) {
        #pragma scop
          int i = 0;
        next:
          A[i] = 0.0;
          if (++i < n) goto next;
        #pragma endscop
        }''')

    Mended::

        tw.c.load('''
        void f(int n, double A[n]) {
        #pragma scop
          for (int i = 0; i < n; i++)
            A[i] = 0.0;
        #pragma endscop
        }''')
    """

    class_code = "TW110"

    def __init__(
        self,
        message: str = "",
        location: SourceLocation | None = None,
        details: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, location, details)
        if self.location is not None and "column" in self.details:
            text = self.details.get("source", "")
            indent = "".join("\t" if letter == "\t" else " " for letter in text[: self.column - 1])
            place = f"{self.location.file}:{self.line}:{self.column}"
            self.args = (f"[{self.code}] {message}\n  at {place}\n    {text}\n    {indent}^",)

    @property
    def file(self) -> str:
        """The file of the program, or the name that its text was given."""
        return "" if self.location is None else self.location.file

    @property
    def line(self) -> int:
        """The line in that file, from 1."""
        return 0 if self.location is None else self.location.line

    @property
    def column(self) -> int:
        """The column in that line, from 1."""
        return int(self.details.get("column", "0"))


class DomainError(DeclarationError, IndexError):
    """A read outside the domain of the computation, or the shape of the input, that it reads.

    Fails, because C[0] reads x[-1]::

        x = tw.input("x", [N], tw.float32)
        C = tw.computation("C", {i: N}, x[i] - x[i - 1])

    Mended::

        C = tw.computation("C", {i: (1, N)}, x[i] - x[i - 1])
    """

    class_code = "TW102"


class SelfDependenceError(DeclarationError):
    """An instance that needs its own value, directly or through others.

    Found when the function is made, with the instances of the circle and sizes for which it is
    there; what data or longer chains decide is found by the first call, as a schedule that no order
    makes legal, and by `evaluate`.

    Fails, because C[1] needs C[N - 1], which needs C[1] (and is C[1], if N = 2)::

        C = tw.computation("C", {i: N}, lambda C: [(i == 0, 0.0), (i > 0, C[N - i])],
                           dtype=tw.float64)
        f = tw.function("f", outputs=[C])

    Mended::

        C = tw.computation("C", {i: N}, lambda C: [(i == 0, 0.0), (i > 0, C[i - 1])],
                           dtype=tw.float64)
        f = tw.function("f", outputs=[C])
    """

    class_code = "TW103"
