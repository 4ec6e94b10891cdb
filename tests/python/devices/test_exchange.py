"""Device arrays that go to other libraries and come from there."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from foreign import Exchanged, Exchanged2, Interface, values

import tilewright as tw
from fake_cuda import Fake

pytestmark = pytest.mark.usefixtures("nothing_stays")


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
