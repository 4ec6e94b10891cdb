"""What the package registers for the core to call, and what happens without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core
from tilewright.base import notices
from tilewright.base.core_errors import make_error

N = tw.param("N")
i = tw.iter("i")


@pytest.fixture(autouse=True)
def registered_again() -> Iterator[None]:
    yield
    _core.set_error_factory(make_error)
    _core.set_notices(notices.compiled, notices.copied)


def doubled() -> tw.Function:
    x = tw.input("x", [N], tw.float32)
    return tw.function("doubled", outputs=[tw.computation("C", {i: N}, 2 * x[i])])


def read_outside() -> None:
    x = tw.input("x", [N], tw.float32)
    tw.computation("C", {i: N}, x[i + 1])


def test_the_factory_makes_every_error() -> None:
    seen: list[tuple[str, str]] = []

    def make(kind: str, message: str, where: Any, details: dict[str, str]) -> Exception:
        seen.append((kind, message))
        return LookupError(f"{kind}, line {where[1]}")

    _core.set_error_factory(make)
    with pytest.raises(LookupError, match=r"^bounds, line \d+$"):
        read_outside()
    with pytest.raises(TypeError):  # no location: of an argument
        doubled()(np.zeros(3))
    assert [kind for kind, _ in seen] == ["bounds", "argument_type"]
    assert seen[0][1].startswith("C[0] reads x[1]")


def test_without_a_factory_an_error_is_plain() -> None:
    _core.set_error_factory(None)
    with pytest.raises(RuntimeError, match="reads x") as caught:
        read_outside()
    assert type(caught.value) is RuntimeError


def test_notices_of_compilations() -> None:
    told: list[tuple[str, dict[str, Any], bytes]] = []
    _core.set_notices(lambda *arguments: told.append(arguments), None)
    doubled().compile()
    ((name, info, problem),) = told
    assert name == "doubled" and len(info["key"]) == 64 and problem == b""
    _core.set_notices(None, None)
    doubled()(np.ones(3, np.float32))
    assert len(told) == 1


def test_notices_of_copies() -> None:
    told: list[tuple[str, list[str], str]] = []
    _core.set_notices(None, lambda *arguments: told.append(arguments))
    x = tw.input("x", [N], tw.float32)
    C = tw.computation("C", {i: N}, 2 * x[i])
    f = tw.function("copied", outputs=[C], target="gpu-emulator")
    C.gpu(i)
    np.testing.assert_array_equal(f(np.ones(3, np.float32)), np.full(3, 2, np.float32))
    assert told == [("copied", ["x", "C"], "gpu-emulator")]


def test_an_error_of_a_notice_is_the_callers() -> None:
    def refuse(*arguments: Any) -> None:
        raise LookupError("not now")

    _core.set_notices(refuse, None)
    with pytest.raises(LookupError, match="not now"):
        doubled().compile()
