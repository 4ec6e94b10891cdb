"""Scalars and small arrays of an iteration's own: computed where they are read, in one statement."""

import numpy as np
import pytest
import random_iterations

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


LIFE = """
void life(int h, int w, const unsigned char a[restrict h][w], unsigned char b[restrict h][w]) {
#pragma scop
  for (int i = 1; i < h - 1; i++)
    for (int j = 1; j < w - 1; j++) {
      int n = 0;
      for (int u = -1; u <= 1; u++)
        for (int v = -1; v <= 1; v++)
          if (u != 0 || v != 0)
            n += a[i + u][j + v];
      if (n == 3) b[i][j] = 1;
      else if (n == 2) b[i][j] = a[i][j];
      else b[i][j] = 0;
    }
#pragma endscop
}"""


def test_iterations_with_a_sum_of_their_own_run_in_lanes():
    life = tw.c.load(LIFE).life
    world = np.random.default_rng(2).integers(0, 2, (29, 75), dtype=np.uint8)
    before, after = np.zeros_like(world), np.zeros_like(world)
    life(29, 75, world, before)
    schedule = life.auto_schedule()
    life(29, 75, world, after)
    np.testing.assert_array_equal(before, after)
    assert "run at once, statement by statement" in str(life.explain())
    assert ".private(" in str(schedule)
    assert "for i in range(1, h - 1):  # parallel" in str(life.loops)  # each has sums of its own


def test_forces_are_summed_side_by_side_in_their_order():
    bodies = tw.c.load("""
        #include <math.h>
        void forces(int n, const float x[restrict n][3], const float m[restrict n],
                    float acc[restrict n][3]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            float ax = 0, ay = 0, az = 0;
            for (int j = 0; j < n; j++) {
              float dx = x[j][0] - x[i][0], dy = x[j][1] - x[i][1], dz = x[j][2] - x[i][2];
              float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
              float f = m[j] * inv * inv * inv;
              ax += f * dx;
              ay += f * dy;
              az += f * dz;
            }
            acc[i][0] = ax;
            acc[i][1] = ay;
            acc[i][2] = az;
          }
        #pragma endscop
        }""").forces
    rng = np.random.default_rng(3)
    n = 53
    x, m = rng.random((n, 3), dtype=np.float32), rng.random(n, dtype=np.float32)
    before, after = np.zeros_like(x), np.zeros_like(x)
    bodies(n, x, m, before)
    bodies.auto_schedule()
    bodies(n, x, m, after)
    np.testing.assert_array_equal(before, after)  # each sum takes its terms in their order
    assert "iterations of i run at once" in str(bodies.explain())


def test_neighbours_that_move_in_time_are_looked_for_side_by_side():
    """What iterations read of one place of their own, x[i][0], is no load that rows of tiles would share."""
    flock = tw.c.load("""
        void flock(int n, int steps, double x[restrict n][2], double mean[restrict n], double radius) {
        #pragma scop
          for (int t = 0; t < steps; t++) {
            for (int i = 0; i < n; i++) {
              double sum = 0;
              int near = 0;
              for (int j = 0; j < n; j++) {
                double dx = x[j][0] - x[i][0], dy = x[j][1] - x[i][1];
                if (dx * dx + dy * dy < radius) {
                  sum += dx;
                  near++;
                }
              }
              mean[i] = sum / near;
            }
            for (int i = 0; i < n; i++)
              x[i][0] += 0.25 * mean[i];
          }
        #pragma endscop
        }""").flock
    rng = np.random.default_rng(8)
    x = rng.random((53, 2))
    before, after = (x.copy(), np.zeros(53)), (x.copy(), np.zeros(53))
    flock(53, 4, *before, 0.1)
    flock.auto_schedule()
    flock(53, 4, *after, 0.1)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(x, after[0])
    assert "iterations of i run at once" in str(flock.explain())


def test_small_arrays_of_an_iteration_have_an_element_for_each_lane():
    blocks = tw.c.load("""
        void smooth(int n, const float x[restrict n + 4], float y[restrict n]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            float w[5];
            float s = 0;
            for (int k = 0; k < 5; k++)
              w[k] = x[i + k] * x[i + 2];
            for (int k = 0; k < 5; k++)
              s += w[4 - k] * w[k];
            y[i] = s;
          }
        #pragma endscop
        }""").smooth
    x = np.random.default_rng(4).random(104, dtype=np.float32)
    before, after = np.zeros(100, np.float32), np.zeros(100, np.float32)
    blocks(100, x, before)
    blocks.auto_schedule()
    blocks(100, x, after)
    np.testing.assert_array_equal(before, after)
    assert "iterations of i run at once" in str(blocks.explain())


