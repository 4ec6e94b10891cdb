"""What calls run as long as nobody has scheduled the function."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from levels import LEVELS
from tilewright.frontends.c.running import MOST_STRIDES, strides_of

BLAS = """
void daxpy(int n, double da, const double dx[], int incx, double dy[], int incy) {
  int i, ix, iy;
  if (n <= 0) return;
  ix = 0; iy = 0;
  if (incx < 0) ix = (-n + 1) * incx;
  if (incy < 0) iy = (-n + 1) * incy;
  for (i = 0; i < n; i++) { dy[iy] += da * dx[ix]; ix += incx; iy += incy; }
}
void dscal(int n, double a, double *x, int incx) {
  for (int i = 0; i < n * incx; i += incx) x[i] = a * x[i];
}
void every(int n, int step, double x[n], const double y[n]) {
  for (int i = step - 1; i < n; i += step) x[i] += y[n - 1 - i];
}
void multiples(int n, int step, double x[], const double y[n]) {
  for (int i = 0; i < n; i++) x[i * step] += y[i];
}
void plain(int n, double x[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i][j] += i * n + j;
}
"""


@pytest.fixture(scope="module")
def blas() -> tw.c.CModule:
    return tw.c.load(BLAS, scop="function")


def test_which_arguments_are_strides(blas):
    found = {name: strides_of(function.program) for name, function in blas.functions.items()}
    assert found == {
        "daxpy": ("incx", "incy"),
        "dscal": ("incx",),
        "every": ("step",),
        "multiples": ("step",),
        "plain": (),
    }


def test_each_stride_has_its_own_values_and_all_have_the_right_ones(blas):
    random = np.random.default_rng(3)
    n = 37
    steps = [1, 2, 3, -1, 1, 5, 7, 2, -2, 1]
    assert len({abs(step) for step in steps}) > MOST_STRIDES
    for step in steps:
        for other in (1, abs(step)):
            x, y = random.random(n * abs(step)), random.random(n * other)
            mine, wanted = y.copy(), y.copy()
            blas.daxpy(n, 2.0, x, step, mine, other)
            from_x = x[:: abs(step)][:: 1 if step > 0 else -1]
            wanted[::other] += 2.0 * from_x
            assert mine.tobytes() == wanted.tobytes(), (step, other)
        if step > 0:
            mine, wanted = x.copy(), x.copy()
            blas.dscal(n, 3.0, mine, step)
            wanted[::step] *= 3.0
            assert mine.tobytes() == wanted.tobytes(), step
            mine, wanted, y = random.random(n), None, random.random(n)
            wanted = mine.copy()
            wanted[step - 1 :: step] += y[::-1][step - 1 :: step]
            blas.every(n, step, mine, y)
            assert mine.tobytes() == wanted.tobytes(), step
            mine = random.random(n * step)
            wanted = mine.copy()
            wanted[::step] += y
            blas.multiples(n, step, mine, y)
            assert mine.tobytes() == wanted.tobytes(), step


def test_loops_over_strides_are_ranges():
    blas = tw.c.load(BLAS, scop="function")
    running = blas.daxpy._running
    made, exact, _ = running.of_call(blas.daxpy.program, {"incx": 1, "incy": 1})
    assert exact == ("incx", "incy")
    assert "vector" in str(made.function.loops)
    made, exact, _ = blas.every._running.of_call(blas.every.program, {"step": 4})
    assert "while" not in str(made.function.loops)
    general, exact, _ = running.of_call(blas.daxpy.program, {"incx": 0, "incy": 1})
    assert exact and general is not made


SCALE = """
void scale(int n, double A[n]) {
  for (int i = 0; i < n; i++) A[i] = 2 * A[i];
}
"""


def test_commands_begin_with_the_order_of_the_file_and_end_the_default():
    scale = tw.c.load(SCALE, scop="function").scale
    x = np.ones(50)
    for _ in range(3):
        scale(50, x)
    assert (x == 8).all()
    assert "vectorize" in str(scale.default_schedule)
    assert "vector" not in str(scale.loops)
    scale[0].split("i", 10)
    assert str(scale.default_schedule) == str(scale.schedule)
    kernel = scale.function.function
    assert not kernel.last_compile
    scale(50, x)  # no call is known any more
    assert kernel.last_compile
    assert (x == 16).all()


def test_waiting_is_for_what_runs():
    scale = tw.c.load(SCALE, scop="function").scale
    assert scale.wait_optimized()  # nothing has run
    made = scale._running.general.function  # no call is kept from now on
    scale(50, np.ones(50))
    scale.wait_optimized()
    assert made.last_compile
    assert not made._pending
    assert not scale.function.function.last_compile


def test_nobody_is_to_schedule():
    with tw.settings(default_schedule=False):
        scale = tw.c.load(SCALE, scop="function").scale
        x = np.ones(5)
        scale(5, x)
        assert (x == 2).all()
        assert str(scale.default_schedule) == str(scale.schedule)


APART = """
void apart(int n, const {type} b[restrict n], {type} a[restrict {step} * n + 1]) {{
  for (int i = 0; i < n; i++)
    a[{step} * i + 1] = b[i] + a[{step} * i];
}}
"""


@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["float", "double", "short", "unsigned char"])
def test_stores_a_few_places_apart_leave_what_is_between(name: str, step: int):
    """Vectors store under masks; what nobody writes keeps its bits, also behind the last element."""
    dtype = {"float": "f4", "double": "f8", "short": "i2", "unsigned char": "u1"}[name]
    f = tw.c.load(APART.format(type=name, step=step), scop="function").apart
    made = np.random.default_rng(3)
    for n in (0, 1, 3, 8, 16, 17, 64, 100, 131):
        b = made.integers(0, 100, n).astype(dtype)
        a = made.integers(0, 100, step * n + 1).astype(dtype)
        expected = a.copy()
        expected[1::step] = b + a[:-1:step]
        # The array ends where it ends: what lies behind it is somebody else's.
        whole = np.concatenate([a, made.integers(0, 100, 64).astype(dtype)])
        behind = whole[len(a) :].copy()
        f(n, b, whole[: len(a)])
        np.testing.assert_array_equal(whole[: len(a)], expected)
        np.testing.assert_array_equal(whole[len(a) :], behind)


@pytest.mark.skipif("x86-64-v4" not in LEVELS, reason="masks are for processors that have them")
def test_stores_apart_of_an_array_of_their_own_are_vectors():
    """Not those of which others write the elements between: LLVM interleaves these."""
    f = tw.c.load(APART.format(type="float", step=2), scop="function").apart
    f(64, np.zeros(64, "f4"), np.zeros(129, "f4"))
    assert "vectorize" in str(f.default_schedule)
    both = tw.c.load(
        """void both(int n, const float b[restrict n], float a[restrict 2 * n]) {
          for (int i = 0; i < n; i++) { a[2 * i] = b[i]; a[2 * i + 1] = -b[i]; }
        }""",
        scop="function",
    ).both
    a = np.zeros(128, "f4")
    both(64, np.arange(64, dtype="f4"), a)
    assert (a.reshape(64, 2) == np.arange(64)[:, None] * [1, -1]).all()
    assert "vectorize" not in str(both.default_schedule)


STEPS = """
void later(int n, float a[restrict n], const float b[restrict n]) {
  for (int i = 1; i < n; i += 2)
    a[i] = a[i - 1] + b[i];
}

