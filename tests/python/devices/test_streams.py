"""Streams and events."""

from __future__ import annotations

import pytest
from foreign import Interface, values

import tilewright as tw
from fake_cuda import Fake

pytestmark = pytest.mark.usefixtures("nothing_stays")


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
