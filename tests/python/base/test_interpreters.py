"""The main interpreter of a process runs tilewright; one beside it is told so when it imports it. Each
program runs in a process of its own, with a time limit: such an import once waited for ever."""

from __future__ import annotations

import sys

import pytest

from children import run_python

START = """
import sys, threading

try:
    import _interpreters as interpreters  # Python 3.13
except ImportError:
    import _xxsubinterpreters as interpreters

# Twice: the second import finds nothing that the first has left behind.
TRY = '''
import sys
sys.path[:] = %r
for attempt in range(2):
    try:
        import tilewright
    except ImportError as error:
        assert "subinterpreter" in str(error), error
    else:
        raise AssertionError("it was imported")
    assert not any(name.partition(".")[0] == "tilewright" for name in sys.modules)
print("refused", flush=True)
''' % sys.path


def beside(**options):
    # Raises (Python 3.11) or returns (since 3.13) what went wrong there.
    problem = interpreters.run_string(interpreters.create(**options), TRY)
    assert problem is None, problem


def work():
    import numpy as np
    import tilewright as tw

    i, N = tw.iter("i"), tw.param("N")
    x = tw.input("x", [N], tw.float64)
    f = tw.function("f", outputs=[tw.computation("y", {i: N}, x[i] + 1)])
    assert f(np.arange(4.0)).tolist() == [1, 2, 3, 4]
"""

PROGRAMS = {
    "alone": "beside()\nwork()",
    "after the main interpreter": "work()\nbeside()\nwork()",
    "in several threads": """
threads = [threading.Thread(target=beside) for _ in range(3)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
""",
    "in a child of fork": """
import os
beside()
child = os.fork()
if child == 0:
    beside()
    work()
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_interpreter_beside_the_main_one_is_told_to_use_that(program: str) -> None:
    done = run_python("-W", "ignore", "-c", START + program, timeout=120)
    assert "refused" in done.stdout
    assert "Traceback" not in done.stderr, done.stderr


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python itself refuses, in its own words")
def test_the_refusal_says_what_to_do() -> None:
    program = START.replace('"subinterpreter" in str(error)', '"use threads or" in str(error)')
    run_python("-W", "ignore", "-c", program + "beside()", timeout=120)
