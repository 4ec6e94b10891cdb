"""Operands of which a later one changes what an earlier one reads, and calls that may not be made at all."""

from __future__ import annotations

import numpy as np

from .cases import case


def numbers(r, n):
    return r.integers(0, 20, n)


def bump(a, by):
    a[0] += by
    return a[0]


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def small(a, i, limit):
    return a[i] * a[i] < limit


@case(lambda r, n=8: (numbers(r, n),))
def read_before_the_call(a):
    return a[0] + bump(a, 3)


@case(lambda r, n=8: (numbers(r, n),))
def products_around_calls(a):
    return a[0] * 2 + bump(a, 2) * a[0] - a[0]


@case(lambda r, n=8: (numbers(r, n),))
def compared_with_a_call(a):
    x = a[0] < bump(a, 1)
    y = a[0] < bump(a, 1) < a[0] * 3
    return x, y


@case(lambda r, n=8: (numbers(r, n),))
def results_in_turn(a):
    return a[0], bump(a, 2), a[0]


@case(lambda r, n=8: (numbers(r, n),))
def arguments_in_turn(a):
    return max(a[0], bump(a, -4)) + min(a[0] * 3, bump(a, 2))


@case(lambda r, n=8: (numbers(r, n),))
def added_to_by_a_call(a):
    a[0] += bump(a, 5)
    return a


@case(lambda r, n=8: (numbers(r, n),))
def array_before_the_call(a):
    return (a * 2) + bump(a, 7)


@case(lambda r, n=8: (numbers(r, n), 90))
def while_a_call_says_so(a, limit):
    i = 0
    while i < len(a) and small(a, i, limit):
        i += 1
    return i


@case(lambda r, n=8: (numbers(r, n),))
def calls_that_may_not_be_made(a):
    total = 0
    for i in range(len(a)):
        total += gcd(a[i], 12) if a[i] > 3 else 100
        if a[i] % 2 == 1 or gcd(a[i], 6) == 6:
            total += 1000
        if i > 0 and a[i] > 0 and gcd(a[i], a[i - 1]) == 1 and not (a[i] > 5 or gcd(a[i], 10) > 1):
            total += 100000
    return total


@case(lambda r, n=8: (numbers(r, n), 1))
def effects_of_calls_that_are_made(a, c):
    y = a[0] + (bump(a, 1) if c else 0)
    z = (a[0] > 9 and bump(a, 2) > 3) or bump(a, -30) > 100
    return y + a[0] * 100 + (1000 if z else 0)


@case(lambda r, n=8: (numbers(r, n) - 12,))
def found_or_else(a):
    for i in range(len(a)):
        if a[i] > 0:
            place = i
            break
    else:
        place = -1
    return place


@case(lambda r, n=8: (numbers(r, n),))
def found_or_else_in_a_loop(a):
    out = np.zeros(len(a))
    for j in range(len(a)):
        k = 0
        for i in range(j, len(a)):
            if a[i] % 3 == 0:
                s = i * 2
                k = 1
                break
            elif a[i] % 5 == 0:
                s = -i
                break
        else:
            s = 7
        out[j] = s + k
    return out


@case(lambda r, n=8: (numbers(r, n),))
def searched_or_else(a):
    i = 0
    while i < len(a):
        if a[i] == 3:
            result = 10
            break
        i += 1
    else:
        result = 20
    return result + i


@case(lambda r, n=8: (r.random(n), r.random(2), r.random(n)))
def filter_of_any_length(x, b, y):
    z = 0.0
    for n in range(len(x)):
        o = b[0] * x[n] + z
        z = b[1] * o
        y[n] = o


@case(lambda r, n=0: (r.random(n), r.random(2), r.random(n)))
def filter_of_no_length(x, b, y):
    z = 0.0
    for n in range(len(x)):
        o = b[0] * x[n] + z
        z = b[1] * o
        y[n] = o


def place_of(a, v):
    for i in range(len(a)):
        if a[i] == v:
            return i
    return -1


def is_prime(n):
    if n < 2:
        return False
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


def pair_with(a, s):
    for i in range(len(a)):
        for j in range(i):
            if a[i] + a[j] == s:
                return i, j
            if a[i] > 100:
                return -2, i
        if a[i] == s:
            return i, i
    else:
        if s > 5:
            return -5, -6
    return -1, -1


def first_above(a, low):
    k = 0
    while True:
        if k >= len(a):
            return 0.5
        if a[k] > low:
            a[k] += 1
            return a[k] * 2.0
        k += 1


def fill_up_to(a, v):
    for i in range(len(a)):
        if a[i] == v:
            return
        a[i] = v


@case(lambda r, n=8: (numbers(r, n), 5))
def places(a, v):
    return place_of(a, v) * 10 + place_of(a, 3) - place_of(a, a[0])


@case(lambda r, n=8: (50,))
def sum_of_primes(n):
    total = 0
    for i in range(n):
        if is_prime(i) and i % 10 != 3:
            total += i
    return total


@case(lambda r, n=8: (numbers(r, n), 20))
def pairs_of_sums(a, n):
    total = 0
    for s in range(n):
        i, j = pair_with(a, s)
        total = (total * 3 + i * 7 + j) % 1000003
    return total


@case(lambda r, n=8: (numbers(r, n),))
def first_ones(a):
    return first_above(a, 2) + first_above(a, 100)


@case(lambda r, n=8: (numbers(r, n),))
def filled_up(a):
    fill_up_to(a, 3)
    fill_up_to(a, 4)
    return a


@case(lambda r, n=8: (numbers(r, n), 9))
def while_it_is_found(a, n):
    k = 0
    while k < n and place_of(a, a[k % len(a)]) >= 0:
        k += 1
    return k


def three(x, y, z):
    return x * 10000 + y * 100 + z


@case(lambda r, n=8: (numbers(r, n), np.array([0, 2, 5])))
def gathered_elements_are_added_to(a, where):
    a[where] += bump(a, 2)
    return a


@case(lambda r, n=8: (numbers(r, n), 13))
def places_of_remainders_are_added_to(a, n):
    a[n % len(a)] += bump(a, 1)
    return a


@case(lambda r, n=8: (numbers(r, n) % 8,))
def places_of_data_are_added_to(a):
    a[a[1]] += bump(a, 3)
    a[bump(a, 0) % 8] += bump(a, 1)
    return a


@case(lambda r, n=8: (numbers(r, n),))
def chosen_elements_are_added_to(a):
    a[a > 3] += bump(a, 1)
    return a


@case(lambda r, n=8: (numbers(r, n),))
def arguments_by_name_in_turn(a):
    first = three(x=a[0], y=bump(a, 1), z=a[0])
    parts = {"x": a[0], "y": bump(a, 1), "z": a[0]}
    return first, parts["x"], parts["y"], parts["z"]


@case(lambda r, n=8: (numbers(r, n),))
def conditions_behind_those_on_indices(a):
    total = 0
    for i in range(len(a)):
        t = 0
        if i > 0:
            t = a[i - 1] * 2
        total += 1 if i > 0 and t > 5 else 0
        total += 100 if i > 0 and bump(a, 1) > 5 else 0
        total += 10000 if i == 0 or gcd(a[i], a[i - 1]) == 1 else 0
    return total
