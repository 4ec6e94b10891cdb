"""Kernels whose schedules reach hand-tuned libraries: to call, to read, and to begin one's own from.

Each is a function that declares its computations, gives them a schedule of some lines and returns
a `tw.Function`: ``tw.kernels.blas.gemm()(a, b)``. docs/kernels.md shows their source beside the
loops that come of it.

A module here has in ``__all__`` the kernels it offers. They can be called without arguments; one
that depends on the processor takes ``cpu``, as `tw.function` does, which the page sets.
"""

from __future__ import annotations

from . import blas, dsp, images, stencils

__all__ = ["blas", "dsp", "images", "stencils"]
