"""The errors of tilewright, each with code that fails and the same code mended.

All of them derive from `TilewrightError` and from the Python class that a NumPy user expects
(`ValueError`, `TypeError`, `IndexError`, `RuntimeError`). A message begins with a code that stays
the same in later versions, ``[TW211]``, and ends with the line of the user's program where the
offending declaration, command or call was written; `code` and `location` have them as values.
``python -m tilewright explain TW211`` prints what this module says of a code, and docs/errors.md has
all of them.

What Python itself raises stays: `MemoryError`, `KeyboardInterrupt`, and the `KeyError` and
`AttributeError` of names that do not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .declaration_errors import (
    DeclarationError,
    DeclarationTypeError,
    DomainError,
    SelfDependenceError,
    TranslationError,
)
from .root_error import TilewrightError

if TYPE_CHECKING:
    from ..functions.functions import Function

__all__ = [
    "AnalysisLimitError",
    "ArgumentError",
    "ArgumentOverflowError",
    "ArgumentTypeError",
    "DeclarationError",
    "DeclarationTypeError",
    "DeviceError",
    "DeviceMemoryError",
    "DomainError",
    "ExportError",
    "IllegalScheduleError",
    "InternalError",
    "OutOfBoundsError",
    "ScheduleError",
    "ScheduleTypeError",
    "SelfDependenceError",
    "SetError",
    "SetTypeError",
    "SettingError",
    "SubscriptError",
    "TilewrightError",
    "TranslationError",
]


class ScheduleError(TilewrightError, ValueError):
    """A command whose arguments do not make sense: no such loop, a tile size of 0, a name taken.

    Fails, because C has no loop k::

        C.split(k, 32)

    Mended::

        C.split(i, 32)
    """

    class_code = "TW200"


class ScheduleTypeError(ScheduleError, TypeError):
    """A command, or a schedule, with a value of another type: a number where a loop is asked for, a
    truth value or a fraction for a size.

    Fails, because a block has a whole number of iterations::

        C.split(i, 32.0)

    Mended::

        C.split(i, 32)
    """

    class_code = "TW201"


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

    class_code = "TW210"

    function: Function | None = None
    """The function, scheduled as it was before the command; None after pickling."""

    def _code(self) -> str:
        """By `kind`: what is wrong has a code of its own."""
        return KIND_CODES.get(self.kind, self.class_code)

    def _picture(self) -> bytes | None:
        """The two instances on the iteration domain, as PNG; None where they cannot be drawn."""
        if self.function is None or not self.source_instance:
            return None
        try:
            return self.function.plot(error=self)._repr_png_()
        except (ImportError, TilewrightError):
            return None  # without matplotlib, or with too many instances for a picture

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
        """What is wrong: order, overwrite, race, promise or undecided."""
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


class ArgumentError(TilewrightError, ValueError):
    """A call with an array that cannot be used: a wrong shape, read-only, or memory shared with
    another one in a way that is not safe; or a wrong value given to a function of this library.

    Fails, because x has 4 elements and y 3, and both must have N::

        C = tw.computation("C", {i: N}, x[i] + y[i])
        f = tw.function("f", outputs=[C])
        f(np.ones(4, np.float32), np.ones(3, np.float32))

    Mended::

        C = tw.computation("C", {i: N}, x[i] + y[i])
        f = tw.function("f", outputs=[C])
        f(np.ones(4, np.float32), np.ones(4, np.float32))
    """

    class_code = "TW300"


class ArgumentTypeError(ArgumentError, TypeError):
    """A call with an argument of another type, with too many or too few of them, or with a name
    that the function does not have. Arrays are not converted without being told to.

    Fails, because np.arange gives integers::

        C = tw.computation("C", {i: N}, 2 * x[i])
        f = tw.function("f", outputs=[C])
        f(np.arange(4))

    Mended::

        C = tw.computation("C", {i: N}, 2 * x[i])
        f = tw.function("f", outputs=[C])
        f(np.arange(4, dtype=np.float32))
    """

    class_code = "TW301"


class ArgumentOverflowError(ArgumentError, OverflowError):
    """A number that does not fit its input's type, or a parameter that does not fit 64 bits.

    A parameter that bounds loops, arrays or subscripts may be at most 2**40, so that what loops
    count stays within 64 bits.

    Fails, because a uint8 ends at 255::

        b = tw.input("b", [], tw.uint8)
        C = tw.computation("C", {i: N}, x[i] * b[()])
        f = tw.function("f", outputs=[C])
        f(np.ones(4, np.float32), 256)

    Mended::

        b = tw.input("b", [], tw.uint8)
        C = tw.computation("C", {i: N}, x[i] * b[()])
        f = tw.function("f", outputs=[C])
        f(np.ones(4, np.float32), 255)
    """

    class_code = "TW302"


class AnalysisLimitError(TilewrightError, RuntimeError):
    """The analysis of sets and relations took more operations than allowed: refused, not guessed.

    Fails, where a domain or schedule is given as a set with very many pieces::

        C = tw.computation("{ C[i] : exists a, b, c, d : ... }", x[i])

    Mended: give the same domain with fewer disjunctions or quantified variables, or split the
    computation into several.

    The evaluator raises it, too, for a `tw.while_loop` that does not end within 2**24 iterations.

    So do conditions inside conditions that need the same values in too many branches: compute parts
    in computations of their own. Where the shape of a domain takes too long to find, the message asks
    for it: `shape=[N]`.
    """

    class_code = "TW400"


class SubscriptError(TilewrightError, IndexError):
    """A subscript that is itself computed points outside its array; found while the function runs.

    Fails, when an element of `index` is negative or not below the length of x::

        C = tw.computation("C", {i: N}, x[index[i]])

    Mended::

        C = tw.computation("C", {i: N}, x[tw.clamp(index[i], 0, M - 1)])
    """

    class_code = "TW310"


class SetError(TilewrightError, ValueError):
    """A set or map that cannot be read, or an operation on them that has no answer: a union of other
    dimensions, infinitely many points, a parameter that is none or has no value.

    Fails, because nobody says how many points there are for an N that is not known::

        tw.Set("[N] -> { S[i] : 0 <= i < N }").points()

    Mended::

        tw.Set("[N] -> { S[i] : 0 <= i < N }").points(N=4)
    """

    class_code = "TW600"


class SetTypeError(SetError, TypeError):
    """An operation on sets and maps with a value of another type: a map where a set is asked for, a
    fraction for a parameter.

    Fails, because a set has points, and a map has pairs of them::

        tw.Set("{ S[i] : 0 <= i < 4 }") & tw.Map("{ S[i] -> S[i + 1] }")

    Mended::

        tw.Map("{ S[i] -> S[i + 1] }").intersect_domain("{ S[i] : 0 <= i < 4 }")
    """

    class_code = "TW601"


class SettingError(TilewrightError, ValueError):
    """A setting of `tw.settings`, or a variable ``TILEWRIGHT_...`` of the environment, whose value
    makes no sense.

    Fails, because there is no such way to optimise::

        tw.settings.optimize = "fast"

    Mended::

        tw.settings.optimize = "full"
    """

    class_code = "TW500"


class DeviceError(TilewrightError, RuntimeError):
    """A GPU, or its driver, is missing, too old, or failed.

    Fails, where there is no driver or no device; the message says what was looked for::

        x = tw.to_device(np.ones(4, np.float32), "cuda")

    Mended: the emulator is everywhere::

        x = tw.to_device(np.ones(4, np.float32), "gpu-emulator")

    After some errors of a kernel (an illegal address, a failed assertion) the process cannot use the
    device any more; `cause` says what it was then, and functions for the processor still work.
    """

    class_code = "TW510"

    @property
    def cause(self) -> str:
        """The error that lost the device to this process; empty where it is not lost."""
        return self.details.get("lost", "")


class DeviceMemoryError(DeviceError, MemoryError):
    """The memory of a device is full.

    Fails, where other arrays fill the device::

        x = tw.empty((1 << 20, 1 << 20), tw.float64, "cuda")

    Mended: drop what is not needed, and go by what `tw.cuda.memory_info()` says is free::

        del y, z
        x = tw.empty((1 << 14, 1 << 14), tw.float64, "cuda")
    """

    class_code = "TW511"

    @property
    def asked(self) -> int:
        """The bytes that were asked for."""
        return int(self.details.get("asked", "0"))

    @property
    def free(self) -> int:
        """The bytes that were free, or -1 where the driver did not tell."""
        return int(self.details.get("free", "-1"))


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

    class_code = "TW320"


class OutOfBoundsError(SubscriptError):
    """An access outside the memory that it goes to, found by ``check_bounds=True``.

    It names the access, the instance that made it, and the memory: the array, or the buffer in
    which the schedule keeps it. Where a subscript is computed, see `SubscriptError`. Else a promise
    of the schedule does not hold. Fails, when `index` holds something else than was promised, so
    that the buffer of what an iteration reads is too small::

        C.assume((index[i] >= i) & (index[i] <= i + 1))
        C.cache(B, i)

    Mended: promise what the data keep, or nothing::

        C.assume((index[i] >= i) & (index[i] <= i + 8))
        C.cache(B, i)
    """

    class_code = "TW311"

    @property
    def access(self) -> str:
        """The access as it was written: "B[index[i]]"."""
        return self.details.get("access", "")

    @property
    def computation(self) -> str:
        """The computation whose instance made it."""
        return self.details.get("computation", "")

    @property
    def instance(self) -> str:
        """That instance, with numbers: "C[3, 5]"."""
        return self.details.get("instance", "")

    @property
    def point(self) -> dict[str, int]:
        """The values of its iterators, those of a reduction included."""
        pairs = (part.split(" = ") for part in self.details.get("point", "").split(", ") if part)
        return {name: int(value) for name, value in pairs}

    @property
    def buffer(self) -> str:
        """The memory that was left."""
        return self.details.get("buffer", "")

    @property
    def axis(self) -> int:
        """The dimension of that memory in which the subscript is wrong."""
        return int(self.details.get("axis", "0"))

    @property
    def value(self) -> int:
        """The subscript."""
        return int(self.details.get("value", "0"))

    @property
    def extent(self) -> int:
        """What it had to stay below."""
        return int(self.details.get("extent", "0"))


class InternalError(TilewrightError, RuntimeError):
    """A failure of tilewright itself, of isl or of LLVM: not the user's mistake.

    There is no code to mend; the message is what a report of the fault needs.
    """

    class_code = "TW900"


# Of `IllegalScheduleError.kind`.
KIND_CODES: dict[str, str] = {
    "order": "TW211",
    "overwrite": "TW212",
    "race": "TW213",
    "promise": "TW214",
    "undecided": "TW215",
}


# People know them as tw.ScheduleError: so tracebacks and pickles name them, wherever the file lies.
for _class in [value for value in globals().values() if isinstance(value, type)]:
    if issubclass(_class, TilewrightError):
        _class.__module__ = __name__.partition(".")[0]
