"""Python loops: `@tw.jit` makes functions of tilewright from Python functions over NumPy arrays.

`decorator` is what people call; `translation` writes the statement tree from Python's `ast`; dataflow
makes the function of it. docs/python-loops.md has the subset as a table.
"""

from .decorator import LoopFunction, jit
from .parallel_range import prange

__all__ = ["LoopFunction", "jit", "prange"]
