"""Where a function spends its time, what it does there, and what the machine could do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.display import code_table, escaped
from ..base.drawing import Drawing, new_figure
from ..base.errors import ArgumentError
from ..base.results import Result
from .roofline import Machine, machine

__all__ = ["Copied", "LoopNest", "Profile", "RooflinePlot"]

_HEADINGS = ("loop nest", "time", "share", "flops", "GFLOP/s", "bytes", "GB/s", "flops/byte")


@dataclass(frozen=True)
class LoopNest(Result):
    """One outermost loop nest: how long it takes, and what it does, counted over its instances.

    The counts are None where they take too long or where data decide how often something happens
    (a `tw.while_loop`); with `is_exact` False they are upper bounds, for conditions and subscripts
    that depend on data.

    Attributes:
        computations: whose instances it runs.
        loops: the names of its loops, those of its deepest computation.
        times: seconds, for each repetition.
        is_parallel: whether it runs on threads.
        dtype: "float32" or "float64": whose peak it is compared with.
        instances: how many instances it runs.
        flops: operations on floating-point numbers: ``+ - * /``, min, max and elementary functions
            one each; of complex numbers ``+`` is 2, ``*`` is 6 and ``/`` is 11.
        integer_operations: the same on integers; the arithmetic of subscripts does not count.
        loaded, stored: bytes of all reads and all writes, wherever they end.
        read: bytes of the distinct elements that it reads and that come from elsewhere.
        written: bytes of the distinct elements that it writes, but for buffers that are gone after it.
    """

    computations: tuple[str, ...]
    loops: tuple[str, ...]
    times: tuple[float, ...]
    is_parallel: bool
    dtype: str
    is_exact: bool
    instances: int | None
    flops: int | None
    integer_operations: int | None
    loaded: int | None
    stored: int | None
    read: int | None
    written: int | None
    machine: Machine | None

    made_by = "Function.profile"

    @property
    def name(self) -> str:
        """Its computations: ``"C"``, ``"blurx, blury"``."""
        return ", ".join(self.computations)

    @property
    def seconds(self) -> float:
        """The shortest of its times."""
        return min(self.times)

    @property
    def bytes(self) -> int | None:
        """The compulsory bytes: what must come from memory or go there, once, if caches were
        infinitely large and empty before."""
        return None if self.read is None or self.written is None else self.read + self.written

    @property
    def accessed(self) -> int | None:
        """The bytes of all reads and writes."""
        return None if self.loaded is None or self.stored is None else self.loaded + self.stored

    @property
    def intensity(self) -> float | None:
        """Operations on floating-point numbers for each compulsory byte."""
        return None if not self.bytes or self.flops is None else self.flops / self.bytes

    @property
    def flops_per_second(self) -> float | None:
        """Operations on floating-point numbers per second."""
        return None if self.flops is None or not self.seconds else self.flops / self.seconds

    @property
    def bytes_per_second(self) -> float | None:
        """Compulsory bytes per second."""
        return None if self.bytes is None or not self.seconds else self.bytes / self.seconds

    @property
    def of_roofline(self) -> float | None:
        """The shortest time that the machine allows, as a part of the time taken.

        More than 1 where the data were in the caches already, which are faster than the memory.
        """
        if self.machine is None or self.flops is None or self.bytes is None or not self.seconds:
            return None
        least = self.machine.least_seconds(self.flops, self.bytes, self.dtype)
        return least / self.seconds if least > 0 else None

    @property
    def limit(self) -> str:
        """What the machine's limit is at its intensity: "memory", "arithmetic", or ""."""
        if self.machine is None or self.flops is None or self.bytes is None:
            return ""
        in_memory = self.bytes / self.machine.bandwidth
        return (
            "memory" if in_memory >= self.flops / self.machine.flops[self.dtype] else "arithmetic"
        )


@dataclass(frozen=True)
class Copied(Result):
    """A NumPy array that a call copied to its device or back.

    Attributes:
        array: the argument's name.
        back: whether it came from the device.
        bytes: how many.
        times: seconds, for each repetition.
    """

    array: str
    back: bool
    bytes: int
    times: tuple[float, ...]

    made_by = "Function.profile"

    @property
    def seconds(self) -> float:
        """The shortest of its times."""
        return min(self.times)

    def __str__(self) -> str:
        rate = f", {self.bytes / self.seconds / 1e9:.3g} GB/s" if self.seconds else ""
        size = _short(self.bytes)
        unit = "B" if size[-1].isalpha() else " B"
        return f"{self.array} {size}{unit} in {_time(self.seconds)}{rate}"


