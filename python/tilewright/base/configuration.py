"""`tw.settings`: what can be set for a whole program, in one typed place.

Each setting has a variable of the environment and says whether it is part of a kernel's cache key::

    tw.settings.optimize = "full"                     # from now on
    with tw.settings(default_schedule=False):         # in this block
        f = tw.function("f", outputs=[C])
    print(tw.settings)                                # each value, and where it comes from

A value comes from the innermost ``with`` block, else from an assignment, else from the environment,
else it is the default. Settings of functions (optimize, fast_math, cpu, default_schedule,
check_bounds) are read when `tw.function` is called, and a block sets them for its own thread or task
only; the others belong to the process, and a block changes them for all threads until it ends.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast, overload

from .. import _core
from .checks import described, is_encodable
from .errors import SettingError
from .log import show_log

__all__ = ["Setting", "Settings", "settings"]

Value = TypeVar("Value")

# What `with tw.settings(...)` blocks say, for settings that are not the process's.
_scoped: ContextVar[Mapping[str, Any] | None] = ContextVar("tilewright_settings", default=None)

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def read_boolean(text: str) -> bool:
    """A truth value as people write it in the environment."""
    if text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    raise ValueError(f"one of {', '.join(_TRUE + _FALSE)}")


def read_count(text: str) -> int:
    """A number that is not negative."""
    if not text.strip().isdecimal():
        raise ValueError("an integer of at least 0")
    return int(text)


def read_names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


class Setting(Generic[Value]):
    """One setting: an attribute of `Settings`.

    Args:
        default: its value where nothing says another.
        variable: of the environment.
        read: makes the value of the variable's text; a ValueError says what is expected.
        accepts: whether a value is one; the text says what is expected.
        in_key: whether kernels made under another value have another cache key.
        apply: what a change of the process's value does; None for settings of functions.
        text: what it is.
    """

    name: str

    def __init__(
        self,
        default: Value,
        variable: str,
        read: Callable[[str], Value],
        accepts: tuple[Callable[[Any], bool], str],
        text: str,
        in_key: bool = False,
        apply: Callable[[Value], None] | None = None,
    ) -> None:
        self.default = default
        self.variable = variable
        self.read = read
        self.accepts, self.expected = accepts
        self.text = text
        self.in_key = in_key
        self.apply = apply

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[Value]: ...
    @overload
    def __get__(self, instance: Settings, owner: type) -> Value: ...
    def __get__(self, instance: Settings | None, owner: type) -> Setting[Value] | Value:
        if instance is None:
            return self
        return self.found(instance)[0]

    def __set__(self, instance: Settings, value: Value) -> None:
        instance._assigned[self.name] = self.checked(value)
        self.changed(instance)

    def __delete__(self, instance: Settings) -> None:
        instance._assigned.pop(self.name, None)
        self.changed(instance)

    @property
    def is_of_functions(self) -> bool:
        """Whether it is read when a function is made; else it is the process's."""
        return self.apply is None

    def checked(self, value: Any) -> Value:
        """The value, when it is one."""
        if not self.accepts(value):
            raise SettingError(
                f"tw.settings.{self.name} must be {self.expected}, got {described(value)}"
            )
        return cast(Value, value)

    def found(self, instance: Settings) -> tuple[Value, str]:
        """The value, and where it comes from."""
        scope = _scoped.get()
        if scope is not None and self.name in scope:
            return scope[self.name], "with"
        if self.name in instance._assigned:
            return instance._assigned[self.name], "program"
        text = os.environ.get(self.variable)
        if text is None or text == "":
            return self.default, "default"
        try:
            value = self.read(text)
            expected = "" if self.accepts(value) else self.expected
        except ValueError as error:
            expected = str(error)
        if expected:
            raise SettingError(f"{self.variable} must be {expected}, got {text!r}")
        return value, self.variable

    def changed(self, instance: Settings) -> None:
        """Tells whom it concerns."""
        if self.apply is not None:
            self.apply(self.found(instance)[0])


def one_of(*words: str) -> tuple[Callable[[Any], bool], str]:
    """Accepts these words."""
    return (
        lambda value: isinstance(value, str) and value in words
    ), f"one of {', '.join(map(repr, words))}"


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _set_cache_directory(directory: pathlib.Path | None) -> None:
    given = "cache_directory" in settings._assigned and directory is not None
    # Absolute from now on: a program may change its working directory.
    _core.cache_set_directory(os.fsencode(os.path.abspath(cast(Any, directory))) if given else b"")


def _set_kept_memory(mebibytes: float) -> None:
    _core.set_kept_memory_limit(int(min(mebibytes * (1 << 20), (1 << 63) - 1)))


def _nothing(value: object) -> None:
    """For values that are looked up when they are needed."""


