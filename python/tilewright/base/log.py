"""The logger ``tilewright`` of Python's `logging`, written to stderr when somebody asks for it.

What is recorded there is said by `notices`.
"""

from __future__ import annotations

__all__ = ["show_log"]


def show_log(level: str) -> None:
    """Writes the logger's records from a level on to stderr; "off" ends that."""
    import logging

    logger = logging.getLogger("tilewright")
    for handler in logger.handlers[:]:
        if handler.get_name() == "tilewright-stderr":
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
    if level == "off":
        return
    handler = logging.StreamHandler()
    handler.set_name("tilewright-stderr")
    handler.setFormatter(logging.Formatter("tilewright: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level.upper())
