"""Ctrl-C while the main thread waits for a GPU, which the test double of libcuda keeps busy."""

from __future__ import annotations

import pytest

from fake_cuda import run

START = """
import ctypes, os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
double = ctypes.CDLL(os.environ["TILEWRIGHT_CUDA_DRIVER"])
N = tw.param("N"); i = tw.iter("i")
x = tw.input("x", [N], tw.float32)
y = tw.computation("y", {i: N}, 2 * x[i])
f = tw.function("f", outputs=[y])
y.gpu(i)
host = np.ones(1000, np.float32)
there = tw.to_device(host)
event = tw.cuda.Event()
event.record()
stream = tw.cuda.Stream()
f(there)                                    # compiled
device = tw.cuda.devices()[0]

def expect(call):
    double.fake_cuda_add(b"busy=20000")
    subprocess.Popen(["/bin/sh", "-c", f"PATH=/usr/bin:/bin; sleep 0.2; kill -INT {os.getpid()}"])
    start = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        assert time.monotonic() - start < 10
    else:
        sys.exit("not interrupted")
    finally:
        double.fake_cuda_add(b"busy=0")
    # All is as before.
    np.testing.assert_array_equal(there.numpy(), host)
    f(there, out=tw.empty((1000,), tw.float32, device="cuda"))
"""

WAITS = {
    "a device": "tw.cuda.synchronize",
    "a stream": "stream.synchronize",
    "an event": "event.synchronize",
    "a copy to the host": "there.numpy",
    "a copy of rows": "there[::2].numpy",
    "a copy to the device": "lambda: there.copy_from(host)",
    "a call with arrays of the host": "lambda: f(host)",
}


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_ends(name: str) -> None:
    run(START + f"expect({WAITS[name]})\nprint('done')")


def test_a_handler_that_returns_lets_the_wait_go_on() -> None:
    out = run(
        START
        + """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
double.fake_cuda_add(b"busy=700")
signal.setitimer(signal.ITIMER_REAL, 0.1)
start = time.monotonic()
there.numpy()
print(seen, time.monotonic() - start > 0.5)
"""
    )
    assert out.split() == ["[1]", "True"]
