"""Many random C functions and mutated files: ``scripts/fuzz c --cases 500 --mutations 1000 --seed 7``.

Each function is compared with gcc's program bit for bit: as the interpreter runs its translation, compiled in
the program's order, under the schedule that is found, and as kernels on the GPU emulator. What the dataflow
refuses is counted. Each mutated file is translated or refused at a place that it has.
"""

from __future__ import annotations

import argparse
import collections
import linecache
import signal
import sys
import traceback
from typing import Any

import numpy as np
from c_oracle import assert_same_bits, compiled, copies, run_c, run_tree
from mutated import mutated
from random_kernels import CountingKernel, JumpingKernel, Kernel, arguments

import tilewright as tw

WRAPPING = ("-fwrapv",)


class _TooLong(Exception):
    pass


def _alarm(*_: object) -> None:
    raise _TooLong


def kernel_case(seed: int, found: collections.Counter[str]) -> None:
    """Compares one function.

    Raises:
        AssertionError: where it differs from gcc's.
    """
    kernel = (Kernel, CountingKernel, JumpingKernel)[seed % 3](seed)
    function = tw.c.load(kernel.text, scop="function").functions[kernel.name]
    theirs = copies(arguments(seed))
    run_c(compiled(kernel.text, WRAPPING), function, theirs)

    def compare(ours: list[Any], what: str) -> None:
        for value, wanted, name in zip(ours, theirs, function.arguments, strict=True):
            if isinstance(value, np.ndarray):
                assert_same_bits(value, wanted, f"{kernel.name} {what}: {name}")

    ours = copies(arguments(seed))
    run_tree(function, ours)
    compare(ours, "interpreted")
    found["interpreted"] += 1
    plain = tw.c.load(kernel.text, scop="function").functions[kernel.name]
    ours = copies(arguments(seed))
    try:
        with tw.settings(default_schedule=False):
            plain(*ours)
    except tw.TranslationError:
        found["refused by the dataflow"] += 1
        return
    compare(ours, "in the order of the file")
    ours = copies(arguments(seed))
    function(*ours)
    compare(ours, "compiled")
    found["compiled"] += 1
    function.auto_schedule()
    ours = copies(arguments(seed))
    function(*ours)
    compare(ours, "as scheduled")
    found["as scheduled"] += 1
    function.auto_schedule(target="gpu-emulator")
    ours = copies(arguments(seed))
    function(*ours)
    compare(ours, "as kernels")
    found["as kernels" if "gpu_thread" in str(function.loops) else "without kernels"] += 1


def mutation_case(seed: int, found: collections.Counter[str]) -> None:
    """Reads one mutated file."""
    text = mutated(seed)
    try:
        tw.c.load(text)
        found["mutated and translated"] += 1
    except tw.TranslationError as error:
        found["mutated and refused"] += 1
        assert error.line >= 1 and error.column >= 1
        if error.file.startswith("<C"):
            assert error.line <= text.count("\n") + 1
    finally:
        linecache.checkcache()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--mutations", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60, help="seconds for each")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _alarm)
    found: collections.Counter[str] = collections.Counter()
    cases = [(kernel_case, options.seed + at) for at in range(options.cases)]
    cases += [(mutation_case, options.seed + at) for at in range(options.mutations)]
    for case, seed in cases:
        signal.alarm(options.limit)
        try:
            case(seed, found)
        except _TooLong:
            found["longer than the limit"] += 1
            print(f"{case.__name__} {seed}: longer than {options.limit} s", flush=True)
        except Exception as error:
            found["FAILED"] += 1
            last = traceback.extract_tb(error.__traceback__)[-1]
            print(
                f"{case.__name__} {seed}: {type(error).__name__} in {last.name}: {str(error)[:600]}",
                flush=True,
            )
        finally:
            signal.alarm(0)
    print(", ".join(f"{count} {what}" for what, count in sorted(found.items())))
    return 1 if found["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
