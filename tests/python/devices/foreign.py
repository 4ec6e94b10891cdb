"""Arrays of other libraries, as far as they can be exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw


def values(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class Interface:
    """An array of another library with __cuda_array_interface__ only."""

    def __init__(self, owner: tw.DeviceArray, **changes: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {**owner.__cuda_array_interface__, **changes}


class Exchanged:
    """An array of another library with DLPack only; of before versions where ``is_old``."""

    def __init__(self, owner: tw.DeviceArray, is_old: bool = False) -> None:
        self.owner = owner
        self.is_old = is_old
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.owner.__dlpack_device__()

    def __dlpack__(self, stream: int | None = None, **keywords: Any) -> Any:
        if self.is_old and keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        return self.owner.__dlpack__(stream=stream, **keywords)


class Exchanged2:
    """Exports a device array to the processor, as asked by NumPy."""

    def __init__(self, array: tw.DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(dl_device=(1, 0))