@dataclass(frozen=True)
class Profile(Result):
    """What `Function.profile` found; printed, it is a table.

    Attributes:
        function: the name of the function.
        parameters: their values in this call.
        nests: the outermost loop nests that ran, in the order in which they run.
        times: seconds of the whole kernel, for each repetition, with its copies.
        device: where the loops ran: "cuda:0 (...)", "gpu-emulator"; empty: the processor.
        copies: of NumPy arrays to that device and back.
    """

    function: str
    parameters: dict[str, int]
    nests: tuple[LoopNest, ...]
    times: tuple[float, ...]
    device: str = ""
    copies: tuple[Copied, ...] = ()

    made_by = "Function.profile"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.times:
            raise ArgumentError("a profile has a time for each repetition, got none")

    @property
    def seconds(self) -> float:
        """The shortest time of the whole kernel."""
        return min(self.times)

    def __getitem__(self, name: str | int) -> LoopNest:
        """The nest of this name or number; of several that run a computation the first."""
        if isinstance(name, int):
            return self.nests[name]
        for nest in self.nests:
            if name == nest.name or name in nest.computations:
                return nest
        known = ", ".join(nest.name for nest in self.nests)
        raise KeyError(f"no loop nest runs {name!r}; there are {known}")

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table as text, a row for each nest, without the headings."""
        total = sum(nest.seconds for nest in self.nests)
        return [_row(nest, total) for nest in self.nests]

    def _title(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        spread = float(np.median(self.times)) / self.seconds if self.seconds else 1.0
        where = f" on {self.device}" if self.device else ""
        return (
            f"{self.function}({sizes}){where}: {_time(self.seconds)} "
            f"(best of {len(self.times)}; median {spread:.2f} times that)"
        )

    def _notes(self) -> list[str]:
        """What stands below the table: machines, and what went between host and device."""
        notes = list(dict.fromkeys(str(nest.machine) for nest in self.nests if nest.machine))
        for back, direction in ((False, "copied to"), (True, "copied back from")):
            copies = ", ".join(str(copy) for copy in self.copies if copy.back == back)
            if copies:
                notes.append(f"{direction} {self.device}: {copies}")
        return notes

    def _headings(self) -> tuple[str, ...]:
        has_roofline = any(nest.machine for nest in self.nests)
        return (*_HEADINGS, "of roofline") if has_roofline else _HEADINGS

    def __str__(self) -> str:
        headings = self._headings()
        rows = [row[: len(headings)] for row in self.rows]
        widths = [max(len(row[c]) for row in [headings, *rows]) for c in range(len(headings))]
        lines = [
            "  ".join(
                text.ljust(width) if c == 0 else text.rjust(width)
                for c, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [headings, *rows]
        ]
        return "\n".join([self._title(), *lines, *self._notes()])

    def _repr_html_(self) -> str:
        headings = self._headings()
        cells = "".join(f"<th>{escaped(text)}</th>" for text in headings)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escaped(text)}</td>" for text in row[: len(headings)]) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<div>{escaped(text)}</div>" for text in self._notes())
        return (
            f"<div><div>{escaped(self._title())}</div>"
            f"{code_table(f'<tr>{cells}</tr>', rows)}{notes}</div>"
        )

    def plot(self, axes: Any = None) -> RooflinePlot:
        """Draws the nests under the machine's roofline, operations per second over operations per
        compulsory byte.

        Args:
            axes: matplotlib's axes to draw on; new ones without it.

        Raises:
            ImportError: matplotlib is not installed.
            ArgumentError: the profile was made with ``roofline=False``, or no nest has counted
                operations on floating-point numbers.
        """
        return _draw(self, axes)


@dataclass
class RooflinePlot(Drawing, Result):
    """A drawing of a profile; notebooks show it.

    Attributes:
        figure: matplotlib's figure.
        axes: its axes.
        points: (operations per byte, operations per second) of each nest, by name.
        roofs: (machine, type) of each roof that was drawn.
    """

    axes: Any
    points: dict[str, tuple[float, float]]
    roofs: list[tuple[Machine, str]]

    made_by = "Profile.plot"

    def __repr__(self) -> str:
        return f"<roofline of {', '.join(self.points)}>"


def profile_of(function: str, found: Mapping[str, Any], roofline: bool) -> Profile:
    """What the core measured, as a `Profile`; nests that did not run are left out."""
    device = found.get("device", "")
    roofline = roofline and not device
    nests = []
    for nest in found["nests"]:
        if not any(nest["nanoseconds"]):
            continue  # the version of a default schedule that was not taken
        counts = nest["counts"] or {}
        parallel = bool(nest["parallel"])
        nests.append(
            LoopNest(
                computations=tuple(nest["computations"]),
                loops=tuple(nest["loops"]),
                times=tuple(time / 1e9 for time in nest["nanoseconds"]),
                is_parallel=parallel,
                dtype=_peak_type(nest["types"]),
                is_exact=counts.get("exact", False),
                instances=counts.get("instances"),
                flops=counts.get("flops"),
                integer_operations=counts.get("integer_operations"),
                loaded=counts.get("loaded"),
                stored=counts.get("stored"),
                read=counts.get("read"),
                written=counts.get("written"),
                machine=machine(found["threads"] if parallel else 1) if roofline else None,
            )
        )
    times = tuple(time / 1e9 for time in found["nanoseconds"])
    copies = tuple(
        Copied(array, back, size, tuple(time / 1e9 for time in of_array))
        for array, back, size, of_array in found.get("copies", ())
    )
    return Profile(function, dict(found["parameters"]), tuple(nests), times, device, copies)


def _peak_type(types: list[str]) -> str:
    narrow = {"float32", "float16", "bfloat16", "complex64"}
    return "float32" if any(name in narrow for name in types) and not _is_wide(types) else "float64"


def _is_wide(types: list[str]) -> bool:
    return any(name in ("float64", "complex128") for name in types)


def _row(nest: LoopNest, total: float) -> tuple[str, ...]:
    sign = "" if nest.is_exact else "<= "

    def counted(value: float | None, scale: str = "") -> str:
        if value is None:
            return "?"
        return sign + (f"{value / 1e9:.4g}" if scale == "G" else _short(value))

    part = nest.of_roofline
    return (
        nest.name,
        _time(nest.seconds),
        f"{100 * nest.seconds / total:.0f} %" if total else "",
        counted(nest.flops),
        counted(nest.flops_per_second, "G"),
        counted(nest.bytes),
        counted(nest.bytes_per_second, "G"),
        "?" if nest.intensity is None else f"{nest.intensity:.3g}",
        "?" if part is None else f"{100 * part:.0f} % of {nest.limit}",
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _short(value: float) -> str:
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.4g}"


def _draw(profile: Profile, axes: Any) -> RooflinePlot:
    drawn = [
        nest
        for nest in profile.nests
        if nest.machine is not None and nest.intensity and nest.flops_per_second
    ]
    if not drawn:
        raise ArgumentError(
            f"{profile.function}: nothing to draw: no loop nest has a roofline and operations on "
            "floating-point numbers"
        )
    figure = new_figure(figsize=(6.4, 4.2)) if axes is None else axes.figure
    axes = figure.add_subplot() if axes is None else axes
    points: dict[str, tuple[float, float]] = {}
    for nest in drawn:
        name, number = nest.name, 2
        while name in points:
            name, number = f"{nest.name} ({number})", number + 1
        assert nest.intensity is not None and nest.flops_per_second is not None
        points[name] = (nest.intensity, nest.flops_per_second)
    roofs: list[tuple[Machine, str]] = []
    for nest in drawn:
        assert nest.machine is not None
        if (nest.machine, nest.dtype) not in roofs:
            roofs.append((nest.machine, nest.dtype))
    ridges = [roof.flops[dtype] / roof.bandwidth for roof, dtype in roofs]
    lowest = min([x for x, _ in points.values()] + ridges) / 4
    highest = max([x for x, _ in points.values()] + ridges) * 4
    for (roof, dtype), ridge in zip(roofs, ridges, strict=True):
        xs = [lowest, ridge, highest]
        many = "1 thread" if roof.threads == 1 else f"{roof.threads} threads"
        axes.plot(xs, [roof.attainable(x, dtype) / 1e9 for x in xs], label=f"{dtype}, {many}")
    for name, (x, y) in points.items():
        axes.plot([x], [y / 1e9], "o")
        axes.annotate(name, (x, y / 1e9), textcoords="offset points", xytext=(6, -4))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations per compulsory byte")
    axes.set_ylabel("GFLOP/s")
    axes.set_title(profile.function)
    axes.legend(loc="lower right")
    return RooflinePlot(figure, axes, points, roofs)
