"""Device arrays and tw.cuda on a test double of libcuda that stands for two devices."""

from __future__ import annotations

import gc
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from fake_cuda import Fake, library, run, two_devices


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with two_devices() as double:
        yield double


@pytest.fixture(autouse=True)
def nothing_stays(fake: Fake) -> Iterator[None]:
    before = fake.bytes_in_use(0), fake.bytes_in_use(1)
    yield
    gc.collect()
    assert (fake.bytes_in_use(0), fake.bytes_in_use(1)) == before
    assert fake.depth() == 0


def values(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# ---- devices ----


def test_devices_are_listed(fake: Fake) -> None:
    first, second = tw.cuda.devices()
    assert (first.number, second.number) == (0, 1)
    assert first.name == "Fake GPU 0"
    assert first.compute_capability == (9, 0)
    assert first.memory == 268435456
    assert first.driver_version == (12, 4)
    assert first.shared_memory == 102400


def test_memory_info(fake: Fake) -> None:
    x = tw.empty(1 << 20, tw.uint8)
    info = tw.cuda.memory_info()
    assert info.total == 268435456
    assert info.in_use == 1 << 20
    assert info.free == info.total - info.in_use
    del x
    tw.cuda.release_memory()
    assert "trim" in fake.log()
    assert tw.cuda.memory_info().in_use == 0


def test_unknown_devices(fake: Fake) -> None:
    with pytest.raises(tw.ArgumentError, match="there is no device 'cpu'; devices are \"cuda\""):
        tw.empty(3, tw.float32, "cpu")
    with pytest.raises(tw.ArgumentError, match="there is no device 'cuda:x'"):
        tw.empty(3, tw.float32, "cuda:x")
    with pytest.raises(tw.DeviceError, match=r"no device cuda:2; this process sees 2") as caught:
        tw.empty(3, tw.float32, "cuda:2")
    assert caught.value.code == "TW510"
    assert isinstance(caught.value, RuntimeError)


# ---- arrays ----


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "float64", "complex64"]
)
def test_values_go_there_and_back(name: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    x = (np.arange(24).reshape(2, 3, 4) % 3).astype(dtype)
    d = tw.to_device(x)
    assert d.shape == x.shape and d.dtype == x.dtype and d.strides == x.strides
    assert (d.ndim, d.size, d.nbytes, d.itemsize) == (3, 24, x.nbytes, x.itemsize)
    assert d.device == "cuda:0"
    back = d.numpy()
    assert back.dtype == x.dtype
    assert np.array_equal(back, x)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5,), (2, 3, 4, 5)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.int32) * 7
    d = tw.to_device(x, "cuda:1")
    assert d.device == "cuda:1"
    assert np.array_equal(d.numpy(), x)
    assert d.numpy().shape == shape
    if shape:
        assert len(d) == shape[0]
    else:
        with pytest.raises(TypeError):
            len(d)


def test_host_arrays_of_any_layout() -> None:
    x = values(6, 8)
    for view in (x.T, x[::-1, ::2], x[1:3, 2:5], np.broadcast_to(x[0], (3, 8))):
        assert np.array_equal(tw.to_device(view).numpy(), view)
    assert np.array_equal(tw.to_device([[1, 2], [3, 4]]).numpy(), [[1, 2], [3, 4]])
    assert np.array_equal(tw.to_device(memoryview(b"abc")).numpy(), [97, 98, 99])


