"""What @tw.jit schedules by itself: chains of whole arrays freely, all else within the program's order."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

r = np.random.default_rng(5)


@tw.jit
def product(A, B, C):
    C[:] = 2.0 * (A @ B) + C


@tw.jit
def by_rows(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - np.dot(A[i, :j], A[j, :j])) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - np.dot(A[i, :i], A[i, :i]))


def test_products_of_whole_arrays_have_register_tiles():
    A, B, C = r.random((20, 30)), r.random((30, 40)), r.random((20, 40))
    want = 2.0 * (A @ B) + C
    product(A, B, C)
    np.testing.assert_allclose(C, want)
    text = str(product.schedule)
    assert "cache(" in text and "unroll(" in text and "vectorize(" in text
    assert 'store_in("C[' in text  # in place


def test_terms_of_sums_in_a_recurrence_have_vector_lanes():
    M = r.random((21, 21))
    A = M @ M.T + 21 * np.eye(21)
    want = np.linalg.cholesky(A)
    by_rows(A)
    np.testing.assert_allclose(np.tril(A), want)
    assert str(by_rows.schedule).count("vectorize(") == 2
    assert "each of whose lanes adds up its own terms" in str(by_rows.schedule.comments)


def test_a_schedule_that_was_found_stays_a_start_for_commands():
    A = r.random((9, 9))
    function = tw.jit(product.py_func).inspect(A, A.copy(), A.copy())
    before = function.schedule
    function.auto_schedule()
    assert function.schedule == before
    assert "vector" in str(function.explain())


def test_a_loop_that_somebody_asks_for_keeps_the_programs_order():
    @tw.jit
    def rows(A, out):
        for i in tw.prange(A.shape[0]):
            out[i] = np.sum(A[i] * A[i])

    A, out = r.random((5, 8)), np.zeros(5)
    rows(A, out)
    np.testing.assert_allclose(out, np.sum(A * A, axis=1))
    assert 'parallelize("i")' in str(rows.schedule)


def test_an_array_is_not_expanded_for_any_order():
    @tw.jit
    def rings(values, radius, n):
        made = np.zeros(n)
        for i in range(n):
            inside = (radius >= i / n) & (radius < (i + 1) / n)
            made[i] = np.sum(np.where(inside, values, 0.0))
        return made

    values, radius = r.random(50), r.random(50)
    np.testing.assert_allclose(rings(values, radius, 4), rings.py_func(values, radius, 4))
    assert "empty((n, " not in str(rings.loops)


@pytest.mark.parametrize("rows", [3, 12])
def test_sizes_in_quotients_are_numbers_of_a_kernel(rows: int) -> None:
    @tw.jit
    def blocks(A, n):
        return A.reshape(n, -1, 3).sum(axis=1)

    for columns in (6, 12):
        A = r.random((rows, columns))
        np.testing.assert_allclose(blocks(A, rows), blocks.py_func(A, rows))
    assert len([kernel for many in blocks._kernels.values() for kernel in many]) == 2


def test_functions_of_many_statements_have_vectors(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    arrays = "abcdefgh"
    steps = "".join(
        f"        for i in range(n):\n            {name}[i] = 0.5 * {name}[i] + y[i] * {k}.0\n"
        for k in range(9)
        for name in arrays
    )
    (tmp_path / "many_steps.py").write_text(
        f"def many({', '.join(arrays)}, y, n):\n    for t in range(2):\n{steps}", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import many_steps

    many = tw.jit(many_steps.many)
    given = [r.random(20) for _ in arrays]
    y = r.random(20)
    want = [each.copy() for each in given]
    many_steps.many(*want, y, 20)
    many(*given, y, 20)
    for own, right in zip(given, want, strict=True):
        np.testing.assert_array_equal(own, right)
    assert str(many.schedule).count(".vectorize(") == 72


def test_local_scalars_are_computed_where_they_are_read():
    @tw.jit
    def median(x, y):
        for i in range(x.shape[0]):
            for j in range(1, x.shape[1] - 1):
                a = x[i, j - 1]
                b = x[i, j]
                c = x[i, j + 1]
                y[i, j] = max(min(a, b), min(max(a, b), c))

    x = r.random((7, 40))
    y, want = np.zeros((7, 40)), np.zeros((7, 40))
    median(x, y)
    median.py_func(x, want)
    np.testing.assert_array_equal(y, want)
    assert all(f"S{k}.inline()" in str(median.schedule) for k in (1, 2, 3))
    assert "# vector" in str(median.loops) and "a_of_S1" not in str(median.loops)


def test_a_scalar_whose_source_is_overwritten_before_it_is_read_keeps_its_place():
    @tw.jit
    def swapped(x):
        for i in range(len(x) // 2):
            t = x[i]
            x[i] = x[len(x) - 1 - i]
            x[len(x) - 1 - i] = t

    x = r.random(11)
    want = x[::-1].copy()
    swapped(x)
    np.testing.assert_array_equal(x, want)
    assert "inline(" not in str(swapped.schedule)


def test_a_costly_scalar_is_not_computed_for_each_term():
    @tw.jit
    def weighted(A, x, y):
        for i in range(len(x)):
            w = np.exp(x[i])
            y[i] = np.sum(A[i] * w)

    A, x, y = r.random((5, 30)), r.random(5), np.zeros(5)
    weighted(A, x, y)
    np.testing.assert_allclose(y, (A * np.exp(x)[:, None]).sum(1), rtol=1e-12)
    assert "inline(" not in str(weighted.schedule)


def sieve(n):
    p = np.ones(n + 1, dtype=np.bool_)
    for i in range(2, int(n**0.5) + 1):
        if p[i]:
            for j in range(i * i, n + 1, i):
                p[j] = False
    return p


def test_a_range_with_an_end_that_is_no_affine_form_ends_there():
    kernel = tw.jit(sieve)
    for n in (1, 2, 3, 30, 121, 1000):
        np.testing.assert_array_equal(kernel(n), sieve(n))
    passes = {each.name: str(each) for each in kernel.inspect(100).passes()}
    assert (
        "for i in range(2, min(n + 1, int64(float64(n) ** 0.5) + 1))" in passes["simplify_indices"]
    )
    source = str(kernel.inspect(100).c)
    assert source.count("for (int64_t i = 2; i < n + 1;") == 0


# ---- points and pixels ----


def lengths(points, out):
    for i in range(len(points)):
        out[i] = np.sqrt(points[i, 0] ** 2 + points[i, 1] ** 2 + points[i, 2] ** 2)


def gray(image, out):
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            out[y, x] = 0.25 * image[y, x, 0] + 0.5 * image[y, x, 1] + 0.25 * image[y, x, 2]


def distances(points, out):
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            d = np.sqrt((points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2)
            if d > 0:
                d = 1 / d
            out[i, j] = d


def inverted(image):
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(image.shape[2]):
                image[y, x, c] = 1 - image[y, x, c]


def smoothed(image, out):
    for y in range(image.shape[0]):
        for x in range(1, image.shape[1] - 1):
            for c in range(3):
                out[y, x, c] = image[y, x - 1, c] + 2 * image[y, x, c] + image[y, x + 1, c]


COMPONENTS = [
    (lengths, (r.random((21, 3)), np.zeros(21))),
    (gray, (r.random((5, 21, 3)), np.zeros((5, 21)))),
    (distances, (r.random((21, 2)), np.zeros((21, 21)))),
    (inverted, (r.random((5, 21, 3)),)),
    (smoothed, (r.random((5, 21, 3)), np.zeros((5, 21, 3)))),
]


@pytest.mark.parametrize(
    "function, given", COMPONENTS, ids=lambda each: getattr(each, "__name__", "")
)
def test_components_of_points_and_pixels_fill_vectors(function, given):
    own, want = [each.copy() for each in given], [each.copy() for each in given]
    made = tw.jit(function)
    made(*own)
    function(*want)
    for one, other in zip(own, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)
    assert "vector(8)" in str(made.loops)


def test_each_small_number_of_components_has_a_kernel_of_its_own():
    made = tw.jit(inverted)
    for channels, kernels in ((3, 1), (3, 1), (4, 2), (1, 3), (5, 4), (6, 4), (3, 4)):
        image = r.random((2, 7, channels))
        want = 1 - image
        made(image)
        np.testing.assert_array_equal(image, want)
        assert sum(map(len, made._kernels.values())) == kernels


def test_small_square_matrices_share_a_kernel():
    made = tw.jit(trace_of)
    for n in (2, 3, 4, 9):
        assert made(np.ones((n, n))) == n
    assert sum(map(len, made._kernels.values())) == 1


def trace_of(A):
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i, i]
    return s
