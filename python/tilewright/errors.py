"""The errors of tilewright, each with code that fails and the same code mended.

All of them derive from `TilewrightError` and from the Python class that a NumPy user expects
(`ValueError`, `TypeError`, `IndexError`, `RuntimeError`). A message ends with the line of the
user's program where the offending declaration or command was written; `location` has it as a value.

A call with arrays of a wrong type or shape raises a plain `TypeError` or `ValueError`, as NumPy
does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .display import error_html
from .source import SourceLocation, caller_location

__all__ = [
    "AnalysisLimitError",
    "DeclarationError",
    "DeclarationTypeError",
    "DomainError",
    "ExportError",
    "IllegalScheduleError",
    "InternalError",
    "ScheduleError",
    "SelfDependenceError",
    "SubscriptError",
    "TilewrightError",
]


class TilewrightError(Exception):
    """Base of all errors of tilewright.

    Attributes:
        message: what went wrong, without the line.
        location: the line of the user's program, or None when it is not known.
        details: named facts as text; what they are depends on the class.
    """

    message: str
    location: SourceLocation | None
    details: dict[str, str]

    def __init__(
        self,
        message: str = "",
        location: SourceLocation | None = None,
        details: Mapping[str, str] | None = None,
    ) -> None:
        if location is None:
            location = caller_location()
        self.message = message
        self.location = location
        self.details = dict(details or {})
        super().__init__(message if location is None else f"{message}\n  at {location}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.location, self.details)

    def _repr_html_(self) -> str:
        return error_html(self)


class DeclarationError(TilewrightError, ValueError):
    """A declaration that makes no sense: pieces that overlap, no upper bound, a name used twice.

    Fails, because both pieces hold at i = 0 (the message names that point)::

        C = tw.computation("C", {i: N}, [(i <= 0, x[0]), (i >= 0, y[i])])

    Mended::

        C = tw.computation("C", {i: N}, [(i <= 0, x[0]), (i > 0, y[i])])
    """


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


class DomainError(DeclarationError, IndexError):
    """A read outside the domain of the computation, or the shape of the input, that it reads.

    Fails, because C[0] reads x[-1]::

        x = tw.input("x", [N], tw.float32)
        C = tw.computation("C", {i: N}, x[i] - x[i - 1])

    Mended::

        C = tw.computation("C", {i: (1, N)}, x[i] - x[i - 1])
    """


class SelfDependenceError(DeclarationError):
    """An instance that needs its own value, directly or through others.

    Fails, because C[1] needs C[2], which needs C[1]::

        C = tw.computation("C", {i: N}, lambda C: [(i == 0, 0.0), (i > 0, C[N - i])],
                           dtype=tw.float64)

    Mended::

        C = tw.computation("C", {i: N}, lambda C: [(i == 0, 0.0), (i > 0, C[i - 1])],
                           dtype=tw.float64)
    """


class ScheduleError(TilewrightError, ValueError):
    """A command whose arguments do not make sense: no such loop, a tile size of 0, a name taken.

    Fails, because C has no loop k::

        C.split(k, 32)

    Mended::

        C.split(i, 32)
    """


class IllegalScheduleError(ScheduleError):
    """A schedule or a storage that would change the result. The mapping is left as it was.

    Fails, because C[i] needs C[i - 1], which would be computed later::

        C = tw.computation("C", {i: N}, lambda C: [(i == 0, x[0]), (i > 0, C[i - 1] + x[i])],
                           dtype=tw.float64)
        f = tw.function("f", outputs=[C])
        C.reverse(i)

    Mended: keep the order, or compute something whose instances do not depend on each other::

        D = tw.computation("D", {i: N}, x[i] + 1)
        g = tw.function("g", outputs=[D])
        D.reverse(i)
    """

    @property
    def computation(self) -> str:
        """The computation whose instances would come in a wrong order."""
        return self.details.get("computation", "")

    @property
    def command(self) -> str:
        """The command that was refused, as it was written."""
        return self.details.get("command", "")

    @property
    def kind(self) -> str:
        """What is violated: flow, anti, output (storage reused too early), parallel, vector ..."""
        return self.details.get("kind", "")

    @property
    def dependence(self) -> str:
        """The dependence as a relation: "C[i] -> C[i + 1]"."""
        return self.details.get("dependence", "")

    @property
    def source_instance(self) -> str:
        """The instance that must come first, with numbers: "C[0]"."""
        return self.details.get("source_instance", "")

    @property
    def sink_instance(self) -> str:
        """The instance that needs it, with numbers: "C[1]"."""
        return self.details.get("sink_instance", "")

    @property
    def element(self) -> str:
        """The buffer element through which the value goes: "C[0]"."""
        return self.details.get("element", "")

    @property
    def parameters(self) -> str:
        """The parameter values of the example: "N = 2"."""
        return self.details.get("parameters", "")

    @property
    def suggestion(self) -> str:
        """What would be legal instead, where that is known."""
        return self.details.get("suggestion", "")


class AnalysisLimitError(TilewrightError, RuntimeError):
    """The analysis of sets and relations took more operations than allowed: refused, not guessed.

    Fails, where a domain or schedule is given as a set with very many pieces::

        C = tw.computation("{ C[i] : exists a, b, c, d : ... }", x[i])

    Mended: give the same domain with fewer disjunctions or quantified variables, or split the
    computation into several.

    The evaluator raises it, too, for a `tw.while_loop` that does not end within 2**24 iterations.
    """


class SubscriptError(TilewrightError, IndexError):
    """A subscript that is itself computed points outside its array; found while the function runs.

    Fails, when an element of `index` is negative or not below the length of x::

        C = tw.computation("C", {i: N}, x[index[i]])

    Mended::

        C = tw.computation("C", {i: N}, x[tw.clamp(index[i], 0, M - 1)])
    """


class ExportError(TilewrightError, RuntimeError):
    """A function that cannot be exported as asked, or a linker that is missing or fails.

    Fails, because C programs have a function ``exp`` already::

        exp = tw.function("exp", outputs=[E])
        exp.export("lib")

    Mended::

        exp.export("lib", name="exp_of_rows")

    Fails, where there is no linker on this machine; a static library needs none::

        matmul.export("lib")

    Mended::

        matmul.export("lib", kind="static")
    """


class InternalError(TilewrightError, RuntimeError):
    """A failure of tilewright itself, of isl or of LLVM: not the user's mistake.

    There is no code to mend; the message is what a report of the fault needs.
    """


_CLASSES: dict[str, type[TilewrightError]] = {
    "type": DeclarationTypeError,
    "declaration": DeclarationError,
    "bounds": DomainError,
    "cycle": SelfDependenceError,
    "schedule": ScheduleError,
    "illegal_schedule": IllegalScheduleError,
    "limit": AnalysisLimitError,
    "index": SubscriptError,
    "internal": InternalError,
}

_PLAIN: dict[str, Callable[[str], Exception]] = {"argument": ValueError}


def _make_error(
    kind: str,
    message: str,
    where: tuple[str, int, str] | None,
    details: Mapping[str, str],
) -> Exception:
    """The exception for an error of the core; called by the extension module."""
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(message)
    location = None if where is None else SourceLocation(*where)
    return _CLASSES.get(kind, InternalError)(message, location, details)
