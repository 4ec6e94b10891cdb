"""Streams: recurrences over unbounded time that run chunk by chunk (``tw.stream_function``).

`callback` and `work` put a stream behind the interfaces of audio systems and of GNU Radio.
"""

from .adapters import AudioCallback, Work, callback, work
from .c_source import ExportedStream
from .declarations import StreamInput, forever, stream
from .functions import StreamFunction, stream_function
from .periodic import PeriodicTiling, UnboundedProgram
from .states import Stream

__all__ = [
    "AudioCallback",
    "ExportedStream",
    "PeriodicTiling",
    "Stream",
    "StreamFunction",
    "StreamInput",
    "UnboundedProgram",
    "Work",
    "callback",
    "forever",
    "stream",
    "stream_function",
    "work",
]