KEYS = [
    np.s_[1],
    np.s_[-1, 2],
    np.s_[1, 2, 3],
    np.s_[1:3],
    np.s_[:, 1],
    np.s_[..., 1],
    np.s_[::2, ::-1],
    np.s_[::-1, :, 1:3],
    np.s_[2:0:-1, ..., None],
    np.s_[None, 1, ..., ::3],
    np.s_[3:3],
    np.s_[:, 1:1, :],
    np.s_[...],
    np.s_[()],
    np.s_[:, :, 0],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_slices_are_views(key: Any) -> None:
    x = values(4, 5, 6)
    d = tw.to_device(x)
    view = d[key]
    expected = x[key]
    assert view.shape == expected.shape
    assert np.array_equal(view.numpy(), expected)
    # Written through the view.
    ones = np.full(expected.shape, -1, np.float32)
    view.copy_from(ones)
    x[key] = ones
    assert np.array_equal(d.numpy(), x)
    d[key] = ones + 3
    x[key] = ones + 3
    assert np.array_equal(d.numpy(), x)


def test_random_slices() -> None:
    rng = np.random.default_rng(7)
    x = values(7, 5, 3, 4)
    d = tw.to_device(x)
    for _ in range(200):
        a, b = x, d
        for _ in range(rng.integers(1, 3)):
            key: list[Any] = []
            for extent in a.shape:
                kind = rng.integers(0, 4)
                if kind == 0 and extent > 0:
                    key.append(int(rng.integers(-extent, extent)))
                elif kind == 1:
                    key.append(slice(None, None, int(rng.choice([-2, -1, 1, 2]))))
                else:
                    key.append(slice(*sorted(rng.integers(0, extent + 1, 2).tolist())))
            a, b = a[tuple(key)], b[tuple(key)]
        assert b.shape == np.shape(a)
        assert np.array_equal(b.numpy(), a)
        assert np.array_equal(b.copy().numpy(), a)


def test_many_short_rows_come_at_once(fake: Fake) -> None:
    d = tw.to_device(values(40, 6, 8))
    fake.log()
    assert np.array_equal(d[:, ::2, :3].numpy(), values(40, 6, 8)[:, ::2, :3])
    assert len([line for line in fake.log() if "copy" in line]) == 1


def test_wrong_indices() -> None:
    d = tw.to_device(values(2, 3))
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0"):
        d[2]
    with pytest.raises(IndexError, match="too many indices"):
        d[0, 0, 0]
    for key in ([0, 1], np.array([True, False]), 1.0, "x", True):
        with pytest.raises(tw.ArgumentTypeError, match="device arrays take integers, slices"):
            d[key]


def test_copy_from_is_strict() -> None:
    d = tw.empty((2, 3), tw.float32)
    with pytest.raises(
        tw.ArgumentError, match=r"shape \(3,\) to the float32 array of shape \(2, 3\)"
    ):
        d.copy_from(np.ones(3, np.float32))
    with pytest.raises(tw.ArgumentTypeError, match=r"type float64 .*astype\(\"float32\"\)"):
        d.copy_from(np.ones((2, 3)))
    with pytest.raises(tw.ArgumentTypeError, match=r"write \.numpy\(\)"):
        np.asarray(d)
    with pytest.raises(tw.ArgumentTypeError, match="a shape is made of integers"):
        tw.empty((2.5,), tw.float32)  # type: ignore[arg-type]
    with pytest.raises(tw.ArgumentError, match="no negative extents, got -1"):
        tw.empty(-1, tw.float32)
    with pytest.raises(OverflowError):
        tw.empty((1 << 40, 1 << 40), tw.float32)
    with pytest.raises(OverflowError):
        tw.empty((1 << 40, 1 << 40, 0), tw.float32)


def test_copies_between_devices(fake: Fake) -> None:
    x = values(3, 4)
    first = tw.to_device(x, "cuda:0")
    second = tw.to_device(first, "cuda:1")
    assert second.device == "cuda:1"
    assert np.array_equal(second.numpy(), x)
    fake.log()
    again = first.copy()
    assert [line.split()[0] for line in fake.log()] == ["allocate", "copy"]  # no host between
    again[0].copy_from(second[2])
    assert np.array_equal(again[0].numpy(), x[2])
    first.copy_from(again)
    assert np.array_equal(first.numpy(), again.numpy())


def test_copies_within_an_array() -> None:
    for to, source in (
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[2:6], np.s_[2:6]),
        (np.s_[::-1], np.s_[:]),
    ):
        x = values(8, 3)
        d = tw.to_device(x)
        d[to] = d[source]
        x[to] = x[source].copy()
        assert np.array_equal(d.numpy(), x)


def test_repr() -> None:
    d = tw.empty((2, 3), tw.float32)
    assert repr(d) == "DeviceArray(shape=(2, 3), dtype=float32, device='cuda:0')"
    assert repr(d[:, ::2]) == (
        "DeviceArray(shape=(2, 2), dtype=float32, device='cuda:0', strides=(12, 8))"
    )


