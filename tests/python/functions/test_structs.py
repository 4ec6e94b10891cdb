"""Structured arrays: fields as inputs, computations as fields of one result, without copies."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")
POINT = np.dtype([("x", np.float32), ("id", np.int64), ("y", np.float32)])
ALIGNED = np.dtype([("x", np.float32), ("id", np.int64), ("y", np.float32)], align=True)


def points(n, dtype=ALIGNED):
    array = np.zeros(n, dtype)
    generator = np.random.default_rng(n)
    array["x"] = generator.integers(-9, 9, n)
    array["y"] = generator.integers(-9, 9, n)
    array["id"] = np.arange(n)[::-1]
    return array


def moving(dtype=POINT):
    p = tw.input("P", [N], dtype)
    x = tw.computation("X", {i: N}, p.x[i] * 2 + p["y"][i])
    label = tw.computation("L", {i: N}, p.id[i] + 1)
    return p, x, label


def test_a_structured_input():
    p, x, _ = moving()
    function = tw.function("f", outputs=[x])
    assert function.signature == "f(P: {x: float32, y: float32}[N]) -> X: float32[N]"
    assert list(inspect.signature(function).parameters) == ["P", "N", "out", "threads"]
    assert "P_x[16 * i0 + i1]" in function.loops
    for n in (0, 1, 9, 33):
        array = points(n)
        expected = array["x"] * 2 + array["y"]
        for result in (function(array), function(P=array), function.evaluate(array)):
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == np.float32
    out = np.empty(4, np.float32)
    assert function(points(4), out=out) is out
    assert p.shape[0].__repr__() == "N" and list(p.fields) == ["x", "id", "y"]
    assert repr(p) == "<StructInput P[N] {x: float32, id: int64, y: float32}>"


@pytest.mark.parametrize("layout", [POINT, ALIGNED])
@pytest.mark.parametrize("vector", [False, True])
def test_packed_and_aligned_records(layout, vector):
    _, x, label = moving()
    function = tw.function("f", outputs=[x, label])
    if vector:
        x.vectorize(i, 8)
        label.vectorize(i, 4)
    for n in (0, 1, 8, 29):
        array = points(n, layout)
        first, second = function(array)
        np.testing.assert_array_equal(first, array["x"] * 2 + array["y"])
        np.testing.assert_array_equal(second, array["id"] + 1)
        whole = points(2 * n, layout)
        first, second = function(whole[::-2])
        np.testing.assert_array_equal(first, whole["x"][::-2] * 2 + whole["y"][::-2])
        np.testing.assert_array_equal(second, whole["id"][::-2] + 1)


def test_fields_of_records_of_other_layouts():
    _, x, _ = moving()
    function = tw.function("f", outputs=[x])
    other = np.zeros(5, [("y", np.float32), ("name", "U3"), ("x", np.float32)])
    other["x"], other["y"] = np.arange(5), 7
    np.testing.assert_array_equal(function(other), other["x"] * 2 + 7)


def test_a_structured_output():
    _, x, label = moving()
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    shown = "f(P: {x: float32, id: int64, y: float32}[N]) -> Q: {x: float32, id: int64}[N]"
    assert function.signature == shown
    x.vectorize(i, 8)
    for n in (0, 1, 9, 40):
        array = points(n)
        for result in (function(array), function.evaluate(array)):
            assert result.dtype == np.dtype([("x", "f4"), ("id", "i8")], align=True)
            np.testing.assert_array_equal(result["x"], array["x"] * 2 + array["y"])
            np.testing.assert_array_equal(result["id"], array["id"] + 1)


def test_out_of_a_structured_output():
    _, x, label = moving()
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    array = points(6)
    out = np.zeros(6, np.dtype([("id", "i8"), ("kept", "i4"), ("x", "f4")], align=True))
    out["kept"] = 5
    for given in (out, (out,), {"Q": out}):
        assert function(array, out=given) is out
        np.testing.assert_array_equal(out["x"], array["x"] * 2 + array["y"])
        np.testing.assert_array_equal(out["kept"], np.full(6, 5))


def test_structs_and_arrays_together():
    b = tw.input("B", [N], tw.float32)
    p, x, label = moving()
    y = tw.computation("Y", {i: N}, p.y[i] - b[i])
    function = tw.function("f", outputs=[y, tw.struct("Q", x=x, id=label)], inputs=[b, p])
    assert list(inspect.signature(function).parameters)[:2] == ["B", "P"]
    array, plain = points(7), np.arange(7, dtype=np.float32)
    for difference, both in (function(plain, array), function(P=array, B=plain)):
        np.testing.assert_array_equal(difference, array["y"] - plain)
        np.testing.assert_array_equal(both["id"], array["id"] + 1)
    target = np.empty(7, np.float32)
    assert function(plain, array, out=(target, None))[0] is target
    copy = function.copy()
    np.testing.assert_array_equal(copy(plain, array)[1], both)


def test_an_output_in_the_records_of_an_input():
    """The kernel reads and writes the same records: the input is copied first."""
    _, x, label = moving()
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    array = points(9)
    expected = array["x"] * 2 + array["y"], array["id"] + 1
    function(array, out=array)
    np.testing.assert_array_equal(array["x"], expected[0])
    np.testing.assert_array_equal(array["id"], expected[1])


def test_a_field_in_place():
    p = tw.input("P", [N], ALIGNED)
    x = tw.computation("X", {i: N}, p.x[i] + p.y[i])
    function = tw.function("f", outputs=[x])
    x.store_in(p.x[i])
    array = points(9)
    expected = array["x"] + array["y"]
    result = function(array)
    np.testing.assert_array_equal(array["x"], expected)
    assert result.base is array


def test_no_dimensions():
    p = tw.input("P", [], ALIGNED)
    x = tw.computation("X", {}, p.x[()] + 1)
    y = tw.computation("Y", {}, p.id[()] * 2)
    function = tw.function("f", outputs=[tw.struct("Q", x=x, y=y)])
    record = np.zeros((), ALIGNED)
    record["x"], record["id"] = 3, 4
    result = function(record)
    assert (result["x"], result["y"]) == (4, 8)


def test_schedules_of_struct_functions_are_values():
    _, x, label = moving()
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    label.after(x, i)
    schedule = pickle.loads(pickle.dumps(function.schedule))
    function.reset_schedule()
    function.set_schedule(schedule)
    assert function.schedule == schedule
    assert function.compile(points(3))["key"]


# ---- errors ----


def test_errors_of_calls():
    _, x, label = moving()
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    with pytest.raises(TypeError, match=r"missing the argument P"):
        function()
    with pytest.raises(TypeError, match=r"expected a structured NumPy array .*got list"):
        function([1, 2])
    with pytest.raises(TypeError, match=r"expected the fields x, id, y, got no fields \(float32\)"):
        function(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match=r"expected the fields x, id, y, got the fields x, y"):
        function(np.zeros(3, [("x", "f4"), ("y", "f4")]))
    wrong = np.zeros(3, [("x", "f8"), ("y", "f4"), ("id", "i8")])
    with pytest.raises(TypeError, match=r"P\.x: expected float32, got float64"):
        function(wrong)
    with pytest.raises(TypeError, match=r"takes 1 arrays \(P\), 2 were given"):
        function(points(3), points(3))
    with pytest.raises(TypeError, match=r"several values for the argument P"):
        function(points(3), P=points(3))
    with pytest.raises(ValueError, match=r"out= names 'R'; the outputs are Q"):
        function(points(3), out={"R": None})
    with pytest.raises(ValueError, match=r"Q|X|L"):
        function(points(3), out=np.zeros(4, np.dtype([("x", "f4"), ("id", "i8")], align=True)))
    packed = np.zeros(3, [("x", "f4"), ("id", "i8")])
    with pytest.raises(ValueError, match=r"L: the array is not aligned to its items of 8 bytes"):
        function(points(3), out=packed)


def test_errors_of_declarations():
    with pytest.raises(tw.DeclarationTypeError, match="field 'v' of P is"):
        tw.input("P", [N], np.dtype([("v", np.float32, 3)]))
    with pytest.raises(tw.DeclarationTypeError, match="fields are single numbers"):
        tw.input("P", [N], np.dtype([("v", POINT)]))
    p = tw.input("P", [N], POINT)
    with pytest.raises(AttributeError, match="P has no field 'z'; its fields are x, id, y"):
        _ = p.z
    with pytest.raises(tw.DeclarationError, match="P has no field 'z'"):
        p["z"]
    with pytest.raises(tw.DeclarationTypeError, match=r"read P\.x\[\.\.\.\]"):
        p[0]
    with pytest.raises(tw.DeclarationError, match="at least one field"):
        tw.struct("Q")
    with pytest.raises(tw.DeclarationTypeError, match="must be a computation, got Input"):
        tw.struct("Q", x=p.x)
    x = tw.computation("X", {i: N}, p.x[i])
    z = tw.computation("Z", {i: N, j: M}, p.x[i])
    with pytest.raises(tw.DeclarationError, match="x has 1 dimension, z has 2 dimensions"):
        tw.struct("Q", x=x, z=z)
    with pytest.raises(tw.DeclarationError, match="two arrays named P"):
        tw.function("f", outputs=[tw.struct("P", x=x)])


def test_fields_of_other_lengths():
    _, x, _ = moving()
    z = tw.computation("Z", {i: 2 * N}, tw.cast(i, tw.float32))
    function = tw.function("f", outputs=[tw.struct("Q", x=x, z=z)])
    with pytest.raises(ValueError, match=r"fields of Q differ in shape: x \(3,\), z \(6,\)"):
        function(points(3))


# ---- temporaries ----


def two_fields(n=N):
    a = tw.input("A", [n], tw.float32)
    x = tw.computation("X", {i: n}, a[i] * 2)
    label = tw.computation("L", {i: n}, tw.cast(a[i], tw.int64) + i)
    c = tw.computation("C", {i: n}, x[n - 1 - i] + tw.cast(label[i], tw.float32))
    return tw.function("f", outputs=[c]), x, label, c


def check_two_fields(function):
    for n in (0, 1, 7, 40):
        a = np.arange(n, dtype=np.float32) - 3
        expected = (a * 2)[::-1] + (a + np.arange(n, dtype=np.float32))
        np.testing.assert_array_equal(function(a), expected)
        np.testing.assert_array_equal(function.evaluate(a), expected)


@pytest.mark.parametrize("layout", ["soa", "aos"])
@pytest.mark.parametrize("dtype", [POINT, ALIGNED])
@pytest.mark.parametrize(("vector", "parallel"), [(False, False), (True, False), (False, True)])
def test_temporaries_with_fields(layout, dtype, vector, parallel):
    function, x, label, c = two_fields()
    buffer = tw.Buffer("buf", [N], dtype, layout=layout)
    x.store_in(buffer["x"][i])
    label.store_in(buffer["id"], [i])
    if vector:
        for each in (x, label, c):
            each.vectorize(i, 8)
    if parallel:
        for each in (x, label):  # written inside of a parallel loop, read outside
            each.parallelize(i)
    assert "buf_x[" in function.loops and "buf_id[" in function.loops
    check_two_fields(function)
    memory = function.llvm.count("call ptr @tilewright_allocate")
    assert memory == (1 if layout == "aos" else 2)
    size = dtype.itemsize
    shown = f"bytes into the records 'buf' of {size}" in function.layers
    assert shown == (layout == "aos")


def test_records_are_part_of_the_schedule():
    function, x, label, _ = two_fields()
    buffer = tw.Buffer("buf", [N], ALIGNED, layout="aos")
    x.store_in(buffer["x"][i])
    label.store_in(buffer["id"][i])
    text = str(function.schedule)
    assert text.split("\n") == [
        'X.store_in(tw.Buffer("buf_x", ["N"], record=("buf", 0, 24)), ["i"])',
        'L.store_in(tw.Buffer("buf_id", ["N"], record=("buf", 8, 24)), ["i"])',
    ]
    other, *_ = two_fields()
    other.set_schedule(tw.Schedule.from_json(function.schedule.to_json()))
    assert other.schedule == function.schedule and other.layers == function.layers
    again, x3, label3, _ = two_fields()
    exec(text, {"tw": tw, "X": x3, "L": label3})
    assert again.schedule == function.schedule
    check_two_fields(again)
    plain, x4, label4, _ = two_fields()
    apart = tw.Buffer("buf", [N], ALIGNED)
    x4.store_in(apart["x"][i])
    label4.store_in(apart["id"][i])
    assert plain.compile()["key"] != again.compile()["key"]


def test_folded_records():
    n, m = tw.params("N M")
    a = tw.input("A", [n, m], tw.int64)
    rows = tw.computation("R", {i: n, j: m}, a[i, j] * 2)
    c = tw.computation("C", {i: n, j: m}, rows[i, j] + 1)
    function = tw.function("f", outputs=[c])
    c.after(rows, i)
    record = np.dtype([("r", np.int64), ("other", np.int32)])
    rows.store_in(tw.Buffer("buf", [n, m], record, layout="aos")["r"][i, j])
    rows.storage_fold(i, 1)
    assert "records 'buf' of 12" in function.layers
    array = np.arange(20).reshape(4, 5)
    np.testing.assert_array_equal(function(array), array * 2 + 1)


def test_errors_of_records():
    function, x, label, c = two_fields()
    buffer = tw.Buffer("buf", [N], ALIGNED, layout="aos")
    with pytest.raises(tw.ScheduleError, match="buffer buf has no field 'z'; its fields are x, id"):
        buffer["z"]
    with pytest.raises(tw.ScheduleError, match='"soa" or "aos"'):
        tw.Buffer("buf", [N], ALIGNED, layout="columns")
    for plain in (np.dtype(np.float32), np.float32, tw.float32, "f4", "no type"):
        with pytest.raises(tw.ScheduleError, match=r"dtype of buffer buf must have fields, got "):
            tw.Buffer("buf", [N], plain)
    assert tw.Buffer("buf", [N], [("x", "f4"), ("id", "i8")])["id"].name == "buf_id"
    with pytest.raises(tw.ScheduleError, match="only temporaries have records"):
        c.store_in(buffer["x"][i])
    with pytest.raises(tw.ScheduleError, match="int64 at byte 4 does not fit a record of 8 bytes"):
        label.store_in(tw.Buffer("buf_id", [N], record=("buf", 4, 8)), [i])
    x.store_in(buffer["x"][i])
    with pytest.raises(tw.ScheduleError, match="overlap in its records"):
        label.store_in(tw.Buffer("buf_id", [N], record=("buf", 0, 24)), [i])
    with pytest.raises(tw.ScheduleError, match="differ in shape"):
        label.store_in(tw.Buffer("buf_id", [N + 1], record=("buf", 8, 24)), [i])
    with pytest.raises(tw.ScheduleError, match="declared as a field of a record in one way"):
        label.store_in(tw.Buffer("buf_x", [N]), [i])
    assert len(function.schedule) == 1


def test_records_of_other_libraries():
    record = np.dtype([("x", np.float32), ("id", np.int64)])
    n, i = tw.param("N"), tw.iter("i")
    p = tw.input("P", [n], record)
    scaled = tw.computation("X", {i: n}, p.x[i] * 2)
    f = tw.function("f", outputs=[tw.struct("Q", x=scaled)])
    array = np.zeros(4, record)
    array["x"] = np.arange(4)
    np.testing.assert_array_equal(f(memoryview(array))["x"], array["x"] * 2)
    out = np.zeros(4, record)
    view = memoryview(out)
    assert f(array, out=view) is view
    np.testing.assert_array_equal(out["x"], array["x"] * 2)
    with pytest.raises(TypeError, match=r"expected a structured NumPy array .*, got list"):
        f([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        f(array, out=view.toreadonly())


def test_messages_name_what_a_person_wrote():
    p, x, label = moving()
    b = tw.input("b", [N], tw.float32)
    y = tw.computation("Y", {i: N}, p["y"][i] + b[i])
    function = tw.function("f", inputs=[p, b], outputs=[tw.struct("Q", x=x, id=label), y])
    array, other = points(4, POINT), np.ones(4, np.float32)
    wrong = np.ones(4, [("x", np.float64), ("id", np.int64), ("y", np.float32)])
    with pytest.raises(TypeError, match=r"argument P\.x: expected float32, got float64"):
        function(wrong, other)
    with pytest.raises(ValueError, match=r"argument P\.x: expected 1 dimension"):
        function(array.reshape(2, 2), other)
    with pytest.raises(ValueError, match=r"axis 0 has 3 elements, .* axis 0 of P\.x\)"):
        function(array, other[:3])
    with pytest.raises(TypeError, match=r"f\(\) is missing the argument b: f\(P: \{x: float32"):
        function(array)
    for keyword in ("P_x", "nothing"):
        with pytest.raises(
            TypeError,
            match=rf"unexpected keyword '{keyword}'; its inputs are P, b, its parameters N",
        ):
            function(array, other, **{keyword: other})


def test_a_field_of_a_result_that_lies_in_an_input():
    p, x, label = moving(ALIGNED)
    function = tw.function("f", outputs=[tw.struct("Q", x=x, id=label)])
    x.store_in(p.x[i])
    array = points(5)
    before = array.copy()
    result = function(array)
    np.testing.assert_array_equal(result["x"], before["x"] * 2 + before["y"])
    np.testing.assert_array_equal(result["id"], before["id"] + 1)
    np.testing.assert_array_equal(array["x"], result["x"])
    out = np.zeros(5, result.dtype)
    assert function(before, out=out) is out
    np.testing.assert_array_equal(out, result)
