"""Arrays in the memory of devices, and what `tw.cuda` says of these."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from foreign import values

import tilewright as tw
from fake_cuda import Fake

pytestmark = pytest.mark.usefixtures("nothing_stays")


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
    with pytest.raises(tw.ArgumentTypeError, match="an extent of a shape must be an integer"):
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
