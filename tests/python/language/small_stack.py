"""Uses a deep expression on a thread with little stack, in a process that had no other thread.

A process keeps the stacks of threads that ended for new threads, and takes a larger one where it
has one: only the first thread of a process is sure to have the stack that was asked for.

    python small_stack.py ENTRY KIBIBYTES [warm]    prints what ENTRY raised

With "warm", the function was called before, on the main thread.
"""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable

import numpy as np

import tilewright as tw

DEPTH = 1200

N = tw.param("N")
i = tw.iter("i")
A = tw.input("A", [N], tw.float32)


def deep(terms: int) -> tw.Expression:
    e = A[i]
    for _ in range(terms):
        e = e + A[i]
    return e


B = tw.computation("B", {i: N}, deep(DEPTH))
C = tw.computation("C", {i: N}, B[i] + 1.0)
f = tw.function("deep", outputs=[C])
a = np.ones(3, np.float32)
waiting = [deep(1998)]

ENTRIES: dict[str, Callable[[], object]] = {
    "freed": waiting.clear,  # needs no stack
    "made": lambda: deep(DEPTH),
    "declared": lambda: tw.computation("D", {i: N}, B.pieces[0][1]),
    "function": lambda: tw.function("again", outputs=[C]),
    "text": lambda: str(B.pieces[0][1]),
    "evaluate": lambda: f.evaluate(a),
    "call": lambda: f(a),
    "compile": f.compile,
    "layers": lambda: str(f.layers),
    "loops": lambda: str(f.loops),
    "llvm": lambda: str(f.llvm),
    "c": lambda: str(f.c),
    "split": lambda: B.split(i, 4),
    "inline": B.inline,
    "can": lambda: B.can("parallelize", "i"),
    "reads": lambda: B.reads,
    "writes": lambda: B.writes,
    "dependences": lambda: str(f.dependences.flow),
    "fix": lambda: f.fix(N=3),
    "pickle": lambda: pickle.dumps(f),
    "copy": lambda: copy.copy(f),
    "trace_nan": lambda: f.trace_nan(a),
}


def raised_by(body: Callable[[], object], kibibytes: int) -> str:
    raised = []

    def run() -> None:
        try:
            body()
        except Exception as error:
            raised.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")

    threading.stack_size(kibibytes << 10)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised[0] if raised else "nothing"


if __name__ == "__main__":
    if sys.argv[3:] == ["warm"]:
        f(a)
        str(f.loops)
    print(raised_by(ENTRIES[sys.argv[1]], int(sys.argv[2])))
