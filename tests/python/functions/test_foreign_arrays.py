"""Arrays of other libraries: the buffer protocol, DLPack with and without a version, NumPy's own
interface attributes; as inputs and as outputs."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

i, j = tw.iters("i j")
N, M = tw.params("N M")


def doubling(dtype: Any = tw.float32, rank: int = 2) -> Any:
    x = tw.input("x", [N, M][:rank], dtype)
    domain = {i: N, j: M} if rank == 2 else {i: N}
    value = x[i, j] if rank == 2 else x[i]
    return tw.function("doubling", outputs=[tw.computation("y", domain, value + value)])


# ---- DLPack, written out ----


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("number", ctypes.c_int32)]


class Kind(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("rank", ctypes.c_int32),
        ("kind", Kind),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = [ctypes.py_object]

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6, "V": 4}


class Exporter:
    """An array that gives its memory by DLPack alone, and counts."""

    def __init__(
        self, memory: np.ndarray, version: tuple[int, int] | None = (1, 0), **options: Any
    ):
        self.memory, self.version, self.options = memory, version, options
        self.exported = self.deleted = 0
        self.asked: list[dict[str, Any]] = []
        self.capsules: list[Any] = []
        self.kept: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.options.get("device", (1, 0))

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        if self.version is None and keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.exported += 1
        memory, options = self.memory, self.options
        item = memory.itemsize
        rank = options.get("rank", memory.ndim)
        shape = (ctypes.c_int64 * max(rank, 1))(*memory.shape[:rank])
        strides = (ctypes.c_int64 * max(rank, 1))(*(step // item for step in memory.strides[:rank]))
        offset = options.get("offset", 0)
        kind = Kind(
            CODES[memory.dtype.kind] if memory.dtype != ml_dtypes.bfloat16 else 4,
            item * 8,
            1,
        )
        tensor = Tensor(
            None if options.get("no_memory") else memory.ctypes.data - offset,
            Device(*options.get("tensor_device", options.get("device", (1, 0)))),
            rank,
            Kind(*options["kind"]) if "kind" in options else kind,
            shape,
            None if options.get("no_strides") else strides,
            offset,
        )
        deleter = DELETER(self.delete) if not options.get("no_deleter") else DELETER()
        if self.version is None:
            managed: Any = Legacy(tensor, None, deleter)
            name = b"dltensor"
        else:
            flags = options.get("flags", 0)
            managed = Versioned(*self.version, None, deleter, flags, tensor)
            name = b"dltensor_versioned"
        self.kept += [managed, shape, strides, deleter]
        capsule = new_capsule(ctypes.addressof(managed), options.get("name", name), None)
        self.capsules.append(capsule)
        return capsule

    def delete(self, _: int) -> None:
        self.deleted += 1


VERSIONS = [(1, 0), (1, 3), None]


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).integers(-50, 50, shape).astype(np.float32)


@pytest.mark.parametrize("version", VERSIONS)
def test_dlpack_in(version):
    f = doubling()
    views = [
        values(4, 5),
        values(5, 4).T,
        values(8, 10)[::2, ::-2],
        values(4, 5)[::-1],
        np.broadcast_to(values(5), (4, 5)),
        values(0, 3),
        values(1, 1),
    ]
    for memory in views:
        exporter = Exporter(memory, version)
        np.testing.assert_array_equal(f(exporter), memory * 2)
        assert (exporter.exported, exporter.deleted) == (1, 1)
        used = b"used_dltensor" + (b"" if version is None else b"_versioned")
        assert capsule_name(exporter.capsules[0]) == used
        np.testing.assert_array_equal(f.evaluate(exporter), memory * 2)
        assert (exporter.exported, exporter.deleted) == (2, 2)
    assert exporter.asked[0] == {"max_version": (1, 0)}


@pytest.mark.parametrize("version", VERSIONS)
def test_dlpack_options(version):
    f = doubling()
    memory = values(4, 5)
    for options in ({"no_strides": True}, {"offset": 40}, {"device": (3, 0)}, {"no_deleter": True}):
        exporter = Exporter(memory, version, **options)
        np.testing.assert_array_equal(f(exporter), memory * 2)
        assert exporter.deleted == (0 if "no_deleter" in options else 1)
    nothing = Exporter(values(0, 5), version, no_memory=True)
    assert f(nothing).shape == (0, 5)
    assert nothing.deleted == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_dlpack_out(version):
    f = doubling()
    x = values(4, 5)
    for memory in (np.zeros((4, 5), np.float32), np.zeros((5, 4), np.float32).T[::-1]):
        exporter = Exporter(memory, version)
        assert f(x, out=exporter) is exporter
        np.testing.assert_array_equal(memory, x * 2)
        assert (exporter.exported, exporter.deleted) == (1, 1)
    both = Exporter(values(4, 5), version)  # in place: both views are of one memory
    assert f(both, out=both) is both
    np.testing.assert_array_equal(both.memory, x * 2)
    assert (both.exported, both.deleted) == (2, 2)


def test_dlpack_that_is_read_only():
    f = doubling()
    exporter = Exporter(values(4, 5), flags=1)
    np.testing.assert_array_equal(f(exporter), values(4, 5) * 2)
    with pytest.raises(ValueError, match="doubling: output y: the array is read-only"):
        f(values(4, 5), out=exporter)
    assert (exporter.exported, exporter.deleted) == (2, 2)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "dtype",
    [
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128", "bfloat16", "bool"),
    ],
)
def test_dlpack_types(dtype, version):
    x = tw.input("x", [N], dtype)
    f = tw.function("same", outputs=[tw.computation("y", {i: N}, x[i])])
    kind = getattr(tw, dtype).dtype
    memory = np.array([0, 1, 1, 0, 1]).astype(kind)
    result = f(Exporter(memory, version))
    assert result.dtype == kind
    np.testing.assert_array_equal(result, memory)


def test_dlpack_without_axes():
    a = tw.input("a", [], tw.float64)
    f = tw.function("f", outputs=[tw.computation("s", {}, a[()] + 1)])
    assert f(Exporter(np.array(2.0))) == 3
    out = Exporter(np.array(0.0))
    assert f(2.0, out=out) is out
    assert out.memory == 3


@pytest.mark.parametrize(
    ("options", "deleted", "message"),
    [
        (
            {"device": (2, 1)},
            0,
            "the array is on device CUDA 1, and this code runs on the processo",
        ),
        ({"device": (10, 0)}, 0, "on device ROCm 0"),
        ({"device": (99, 3)}, 0, "on device of DLPack type 99 3"),
        ({"tensor_device": (2, 0)}, 1, "the array is on device CUDA 0"),
        ({"kind": (3, 64, 1)}, 1, "its elements are handle64 (DLPack), a type that does not exist"),
        ({"kind": (2, 128, 1)}, 1, "its elements are float128"),
        ({"kind": (2, 32, 4)}, 1, "its elements are float32 x 4"),
        ({"kind": (0, 4, 1)}, 1, "its elements are int4"),
        ({"kind": (6, 1, 1)}, 1, "its elements are bool1"),
        ({"kind": (17, 8, 1)}, 1, "its elements are type 17 of 8"),
        ({"no_memory": True}, 1, "it has elements but no memory"),
        ({"name": b"something"}, 0, "its __dlpack__() gave no tensor"),
        ({"name": b"used_dltensor"}, 0, "its __dlpack__() gave no tensor, or one that was used"),
        ({"rank": -1}, 1, "it has -1 dimensions"),
    ],
)
@pytest.mark.parametrize("version", [(1, 0), None])
def test_dlpack_refused(options, deleted, message, version):
    f = doubling()
    exporter = Exporter(values(4, 5), version, **options)
    start = "argument x: cannot use this test_foreign_arrays.Exporter: "
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        f(exporter)
    assert start in str(caught.value) or "tests" in str(caught.value)
    assert exporter.deleted == deleted
    with pytest.raises(TypeError, match=re.escape("doubling: output y: cannot use this")):
        f(values(4, 5), out=exporter)
    assert exporter.deleted == 2 * deleted


def test_dlpack_of_a_later_version():
    exporter = Exporter(values(4, 5), (2, 0))
    with pytest.raises(TypeError, match=r"it is exported by DLPack version 2\.0; version 1 or old"):
        doubling()(exporter)
    assert exporter.deleted == 1


def test_dlpack_wrong_for_the_argument():
    f = doubling()
    for memory, error, message in (
        (values(4, 5).astype(np.float64), TypeError, "argument x: expected float32, got float64"),
        (values(4), ValueError, "argument x: expected 2 dimensions"),
    ):
        exporter = Exporter(memory)
        with pytest.raises(error, match=message):
            f(exporter)
        assert exporter.deleted == 1


def test_what_an_exporter_raises_is_the_cause():
    class Broken:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise BufferError("the tensor needs a gradient")

    class Interrupted:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise KeyboardInterrupt

    f = doubling()
    with pytest.raises(
        TypeError, match="does not give its memory: the tensor needs a gradient"
    ) as caught:
        f(Broken())
    assert isinstance(caught.value.__cause__, BufferError)
    with pytest.raises(KeyboardInterrupt):
        f(Interrupted())


def test_what_comes_out_goes_on():
    result = doubling()(values(3, 4))
    np.testing.assert_array_equal(np.from_dlpack(result), result)
    assert result.__dlpack_device__() == (1, 0)
    assert memoryview(result).shape == (3, 4)
    assert result.__array_interface__["shape"] == (3, 4)
    np.testing.assert_array_equal(doubling()(result), result * 2)


def test_nothing_is_kept():
    f = doubling()
    x = values(3, 4)
    before = np.zeros(4, np.float32)
    import sys

    counts = sys.getrefcount(x), sys.getrefcount(before)
    for _ in range(20):
        f(x)
        f(memoryview(x))
        with pytest.raises(ValueError):
            f(before)
        with pytest.raises(ValueError):
            f(x, out=before)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(before)) == counts


# ---- the buffer protocol ----


def test_buffers_in():
    f = doubling(tw.float64, rank=1)
    expected = np.arange(6.0) * 2
    numbers = array.array("d", range(6))
    for given in (
        numbers,
        memoryview(numbers),
        memoryview(numbers).toreadonly(),
        (ctypes.c_double * 6)(*range(6)),
        memoryview(array.array("d", [x for k in range(6) for x in (k, -1)]))[::2],
    ):
        np.testing.assert_array_equal(f(given), expected)
        np.testing.assert_array_equal(f.evaluate(given), expected)
    np.testing.assert_array_equal(f(memoryview(numbers)[::-1]), expected[::-1])
    numbers.append(6.0)  # nothing holds its memory
    bytes_in = doubling(tw.uint8, rank=1)
    for given in (b"abc", bytearray(b"abc"), memoryview(b"abc")):
        np.testing.assert_array_equal(bytes_in(given), np.frombuffer(b"abc", np.uint8) * 2)
    grid = (ctypes.c_float * 3 * 2)()
    grid[1][2] = 4
    np.testing.assert_array_equal(doubling()(grid), [[0, 0, 0], [0, 0, 8]])


def test_buffers_out(tmp_path):
    f = doubling(tw.uint8, rank=1)
    x = np.arange(5, dtype=np.uint8)
    out = bytearray(5)
    assert f(x, out=out) is out
    assert out == bytes(x * 2)
    out.append(1)  # its memory is free again
    with pytest.raises(ValueError, match="output y: the array is read-only"):
        f(x, out=b"12345")
    (tmp_path / "file").write_bytes(bytes(5))
    with (tmp_path / "file").open("r+b") as file, mmap.mmap(file.fileno(), 5) as mapped:
        f(x, out=mapped)
        assert mapped[:] == bytes(x * 2)
    both = bytearray(b"\1\2\3")
    f(both, out=both)
    assert both == b"\2\4\6"


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_machine_arrays(code):
    given = array.array(code, [1, 2, 3])
    kind = np.dtype(code) if code not in "lL" else np.array(given).dtype
    result = doubling(kind.name, rank=1)(given)
    assert result.tolist() == [2, 4, 6]


def test_buffers_that_do_not_fit():
    f = doubling(tw.float64, rank=1)
    with pytest.raises(TypeError, match="argument x: expected float64, got float32"):
        f(array.array("f", [1]))
    with pytest.raises(ValueError, match="argument x: expected 1 dimension "):
        f(memoryview(bytes(8)).cast("d", ()))
    swapped = np.arange(3.0).astype(">f8")
    np.testing.assert_array_equal(f(memoryview(swapped)), [0, 2, 4])
    released = memoryview(array.array("d", [1]))
    released.release()
    with pytest.raises(TypeError, match=r"does not give its memory: .*released"):
        f(released)


# ---- NumPy's interface attributes ----


class Interface:
    def __init__(self, memory: np.ndarray, name: str = "__array_interface__", **changes: Any):
        self.memory = memory
        setattr(self, name, getattr(memory, name) | changes if changes else getattr(memory, name))


@pytest.mark.parametrize("name", ["__array_interface__", "__array_struct__"])
def test_array_interface(name):
    f = doubling()
    x = values(4, 5)
    for memory in (x, x[::-1, ::2], values(5, 4).T):
        np.testing.assert_array_equal(f(Interface(memory, name)), memory * 2)
        out = Interface(np.zeros_like(memory), name)
        assert f(memory, out=out) is out
        np.testing.assert_array_equal(out.memory, memory * 2)
    frozen = values(4, 5)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="output y: the array is read-only"):
        f(x, out=Interface(frozen, name))


def test_a_wrong_array_interface():
    f = doubling()
    for changes in ({"typestr": "nonsense"}, {"shape": "ab"}, {"data": 3.5}):
        with pytest.raises((TypeError, ValueError)):
            f(Interface(values(4, 5), **changes))


class Converted:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return values(4, 5)


def test_array_method():
    f = doubling()
    np.testing.assert_array_equal(f(Converted()), values(4, 5) * 2)
    with pytest.raises(TypeError, match=r"output y: this .*Converted gives a copy of its elements"):
        f(values(4, 5), out=Converted())


def test_inputs_that_are_overwritten_must_be_memory():
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, x[i] * 2)
    f = tw.function("f", outputs=[y])
    y.store_in(x[i])
    memory = values(5)
    expected = memory * 2
    exporter = Exporter(memory)
    assert f(exporter) is exporter
    np.testing.assert_array_equal(memory, expected)
    numbers = array.array("f", [1, 2])
    assert f(numbers) is numbers
    assert numbers.tolist() == [2, 4]
    with pytest.raises(ValueError, match="the array is read-only, and the schedule overwrites it"):
        f(Exporter(memory, flags=1))
    for given in (memory.astype(">f4"), np.zeros(9, np.uint8)[1:].view(np.float32)):
        with pytest.raises(
            ValueError,
            match=r"argument x: the schedule overwrites this input \(y is stored in it\), and the "
            r"array is unaligned or in another byte order",
        ):
            f(given)


class Doing:
    """Runs code when it is asked for its array."""

    def __init__(self, code: Callable[[], None], array: np.ndarray) -> None:
        self.code, self.array = code, array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self.code()
        return self.array


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of setting shapes
def test_an_argument_that_changes_those_before_it():
    x, s = tw.input("x", [N], tw.float32), tw.input("s", [], tw.float32)
    y = tw.computation("y", {i: N}, x[i] + s[()])
    f = tw.function("f", inputs=[x, s], outputs=[y])
    one = np.array(1, np.float32)

    def reshape() -> None:
        given.shape = (2, 2, 4)

    given = values(16)
    with pytest.raises(ValueError, match=r"argument x: expected 1 dimension \[N\], got 3"):
        f(given, Doing(reshape, one))

    def retype() -> None:
        given.dtype = np.dtype(np.int32)

    given = values(16)
    with pytest.raises(TypeError, match="argument x: expected float32, got int32"):
        f(given, Doing(retype, one))

    def move() -> None:
        given.resize((100_000,), refcheck=False)
        given[:] = 5

    given = values(16)
    np.testing.assert_array_equal(f(given, Doing(move, one)), np.full(100_000, 6))


def test_what_a_property_raises_is_the_cause():
    class Broken:
        @property
        def __array_interface__(self) -> Any:
            raise self.error

    f = doubling()
    given = Broken()
    given.error = OSError("no such memory \udcff")
    with pytest.raises(TypeError, match=r"does not give its memory: no such memory") as failed:
        f(given)
    assert failed.value.__cause__ is given.error
    given.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        f(given)
    given.error = AttributeError("not today")
    with pytest.raises(TypeError, match="expected a NumPy array"):
        f(given)


@pytest.mark.parametrize("device", [(1,), ("cpu", None), (1 << 40, 0), 5])
def test_a_wrong_device(device):
    class Elsewhere:
        def __dlpack_device__(self) -> Any:
            return device

        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError

    with pytest.raises(TypeError, match="argument x: "):
        doubling()(Elsewhere())


# ---- libraries ----


def test_torch():
    torch = pytest.importorskip("torch")
    f = doubling()
    x = torch.arange(20, dtype=torch.float32).reshape(4, 5)
    np.testing.assert_array_equal(f(x), x.numpy() * 2)
    np.testing.assert_array_equal(f(x.T), x.T.numpy() * 2)
    np.testing.assert_array_equal(f(x[1:, ::2]), x[1:, ::2].numpy() * 2)
    out = torch.zeros(4, 5)
    assert f(x, out=out) is out
    assert torch.equal(out, x * 2)
    assert torch.equal(torch.from_numpy(f(x)), x * 2)
    assert torch.equal(torch.from_dlpack(f(x)), x * 2)
    f(out, out=out)
    assert torch.equal(out, x * 4)
    half = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    result = doubling(tw.bfloat16)(half)
    assert result.astype(np.float32).tolist() == (half * 2).float().tolist()
    with pytest.raises(TypeError, match=r"does not give its memory: .*gradient"):
        f(x.requires_grad_())
    with pytest.raises(TypeError, match="expected float32, got float64"):
        f(x.detach().double())
    meta = torch.zeros(4, 5, device="meta")
    with pytest.raises(TypeError, match="argument x"):
        f(meta)


def test_pandas():
    pandas = pytest.importorskip("pandas")
    f = doubling(tw.float64, rank=1)
    np.testing.assert_array_equal(f(pandas.Series([1.0, 2.0])), [2, 4])


def test_jax():
    jax = pytest.importorskip("jax.numpy")
    x = jax.arange(20, dtype="float32").reshape(4, 5)
    np.testing.assert_array_equal(doubling()(x), np.asarray(x) * 2)
    with pytest.raises(ValueError, match="read-only"):
        doubling()(np.asarray(x), out=x)
