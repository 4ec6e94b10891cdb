"""What an error says, without the user's line that it quotes: in a table, the message expected stands in that line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def raises(error: type[Exception], match: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """As `pytest.raises`, except that the quoted line does not count."""
    with pytest.raises(error) as caught:
        yield caught
    message = getattr(caught.value, "message", str(caught.value))
    assert re.search(match, message), message
