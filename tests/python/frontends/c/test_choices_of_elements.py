"""Subscripts that are choices (`x[i < 0 ? 0 : i]`), one within another, read and written: gcc's bits."""

from __future__ import annotations

import numpy as np
import pytest
from c_oracle import check_text

#: Subscripts with values from 0 to 7 for i and j from 0 to 7.
CHOICES = {
    "one": "i == 1 ? 0 : i",
    "clamped": "i - j < 0 ? 0 : i - j >= n ? n - 1 : i - j",
    "in the first branch": "i != 3 ? i > 5 ? 1 : i : 7",
    "multiples": "2 * (i < 3 ? 0 : i < 4 ? 1 : 2) + 1",
    "three": "i - j == -1 ? 0 : i - j > 0 ? i - j : j == 5 ? 3 : 2",
}


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize(
    "statement", ["o[i] += x[AT]", "o[AT] += x[j]", "o[AT] = o[AT] + x[AT]", "o[AT] = i - j"]
)
def test_choices_are_subscripts(kind: str, statement: str) -> None:
    text = """
    void f(int n, const int x[n], int o[n]) {
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) STATEMENT;
    }""".replace("STATEMENT", statement.replace("AT", CHOICES[kind]))
    rng = np.random.default_rng(5)
    check_text(text, [8, rng.integers(-9, 9, 8).astype(np.int32), np.ones(8, np.int32)])


def test_choices_of_a_pointer_without_a_size() -> None:
    text = """int f(int n, const int *x) {
      int s = 0; for (int i = -2; i <= 2; i++) s += x[i < 0 ? 0 : i >= n ? n - 1 : i]; return s;
    }"""
    check_text(text, [8, np.arange(8, dtype=np.int32)])


def test_sums_of_choices_are_computed() -> None:
    text = """void f(int n, const int x[n], int o[n]) {
      for (int i = 0; i < n; i++) o[i] = x[(i < 3 ? 0 : i) + (i > 5 ? -1 : 0)];
    }"""
    check_text(text, [8, np.arange(8, dtype=np.int32), np.ones(8, np.int32)])
