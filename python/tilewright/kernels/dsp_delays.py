"""Recursion through delays: echo, reverberation, strings and membranes."""

from __future__ import annotations

from collections.abc import Sequence

import tilewright as tw

from ..base.checks import DECLARATION, a_list
from ..language.expressions import DTypeLike
from .dsp_parts import Channels, positive, real_type

__all__ = [
    "echo",
    "feedback_delay_network",
    "plucked_string",
    "reverb",
    "wave_1d",
    "wave_2d",
]


def _delays(delays: Sequence[int], what: str) -> list[int]:
    found = [positive(one, what) for one in a_list(delays, what, DECLARATION, "integers")]
    if not found:
        raise tw.DeclarationError(f"{what} needs at least one delay")
    return found


def echo(
    dtype: DTypeLike = tw.float32, channels: int | tw.Parameter | None = None
) -> tw.StreamFunction:
    """A delay with feedback (a comb filter)::

        y[n] = x[n] + gain * y[n - D]

    with zeros before n = 0.

    Args:
        dtype: of everything: float32 or float64.
        channels: how many, a number or a parameter; without, elements are numbers.

    Returns:
        ``echo(x[, channels]) -> y[, channels]``, with ``gain: []`` and the size ``D=``.
    """
    found, each = real_type(dtype), Channels(channels)
    n = tw.iter("n")
    delay = tw.param("D", minimum=1)
    x, gain = tw.stream("x", found, each.shape), tw.input("gain", [], found)
    y = tw.computation("y", {n: tw.forever, **each.ranges}, dtype=found)
    y.define(n < delay, x[each.at(n)])
    y.define(n >= delay, x[each.at(n)] + gain[()] * y[each.at(n - delay)])
    return tw.stream_function("echo", outputs=[y])


def reverb(
    combs: Sequence[int] = (1557, 1617, 1491, 1422),
    allpasses: Sequence[int] = (225, 556),
    dtype: DTypeLike = tw.float32,
) -> tw.StreamFunction:
    """Reverberation (Schroeder): K combs beside each other, then all-passes one after the other::

        comb_k[n] = x[n] + gain[k] * comb_k[n - combs[k]]
        pass_0[n] = (comb_0[n] + comb_1[n] + ...) / K
        pass_l+1[n] = pass_l[n - allpasses[l]] + diffusion * (pass_l+1[n - allpasses[l]] - pass_l[n])
        y[n] = the last of these

    with zeros before n = 0.

    Args:
        combs: their delays, in elements.
        allpasses: their delays, in elements.
        dtype: of everything: float32 or float64.

    Returns:
        ``reverb(x) -> y``, with ``gain: [len(combs)]`` and ``diffusion: []``.
    """
    found = real_type(dtype)
    delays, late = _delays(combs, "combs"), _delays(allpasses, "allpasses")
    n = tw.iter("n")
    x = tw.stream("x", found)
    gain, diffusion = tw.input("gain", [len(delays)], found), tw.input("diffusion", [], found)
    total: tw.Expression | None = None
    for k, delay in enumerate(delays):
        comb = tw.computation(f"comb{k}", {n: tw.forever}, dtype=found)
        comb.define(n < delay, x[n])
        comb.define(n >= delay, x[n] + gain[k] * comb[n - delay])
        total = comb[n] if total is None else total + comb[n]
    assert total is not None
    before = tw.computation("pass0", {n: tw.forever}, total / len(delays))
    for k, delay in enumerate(late, start=1):
        after = tw.computation(f"pass{k}", {n: tw.forever}, dtype=found)
        fed_back = diffusion[()] * (after[n - delay] - before[n])
        after.define(n < delay, -diffusion[()] * before[n])
        after.define(n >= delay, before[n - delay] + fed_back)
        before = after
    y = tw.computation("y", {n: tw.forever}, before[n])
    return tw.stream_function("reverb", outputs=[y])


def feedback_delay_network(
    delays: Sequence[int] = (1426, 1781, 1973, 2098), dtype: DTypeLike = tw.float32
) -> tw.StreamFunction:
    """K delay lines that feed each other through a matrix (Jot)::

        line_k[n] = b[k] * x[n - delays[k]] + A[k, 0] * line_0[n - delays[k]] + A[k, 1] * line_1[n - delays[k]] + ...
        y[n] = d * x[n] + c[0] * line_0[n] + c[1] * line_1[n] + ...

    with zeros before n = 0. It dies away when all singular values of A are below 1.

    Args:
        delays: of each line, in elements.
        dtype: of everything: float32 or float64.

    Returns:
        ``feedback_delay_network(x) -> y``, with ``A: [K, K]``, ``b: [K]``, ``c: [K]`` and ``d: []``.
    """
    found, late = real_type(dtype), _delays(delays, "delays")
    n = tw.iter("n")
    x = tw.stream("x", found)
    number = len(late)
    matrix = tw.input("A", [number, number], found)
    b, c, d = (
        tw.input(name, shape, found)
        for name, shape in (("b", [number]), ("c", [number]), ("d", []))
    )
    lines = [tw.computation(f"line{k}", {n: tw.forever}, dtype=found) for k in range(number)]
    heard = d[()] * x[n]
    for k, (line, delay) in enumerate(zip(lines, late, strict=True)):
        total = b[k] * x[n - delay]
        for j, other in enumerate(lines):
            total = total + matrix[k, j] * other[n - delay]
        line.define(n < delay, 0)
        line.define(n >= delay, total)
        heard = heard + c[k] * line[n]
    y = tw.computation("y", {n: tw.forever}, heard)
    return tw.stream_function("feedback_delay_network", outputs=[y])


