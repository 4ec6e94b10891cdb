"""What every test shares: kernels that are compiled here stay out of the user's cache, isl may do next
to nothing where no limit on its operations is open, and no thread uses it without its lock."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tilewright import _core

# Small loops run on threads, too.
os.environ["TILEWRIGHT_LEAST_PARALLEL_WORK"] = "0"

# Every entry into the library opens a limit of its own; one that does not fails under this.
_core.set_unscoped_limit(1)

# Every entry takes isl's lock; one that does not ends the process.
_core.require_isl_lock(True)


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        # Most kernels here run once; test_tiers.py has those that the background improves.
        patch.setenv("TILEWRIGHT_OPTIMIZE", "light")
        yield
