"""What the pictures of this library share: figures of matplotlib, which is there only for them."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import Any

__all__ = ["Drawing", "new_figure"]


def new_figure(**arguments: Any) -> Any:
    """A figure of matplotlib, outside of pyplot's list of figures.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error
    return Figure(**arguments)


@dataclass
class Drawing:
    """A figure that notebooks show.

    Attributes:
        figure: matplotlib's figure.
    """

    figure: Any

    def save(self, path: str | os.PathLike[str], dpi: int = 150) -> None:
        """Writes the picture to a file whose format is known by its suffix (.png, .svg, .pdf)."""
        self.figure.savefig(path, dpi=dpi)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=80)
        return buffer.getvalue()
