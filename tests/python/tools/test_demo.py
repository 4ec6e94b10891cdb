"""The demonstration's two programs on small arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.tools import demo


@pytest.mark.parametrize("shape", [(3, 1), (3, 64), (40, 100), (37, 4001)])
def test_brighten(shape):
    image = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    function = demo.brighten_function()
    expected = demo.brighten_numpy(image)
    np.testing.assert_array_equal(function(image), expected)
    assert "window" in function.layers
    if image.size < 5000:
        np.testing.assert_array_equal(function.evaluate(image), expected)


@pytest.mark.parametrize("size", [(1, 1, 1), (4, 32, 8), (13, 70, 29)])
def test_matmul(size):
    n, m, k = size
    generator = np.random.default_rng(2)
    a = generator.random((n, k), dtype=np.float32)
    b = generator.random((k, m), dtype=np.float32)
    np.testing.assert_allclose(demo.matmul_function()(a, b), a @ b, rtol=1e-5)
