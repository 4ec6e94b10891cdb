"""Odd but legal programs of section 4 (`odd_programs.ab`): the kernel, the evaluator, the program under
a mapping that says nothing, and what is printed and read again agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alpha_programs import CompiledSystem, evaluated, results_of
from test_alpha_mapping import verified

import tilewright as tw
from tilewright.frontends.alpha.conversions import DTYPES
from tilewright.frontends.alpha.kernels import array_bounds
from tilewright.frontends.alpha.mapping.running import mapped_function
from tilewright.frontends.alpha.verifying.orders import number_at

alpha = tw.alpha
TEXTS = re.findall(
    r"//== (.*)\n((?:(?!//==).*\n)*)",
    (Path(__file__).parent / "odd_programs.ab").read_text("utf-8"),
)
SIZES = {"0-size": {"N": 0}, "params only": {"N": 3, "M": 5}, "no params": {}}


def inputs(system: Any, sizes: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    """Small values that are not 0."""
    generator = np.random.default_rng(8)
    found = []
    for each in system.of_kind("input"):
        shape = [max(0, number_at(bound, sizes)) for bound in array_bounds(system, each)]
        values = generator.integers(1, 9, shape) * generator.choice([1, -1], shape)
        found.append(values.astype(DTYPES[each.type]))
    return found


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[name for name, _ in TEXTS])
def test_odd_programs(name: str, text: str) -> None:
    p = alpha.load(text)
    main = list(p)[-1]
    sizes = SIZES.get(name, {"N": 4})
    arrays = inputs(p.system(main), sizes)
    own = p[main]
    given = {key: value for key, value in sizes.items() if not arrays and key in own.parameters}
    expected = evaluated(own, *arrays, **given)
    assert alpha.verify(p, main)
    mapped = mapped_function(p.system(main), p.tree, {}, alpha.TargetMapping())
    for function in (own, mapped, alpha.load(p.show())[main]):
        for found, wanted in zip(results_of(function, *arrays, **given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_there_are_some() -> None:
    assert len(TEXTS) > 30


@pytest.mark.parametrize("name", ["bool", "xor cond", "use in use", "neg local"])
def test_both_generators_agree_with_the_evaluator(name: str, tmp_path: Path) -> None:
    p = alpha.load(dict(TEXTS)[name])
    main = list(p)[-1]
    arrays = inputs(p.system(main), {"N": 4})
    expected = evaluated(p[main], *arrays)
    for found, wanted in zip(
        CompiledSystem(p, main, tmp_path)(*arrays, N=4), expected, strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    verified(p, main, tmp_path / "scheduled", 4)


def test_without_a_map_a_variable_runs_in_an_order_that_its_dependences_have() -> None:
    p = alpha.load(dict(TEXTS)["swap order"])
    q = alpha.SetMemoryMapping(alpha.load(dict(TEXTS)["neg local"]), "L", "(i->-i)")
    loops = str(mapped_function(p.system("t"), p.tree, {}, alpha.TargetMapping()).loops)
    assert loops.index("for j in range(1, N)") < loops.index("X[t1 - j + 1, j - 1]")
    a = np.arange(4)
    np.testing.assert_array_equal(q["t"](a), alpha.load(str(q))["t"](a))


def test_terms_of_xor_have_no_times() -> None:
    p = alpha.load(
        "affine t {N|N>2} input int B {i|0<=i<N}; output bool Z; let Z = reduce(xor, [i], B[i]);"
    )
    for values, odd in (([1, 1, 2], True), ([1, 0, 2], False)):
        q = alpha.SetSTMap(p, "Z", "(->0)")
        assert bool(q["t"](np.array(values, np.int32))) == odd
    with pytest.raises(tw.DeclarationError, match="by the indices of its answer"):
        _ = alpha.SetSTMap(p, "Z", "(i->i)")["t"]