TRANSPOSED = {"b[k][j]": "b", "b[j][k]": "b.T"}


@pytest.mark.parametrize("read", TRANSPOSED)
def test_sums_of_many_terms_have_register_tiles_and_panels(read):
    linear = tw.c.load(
        """
        void linear(int n, int m, int o, const double a[restrict n][m], BOUND, const double z[restrict o],
                    double c[restrict n][o]) {
        #pragma scop
          for (int i = 0; i < n; i++)
            for (int j = 0; j < o; j++) {
              double s = z[j];
              for (int k = 0; k < m; k++)
                s += a[i][k] * READ;
              c[i][j] = s > 0 ? s : 0;
            }
        #pragma endscop
        }""".replace("READ", read).replace(
            "BOUND", "const double b[restrict %s]" % ("m][o" if read == "b[k][j]" else "o][m")
        )
    ).linear
    rng = np.random.default_rng(6)
    n, m, o = 141, 30, 37  # more than one block of rows, and borders of tiles
    a, b, z = rng.random((n, m)), rng.random((m, o)) - 0.5, rng.random(o) - 0.5
    if read == "b[j][k]":
        b = b.T.copy()
    before, after = np.zeros((n, o)), np.zeros((n, o))
    linear(n, m, o, a, b, z, before)
    linear.auto_schedule()
    linear(n, m, o, a, b, z, after)
    np.testing.assert_array_equal(before, after)
    assert "iterations of i x j run at once" in str(linear.explain())
    assert "S2_b = empty(" in str(linear.loops)  # a panel of it lies side by side


def test_what_an_iteration_leaves_for_others_is_not_its_own():
    running = tw.c.load("""
        void running(int n, const float x[restrict n], float y[restrict n], float last[restrict 1]) {
        #pragma scop
          float s = 0;
          for (int i = 0; i < n; i++) {
            float t = x[i] * x[i];
            s = 0.5f * s + t;
            y[i] = s + t;
          }
          last[0] = s;
        #pragma endscop
        }""").running
    x = np.random.default_rng(5).random(70, dtype=np.float32)
    results = []
    for _ in range(2):
        y, last = np.zeros(70, np.float32), np.zeros(1, np.float32)
        running(70, x, y, last)
        results.append((y, last))
        running.auto_schedule()
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("seed", range(14))
def test_random_iterations_have_the_bits_of_the_programs_order(seed):
    random_iterations.check(seed)


def test_some_random_iterations_run_in_lanes():
    schedules = [str(random_iterations.check(seed)) for seed in range(100, 106)]
    assert any(".private(" in schedule for schedule in schedules)
    assert any(".inline(" in schedule for schedule in schedules)


def test_an_element_that_is_read_ahead_of_a_loop_is_read_in_it():
    product = tw.c.load("""
        void product(int n, const double a[restrict n][n], const double b[restrict n][n],
                     double c[restrict n][n]) {
        #pragma scop
          for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) {
              double t = a[i][k];
              for (int j = 0; j < n; j++)
                c[i][j] += t * b[k][j];
            }
        #pragma endscop
        }""").product
    rng = np.random.default_rng(8)
    n = 45
    a, b = rng.random((n, n)), rng.random((n, n))
    before, after = np.ones((n, n)), np.ones((n, n))
    product(n, a, b, before)
    product.auto_schedule()
    product(n, a, b, after)
    np.testing.assert_array_equal(before, after)
    assert "stay in registers while their terms are added" in str(product.explain())


def test_a_value_that_is_computed_ahead_of_a_loop_is_not_computed_in_it():
    scaled = tw.c.load("""
        #include <math.h>
        void scaled(int n, const double x[restrict n], double c[restrict n][n]) {
        #pragma scop
          for (int i = 0; i < n; i++) {
            double e = exp(x[i]);
            double t = e;
            for (int j = 0; j < n; j++)
              c[i][j] = c[i][j] * t + j;
          }
        #pragma endscop
        }""").scaled
    scaled.auto_schedule()
    lines = str(scaled.loops).splitlines()
    (exponential,) = (line for line in lines if "exp(" in line)
    assert "c[" not in exponential
