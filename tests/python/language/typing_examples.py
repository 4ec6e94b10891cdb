"""What a type checker knows of a program; `mypy --strict` must agree with every line.

Not run, only checked (test_typing.py). A line with "type: ignore" is a mistake that the checker must
find, because an ignore that is not needed is an error, too.
"""

import pathlib
from concurrent.futures import Future
from typing import Any

import numpy as np
from typing_extensions import assert_type

import tilewright as tw

# Declaring
N, M = tw.params("N M")
i, j = tw.iters("i j")
k = tw.iter("k")
assert_type(i, tw.Iterator)
assert_type(tw.param("K"), tw.Parameter)
A = tw.input("A", [N, M], tw.float32)
assert_type(A, tw.Input)
assert_type(A[i, j], tw.Expression)
assert_type(A[i, j] * 2 + 1, tw.Expression)
assert_type(1 - A[i, j] ** 2, tw.Expression)
assert_type(A[i, j] < 3, tw.Expression)
assert_type((i < N) & ~(j < 3), tw.Expression)
assert_type(tw.exp(A[i, j]), tw.Expression)
assert_type(tw.select(i < 3, A[i, j], 0.0), tw.Expression)
assert_type(tw.cast(A[i, j], tw.float64), tw.Expression)
assert_type(tw.sum(A[i, k], over={k: M}), tw.Expression)
C = tw.computation("C", {i: N, j: (1, M)}, A[i, j] + A[i, j - 1])
assert_type(C, tw.Computation)
assert_type(C.dtype, tw.DType)
tw.computation("D", {i: N}, lambda D: [(i == 0, 0.0), (i > 0, D[i - 1])], dtype=tw.float64)
tw.computation(3, {i: N}, A[i, 0])  # type: ignore[call-overload]
tw.input("A", [N])  # type: ignore[call-overload]

# Running
f = tw.function("f", outputs=[C], context=[N > 0], fast_math=True)
assert_type(f, tw.Function)
result: Any = f(np.ones((3, 3), np.float32), out=None)
assert_type(f.compile(), dict[str, Any])
assert_type(f.compile_async(), Future[dict[str, Any]])
assert_type(tw.compile_all([f]), list[dict[str, Any]])
assert_type(f.key, str)
assert_type(f.inputs, list[str])
tw.function("f", outputs=[C], fast_math="yes")  # type: ignore[arg-type]

# Scheduling: commands return what they were given to.
assert_type(C.tile(i, j, 8, 8).parallelize("i0").vectorize("j1", 8), tw.Computation)
assert_type(f["C"].split("i0", 4).unroll("i01"), tw.ComputationHandle)
assert_type(f.schedule, tw.Schedule)
assert_type(f.default_schedule == f.schedule, bool)
assert_type(f.schedule.diff(f.default_schedule), tw.ScheduleDifference)
C.split(i, [4])  # type: ignore[arg-type]
C.slpit(i, 4)  # type: ignore[attr-defined]
text: str = f.loops + f.layers + f.llvm + f.asm
picture = f.plot("C", sizes={"N": 4, "M": 4})
assert_type(picture, tw.Picture)
picture.save(pathlib.Path("picture.png"))

# Errors
try:
    C.reverse(i)
except tw.IllegalScheduleError as error:
    assert_type(error.code, str)
    assert_type(error.source_instance, str)
    assert_type(error.location, tw.SourceLocation | None)
    assert_type(error.function, tw.Function | None)

# The process
assert_type(tw.settings.optimize, str)
assert_type(tw.settings.fast_math, bool)
assert_type(tw.settings.cache_directory, pathlib.Path | None)
tw.settings.keep_memory = 64
tw.settings.keep_memory = "64"  # type: ignore[assignment]
tw.settings.optimise = "full"  # type: ignore[attr-defined]
with tw.settings(optimize="full") as inside:
    assert_type(inside, tw.Settings)
assert_type(tw.cache.info().bytes, int)
assert_type(tw.cache.verify().deleted, int)
assert_type(tw.get_num_threads(), int)
