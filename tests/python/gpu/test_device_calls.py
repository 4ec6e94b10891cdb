"""Calls with device arrays: in place, where they are, in the order of streams. Values on the emulator;
what is asked of the driver on its test double."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as tw
from fake_cuda import Fake, run, two_devices

EMULATOR = "gpu-emulator"


def scaled(target: str = EMULATOR) -> tw.Function:
    """y = a * x, on blocks of 32 threads."""
    N = tw.param("N")
    i = tw.iter("i")
    a = tw.input("a", [], tw.float32)
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, a[()] * x[i])
    f = tw.function("scaled", outputs=[y], inputs=[a, x], target=target)
    y.gpu_tile(i, 32)
    return f


def transposed(target: str = EMULATOR) -> tw.Function:
    N, M = tw.params("N M")
    i, j = tw.iters("i j")
    x = tw.input("x", [M, N], tw.float32)
    y = tw.computation("y", {i: N, j: M}, x[j, i] + 1)
    f = tw.function("transposed", outputs=[y], target=target)
    y.gpu_tile(i, j, 4, 8)
    return f


def values(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# ---- on the emulator ----


def test_arrays_of_the_emulator() -> None:
    d = tw.to_device(values(3, 4), EMULATOR)
    assert d.device == EMULATOR
    assert repr(d) == "DeviceArray(shape=(3, 4), dtype=float32, device='gpu-emulator')"
    assert np.array_equal(d[::-1, 1:3].numpy(), values(3, 4)[::-1, 1:3])
    assert not hasattr(d, "__cuda_array_interface__")
    assert d.__dlpack_device__() == (1, 0)
    host = np.from_dlpack(d)  # the very memory
    d[0].copy_from(np.zeros(4, np.float32))
    assert host[0].sum() == 0


def test_device_arrays_in_and_out() -> None:
    f = scaled()
    x = tw.to_device(values(100), EMULATOR)
    y = f(2, x)
    assert isinstance(y, tw.DeviceArray)
    assert y.device == EMULATOR and y.shape == (100,)
    assert np.array_equal(y.numpy(), 2 * values(100))
    assert np.array_equal(f(3, y).numpy(), 6 * values(100))  # a call like the one before


def test_out_is_written_in_place() -> None:
    f = scaled()
    x = tw.to_device(values(70), EMULATOR)
    out = tw.empty(70, tw.float32, EMULATOR)
    assert f(2, x, out=out) is out
    assert np.array_equal(out.numpy(), 2 * values(70))
    with pytest.raises(tw.ArgumentError):
        f(2, x, out=tw.empty(71, tw.float32, EMULATOR))


def test_mixed_with_numpy() -> None:
    f = scaled()
    x = tw.to_device(values(50), EMULATOR)
    host = np.zeros(50, np.float32)
    assert f(2, x, out=host) is host
    assert np.array_equal(host, 2 * values(50))
    out = tw.empty(50, tw.float32, EMULATOR)
    assert f(4, values(50), out=out) is out
    assert np.array_equal(out.numpy(), 4 * values(50))
    assert isinstance(f(4, values(50)), np.ndarray)


@pytest.mark.parametrize("key", [np.s_[:, :], np.s_[::-1, ::2], np.s_[2:7, 3:9], np.s_[::3, ::-1]])
def test_views_are_used_where_they_are(key: tuple[slice, slice]) -> None:
    f = transposed()
    x = values(9, 12)
    d = tw.to_device(x, EMULATOR)
    assert np.array_equal(f(d[key]).numpy(), x[key].T + 1)
    out = tw.to_device(np.zeros((40, 40), np.float32), EMULATOR)
    n, m = x[key].shape
    f(d[key], out=out[1 : 2 * m + 1 : 2, n:0:-1])
    whole = out.numpy()
    assert np.array_equal(whole[1 : 2 * m + 1 : 2, n:0:-1], x[key].T + 1)
    whole[1 : 2 * m + 1 : 2, n:0:-1] = 0
    assert not whole.any()  # and nothing else


def test_output_in_the_input() -> None:
    f = transposed()
    x = values(8, 8)
    d = tw.to_device(x, EMULATOR)
    assert f(d, out=d) is d
    assert np.array_equal(d.numpy(), x.T + 1)
    g = scaled()
    line = tw.to_device(values(64), EMULATOR)
    g(2, line[:-1], out=line[1:])
    assert np.array_equal(line.numpy(), np.r_[0, 2 * values(63)])


def test_two_outputs() -> None:
    N = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, x[i] + 1)
    z = tw.computation("z", {i: N}, x[i] - 1)
    f = tw.function("both", outputs=[y, z], target=EMULATOR)
    y.gpu_tile(i, 16)
    z.gpu_tile(i, 8)
    d = tw.to_device(values(20), EMULATOR)
    first, second = f(d)
    assert np.array_equal(first.numpy(), values(20) + 1)
    assert np.array_equal(second.numpy(), values(20) - 1)
    # One of them given: x itself, which z must still see as it was.
    own, other = f(d, out=(d, None))
    assert own is d
    assert np.array_equal(d.numpy(), values(20) + 1)
    assert np.array_equal(other.numpy(), values(20) - 1)
    out = tw.empty(20, tw.float32, EMULATOR)
    with pytest.raises(tw.ArgumentError, match="share memory"):
        f(d, out=(out, out))


def test_empty_arrays() -> None:
    y = scaled()(2, tw.to_device(values(0), EMULATOR))
    assert y.shape == (0,)


def test_wrong_device_arrays() -> None:
    f = scaled()
    with pytest.raises(
        tw.ArgumentTypeError,
        match=r"expected float32 with 1 axes, got a float64 array of shape \(3,\) on gpu-emulator",
    ):
        f(2, tw.to_device(np.ones(3), EMULATOR))
    with pytest.raises(tw.ArgumentTypeError, match="expected float32 with 1 axes"):
        f(2, tw.to_device(values(3, 3), EMULATOR))


def test_functions_of_the_processor_take_the_emulators_arrays() -> None:
    f = scaled(target="cpu")
    x = tw.to_device(values(10), EMULATOR)
    assert np.array_equal(f(2, x), 2 * values(10))
    assert np.array_equal(scaled().evaluate(2, x), 2 * values(10))


# ---- on the double of CUDA ----


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with two_devices() as double:
        yield double


def pointer(array: tw.DeviceArray) -> str:
    return f"{array.__cuda_array_interface__['data'][0]:016x}"


def test_launches_do_not_wait(fake: Fake) -> None:
    f = scaled("cuda")
    x = tw.to_device(values(100))
    out = tw.empty(100, tw.float32)
    f(2, x, out=out)
    fake.log()
    f(np.float32(2), x, out=out)
    launches = [line for line in fake.log() if line.startswith("launch")]
    assert len(launches) == 1
    assert "grid 4 1 1 block 32 1 1" in launches[0]
    assert pointer(x) in launches[0] and pointer(out) in launches[0]


def double(target: str) -> tw.Function:
    """y = 2 x: all arguments are on the device."""
    N = tw.param("N")
    i = tw.iter("i")
    x = tw.input("x", [N], tw.float32)
    y = tw.computation("y", {i: N}, 2 * x[i])
    f = tw.function("twice", outputs=[y], target=target)
    y.gpu_tile(i, 32)
    return f


def test_nothing_but_the_launch(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(100))
    out = tw.empty(100, tw.float32)
    f(x, out=out)
    fake.log()
    f(x, out=out)
    assert [line.split()[0] for line in fake.log()] == ["launch"]


def test_numpy_arrays_are_copied(fake: Fake) -> None:
    f = double("cuda")
    f(values(100))
    fake.log()
    f(values(100))
    done = [line.split()[0] for line in fake.log()]
    assert done.count("copy_in") == 1 and done.count("copy_out") == 1
    assert done.count("allocate") == done.count("free") == 2


def test_copies_are_noted_once(fake: Fake, caplog: pytest.LogCaptureFixture) -> None:
    f = double("cuda")
    x = tw.to_device(values(16))
    with caplog.at_level("INFO", "tilewright"):
        f(x)
        assert "copied" not in caplog.text
        f(x, out=np.empty(16, np.float32))
        assert "twice: y: NumPy arrays, copied between the host and cuda:0" in caplog.text
        f(values(16))
        f(values(16))
    assert [record.getMessage() for record in caplog.records].count(
        "twice: x, y: NumPy arrays, copied between the host and cuda:0 in each such call"
    ) == 1


def test_outputs_are_where_the_inputs_are(fake: Fake) -> None:
    f = double("cuda")
    for device in ("cuda:0", "cuda:1"):
        y = f(tw.to_device(values(64), device))
        assert y.device == device
    with pytest.raises(tw.ArgumentError, match="x is on cuda:0 and y on cuda:1; copy one of them"):
        f(tw.to_device(values(64)), out=tw.empty(64, tw.float32, "cuda:1"))
    with pytest.raises(
        tw.ArgumentError, match='x is on cuda:0, and the function is for target="gpu'
    ):
        double(EMULATOR)(tw.to_device(values(4)))
    with pytest.raises(
        tw.ArgumentError, match='is on gpu-emulator, and the function is for target="c'
    ):
        f(tw.to_device(values(4), EMULATOR))


def test_launches_go_to_the_stream(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(64))
    y = f(x)
    s = tw.cuda.Stream(non_blocking=True)
    fake.log()
    with tw.cuda.stream(s):
        z = f(y)
    log = fake.log()
    # The stream waits for what made y, then runs.
    kinds = [line.split()[0] for line in log]
    assert kinds.index("record") < kinds.index("stream") < kinds.index("launch")
    assert not any("launch" in line and "stream 0 " in line for line in log)
    del z


def test_compiled_for_the_arrays_of_a_call(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(64))
    out = tw.empty((64, 2), tw.float32)[:, 0]
    f.compile(x, out=out)
    compiled = f.last_compile
    assert f(x, out=out) is out
    assert f.last_compile == compiled  # nothing more
    f(x)
    assert f.last_compile != compiled  # an output whose elements lie side by side is another code


def test_the_processor_does_not_read_the_device(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(64))
    for read in (f.evaluate, f.trace_nan):
        with pytest.raises(tw.ArgumentTypeError, match="runs on the processor"):
            read(x)


def test_profiles_are_of_the_device(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(64))
    before = fake.bytes_in_use()
    fake.log()
    profile = f.profile(x, repeats=3)
    assert profile.device.startswith("cuda:0 (")
    assert profile.copies == ()
    assert len(profile.times) == 3 and len(profile.nests) == 1
    assert len([line for line in fake.log() if line.startswith("launch")]) == 4
    there_and_back = f.profile(values(64), repeats=2)
    assert [(c.array, c.back, c.bytes) for c in there_and_back.copies] == [
        ("x", False, 256),
        ("y", True, 256),
    ]
    assert all(len(copy.times) == 2 for copy in there_and_back.copies)
    assert fake.bytes_in_use() == before


def test_threads_with_streams_of_their_own(fake: Fake) -> None:
    f = double("cuda")
    x = tw.to_device(values(64))
    f(x)
    before = fake.bytes_in_use()
    fake.log()

    def work() -> bool:
        s = tw.cuda.Stream(non_blocking=True)
        with tw.cuda.stream(s):
            for _ in range(50):
                y = f(f(x))
            s.synchronize()
            return y.shape == (64,) and fake.depth() == 0

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda _: work(), range(6)))
    launches = [line for line in fake.log() if line.startswith("launch")]
    assert len(launches) == 600
    assert not any(" stream 0 " in line for line in launches)
    assert len({line.split(" stream ")[1].split()[0] for line in launches}) == 6
    assert fake.bytes_in_use() == before


def test_foreign_arrays_are_used_in_place(fake: Fake) -> None:
    class Foreign:
        def __init__(self, owner: tw.DeviceArray) -> None:
            self.owner = owner
            self.__cuda_array_interface__ = owner.__cuda_array_interface__

    f = double("cuda")
    x, out = tw.to_device(values(64)), tw.empty(64, tw.float32)
    given = Foreign(out)
    fake.log()
    assert f(Foreign(x), out=given) is given
    launch = next(line for line in fake.log() if line.startswith("launch"))
    assert pointer(x) in launch and pointer(out) in launch


def test_elements_between_the_places_of_their_type_are_refused(fake: Fake) -> None:
    # On a device they would be the last that this process reads there.
    class Fields:
        def __init__(self, owner: tw.DeviceArray, strides: tuple[int, ...], offset: int) -> None:
            self.owner = owner
            fields = owner.__cuda_array_interface__
            place = fields["data"][0] + offset
            self.__cuda_array_interface__ = {
                **fields,
                "shape": (4,),
                "strides": strides,
                "data": (place, False),
            }

    f = double("cuda")
    x = tw.to_device(values(64))
    for strides, offset in (((6,), 0), ((4,), 2), ((-6,), 64)):
        given = Fields(x, strides, offset)
        with pytest.raises(tw.ArgumentTypeError, match="not aligned"):
            f(given)
        with pytest.raises(tw.ArgumentTypeError, match="not aligned"):
            f(x[:4], out=given)
    assert f(Fields(x, (12,), 4)).shape == (4,)


def test_code_is_for_the_device() -> None:
    code = """
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float32)
y = tw.computation("y", {i: N}, 2 * x[i])
f = tw.function("twice", outputs=[y], target="cuda")
y.gpu_tile(i, 32)
print(f(tw.to_device(np.ones(64, np.float32))).device)
"""
    for capability in (75, 80, 86, 87, 89, 90, 100):
        assert run(code, f"capability={capability}") == "cuda:0\n"
    failed = (
        code.replace("print", "try:\n    print")
        + "except tw.DeviceError as error:\n    print(error)"
    )
    assert "compute capability 6.1, and kernels need 7.5 or newer" in run(failed, "capability=61")
    assert 'target="gpu-emulator" runs the same kernels on the processor; target=' in run(
        failed.replace("tw.to_device(np.ones(64, np.float32))", "np.ones(64, np.float32)"),
        TILEWRIGHT_CUDA_DRIVER="/nowhere",
    )


def test_failing_kernels_lose_the_device() -> None:
    printed = run(
        """
i, N = tw.iter("i"), tw.param("N")
x = tw.input("x", [N], tw.float32)
y = tw.computation("y", {i: N}, 2 * x[i])
f = tw.function("twice", outputs=[y], target="cuda")
y.gpu_tile(i, 32)
d = f(tw.to_device(np.ones(64, np.float32)))
try:
    d.numpy()
except tw.DeviceError as error:
    print("last one launched was 'tilewright_kernel_twice_" in str(error), error.cause != "")
g = tw.function("twice", outputs=[tw.computation("y", {i: N}, 2 * x[i])])
print(g(np.ones(2, np.float32)))
""",
        "fault=*:700",
    )
    assert printed == "True True\n[2. 2.]\n"


def test_what_the_host_has_no_room_for_is_a_memory_error() -> None:
    with pytest.raises(tw.DeviceMemoryError, match="emulator is out of memory") as caught:
        tw.empty((2**40,), tw.float64, EMULATOR)
    assert isinstance(caught.value, MemoryError)
    assert caught.value.asked == 2**43
