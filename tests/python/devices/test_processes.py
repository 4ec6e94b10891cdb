"""Devices in processes of their own: no driver, a lost device, forked children, the end."""

from __future__ import annotations

import pathlib
import re

from fake_cuda import library, run


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
