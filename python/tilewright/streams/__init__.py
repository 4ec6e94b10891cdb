"""Streams: recurrences over unbounded time that run chunk by chunk (``tw.stream_function``)."""

from .declarations import StreamInput, forever, stream
from .functions import StreamFunction, stream_function
from .periodic import PeriodicTiling, UnboundedProgram
from .states import Stream

__all__ = [
    "PeriodicTiling",
    "Stream",
    "StreamFunction",
    "StreamInput",
    "UnboundedProgram",
    "forever",
    "stream",
    "stream_function",
]
