"""Pictures, by what they hold: points, arrows, order, tiles, the witness of a refusal."""

from __future__ import annotations

import sys

import pytest

import tilewright as tw
from tilewright.inspection.instances import execution_at
from tilewright.tools import reference

pytest.importorskip("matplotlib")

i, j, k = tw.iters("i j k")
N, M = tw.params("N M")


def grid() -> tw.Function:
    a = tw.input("A", [N, M], tw.float64)
    return tw.function("grid", [tw.computation("C", {i: N, j: M}, a[i, j] + 1)])


def scan() -> tw.Function:
    """Each row needs the one before."""
    a = tw.input("A", [N, M], tw.float64)
    return tw.function(
        "scan",
        [
            tw.computation(
                "C",
                {i: N, j: M},
                lambda c: [(i == 0, a[i, j]), (i > 0, c[i - 1, j] + a[i, j])],
                dtype=tw.float64,
            )
        ],
    )


def pair() -> tw.Function:
    x = tw.input("x", [N + 1], tw.float64)
    b = tw.computation("B", {i: N + 1}, x[i] * 2)
    return tw.function("pair", [tw.computation("C", {i: N}, b[i] + b[i + 1])])


def row_sums() -> tw.Function:
    a = tw.input("A", [N, M], tw.float64)
    return tw.function("sums", [tw.computation("S", {i: N}, tw.sum(a[i, j], over={j: M}))])


SIZES = {"N": 4, "M": 3}


def order_of(panel) -> list[tuple[int, ...]]:
    return [instance.values for run in panel.path for instance in run]


# ---- points, order ----


def test_points_lie_at_their_iterators():
    picture = grid().plot("C", sizes=SIZES)
    (panel,) = picture.panels
    assert sorted(panel.points.values()) == [(x, y) for x in range(4) for y in range(3)]
    assert all(p == instance.values for instance, p in panel.points.items())
    assert panel.arrows == []
    assert panel.boxes == []
    assert panel.witness is None
    assert panel.axes.get_xlabel() == "i"
    assert panel.axes.get_ylabel() == "j"
    (drawn,) = [c for c in panel.axes.collections if type(c).__name__ == "PathCollection"]
    assert len(drawn.get_offsets()) == 12
    (path,) = [c for c in panel.axes.collections if type(c).__name__ == "Quiver"]
    assert path.N == 11
    assert repr(picture) == "<picture of 12 instances>"


def test_axes_can_be_chosen():
    panel = grid().plot("C", sizes=SIZES, x="j", y="i").panels[0]
    assert all(p == instance.values[::-1] for instance, p in panel.points.items())
    assert panel.axes.get_xlabel() == "j"


def test_the_path_is_the_order_of_the_schedule():
    function = grid()
    rows = [(a, b) for a in range(4) for b in range(3)]
    assert order_of(function.plot(sizes=SIZES).panels[0]) == rows
    function["C"].interchange(i, j)
    assert order_of(function.plot(sizes=SIZES).panels[0]) == [
        (a, b) for b in range(3) for a in range(4)
    ]
    function.reset_schedule()["C"].reverse(i)
    assert order_of(function.plot(sizes=SIZES).panels[0]) == [
        (a, b) for a in (3, 2, 1, 0) for b in range(3)
    ]


def test_parallel_iterations_are_not_joined():
    function = grid()
    function["C"].parallelize(i)
    panel = function.plot(sizes=SIZES).panels[0]
    assert [len(run) for run in panel.path] == [3, 3, 3, 3]
    function.reset_schedule()["C"].parallelize(j)
    panel = function.plot(sizes=SIZES).panels[0]
    # Within one i nothing orders the columns; from the last of them to the next i, i does.
    assert [len(run) for run in panel.path] == [1, 1, 2, 1, 2, 1, 2, 1, 1]


def test_numbers_and_colours():
    panel = grid().plot(sizes=SIZES, order="numbers").panels[0]
    assert sorted(int(text.get_text()) for text in panel.axes.texts) == list(range(12))
    assert not [c for c in panel.axes.collections if type(c).__name__ == "Quiver"]
    panel = grid().plot(sizes=SIZES, order="colour").panels[0]
    (drawn,) = panel.axes.collections
    assert sorted(drawn.get_array()) == list(range(12))
    panel = grid().plot(sizes=SIZES, order=None).panels[0]
    assert panel.path == []
    with pytest.raises(tw.ScheduleError, match="too many to number"):
        grid().plot(sizes={N: 30, M: 30}, order="numbers")


