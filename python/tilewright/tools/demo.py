"""The demonstration: ``python -m tilewright.demo``.

Two programs, each compared with NumPy: the papers' motivating example (brighten a photograph by
1.5, clamp, take the vertical mean of three rows) on a picture of 4k size, and a float32 matrix
product of 1024 x 1024. Prints a table of times and writes the picture; ends with status 1 when a
value differs.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import tilewright as tw

__all__ = ["main"]

Image = npt.NDArray[np.uint8]
Matrix = npt.NDArray[np.float32]

HEIGHT, WIDTH = 4500, 3840


@dataclass
class Row:
    """One line of the table; times in seconds."""

    name: str
    first: float
    later: float
    next_process: float
    numpy: float
    from_cache: bool


# ---- the two programs ----


def brighten_function() -> tw.Function:
    """Brighten, clamp, and the mean of three rows: fused over strips of columns, run in parallel.

    The brightened image is never stored as a whole: each strip keeps a window of four rows.
    """
    n, m = tw.params("N M", "N >= 3")
    i, j = tw.iters("i j")
    image = tw.input("image", [n, m], tw.uint8)
    brighter = tw.cast(tw.minimum(tw.cast(image[i, j], tw.float32) * 1.5, 255.0), tw.uint8)
    bright = tw.computation("bright", {i: n, j: m}, brighter)
    rows = [tw.cast(bright[i + k, j], tw.uint16) for k in range(3)]
    mean = tw.cast((rows[0] + rows[1] + rows[2]) // 3, tw.uint8)
    smooth = tw.computation("smooth", {i: n - 2, j: m}, mean)
    function = tw.function("brighten", outputs=[smooth])

    bright.split(j, 1920, "strip", "column").interchange(i, "strip")
    smooth.split(j, 1920, "strip", "column").interchange(i, "strip").shift(i, 2)
    smooth.after(bright, i)
    bright.parallelize("strip").vectorize("column", 32)
    smooth.parallelize("strip").vectorize("column", 32)
    bright.store_in("window[i % 4, j]")
    return function


def brighten_numpy(image: Image) -> Image:
    """The same in NumPy."""
    scaled = image.astype(np.float32) * np.float32(1.5)
    bright = np.minimum(scaled, np.float32(255)).astype(np.uint8).astype(np.uint16)
    mean: Image = ((bright[:-2] + bright[1:-1] + bright[2:]) // np.uint16(3)).astype(np.uint8)
    return mean


def matmul_function() -> tw.Function:
    """A matrix product: both operands packed, a tile of C kept in registers (docs/kernels.md)."""
    return tw.kernels.blas.gemm()


# ---- data ----


def photograph() -> Image:
    """matplotlib's sample photograph, enlarged to 4500 x 3840 pixels."""
    import matplotlib.cbook
    from PIL import Image as Pictures

    path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Pictures.open(path) as picture:
        large = picture.convert("RGB").resize((WIDTH, HEIGHT), Pictures.Resampling.BICUBIC)
        return np.asarray(large, dtype=np.uint8)


def save_picture(pixels: Image, path: pathlib.Path) -> None:
    """Writes an RGB picture as PNG."""
    from PIL import Image as Pictures

    path.parent.mkdir(parents=True, exist_ok=True)
    Pictures.fromarray(pixels).save(path, compress_level=1)


def matrices() -> tuple[Matrix, Matrix]:
    """Two 1024 x 1024 matrices, always the same."""
    generator = np.random.default_rng(1)
    a = generator.random((1024, 1024), dtype=np.float32)
    b = generator.random((1024, 1024), dtype=np.float32)
    return a, b


# ---- measuring ----


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def best_of(call: Callable[[], Any], seconds: float = 1.0, most: int = 20) -> float:
    """The shortest of several calls."""
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < most):
        times.append(timed(call)[0])
    return min(times)


