"""Random Alpha programs: kernel, evaluator, demand-driven C and what is printed agree, before and after
transformations."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from alpha_programs import CompiledSystem, RandomProgram, evaluated, results_of

import tilewright as tw
from tilewright.frontends.alpha.rewrites.places import attributes
from tilewright.frontends.alpha.tree import Equation, Reduce, find, walk

alpha = tw.alpha
SIZE = 3


def same(left: tuple[object, ...], right: tuple[object, ...]) -> None:
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(20))
def test_text_reads_back_equal(seed: int) -> None:
    program = alpha.load(RandomProgram(seed).text())
    assert alpha.load(str(program)) == program
    assert alpha.load(program.show()) == program


@pytest.mark.parametrize("seed", range(6))
def test_kernel_evaluator_and_c_agree(seed: int, tmp_path: Path) -> None:
    source = RandomProgram(seed)
    program = alpha.load(source.text())
    arrays = source.inputs(SIZE)
    expected = evaluated(program["main_system"], *arrays)
    same(results_of(program["main_system"], *arrays), expected)
    for generate in (alpha.generateWriteC, alpha.generateScheduledC):
        compiled = CompiledSystem(program, "main_system", tmp_path / generate.__name__, generate)
        same(compiled(*arrays, N=SIZE), expected)


def reductions(program: alpha.Program) -> list[tuple[int, ...]]:
    """The identifiers of the reductions of the main system."""
    system = program.system("main_system")
    found = []
    for number, equation in enumerate(system.equations):
        if isinstance(equation, Equation):
            for path, node in walk(equation.expression):
                if isinstance(node, Reduce):
                    found.append((1, number, 0, *path))
    return found


def transformed(program: alpha.Program, choice: random.Random) -> alpha.Program:
    """One random transformation."""
    kinds = ["normalize", "simplify", "isolate", "inline", "cob", "split", "serialize", "half",
             "skew", "compose", "distribute", "factor", "decompose", "reuse", "permute"]  # fmt: skip
    kind = choice.choice(kinds)
    name = "main_system"
    if kind == "normalize":
        return alpha.Normalize(program)
    if kind == "simplify":
        return alpha.Simplify(program)
    if kind == "isolate":
        return alpha.NormalizeReduction(program)
    if kind == "inline":
        return alpha.Inline(program, name, "X", "L0")
    if kind == "cob":
        arity = program.system(name).declaration("L0").domain.arity
        function = choice.choice(["(i->N-i)", "(i->i+2)"] if arity == 1
                                 else ["(i,j->i+j,j)", "(i,j->j,i)", "(i,j->i,N-j)"])  # fmt: skip
        return alpha.CoB(program, name, "L0", function)
    if kind == "split":
        return alpha.Split(program, name, choice.choice(["X", "Y"]), "{i,j | i==0}"
                           if choice.random() < 0.5 else "{i | 2i<=N}")  # fmt: skip
    places = reductions(program)
    if not places:
        return program
    place = choice.choice(places)
    system = program.system(name)
    equation = system.equations[place[1]]
    assert isinstance(equation, Equation)
    body = attributes(system, equation).context[(*place[3:], 0)]
    indices = ",".join(body.indices)
    if kind == "compose":
        return alpha.ReductionComposition(program, place)
    if kind == "distribute":
        return alpha.DistributeReduction(program, place)
    if kind == "factor":
        return alpha.FactorOutFromReduction(program, place)
    if kind in ("reuse", "permute"):
        if kind == "permute":
            return alpha.PermutationCaseReduce(program, name, equation.name)
        vector = [choice.choice([0, 1, -1]) for _ in body.indices]
        return alpha.SimplifyingReduction(program, name, equation.name, vector)
    if kind == "decompose":
        node = find(equation.expression, tuple(place[3:]))
        assert isinstance(node, Reduce)
        kept = ",".join(f"z{n}" for n in range(len(node.projection.results)))
        inner = ",".join([*map(str, node.projection.results), "+".join(body.indices)])
        return alpha.ReductionDecomposition(
            program,
            place,
            f"({','.join(filter(None, [kept, 'last']))}->{kept})",
            f"({indices}->{inner})",
        )
    if kind == "serialize":
        return alpha.SerializeReduction(program, place, f"({indices}->{indices})")
    last = body.indices[-1]
    if kind == "half":
        return alpha.SplitReductionBody(program, place, f"{{{indices} | {last}<=1}}")
    results = ",".join([*body.indices[:-1], "+".join(body.indices)])
    return alpha.TransformReductionBody(program, place, f"({indices}->{results})")


@pytest.mark.parametrize("seed", range(8))
def test_simplified_reductions_keep_the_values(seed: int) -> None:
    source = RandomProgram(seed)
    program = alpha.load(source.text())
    arrays = source.inputs(SIZE)
    expected = evaluated(program["main_system"], *arrays)
    simplified, report = alpha.simplify_reductions(program, "main_system", limit=25)
    assert report.rewrites.apply_to(program) == simplified
    assert alpha.load(str(simplified)) == simplified
    same(evaluated(simplified["main_system"], *arrays), expected)
    same(results_of(simplified["main_system"], *arrays), expected)


@pytest.mark.parametrize("seed", range(15))
def test_transformations_keep_the_values(seed: int) -> None:
    source, choice = RandomProgram(seed), random.Random(seed)
    program = alpha.load(source.text())
    arrays = source.inputs(SIZE)
    expected = evaluated(program["main_system"], *arrays)
    done = 0
    for _ in range(5):
        try:
            program = transformed(program, choice)
        except tw.DeclarationError as error:
            assert any(
                text in str(error)
                for text in (
                    "is on one side",
                    "does not read",
                    "is no affine function of it",
                    "the conversion would get lost",
                    "is no reduction by",
                    "must be two operands",
                    "is constant where",
                    "must be a reduction and nothing around it",
                    "is no case",
                    "to 0",
                    "nothing to reuse",
                    "has no inverse",
                    "share values along",
                    "neither cases nor reductions",
                    "a union of",
                    "of several types",
                    "would be reduced in it",
                    "has no points that are needed",
                    "reads itself, so its definition cannot replace it",
                    ", one for each index",
                )
            ) or (
                "has" in str(error) and "dimension" in str(error)
            ), error  # fmt: skip
            continue
        except KeyError:  # what an earlier step replaced
            continue
        done += 1
        same(evaluated(program["main_system"], *arrays), expected)
    assert done
    assert alpha.load(str(program)) == program
    normal = alpha.Normalize(program)
    assert alpha.Normalize(normal) == normal
    same(evaluated(normal["main_system"], *arrays), expected)
