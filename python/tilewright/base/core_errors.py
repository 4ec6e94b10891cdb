"""The errors of the core as Python's: which class is raised for which kind."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import (
    AnalysisLimitError,
    ArgumentError,
    ArgumentOverflowError,
    ArgumentTypeError,
    DeclarationError,
    DeclarationTypeError,
    DeviceError,
    DeviceMemoryError,
    DomainError,
    IllegalScheduleError,
    InternalError,
    OutOfBoundsError,
    ScheduleError,
    SelfDependenceError,
    SetError,
    SubscriptError,
    TilewrightError,
)
from .source import SourceLocation
from .written import as_written

__all__ = ["make_error"]

_CLASSES: dict[str, type[TilewrightError]] = {
    "type": DeclarationTypeError,
    "declaration": DeclarationError,
    "bounds": DomainError,
    "cycle": SelfDependenceError,
    "schedule": ScheduleError,
    "illegal_schedule": IllegalScheduleError,
    "limit": AnalysisLimitError,
    "argument": ArgumentError,
    "argument_type": ArgumentTypeError,
    "argument_overflow": ArgumentOverflowError,
    "set": SetError,
    "index": SubscriptError,
    "access": OutOfBoundsError,
    "device": DeviceError,
    "device_memory": DeviceMemoryError,
    "internal": InternalError,
}


def make_error(
    kind: str,
    message: str,
    where: tuple[str, int, str] | None,
    details: Mapping[str, str],
) -> Exception:
    """The exception for an error of the core; called by the extension module."""
    location = None if where is None else SourceLocation(*where)
    if kind == "device" and "out_of_memory" in details:
        kind = "device_memory"
    if kind == "index":
        message, details = as_written(message, where, details)
    return _CLASSES.get(kind, InternalError)(message, location, details)
