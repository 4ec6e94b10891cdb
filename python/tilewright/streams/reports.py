"""Tables of what a stream program does: rates, latencies, buffers."""

from __future__ import annotations

import math

from ..base.display import Text
from .steps import Step

__all__ = ["reported", "table"]


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def reported(
    step: Step, inputs: tuple[str, ...], outputs: tuple[str, ...], waiting: int = 0
) -> Text:
    timing = step.timing
    rows: list[tuple[str, ...]] = [("stream", "rate", "latency", "buffer", "kind", "bytes")]
    for name in timing.rates:
        late = str(timing.latency(name, step.collected)) if name in outputs else ""
        shape, kind = tuple(extent or 0 for extent in step.shapes[name]), "none"
        if name in step.rings:
            shape, kind = step.rings[name][0], "modulo"
        elif name in step.lines:
            shape, kind = (step.lines[name].kept, *step.lines[name].shape), "sliding"
        buffer = " x ".join(map(str, shape))
        size = math.prod(shape) * step.types[name].itemsize
        rows.append((name, str(timing.rates[name]), late, buffer, kind, str(size)))
    ticks = math.lcm(timing.period, step.collected)
    period = ", ".join(f"{int(timing.rates[name] * ticks)} of {name}" for name in inputs + outputs)
    lines = [f"period: {period}"]
    if step.rings:
        how = "in the order that was given" if step.ordered else "time first"
        lines.append(f"rows in place: {how}")
    if step.opening is not None:
        sizes = {
            name: " x ".join(map(str, shape)) or "1"
            for name, (shape, _) in step.opening.tables.items()
        }
        computed = ", ".join(f"{name} ({size})" for name, size in sizes.items())
        lines.append(f"computed when a stream is opened: {computed}")
    if waiting:
        lines.append(f"collected until a period is complete: {waiting} bytes")
    return Text("\n".join([*lines, table(rows)]))