def test_memory_goes_with_the_last_view(fake: Fake) -> None:
    before = fake.bytes_in_use()
    d = tw.empty(1000, tw.uint8)
    view = d[10:20]
    del d
    assert fake.bytes_in_use() > before
    del view
    assert fake.bytes_in_use() == before


def test_full_memory() -> None:
    with pytest.raises(tw.DeviceMemoryError) as caught:
        tw.empty(1 << 30, tw.uint8)
    assert isinstance(caught.value, MemoryError)
    assert caught.value.code == "TW511"
    assert caught.value.asked == 1 << 30
    assert caught.value.free == 268435456
    assert "1.00 GiB were asked for, 256.0 MiB of 256.0 MiB are free" in str(caught.value)
    assert tw.empty(1 << 20, tw.uint8).size == 1 << 20


# ---- exchange ----


class Interface:
    """An array of another library with __cuda_array_interface__ only."""

    def __init__(self, owner: tw.DeviceArray, **changes: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


class Exchanged:
    """An array of another library with DLPack only; of before versions where ``is_old``."""

    def __init__(self, owner: tw.DeviceArray, is_old: bool = False) -> None:
        self.owner = owner
        self.is_old = is_old
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.owner.__dlpack_device__()

    def __dlpack__(self, stream: int | None = None, **keywords: Any) -> Any:
        if self.is_old and keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, **keywords)


def test_cuda_array_interface() -> None:
    d = tw.to_device(values(3, 4))
    fields = d.__cuda_array_interface__
    assert fields["version"] == 3
    assert fields["shape"] == (3, 4)
    assert fields["typestr"] == "<f4"
    assert fields["strides"] is None
    assert fields["stream"] == 1
    assert fields["data"][0] != 0 and fields["data"][1] is False
    view = d[:, 1]
    assert view.__cuda_array_interface__["strides"] == (16,)
    assert view.__cuda_array_interface__["data"][0] == fields["data"][0] + 4
    assert d[3:].__cuda_array_interface__["data"][0] == 0


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_view_by_interface(version: int, device: str) -> None:
    d = tw.to_device(values(3, 4), device)
    changes: dict[str, Any] = {"version": version}
    if version == 2:
        changes["stream"] = None
    view = tw.as_device_array(Interface(d[:, ::2], **changes))
    assert view.device == device
    assert np.array_equal(view.numpy(), values(3, 4)[:, ::2])
    view.copy_from(np.zeros((3, 2), np.float32))
    assert d.numpy()[:, ::2].sum() == 0


@pytest.mark.parametrize("is_old", [False, True])
def test_view_by_dlpack(is_old: bool) -> None:
    d = tw.to_device(values(3, 4), "cuda:1")
    other = Exchanged(d[1:, 1:3], is_old)
    view = tw.as_device_array(other)
    assert other.streams == [1]
    assert view.device == "cuda:1" and view.strides == (16, 4)
    assert np.array_equal(view.numpy(), values(3, 4)[1:, 1:3])
    assert tw.as_device_array(d) is d


def test_views_keep_their_owner(fake: Fake) -> None:
    for wrap in (Interface, Exchanged):
        d = tw.to_device(values(100))
        view = tw.as_device_array(wrap(d))
        del d
        gc.collect()
        assert np.array_equal(view.numpy(), values(100))


def test_read_only_views() -> None:
    d = tw.to_device(values(4))
    pointer = d.__cuda_array_interface__["data"][0]
    view = tw.as_device_array(Interface(d, data=(pointer, True)))
    assert view.is_read_only
    with pytest.raises(tw.ArgumentError, match="read-only"):
        view.copy_from(values(4))
    with pytest.raises(BufferError, match="read-only"):
        view.__dlpack__()
    again = tw.as_device_array(Exchanged(view))
    assert again.is_read_only


def test_strides_that_dlpack_cannot_count() -> None:
    d = tw.to_device(values(16))
    fields = tw.as_device_array(Interface(d, shape=(4,), strides=(6,)))
    with pytest.raises(BufferError, match="a stride of 6 bytes is no multiple of 4"):
        fields.__dlpack__()
    assert "dltensor" in repr(
        tw.as_device_array(Interface(d, shape=(1,), strides=(6,))).__dlpack__()
    )


