"""Nests as they are written in C, whose iterations keep values of their own, beside gcc and clang.

Everybody gets benchmarks/c_nests.c and no fast-math, so that values are compared bit for bit. gcc and clang run
one thread.
"""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import peers
import tilewright as tw
from harness import Case, Context, Missing

TITLE = "Nests in C whose iterations have values of their own"
THREADS = (1, 2)

FILE = pathlib.Path(__file__).resolve().parents[1] / "c_nests.c"
_FLAGS = ("-O3", "-march=native", "-ffp-contract=off")
COMMANDS = {"gcc": ("gcc", *_FLAGS), "clang": ("clang-19", *_FLAGS)}
#: What C has for the arguments that are no arrays.
_NUMBERS = {int: ctypes.c_int, float: ctypes.c_float}


def _library(command: tuple[str, ...]) -> ctypes.CDLL | Missing:
    program = peers.program(command[0])
    if isinstance(program, Missing):
        return program
    with tempfile.TemporaryDirectory() as place:
        made = pathlib.Path(place) / "c_nests.so"
        words = [*command, "-w", "-shared", "-fPIC", "-o", str(made), str(FILE), "-lm"]
        subprocess.run(words, check=True)
        return ctypes.CDLL(str(made))


def _arguments(quick: bool) -> dict[str, list[Any]]:
    """The arguments of each function; the last array is what it makes."""
    draw = np.random.default_rng(0)
    h, w = (40, 60) if quick else (512, 768)
    n, m, o = (40, 30, 50) if quick else (512, 500, 403)

    def floats(*shape: int) -> Any:
        return draw.random(shape, dtype=np.float32) - np.float32(0.5)

    def integers(dtype: Any, low: int, high: int, *shape: int) -> Any:
        return draw.integers(low, high, shape).astype(dtype)

    image, pixels = integers(np.uint8, 0, 256, h, w), floats(h, w)
    k = np.array([0.1, 0.2, 0.4, 0.2, 0.1], np.float32)
    c, side = (4, 12) if quick else (32, 56)
    letters = 30 if quick else 1000
    return {
        "median": [h, w, image, np.zeros_like(image)],
        "sobel": [h, w, image, np.zeros_like(image)],
        "life": [h, w, image & 1, np.zeros_like(image)],
        "bilateral": [h, w, 3.0, pixels, np.zeros_like(pixels)],
        "dct": [h // 8, w // 8, floats(h // 8 * 8, w // 8 * 8), floats(8, 8),
                np.zeros((h // 8 * 8, w // 8 * 8), np.float32)],
        "blur": [h, w, k, pixels, np.zeros_like(pixels)],
        "bodies": [4 * n, floats(4 * n, 3), floats(4 * n), np.zeros((4 * n, 3), np.float32)],
        "layer": [n, m, o, floats(n, m), floats(m, o), floats(o), np.zeros((n, o), np.float32)],
        "rows": [n, m, o, floats(n, m), floats(o, m), floats(o), np.zeros((n, o), np.float32)],
        "convolution": [side, side, c, c, floats(c, side + 2, side + 2), floats(c, c, 3, 3),
                        np.zeros((c, side, side), np.float32)],
        "depthwise": [2 * side, 2 * side, 2 * c, integers(np.int8, -128, 128, 2 * side + 2, 2 * side + 2, 2 * c),
                      integers(np.int8, -128, 128, 3, 3, 2 * c), integers(np.int32, -999, 999, 2 * c),
                      np.zeros((2 * side, 2 * side, 2 * c), np.int8)],
        "yuv": [h * w, integers(np.uint8, 0, 256, h * w, 3), np.zeros((h * w, 3), np.uint8)],
        "distance": [letters, letters, integers(np.uint8, 0, 4, letters), integers(np.uint8, 0, 4, letters),
                     np.zeros((letters + 1, letters + 1), np.int32)],
        "dither": [h, w, integers(np.int32, 0, 256, h, w), np.zeros((h, w), np.uint8)],
    }  # fmt: skip


def _run(call: Callable[..., Any], given: list[Any], changed: int | None) -> Callable[[], Any]:
    """What does one unit of work, on arguments of its own; the argument `changed` begins anew."""
    own = [each.copy() if isinstance(each, np.ndarray) else each for each in given]

    def run() -> Any:
        if changed is not None:
            own[changed][...] = given[changed]
        call(*own)
        return own[-1]

    return run


def _compiled(library: ctypes.CDLL, name: str) -> Callable[..., None]:
    function = library[name]
    function.restype = None

    def call(*arguments: Any) -> None:
        function(
            *(
                ctypes.c_void_p(each.ctypes.data)
                if isinstance(each, np.ndarray)
                else _NUMBERS[type(each)](each)
                for each in arguments
            )
        )

    return call


def cases(context: Context) -> Iterator[Case]:
    module = tw.c.load(FILE)
    libraries = {name: _library(command) for name, command in COMMANDS.items()}
    for name, given in _arguments(context.quick).items():
        function = module.functions[name]
        function.auto_schedule()
        changed = 2 if name == "dither" else None  # the image is overwritten
        yield Case(
            name,
            ours=_run(function, given, changed),
            peers={
                peer: library
                if isinstance(library, Missing)
                else _run(_compiled(library, name), given, changed)
                for peer, library in libraries.items()
            },
            compare=np.testing.assert_array_equal,
            goals={"best": 1.5},
            note="no fast-math; equal bits",
        )
