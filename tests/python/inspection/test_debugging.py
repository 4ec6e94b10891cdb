"""Compiled kernels have names in gdb and in perf."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from children import environment, run_python

PROGRAM = """
import os, signal, sys
import numpy as np
import tilewright as tw

N = tw.param("N")
i, j = tw.iters("i j")
x = tw.input("x", [N, N], tw.float64)
C = tw.computation("C", {i: N, j: N}, x[i, j] + 1)
f = tw.function("brighten", outputs=[C], optimize="light")
C.parallelize(i)
f(np.zeros((4, 4)))
print("key", f.last_compile["key"], flush=True)
"""

MAP = """
print(open(f"/tmp/perf-{os.getpid()}.map").read(), flush=True)
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(write)
    os.read(read, 1)  # until the parent has compiled more
    C.split(j, 4)
    f(np.zeros((4, 4)))
    print("child\\n" + open(f"/tmp/perf-{os.getpid()}.map").read(), flush=True)
    os.unlink(f"/tmp/perf-{os.getpid()}.map")
    os._exit(0)
g = tw.function("later", outputs=[tw.computation("D", {i: N}, x[i, i])])
g(np.zeros((4, 4)))
os.close(write)
os.waitpid(child, 0)
assert "tilewright_kernel_later" in open(f"/tmp/perf-{os.getpid()}.map").read()
os.unlink(f"/tmp/perf-{os.getpid()}.map")
"""


def run(program: str, directory: pathlib.Path, **more: str) -> str:
    return run_python("-c", program, TILEWRIGHT_CACHE_DIR=str(directory), **more).stdout


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_perf_map(tmp_path, start):
    if start == "warm":
        run(PROGRAM, tmp_path)
    parent, _, child = run(PROGRAM + MAP, tmp_path, TILEWRIGHT_PERF="1").partition("child\n")
    key = re.search(r"^key (\w+)", parent, re.MULTILINE)
    assert key is not None
    entry = f"tilewright_kernel_brighten_{key[1][:8]}"
    lines = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) (\S+)$", parent, re.MULTILINE)
    assert sorted(name for _, _, name in lines) == [entry, f"{entry}.C.i"]
    ranges = sorted((int(address, 16), int(size, 16)) for address, size, _ in lines)
    assert all(size > 0 for _, size in ranges)
    assert ranges[0][0] + ranges[0][1] <= ranges[1][0]
    # The child has the kernels that its parent had when it was made, at their places, and its own.
    assert child.startswith("".join(" ".join(line) + "\n" for line in lines))
    later = set(re.findall(r"tilewright_kernel_\S+", child)) - {name for *_, name in lines}
    assert len(later) == 2 and all(name.startswith(entry[:-8]) for name in later)


def test_no_perf_map_unless_asked_for(tmp_path):
    program = PROGRAM + 'print(os.path.exists(f"/tmp/perf-{os.getpid()}.map"))\n'
    assert run(program, tmp_path).endswith("False\n")


# Enough calls for samples, and its place for the names, which perf reads when it reports.
BUSY = """
import time
start = time.process_time()
image = np.random.default_rng(0).random((1000, 1000))
while time.process_time() < start + 0.5:
    f(image, threads=1)
print("pid", os.getpid())
"""


def test_perf_names_kernels(tmp_path):
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("no perf")
    record = [perf, "record", "-q", "-e", "cpu-clock", "-o", str(tmp_path / "data")]
    done = subprocess.run(
        [*record, sys.executable, "-c", PROGRAM + BUSY],
        env=environment(TILEWRIGHT_CACHE_DIR=str(tmp_path), TILEWRIGHT_PERF="1"),
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    found = re.search(r"^pid (\d+)", done.stdout, re.MULTILINE)
    if found is None:
        assert not done.stdout, "the program began and did not end\n" + done.stderr
        pytest.skip("perf may not count here: " + done.stderr.strip()[-200:])
    names = pathlib.Path(f"/tmp/perf-{found[1]}.map")
    report = subprocess.run(
        [perf, "report", "-i", str(tmp_path / "data"), "--stdio", "--sort", "symbol"],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    names.unlink()
    assert re.search(r"tilewright_kernel_brighten_\w+\.C\.i", report.stdout), report.stdout


def gdb(program: str, directory: pathlib.Path, *commands: str, **more: str) -> str:
    path = shutil.which("gdb")
    if path is None:
        pytest.skip("no gdb")
    arguments = [
        path,
        "-nx",
        "-batch",
        "-iex",
        "set debuginfod enabled off",
        "-iex",
        "set auto-load no",
    ]
    for command in ("set confirm off", *commands):
        arguments += ["-ex", command]
    done = subprocess.run(
        [*arguments, "--args", sys.executable, "-c", program],
        env=environment(TILEWRIGHT_CACHE_DIR=str(directory), **more),
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    if "ptrace" in done.stderr and "not permitted" in done.stderr:
        pytest.skip("gdb may not trace processes here")
    return done.stdout + done.stderr


# A second kernel, dropped before gdb looks, and a stop.
STOP = """
import gc
def dropped():
    g = tw.function("forgotten", outputs=[tw.computation("D", {i: N}, x[i, i] * 2)])
    g(np.zeros((4, 4)))
dropped()
tw._core.cache_clear_memory()
gc.collect()
os.kill(os.getpid(), signal.SIGTRAP)
"""


def test_gdb_knows_the_kernels_that_are_there(tmp_path):
    shown = gdb(PROGRAM + STOP, tmp_path, "run", "info functions tilewright_kernel_", "kill")
    key = re.search(r"^key (\w+)", shown, re.MULTILINE)
    assert key is not None, shown
    entry = f"tilewright_kernel_brighten_{key[1][:8]}"
    assert re.search(rf"0x[0-9a-f]+\s+{entry}$", shown, re.MULTILINE), shown
    assert f"{entry}.C.i" in shown
    assert "tilewright_kernel_forgotten" not in shown


def test_gdb_stops_in_a_kernel(tmp_path):
    """A breakpoint by name, and the frames below it."""
    shown = gdb(
        PROGRAM + "os.kill(os.getpid(), signal.SIGTRAP)\nf(np.zeros((4, 4)))\n",
        tmp_path,
        "run",
        "rbreak ^tilewright_kernel_brighten_[0-9a-f]*$",
        "signal 0",
        "backtrace 3",
        "kill",
    )
    assert re.search(r"^#0 .*tilewright_kernel_brighten_[0-9a-f]{8} ", shown, re.MULTILINE), shown
    assert re.search(r"^#1 .*tilewright::|^#1 .*_core", shown, re.MULTILINE), shown


def test_gdb_can_be_kept_out(tmp_path):
    commands = ("run", "info functions tilewright_kernel_", "kill")
    shown = gdb(PROGRAM + STOP, tmp_path, *commands, TILEWRIGHT_GDB="0")
    assert "key " in shown
    assert "tilewright_kernel_brighten" not in shown
