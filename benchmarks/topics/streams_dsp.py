"""Stream kernels pushed block by block, beside SciPy, FAUST and loops in C++ written by hand (`streams_dsp.cpp`).

A call pushes a whole signal in blocks of a given length: ours from Python, one `push` for each block, and once
more as the C source that `export_source` writes, called block by block from C; SciPy one call for each block, with its
own state, but for what has none (upfirdn, stft), which takes the whole signal; C++ and FAUST in loops of their own
(gcc -O3 -march=native -ffast-math).
"""

from __future__ import annotations

import ctypes
import functools
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import faust
import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Stream kernels"
THREADS = (1,)

Array = npt.NDArray[Any]
Call = Callable[[], Any]

HERE = pathlib.Path(__file__).resolve().parents[1]
CPP = "C++ by hand"
SCIPY = "SciPy"
EXPORTED = "exported C"
_FOLDER = tempfile.TemporaryDirectory(prefix="streams-dsp-")


@dataclass
class Program:
    """A kernel with what all contenders are given.

    Attributes:
        given: what a stream is opened with.
        x: the signal.
        cpp: name and further arguments of the function in C++.
        scipy: makes, of the blocks, what pushes them; or why SciPy does not.
        faust: the program in its language.
    """

    name: str
    make: Callable[[], tw.StreamFunction]
    given: dict[str, Any]
    x: Array
    cpp: tuple[Any, ...] | None
    scipy: Callable[[list[Array]], Call] | Missing
    faust: str = ""


# ---- contenders ----


def ours(k: tw.StreamFunction, program: Program, block: int) -> tuple[Call, Array]:
    """What pushes all blocks, and the array that they go to."""
    blocks = blocks_of(program.x, block)
    counting = k.stream(**program.given)
    empty = counting.push(program.x[:0])
    # What reads ahead gives less in the first call than in later ones.
    first: list[tuple[Array, Array]] = []
    later: list[tuple[Array, Array]] = []
    outs = []
    for rooms in (first, later):
        total = counting.counts_after(len(program.x))[k.outputs[0]]
        out = np.empty((total, *empty.shape[1:]), empty.dtype)
        outs.append(out)
        place = 0
        for each in blocks:
            number = counting.counts_after(len(each))[k.outputs[0]]
            counting.push(each)
            rooms.append((each, out[place : place + number]))
            place += number
    s = k.stream(**program.given)
    pairs = iter([(first, outs[0])])

    def call() -> Array:
        now, out = next(pairs, (later, outs[1]))
        push = s.push
        for each, room in now:
            push(each, out=room)
        return out

    assert len(program.x) % s.period[k.inputs[0]] == 0, program.name
    return call, outs[0]


def check_chunks(k: tw.StreamFunction, program: Program, block: int) -> None:
    """Raises AssertionError unless blocks give the elements that the whole signal does."""
    whole = k.stream(**program.given).push(program.x)
    s = k.stream(**program.given)
    np.testing.assert_array_equal(
        np.concatenate([s.push(each) for each in blocks_of(program.x, block)]), whole
    )


def blocks_of(x: Array, block: int) -> list[Array]:
    """The signal in blocks; the last one may be shorter."""
    return [x[n : n + block] for n in range(0, len(x), block)]


