"""Scalars of a loop's iterations: where they stay one value, and where threads have their own."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

r = np.random.default_rng(8)


def mandelbrot(out, most):
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            cr = -2.0 + 3.0 * x / w
            ci = -1.5 + 3.0 * y / h
            zr = 0.0
            zi = 0.0
            n = 0
            while n < most and zr * zr + zi * zi <= 4.0:
                t = zr * zr - zi * zi + cr
                zi = 2.0 * zr * zi + ci
                zr = t
                n += 1
            out[y, x] = n


def bilinear(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            y = i * (a.shape[0] - 1) / b.shape[0]
            x = j * (a.shape[1] - 1) / b.shape[1]
            y0 = int(y)
            x0 = int(x)
            fy = y - y0
            fx = x - x0
            b[i, j] = (a[y0, x0] * (1 - fx) + a[y0, x0 + 1] * fx) * (1 - fy) + a[y0 + 1, x0] * fy


def logistic(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            x = np.exp(-a[i, j])
            y = 1.0 / (1.0 + x)
            b[i, int(y * 9.0)] = y


CASES = {
    "mandelbrot": (mandelbrot, lambda: (np.zeros((31, 23), np.int64), 40)),
    "bilinear": (bilinear, lambda: (r.random((9, 11)), np.zeros((30, 40)))),
    "logistic": (logistic, lambda: (r.random((12, 10)), np.zeros((12, 10)))),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_python(name, threads, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_LEAST_PARALLEL_WORK", "0")
    function, arguments = CASES[name]
    given = arguments()
    want = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    function(*want)
    before = tw.get_num_threads()
    tw.set_num_threads(threads)
    try:
        tw.jit(function)(*given)
    finally:
        tw.set_num_threads(before)
    for got, expected in zip(given, want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def loops_of(function, *arguments):
    return str(tw.jit(function).inspect(*arguments).loops)


def test_what_does_little_stays_beside_what_reads_it():
    loops = loops_of(bilinear, np.zeros((9, 11)), np.zeros((30, 40)))
    assert "vector" not in loops
    assert loops.count("for ") == 2


def test_costly_values_are_computed_in_vectors_all_the_same():
    assert "vector" in loops_of(logistic, np.zeros((12, 10)), np.zeros((12, 10)))


@pytest.mark.parametrize("name", ["mandelbrot", "bilinear"])
def test_rows_run_on_threads_each_with_scalars_of_its_own(name):
    function, arguments = CASES[name]
    kernel = tw.jit(function).inspect(*arguments())
    outermost = next(line for line in str(kernel.loops).splitlines() if line.startswith("for "))
    assert outermost.endswith("# parallel")
    outside, _, inside = str(kernel.c).partition("#pragma omp parallel for")
    assert re.search(r"^ +double \w+ = ", inside, re.MULTILINE)
    assert not re.search(r"^ +double \w+ = ", outside, re.MULTILINE)


def test_a_loop_with_a_break_ends_though_its_first_iteration_begins_a_count():
    passes = {
        each.name: str(each)
        for each in tw.jit(mandelbrot).inspect(*CASES["mandelbrot"][1]()).passes()
    }
    assert "while next < most and not left_while" in passes["leave_loops"]
    assert "while (next < most && !left_while" in str(
        tw.jit(mandelbrot).inspect(*CASES["mandelbrot"][1]()).c
    )


def runs_of_rows(img):
    runs = 0
    for i in range(img.shape[0]):
        before = False
        for j in range(img.shape[1]):
            if img[i, j] and (not before):
                runs += 1
            before = img[i, j]
    return runs


def differences(x, y):
    last, one = 0.0, 1.0
    for i in range(x.shape[0]):
        y[i] = x[i] - last - one
        one = last
        last = x[i]


def differences_in_place(x):
    last = 0.0
    for i in range(x.shape[0]):
        here = x[i]
        x[i] = here - last
        last = here


def test_copies_of_the_iteration_before_need_no_memory() -> None:
    img = np.random.default_rng(0).random((20, 31)) > 0.4
    counted = tw.jit(runs_of_rows)
    assert counted(img) == runs_of_rows(img)
    assert "before" not in str(counted.loops)

    x = np.random.default_rng(1).random(50)
    mine, right = np.zeros(50), np.zeros(50)
    filtered = tw.jit(differences)
    filtered(x, mine)
    differences(x, right)
    np.testing.assert_array_equal(mine, right)
    assert "last" not in str(filtered.loops)


def test_copies_of_what_is_overwritten_stay() -> None:
    mine = np.random.default_rng(2).random(50)
    right = mine.copy()
    changed = tw.jit(differences_in_place)
    changed(mine)
    differences_in_place(right)
    np.testing.assert_array_equal(mine, right)
