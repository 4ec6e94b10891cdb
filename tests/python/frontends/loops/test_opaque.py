"""Blocks of Python functions: what they raise, where they cannot be, and what they read."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


@tw.jit
def inverse(A):
    return np.linalg.inv(A)


def test_what_numpy_raises_is_raised_by_the_call():
    with pytest.raises(np.linalg.LinAlgError):
        inverse(np.zeros((3, 3)))
    np.testing.assert_allclose(inverse(2 * np.eye(3)), np.eye(3) / 2)
    with pytest.raises(np.linalg.LinAlgError):
        inverse(np.zeros((3, 3)))


def test_it_is_called_where_a_condition_holds():
    @tw.jit
    def sometimes(A, k):
        for i in range(0, k, 2):
            if A[0, 0] > i:
                A[:] = np.linalg.inv(A)
                A[0, 0] += 3

    for first, k in ((0.0, 3), (4.0, 3), (4.0, 5), (-1.0, 2)):
        found, wanted = np.array([[first, 0], [1, 2]]), np.array([[first, 0], [1, 2]])
        sometimes(found, k)
        for i in range(0, k, 2):
            if wanted[0, 0] > i:
                wanted = np.linalg.inv(wanted)
                wanted[0, 0] += 3
        np.testing.assert_array_equal(found, wanted)


def test_it_is_refused_in_loops_that_data_end():
    @tw.jit
    def again(A):
        while A[0, 0] > 1:
            A[:] = np.linalg.inv(A)

    with pytest.raises(tw.TranslationError, match="inv is called in a loop that data end"):
        again(np.eye(3))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("np.percentile(A[:, 0], A[0, 0] * 100)", "percentile takes ...-> here"),
        ("np.sort(A, axis=None)", "gives an array of 1 dimension"),
        ("np.linalg.solve(A, np.zeros((2, 2, 2)))", "np.linalg.solve takes nn,n->n or nn,nm->nm"),
        ("np.interp([0.5], A[0], A[1])", "np.interp takes ...,n,n->... here"),
    ],
)
def test_what_is_not_known_beforehand_is_refused(body: str, reason: str) -> None:
    import linecache

    name = f"<opaque {body}>"
    text = f"def f(A):\n    return {body}\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    with pytest.raises(tw.TranslationError, match=reason) as caught:
        tw.jit(namespace["f"])(np.eye(3))
    assert caught.value.line == 2


def test_the_evaluator_calls_the_function_too():
    A = np.diag([3.0, 1.0, 2.0])

    @tw.jit
    def smallest(A, out):
        out[:] = np.linalg.eigvalsh(A)[:1] + np.sum(A)

    out = np.zeros(1)
    smallest(A, out)
    function, given = smallest._given((A, out), {})
    assert out == function.evaluate(*given)["out_"] == 7
