"""What schedules need to know of the processor: the tile that its registers hold."""

from __future__ import annotations

from dataclasses import dataclass

import tilewright as tw

from ..base.processor import vector_bytes
from ..language.expressions import DTypeLike

__all__ = ["Tile", "register_tile", "vector_bytes"]


@dataclass(frozen=True)
class Tile:
    """What a product keeps in registers: `rows` times `columns` sums, in vectors of `lanes`."""

    rows: int
    columns: int
    lanes: int


def register_tile(dtype: DTypeLike, cpu: str = "native", narrow: bool = False) -> Tile:
    """The tile of a matrix product that fills the registers.

    AVX-512 has 32 of them: 6 x 4 vectors of sums, one row of B (4), and an element of A in all
    lanes. AVX2 and SSE2 have 16: 6 x 2, 2 and 1. There are enough sums to keep two fused
    multiply-add units busy, which need 8 or 10 that do not wait for each other.

    Args:
        dtype: of the elements.
        cpu: as `tw.function` takes it.
        narrow: half as many columns, and twice as many rows.
    """
    width = vector_bytes(cpu)
    lanes = width // tw.as_dtype(dtype).itemsize
    rows, vectors = 6, 4 if width == 64 else 2
    if narrow:
        rows, vectors = 2 * rows, vectors // 2
    return Tile(rows=rows, columns=vectors * lanes, lanes=lanes)