void red_black(int n, int m, float a[restrict n][m], const float f[restrict n][m]) {
  for (int c = 0; c < 2; c++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1 + (i + c) % 2; j < m - 1; j += 2)
        a[i][j] = 0.25f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] - f[i][j]);
}

void butterflies(int n, float x[restrict n]) {
  for (int i = 0; i + 1 < n; i += 2) {
    float t = x[i];
    x[i] = t + x[i + 1];
    x[i + 1] = t - x[i + 1];
  }
}

void three_at_once(int n, double x[restrict n], double y[restrict n]) {
  for (int i = 2; i < n; i += 3) {
    x[i - 1] = y[i] * 2;
    y[i - 2] = x[i - 1] + y[i - 1];
  }
}
"""


def stepped(name: str, *arrays: np.ndarray) -> None:
    """The same in NumPy, element by element where one needs another."""
    if name == "later":
        a, b = arrays
        a[1::2] = a[: len(a) - 1 : 2][: len(a[1::2])] + b[1::2]
    elif name == "red_black":
        a, f = arrays
        n, m = a.shape
        for c in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + c) % 2, m - 1, 2):
                    around = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                    a[i, j] = np.float32(0.25) * (around - f[i, j])
    elif name == "butterflies":
        (x,) = arrays
        pairs = x[: len(x) // 2 * 2].reshape(-1, 2)
        pairs[:] = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
    else:
        x, y = arrays
        for i in range(2, len(x), 3):
            x[i - 1] = y[i] * 2
            y[i - 2] = x[i - 1] + y[i - 1]


@pytest.mark.parametrize("name", ["later", "red_black", "butterflies", "three_at_once"])
def test_loops_with_a_step_run_better_nests(name: str):
    """They count from zero by one, and are planned as others are; values are those of the file's order."""
    f = getattr(tw.c.load(STEPS, scop="function"), name)
    made = np.random.default_rng(5)
    dtype = "f8" if name == "three_at_once" else "f4"
    sizes = (1, 2, 3, 4, 5, 31, 32, 33, 34, 35, 64, 97, 130)
    for n in sizes:
        shape = (7, n) if name == "red_black" else (n,)
        count = 1 if name == "butterflies" else 2
        arrays = [made.standard_normal(shape).astype(dtype) for _ in range(count)]
        expected = [array.copy() for array in arrays]
        stepped(name, *expected)
        f(*shape, *arrays)
        for own, right in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(own, right)
    assert "keep their order" not in str(f.default_schedule)