_BOOLEAN = ((lambda value: isinstance(value, bool)), "True or False")
_PATH = (
    (lambda value: value is None or (isinstance(value, pathlib.Path) and is_encodable(value))),
    "a pathlib.Path or None",
)
_NAMES = (
    (lambda value: isinstance(value, tuple) and all(isinstance(name, str) for name in value)),
    "a tuple of ids of warnings",
)


class Settings:
    """The settings; there is one object of this class, `tw.settings`.

    ``tw.settings.name = value`` sets one, ``del tw.settings.name`` takes that back, and
    ``with tw.settings(name=value, ...):`` sets some for a block.

    Raises:
        SettingError: a value that is none, of an assignment or in the environment.
        AttributeError: no setting has this name.
    """

    __slots__ = ("_assigned",)

    _assigned: dict[str, Any]

    optimize = Setting[str](
        "auto",
        "TILEWRIGHT_OPTIMIZE",
        str,
        one_of("auto", "light", "full", "background"),
        "how much LLVM optimises, where `tw.function` does not say it",
        in_key=True,
    )
    fast_math = Setting(
        False,
        "TILEWRIGHT_FAST_MATH",
        read_boolean,
        _BOOLEAN,
        "whether arithmetic may be reassociated, where `tw.function` does not say it",
        in_key=True,
    )
    cpu = Setting[str](
        "native",
        "TILEWRIGHT_CPU",
        str,
        ((lambda value: isinstance(value, str) and value != ""), "a level or a model"),
        "the processors that code is for, where `tw.function` does not say it",
        in_key=True,
    )
    default_schedule = Setting(
        True,
        "TILEWRIGHT_DEFAULT_SCHEDULE",
        read_boolean,
        _BOOLEAN,
        "whether functions without a command are scheduled, where `tw.function` does not say it",
        in_key=True,
    )
    check_bounds = Setting(
        False,
        "TILEWRIGHT_CHECK_BOUNDS",
        read_boolean,
        _BOOLEAN,
        "whether every access is checked when it happens, where `tw.function` does not say it",
        in_key=True,
    )
    target = Setting[str](
        "cuda",
        "TILEWRIGHT_TARGET",
        str,
        one_of("cpu", "cuda", "gpu-emulator"),
        "where loops over blocks and threads run, where `tw.function` does not say it",
        in_key=True,
    )
    cache_directory = Setting[pathlib.Path | None](
        None,
        "TILEWRIGHT_CACHE_DIR",
        pathlib.Path,
        _PATH,
        "where kernels are kept; None: $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright",
        apply=_set_cache_directory,
    )
    keep_memory = Setting[float](
        512,
        "TILEWRIGHT_KEEP_MEMORY",
        read_count,
        (_is_amount, "a number of at least 0"),
        "MiB of temporary arrays that are kept for the next call",
        apply=_set_kept_memory,
    )
    log = Setting[str](
        "off",
        "TILEWRIGHT_LOG",
        lambda text: text.lower(),
        one_of("off", "debug", "info", "warning"),
        "the level from which the logger 'tilewright' writes to stderr by itself",
        apply=show_log,
    )
    silence = Setting[tuple[str, ...]](
        (),
        "TILEWRIGHT_SILENCE",
        read_names,
        _NAMES,
        "the ids of warnings that are not shown",
        apply=_nothing,
    )

    def __init__(self) -> None:
        self._assigned = {}

    def __call__(self, **values: Any) -> AbstractContextManager[Settings]:
        """Sets some of them for a ``with`` block.

        Raises:
            SettingError: a name that is no setting, or a value that is none.
        """
        known = all_settings()
        for name, value in values.items():
            if name not in known:
                raise SettingError(f"there is no setting {name!r}; there are {', '.join(known)}")
            known[name].checked(value)
        return self._block(values)

    @contextmanager
    def _block(self, values: Mapping[str, Any]) -> Iterator[Settings]:
        known = all_settings()
        scoped = {name: value for name, value in values.items() if known[name].is_of_functions}
        token = _scoped.set({**(_scoped.get() or {}), **scoped})
        before = dict(self._assigned)
        try:
            for name in values.keys() - scoped.keys():
                setattr(self, name, values[name])
            yield self
        finally:
            _scoped.reset(token)
            for name in values.keys() - scoped.keys():
                if name in before:
                    setattr(self, name, before[name])
                else:
                    delattr(self, name)

    def __repr__(self) -> str:
        lines = []
        for name, setting in all_settings().items():
            value, source = setting.found(self)
            lines.append(f"{name} = {value!r}" + ("" if source == "default" else f"  # {source}"))
        return "\n".join(lines)


def all_settings() -> dict[str, Setting[Any]]:
    """The settings by name."""
    return {name: value for name, value in vars(Settings).items() if isinstance(value, Setting)}


settings = Settings()
