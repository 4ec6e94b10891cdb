"""Does every bad argument get an answer that helps? Public functions, called with random values of all kinds.

    scripts/fuzz hostile --seed 7 --count 5000      # so many calls
    scripts/fuzz hostile --seed 7 --case 123        # the calls of one case again, each with its answer

A case declares a few computations and a function, and makes `CALLS` calls of what users can call, with values that
often make no sense there: other types, integers around 2**31, 2**40, 2**63 and 2**64, truth values, NumPy's numbers,
arrays, texts with odd letters, objects of this library in the wrong place. Half of the calls make sense except for one
argument, so that it is looked at, and not only its neighbours.

A call may succeed. Else `fault_of` says what is not an answer: whatever is no error of the library with a code and the
caller's line, and not among the few errors of Python that the documentation names.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import inspect
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw

CALLS = 20
"""Calls of a case: later ones meet what earlier ones have made of the function."""

SECONDS = 20
"""A call that takes longer hangs."""

PACKAGE = str(Path(tw.__file__).parent) + os.sep

LONG = "x" * 3000


class OwnError(Exception):
    """Raised by values themselves; it has to reach the caller as it is."""


class TakesTooLong(BaseException):
    """Raised by the alarm; not an Exception, so that nobody takes it for one of theirs."""


class RaisingIndex:
    """No integer: asked for one, it raises an error of its own."""

    def __index__(self) -> int:
        raise OwnError("no index")


class Index:
    """An integer for all who ask."""

    def __index__(self) -> int:
        return 3


class Unprintable:
    """An object whose text cannot be had."""

    def __repr__(self) -> str:
        raise OwnError("no text")


# ---- what is called, and with what ----


def world() -> dict[str, Any]:
    """Some declarations, and a function of them."""
    N, M = tw.params("N M")
    i, j, k = tw.iters("i j k")
    A = tw.input("A", [N, M], tw.float64)
    x = tw.input("x", [N], tw.int32)
    P = tw.input("P", [N], np.dtype([("a", "f4"), ("b", "i8")]))
    B = tw.computation("B", {i: N, j: M}, A[i, j] * 2 + 1)
    C = tw.computation("C", {i: N, j: M}, tw.sum(B[i, k] * A[i, j], over={k: M}))
    f = tw.function("f", outputs=[C])
    return {
        "N": N,
        "M": M,
        "i": i,
        "j": j,
        "k": k,
        "A": A,
        "x": x,
        "P": P,
        "B": B,
        "C": C,
        "f": f,
        "handle": f["C"],
        "schedule": f.copy()["C"].tile("i", "j", 4, 4).function.schedule,  # type: ignore[attr-defined]
        "buffer": tw.Buffer("buf", [3, M]),
        "float32": tw.float32,
        "set": tw.Set("{ S[i, j] : 0 <= j <= i < N }"),
        "union": tw.Set("{ S[1, 2]; T[i] : 0 <= i < 4; [A[0] -> B[1]] }"),
        "map": tw.Map("{ S[i, j] -> A[i + 1] : 0 <= i < N and 0 <= j < M; T[] -> T[] }"),
        "point": tw.Point("S", (2, 1)),
        "cardinality": tw.Set("{ S[i] : 0 <= i < N }").cardinality(),
        "verdict": f["C"].can("parallelize", "k"),
        "device": tw.empty((3, 4), tw.float32, "gpu-emulator"),
        **calls_of_blocks(),
    }


def calls_of_blocks() -> dict[str, Any]:
    N, i = tw.param("N"), tw.iter("i")
    A = tw.input("A", [N, N], tw.float64)
    rows = {"reads": [A.part[i, :]], "writes": {"W": ([N], tw.float64)}}
    block = tw.block("called", lambda row, out: None, {i: N}, **rows)
    f = tw.function("g", outputs=[tw.computation("R", {i: N}, block.results[0][i, i])])
    return {
        "block": block,
        "parts": A.part,
        "part": A.part[i, 0:2],
        "called": f["called"],
        "written": f["W"],
    }


def values(of: dict[str, Any]) -> list[Any]:
    """What calls are made with."""
    N, i, A, x = of["N"], of["i"], of["A"], of["x"]
    edges = [2**31, 2**32, 2**40, 2**63, -(2**63), 2**64, 2**200]
    return [
        *(None, True, False, 0, 1, -1, 2, 3, 8, 64),
        *(edge + step for edge in edges for step in (-1, 0, 1)),
        *(0.5, -0.0, 1e308, float("nan"), float("inf"), 1j),
        *("", "i", "j", "k", "i0", "B", "C", "A", "x", "f", "N", "zzz", "i j", "\0", "é", LONG),
        *("\ud800", "%s", "{}", "{ C[i,j] -> [i,j] }", "{ C[i,j] -> [j,i] }", "{", "[N] -> {"),
        *("{ S[i, j] : i < 9 }", "{ S[i] }", "{ S[i, j] -> A[j] }", "N > 3", "S[2, 1]", "{ }"),
        *("B[i,j]", "buf[i]", "float32", "cpu", "gpu-emulator", "shared", "auto", "static", b"i"),
        *([], [None], [1, 2], ["i", "j"], [[1, 0], [1, 1]], ("i",), {}, {"i": 3}, {"N": 4, "M": 4}),
        *({i: N}, set(), frozenset(["i"]), object(), Unprintable(), RaisingIndex(), Index()),
        *(np.int8(3), np.int64(2**40), np.uint64(2**63), np.float32(2), np.bool_(True)),
        *(np.str_("i"), np.datetime64("2020-01-01"), np.array(3), np.array(0.5), np.array("i")),
        *(np.ones((3, 4)), np.ones((3, 4), np.float32), np.arange(3, dtype=np.int32)),
        *(np.array([], dtype=object), np.zeros((0, 4)), np.ma.masked, np.array([None, "i"])),
        *(lambda *given: None, lambda: 1, int, str, type("T", (), {}), np.float32),
        *(np.dtype("int16"), np.dtype([("a", "f4")]), "V8", *of.values()),
        *(A[i, of["j"]], i + 1, N > 3, i < N, tw.sum(x[i], over={i: N}), tw.cache, np),
        *(
            slice(1, 2),
            Ellipsis,
            NotImplemented,
            range(3),
            iter([]),
            Exception("x"),
            memoryview(b"ab"),
        ),
    ]


LEFT_OUT = {"cuda", "kernels", "cache"}
"""Modules; what they have is called below."""

OPERATORS = (
    *("__getitem__", "__call__", "__add__", "__mul__", "__floordiv__", "__mod__", "__pow__"),
    *("__rshift__", "__lt__", "__eq__", "__and__", "__invert__"),
)
"""Of the methods with underscores, those that operators stand for."""


def usual(of: dict[str, Any]) -> dict[str, Any]:
    """An argument that makes sense, by the name of the parameter."""
    N, M, i, j, k, A, B, C = (of[name] for name in "N M i j k A B C".split())
    arrays = {"a": A[i, j], "b": A[i, j], "x": A[i, j], "y": A[i, j], "value": A[i, j]}
    commands = {"s": 4, "v": 4, "d": 2, "other": B, "reader": C, "matrix": [[0, 1], [1, 0]]}
    return {
        **arrays,
        **commands,
        "i": "i",
        "j": "j",
        "k": "k",
        "loops": ["i", "j"],
        "array": A,
        "i0": "p",
        "i1": "q",
        "over": {k: M},
        "where": k > 0,
        "ordered": True,
        "condition": i < N,
        "order": [1, 0],
        "name": "D",
        "names": "P Q",
        "domain": {i: N},
        "shape": [4],
        "dtype": tw.float64,
        "minimum": 1,
        "constraint": "N > 3",
        "outputs": [C],
        "inputs": [A],
        "context": [N > 3],
        "fast_math": True,
        "cpu": "x86-64-v2",
        "optimize": "light",
        "default_schedule": False,
        "check_bounds": True,
        "target": "cpu",
        "device": "gpu-emulator",
        "memory": "heap",
        "pad": 1,
        "stages": 1,
        "f": 1,
        "distance": 1,
        "schedule": of["schedule"],
        "chunk": 2,
        "isl_map": "{ C[i,j] -> [j,i] }",
        **usual_of_blocks(N, i, A),
        "buffer": of["buffer"],
        "index": [i, j],
        "function": of["f"],
        "computations": {"C": "D"},
        "text": of["schedule"].to_json(),
        "sizes": {"N": 3, "M": 3},
        "at": {"i": 1},
        "space": "time",
        "title": "t",
        "requests": [of["f"]],
        "progress": False,
        "timeout": 0.1,
        "threads": 1,
        "limit": 1 << 20,
        "threads_used": 1,
        "remeasure": False,
        "architecture": "sm_80",
        "bytes": 1 << 40,
        "infinities": True,
        "repeats": 1,
        "roofline": False,
        "computation": "C",
        "out": None,
        "layout": "soa",
        "align": True,
        "initial": (A[i, j], 0),
        "condition_": None,
        "target_": C,
        "body": lambda a, b: (a, b),
        "path": "schedule.json",
        "directory": "there",
    }


def usual_of_blocks(N: Any, i: Any, A: Any) -> dict[str, Any]:
    return {
        "instances": {i: N},
        "reads": [A],
        "updates": {"U": A},
        "writes": {"W": ([N], tw.float64)},
        "arguments": ["A", "W"],
        "partial": 4,
    }


def usual_positions(of: dict[str, Any]) -> dict[str, list[Any]]:
    """Of what takes any number of arguments: some that make sense, by the end of its name."""
    array = np.ones((3, 4))
    return {
        **{name: [array] for name in ("__call__", "evaluate", "compile", "trace_nan", "profile")},
        **{name: ["i", "j"] for name in ("reorder", "gpu", "gpu_block", "gpu_spread")},
        "tile": ["i", "j", 4, 8],
        "gpu_tile": ["i", "j", 4, 8],
        "gpu_thread": ["i"],
        "parallelize": ["i"],
        "independent": ["i", "B"],
        "iters": ["p q"],
        "plot": ["C"],
        "gpu_mma": ["i", "j"],
        "while_loop": [lambda a: a > 1, lambda a: a - 1, 5],
    }


WRITES = {"f.export", "f.export_source", "schedule.save", "device.copy_from"}
"""They write files, or wait for what is written: left to tests of their own."""


def callables(of: dict[str, Any]) -> list[tuple[str, Callable[..., Any]]]:
    """What a user can call, and the attributes that a user can set, by name."""
    found: list[tuple[str, Callable[..., Any]]] = []
    for name in tw.__all__:
        value = getattr(tw, name)
        is_error = inspect.isclass(value) and issubclass(value, BaseException)
        if callable(value) and not is_error and name not in LEFT_OUT:
            found.append((f"tw.{name}", value))
    for name in ("info", "prune", "verify", "set_directory"):
        found.append((f"tw.cache.{name}", getattr(tw.cache, name)))
    found.append(("tw.Schedule.from_json", tw.Schedule.from_json))
    for owner, value in of.items():
        for name in dir(type(value)):
            if name.startswith("_") and name not in OPERATORS:
                continue
            member = getattr(type(value), name)
            if isinstance(member, property):
                if member.fset is not None:
                    found.append((f"{owner}.{name} =", _setter(value, name)))
            elif callable(member) and f"{owner}.{name}" not in WRITES:
                found.append((f"{owner}.{name}", getattr(value, name)))
    for name in ("optimize", "fast_math", "cpu", "default_schedule", "check_bounds", "target"):
        found.append((f"tw.settings.{name} =", _setter(tw.settings, name)))
    for name in ("keep_memory", "log", "silence", "cache_directory"):
        found.append((f"tw.settings.{name} =", _setter(tw.settings, name)))
    return found


def _setter(owner: object, name: str) -> Callable[[object], None]:
    return lambda value: setattr(owner, name, value)


@dataclass
class Call:
    """A call, made by chance."""

    name: str
    function: Callable[..., Any]
    positional: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = [shown(value) for value in self.positional]
        given += [f"{name}={shown(value)}" for name, value in self.keywords.items()]
        return f"{self.name}({', '.join(given)})"


def shown(value: object) -> str:
    """The value as text, of a length that one can read."""
    try:
        text = repr(value)
    except OwnError:
        text = "Unprintable()"
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def draw_call(
    rng: random.Random, of: dict[str, Any], known: list[tuple[str, Callable[..., Any]]]
) -> Call:
    """A call of something, with one argument that makes no sense, or with nothing else."""
    name, function = rng.choice(known)
    return (draw_usual if rng.random() < 0.6 else draw_wild)(rng, of, name, function)


def draw_usual(
    rng: random.Random, of: dict[str, Any], name: str, function: Callable[..., Any]
) -> Call:
    """Arguments that make sense, except one."""
    pool, by_name = values(of), usual(of)
    positions = usual_positions(of).get(name.rpartition(".")[2])
    call = Call(name, function, list(positions or ()))
    optional: list[str] = []
    with contextlib.suppress(ValueError, TypeError):
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.default is not parameter.empty:
                optional.append(parameter.name)
            elif positions is None:
                call.positional.append(by_name.get(parameter.name, rng.choice(pool)))
    for parameter_name in rng.sample(optional, min(len(optional), rng.choice([0, 0, 1, 2]))):
        if parameter_name in by_name:
            call.keywords[parameter_name] = by_name[parameter_name]
    places = [*range(len(call.positional)), *optional]
    if places and rng.random() < 0.15:
        return call  # what the next calls meet is another state
    if places:
        place = rng.choice(places)
        if isinstance(place, str):
            call.keywords[place] = rng.choice(pool)
        else:
            call.positional[place] = rng.choice(pool)
    elif " =" in name or "__" in name:
        call.positional.append(rng.choice(pool))
    return call


def draw_wild(
    rng: random.Random, of: dict[str, Any], name: str, function: Callable[..., Any]
) -> Call:
    """Mostly as many arguments as are needed, of any kind."""
    pool = values(of)
    required, keywords = 1, []
    with contextlib.suppress(ValueError, TypeError):
        for parameter in inspect.signature(function).parameters.values():
            required += parameter.default is parameter.empty and parameter.kind in (
                parameter.POSITIONAL_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
            )
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                keywords.append(parameter.name)
        required -= 1
    if name.endswith("__getitem__"):
        required = 1
    more = 0 if "__" in name or " =" in name else rng.choice([0, 0, 0, 0, 0, 1, 1, 2, -1])
    count = max(0, required + more)
    call = Call(name, function, [rng.choice(pool) for _ in range(count)])
    if keywords and rng.random() < 0.4:
        call.keywords[rng.choice(keywords[min(count, len(keywords) - 1) :])] = rng.choice(pool)
    return call


# ---- what is an answer ----

# How Python refuses a call that has another form than the signature.
_OTHER_FORM = re.compile(
    r"missing \d+ required|takes .* arguments?\b|unexpected keyword argument|multiple values for|"
    r"expected (at least |at most )?\d+ arguments?, got|positional-only|takes no arguments"
)


def fault_of(name: str, error: BaseException) -> str | None:
    """Why an exception is not an answer that helps; None where it is one."""
    if isinstance(error, OwnError):
        return None
    if isinstance(error, TakesTooLong):
        return "hangs"
    if isinstance(error, tw.TilewrightError):
        return _fault_of_ours(error)
    inside = [
        frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename
    ]
    if type(error) is TypeError and not inside and _OTHER_FORM.search(str(error)):
        return None
    if type(error) is IndexError and name == "device.__getitem__":
        return None  # as NumPy says it
    if type(error) in (IndexError, TypeError) and name == "point.__getitem__":
        return None  # as tuples say it
    if type(error) is KeyError and re.search("has no computation|no pass", str(error)):
        return None
    if isinstance(error, OSError) and name.endswith("schedule.load"):
        return None
    return f"raw {type(error).__name__}"


def _fault_of_ours(error: tw.TilewrightError) -> str | None:
    if re.fullmatch(r"TW\d\d\d", error.code) is None:
        return "no code"
    if isinstance(error, tw.InternalError):
        return "internal error"
    if "incompatible function arguments" in str(error):
        return "pybind11's words"
    if len(error.message) < 10:
        return "says too little"
    if error.location is None or error.location.file != __file__:
        return f"not the caller's line but {error.location}"
    return None


@dataclass(frozen=True)
class Fault:
    """A call without an answer that helps."""

    case: str
    call: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"case {self.case}: {self.kind}\n    {self.call}\n    {self.text}"


def _end_of_time(*given: object) -> None:
    raise TakesTooLong


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    """What calls set for the whole process is taken back; each works in a folder of its own."""
    threads, folder = tw.get_num_threads(), os.getcwd()
    assigned = dict(tw.settings._assigned)
    before = signal.signal(signal.SIGALRM, _end_of_time)
    try:
        with tempfile.TemporaryDirectory() as fresh:
            os.chdir(fresh)
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        os.chdir(folder)
        _restore(assigned)
        tw.set_num_threads(threads)


def _restore(assigned: dict[str, Any]) -> None:
    for name in list(tw.settings._assigned):
        if name not in assigned:
            delattr(tw.settings, name)
        elif tw.settings._assigned[name] != assigned[name]:
            setattr(tw.settings, name, assigned[name])


def run_call(case: str, call: Call) -> tuple[str, Fault | None]:
    """Makes a call; says how it ended, and what is wrong with that."""
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)  # deaf to the alarm
    signal.alarm(SECONDS)
    try:
        result = call.function(*call.positional, **call.keywords)
        if not isinstance(result, np.ndarray):
            str(result)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kind = fault_of(call.name, error)
        answer = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        return answer, None if kind is None else Fault(case, str(call), kind, answer)
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
    return "done", None


def run_case(seed: object, case: int) -> Iterator[tuple[Call, str, Fault | None]]:
    """The calls of a case, with how each ended."""
    rng = random.Random(f"hostile:{seed}:{case}")
    of = world()
    known = callables(of)
    for _ in range(CALLS):
        call = draw_call(rng, of, known)
        with _as_before():
            answer, fault = run_call(f"{seed}:{case}", call)
        yield call, answer, fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=2000, help="how many calls")
    parser.add_argument("--case", type=int, help="only this case, with all its calls")
    options = parser.parse_args()
    faulthandler.enable()
    np.seterr(all="ignore")
    answers: Counter[str] = Counter()
    faults: dict[tuple[str, str], list[Fault]] = {}
    slowest, started = (0.0, ""), time.monotonic()
    cases = range(-(-options.count // CALLS)) if options.case is None else [options.case]
    for case in cases:
        for call, answer, fault in run_case(options.seed, case):
            answers[answer.partition(":")[0]] += 1
            ended = time.monotonic()
            slowest = max(slowest, (ended - started, f"case {options.seed}:{case}: {call}"))
            started = ended
            if options.case is not None:
                print(f"{call}\n    {answer}")
            if fault is not None:
                faults.setdefault((call.name, fault.kind), []).append(fault)
    for found in faults.values():
        print(f"{len(found)} times, {found[0]}")
    print(
        f"{sum(answers.values())} calls, {sum(map(len, faults.values()))} without an answer that helps:"
    )
    print(f"the slowest took {slowest[0]:.1f} s: {slowest[1]}")
    print(", ".join(f"{name} {count}" for name, count in answers.most_common()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