@pytest.mark.skipif("x86-64-v4" not in LEVELS, reason="masks are for processors that have them")
def test_colours_of_a_grid_are_vectors_on_threads():
    """Where a row's points begin depends on the row."""
    f = tw.c.load(STEPS, scop="function").red_black
    f(64, 64, np.zeros((64, 64), "f4"), np.zeros((64, 64), "f4"))
    assert 'S1.vectorize("j", 16).parallelize("i")' in str(f.default_schedule)


SHORTER = """
void shorter(int n, double d[restrict n][n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++) {
      double a = d[i][k];
      for (int j = 0; j < n; j++)
        if (a + d[k][j] < d[i][j])
          d[i][j] = a + d[k][j];
    }
}

void roots(int n, const double x[restrict n], double y[restrict n]) {
  for (int i = 0; i < n; i++)
    if (x[i] > 0)
      y[i] = sqrt(x[i]) / (1 + x[i]);
}
"""


@pytest.mark.skipif("x86-64-v4" not in LEVELS, reason="masks are for processors that have them")
def test_relaxations_have_masks_and_no_branch():
    """A branch that is predicted wrongly takes longer than a store of no lane; other tests seldom hold for a lane."""
    module = tw.c.load("#include <math.h>\n" + SHORTER, scop="function")
    made = np.random.default_rng(9)
    for n in (1, 7, 8, 9, 30):
        d = made.random((n, n))
        expected = d.copy()
        for k in range(n):
            for i in range(n):
                a = expected[i, k]
                expected[i] = np.minimum(a + expected[k], expected[i])
        module.shorter(n, d)
        np.testing.assert_array_equal(d, expected)
        x, y = made.standard_normal(n), made.random(n)
        expected = np.where(x > 0, np.sqrt(np.abs(x)) / (1 + x), y)
        module.roots(n, x, y)
        np.testing.assert_array_equal(y, expected)
    branch = "if reduce(|"
    assert branch not in str(module.shorter._running.general.function.passes())
    assert branch in str(module.roots._running.general.function.passes())


#: One of the arrays has rows of w elements as long as w is any number, and the other one has none.
ROWS_OF_ONE = [
    "o[j * w + i + 1] = y[j * w + i]",
    "o[2 * (j * w + i)] = y[j * w + i]",
    "o[j * w + i] = y[2 * (j * w + i)]",
    "o[j * w + i] = y[j * w + i] + (i > 0 ? o[j * w + i - 1] : 0)",
    "y[j * w + i] = o[2 * (j * w + i)]",
]


@pytest.mark.parametrize("statement", ROWS_OF_ONE)
def test_arrays_with_rows_stand_beside_arrays_without(statement: str) -> None:
    text = """void f(int w, int h, double *y, double *o) {
      for (int j = 0; j < h; j++) for (int i = 0; i < w; i++) STATEMENT;
    }"""
    ours = tw.c.load(text.replace("STATEMENT", statement), scop="function").f
    plain = statement.replace("(i > 0 ? o[j * w + i - 1] : 0)", "(o[j * w + i - 1] if i else 0)")
    for w, h in ((12, 8), (8, 12), (12, 8)):
        for rank in (1, 2):
            y, o = np.arange(192.0), np.arange(192.0) / 3
            expected = {"y": y.copy(), "o": o.copy()}
            for j in range(h):
                for i in range(w):
                    exec(plain, {"w": w, "i": i, "j": j}, expected)
            ours(w, h, y.reshape(-1, w) if rank == 2 and "[2 * (j * w + i)]" not in plain else y, o)
            np.testing.assert_array_equal(y, expected["y"])
            np.testing.assert_array_equal(o, expected["o"])
