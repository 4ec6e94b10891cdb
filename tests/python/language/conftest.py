"""The tests of the language compile small kernels by the hundred: not into the user's cache."""

import pytest


@pytest.fixture(autouse=True, scope="package")
def kernel_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
