"""Bad arguments of public functions get an answer that helps: a part of what `scripts/fuzz hostile` does, and what it
has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from fuzz import hostile


@pytest.mark.filterwarnings("ignore")
def test_calls_of_a_fixed_seed():
    answers: Counter[str] = Counter()
    for case in range(100):
        for call, answer, fault in hostile.run_case("test", case):
            assert fault is None, f"scripts/fuzz hostile --seed test --case {case}: {fault}"
            answers[answer.partition(":")[0]] += 1
            answers[call.name] += 1
    # Neither is everything refused, nor does everything succeed, nor is little called.
    assert answers["done"] > 200
    assert answers["DeclarationTypeError"] > 200 and answers["ScheduleTypeError"] > 100
    assert sum("." in name for name in answers) > 250


N, M = tw.params("N M")
i, j = tw.iters("i j")
A = tw.input("A", [N, M], tw.float64)


def made() -> tuple[tw.Function, tw.Computation]:
    C = tw.computation("C", {i: N, j: M}, 2 * A[i, j])
    return tw.function("f", outputs=[C]), C


FOUND: list[tuple[Callable[[tw.Function, Any], object], type[Exception], str]] = [
    (lambda f, C: tw.Schedule(5), TypeError, "commands of a schedule must be a list .* got 5"),
    (lambda f, C: tw.Schedule.load([1]), TypeError, "file of a schedule must be a path"),
    (lambda f, C: tw.Schedule.from_json(5), TypeError, "read from JSON text, got 5"),
    (lambda f, C: f.schedule.apply_to([1]), TypeError, r"applied to a function, got \[1\]"),
    (lambda f, C: f.schedule.renamed(5), TypeError, "a dictionary such as .* got 5"),
    (lambda f, C: f.set_schedule(5), TypeError, "takes a tw.Schedule, or the times .* got 5"),
    (lambda f, C: f.set_schedule("x"), ValueError, "isl cannot read this map"),
    (lambda f, C: C.apply_schedule(5), TypeError, "the isl map of apply_schedule"),
    (lambda f, C: tw.Schedule([("", "transaction", 5)]), TypeError, "commands of a transaction"),
    (lambda f, C: tw.ScheduleDifference(1, 2), TypeError, "made by Schedule.diff"),
    (lambda f, C: C.transform(int, 2**63), TypeError, "loops of transform must be a list"),
    (lambda f, C: C.transform([i, j], 2**63), TypeError, "matrix of transform must be a list"),
    (lambda f, C: C.cache(A, i, order=0.5), TypeError, "order of cache must be a list"),
    (lambda f, C: C.cache(A, i, memory=5), TypeError, "the memory must be a string"),
    (lambda f, C: C.vectorize(i, np.ones(2)), TypeError, "the size must be an integer"),
    (lambda f, C: C.vectorize(i, True), TypeError, "the size must be an integer, got True"),
    (lambda f, C: C.vectorize(i, 2**63), ValueError, "64 bits, got 9223372036854775808"),
    (lambda f, C: C.storage_fold(i, np.ones((2, 2))), TypeError, "the fold must be an integer"),
    (lambda f, C: C.gpu_tile(i, np.ones(2)), TypeError, "number of threads must be an integer"),
    (lambda f, C: C.gpu_tile(int), TypeError, "number of threads must be an integer"),
    (lambda f, C: C.parallelize(i, schedule=np.ones(2)), TypeError, "must be a string"),
    (lambda f, C: C.store_in(5), TypeError, "store_in takes an element such as"),
    (lambda f, C: tw.Buffer([1, 2], i), TypeError, "buffer's name must be a string"),
    (lambda f, C: tw.Buffer("b", 5), TypeError, "shape of buffer b must be a list"),
    (lambda f, C: tw.Buffer("b", [2**64]), ValueError, "64 bits"),
    (lambda f, C: tw.while_loop(3, 4, 5), TypeError, "condition of tw.while_loop must be a func"),
    (lambda f, C: tw.sum(A[i, j], over=np.array(3)), TypeError, "over= of tw.sum must be a list"),
    (lambda f, C: tw.sum(A[i, j], over={i: N}, ordered=5), TypeError, "ordered= of tw.sum"),
    (lambda f, C: tw.iter(np.ones(2)), TypeError, "name of an iterator must be a str"),
    (lambda f, C: tw.iter("\ud800"), ValueError, "cannot be the name of an iterator"),
    (lambda f, C: tw.params("x", minimum=float("nan")), TypeError, "minimum must be an integer"),
    (lambda f, C: tw.params("x", minimum="y"), TypeError, "minimum must be an integer, got 'y'"),
    (lambda f, C: tw.computation("D", {i: N}, 1, shape=5), TypeError, "shape of D must be a list"),
    (lambda f, C: tw.as_dtype(A), TypeError, "is not a type; choose one of"),
    (lambda f, C: tw.Parameter(["i"], True), TypeError, "name of a parameter must be a str"),
    (lambda f, C: tw.Input(5), TypeError, "tw.Input is made by tw.input, not from 5"),
    (lambda f, C: tw.Computation(5), TypeError, "made by tw.computation"),
    (lambda f, C: tw.Expression(5), TypeError, "made by operators and functions"),
    (lambda f, C: tw.Function(0, "zzz"), TypeError, "made by tw.function"),
    (lambda f, C: tw.Function("g", [C], options=5), TypeError, "made by tw.function"),
    (lambda f, C: tw.ComputationHandle(i, "C"), TypeError, r'made by f\["C"\]'),
    (lambda f, C: tw.DType({}, 5), TypeError, "made by tw.as_dtype"),
    (lambda f, C: tw.DeviceArray(5), TypeError, "made by tw.empty"),
    (lambda f, C: tw.StructInput("P", 5, 6), TypeError, "made by tw.input"),
    (lambda f, C: tw.StructOutput("Q", 5, True), TypeError, "made by tw.struct"),
    (lambda f, C: tw.Picture(1, "auto"), TypeError, "what tw.plot_domain gives; its panels"),
    (lambda f, C: tw.Machine("x", 1, 5, 1.0), TypeError, "what tw.machine gives; its flops"),
    (lambda f, C: tw.plot_domain(np.int8(3)), TypeError, "a function or a computation"),
    (lambda f, C: f.plot(sizes=5), TypeError, "sizes must be a dictionary"),
    (lambda f, C: f.plot(sizes={"N": 2, "M": 2}, axes=5), TypeError, "must be matplotlib's"),
    (lambda f, C: f.trace_nan(infinities="x"), TypeError, "infinities must be True or False"),
    (lambda f, C: f.wait_optimized("j"), TypeError, "the timeout must be a number, got 'j'"),
    (lambda f, C: f.wait_optimized(float("nan")), ValueError, "the timeout must be a number"),
    (lambda f, C: setattr(f, "check_bounds", np.ones(2)), TypeError, "must be True or False"),
    (lambda f, C: setattr(f, "target", np.ones(2)), TypeError, "target must be a string"),
    (lambda f, C: tw.compile_all(64), TypeError, "requests must be a list of functions, got 64"),
    (lambda f, C: tw.compile_all([f], progress="x"), TypeError, "progress must be True or False"),
    (lambda f, C: tw.empty(2**200, tw.float32), ValueError, "an integer of 64 bits"),
    (lambda f, C: tw.empty([2], int, range(3)), TypeError, "the device must be a string"),
    (
        lambda f, C: tw.to_device(np.array([None]), "gpu-emulator"),
        TypeError,
        "type object is not supp",
    ),
    (lambda f, C: tw.cache.set_directory({"i"}), TypeError, "directory of the cache must be"),
    (lambda f, C: tw.cache.set_directory("\ud800"), ValueError, "directory of the cache must be"),
    (lambda f, C: tw.param("P", "é > 1"), ValueError, "has 'é' in column 1"),
    (lambda f, C: C.set_schedule("{ C[é] }"), ValueError, "has 'é' in column 5"),
    (lambda f, C: tw.cache.prune(-1), ValueError, "bytes must be at least 0, got -1"),
    (lambda f, C: tw.set_num_threads(np.bool_(True)), TypeError, "must be an integer"),
    (lambda f, C: setattr(tw.settings, "log", np.ones(2)), ValueError, "tw.settings.log must be"),
]


@pytest.mark.parametrize("case", range(len(FOUND)))
def test_found(case):
    """Each is an error of the library with a code, by the class that a NumPy user expects."""
    call, kind, message = FOUND[case]
    with pytest.raises(kind, match=message) as refusal:
        call(*made())
    assert isinstance(refusal.value, tw.TilewrightError)
    assert refusal.value.location is not None and refusal.value.location.file == __file__


def test_integers_of_numpy_are_integers():
    f, C = made()
    C.split(i, np.int8(4)).tile("i1", j, np.int64(2), np.uint16(8))
    tw.set_num_threads(np.int32(tw.get_num_threads()))
    assert f.schedule.commands[0] == ("C", "split", ("i", 4))
    assert tw.empty(np.int64(3), tw.float32, "gpu-emulator").shape == (3,)


def test_a_mapping_to_a_gpu_is_looked_for_beside_copies():
    f, C = made()
    C.split(i, 4).cache(A, "i0")
    assert ".gpu(" in str(f.gpu().schedule)


def test_more_threads_than_processors_are_measured_as_all_of_them(monkeypatch):
    from tilewright.inspection import roofline

    asked = []
    monkeypatch.setattr(roofline, "_stored", lambda count: asked.append(count))
    monkeypatch.setattr(roofline, "_known", {})
    monkeypatch.setattr(roofline, "_measure", lambda count: tw.Machine("x", count, {}, 1.0))
    monkeypatch.setattr(roofline._core, "cache_store_note", lambda *given: None)
    assert tw.machine(1 << 20).threads == asked[0] < 1 << 20


def test_what_is_no_answer():
    """The fuzzer would notice each of these."""

    def raw() -> None:
        tw.cache.os.fspath(5)

    def of_pybind() -> None:
        tw._core.parameter(5)

    for function in (raw, of_pybind):
        _, fault = hostile.run_call("0", hostile.Call(function.__name__, function, []))
        assert fault is not None and fault.kind.startswith("raw TypeError")
    error = tw.InternalError("something went wrong")
    assert hostile.fault_of("x", error) == "internal error"
    assert hostile.fault_of("x", tw.ScheduleError("short")) == "says too little"
    assert hostile.fault_of("x", tw.ScheduleError("long enough to be read")) is not None
    assert hostile.fault_of("x", hostile.TakesTooLong()) == "hangs"
    assert hostile.fault_of("x", AttributeError("'int' has no attribute 'name'")) is not None