def test_only_some_instances():
    panel = row_sums().plot("S", sizes=SIZES, at={"j": 2}).panels[0]
    assert [instance.values for instance in panel.points] == [(a, 2) for a in range(4)]


# ---- dependences ----


def test_arrows_are_the_dependences():
    panel = scan().plot(sizes=SIZES).panels[0]
    assert {(a.source.values, a.sink.values) for a in panel.arrows} == {
        ((a, b), (a + 1, b)) for a in range(3) for b in range(3)
    }
    assert {a.kind for a in panel.arrows} == {"flow"}
    assert all(a.start == a.source.values and a.end == a.sink.values for a in panel.arrows)
    assert len(panel.axes.patches) == 9
    panel = scan().plot(sizes=SIZES, dependences=False).panels[0]
    assert panel.arrows == []
    assert not panel.axes.patches


def test_a_reduction_adds_in_order():
    function = row_sums()
    panel = function.plot(sizes=SIZES).panels[0]
    assert len(panel.points) == 12  # the start value is not drawn
    assert {(a.source.values, a.sink.values) for a in panel.arrows} == {
        ((a, b), (a, b + 1)) for a in range(4) for b in range(2)
    }
    assert {a.kind for a in panel.arrows} == {"accumulation"}
    function["S"].reverse(j)
    panel = function.plot(sizes=SIZES).panels[0]
    assert {(a.source.values, a.sink.values) for a in panel.arrows} == {
        ((a, b + 1), (a, b)) for a in range(4) for b in range(2)
    }


def test_a_dependence_that_only_may_be_there_is_dashed():
    x = tw.input("x", [N], tw.float64)
    index = tw.input("index", [N], tw.int64)
    b = tw.computation("B", {i: N}, x[i] * 2)
    c = tw.computation("C", {i: N}, b[index[i]] + b[i])
    panel = tw.function("gather", [c]).plot(sizes={N: 3}).panels[0]
    exact = {(a.source.values[0], a.sink.values[0]) for a in panel.arrows if a.is_exact}
    assert exact == {(0, 0), (1, 1), (2, 2)}
    assert len([a for a in panel.arrows if not a.is_exact]) == 9
    styles = [patch.get_linestyle() for patch in panel.axes.patches]
    assert (styles.count("-"), styles.count("--")) == (3, 9)


def test_two_computations_of_one_dimension_get_a_row_each():
    panel = pair().plot(sizes={N: 4}).panels[0]
    heights = {instance.computation: y for instance, (_, y) in panel.points.items()}
    assert heights == {"B": 0, "C": -1}
    assert len(panel.points) == 5 + 4
    assert len(panel.arrows) == 8
    assert [t.get_text() for t in panel.axes.get_yticklabels()] == ["B", "C"]
    alone = pair().plot("C", sizes={N: 4}).panels[0]
    assert len(alone.points) == 4
    assert alone.arrows == []


def test_a_row_for_each_computation_on_request():
    function = row_sums()
    panel = function.plot(sizes=SIZES, y="computation", at={"j": 0}).panels[0]
    assert sorted(panel.points.values()) == [(x, 0) for x in range(4)]
    assert panel.axes.get_ylabel() == ""


# ---- time ----


def test_nests_lie_side_by_side_in_time_until_they_are_fused():
    function = pair()
    panel = function.plot(sizes={N: 4}, space="time").panels[0]
    across = {c: [] for c in "BC"}
    for instance, (x, _) in panel.points.items():
        across[instance.computation].append(x)
    assert across == {"B": [0, 1, 2, 3, 4], "C": [6, 7, 8, 9]}
    function["C"].shift(i, 1).after("B", i)
    panel = function.plot(sizes={N: 4}, space="time").panels[0]
    at = {str(instance): x for instance, (x, _) in panel.points.items()}
    assert at["B[3]"] == 3
    assert at["C[3]"] == 4
    # Nothing points backwards in time.
    assert all(a.end[0] >= a.start[0] for a in panel.arrows)


def test_a_skew_in_time():
    function = grid()
    function["C"].skew(i, j)
    panel = function.plot(sizes=SIZES, space="time").panels[0]
    assert all(
        p == (instance.values[0], sum(instance.values)) for instance, p in panel.points.items()
    )


# ---- tiles ----


