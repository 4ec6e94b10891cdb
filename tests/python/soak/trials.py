"""What may happen to a cache in its life, done to it on purpose: each trial raises where a wrong
value came out, a process failed, or a broken entry was left."""

from __future__ import annotations

import os
import pathlib
import random
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import tilewright as tw
from soak.compilers import compilers
from soak.interrupts import interrupts

__all__ = ["TRIALS", "Progress"]

#: Called with the number of steps done.
Progress = Callable[[int], None]

VALUES = np.arange(64, dtype=np.float64)


def kernel(number: int) -> tw.Function:
    """One of many small functions: x * number + 1."""
    i, n = tw.iter("i"), tw.param("N")
    x = tw.input("x", [n], tw.float64)
    y = tw.computation("y", {i: n}, x[i] * float(number) + 1)
    f = tw.function(f"kernel{number}", outputs=[y], optimize="light", default_schedule=False)
    y.split(i, 16, "block", "lane").vectorize("lane", 8)
    return f


def check(number: int) -> tw.Function:
    """Runs a kernel and compares."""
    f = kernel(number)
    if not np.array_equal(f(VALUES), VALUES * number + 1):
        raise AssertionError(f"kernel {number} gave wrong values")
    return f


def child(work: Callable[[], object]) -> int:
    """Forks; the child does `work` and ends with 0, or 1 after an exception. Returns its number."""
    number = os.fork()
    if number == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return number


def require_success(process: int) -> None:
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise AssertionError(f"a process ended with status {os.waitstatus_to_exitcode(status)}")


def require_whole() -> None:
    """No damaged entry may be found, whatever was interrupted."""
    found = tw.cache.verify()
    if found.deleted:
        raise AssertionError(f"{found.deleted} damaged files under the names of entries")


@contextmanager
def directory(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """An empty cache at `path`, and nothing in memory."""
    before = os.environ.get("TILEWRIGHT_CACHE_DIR")
    os.environ["TILEWRIGHT_CACHE_DIR"] = str(path)
    tw.cache.clear_memory()
    try:
        yield path
    finally:
        tw.cache.clear_memory()
        if before is None:
            del os.environ["TILEWRIGHT_CACHE_DIR"]
        else:
            os.environ["TILEWRIGHT_CACHE_DIR"] = before


def kills(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    """Processes that store kernels are killed (SIGKILL) at random moments."""
    random_numbers = random.Random(seed)
    kernels = 40
    killed = ended = 0
    with directory(path):
        start = time.perf_counter()
        require_success(child(lambda: check(0)))
        usual = time.perf_counter() - start
        for step in range(count):
            first = random_numbers.randrange(kernels)

            def work(first: int = first) -> None:
                for number in range(first, first + 3):
                    tw.cache.clear_memory()
                    check(number)

            if random_numbers.random() < 0.25:  # something to write
                for entry in path.glob("*.tw[kn]"):
                    entry.unlink(missing_ok=True)
            process = child(work)
            time.sleep(random_numbers.random() * 2 * usual)
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            if os.WIFSIGNALED(status):
                killed += 1
            elif os.WEXITSTATUS(status) == 0:
                ended += 1
            else:
                raise AssertionError("a process failed before it was killed")
            if step % 50 == 49:
                require_whole()
            progress(step + 1)
        require_whole()
        for number in range(kernels + 3):
            require_success(child(lambda number=number: check(number)))
        require_whole()
        left = len(list(path.glob("*.tw[kn].*")))
    return f"{killed} killed, {ended} were faster; {left} temporary files left, no damaged entry"


def crowd(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    """Many processes compile the same kernels, and some of their own, at once."""
    del seed
    with directory(path):

        def work(number: int) -> None:
            for other in (1000, 1001, 1002, number):
                check(other)
            tw.cache.clear_memory()
            for other in (1000, 1001, 1002, number):
                compiled = check(other).last_compile
                if compiled is None or not compiled["from_cache"]:
                    raise AssertionError("what was stored is not there")

        processes = [child(lambda number=number: work(number)) for number in range(count)]
        for done, process in enumerate(processes):
            require_success(process)
            progress(done + 1)
        require_whole()
        entries = tw.cache.info().entries
        if entries != count + 3:
            raise AssertionError(f"{entries} entries of {count + 3} kernels")
    return f"{count} processes, {entries} entries"


def without_room(path: pathlib.Path, number: int) -> None:
    """A kernel where no file may have more than some bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    before = set(path.glob("*.tw[kn].*"))
    check(number)
    if set(path.glob("*.tw[kn].*")) - before:
        raise AssertionError("a file that could not be written was left")


def removals(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    """The directory goes away, becomes read-only or has no room while kernels are compiled."""
    random_numbers = random.Random(seed)
    with directory(path):
        for step in range(count):
            what = random_numbers.choice(["remove", "read-only", "full", "file", "clock"])
            tw.cache.clear_memory()
            if what == "full":  # no file may have more than some bytes
                require_success(child(lambda step=step: without_room(path, step)))
            elif what == "read-only" and path.is_dir():
                path.chmod(0o500)
                check(step)
                path.chmod(0o700)
            elif what == "file":
                shutil.rmtree(path, ignore_errors=True)
                path.write_text("not a directory")
                check(step)
                path.unlink()
            elif what == "clock":
                for entry in path.glob("*"):
                    then = random_numbers.choice([0, 1, 2**31, 2**33])
                    os.utime(entry, (then, then))
                check(step)
                tw.cache.prune(random_numbers.choice([0, 5000, 10**9]))
            else:
                shutil.rmtree(path, ignore_errors=True)
                check(step)
            progress(step + 1)
        if path.exists():
            require_whole()
    return f"{count} times"


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def dropped(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    """Kernels are compiled and dropped; memory stays as it is once the cache in memory is full."""
    del seed
    with directory(path):
        full = 1200  # more than are kept in memory

        def work() -> None:
            at = 0
            for number in range(full + count):
                check(number)
                if number == full:
                    at = resident()
                if number % 64 == 0:
                    tw.cache.prune(0)
                progress(max(0, number - full))
            grown = resident() - at
            print(
                f"  {grown / max(count, 1):.0f} bytes a kernel more than after {full}", flush=True
            )
            if grown > (1 << 20) + 100 * count:
                raise AssertionError(f"memory grew by {grown} bytes in {count} kernels")

        require_success(child(work))
    return f"{count} kernels after the first {full}"


def _interrupts(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    with directory(path):
        return interrupts(count, seed, progress)


def _compilers(path: pathlib.Path, count: int, seed: int, progress: Progress) -> str:
    with directory(path):
        return compilers(count, seed, progress)


#: By name: the trial, how many steps the soak takes, how many the test-suite takes.
TRIALS: dict[str, tuple[Callable[[pathlib.Path, int, int, Progress], str], int, int]] = {
    "kills": (kills, 10_000, 60),
    "crowd": (crowd, 64, 8),
    "removals": (removals, 500, 25),
    "dropped": (dropped, 100_000, 400),
    "interrupts": (_interrupts, 40, 1),
    "compilers": (_compilers, 2000, 4),
}
