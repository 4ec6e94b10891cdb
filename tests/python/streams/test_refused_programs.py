"""What is said of programs that are no streams: the computation, its line and the way out, in no words of kernels."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

import numpy as np
import pytest

import tilewright as tw

n, m, i, r = tw.iters("n m i r")
ENDLESS = {n: tw.forever}
R = tw.param("R")


def _copied(a: Any, b: Any) -> None:
    b[...] = a


def _backwards() -> Any:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", ENDLESS, dtype=tw.float64)
    y.define(n % 4 == 0, x[n])
    y.define(n % 4 != 0, y[n - n % 4 + (n % 4 + 1) % 4] + x[n])
    return y


def _itself() -> Any:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", ENDLESS, dtype=tw.float64)
    z = tw.computation("z", ENDLESS, 0.5 * y[n])
    y.define(None, x[n] - z[n])
    return y


def _block() -> Any:
    x = tw.stream("x", tw.float64)
    (y,) = tw.block(
        "b", _copied, ENDLESS, reads=[x.part[n : n + 1]], writes={"y": ([1], tw.float64)}
    )
    return tw.computation("z", ENDLESS, y[n, 0])


def _twice() -> Any:
    y, other = tw.stream("y", tw.float64), tw.stream("y", tw.float64)
    return tw.computation("z", ENDLESS, y[n] + other[n])


def _of_x(value: Any) -> Any:
    def made() -> Any:
        x = tw.stream("x", tw.float64)
        return tw.computation("y", ENDLESS, value(x))

    return made


def _finite() -> Any:
    x = tw.stream("x", tw.float64)
    y = tw.computation("y", {i: 10}, x[i])
    return tw.computation("z", ENDLESS, x[n] * y[n % 10])


#: What is said, beside the name y; and whether it stands at the line of y.
PROGRAMS: dict[str, tuple[Any, str]] = {
    "blocks that run backwards": (
        _backwards,
        r"y\[1001\] needs y\[1002\].*a dimension of their own",
    ),
    "an element that needs itself": (
        _itself,
        r"y\[0\] -> z\[0\] -> y\[0\]; let one of them read an earlier element",
    ),
    "a block": (_block, r"y is what a block \(tw.block\) computes over tw.forever"),
    "a rate that is a size": (
        _of_x(lambda x: x[R * n + 1]),
        r"y reads x\[R \* n\]: .* make a function for each R",
    ),
    "a rate that is a size, in a sum": (
        _of_x(lambda x: tw.sum(x[R * n + r], over={r: R})),
        r"y reads x\[R \* n\]: .* make a function for each R",
    ),
    "times that are not affine": (
        _of_x(lambda x: x[n * n]),
        "y reads x at times that are not affine",
    ),
    "the end of time as a number": (
        _of_x(lambda x: x[n] * tw.cast(tw.forever, tw.float64)),
        "y computes with tw.forever, which is no number",
    ),
    "distances that grow": (
        _of_x(lambda x: x[n] + x[2 * n]),
        r"y\[1000\] reads x\[1000\] and x\[2000\]",
    ),
    "finitely many of a stream": (_finite, r"declare y over \{n: tw.forever\}"),
    "two of one name": (_twice, "two arrays named y, and another one was declared at .*tw.stream"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_refusals_name_the_computation_and_its_line(name: str) -> None:
    made, match = PROGRAMS[name]
    output = made()
    with pytest.raises(tw.DeclarationError, match=match) as caught:
        tw.stream_function("f", outputs=[output])
    message = str(caught.value)
    assert not any(f"_{word}" in caught.value.message for word in ("begin", "end", "first", "line"))
    assert caught.value.location is not None and "tw." in caught.value.location.text, message
    assert "stream_function" not in caught.value.location.text, message


def test_inputs_without_an_end() -> None:
    h = tw.input("h", [tw.forever], tw.float64)
    with pytest.raises(tw.DeclarationError, match=r'declare it with tw\.stream\("h", \.\.\.\)'):
        tw.stream_function("f", [tw.computation("y", ENDLESS, h[n])])
    with pytest.raises(tw.DeclarationError, match="an extent of x must be at least 0, got -1"):
        tw.stream("x", tw.float64, shape=[-1])
    x = tw.stream("x", tw.float64)
    with pytest.raises(tw.DeclarationError, match="must be an identifier, got 'a b'"):
        tw.stream_function("a b", [tw.computation("y", ENDLESS, x[n])])


def test_functions_of_numbers_are_no_blocks() -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.hypot.restype, library.hypot.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    hypot = tw.extern("hypot", library.hypot)
    x = tw.stream("x", tw.float64)
    k = tw.stream_function("f", [tw.computation("y", ENDLESS, hypot(x[n], 1.0))])
    np.testing.assert_allclose(k.stream().push(np.ones(3)), np.sqrt([2.0] * 3))
    (copy,) = tw.block(
        "b", _copied, {}, reads=[tw.input("h", [4], tw.float64)], writes={"h2": ([4], tw.float64)}
    )
    y = tw.computation("y", ENDLESS, hypot(x[n], copy[n % 4]))
    s = tw.stream_function("f", [y]).stream(h=np.arange(4.0))
    np.testing.assert_allclose(s.push(np.zeros(6)), [0, 1, 2, 3, 0, 1])
