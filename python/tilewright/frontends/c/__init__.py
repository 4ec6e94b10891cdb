"""C with PENCIL annotations as functions of this library: `tw.c`.

What stands between ``#pragma scop`` and ``#pragma endscop``, or a whole function, becomes a
`tw.Function` that works in place on NumPy arrays, with C's meaning of every operation::

    m = tw.c.load("gemm.c", define={"N": 1000}, include=["utilities"])
    m.kernel_gemm(1000, 1000, 1000, 1.5, 1.2, C, A, B)

docs/c.md has the subset of C as a table. The way from C to the statement tree follows pet (PENCIL
report, INRIA RT-0457, section 3).
"""

from .functions import CFunction
from .modules import CModule, load

__all__ = ["CFunction", "CModule", "load"]
