"""What is seen of a search while it runs: a bar of tqdm where that is installed, else lines."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Progress"]


class Progress:
    """Shows how much of the budget is gone, and the best time so far.

    Args:
        name: of the function.
        budget: seconds.
        shown: None shows it on a terminal.
    """

    def __init__(self, name: str, budget: float, shown: bool | None) -> None:
        self._name, self._budget = name, budget
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._bar: Any = None
        self._text = ""
        if not self._shown:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(
            total=round(budget, 1),
            desc=f"tuning {name}",
            file=sys.stderr,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} s{postfix}",
        )

    def show(self, elapsed: float, text: str) -> None:
        """So many seconds are gone, and this is the best so far."""
        if self._bar is not None:
            self._bar.n = min(round(elapsed, 1), self._bar.total)
            self._bar.set_postfix_str(text)
        elif self._shown and text != self._text:
            print(
                f"tuning {self._name}: {elapsed:.1f}/{self._budget:.3g} s, {text}", file=sys.stderr
            )
        self._text = text

    def close(self) -> None:
        """The search is over."""
        if self._bar is not None:
            self._bar.close()
