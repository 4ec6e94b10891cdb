"""The base of all errors: a message with a code, and the line of the user's program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from .display import error_html
from .source import SourceLocation, caller_location

__all__ = ["TilewrightError"]


class TilewrightError(Exception):
    """Base of all errors of tilewright.

    Attributes:
        code: which error it is, the same in all versions: "TW101".
        message: what went wrong, without the code and the line.
        location: the line of the user's program, or None when it is not known.
        details: named facts as text; what they are depends on the class.
    """

    class_code: ClassVar[str] = "TW000"
    code: str
    message: str
    location: SourceLocation | None
    details: dict[str, str]

    def __init__(
        self,
        message: str = "",
        location: SourceLocation | None = None,
        details: Mapping[str, str] | None = None,
    ) -> None:
        if location is None:
            location = caller_location()
        self.message = message
        self.location = location
        self.details = dict(details or {})
        self.code = self._code()
        text = f"[{self.code}] {message}"
        super().__init__(text if location is None else f"{text}\n  at {location}")

    def _code(self) -> str:
        return self.class_code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message, self.location, self.details)

    def _picture(self) -> bytes | None:
        """What notebooks show below the error, as PNG."""
        return None

    def _repr_html_(self) -> str:
        where = "" if self.location is None else str(self.location)
        return error_html(
            type(self).__name__, self.code, self.message, self.details, where, self._picture()
        )