def plucked_string(dtype: DTypeLike = tw.float32) -> tw.StreamFunction:
    """A plucked string (Karplus and Strong): what is pushed, a short noise, runs around a delay line and is smoothed::

        y[n] = x[n] + gain * (y[n - D] + y[n - D - 1]) / 2

    with zeros before n = 0. The tone has the period D + 1/2.

    Args:
        dtype: of everything: float32 or float64.

    Returns:
        ``plucked_string(x) -> y``, with ``gain: []`` and the size ``D=``.
    """
    found = real_type(dtype)
    n = tw.iter("n")
    delay = tw.param("D", minimum=1)
    x, gain = tw.stream("x", found), tw.input("gain", [], found)
    y = tw.computation("y", {n: tw.forever}, dtype=found)
    y.define(n < delay, x[n])
    y.define(n == delay, x[n] + gain[()] * y[n - delay] * 0.5)
    y.define(n > delay, x[n] + gain[()] * (y[n - delay] + y[n - delay - 1]) * 0.5)
    return tw.stream_function("plucked_string", outputs=[y])


def wave_1d(dtype: DTypeLike = tw.float64) -> tw.StreamFunction:
    """The wave equation on a string with fixed ends and losses, by finite differences in time and space. What is pushed
    is a force that acts where `force` says; what comes out is heard where `pickup` says::

        u[n, i] = 2 * u[n - 1, i] - u[n - 2, i]
                  + courant * (u[n - 1, i - 1] - 2 * u[n - 1, i] + u[n - 1, i + 1])
                  - loss * (u[n - 1, i] - u[n - 2, i]) + force[i] * x[n]
        y[n] = pickup[0] * u[n, 0] + pickup[1] * u[n, 1] + ...

    with zeros before n = 0 and at the ends. It is stable where `courant`, the square of (speed * time step / distance
    of points), is at most 1.

    Args:
        dtype: of everything: float32 or float64.

    Returns:
        ``wave_1d(x) -> y``, with ``force: [I]``, ``pickup: [I]``, ``courant: []`` and ``loss: []``.
    """
    found = real_type(dtype)
    n, i = tw.iters("n i")
    points = tw.param("I", minimum=3)
    x = tw.stream("x", found)
    force, pickup = tw.input("force", [points], found), tw.input("pickup", [points], found)
    courant, loss = tw.input("courant", [], found), tw.input("loss", [], found)
    u = tw.computation("u", {n: tw.forever, i: points}, dtype=found)
    inside = (i > 0) & (i < points - 1)
    pushed, now = force[i] * x[n], u[n - 1, i]
    bent = courant[()] * (u[n - 1, i - 1] - 2 * now + u[n - 1, i + 1])
    u.define((i == 0) | (i == points - 1), 0)
    u.define(inside & (n == 0), pushed)
    u.define(inside & (n == 1), 2 * now + bent - loss[()] * now + pushed)
    u.define(
        inside & (n >= 2),
        2 * now - u[n - 2, i] + bent - loss[()] * (now - u[n - 2, i]) + pushed,
    )
    y = tw.computation("y", {n: tw.forever}, tw.sum(pickup[i] * u[n, i], over={i: points}))
    return tw.stream_function("wave_1d", outputs=[y])


def wave_2d(dtype: DTypeLike = tw.float64) -> tw.StreamFunction:
    """The wave equation on a rectangular membrane with a fixed border, as `wave_1d` on a string::

        u[n, i, j] = 2 * u[n - 1, i, j] - u[n - 2, i, j]
                     + courant * (u[n - 1, i - 1, j] + u[n - 1, i + 1, j] + u[n - 1, i, j - 1] + u[n - 1, i, j + 1]
                                  - 4 * u[n - 1, i, j])
                     - loss * (u[n - 1, i, j] - u[n - 2, i, j]) + force[i, j] * x[n]
        y[n] = sum over i and j of pickup[i, j] * u[n, i, j]

    It is stable where `courant` is at most 1/2.

    Args:
        dtype: of everything: float32 or float64.

    Returns:
        ``wave_2d(x) -> y``, with ``force: [I, J]``, ``pickup: [I, J]``, ``courant: []`` and ``loss: []``.
    """
    found = real_type(dtype)
    n, i, j = tw.iters("n i j")
    rows, columns = tw.params("I J", minimum=3)
    x = tw.stream("x", found)
    force = tw.input("force", [rows, columns], found)
    pickup = tw.input("pickup", [rows, columns], found)
    courant, loss = tw.input("courant", [], found), tw.input("loss", [], found)
    u = tw.computation("u", {n: tw.forever, i: rows, j: columns}, dtype=found)
    border = (i == 0) | (i == rows - 1) | (j == 0) | (j == columns - 1)
    inside = (i > 0) & (i < rows - 1) & (j > 0) & (j < columns - 1)
    pushed, now = force[i, j] * x[n], u[n - 1, i, j]
    beside = u[n - 1, i - 1, j] + u[n - 1, i + 1, j] + u[n - 1, i, j - 1] + u[n - 1, i, j + 1]
    bent = courant[()] * (beside - 4 * now)
    u.define(border, 0)
    u.define(inside & (n == 0), pushed)
    u.define(inside & (n == 1), 2 * now + bent - loss[()] * now + pushed)
    u.define(
        inside & (n >= 2),
        2 * now - u[n - 2, i, j] + bent - loss[()] * (now - u[n - 2, i, j]) + pushed,
    )
    heard = tw.sum(pickup[i, j] * u[n, i, j], over={i: rows, j: columns})
    y = tw.computation("y", {n: tw.forever}, heard)
    return tw.stream_function("wave_2d", outputs=[y])
