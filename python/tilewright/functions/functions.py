"""Functions: computations gathered from their outputs, callable on NumPy arrays.

The first call checks the schedule, compiles for the layout of the arrays given and keeps the
machine code, in memory and on disk; later calls only run it.
"""

from __future__ import annotations

import inspect
import keyword
import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..base import notices
from ..base.checks import a_boolean, a_number, a_string, an_integer, described
from ..base.display import LoopsText, Text, function_html
from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    TilewrightError,
)
from ..base.threads import checked_threads
from ..devices.device_arrays import DeviceArray
from ..export.methods import ExportableFunction
from ..inspection.debugging import NanTrace, trace_of
from ..inspection.dependences import Dependences, dependences_of
from ..inspection.passes import CompilerPass, Passes
from ..inspection.plotting import Picture, plot_domain
from ..inspection.profiling import Profile, profile_of
from ..schedule.commands import ComputationHandle
from ..schedule.computations import Computation
from ..schedule.gpu_mapping import map_to_gpu
from ..schedule.receivers import no_computation
from ..tuning.methods import TunableFunction
from . import pickling

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Function"]

_LAYER_TITLES = ("Layer I", "Layer II", "Layer III")


class _Shape(str):
    """An annotation that is printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


class _Documentation(str):
    """The docstring of a class of functions, and for each function one of its own."""

    def __get__(self, function: Function | None, owner: type[Function]) -> str:
        if function is None:
            return self
        try:
            return function._description()
        except AttributeError:
            return self  # it was not initialised


def document_instances(kind: type[Function]) -> None:
    """`help(f)` shows the arguments of f, `help(tw.Function)` the class."""
    kind.__doc__ = _Documentation(kind.__doc__ or "")


class Function(TunableFunction, ExportableFunction):
    """A function that computes its outputs from arrays; made by `tw.function`.

    Call it with the input arrays, in order or by name::

        c = matmul(a, b)
        matmul(a, b, out=c)          # several outputs: out=(c, d) or out={"C": c}
        blur(A=a, T=10)              # a parameter that no array's shape gives
        matmul(a, b, threads=2)      # parallel loops of this call run on two threads

    Parameters are found from the shapes of the arrays and checked for consistency. Strided,
    negatively strided and transposed views are used without a copy, and so is anything with the
    buffer protocol, DLPack or NumPy's interface attributes, as an input and as ``out=``; an input
    without axes may be a Python number. Several outputs come as a tuple. The interpreter lock is
    released while the kernel runs. The page docs/arrays.md says what is accepted, what is copied
    and what is refused.

    ``out=`` may be an input's array, ``f(a, out=a)``, where the dependences prove for this schedule
    that no element is overwritten before it is read; else the call is refused.

    Where the schedule stores a computation in an input (``C.store_in(A[i, j])``), the call
    overwrites the caller's array; an output stored so is that array, and the call returns it.
    The signature shows such an input as ``inout``.

    While the main thread runs a kernel, Python's signal handlers run: Ctrl-C ends it within some
    milliseconds with KeyboardInterrupt. What its outputs hold then is undefined.

    Raises:
        ArgumentTypeError: (at a call, as all of these) an argument is missing, is not an array, or
            has another type; a TypeError.
        ArgumentError: an array has a wrong shape, is read-only or unaligned where it is written, or
            shares memory with another one in a way that is not safe; a ValueError.
        ArgumentOverflowError: a number does not fit its input's type, or a parameter not 64 bits; an
            OverflowError.
        KeyboardInterrupt: Ctrl-C, or whatever the handler of a signal raises.
        SubscriptError: a computed subscript is outside its array.
        OutOfBoundsError: an access is outside its memory, where `check_bounds` is on.
    """

    _finding: Future[dict[str, Any]] | None = None  # of schedule="auto"

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            settable = [
                each
                for each in dir(type(self))
                if getattr(getattr(type(self), each), "fset", None) is not None
            ]
            import difflib

            near = difflib.get_close_matches(name, settable, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(settable)}"
            raise AttributeError(f"functions have no attribute {name!r} that can be set; {hint}")
        if name == "target":
            a_string(value, "target")
        super().__setattr__(name, value)

    # ---- running ----

    def evaluate(self, /, *arrays: Any, **keywords: Any) -> Any:
        """The same call by the evaluator: every element by demand, no schedule, no compiler. Slow;
        the oracle.

        Raises:
            SelfDependenceError: an element needs its own value.
        """
        return self._evaluate(*arrays, **keywords)

    def compile(self, /, *arrays: Any, **keywords: Any) -> dict[str, Any]:
        """Compiles for arrays like these (without arrays: for row-major ones) and says what it
        took.

        Returns:
            "key": of the cache entry; "from_cache": whether it was loaded; "milliseconds": by
            phase; "optimized": "light" or "full"; "pending": whether better code is being made in
            the background; "problem": why that failed, or "".
        """
        info: dict[str, Any] = self._compile(*arrays, **keywords)
        return info

    def compile_async(self, /, *arrays: Any, **keywords: Any) -> Future[dict[str, Any]]:
        """Compiles as `compile` does, on another thread, and returns at once.

        A call in the meantime waits for the same compilation; nothing is compiled twice. Declaring
        and scheduling stay on the caller's thread, so do that before. At its end, the process
        waits for what was asked for, as for all threads of `concurrent.futures`; a child of fork
        compiles by itself what it asks the result of.

        Args:
            arrays, keywords: as of a call; none for row-major arrays.

        Returns:
            a future of what `compile` returns. ``future.result()`` waits for it, and raises what
            the compilation raised.

        Example:
            >>> ready = matmul.compile_async(a, b)      # then do other work
            >>> sorted(ready.result())
            ['from_cache', 'key', 'milliseconds', 'optimized', 'pending', 'problem']
        """
        from . import background  # with Python's thread pools

        self._require_no_transaction()
        return background.submit(lambda: self.compile(*arrays, **keywords))

    def wait_optimized(self, timeout: float | None = None) -> bool:
        """Waits until the background has no better code to make for the kernels compiled so far.

        Args:
            timeout: the longest wait, in seconds.

        Returns:
            Whether all of them run code that was optimised in full.
        """
        timeout = None if timeout is None else a_number(timeout, "the timeout")
        end = None if timeout is None else time.monotonic() + timeout
        while self._pending and (end is None or time.monotonic() < end):
            time.sleep(0.002)
        problem = (self.last_compile or {}).get("problem")
        if problem:
            notices.warn("not-optimized", f"{self.name} goes on with its first code: {problem}")
        return self._full

    def wait_scheduled(self, timeout: float | None = None) -> bool:
        """Waits until the schedule is found that ``tw.function(..., schedule="auto")`` asked for.

        Args:
            timeout: the longest wait, in seconds.

        Returns:
            Whether the function runs by it: not where time was over, or where somebody gave a
            command. True where nothing was asked for.

        Raises:
            TilewrightError: what prevented it.
        """
        timeout = None if timeout is None else a_number(timeout, "the timeout")
        if self._finding is None:
            return True
        try:
            return bool(self._finding.result(timeout)["taken"])
        except TimeoutError:
            return False

    @property
    def threads(self) -> int | None:
        """On how many threads the parallel loops of this function run; None for as many as
        `get_num_threads` says. A call's own ``threads=`` comes before it.

        Raises (where it is set):
            ArgumentTypeError: neither an integer nor None; a TypeError.
            ArgumentError: a number below 1; a ValueError.
        """
        return self._threads or None

    @threads.setter
    def threads(self, threads: int | None) -> None:
        self._threads = 0 if threads is None else checked_threads(threads)

    @property
    def last_compile(self) -> dict[str, Any] | None:
        """What the latest compilation took (see `compile`), or None."""
        return self._last_compile()

    @property
    def alpha(self) -> Text:
        """The Alpha program (CSU TR CS12-101) that says what this function computes: the one that it was
        made from, or one made for it (`tw.alpha.program_of`).

        Raises:
            DeclarationError: Alpha cannot say it; the message names the computation and the reason.
        """
        import importlib  # the door for Alpha stands above functions

        program = importlib.import_module("tilewright.frontends.alpha.saying.functions")
        return Text(program.text_of(self))

    # ---- finding what is wrong, and what is slow ----

    @property
    def check_bounds(self) -> bool:
        """Whether every read and write is checked against the memory that it goes to.

        May be set at any time; the next call compiles for it. A kernel with checks has an entry of
        its own in the cache. The page docs/debugging.md says what is checked.
        """
        return self._check_bounds

    @check_bounds.setter
    def check_bounds(self, check: bool) -> None:
        self._check_bounds = a_boolean(check, "check_bounds")

    def trace_nan(
        self,
        /,
        *arrays: Any,
        computation: Computation | ComputationHandle | str | None = None,
        infinities: bool = False,
        **keywords: Any,
    ) -> NanTrace | None:
        """The first instance whose value is NaN although nothing that it reads is.

        Runs the function once, in one thread, in the order of its schedule, on copies of what it
        overwrites. Of a reduction, each term that is added is an instance; a select counts what it
        reads in the branch taken.

        Args:
            arrays, keywords: as of a call; ``out=`` is not used.
            computation: the one that is looked at; all of them without it.
            infinities: whether infinite values count as NaN does, so that the first overflow or
                division by zero is found.

        Returns:
            what is known of that instance, or None where there is none.

        Example:
            >>> a[3, 2], b[2, 5] = np.inf, 0
            >>> found = matmul.trace_nan(a, b)
            >>> found.element, found.point
            ((3, 5), {'i': 3, 'j': 5, 'k': 2})
            >>> [str(read) for read in found.reads]
            ['2.0 so far', 'A[3, 2] = inf', 'B[2, 5] = 0.0']
        """
        name = "" if computation is None else _name_of(computation)
        if name and name not in self.computations:
            raise KeyError(no_computation(self, name))
        counts = a_boolean(infinities, "infinities")
        found = self._trace(name, counts, **self._own_arguments(arrays, keywords))
        return None if found is None else trace_of(self.name, found)

    def profile(
        self, /, *arrays: Any, repeats: int = 10, roofline: bool = True, **keywords: Any
    ) -> Profile:
        """Where the time of a call goes: each outermost loop nest, what it does, and what the
        machine could do.

        Runs the function on copies of what it overwrites, with a clock around each outermost loop
        nest (some 50 ns for each). Operations and bytes are counted over the instances, for the
        sizes at hand, not measured.

        Kernels of a GPU are timed where they run, each with its launch, and NumPy arrays that are
        copied there and back are listed (`Profile.copies`); there is no roofline of devices.

        Args:
            arrays, keywords: as of a call; ``out=`` is not used.
            repeats: how often, after a first time that does not count.
            roofline: whether to compare with `tw.machine`, which measures the machine when it is
                first needed (about half a second for each number of threads).

        Returns:
            a `Profile`, which prints as a table and draws itself, ``.plot()``.

        Example:
            >>> profile = matmul.profile(a, b, roofline=False)
            >>> profile["C"].flops == 2 * a.shape[0] * b.shape[0] * b.shape[1]
            True
        """
        repeats = an_integer(repeats, "the number of repetitions of profile()", minimum=1, bits=32)
        roofline = a_boolean(roofline, "roofline")
        found = self._profile(repeats, **self._own_arguments(arrays, keywords))
        return profile_of(self.name, found, roofline)

    def _own_arguments(self, arrays: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs of a call by name, without out=, copied where the kernel overwrites them."""
        given = self._named_inputs(arrays, keywords)
        given.pop("out", None)
        for name, _ in self._overwritten:
            if name in given:
                array = given[name]
                given[name] = array.copy() if isinstance(array, DeviceArray) else np.array(array)
        return given

    def _named_inputs(self, arrays: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        names = self._argument_names()
        if len(arrays) > len(names):
            raise ArgumentTypeError(
                f"{self.name}() takes {len(names)} arrays ({', '.join(names)}), "
                f"{len(arrays)} were given"
            )
        for name in names[: len(arrays)]:
            if name in keywords:
                raise ArgumentTypeError(f"{self.name}() got several values for the argument {name}")
        return {**dict(zip(names, arrays, strict=False)), **keywords}

    # ---- the schedule ----

    def gpu(self) -> Function:
        """Maps each computation to a GPU, as it is found by trying.

        The outermost of its loops that may run at the same time become blocks and threads
        (`Computation.gpu`); loops around them run on the host, which launches a kernel in each of
        their iterations, and loops inside of them in each thread. Products of two factors have tiles
        in shared memory, and tensor cores for factors of two bytes. The terms of a single sum, and
        of columns, are added up in two kernels, and those of rows (``A[i, k]`` over ``k``) by a warp
        each; rows that need sums of themselves have a block each. What has no such loop is done by
        one thread. The commands are in `schedule` then, behind those given before: a place
        to start from. Computations with loops on a GPU already, and those that
        are inlined, stay as they are.

        Before::

            for i in range(0, N):
                for j in range(0, M):
                    C[i, j] = ...

        After ``f.gpu()``::

            kernel:  # 32 x 8 threads a block
                for i0 in range(0, ceil(N / 8)):  # gpu_block_y
                    for j0 in range(0, ceil(M / 32)):  # gpu_block_x
                        for i1 in range(0, min(8, N - 8 * i0)):  # gpu_thread_y
                            for j1 in range(0, min(32, M - 32 * j0)):  # gpu_thread_x
                                C[8 * i0 + i1, 32 * j0 + j1] = ...

        Returns:
            The function itself.
        """
        map_to_gpu(self)
        return self

    # ---- looking at it ----

    @property
    def dependences(self) -> Dependences:
        """Every read that needs a write, with the pairs of instances."""
        return dependences_of(self)

    @property
    def legality(self) -> Text:
        """For each dependence, what each loop does for it: strict, weak, zero or violated."""
        return self.dependences.table

    @property
    def layers(self) -> Text:
        """Layers I to III as the papers write them: what is computed, when, in which memory."""
        parts = (
            f"{title}\n{_indented(text)}"
            for title, text in zip(_LAYER_TITLES, self._layers(), strict=True)
        )
        return Text("\n\n".join(parts))

    @property
    def key(self) -> str:
        """What the kernel for row-major arrays is kept under in the cache: 64 hexadecimal digits.

        The same for the same program and schedule in every process and on every machine of the
        same level; see docs/cache.md.
        """
        return self._key()

    def passes(self, *arrays: Any, **keywords: Any) -> Passes:
        """The loops after each pass of the compiler, with the time that each takes.

        Args:
            arrays, keywords: as for a call; the loops are those for the layouts of these arrays.
                Without any, for row-major arrays.

        Nothing is run or stored. In a notebook each pass that changed something opens by a click;
        elsewhere the loops after these passes are printed. The environment's
        TILEWRIGHT_DUMP_PASSES writes the same for each kernel that is compiled.
        """
        return Passes(
            CompilerPass(name, milliseconds, changed, LoopsText(text.rstrip("\n")))
            for name, milliseconds, changed, text in self._passes(*arrays, **keywords)
        )

    @property
    def llvm(self) -> Text:
        """The LLVM IR for row-major arrays, after optimisation."""
        return Text(self._llvm_text().rstrip("\n"))

    @property
    def asm(self) -> Text:
        """The machine code for row-major arrays, as assembly."""
        return Text(self._assembly_text().rstrip("\n"))

    @property
    def ptx(self) -> Text:
        """The PTX of the kernels for NVIDIA's GPUs from compute capability 7.5 on (8.0 where they
        have tensor cores' tiles that need it), for row-major arrays; empty where no loop is over
        blocks or threads. `ptx_for` has others.
        """
        return Text(self._ptx_text("").rstrip("\n"))

    def ptx_for(self, architecture: str) -> Text:
        """The PTX of the kernels for an architecture and its successors.

        Args:
            architecture: "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", or "sm_90a", which
                has no successors.

        Raises:
            ArgumentError: another architecture.
        """
        wanted = f"architecture must be one such as 'sm_80', got {described(architecture)}"
        if not isinstance(architecture, str):
            raise ArgumentTypeError(wanted)
        if re.fullmatch(r"sm_[0-9]{1,4}a?", architecture) is None:
            raise ArgumentError(wanted)
        return Text(self._ptx_text(architecture).rstrip("\n"))

    def plot(
        self, *computations: str, sizes: Mapping[Any, int] | None = None, **options: Any
    ) -> Picture:
        """Draws the iteration domain with dependences and the order of execution.

        ``f.plot("C", sizes={"N": 6})`` draws computation C at N = 6; see `plot_domain` for the
        options: space, x, y, order, dependences, tiles, at, error, compare, axes, title.

        Raises:
            ImportError: matplotlib is not installed.
        """
        for name in computations:
            a_string(name, "the name of a computation to draw")
        return plot_domain(self, sizes, computations=computations or None, **options)

    def _argument_names(self) -> list[str]:
        return list(self.inputs)

    @property
    def __signature__(self) -> inspect.Signature:
        """The arguments of a call, for `help` and for editors."""
        kinds = inspect.Parameter
        inputs, outputs = self._signature_parts()
        names = self._argument_names()
        # What Python cannot have as a keyword goes by position, and with it what stands before.
        positional = 1 + max(
            (n for n, name in enumerate(names) if not _is_keyword(name)), default=-1
        )
        arrays = [
            kinds(
                name if _is_keyword(name) else f"{name}_",
                kinds.POSITIONAL_ONLY if n < positional else kinds.POSITIONAL_OR_KEYWORD,
                annotation=_Shape(text.partition(": ")[2]),
            )
            for n, (name, text) in enumerate(zip(names, inputs, strict=True))
        ]
        options = [
            kinds(name, kinds.KEYWORD_ONLY, default=None, annotation=_Shape("int"))
            for name in self.parameters
            if _is_keyword(name)
        ]
        options.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
        if "threads" not in (*self._argument_names(), *self.parameters):
            threads = kinds("threads", kinds.KEYWORD_ONLY, default=None, annotation=_Shape("int"))
            options.append(threads)
        results = [text.partition(": ")[2] for text in outputs]
        result = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return inspect.Signature([*arrays, *options], return_annotation=_Shape(result))

    def _description(self) -> str:
        """What `help` shows of this function."""
        inputs, outputs = self._signature_parts()
        lines = [f"{self.name}{self.__signature__}", "", "Inputs:"]
        lines += [f"    {text}" for text in inputs] or ["    none"]
        if self.parameters:
            lines += ["Parameters (integers; found from shapes where not given):"]
            lines += [f"    {', '.join(self.parameters)}"]
        lines += ["Returns (or writes to out=):", *(f"    {text}" for text in outputs)]
        lines += [f"Declared at {self._where}"] if self._where else []
        lines += ["", "See help(tw.Function), and .schedule, .loops, .layers of this function."]
        return "\n".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduced_function(self)

    def __repr__(self) -> str:
        return f"<tilewright function {self.signature}>"

    def _repr_html_(self) -> str:
        try:
            loops: LoopsText | None = self.loops
        except TilewrightError:
            loops = None  # no legal order of this declaration is known
        layers = zip(_LAYER_TITLES, self._layers(), strict=True) if loops is not None else ()
        return function_html(self.signature, str(self.schedule), loops, layers)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


_core.answer_vectorcalls(Function)
document_instances(Function)


def _is_keyword(name: str) -> bool:
    """Whether a call can give the argument of this name as a keyword."""
    return name != "out" and not keyword.iskeyword(name)


def _name_of(computation: Computation | ComputationHandle | str) -> str:
    name = computation if isinstance(computation, str) else getattr(computation, "name", None)
    if not isinstance(name, str):
        raise ArgumentTypeError(f"expected a computation or its name, got {described(computation)}")
    return name


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.rstrip("\n").split("\n"))