def _library(source: pathlib.Path, compiler: str, *flags: str) -> ctypes.CDLL | Missing:
    found = peers.program(compiler)
    if isinstance(found, Missing):
        return found
    target = pathlib.Path(_FOLDER.name) / f"{source.stem}.so"
    command = [found, "-O3", "-march=native", "-shared", "-fPIC", *flags, str(source)]
    done = subprocess.run(
        [*command, "-o", str(target), "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return Missing(f"{compiler} fails: {done.stderr[:200]}")
    return ctypes.CDLL(str(target))


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def by_hand(program: Program, block: int, shape: Array, library: Any) -> Call | Missing:
    if program.cpp is None:
        return Missing("not written in C++ here")
    if isinstance(library, Missing):
        return library
    out = np.empty_like(shape)
    function = library[f"run_{program.cpp[0]}"]
    kept = [*program.cpp[1:]]
    more = [_pointer(each) if isinstance(each, np.ndarray) else each for each in kept]
    arguments = [_pointer(program.x), _pointer(out), ctypes.c_long(len(program.x))]
    arguments += [ctypes.c_long(block), *more]

    def call() -> Array:
        function(*arguments)
        return out

    call.kept = kept  # type: ignore[attr-defined]
    return call


_DRIVER = """
#include <time.h>
#include "{name}.h"
static long long state[{upper}_STATE_NBYTES / 8 + 1];
void run(const char *x, char *y, int64_t length, int64_t block, int64_t in, int64_t out) {{
  int64_t count = 0;
  for (int64_t n = 0; n < length; n += block) {{
    int64_t now = length - n < block ? length - n : block;
    {name}_push(state, now, (const void *)(x + n * in), (void *)y, &count);
    y += count * out;
  }}
}}
void run_timed(const char *x, char *y, int64_t length, int64_t block, int64_t in, int64_t pushes, double *seconds) {{
  int64_t count = 0, n = 0;
  for (int64_t push = 0; push < pushes; push++) {{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    {name}_push(state, block, (const void *)(x + n * in), (void *)y, &count);
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds[push] = (end.tv_sec - start.tv_sec) + 1e-9 * (end.tv_nsec - start.tv_nsec);
    n = n + 2 * block <= length ? n + block : 0;
  }}
}}
int init({declared}) {{ return {name}_init({passed}); }}
"""


def exported_library(k: tw.StreamFunction, program: Program, block: int) -> ctypes.CDLL | Missing:
    """The exported C source with a state that is ready, `run` and `run_timed`."""
    s = k.stream(**program.given)
    sizes: dict[str, Any] = dict(s._sizes)
    name = "".join(each if each.isalnum() else "-" for each in f"{program.name}-{block}")
    folder = pathlib.Path(_FOLDER.name) / name
    made = k.export_source(folder, largest=min(block, 1024), **sizes)
    prototype = next(each for each in made.prototypes if "_init(" in each)
    declared = prototype[prototype.index("(") + 1 : -1].split(", ")[1:]
    names = [each.rsplit(" ", 1)[1].lstrip("*") for each in declared]
    driver = folder / f"{name}-driver.c"
    text = _DRIVER.format(
        name=made.name,
        upper=made.name.upper(),
        declared=", ".join(declared) or "void",
        passed=", ".join(["state", *names]),
    )
    driver.write_text(f'#define _POSIX_C_SOURCE 199309L\n#include "{made.source.name}"\n{text}')
    flags = ("-ffp-contract=off", "-fopenmp-simd")
    library = _library(driver, "gcc", *flags)
    if isinstance(library, Missing):
        return library
    arrays = [s._arrays[name] for name in names]
    passed: list[Any] = []
    for each, array in zip(declared, arrays, strict=True):
        number = ctypes.c_float if each.startswith("float ") else ctypes.c_double
        passed.append(_pointer(array) if "*" in each else number(float(array)))
    library.init(*passed)
    return library


def timed_in_c(
    library: ctypes.CDLL, k: tw.StreamFunction, program: Program, block: int, pushes: int
) -> Callable[[], npt.NDArray[np.float64]]:
    """What pushes so many blocks from C, beginning again where the signal ends, and gives the seconds of each."""
    room = np.empty_like(k.stream(**program.given).push(program.x))
    seconds = np.empty(pushes)
    numbers = [
        ctypes.c_int64(each) for each in (len(program.x), block, program.x.strides[0], pushes)
    ]
    arguments = [_pointer(program.x), _pointer(room), *numbers, _pointer(seconds)]

    def call() -> npt.NDArray[np.float64]:
        library.run_timed(*arguments)
        return seconds

    call.kept = room  # type: ignore[attr-defined]
    return call


def exported(k: tw.StreamFunction, program: Program, block: int, shape: Array) -> Call | Missing:
    library = exported_library(k, program, block)
    if isinstance(library, Missing):
        return library
    out = np.empty((len(shape) + 16, *shape.shape[1:]), shape.dtype)
    bytes_in = program.x.strides[0]
    bytes_out = out.itemsize * int(np.prod(out.shape[1:]))
    numbers = [ctypes.c_int64(each) for each in (len(program.x), block, bytes_in, bytes_out)]
    arguments = [_pointer(program.x), _pointer(out), *numbers]

    def call() -> Array:
        library.run(*arguments)
        return out[: len(shape)]

    return call


# ---- programs ----


def _noise(*shape: int, scale: float = 1.0) -> Array:
    made = scale * np.random.default_rng(sum(shape)).standard_normal(shape)
    return made.astype(np.float32)


def _one_by_one(state: Any, step: Callable[[Array, Any], tuple[Array, Any]]) -> Any:
    """SciPy's manner: a call for each block, with the state of the last one."""

    def made(blocks: list[Array]) -> Call:
        def call() -> Array:
            zi, parts = state, []
            for block in blocks:
                part, zi = step(block, zi)
                parts.append(part)
            return np.concatenate(parts)

        return call

    return made


def programs(length: int) -> Iterator[Program]:
    signal: Any = peers.module("scipy.signal")
    absent = signal if isinstance(signal, Missing) else None
    dsp = tw.kernels.dsp
    x = _noise(length)

    h = _noise(32, scale=0.2)
    zeros = np.zeros(31, np.float32)

    def filtered(row: Array) -> Any:
        return _one_by_one(zeros, lambda b, zi: signal.lfilter(row, [1], b, zi=zi))

    yield Program(
        "fir of 32",
        dsp.fir,
        {"h": h},
        x,
        ("fir", h, ctypes.c_long(32)),
        absent or filtered(h),
        faust.fir(h),
    )
    bank = _noise(8, 32, scale=0.2)

    def banked(blocks: list[Array]) -> Call:
        made = [filtered(row)(blocks) for row in bank]
        return lambda: np.stack([each() for each in made], axis=-1)

    arguments = ("filter_bank", bank, ctypes.c_long(32), ctypes.c_long(8))
    yield Program(
        "8 filters of 32",
        dsp.filter_bank,
        {"h": bank},
        x,
        arguments,
        absent or banked,
        faust.fir(bank),
    )
    sos = _sections()
    for channels in (1, 8):
        wide = _noise(length, channels)
        state = np.zeros((4, 2, channels), np.float32)
        yield Program(
            f"4 biquads of {channels} channel{'s' * (channels > 1)}",
            functools.partial(dsp.biquads, tw.float32, channels),
            {"sos": sos},
            wide,
            ("biquads", sos, ctypes.c_long(4), ctypes.c_long(channels)),
            absent or _one_by_one(state, lambda b, zi: signal.sosfilt(sos, b, axis=0, zi=zi)),
            faust.biquads(sos, channels),
        )
    yield from _rates_and_delays(length, signal, absent)


def _sections() -> Array:
    """Resonances at four frequencies."""
    rows = []
    for turn in (0.1, 0.3, 0.7, 1.5):
        rows.append([0.2, 0, -0.2, 1, -2 * 0.95 * np.cos(turn), 0.95**2])
    return np.array(rows, np.float32)


def _rates_and_delays(length: int, signal: Any, absent: Missing | None) -> Iterator[Program]:
    dsp = tw.kernels.dsp
    x, h = _noise(length), _noise(48, scale=0.2)
    yield Program(
        "resampling by 3/2",
        lambda: dsp.resampler(3, 2),
        {"h": h},
        x,
        ("resampler", h, ctypes.c_long(48), ctypes.c_long(3), ctypes.c_long(2)),
        absent or (lambda blocks: lambda: signal.upfirdn(h, x, 3, 2)[: length * 3 // 2]),
    )
    window = np.hanning(256).astype(np.float32)

    def transformed(blocks: list[Array]) -> Call:
        def call() -> Array:
            found: Array = signal.stft(
                x, window=window, nperseg=256, noverlap=192, boundary=None, padded=False
            )[2]
            scaled: Array = found.T * window.sum()
            return scaled

        return call

    yield Program(
        "stft of 256", lambda: dsp.stft(256, 64), {"window": window}, x, None, absent or transformed
    )
    delay, gain = 109, 0.99
    a = np.zeros(delay + 2, np.float32)
    a[0], a[delay:] = 1, -gain / 2
    state = np.zeros(delay + 1, np.float32)
    b = np.ones(1, np.float32)
    yield Program(
        "plucked string",
        dsp.plucked_string,
        {"gain": gain, "D": delay},
        x,
        ("plucked_string", ctypes.c_float(gain), ctypes.c_long(delay)),
        absent or _one_by_one(state, lambda block, zi: signal.lfilter(b, a, block, zi=zi)),
        faust.plucked_string(gain, delay),
    )
    combs, passes = np.array([1557, 1617, 1491, 1422]), np.array([225, 556])
    gains = np.full(4, 0.8, np.float32)
    yield Program(
        "reverb",
        dsp.reverb,
        {"gain": gains, "diffusion": 0.7},
        x,
        ("reverb", gains, combs, ctypes.c_long(4), ctypes.c_float(0.7), passes, ctypes.c_long(2)),
        Missing("a filter of 1618 coefficients, nearly all of them 0"),
        faust.reverb(gains, combs, 0.7, passes),
    )


def _by_faust(
    compiled: faust.Faust, program: Program, shape: Array, block: int
) -> dict[str, Call | Missing]:
    if not program.faust:
        missing = Missing("not written in FAUST here")
        return {"FAUST": missing, "FAUST -vec": missing}
    outputs = 1 if shape.ndim == 1 else shape.shape[1]
    given = (program.faust, program.x, outputs, block)
    return {"FAUST": compiled.run(*given), "FAUST -vec": compiled.run(*given, "-vec")}


def cases(context: Context) -> Iterator[Case]:
    length = 1 << 13 if context.quick else 1 << 16
    blocks = (512,) if context.quick else (64, 512, 8192)
    library = _library(HERE / "streams_dsp.cpp", "g++", "-ffast-math")
    compiled = faust.Faust(_FOLDER.name)
    tw.settings.fast_math = True  # as the peers are compiled; the topic has a process of its own
    for program in programs(length):
        k = program.make()
        for block in blocks:
            call, shape = ours(k, program, block)
            scipy = program.scipy
            made: dict[str, Call | Missing] = {
                CPP: by_hand(program, block, shape, library),
                EXPORTED: exported(k, program, block, shape),
                **_by_faust(compiled, program, shape, block),
                SCIPY: scipy if isinstance(scipy, Missing) else scipy(blocks_of(program.x, block)),
            }
            yield Case(
                f"{program.name}, {block} at a time",
                call,
                peers=made,
                group=f"blocks of {block}",
                work=float(shape.size),
                unit="G/s",
                rtol=1e-3,
                atol=1e-3,
                goals={SCIPY: 2.0, CPP: 1.0, "FAUST": 1.2, "FAUST -vec": 1.2},
                note="elements of the output; SciPy takes upfirdn and stft as a whole",
            )
