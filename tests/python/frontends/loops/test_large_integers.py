"""Integers beyond the largest size: numbers to compute with, whichever kind earlier calls had."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def set_bits(x):
    count = 0
    while x:
        count += x & 1
        x >>= 1
    return count


def smallest_factor(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return d
        d += 1
    return n


def power(base, exponent, modulus):
    made = 1
    while exponent > 0:
        if exponent & 1:
            made = made * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return made


def below(a, x, n):
    total = 0
    for i in range(n):
        if i < x:
            total += a[i]
    return total


CALLS = {
    set_bits: [(5,), (2**50 - 1,), (2**62 + 3,), (6,), (2**41,)],
    smallest_factor: [(91,), (4_400_000_000_021,), (97,), (10**14 + 31,)],
    power: [(3, 10, 1003), (3, 2**50, 1003), (2, 9, 1003)],
    below: [(np.arange(8), x, 8) for x in (5, 2**50, -(2**50), 3)],
}


@pytest.mark.parametrize("function", CALLS, ids=lambda one: one.__name__)
def test_python(function):
    compiled = tw.jit(function)
    for _ in range(2):
        for arguments in CALLS[function]:
            assert compiled(*arguments) == function(*arguments)


C = """
int set_bits(long x) { int count = 0; while (x) { count += x & 1; x >>= 1; } return count; }

long smallest_factor(long n) {
  for (long d = 2; d * d <= n; d++)
    if (n % d == 0) return d;
  return n;
}

long power(long base, long exponent, long modulus) {
  long made = 1;
  while (exponent > 0) {
    if (exponent & 1) made = made * base % modulus;
    base = base * base % modulus;
    exponent >>= 1;
  }
  return made;
}

long below(const long *a, long x, int n) {
  long total = 0;
  for (int i = 0; i < n; i++)
    if (i < x) total += a[i];
  return total;
}
"""


@pytest.mark.parametrize("function", CALLS, ids=lambda one: one.__name__)
def test_c(function):
    compiled = getattr(tw.c.load(C, scop="function"), function.__name__)
    for _ in range(2):
        for arguments in CALLS[function]:
            assert compiled(*arguments) == function(*arguments)


def test_a_size_is_still_refused():
    text = "void f(long n, double *x) { for (long i = 0; i < n; i++) x[i] = 0; }"
    with pytest.raises(tw.ArgumentError, match="1125899906842624"):
        tw.c.load(text, scop="function").f(2**50, np.zeros(4))
