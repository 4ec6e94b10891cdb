"""Random functions that iterate until their data say so, and a judge of their schedules that shares nothing with the
library.

    u[t, i] = x[i] + t for t < back, and then of u[t - back, .] and w[t - 1, .]
    v[t, i] = of u[t, .]                    top[t] = the largest v[t, k]
    w[t, i] = of v[t, i] and w[t - 1, i]    done[t] = top[t] > 60
    z[t, i] = of v[t, i], which no later iteration reads

`last` reads the last iteration, and `n` is the number of iterations. What the schedule may change: the order of the
computations in an iteration, the loops of each, and where values are kept, in as many iterations as a modulo says. It
is given by commands, or as the times of all computations, with a place in the order in front, or T for what is behind
the loop.

The judge writes out all instances of a number of iterations and asks of every read whether its value is there, of every
instance of a later iteration whether it waits for the tests of all earlier ones, and of what stands behind the loop
whether it waits for all. All of an iteration has to run in one outermost loop over t, in order."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tilewright as tw

__all__ = [
    "LIMIT",
    "UntilCase",
    "declared",
    "draw_until_case",
    "expected",
    "problem_of",
    "schedule",
]

i, k, t = tw.iters("i k t")
N = tw.param("N")
T = tw.param("T", minimum=1)
LIMIT = 12
ITERATED = ("u", "v", "top", "w", "z", "done", "T_reached")

Element = tuple[str, int, int]


@dataclass
class UntilCase:
    """What was drawn."""

    back: int  # u[t] reads u[t - back]
    mirrored: bool  # and w[t - 1] from the other end
    both: bool  # v reads u from both ends
    chained: bool  # w[t] reads w[t - 1]
    order: tuple[str, ...] = ITERATED  # in an iteration
    #: So many iterations are kept of u, v and w; 0: as many as the library finds.
    kept: dict[str, int] = field(default_factory=dict)
    shared: bool = False  # v lies in the buffer of u
    backwards: frozenset[str] = frozenset()
    parallel: frozenset[str] = frozenset()
    apart: str = ""  # a computation that does not share the loop over t with those before it
    iterations: str = (
        ""  # what one computation's loop over t is: reversed, parallel, later, or inside
    )
    of: str = ""  # of which computation
    early: str = ""  # `last` or `n` runs before the loop
    written: str = ""  # the times are given, "places" in front of them, or "T" behind the loop


def draw_until_case(rng: random.Random) -> UntilCase:
    case = UntilCase(
        rng.choice((1, 1, 2)), rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.5
    )
    rest = list(ITERATED[1:])
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        a = rng.randrange(len(rest) - 1)
        rest[a], rest[a + 1] = rest[a + 1], rest[a]
    case.order = ("u", *rest)
    for name in "uvw":
        if rng.random() < 0.4:
            case.kept[name] = rng.choice((1, 2, 2, 3))
    case.shared = "u" in case.kept and rng.random() < 0.2
    case.backwards = frozenset(name for name in (*"uvw", "last") if rng.random() < 0.2)
    case.parallel = frozenset(name for name in (*"uvw", "last") if rng.random() < 0.25)
    odd = rng.random()
    if odd < 0.06:
        case.apart = rng.choice(rest)
    elif odd < 0.18:
        case.iterations = rng.choice(("reversed", "parallel", "later", "inside"))
        case.of = rng.choice(("u", "v", "w", "z", "z"))
    elif odd < 0.26:
        case.early = rng.choice(("last", "n"))
    if not case.apart and case.iterations != "parallel" and rng.random() < 0.4:
        case.written = rng.choice(("places", "T"))
        case.parallel = frozenset()
    return case


def declared(case: UntilCase) -> Any:
    x = tw.input("x", [N], tw.int64)
    u = tw.computation("u", {t: T, i: N}, dtype=tw.int64)
    v = tw.computation("v", {t: T, i: N}, u[t, i] + u[t, N - 1 - i] if case.both else u[t, i] + 1)
    w = tw.computation("w", {t: T, i: N}, dtype=tw.int64)
    if case.chained:
        w.define(t == 0, v[t, i])
        w.define(t > 0, v[t, i] - w[t - 1, i] // 2)
    else:
        w.define(t >= 0, v[t, i] * 2)
    z = tw.computation("z", {t: T, i: N}, 5 - v[t, i])
    u.define(t < case.back, x[i] + t)
    at = N - 1 - i if case.mirrored else i
    u.define(t >= case.back, (u[t - case.back, i] * 3 + w[t - 1, at]) % 41)
    top = tw.computation("top", {t: T}, tw.max(v[t, k], over={k: N}, initial=0))
    done = tw.computation("done", {t: T}, top[t] > 60)
    last = tw.computation("last", {i: N}, w[T - 1, i] + u[T - 1, i] + z[T - 1, i])
    n = tw.computation("n", {}, T)
    return tw.function(
        "iterated", inputs=[x], outputs=[last, n], until={T: done}, limit=LIMIT,
        default_schedule=False,
    )  # fmt: skip


def expected(case: UntilCase, x: np.ndarray) -> tuple[np.ndarray, int]:
    us: list[np.ndarray] = []
    w = x
    for step in range(LIMIT):
        if step < case.back:
            u = x + step
        else:
            u = (us[step - case.back] * 3 + (w[::-1] if case.mirrored else w)) % 41
        v = u + u[::-1] if case.both else u + 1
        w = (v - w // 2 if step else v) if case.chained else v * 2
        us.append(u)
        if v.max(initial=0) > 60:
            break
    return w + u + 5 - v, step + 1


def times_of(case: UntilCase) -> str:
    """All times, as set_schedule takes them."""
    behind = "1" if case.written == "places" else "T + 1" if case.iterations == "later" else "T"
    maps = []
    for place, name in enumerate(case.order):
        inner = {"done": "0", "T_reached": "0", "top": "k"}.get(name, "i")
        at = "t" if inner == "0" else f"t, {inner}"
        inner = "-i" if name in case.backwards else inner
        outer = "t"
        if name == case.of:
            changed = {"reversed": ("-t", inner), "later": ("t + 1", inner), "inside": (inner, "t")}
            outer, inner = changed[case.iterations]
        phase = "0, " if case.written == "places" else ""
        maps.append(f"{name}[{at}] -> [{phase}{outer}, {place}, {inner}]")
    for name, at, time in (("last", "i", "i"), ("n", "", "0")):
        time = "-" + time if name in case.backwards else time
        fill = ", 0" if case.written == "places" else ""
        maps.append(f"{name}[{at}] -> [{'-1' if case.early == name else behind}, {time}{fill}, 0]")
    return "[N, T] -> { " + "; ".join(maps) + " }"


def schedule(f: Any, case: UntilCase) -> None:
    """The commands, checked once at their end."""
    with f.transaction():
        if case.written:
            f.set_schedule(times_of(case))
        elif case.order != ITERATED or case.apart:
            for before, name in itertools.pairwise(case.order):
                f[name].after(before, *(() if name == case.apart else (t,)))
        for name, kept in case.kept.items():
            if name != "v" or not case.shared:
                f[name].store_in(tw.Buffer(f"{name}_kept", [kept, N])[t % kept, i])
        if case.shared:
            f["v"].store_in(tw.Buffer("u_kept", [case.kept["u"], N])[t % case.kept["u"], i])
        if case.written:
            return
        for name in sorted(case.backwards):
            f[name].reverse(i)
        for name in sorted(case.parallel):
            f[name].parallelize(i)
        if case.iterations == "reversed":
            f[case.of].reverse(t)
        elif case.iterations == "parallel":
            f[case.of].parallelize(t)
        elif case.iterations == "later":
            f[case.of].shift(t, 1)
        elif case.iterations == "inside":
            f[case.of].interchange(t, i)
        if case.early:
            f[case.early].before("u")


# ---- the judge ----


@dataclass
class Instance:
    name: str
    iteration: int  # behind the loop: that after the last
    time: tuple[int, ...]  # static position and loop in turn; the inner loop stands at 3
    parallel: bool
    reads: list[Element]
    writes: Element | None


def reads_of(case: UntilCase, name: str, s: int, at: int, n: int) -> list[Element]:
    other = n - 1 - at
    if name == "u":
        given = [("u", s - case.back, at), ("w", s - 1, other if case.mirrored else at)]
        return given if s >= case.back else []
    if name == "v":
        return [("u", s, at), ("u", s, other)] if case.both else [("u", s, at)]
    if name == "z":
        return [("v", s, at)]
    carried = [("w", s - 1, at)] if case.chained and s > 0 else []
    return [("v", s, at), *carried]


def instances_of(case: UntilCase, n: int, steps: int) -> list[Instance]:
    made = []
    place = {name: position for position, name in enumerate(case.order)}

    def add(name: str, s: int, inner: int, sub: int, reads: list[Element], writes: Any) -> None:
        sign = -1 if name in case.backwards else 1
        time = (1, s, 4 * place[name] + sub, sign * inner)
        made.append(Instance(name, s, time, name in case.parallel, reads, writes))

    for s in range(steps):
        for name in ("u", "v", "w", "z"):
            for at in range(n):
                add(name, s, at, 0, reads_of(case, name, s, at, n), (name, s, at))
        add("top", s, 0, 0, [], ("top_init", s, 0))
        for at in range(n):
            add("top", s, at, 1, [("top_init", s, 0), ("v", s, at)], None)
        add("top", s, 0, 2, [], ("top", s, 0))  # behind all terms
        add("done", s, 0, 0, [("top", s, 0)], ("done", s, 0))
        add("T_reached", s, 0, 0, [("done", s, 0)], ("T_reached", s, 0))
    for at in range(n):
        sign = -1 if "last" in case.backwards else 1
        time = (0 if case.early == "last" else 2, sign * at, 0, 0)
        read = [(name, steps - 1, at) for name in "wuz"]
        made.append(Instance("last", steps, time, "last" in case.parallel, read, None))
    made.append(Instance("n", steps, (0 if case.early == "n" else 2, 0, 0, 0), False, [], None))
    return made


def cell_of(case: UntilCase, element: Element) -> Element:
    """Where an element lies; what nobody stores by hand is never overwritten too early."""
    name, s, at = element
    if name == "v" and case.shared:
        name = "u"
    return (name, s % case.kept[name], at) if name in case.kept else (name, s, at)


def happens_before(a: Instance, b: Instance) -> bool:
    for position, (one, other) in enumerate(zip(a.time, b.time, strict=True)):
        if one != other:
            inner = position == (1 if a.time[0] != 1 else 3)
            return one < other and not (inner and (a.parallel or b.parallel))
    return False


def problem_of(case: UntilCase, n: int, steps: int) -> str | None:
    """Why the schedule is illegal with n elements, where `steps` iterations are made; None where it is not."""
    if case.apart or case.iterations:
        return f"{case.apart or case.of} is not in one loop over t in order"
    made = instances_of(case, n, steps)
    tests = [one for one in made if one.name == "T_reached"]
    for one in made:
        for test in tests:
            if test.iteration < one.iteration and not happens_before(test, one):
                return (
                    f"{one.name}{one.time} does not wait for the test of iteration {test.iteration}"
                )
    producer = {one.writes: one for one in made if one.writes is not None}
    writers: dict[Element, list[Instance]] = {}
    for element, one in producer.items():
        writers.setdefault(cell_of(case, element), []).append(one)
    for reader in made:
        for element in reader.reads:
            source = producer[element]
            if not happens_before(source, reader):
                return f"{reader.name}{reader.time} reads {element} before it is written"
            for other in writers[cell_of(case, element)]:
                # What a reader writes comes behind its own reads.
                if other is source or other is reader:
                    continue
                if not (happens_before(other, source) or happens_before(reader, other)):
                    return f"{reader.name}{reader.time} reads {element}, which {other.writes} overwrites"
    return None
