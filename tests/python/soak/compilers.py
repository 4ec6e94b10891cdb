"""Two threads that schedule, compile and call random programs at the same time; values are compared."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable

from fuzz.cases import draw_case, run_case


def compilers(count: int, seed: int, progress: Callable[[int], None]) -> str:
    """Runs `count` cases of the fuzz test, each by whichever thread is free."""
    numbers = itertools.count()
    total: Counter[str] = Counter()
    failures: list[AssertionError] = []
    lock = threading.Lock()

    def work() -> None:
        while not failures and (number := next(numbers)) < count:
            try:
                statistics = run_case(draw_case(f"soak {seed}:{number}"))
            except Exception as error:
                failures.append(
                    AssertionError(f"scripts/fuzz --seed 'soak {seed}' --case {number}")
                )
                failures[-1].__cause__ = error
                return
            with lock:
                total.update(statistics)
            progress(number)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    calls = total["calls equal to the evaluator"]
    return f"{count} programs by two threads, {calls} calls equal to the evaluator"