def test_refused_views() -> None:
    d = tw.to_device(values(4))
    for changes, why in (
        ({"mask": d}, "a mask"),
        ({"typestr": ">f4"}, "float32"),
        ({"typestr": "<U4"}, "str"),
        ({"stream": 0}, "stream is 0"),
        ({"strides": (4, 4)}, "different lengths"),
    ):
        with pytest.raises(tw.ArgumentTypeError, match=why):
            tw.as_device_array(Interface(d, **changes))
    with pytest.raises(tw.DeviceError, match="is its memory still there"):
        tw.as_device_array(Interface(d, data=(64, False)))
    for other in (values(3), [1, 2], 3, None, tw.DeviceArray):
        with pytest.raises(tw.ArgumentTypeError, match="no array on a CUDA device"):
            tw.as_device_array(other)


def test_functions_on_the_processor_refuse_device_arrays() -> None:
    i, n = tw.iter("i"), tw.param("N")
    x = tw.input("x", [n], tw.float32)
    f = tw.function("f", outputs=[tw.computation("y", {i: n}, 2 * x[i])])
    with pytest.raises(tw.ArgumentTypeError, match=r"on device CUDA 0, .* runs on the processor"):
        f(tw.to_device(values(4)))


def test_dlpack_requests() -> None:
    d = tw.to_device(values(4))
    assert d.__dlpack_device__() == (2, 0)
    host = np.from_dlpack(Exchanged2(d))
    assert np.array_equal(host, values(4))
    with pytest.raises(BufferError, match="without a copy"):
        d.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="cannot be exported to device CUDA 1"):
        d.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError, match="no stream 0"):
        d.__dlpack__(stream=0)
    copy = d.__dlpack__(copy=True, max_version=(1, 0))
    assert "versioned" in repr(copy)
    assert "versioned" not in repr(d.__dlpack__())


