#!/usr/bin/env python3
"""Derives the polynomials of the mathematical functions and writes their C++ header.

Each polynomial is the minimax approximation (Remez's exchange algorithm in 100 digits) of one
function on one interval under one weight, rounded to the precision in which it is evaluated;
coefficients for float32 are rounded one after another, each time fitting the rest again.

    scripts/math_coefficients.py            writes cpp/targets/llvm/math_coefficients.h
    scripts/math_coefficients.py --check    fails when that file differs

Needs mpmath.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
from mpmath import mp, mpf

HEADER = Path(__file__).resolve().parent.parent / "cpp" / "targets" / "llvm" / "math_coefficients.h"

Real = Callable[[mpf], mpf]


def rounded(x: mpf, bits: int) -> mpf:
    """`x` to `bits` significant bits, to nearest."""
    with mpmath.workprec(bits):
        return +x


def remez(f: Real, weight: Real, low: mpf, high: mpf, first: int, count: int) -> list[mpf]:
    """The c of length `count` that minimise the largest |weight (f - sum c_k x^(first + k))|."""
    points = count + 1
    middle, radius = (low + high) / 2, (high - low) / 2

    def chebyshev(k: int, n: int) -> mpf:
        return middle - radius * mpmath.cos(mpmath.pi * k / (n - 1))

    # A little asymmetric: odd powers on points that mirror each other would be a singular system.
    nodes = [low + (x - low) * mpf("0.97") for x in (chebyshev(k, points) for k in range(points))]
    fine = 24 * points
    grid = [chebyshev(k, fine) for k in range(fine)]
    floor = max(weight(low), weight(high)) / 10**9
    samples = [(x, f(x), max(weight(x), floor)) for x in grid]
    coefficients: list[mpf] = []
    for _ in range(30):
        system = mpmath.matrix(points, points)
        right = mpmath.matrix(points, 1)
        for row, x in enumerate(nodes):
            for k in range(count):
                system[row, k] = x ** (first + k)
            system[row, count] = (-1) ** row / max(weight(x), floor)
            right[row] = f(x)
        try:
            solution = mpmath.lu_solve(system, right)
        except ZeroDivisionError:
            break
        coefficients = [solution[k] for k in range(count)]
        errors = [
            (w * (y - mpmath.polyval(coefficients[::-1], x) * x**first), x) for x, y, w in samples
        ]
        # The largest error of each run of one sign; then the best `points` neighbours of them.
        extremes: list[tuple[mpf, mpf]] = []
        for error in errors:
            if extremes and (error[0] < 0) == (extremes[-1][0] < 0):
                if abs(error[0]) > abs(extremes[-1][0]):
                    extremes[-1] = error
            else:
                extremes.append(error)
        while len(extremes) > points:
            extremes.pop(0 if abs(extremes[0][0]) < abs(extremes[-1][0]) else -1)
        if len(extremes) < points:
            break
        sizes = [abs(error) for error, _ in extremes]
        nodes = [x for _, x in extremes]
        if max(sizes) - min(sizes) < max(sizes) / 50:
            break
    return coefficients


def least_squares(f: Real, weight: Real, low: mpf, high: mpf, first: int, count: int) -> list[mpf]:
    """The same, but the smallest squares on a Chebyshev grid: it does not mind an error near zero
    that no power of x removes, which the exchange would try to alternate with."""
    rows = 6 * (count + 1)
    system, right = mpmath.matrix(rows, count), mpmath.matrix(rows, 1)
    for row in range(rows):
        angle = mpmath.pi * (2 * row + 1) / (2 * rows)
        x = (low + high) / 2 - (high - low) / 2 * mpmath.cos(angle)
        for k in range(count):
            system[row, k] = weight(x) * x ** (first + k)
        right[row] = weight(x) * f(x)
    return list(mpmath.lu_solve(system, right))


@dataclass
class Polynomial:
    """`name`: sum over k of c_k x^k close to `function` on [low, high]; errors count times
    `weight`."""

    name: str
    text: str
    function: Real
    weight: Real
    low: mpf
    high: mpf
    degree: int
    bits: int = 53
    refit: bool = False  # also for float64

    def coefficients(self) -> list[mpf]:
        low, high = mpf(self.low), mpf(self.high)
        if self.bits == 53 and not self.refit:
            fitted = remez(self.function, self.weight, low, high, 0, self.degree + 1)
            return [rounded(c, self.bits) for c in fitted]
        known: list[mpf] = []
        while len(known) <= self.degree:

            def rest(x: mpf) -> mpf:
                return (
                    self.function(x) - mpmath.polyval(known[::-1], x) if known else self.function(x)
                )

            fit = least_squares if known else remez
            fitted = fit(rest, self.weight, low, high, len(known), self.degree + 1 - len(known))
            known.append(rounded(fitted[0], self.bits))
        return known

    def error(self, coefficients: list[mpf]) -> mpf:
        """The base-2 logarithm of the largest weighted error."""
        low, high = mpf(self.low), mpf(self.high)
        worst = mpf(0)
        for k in range(1001):
            x = low + (high - low) * k / 1000
            if x == 0:
                x = high / 100000
            difference = self.function(x) - mpmath.polyval(coefficients[::-1], x)
            worst = max(worst, abs(self.weight(x) * difference))
        return mpmath.log(worst, 2)


def root(function: Real) -> Real:
    """`function` of the square root of its argument."""
    return lambda z: function(mpmath.sqrt(z) if z else mpf(10) ** -12)


def polynomials() -> list[Polynomial]:
    ln2 = mpmath.log(2)
    half = mpf("0.3466")  # ln(2) / 2 and the rounding of the quotient
    octant = mpf("0.6170")  # (pi / 4)^2, likewise
    atanh_square = mpf("0.02945")  # ((sqrt(2) - 1) / (sqrt(2) + 1))^2
    log_low, log_high = mpf("-0.29295"), mpf("0.41425")  # sqrt(1/2) - 1, sqrt(2) - 1

    def exp_tail(r: mpf) -> mpf:
        return (mpmath.expm1(r) - r) / r**2 if r else mpf(1) / 2

    def exp2_tail(r: mpf) -> mpf:
        return (mpmath.expm1(r * ln2) - r * ln2) / r**2 if r else ln2**2 / 2

    def log_tail(s: mpf) -> mpf:
        return (2 * mpmath.atanh(s) / s - 2) / s**2

    def log_second_tail(s: mpf) -> mpf:
        return ((2 * mpmath.atanh(s) / s - 2) / s**2 - mpf(2) / 3) / s**2

    def log_polynomial(f: mpf) -> mpf:
        return (mpmath.log1p(f) - f + f**2 / 2) / f**3 if f else mpf(1) / 3

    def log_weight(f: mpf) -> mpf:
        return f**3 / mpmath.log1p(f) if f else mpf(0) + mpf(10) ** -30

    def sin_tail(r: mpf) -> mpf:
        return (mpmath.sin(r) / r - 1) / r**2

    def cos_tail(r: mpf) -> mpf:
        return (mpmath.cos(r) - 1 + r**2 / 2) / r**4

    def tanh_tail(x: mpf) -> mpf:
        return (mpmath.tanh(x) / x - 1) / x**2

    def erf_factor(x: mpf) -> mpf:
        return mpmath.erf(x) / x - 1

    def scaled_erfc(t: mpf) -> mpf:  # t = (x - 2) / (x + 2)
        x = 2 * (1 + t) / (1 - t)
        return mpmath.erfc(x) * mpmath.exp(x**2)

    def over_erf(t: mpf) -> mpf:
        x = 2 * (1 + t) / (1 - t)
        return mpmath.exp(-(x**2)) / mpmath.erf(x)

    def atan_tail(x: mpf) -> mpf:
        return (mpmath.atan(x) / x - 1) / x**2

    def asin_tail(x: mpf) -> mpf:
        return (mpmath.asin(x) / x - 1) / x**2

    small = mpf(10) ** -9
    erfc_low, erfc_high = mpf(-1) / 3 - small, mpf(1) / 2 + small
    erfc_high_single = mpf(1) / 3 + small
    tan_pi_8 = mpmath.tan(mpmath.pi / 8)
    return [
        Polynomial("exp_tail", "(exp(r) - 1 - r) / r^2", exp_tail,
                   lambda r: r**2 / mpmath.exp(r), -half, half, 10),
        Polynomial("exp_short", "(exp(r) - 1 - r) / r^2", exp_tail, abs, -half, half, 6),
        Polynomial("exp_single", "(exp(r) - 1 - r) / r^2", exp_tail,
                   lambda r: r**2 / mpmath.exp(r), -half, half, 4, 24),
        Polynomial("exp2_tail", "(2^r - 1 - ln(2) r) / r^2", exp2_tail,
                   lambda r: r**2 / mpmath.exp(r * ln2), -0.5, 0.5, 10),
        Polynomial("exp2_single", "2^r", lambda r: mpf(2) ** r, lambda r: mpf(2) ** -r,
                   -0.5, 0.5, 6, 24),
        Polynomial("log_tail", "(2 atanh(s) / s - 2) / s^2 in s^2", root(log_tail),
                   lambda z: z / 2, 0, atanh_square, 6),
        Polynomial("log_short", "(2 atanh(s) / s - 2) / s^2 in s^2", root(log_tail),
                   lambda z: z / 2, 0, atanh_square, 4),
        Polynomial("log_second_tail", "((2 atanh(s) / s - 2) / s^2 - 2/3) / s^2 in s^2",
                   root(log_second_tail), lambda z: z**2 / 2, 0, atanh_square, 7),
        Polynomial("log_single", "(log(1 + f) - f + f^2 / 2) / f^3", log_polynomial, log_weight,
                   log_low, log_high, 7, 24),
        Polynomial("cbrt_start", "cbrt(m)", mpmath.cbrt, lambda m: 1 / mpmath.cbrt(m),
                   mpf("0.70710"), mpf("1.41422"), 5),
        Polynomial("sin_tail", "(sin(r) / r - 1) / r^2 in r^2", root(sin_tail), lambda z: z,
                   0, octant, 5),
        Polynomial("cos_tail", "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", root(cos_tail),
                   lambda z: z**2, 0, octant, 5),
        Polynomial("sin_short", "(sin(r) / r - 1) / r^2 in r^2", root(sin_tail), lambda z: z,
                   0, octant, 3),
        Polynomial("cos_short", "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", root(cos_tail),
                   lambda z: z**2, 0, octant, 3),
        Polynomial("sin_single", "(sin(r) / r - 1) / r^2 in r^2", root(sin_tail), lambda z: z,
                   0, octant, 2, 24),
        Polynomial("cos_single", "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", root(cos_tail),
                   lambda z: z**2, 0, octant, 2, 24),
        Polynomial("tanh_single", "(tanh(x) / x - 1) / x^2 in x^2", root(tanh_tail),
                   lambda z: z, 0, mpf("0.4"), 4, 24),
        Polynomial("erf_factor", "erf(x) / x - 1 in x^2", root(erf_factor), lambda z: mpf(1),
                   0, 1, 12, refit=True),
        Polynomial("erf_factor_short", "erf(x) / x - 1 in x^2", root(erf_factor),
                   lambda z: mpf(1), 0, 1, 8),
        Polynomial("erf_factor_single", "erf(x) / x - 1 in x^2", root(erf_factor),
                   lambda z: mpf(1), 0, 1, 5, 24),
        Polynomial("erfc_factor", "erfc(x) exp(x^2) in (x - 2) / (x + 2)", scaled_erfc, over_erf,
                   erfc_low, erfc_high, 14),
        Polynomial("erfc_factor_short", "erfc(x) exp(x^2) in (x - 2) / (x + 2)", scaled_erfc,
                   over_erf, erfc_low, erfc_high_single, 8),
        Polynomial("erfc_factor_single", "erfc(x) exp(x^2) in (x - 2) / (x + 2)", scaled_erfc,
                   over_erf, erfc_low, erfc_high_single, 5, 24),
        Polynomial("atan_tail", "(atan(x) / x - 1) / x^2 in x^2", root(atan_tail), lambda z: z,
                   0, tan_pi_8**2 * (1 + small), 11),
        Polynomial("atan_short", "(atan(x) / x - 1) / x^2 in x^2", root(atan_tail), lambda z: z,
                   0, tan_pi_8**2 * (1 + small), 6),
        Polynomial("asin_tail", "(asin(x) / x - 1) / x^2 in x^2", root(asin_tail), lambda z: z,
                   0, mpf(1) / 4, 12),
        Polynomial("asin_short", "(asin(x) / x - 1) / x^2 in x^2", root(asin_tail), lambda z: z,
                   0, mpf(1) / 4, 7),
    ]  # fmt: skip


@dataclass
class Split:
    """A constant as a sum of float64 (or float32) parts; all but the last have `bits` bits."""

    name: str
    value: mpf
    parts: int
    bits: int
    last: int = 53

    def numbers(self) -> list[mpf]:
        rest, numbers = self.value, []
        for part in range(self.parts):
            numbers.append(rounded(rest, self.last if part == self.parts - 1 else self.bits))
            rest -= numbers[-1]
        return numbers


def splits() -> list[Split]:
    ln2, pi = mpmath.log(2), mpmath.pi
    return [
        Split("ln2_parts", ln2, 2, 41),
        Split("ln2_single", ln2, 2, 13, 24),
        Split("ln2_double", ln2, 2, 53),
        Split("ln2_halves", ln2, 2, 26),
        Split("log2_e_double", 1 / ln2, 2, 53),
        Split("log2_e_halves", 1 / ln2, 2, 26),
        Split("log10_e_halves", 1 / mpmath.log(10), 2, 26),
        Split("log10_e_double", 1 / mpmath.log(10), 2, 53),
        Split("log10_2_parts", mpmath.log(2, 10), 2, 41),
        Split("log10_2_single", mpmath.log(2, 10), 2, 13, 24),
        Split("half_pi_parts", pi / 2, 3, 33),
        Split("half_pi_short", pi / 2, 2, 33),
        Split("half_pi_single", pi / 2, 4, 11, 24),
        Split("half_pi_double", pi / 2, 2, 53),
        Split("two_thirds", mpf(2) / 3, 2, 53),
        Split("cbrt_of_two", mpmath.cbrt(2), 1, 53),
    ]


def two_over_pi_words(count: int) -> list[int]:
    """The first 64 * count fraction bits of 2 / pi, most significant word first."""
    with mpmath.workprec(64 * count + 64):
        bits = int(mpmath.floor(2 / mpmath.pi * mpf(2) ** (64 * count)))
    return [(bits >> (64 * (count - 1 - k))) & (2**64 - 1) for k in range(count)]


def literal(x: mpf) -> str:
    return float(x).hex().replace("0x1.0000000000000p", "0x1p")


def array(name: str, values: list[str], kind: str = "double") -> str:
    body = ",\n    ".join(values)
    return f"inline constexpr std::array<{kind}, {len(values)}> {name} = {{\n    {body},\n}};\n"


def header() -> str:
    mp.dps = 100
    lines = [
        "// Written by scripts/math_coefficients.py, which derives every number here: minimax",
        "// polynomials (lowest power first) with the largest error that remains, relative to the",
        "// function's value, and constants split into parts whose products are exact.",
        "#pragma once",
        "",
        "#include <array>",
        "#include <cstdint>",
        "",
        "// clang-format off",
        "namespace tilewright::math_coefficients {",
        "",
    ]
    for polynomial in polynomials():
        values = polynomial.coefficients()
        interval = (
            f"[{mpmath.nstr(mpf(polynomial.low), 6)}, {mpmath.nstr(mpf(polynomial.high), 6)}]"
        )
        error = mpmath.nstr(polynomial.error(values), 4)
        lines.append(f"/// {polynomial.text} on {interval}; error 2^{error}")
        lines.append(array(polynomial.name, [literal(c) for c in values]))
        print(f"{polynomial.name}: degree {polynomial.degree}, error 2^{error}", file=sys.stderr)
    for split in splits():
        lines.append(array(split.name, [literal(c) for c in split.numbers()]))
    lines.append("/// The fraction bits of 2 / pi, most significant word first.")
    words = [f"0x{word:016x}" for word in two_over_pi_words(20)]
    lines.append(array("two_over_pi", words, "std::uint64_t"))
    lines.append("} // namespace tilewright::math_coefficients")
    lines.append("// clang-format on")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    arguments = parser.parse_args()
    text = header()
    if arguments.check:
        if HEADER.read_text() != text:
            print(f"{HEADER} is not what this script writes", file=sys.stderr)
            return 1
        return 0
    HEADER.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
