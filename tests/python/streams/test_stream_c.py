"""Stream functions as C source, compiled by a C compiler: the bits of `Stream.push`, in any cuts."""

from __future__ import annotations

import ctypes
import math
import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from dsp_cases import CASES, chunk_of

import tilewright as tw

COMPILER = next(filter(shutil.which, ("gcc", "cc", "clang-19", "clang")), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

#: The compiled kernel sums up in the lanes of a vector here, and C in order (docs/export.md).
IN_LANES = {"autocorrelation", "wave_1d", "wave_2d"}

FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
OK, STATE, COUNT, NULL_POINTER, SUBSCRIPT = 0, 3, 4, 5, 6


def pointer(array: np.ndarray | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


class CStream:
    """An exported stream, compiled, in the manner of `Stream`."""

    def __init__(
        self, k: tw.StreamFunction, folder: pathlib.Path, given: dict[str, Any], **options: Any
    ) -> None:
        self.stream = k.stream(**given)  # tells types, shapes and names
        sizes = {name: self.stream._sizes[name] for name in self.stream._sizes}
        self.exported = k.export_source(folder, **sizes, **options)
        assert COMPILER is not None
        library = folder / "stream.so"
        command = [COMPILER, *FLAGS, "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized"]
        done = subprocess.run(
            [*command, str(self.exported.source), "-o", str(library), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[:4000]
        self.path = library
        self.library = ctypes.CDLL(str(library.resolve()), os.RTLD_NOW)
        self.call("state_size").restype = ctypes.c_size_t
        nbytes = self.call("state_size")()
        assert nbytes == self.exported.state_nbytes
        # Guards behind the state: nothing is written there.
        self.memory = np.full(nbytes // 8 + 16, 0x5A5A5A5A5A5A5A5A, np.int64)
        self.state = self.memory[:-8]
        self.inputs = self.stream._nothing()
        found = self.stream.push(*self.inputs)
        self.outputs = found if isinstance(found, tuple) else (found,)
        period = self.stream.period
        counts = [period[name] for name in k.inputs]
        self.units = [count // math.gcd(*counts) for count in counts]
        arguments: list[Any] = []
        prototype = next(each for each in self.exported.prototypes if "_init(" in each)
        for declared in re.findall(r"\((.*)\)", prototype)[0].split(", ")[1:]:
            kind, name = declared.rsplit(" ", 1)
            array = self.stream._arrays[name.lstrip("*").rstrip("_")]
            if "*" in declared:
                arguments.append(pointer(array))
            else:
                arguments.append({"double": ctypes.c_double, "float": ctypes.c_float}[kind](array))
        assert self.call("init")(pointer(self.state), *arguments) == OK

    def call(self, name: str) -> Any:
        return self.library[f"{self.exported.name}_{name}"]

    def push(self, *chunks: np.ndarray) -> tuple[np.ndarray, ...]:
        length = len(chunks[0])
        counts = [ctypes.c_int64() for _ in self.outputs]
        addresses = [ctypes.byref(count) for count in counts]
        known = self.call("counts")(pointer(self.state), ctypes.c_int64(length), *addresses)
        assert known == OK
        rooms = [
            np.full((count.value + 1, *port.shape[1:]), 77).astype(port.dtype)
            for count, port in zip(counts, self.outputs, strict=True)
        ]
        both: list[Any] = []
        for room, address in zip(rooms, addresses, strict=True):
            both += [pointer(room), address]
        status = self.call("push")(
            pointer(self.state), ctypes.c_int64(length), *map(pointer, chunks), *both
        )
        assert status == OK
        assert (self.memory[-8:] == 0x5A5A5A5A5A5A5A5A).all()
        for room, count in zip(rooms, counts, strict=True):
            untouched = np.array(77).astype(room.dtype)
            assert len(room) == count.value + 1 and (room[-1] == untouched).all()
        return tuple(room[:-1] for room in rooms)


@pytest.mark.parametrize("name", CASES)
def test_the_bits_of_a_push(name: str, tmp_path: pathlib.Path) -> None:
    """In cuts of any length: shorter and longer than the steps that it takes."""
    make, given = CASES[name]
    k = make()
    c = CStream(k, tmp_path, given, largest=16)
    rng = np.random.default_rng(len(name))
    ours, given_out, pushed = k.stream(**given), [], []
    lengths = [0, 1, 2, 40, 3, 17, 0, 16, 30]
    for length in lengths:
        chunks = [
            chunk_of(port, length * unit, rng) for port, unit in zip(c.inputs, c.units, strict=True)
        ]
        expected = ours.push(*chunks)
        expected = expected if isinstance(expected, tuple) else (expected,)
        pushed.append(chunks)
        given_out.append(c.push(*chunks))
        for found, right in zip(given_out[-1], expected, strict=True):
            assert found.dtype == right.dtype
            if name in IN_LANES:
                np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
            else:
                assert found.tobytes() == right.tobytes(), (name, length)
    # At once, it is the same, whatever the order of sums.
    assert c.call("reset")(pointer(c.state)) == OK
    whole = c.push(*(np.concatenate(parts) for parts in zip(*pushed, strict=True)))
    for found, parts in zip(whole, zip(*given_out, strict=True), strict=True):
        assert found.tobytes() == np.concatenate(parts).tobytes()
    # A copy of the bytes is a copy of the stream; `reset` goes back.
    kept = c.state.copy()
    chunks = [chunk_of(port, 8 * unit, rng) for port, unit in zip(c.inputs, c.units, strict=True)]
    first = [each.tobytes() for each in c.push(*chunks)]
    c.state[:] = kept
    assert [each.tobytes() for each in c.push(*chunks)] == first
    assert c.call("reset")(pointer(c.state)) == OK
    fresh = k.stream(**given).push(*chunks)
    fresh = fresh if isinstance(fresh, tuple) else (fresh,)
    for found, right in zip(c.push(*chunks), fresh, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_nothing_is_allocated_and_nothing_is_left_undone(tmp_path: pathlib.Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    make, given = CASES["reverb"]
    c = CStream(make(), tmp_path, given)
    named = subprocess.run(
        ["nm", "-D", "--undefined-only", str(c.path)], capture_output=True, text=True, check=True
    ).stdout
    used = {line.split()[-1].split("@")[0] for line in named.splitlines()}
    used = {name for name in used if not name.startswith("_")}
    assert used <= {"memcpy", "memset", "memmove", "fma", "fmaf"}
    assert "malloc" not in c.exported.source.read_text()


def test_what_is_refused_changes_nothing(tmp_path: pathlib.Path) -> None:
    k = tw.kernels.dsp.fir(tw.float64)
    h = np.array([1.0, 2.0])
    c = CStream(k, tmp_path, {"h": h})
    x, y, count = np.arange(1.0, 5), np.zeros(9), ctypes.c_int64()
    push, where = c.call("push"), pointer(c.state)
    number = ctypes.byref(count)
    fresh = np.zeros_like(c.state)
    for arguments, status in (
        ((where, -1, pointer(x), pointer(y), number), COUNT),
        ((where, 2**41, pointer(x), pointer(y), number), COUNT),
        ((where, 4, pointer(None), pointer(y), number), NULL_POINTER),
        ((where, 4, pointer(x), pointer(None), number), NULL_POINTER),
        ((where, 4, pointer(x), pointer(y), None), NULL_POINTER),
        ((pointer(None), 4, pointer(x), pointer(y), number), STATE),
        ((pointer(fresh), 4, pointer(x), pointer(y), number), STATE),
        ((ctypes.c_void_p(c.state.ctypes.data + 1), 4, pointer(x), pointer(y), number), STATE),
    ):
        state, length, *others = arguments
        assert push(state, ctypes.c_int64(length), *others) == status
    assert c.call("init")(where, pointer(None)) == NULL_POINTER
    assert c.call("init")(pointer(None), pointer(h)) == NULL_POINTER
    assert c.call("init")(ctypes.c_void_p(c.state.ctypes.data + 4), pointer(h)) == STATE
    np.testing.assert_array_equal(c.push(x)[0], [1, 4, 7, 10])
    assert c.call("flush")(where, pointer(y), number) == OK and count.value == 0
    np.testing.assert_array_equal(c.push(x)[0], [9, 4, 7, 10])


def test_names_that_the_functions_have_for_themselves(tmp_path: pathlib.Path) -> None:
    n = tw.iter("n")
    s, count = tw.stream("s", tw.float64), tw.stream("count", tw.float64)
    after = tw.input("after", [], tw.float64)
    y = tw.computation("state", {n: tw.forever}, s[2 * n] * after[()] + count[n] + s[2 * n + 1])
    k = tw.stream_function("double", outputs=[y])
    assert k.export_source(tmp_path / "renamed").name == "double_"
    c = CStream(k, tmp_path, {"after": 3.0}, name="own")
    data = np.random.default_rng(1).random((3, 20))
    s_data = data[:2].reshape(-1)
    (found,) = c.push(s_data, data[2])
    np.testing.assert_array_equal(found, k.stream(after=3.0).push(s_data, data[2]))
    odd = c.call("push")(pointer(c.state), ctypes.c_int64(3), *[pointer(s_data)] * 4)
    assert odd == COUNT


@pytest.mark.parametrize(
    ("given", "wanted"), [("x", "x"), ("y_count", "y"), ("x", "memmove"), ("memset", "y")]
)
def test_names_that_outputs_have_for_themselves(
    given: str, wanted: str, tmp_path: pathlib.Path
) -> None:
    n, x = tw.iter("n"), tw.stream(given, tw.float64)
    y = x if given == wanted else tw.computation(wanted, {n: tw.forever}, x[n] + x[n + 3])
    k = tw.stream_function("f", outputs=[y])
    c = CStream(k, tmp_path, {})
    data = np.random.default_rng(1).random(20)
    np.testing.assert_array_equal(c.push(data)[0], k.stream().push(data))


@pytest.mark.parametrize("dtype", [tw.bool, tw.int8, tw.uint64, tw.float16, tw.complex128])
def test_types(dtype: Any, tmp_path: pathlib.Path) -> None:
    """With a latency, and with values that depend on the time."""
    n = tw.iter("n")
    x = tw.stream("x", dtype)
    y = tw.computation("y", {n: tw.forever}, dtype=dtype)
    if dtype == tw.bool:
        y.define(n == 0, x[3])
        y.define(n > 0, (x[n + 3] & ~y[n - 1]) | (n % 5 == 3))
    else:
        y.define(n == 0, x[3])
        y.define(n > 0, x[n + 3] - y[n - 1] + tw.cast(n % 5, dtype))
    k = tw.stream_function("typed", outputs=[y])
    c, s = CStream(k, tmp_path, {}, largest=8), k.stream()
    rng = np.random.default_rng(6)
    for length in (1, 1, 2, 9, 0, 30):
        chunk = rng.integers(0, 2, length).astype(dtype.dtype)
        assert c.push(chunk)[0].tobytes() == s.push(chunk).tobytes()


def test_as_a_part_of_a_program(tmp_path: pathlib.Path) -> None:
    """The state in static memory, for C and for C++."""
    k = tw.kernels.dsp.decimator(2, tw.float32)
    exported = k.export_source(tmp_path, R=2, largest=4)
    program = """#include <stdio.h>
#include "decimator.h"
static long long state[DECIMATOR_STATE_NBYTES / 8 + 1];
int main(void) {
  const float h[2] = {1, 10};
  float x[7] = {1, 2, 3, 4, 5, 6, 7}, y[4];
  int64_t count = 0;
  int status = decimator_init(state, h);
  for (int k = 0; k < 7 && status == DECIMATOR_OK; ++k) {
    status = decimator_push(state, 1, x + k, y, &count);
    for (int64_t i = 0; i < count; ++i) {
      printf("%g ", y[i]);
    }
  }
  printf("%d", status);
  return 0;
}
"""
    (tmp_path / "main.c").write_text(program)
    binary = tmp_path / "main"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-I", str(tmp_path)]
    sources = [str(tmp_path / "main.c"), str(exported.source)]
    subprocess.run([COMPILER, *flags, *sources, "-o", str(binary), "-lm"], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    assert done.stdout == "1 23 45 67 0"
    if shutil.which("g++"):
        header = tmp_path / "header.cpp"
        header.write_text('#include "decimator.h"\n')
        subprocess.run(["g++", "-Wall", "-Werror", "-fsyntax-only", str(header)], check=True)


def test_text_and_refusals(tmp_path: pathlib.Path) -> None:
    text = tw.kernels.dsp.cic().c
    assert "int cic_push(void *state, int64_t count, const int64_t *x, int64_t *y" in text
    fir = tw.kernels.dsp.fir()
    with pytest.raises(tw.ExportError, match=r"fir needs R to be written in C: .*R=\.\.\."):
        fir.c
    with pytest.raises(tw.ArgumentError, match="fir needs R"):
        fir.export_source(tmp_path)
    with pytest.raises(tw.ArgumentError, match="fir has R, not 'Q'"):
        fir.export_source(tmp_path, Q=3)
    with pytest.raises(tw.ArgumentError, match="largest must be at least 1"):
        fir.export_source(tmp_path, R=3, largest=0)
    with pytest.raises(tw.ArgumentTypeError, match="largest must be an integer"):
        fir.export_source(tmp_path, R=3, largest="8")
    with pytest.raises(tw.ArgumentTypeError, match="directory"):
        fir.export_source(3, R=3)  # type: ignore[arg-type]
    with pytest.raises(tw.ExportError, match="not a name of a C function"):
        fir.export_source(tmp_path, R=3, name="a b")
    (tmp_path / "file").write_text("")
    with pytest.raises(tw.ExportError, match="is no directory"):
        fir.export_source(tmp_path / "file", R=3)
    n, c = tw.iters("n c")
    x = tw.stream("x", tw.float32)
    rows = tw.computation("rows", {c: 2, n: tw.forever}, x[n])
    with pytest.raises(tw.ExportError, match="time is not the first dimension of rows"):
        tw.stream_function("rows_of", outputs=[rows]).export_source(tmp_path)
    j = tw.iter("j")
    place = tw.input("place", [5], tw.int64)
    table = tw.input("table", [5], tw.float32)
    sorted_ = tw.computation("sorted", {j: 5}, 2 * table[place[j]])
    louder = tw.computation("louder", {n: tw.forever}, x[n] * sorted_[n % 5])
    with pytest.raises(
        tw.ExportError, match="when a stream is opened with subscripts that are data"
    ):
        tw.stream_function("opening", outputs=[louder]).export_source(tmp_path)


def a_chorus() -> tw.StreamFunction:
    """A sine moves the delay of what is heard; another stream moves the delay of what is fed back."""
    n = tw.iter("n")
    x, d = tw.stream("x", tw.float64), tw.stream("d", tw.int64)
    late = tw.cast(100 + 90 * tw.sin(0.01 * x[n]), tw.int64)
    y = tw.computation("y", {n: tw.forever}, dtype=tw.float64)
    y.define(n < 200, x[n])
    y.define(n >= 200, x[n] + 0.5 * x[n - late] + 0.25 * y[n - tw.clamp(d[n], 1, 150)])
    return tw.stream_function("chorus", outputs=[y])


def test_times_that_data_decide_about(tmp_path: pathlib.Path) -> None:
    k = a_chorus()
    c, s = CStream(k, tmp_path, {}, largest=64), k.stream()
    rng = np.random.default_rng(7)
    for length in (1, 64, 0, 63, 64, 2, 64, 64, 1, 1, 64, 30, 64):
        x, d = 100 * rng.standard_normal(length), rng.integers(-300, 300, length)
        assert c.push(x, d)[0].tobytes() == s.push(x, d).tobytes()
    text = c.exported.source.read_text()
    assert "omp atomic" not in text and "at most 64 elements" in text


def test_a_subscript_outside_of_its_array_changes_nothing(tmp_path: pathlib.Path) -> None:
    """The stream goes on from where it was, with an element that was computed before in its line."""
    n = tw.iter("n")
    x, table = tw.stream("x", tw.float64), tw.input("table", [5], tw.float64)
    at = tw.cast(tw.floor(x[n]), tw.int64)
    y = tw.computation("y", {n: tw.forever}, dtype=tw.float64)
    y.define(n == 0, x[0])
    y.define(n > 0, 0.5 * y[n - 1] + table[at])
    k = tw.stream_function("looking_up", outputs=[y])
    given = {"table": np.arange(5.0)}
    c, s = CStream(k, tmp_path, given, largest=8), k.stream(**given)
    rng = np.random.default_rng(8)
    room, count = np.zeros(9), ctypes.c_int64(3)
    for _ in range(9):
        x_data = rng.uniform(0, 5, 8)
        assert c.push(x_data)[0].tobytes() == s.push(x_data).tobytes()
        for bad in (5.0, -1.0, 1e30, -np.inf):
            wrong = np.append(x_data[:6], bad)
            arguments = (pointer(wrong), pointer(room), ctypes.byref(count))
            status = c.call("push")(pointer(c.state), ctypes.c_int64(7), *arguments)
            assert status & 255 == SUBSCRIPT and count.value == 0
            with pytest.raises(tw.SubscriptError):
                s.push(wrong)
        later = rng.uniform(0, 5, 3)
        assert c.push(later)[0].tobytes() == s.push(later).tobytes()
    arguments = (pointer(rng.uniform(0, 5, 9)), pointer(room), ctypes.byref(count))
    assert c.call("push")(pointer(c.state), ctypes.c_int64(9), *arguments) == COUNT
