"""Names of inputs and parameters that Python, a call or C has a meaning for; attributes that are
none."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import tilewright as tw

i = tw.iter("i")


def double(name: str, parameter: str = "N") -> tw.Function:
    N = tw.param(parameter)
    A = tw.input(name, [N], tw.float32)
    return tw.function("double", outputs=[tw.computation("C", {i: N}, 2 * A[i])])


@pytest.mark.parametrize("name", ["if", "None", "class", "out"])
def test_inputs_that_cannot_be_keywords(name):
    f = double(name)
    (first, *_) = inspect.signature(f).parameters.values()
    assert first.kind is first.POSITIONAL_ONLY
    assert first.name == f"{name}_"
    assert f"{name}_: float32[N]" in pydoc.render_doc(f)
    np.testing.assert_array_equal(f(np.ones(3, np.float32)), np.full(3, 2, np.float32))


@pytest.mark.parametrize("name", ["if", "out"])
def test_parameters_that_cannot_be_keywords(name):
    f = double("A", name)
    assert list(inspect.signature(f).parameters) == ["A", "out", "threads"]
    assert "float32" in pydoc.render_doc(f)


def test_what_stands_before_them_goes_by_position_too():
    N = tw.param("N")
    x, y, z = (tw.input(name, [N], tw.float32) for name in ("x", "lambda", "z"))
    f = tw.function("f", outputs=[tw.computation("C", {i: N}, x[i] + y[i] + z[i])])
    kinds = [str(each) for each in inspect.signature(f).parameters.values()]
    assert kinds[:3] == ["x: float32[N]", "lambda_: float32[N]", "z: float32[N]"]
    assert "(x: float32[N], lambda_: float32[N], /, z: float32[N], *" in str(inspect.signature(f))


def test_an_input_called_out():
    f = double("out")
    with pytest.raises(tw.ArgumentTypeError, match="the input out goes by its position"):
        f(out=np.ones(3, np.float32))


def test_an_input_called_self():
    f = double("self")
    a = np.ones(3, np.float32)
    for run in (f, f.evaluate):
        np.testing.assert_array_equal(run(self=a), 2 * a)
    assert f.compile(self=a)["key"]
    assert f.compile_async(self=a).result()["key"]
    assert f.trace_nan(self=a) is None
    assert f.profile(self=a, roofline=False)["C"].flops == 3


def test_computations_that_are_none():
    f = double("A")
    with pytest.raises(tw.ArgumentTypeError, match="expected a computation or its name, got 5"):
        f.trace_nan(np.ones(3, np.float32), computation=5)


def test_attributes_that_are_none():
    f = double("A")
    with pytest.raises(AttributeError, match=r"no attribute 'threds'.*did you mean threads"):
        f.threds = 2
    with pytest.raises(AttributeError, match=r"no attribute 'chek_bounds'.*did you mean check_b"):
        f.chek_bounds = True
    with pytest.raises(AttributeError, match=r"no attribute 'speed'.*there are .*threads"):
        f.speed = 3
    f.threads = 2
    f.check_bounds = True
    f.__wrapped__ = None
    assert f.threads == 2


def test_names_that_are_missing():
    with pytest.raises(tw.DeclarationError, match=r"tw.params\('N M'\)"):
        tw.param("")
    with pytest.raises(tw.DeclarationError, match=r"tw.iters\('i j'\)"):
        tw.iters("")


def test_sizes_that_are_none():
    with pytest.raises(tw.ArgumentTypeError, match="bytes must be an integer, got '100M'"):
        tw.cache.prune("100M")  # type: ignore[arg-type]