class Exchanged2:
    """Exports a device array to the processor, as asked by NumPy."""

    def __init__(self, array: tw.DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(dl_device=(1, 0))


# ---- streams ----


def test_work_goes_to_the_stream(fake: Fake) -> None:
    s = tw.cuda.Stream()
    assert s.__cuda_stream__() == (0, s.handle)
    fake.log()
    with tw.cuda.stream(s):
        assert tw.cuda.current_stream() == s.handle
        d = tw.to_device(values(4))
        assert d.__cuda_array_interface__["stream"] == s.handle
    assert tw.cuda.current_stream() == 0
    copies = [line for line in fake.log() if line.startswith("copy_in")]
    assert copies and not copies[0].endswith("stream 0")
    d.numpy()
    log = fake.log()
    assert "waits for event" in log[0] and log[0].startswith("stream 0")
    s.synchronize()


def test_streams_of_other_libraries() -> None:
    own = tw.cuda.Stream(1)

    class Torch:
        cuda_stream = own.handle
        device_index = 1

    class CuPy:
        ptr = own.handle
        device_id = 1

    class Property:
        __cuda_stream__ = (0, own.handle)
        device = 1

    for other in (Torch(), CuPy(), Property(), own):
        with tw.cuda.stream(other):
            assert tw.cuda.current_stream(1) == own.handle
            assert tw.cuda.current_stream(0) == 0
    with tw.cuda.stream(own.handle, device=1):
        assert tw.cuda.current_stream(1) == own.handle
        with tw.cuda.stream(None, device=1):
            assert tw.cuda.current_stream(1) == 0
    for wrong in ("0", 1.5, True, object(), -3):
        with pytest.raises(tw.ArgumentTypeError, match="a stream is"), tw.cuda.stream(wrong):
            pass


def test_owners_stream_is_waited_for(fake: Fake) -> None:
    s = tw.cuda.Stream()
    d = tw.to_device(values(4))
    other = Interface(d, stream=s.handle)
    fake.log()
    tw.as_device_array(other)
    log = fake.log()
    assert log[0].startswith("record event") and log[1].startswith("stream 0 waits for event")


def test_consumers_stream_waits(fake: Fake) -> None:
    s = tw.cuda.Stream(non_blocking=True)
    d = tw.to_device(values(4))
    fake.log()
    d.__dlpack__(stream=s.handle)
    log = fake.log()
    assert log[0].endswith("stream 0") and log[0].startswith("record event")
    assert "waits for event" in log[1] and not log[1].startswith("stream 0")
    d.__dlpack__(stream=-1)
    assert fake.log() == []
    d.numpy()


def test_events() -> None:
    start, end = tw.cuda.Event(), tw.cuda.Event()
    with pytest.raises(tw.DeviceError):
        end.elapsed_since(start)
    start.record()
    s = tw.cuda.Stream()
    end.record(s)
    end.synchronize()
    assert end.is_done
    assert 0 <= end.elapsed_since(start) < 1e5
    later = s.record()
    tw.cuda.Stream().wait(later)
    tw.cuda.synchronize()


# ---- in processes of their own ----


def test_no_driver() -> None:
    printed = run(
        """
print(tw.cuda.is_available())
try:
    tw.to_device(np.ones(3))
except tw.DeviceError as error:
    print(error)
x = tw.input("x", [tw.param("N")], tw.float32)
i = tw.iter("i")
f = tw.function("f", outputs=[tw.computation("y", {i: tw.param("N")}, 2 * x[i])])
print(f(np.ones(2, np.float32)))
""",
        TILEWRIGHT_CUDA_DRIVER="/nowhere/libcuda.so.1",
    )
    first, *rest = printed.splitlines()
    assert first == "False"
    assert rest[0].startswith("[TW510] NVIDIA's driver library '/nowhere/libcuda.so.1' cannot be")
    assert rest[-1] == "[2. 2.]"


def test_import_does_not_start_cuda() -> None:
    printed = run(
        f"""
import ctypes
print(ctypes.CDLL({str(library())!r}).fake_cuda_calls(b"cuInit"))
print(tw.cuda.is_available())
print(ctypes.CDLL({str(library())!r}).fake_cuda_calls(b"cuDevicePrimaryCtxRetain"))
"""
    )
    assert printed.split() == ["0", "True", "0"]


def test_lost_device() -> None:
    printed = run(
        """
x = tw.to_device(np.ones(3))
try:
    x.copy_from(np.zeros(3))
except tw.DeviceError as error:
    print(error.cause)
try:
    x.numpy()
except tw.DeviceError as error:
    print(error)
del x
print(tw.to_device(np.ones(2), "cuda:1").numpy())
""",
        "devices=2;fail=cuMemcpyHtoDAsync_v2:2:700",
    )
    lines = printed.splitlines()
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in lines[0]
    assert "cuda:0 (Fake GPU 0) is lost to this process since an earlier error" in lines[1]
    assert lines[-1] == "[1. 1.]"


def test_forked_children_are_told() -> None:
    printed = run(
        """
import os, warnings
warnings.simplefilter("ignore")
x = tw.to_device(np.ones(3))
if os.fork() == 0:
    print(tw.cuda.is_available())
    for use in (x.numpy, lambda: tw.empty(3, tw.int8), tw.cuda.devices):
        try:
            use()
        except tw.DeviceError as error:
            print("forked" in str(error) and "spawn" in str(error))
    del x
    import sys
    sys.stdout.flush()
    os._exit(0)
os.wait()
print(x.numpy())
"""
    )
    assert printed.splitlines() == ["False", "True", "True", "True", "[1. 1. 1.]"]


def test_doctor(tmp_path: pathlib.Path) -> None:
    code = "from tilewright.tools import doctor; print(doctor._cuda())"
    printed = run(code, "devices=2")
    assert "driver of CUDA 12.4; cuda:0 Fake GPU 0 (sm_90, 1 GiB); cuda:1" in printed
    assert "is older than sm_75" in run(code, "capability=61")
    printed = run(code, "version=11040")
    assert "CUDA 11.4" in printed and "update the driver" in printed
    printed = run(code, TILEWRIGHT_CUDA_DRIVER=str(tmp_path / "none.so"))
    assert "cannot be loaded" in printed and "install the driver" in printed


def test_programs_of_the_page() -> None:
    page = pathlib.Path(__file__).parents[3] / "docs" / "gpu-runtime.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert len(blocks) >= 3
    run("\n".join(blocks))


def test_exit_with_arrays_alive() -> None:
    printed = run(
        """
s = tw.cuda.Stream()
e = s.record()
with tw.cuda.stream(s):
    x = tw.to_device(np.ones(3))
print("ends")
"""
    )
    assert printed == "ends\n"
