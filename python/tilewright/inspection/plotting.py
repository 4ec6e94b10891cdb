"""Pictures of iteration domains: points, dependence arrows, the order of execution, tiles.

They are made for sizes that a person can take in; matplotlib draws them. A picture keeps what was
drawn as plain data, beside the figure.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.checks import SCHEDULE, a_boolean, a_list, a_mapping, a_string, an_integer, described
from ..base.drawing import Drawing, new_figure
from ..base.errors import IllegalScheduleError, ScheduleError, ScheduleTypeError
from ..base.results import Result
from ..schedule.commands import ComputationHandle
from ..schedule.computations import Computation
from ..schedule.receivers import command_target_of
from ..schedule.scheduled_functions import ScheduledFunction
from .instances import Execution, Instance, execution_at
from .tile_outlines import Box, Position, tile_boxes

__all__ = ["Arrow", "Box", "Panel", "Picture", "plot_domain"]

_COLOURS = ("#2f6fab", "#c2571a", "#3d8b40", "#8250a8", "#a0762d", "#4a4a4a")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_PATH_COLOUR, _DEPENDENCE_COLOUR, _WITNESS_COLOUR = "#9aa7b5", "#3b3b3b", "#c8102e"
_LARGEST_NUMBERED = 400


@dataclass(frozen=True)
class Arrow:
    """A dependence as it was drawn, from the instance that must come first; dashed where it only may
    be there, since a subscript is not affine."""

    source: Instance
    sink: Instance
    kind: str
    start: Position
    end: Position
    is_exact: bool = True


@dataclass
class Panel:
    """One drawing: instances as points, and what joins them.

    Attributes:
        axes: matplotlib's axes.
        points: where each instance is.
        arrows: the dependences between them.
        path: runs of instances that are executed one after the other; where iterations of parallel
            or vector loops follow each other a new run begins.
        boxes: the tiles, outer ones first.
        witness: the dependence that a refused schedule would have violated.
    """

    axes: Any
    points: dict[Instance, Position] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    path: list[list[Instance]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    witness: Arrow | None = None


@dataclass
class Picture(Drawing, Result):
    """A figure and what is drawn in it; notebooks show it.

    Attributes:
        figure: matplotlib's figure.
        panels: its drawings, from left to right.
    """

    panels: list[Panel]

    made_by = "tw.plot_domain"

    def __repr__(self) -> str:
        parts = [f"{len(panel.points)} instances" for panel in self.panels]
        return f"<picture of {' and '.join(parts)}>"


def plot_domain(
    target: ScheduledFunction | Computation | ComputationHandle,
    sizes: Mapping[Any, int] | None = None,
    *,
    computations: Sequence[str] | None = None,
    space: str = "domain",
    x: str | None = None,
    y: str | None = None,
    order: str | None = "path",
    dependences: bool = True,
    tiles: bool = True,
    at: Mapping[str, int] | None = None,
    error: IllegalScheduleError | None = None,
    compare: ScheduledFunction | None = None,
    axes: Any = None,
    title: str | None = None,
) -> Picture:
    """Draws the iteration domain of computations, with dependences and the order of execution.

    Args:
        target: a function, or one computation of a function.
        sizes: the value of each parameter: ``{"N": 6, "M": 4}``. With `error` it may be left out.
        computations: the names of those to draw; all of the function unless given.
        space: "domain" places an instance by its iterators, "time" by its loops, which is where
            a skew or a fusion shows; nests that run one after the other lie side by side.
        x: the iterator (or loop) along the horizontal axis; the first unless given.
        y: the one along the vertical axis; the second unless given. "computation" gives each
            computation a row of its own, as those of one dimension have it.
        order: how the order of execution is shown: "path", "numbers", "colour" or None. Iterations
            of parallel and vector loops are not joined by the path.
        dependences: whether to draw an arrow from each instance to those that need it.
        tiles: whether to draw the tiles that `split`, `tile`, `vectorize` and `unroll` made.
        at: only instances with these values of iterators: ``{"k": 0}``.
        error: a refused schedule: its two instances are marked, joined by the dependence that the
            schedule would have violated.
        compare: another function, to draw to the left of this one: ``f.copy().reset_schedule()``.
        axes: matplotlib's axes to draw in; a new figure unless given.
        title: the title.

    Returns:
        The picture. ``picture.panels[0].points`` and the like say what was drawn.

    Raises:
        ImportError: matplotlib is not installed.
        ScheduleError: a size is missing, or a computation or a loop is not known.
        AnalysisLimitError: the sizes are too large to draw.

    Example:
        >>> picture = tw.plot_domain(C, {"N": 6, "M": 6, "K": 2})
        >>> f.plot("C", sizes={"N": 6, "M": 6, "K": 2}, order="numbers").save("order.png")
    """
    function, own = _function_of(target)
    names = own if computations is None else _names(computations)
    _one_of(space, ("domain", "time"), "space")
    _one_of(order, ("path", "numbers", "colour", None), "order")
    for name, what in ((x, "x"), (y, "y"), (title, "title")):
        if name is not None:
            a_string(name, what, SCHEDULE)
    if error is not None and not isinstance(error, IllegalScheduleError):
        raise ScheduleTypeError(
            f"error must be the tw.IllegalScheduleError of a refusal, got {described(error)}"
        )
    if compare is not None and not isinstance(compare, ScheduledFunction):
        raise ScheduleTypeError(f"compare must be a function, got {described(compare)}")
    view = _View(
        names,
        space,
        x,
        y,
        order,
        a_boolean(dependences, "dependences", SCHEDULE),
        a_boolean(tiles, "tiles", SCHEDULE),
        _fixed(at),
        error,
    )
    functions = [function] if compare is None else [compare, function]
    figure, all_axes = _figure(len(functions), axes)
    panels = []
    for each, own_axes in zip(functions, all_axes, strict=True):
        is_target = each is function
        execution = _execution(each, sizes, error if is_target else None)
        heading = title if title is not None and is_target else _heading(each, execution)
        panels.append(view.draw(each, execution, own_axes, heading, with_error=is_target))
    return Picture(figure, panels)


# ---- what is asked for ----


def _one_of(value: object, known: Sequence[object], what: str) -> None:
    if not isinstance(value, str | None) or value not in known:
        raise ScheduleError(
            f"{what} is one of {', '.join(map(repr, known))}, got {described(value)}"
        )


def _names(computations: object) -> list[str]:
    given = a_list(computations, "computations", SCHEDULE, "names")
    return [a_string(name, "the name of a computation to draw", SCHEDULE) for name in given]


def _fixed(at: object) -> dict[str, int]:
    if at is None:
        return {}
    return {
        a_string(name, "an iterator in at", SCHEDULE): an_integer(value, f"at[{name!r}]", SCHEDULE)
        for name, value in a_mapping(at, "at", SCHEDULE, '{"k": 0}').items()
    }


def _function_of(
    target: ScheduledFunction | Computation | ComputationHandle,
) -> tuple[ScheduledFunction, list[str] | None]:
    """The function to draw, and the computation of it that was named."""
    if isinstance(target, ComputationHandle):
        return target.function, [target.name]
    if isinstance(target, Computation):
        function, name = command_target_of(target._handle)
        assert isinstance(function, ScheduledFunction)
        return function, [name]
    if not isinstance(target, ScheduledFunction):
        raise ScheduleTypeError(
            f"a function or a computation of one is drawn, got {described(target)}"
        )
    return target, None


def _figure(count: int, axes: Any) -> tuple[Any, list[Any]]:
    if axes is not None:
        own = list(axes) if isinstance(axes, list | tuple) or hasattr(axes, "flat") else [axes]
        if len(own) != count:
            raise ScheduleError(f"{count} drawings need as many axes, got {len(own)}")
        for each in own:
            if not (hasattr(each, "figure") and hasattr(each, "scatter")):
                raise ScheduleTypeError(f"axes must be matplotlib's, got {described(each)}")
        return own[0].figure, own
    figure = new_figure(figsize=(5.2 * count, 4.4), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def _heading(function: ScheduledFunction, execution: Execution) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in execution.sizes.items())
    schedule = str(function.schedule)
    lines = [f"{function.name}, {sizes}" if sizes else function.name]
    if schedule:
        lines += schedule.split("\n")
    return "\n".join(line if len(line) <= 54 else line[:51] + "..." for line in lines[:5])


def _execution(
    function: ScheduledFunction, sizes: Mapping[Any, int] | None, error: IllegalScheduleError | None
) -> Execution:
    if error is None or sizes is not None:
        return execution_at(function, sizes)
    # The smallest example, enlarged where the instances are still there.
    smallest = {name: int(value) for name, value in _PARAMETER.findall(error.parameters)}
    smallest = {name: smallest.get(name, 4) for name in function.parameters}
    larger = {name: max(value, 4) for name, value in smallest.items()}
    execution = execution_at(function, larger)
    found = (_find(execution, error.source_instance), _find(execution, error.sink_instance))
    return execution if None not in found else execution_at(function, smallest)


_PARAMETER = re.compile(r"(\w+) = (-?\d+)")
_INSTANCE = re.compile(r"^\s*(\w+)\s*\[([^\]]*)\](?:\(([^)]*)\))?")


def _find(execution: Execution, text: str) -> Instance | None:
    """The instance that an error names: "C[0,1]"; "B[1](i0=2)" of one in a loop of its reader."""
    match = _INSTANCE.match(text)
    if match is None:
        return None
    loops = (value.rpartition("=")[2] for value in (match[3] or "").split(","))
    values = tuple(int(value) for value in (*loops, *match[2].split(",")) if value.strip())
    return execution.find(match[1], values)


# ---- drawing ----


@dataclass
class _View:
    """What is drawn of an execution, and where."""

    names: list[str] | None
    space: str
    x: str | None
    y: str | None
    order: str | None
    dependences: bool
    tiles: bool
    at: dict[str, int]
    error: IllegalScheduleError | None

    def draw(
        self,
        function: ScheduledFunction,
        execution: Execution,
        axes: Any,
        title: str,
        with_error: bool,
    ) -> Panel:
        shown = self._shown(function, execution)
        places = _Places(self, shown)
        panel = Panel(axes, points=places.positions)
        if self.tiles and self.space == "domain":
            panel.boxes = tile_boxes(function, shown, panel.points)
            _draw_boxes(panel)
        if self.order is not None:
            panel.path = _runs(execution, shown)
        if self.order == "path":
            _draw_path(panel)
        if self.dependences:
            panel.arrows = [
                Arrow(
                    d.source,
                    d.sink,
                    d.kind,
                    panel.points[d.source],
                    panel.points[d.sink],
                    d.is_exact,
                )
                for d in execution.dependences
                if d.source in panel.points and d.sink in panel.points
            ]
            for arrow in panel.arrows:
                _draw_arrow(panel, arrow, _DEPENDENCE_COLOUR, 0.9, zorder=3)
        _draw_points(panel, places.computations, self.order)
        if self.error is not None and with_error:
            self._mark(panel, execution, self.error)
        places.label(axes)
        axes.set_title(title, fontsize=9, loc="left", family="monospace")
        return panel

    def _shown(self, function: ScheduledFunction, execution: Execution) -> list[Instance]:
        known = list(function.computations)
        for name in self.names or ():
            if name not in known:
                raise ScheduleError(
                    f"{function.name} has no computation {name!r} to draw; it has "
                    f"{', '.join(known)}"
                )
        names = set(known if self.names is None else self.names)
        return [
            instance
            for instance in execution.instances
            if instance.computation in names
            and not instance.is_initial
            and all(instance.coordinates.get(k, v) == v for k, v in self.at.items())
        ]

    def _mark(self, panel: Panel, execution: Execution, error: IllegalScheduleError) -> None:
        """The two instances of a refusal, and the dependence between them."""
        ends = []
        for text in (error.source_instance, error.sink_instance):
            instance = _find(execution, text)
            if instance is None or instance not in panel.points:
                raise ScheduleError(
                    f"the refusal is about {text or 'no instance'} with {error.parameters}, which "
                    "is not among the instances drawn: choose other sizes or computations"
                )
            ends.append(instance)
        source, sink = ends
        start, end = panel.points[source], panel.points[sink]
        panel.witness = Arrow(source, sink, error.kind, start, end)
        _draw_arrow(panel, panel.witness, _WITNESS_COLOUR, 2.4, zorder=6)
        for instance, (px, py) in ((source, start), (sink, end)):
            panel.axes.scatter(
                [px], [py], s=190, facecolors="none", edgecolors=_WITNESS_COLOUR, linewidths=2
            )
            panel.axes.annotate(
                str(instance),
                (px, py),
                xytext=(7, 9),
                textcoords="offset points",
                color=_WITNESS_COLOUR,
                fontsize=9,
                zorder=7,
            )


class _Places:
    """Where each instance lies."""

    def __init__(self, view: _View, shown: list[Instance]) -> None:
        self.space = view.space
        self.computations = list(dict.fromkeys(instance.computation for instance in shown))
        in_rows = view.y == "computation"
        self._chosen = (view.x, None if in_rows else view.y)
        named = {instance.statement: list(self._values(instance)) for instance in shown}
        for choice in self._chosen:
            if choice is not None and not any(choice in names for names in named.values()):
                known = ", ".join(dict.fromkeys(n for names in named.values() for n in names))
                raise ScheduleError(f"there is no {choice!r} to draw along; there are {known}")
        self._is_flat = in_rows or all(
            self._axis_names(names)[1] is None for names in named.values()
        )
        self._offsets = self._nest_offsets(shown)
        self._axis_labels = self._labels(named)
        self.positions = {instance: self._position(instance) for instance in shown}
        self._ticks = {
            (self._along(instance) + self._offset(instance), self._along(instance))
            for instance in shown
        }

    def _values(self, instance: Instance) -> dict[str, int]:
        return instance.loops if self.space == "time" else instance.coordinates

    def _axis_names(self, names: list[str]) -> tuple[str | None, str | None]:
        """The names along x and y for a statement that has these."""
        x, y = self._chosen
        rest = [name for name in names if name not in (x, y) and not name.startswith("@")]
        if x is None:
            x = rest.pop(0) if rest else None
        if y is None:
            y = rest.pop(0) if rest else None
        return x, y

    def _labels(self, named: dict[str, list[str]]) -> tuple[str, str]:
        pairs = [self._axis_names(names) for names in named.values()]
        first, second = (
            ", ".join(dict.fromkeys(pair[axis] or "" for pair in pairs if pair[axis]))
            for axis in (0, 1)
        )
        return first, "" if self._is_flat else second

    def _along(self, instance: Instance) -> int:
        values = self._values(instance)
        name = self._axis_names(list(values))[0]
        return values.get(name, 0) if name is not None else 0

    def _nest_offsets(self, shown: list[Instance]) -> dict[int, int]:
        """In time space: how far each loop nest is moved to lie behind those before it."""
        if self.space != "time":
            return {}
        nests: dict[int, list[int]] = {}
        for instance in shown:
            nests.setdefault(instance.time[0], []).append(self._along(instance))
        offsets: dict[int, int] = {}
        begin: int | None = None
        for nest in sorted(nests):
            low, high = min(nests[nest]), max(nests[nest])
            offsets[nest] = 0 if begin is None else begin - low
            begin = high + offsets[nest] + 2
        return offsets

    def _offset(self, instance: Instance) -> int:
        return self._offsets.get(instance.time[0], 0)

    def _position(self, instance: Instance) -> Position:
        values = self._values(instance)
        name = self._axis_names(list(values))[1]
        lane = self.computations.index(instance.computation)
        px = float(self._along(instance) + self._offset(instance))
        if self._is_flat:
            return px, float(-lane)
        shift = 0.16 * lane  # of several computations in one plane
        return px + shift, (values.get(name, 0) if name is not None else 0) + shift

    def label(self, axes: Any) -> None:
        """Names and numbers of the axes."""
        axes.set_xlabel(self._axis_labels[0])
        axes.set_ylabel(self._axis_labels[1])
        ticks = sorted(self._ticks)
        step = max(1, math.ceil(len(ticks) / 24))
        axes.set_xticks([tick for tick, _ in ticks[::step]])
        axes.set_xticklabels([str(value) for _, value in ticks[::step]])
        if self._is_flat:
            axes.set_yticks([-lane for lane in range(len(self.computations))])
            axes.set_yticklabels(self.computations)
            axes.set_ylim(-len(self.computations) + 0.3, 0.7)
        else:
            axes.yaxis.get_major_locator().set_params(integer=True)
            axes.set_aspect("equal", adjustable="datalim")
            if len(self.computations) > 1:
                axes.legend(loc="best", fontsize=8)
        axes.margins(0.12)
        axes.spines[["top", "right"]].set_visible(False)


def _runs(execution: Execution, shown: list[Instance]) -> list[list[Instance]]:
    """The instances in order, cut where two in a row may run at the same time."""
    runs: list[list[Instance]] = []
    for instance in shown:
        if runs and execution.are_ordered(runs[-1][-1], instance):
            runs[-1].append(instance)
        else:
            runs.append([instance])
    return runs


def _draw_path(panel: Panel) -> None:
    steps = [
        (panel.points[a], panel.points[b]) for run in panel.path for a, b in itertools.pairwise(run)
    ]
    if steps:
        panel.axes.quiver(
            [a[0] for a, _ in steps],
            [a[1] for a, _ in steps],
            [b[0] - a[0] for a, b in steps],
            [b[1] - a[1] for a, b in steps],
            angles="xy",
            scale_units="xy",
            scale=1,
            color=_PATH_COLOUR,
            width=0.004,
            headwidth=6,
            headlength=8,
            zorder=2,
        )


def _draw_points(panel: Panel, computations: list[str], order: str | None) -> None:
    rank = {instance: n for n, instance in enumerate(panel.points)}
    for lane, name in enumerate(computations):
        own = [instance for instance in panel.points if instance.computation == name]
        colours: dict[str, Any] = {"color": _COLOURS[lane % len(_COLOURS)]}
        if order == "colour":
            colours = {
                "c": [rank[instance] for instance in own],
                "cmap": "viridis",
                "vmin": 0,
                "vmax": max(1, len(rank) - 1),
            }
        panel.axes.scatter(
            [panel.points[instance][0] for instance in own],
            [panel.points[instance][1] for instance in own],
            marker=_MARKERS[lane % len(_MARKERS)],
            s=34,
            zorder=4,
            label=name,
            **colours,
        )
    if order == "numbers":
        if len(rank) > _LARGEST_NUMBERED:
            raise ScheduleError(
                f"{len(rank)} instances are too many to number (at most {_LARGEST_NUMBERED}): "
                'give smaller sizes, or order="path"'
            )
        for instance, number in rank.items():
            panel.axes.annotate(
                str(number),
                panel.points[instance],
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=7,
                zorder=5,
            )


def _draw_arrow(panel: Panel, arrow: Arrow, colour: str, width: float, zorder: int) -> None:
    from matplotlib.patches import FancyArrowPatch

    dx, dy = arrow.end[0] - arrow.start[0], arrow.end[1] - arrow.start[1]
    # Bent where a straight one would run through the points between.
    is_long = (dx == 0 and abs(dy) > 1.5) or (dy == 0 and abs(dx) > 1.5)
    bend = 0.25 if is_long or arrow.kind == "accumulation" else 0.0
    panel.axes.add_patch(
        FancyArrowPatch(
            arrow.start,
            arrow.end,
            arrowstyle="-|>",
            mutation_scale=9,
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=4,
            shrinkB=4,
            color=colour,
            linewidth=width,
            linestyle="-" if arrow.is_exact else "--",
            zorder=zorder,
        )
    )


def _draw_boxes(panel: Panel) -> None:
    from matplotlib.patches import Polygon

    lanes = list(dict.fromkeys(instance.computation for instance in panel.points))
    for box in panel.boxes:
        colour = _COLOURS[lanes.index(box.computation) % len(_COLOURS)]
        panel.axes.add_patch(
            Polygon(
                box.corners,
                closed=True,
                facecolor=colour,
                edgecolor=colour,
                alpha=0.18,
                linewidth=1.2,
                zorder=1,
            )
        )
