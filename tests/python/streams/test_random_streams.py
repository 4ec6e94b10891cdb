"""Random programs over unbounded time, in random chunks, beside their definition in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n = tw.iter("n")
LONGEST = 90


@dataclass(frozen=True)
class Term:
    """weight * array[(gain * n + shift) // step], 0 before the beginning."""

    array: int
    gain: int
    step: int
    shift: int
    weight: float


def drawn(rng: random.Random) -> list[list[Term]]:
    """For each computation its terms. Array 0 is the input, and array k computation k; each runs at
    a rate of its own, so that all that is read fits."""
    rates = [1.0]
    program: list[list[Term]] = []
    for own in range(1, rng.randint(2, 4) + 1):
        source = rng.randrange(own)
        gain, step = rng.choice([(1, 1)] * 4 + [(2, 1), (3, 1), (1, 2), (1, 3), (3, 2), (2, 3)])
        rate = rates[source] * step / gain
        rates.append(rate)
        terms = [Term(source, gain, step, rng.randint(-4, 3), rng.uniform(-1, 1))]
        for other in range(own):
            if rates[other] == rate and rng.random() < 0.5:
                terms.append(Term(other, 1, 1, rng.randint(-5, 2), rng.uniform(-1, 1)))
        if rng.random() < 0.6:
            terms.append(Term(own, 1, 1, -rng.randint(1, 3), rng.uniform(-0.9, 0.9)))
        program.append(terms)
    return program


def declared(program: list[list[Term]], outputs: list[int]) -> Any:
    x = tw.stream("x", tw.float64)
    arrays: list[Any] = [x]
    for own in range(1, len(program) + 1):
        arrays.append(tw.computation(f"c{own}", {n: tw.forever}, None, dtype=tw.float64))
    for own, terms in enumerate(program, 1):
        value: Any = None
        for term in terms:
            at = (term.gain * n + term.shift) // term.step
            one = tw.select(at >= 0, term.weight * arrays[term.array][at], 0.0)
            value = one if value is None else value + one
        arrays[own].define(None, value)
    return tw.stream_function("drawn", outputs=[arrays[k] for k in outputs])


def definition(program: list[list[Term]], x: np.ndarray) -> Callable[[int, int], float]:
    @lru_cache(None)
    def element(array: int, time: int) -> float:
        """Raises IndexError where it needs what has not been pushed."""
        if array == 0:
            return float(x[time])
        value = None
        for term in program[array - 1]:
            at = (term.gain * time + term.shift) // term.step
            one = term.weight * element(term.array, at) if at >= 0 else 0.0
            value = one if value is None else value + one
        assert value is not None
        return value

    return element


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    program = drawn(rng)
    outputs = sorted({len(program), rng.randint(1, len(program))})
    k = declared(program, outputs)
    data = np.random.default_rng(seed).uniform(-1, 1, LONGEST)
    element = definition(program, data)
    s = k.stream()
    chunks = np.split(data, sorted(rng.randint(0, LONGEST) for _ in range(7)))
    found: list[list[np.ndarray]] = [[] for _ in outputs]
    for chunk in chunks:
        results = s.push(chunk)
        for kept, result in zip(found, (results,) if len(outputs) == 1 else results, strict=True):
            kept.append(result)
        if rng.random() < 0.2:
            s = s.clone()
    for array, parts in zip(outputs, found, strict=True):
        values = np.concatenate(parts)
        expected = [element(array, time) for time in range(len(values))]
        np.testing.assert_array_equal(values, expected)
        assert s.latency[f"c{array}"] >= 0
        if len(values) < LONGEST * s.period[f"c{array}"] // s.period["x"]:
            with pytest.raises(IndexError):  # what could be computed was not held back for long
                for time in range(len(values), len(values) + 4):
                    element(array, time)
