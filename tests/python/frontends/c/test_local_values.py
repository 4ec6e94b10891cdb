"""Scalars and small arrays of an iteration's own: computed where they are read, in one statement."""

import numpy as np
import pytest

import tilewright as tw

EXCHANGES = [(1, 2), (4, 5), (7, 8), (0, 1), (3, 4), (6, 7), (1, 2), (4, 5), (7, 8), (0, 3)]
EXCHANGES += [(5, 8), (4, 7), (3, 6), (1, 4), (2, 5), (4, 7), (4, 2), (6, 4), (4, 2)]


def median_program(exchange):
    """The median of 3 x 3 pixels by a network of exchanges (Devillard, Fast median search, 1998)."""
    network = " ".join(exchange % {"a": a, "b": b} for a, b in EXCHANGES)
    return tw.c.load(
        f"""
        void median(int h, int w, const unsigned char in[restrict h][w],
                    unsigned char out[restrict h][w]) {{
        #pragma scop
          for (int i = 1; i < h - 1; i++)
            for (int j = 1; j < w - 1; j++) {{
              unsigned char p[9];
              for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                  p[3*a + b] = in[i + a - 1][j + b - 1];
              {network}
              out[i][j] = p[4];
            }}
        #pragma endscop
        }}"""
    ).median


IF = "if (p[%(a)d] > p[%(b)d]) { unsigned char t = p[%(a)d]; p[%(a)d] = p[%(b)d]; p[%(b)d] = t; }"
CHOICE = (
    "{ unsigned char t = p[%(a)d] < p[%(b)d] ? p[%(a)d] : p[%(b)d];"
    " p[%(b)d] = p[%(a)d] < p[%(b)d] ? p[%(b)d] : p[%(a)d]; p[%(a)d] = t; }"
)


@pytest.mark.parametrize("exchange", [IF, CHOICE], ids=["if", "choice"])
def test_a_network_of_exchanges_is_one_statement(exchange):
    median = median_program(exchange)
    median.auto_schedule()
    image = np.random.default_rng(1).integers(0, 256, (37, 90), dtype=np.uint8)
    out = np.zeros_like(image)
    median(37, 90, image, out)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3)).reshape(35, 88, 9)
    np.testing.assert_array_equal(out[1:-1, 1:-1], np.median(windows, axis=2))
    loops = str(median.loops)
    assert "empty(" not in loops  # nothing of it is in memory
    assert "# vector(" in loops
    assert loops.count("out_2[i, ") == 1


def test_what_is_overwritten_in_between_is_read_before():
    program = tw.c.load("""
        void shift(int n, int a[restrict n], int b[restrict n]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            int old = a[i];
            a[i] = 2 * i;
            b[i] = old + a[i];
          }
        #pragma endscop
        }""")
    program.shift.auto_schedule()
    a, b = np.arange(40, dtype=np.int32) ** 2, np.zeros(40, np.int32)
    expected = a + 2 * np.arange(40)
    program.shift(40, a, b)
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(a, 2 * np.arange(40))


def test_what_several_statements_read_is_computed_once():
    program = tw.c.load("""
        #include <math.h>
        void both(int n, const double x[restrict n], double a[restrict n], double b[restrict n]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            double e = exp(x[i]);
            a[i] = e + 1;
            b[i] = 2 * e;
          }
        #pragma endscop
        }""")
    program.both.auto_schedule()
    assert str(program.both.loops).count("exp(") == 1


def test_values_that_are_left_for_the_next_iteration_stay_in_memory():
    program = tw.c.load("""
        void count(int n, int m, float limit, int steps[restrict n]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            float x = 0.01f * i;
            int k = 0;
            while (k < 50 && x < limit) {
              float t = x * x + 0.3f;
              x = t + 0.01f;
              k++;
            }
            steps[i] = k;
          }
        #pragma endscop
        }""")
    n = 60
    before, after = np.zeros(n, np.int32), np.zeros(n, np.int32)
    program.count(n, 1, np.float32(2), before)
    program.count.auto_schedule()
    program.count(n, 1, np.float32(2), after)
    np.testing.assert_array_equal(before, after)
    assert 0 < after.min() < after.max()
