"""Streams: recurrences over unbounded time that run chunk by chunk (``tw.stream_function``)."""

from .declarations import StreamInput, forever, stream
from .functions import StreamFunction, stream_function
from .states import Stream

__all__ = ["Stream", "StreamFunction", "StreamInput", "forever", "stream", "stream_function"]
