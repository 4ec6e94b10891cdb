"""What ``%load_ext tilewright`` adds to a notebook: an error is shown below its traceback as it
shows itself, with the two instances of a refusal drawn on the iteration domain."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..base.errors import TilewrightError

__all__ = ["show_errors"]


def show_errors(shell: Any) -> None:
    """Shows errors of tilewright in an IPython shell beside their traceback."""

    def handler(
        shell: Any,
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
        tb_offset: int | None = None,
    ) -> None:
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
        if isinstance(error, TilewrightError):
            shell.display_pub.publish(
                {"text/html": error._repr_html_(), "text/plain": f"[{error.code}]"}
            )

    shell.set_custom_exc((TilewrightError,), handler)