def test_tiles_are_boxes():
    function = grid()
    function["C"].tile(i, j, 2, 2)
    panel = function.plot(sizes=SIZES).panels[0]
    assert [box.loops for box in panel.boxes] == [
        {"i0": a, "j0": b} for a in range(2) for b in range(2)
    ]
    assert [len(box.instances) for box in panel.boxes] == [4, 2, 4, 2]
    first = panel.boxes[0]
    assert set(first.corners) == {(-0.4, -0.4), (1.4, -0.4), (1.4, 1.4), (-0.4, 1.4)}
    assert len(panel.axes.patches) == 4
    assert function.plot(sizes=SIZES, tiles=False).panels[0].boxes == []


def test_tiles_of_tiles_and_of_other_names():
    function = grid()
    function["C"].tile(i, j, 4, 4, "a", "b", "c", "d").tile("c", "d", 2, 2)
    boxes = function.plot(sizes={N: 4, M: 4}).panels[0].boxes
    assert [sorted(box.loops) for box in boxes] == [["a", "b"]] + [["a", "b", "c0", "d0"]] * 4
    function.reset_schedule()["C"].vectorize(j, 2)
    boxes = function.plot(sizes={N: 4, M: 4}).panels[0].boxes
    assert [box.loops for box in boxes] == [{"j0": 0}, {"j0": 1}]
    function.reset_schedule()["C"].split(i, 2).parallelize("i0")
    assert len(function.plot(sizes={N: 4, M: 4}).panels[0].boxes) == 2


def test_a_skewed_tile_is_no_rectangle():
    function = grid()
    function["C"].skew(i, j).tile(i, j, 2, 2)
    boxes = function.plot(sizes={N: 4, M: 4}).panels[0].boxes
    whole = [box for box in boxes if len(box.instances) == 4]
    assert whole
    assert all(len(box.corners) == 6 for box in whole)


# ---- before and after ----


def test_before_and_after():
    function = grid()
    function["C"].tile(i, j, 2, 2)
    picture = function.plot("C", sizes=SIZES, compare=function.copy().reset_schedule())
    before, after = picture.panels
    assert before.boxes == []
    assert len(after.boxes) == 4
    assert order_of(before)[:3] == [(0, 0), (0, 1), (0, 2)]
    assert order_of(after)[:3] == [(0, 0), (0, 1), (1, 0)]
    assert "tile" in after.axes.get_title(loc="left")
    assert "tile" not in before.axes.get_title(loc="left")
    assert repr(picture) == "<picture of 12 instances and 12 instances>"


# ---- refusals ----


def test_the_witness_of_a_refusal():
    function = scan()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["C"].reverse(i)
    error = caught.value
    panel = function.plot(error=error).panels[0]
    witness = panel.witness
    assert witness is not None
    assert str(witness.source) == error.source_instance
    assert str(witness.sink) == error.sink_instance
    assert witness.start == witness.source.values
    labels = [text.get_text() for text in panel.axes.texts]
    assert labels == [error.source_instance, error.sink_instance]
    larger = function.plot(error=error, sizes={N: 6, M: 5}).panels[0]
    assert len(larger.points) == 30
    assert larger.witness.sink == witness.sink
    with pytest.raises(tw.ScheduleError, match="not among the instances drawn"):
        function.plot(error=error, sizes={N: 1, M: 1})


def test_the_witness_inside_the_loops_of_a_reader():
    x = tw.input("x", [N], tw.float64)
    B = tw.computation("B", {i: N}, x[i] * 2)
    C = tw.computation("C", {i: N, j: M}, B[i] + 1)
    function = tw.function("replicated", outputs=[C])
    B.compute_at(C, j).store_in("kept[0]")
    with pytest.raises(tw.IllegalScheduleError) as caught:
        C.parallelize(i)
    witness = function.plot(error=caught.value).panels[0].witness
    assert witness.sink.coordinates == {"@i": 1, "@j": 0, "i": 1}
    assert str(witness.sink) == caught.value.sink_instance == "B[1](i=1,j=0)"


def test_the_witness_of_a_race():
    function = row_sums()
    with pytest.raises(tw.IllegalScheduleError) as caught:
        function["S"].parallelize(j)
    panel = function.plot(error=caught.value).panels[0]
    assert panel.witness.kind == "race"
    assert panel.witness.source.values == (0, 0)
    assert panel.witness.sink.values == (0, 1)


# ---- the other ways in, and mistakes ----


