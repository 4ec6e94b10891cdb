"""Arrays in the memory of a device: `tw.to_device`, `tw.empty`, `tw.as_device_array`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import DeviceArray
from ..base.checks import a_list, a_string, an_integer, described
from ..base.errors import ArgumentTypeError
from ..language.expressions import DTypeLike, as_dtype

__all__ = ["DeviceArray", "as_device_array", "empty", "to_device"]


def empty(shape: int | Sequence[int], dtype: DTypeLike, device: str = "cuda") -> DeviceArray:
    """A row-major array on a device, its elements unset.

    Args:
        shape: its extents, or one extent.
        dtype: the type of its elements.
        device: "cuda" (the first one), "cuda:1", or "gpu-emulator".

    Raises:
        DeviceError: there is no such device.
        DeviceMemoryError: its memory is full; also a `MemoryError`.
        ArgumentError: a negative extent, or a name of no device.

    >>> x = tw.empty((3, 4), tw.float32, "gpu-emulator")
    >>> x[:, 1:3]
    DeviceArray(shape=(3, 2), dtype=float32, device='gpu-emulator', strides=(16, 4))
    """
    entries = a_list(shape, "a shape", of="integers") if isinstance(shape, Iterable) else [shape]
    extents = [an_integer(extent, "an extent of a shape", bits=64) for extent in entries]
    return _core.empty_on_device(extents, as_dtype(dtype).name, a_string(device, "the device"))


def to_device(array: Any, device: str = "cuda") -> DeviceArray:
    """A copy of an array on a device, row-major.

    Args:
        array: a NumPy array or what becomes one, or an array on a device, of this library or
            another one.
        device: "cuda" (the first one), "cuda:1", or "gpu-emulator".

    Raises:
        DeviceError: there is no such device.
        DeviceMemoryError: its memory is full; also a `MemoryError`.
        ArgumentTypeError: the elements are of a type that does not exist here.

    >>> x = tw.to_device(np.arange(6.0).reshape(2, 3), "gpu-emulator")
    >>> x[1].numpy()
    array([3., 4., 5.])
    """
    source: Any = _core.view_device_array(array)
    if source is None:
        source = _core.view_array(array) if not isinstance(array, np.ndarray) else array
        if source is None:
            source = np.asarray(array)
    copy = empty(source.shape, source.dtype, device)
    copy.copy_from(source)
    return copy


def as_device_array(array: Any) -> DeviceArray:
    """A view of another library's array on a CUDA device, without a copy.

    The array has ``__dlpack__`` (PyTorch, CuPy, JAX) or ``__cuda_array_interface__`` (Numba). Work
    on the view follows the owner's work on its stream, and the view keeps the array.

    Raises:
        ArgumentTypeError: the array is none of a CUDA device, or its elements are of a type that
            does not exist here.
        DeviceError: CUDA cannot be used here.
    """
    view = _core.view_device_array(array)
    if view is None:
        raise ArgumentTypeError(
            f"{type(array).__name__} is no array on a CUDA device; tw.to_device copies one there"
        )
    return view


def _answering(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of the core, which names its own types where it is called with a wrong number of
    arguments."""

    @functools.wraps(method)
    def call(*given: Any, **keywords: Any) -> Any:
        try:
            return method(*given, **keywords)
        except TypeError as error:
            if "incompatible function arguments" not in str(error):
                raise
        shown = ", ".join(
            [described(value) for value in given[1:]]
            + [f"{keyword}={described(value)}" for keyword, value in keywords.items()]
        )
        signature = (method.__doc__ or name).partition("\n")[0]
        raise ArgumentTypeError(f"DeviceArray.{name} does not take ({shown}); it is {signature}")

    return call


def _refuse(self: DeviceArray, *given: object, **keywords: object) -> None:
    raise ArgumentTypeError(
        "tw.DeviceArray is made by tw.empty, tw.to_device and tw.as_device_array"
    )


for _name in ("numpy", "copy_from", "copy"):
    setattr(DeviceArray, _name, _answering(_name, getattr(DeviceArray, _name)))
setattr(DeviceArray, "__init__", _refuse)  # noqa: B010