def first_call(name: str) -> dict[str, Any]:
    """Declares and calls a program in this process; for the row "next process"."""
    if name == "brighten":
        arrays: tuple[npt.NDArray[Any], ...] = (np.zeros((HEIGHT, WIDTH * 3), np.uint8),)
        make = brighten_function
    else:
        arrays = matrices()
        make = matmul_function
    function = make()
    seconds, _ = timed(lambda: function(*arrays))
    compiled = function.last_compile or {}
    return {"seconds": seconds, "from_cache": bool(compiled.get("from_cache"))}


def first_call_elsewhere(name: str) -> dict[str, Any]:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "tilewright.demo", "--first-call", name]
    package = str(pathlib.Path(tw.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"the second process failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(
    name: str,
    function: tw.Function,
    arrays: Sequence[npt.NDArray[Any]],
    reference: Callable[[], npt.NDArray[Any]],
) -> tuple[Row, npt.NDArray[Any], npt.NDArray[Any]]:
    """Times a program and NumPy; returns the table's line and both results."""
    first, result = timed(lambda: function(*arrays))
    was_cached = bool((function.last_compile or {}).get("from_cache"))
    later = best_of(lambda: function(*arrays, out=result))
    expected = reference()
    numpy_time = best_of(reference)
    other = first_call_elsewhere(name)
    if not other["from_cache"]:
        print(f"note: the second process compiled {name} again (no usable cache directory?)")
    row = Row(name, first, later, other["seconds"], numpy_time, was_cached)
    return row, result, expected


def print_table(rows: Sequence[Row]) -> None:
    """The table of times, in milliseconds."""
    print()
    print(
        f"{'milliseconds':<14}{'first call':>13} {'later calls':>14}{'next process':>14}"
        f"{'NumPy':>12}"
    )
    for row in rows:
        mark = "*" if row.from_cache else " "
        print(
            f"{row.name:<14}{row.first * 1e3:>13.1f}{mark}{row.later * 1e3:>14.2f}"
            f"{row.next_process * 1e3:>14.1f}{row.numpy * 1e3:>12.2f}"
        )
    print()
    print("first call: compiles and runs (* found in the disk cache of an earlier run);")
    print("next process: the first call of a new process, with the code from the disk cache.")


def run(output: pathlib.Path) -> bool:
    """Runs both programs; whether all values agree."""
    print(f"tilewright {tw.__version__}, {tw.get_num_threads()} threads")
    good = True

    print(f"\nBrighten, clamp, mean of three rows: a photograph of {HEIGHT} x {WIDTH} pixels")
    picture = photograph()
    pixels = picture.reshape(HEIGHT, WIDTH * 3)
    brighten = brighten_function()
    print(brighten.loops)
    row, result, expected = measure("brighten", brighten, [pixels], lambda: brighten_numpy(pixels))
    rows = [row]
    equal = bool(np.array_equal(result, expected))
    good = good and equal
    print(f"equal to NumPy's, all {result.size} values: {'yes' if equal else 'NO'}")
    save_picture(result.reshape(HEIGHT - 2, WIDTH, 3), output / "brightened.png")
    print(f"written: {output / 'brightened.png'}")

    print("\nMatrix product, 1024 x 1024, float32")
    a, b = matrices()
    matmul = matmul_function()
    print(matmul.schedule)
    row, product, expected = measure("matmul", matmul, [a, b], lambda: np.matmul(a, b))
    rows.append(row)
    close = bool(np.allclose(product, expected, rtol=1e-4))
    good = good and close
    gflops = 2 * 1024**3 / row.later / 1e9
    print(f"close to NumPy's: {'yes' if close else 'NO'}; {gflops:.0f} GFLOP/s")

    print_table(rows)
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="tilewright.demo", description=__doc__)
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/demo"),
        help="folder for pictures",
    )
    parser.add_argument("--first-call", choices=["brighten", "matmul"], help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.first_call:
        print(json.dumps(first_call(options.first_call)))
        return 0
    if not run(options.output):
        print("FAILED: values differ from NumPy's", file=sys.stderr)
        return 1
    return 0