def test_what_can_be_drawn():
    function = grid()
    points = len(function.plot(sizes=SIZES).panels[0].points)
    assert len(tw.plot_domain(function["C"], SIZES).panels[0].points) == points
    a = tw.input("A", [N], tw.float64)
    c = tw.computation("C", {i: N}, a[i])
    f = tw.function("f", [c])
    assert len(tw.plot_domain(c, {N: 5}).panels[0].points) == 5
    assert len(tw.plot_domain(f, {N: 0}).panels[0].points) == 0
    value = tw.function("v", [tw.computation("V", {}, tw.sum(a[i], over={i: N}))])
    assert len(tw.plot_domain(value, {N: 3}).panels[0].points) == 3


def test_axes_of_the_caller(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    picture = grid().plot(sizes=SIZES, axes=axes, title="a title")
    assert picture.figure is figure
    assert picture.panels[0].axes is axes
    assert axes.get_title(loc="left") == "a title"
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 1000
    assert picture._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(tw.ScheduleError, match="2 drawings need as many axes, got 1"):
        grid().plot(sizes=SIZES, axes=axes, compare=grid())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no value for N, M; the parameters of grid are N, M"),
        ({"sizes": {"N": 3}}, "no value for M"),
        ({"sizes": {"N": 3, "M": 3, "Q": 1}}, "Q is no parameter"),
        ({"sizes": SIZES, "x": "q"}, "no 'q' to draw along; there are i, j"),
        ({"sizes": SIZES, "space": "somewhere"}, "space is one of 'domain', 'time'"),
        ({"sizes": SIZES, "order": "up"}, "order is one of"),
        ({"sizes": SIZES, "computations": ["Z"]}, "no computation 'Z' to draw; it has C"),
        (
            {"sizes": {"N": 1000, "M": 1000}},
            "more than 20000 instances at these sizes: give smaller sizes",
        ),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(tw.TilewrightError, match=message):
        tw.plot_domain(grid(), **options)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        grid().plot(sizes=SIZES)


# ---- instances ----


def test_instances_are_in_the_order_of_time():
    function = pair()
    function["C"].shift(i, 1).after("B", i)
    execution = execution_at(function, {N: 2})
    assert [str(instance) for instance in execution.instances] == [
        "B[0]",
        "B[1]",
        "C[0]",
        "B[2]",
        "C[1]",
    ]
    first = execution.instances[0]
    assert first.coordinates == {"i": 0}
    assert first.loops == {"i": 0}
    assert first.element == ("B", (0,))
    assert execution.find("C", (1,)) is execution.instances[-1]
    assert execution.find("C", (9,)) is None


def test_copies_of_instances_made_by_compute_at():
    function = pair()
    function["C"].split(i, 2)
    function["B"].compute_at("C", "i0")
    execution = execution_at(function, {N: 4})
    of_b = [instance for instance in execution.instances if instance.computation == "B"]
    assert len(of_b) == 6  # B[2] twice
    assert of_b[0].iterators == ("@i0", "i")
    panel = function.plot(sizes={N: 4}).panels[0]
    assert len(panel.points) == 10
    assert {x for instance, (x, _) in panel.points.items() if instance in of_b} == set(range(5))


@pytest.mark.parametrize("space", ["domain", "time"])
@pytest.mark.parametrize("name", reference.commands())
def test_every_command_can_be_drawn(name, space):
    entry = reference.entry(name)
    names = {"tw": tw}
    exec(f"{entry.example.program}\n{entry.example.prepared}\n{entry.command}", names)
    function = names["f"]
    sizes = dict.fromkeys(function.parameters, 5)
    if name == "fix":
        with pytest.raises(tw.ScheduleError, match="the schedule fixes N at 1024"):
            function.plot(sizes=sizes, space=space)
        sizes = {}
    picture = function.plot(sizes=sizes, space=space)
    panel = picture.panels[0]
    shown = [instance for instance in panel.points if not instance.is_initial]
    assert len(shown) == len(panel.points) >= 5
    assert [instance for run in panel.path for instance in run] == shown
    assert all(a.source in panel.points and a.sink in panel.points for a in panel.arrows)
    if space == "time":
        # A legal schedule: nothing needs what comes later.
        rank = {instance: n for n, instance in enumerate(shown)}
        assert all(rank[a.source] < rank[a.sink] for a in panel.arrows)
    assert picture._repr_png_()
