"""Views: which of its writers an element comes from.

The array versions of exact dataflow (PENCIL report, INRIA RT-0457, section 4), and the phi of the
Tiramisu paper (section 5.1). Views themselves are declared by `tw.view`.
"""

from __future__ import annotations

from .. import _core
from ..base.errors import DeclarationError, DeclarationTypeError
from ..base.source import caller_location
from .expressions import Expression

__all__ = ["phi"]


def phi(*reads: Expression) -> Expression:
    """The last of `reads` whose element exists::

        c0 = tw.computation("c0", {i: N}, A[i])
        c1 = tw.computation("c1", {i: N, k: K}, lambda c1: tw.phi(c0[i], c1[i, k - 1]) + B[i, k],
                            dtype=tw.float64)
        out = tw.view("out", {i: N}, tw.phi(c0[i], c1[i, K - 1]))    # K may be 0

    An element exists where its subscripts are in the domain of its computation, or inside its
    array: c1[i, k - 1] for k >= 1.

    Args:
        reads: reads of arrays, A[i], with affine subscripts and of one type; later ones hide
            earlier ones.

    Raises:
        DeclarationTypeError: for what is no expression, or has another type than those before.
        DeclarationError: without reads, and for an expression that is no read.
    """
    for read in reads:
        if not isinstance(read, Expression):
            raise DeclarationTypeError(f"phi chooses among reads such as A[i], not {read!r}")
    if not reads:
        raise DeclarationError("phi needs reads to choose among, such as tw.phi(A[i], B[i])")
    return Expression(_core.phi([read._handle for read in reads], caller_location()))
