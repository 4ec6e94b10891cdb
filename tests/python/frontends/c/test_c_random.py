"""Random C functions, compared with gcc bit for bit: the translation, run by the interpreter, and the
compiled function where the dataflow takes it. Signed integers wrap in both (``-fwrapv``), so that no
program is without a meaning."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from c_oracle import assert_same_bits, check, compiled, copies, run_c
from random_kernels import CountingKernel, JumpingKernel, Kernel, arguments
from random_run import kernel_case

import tilewright as tw

EACH, COMPILED = 20, 6
WRAPPING = ("-fwrapv",)


TRANSLATED = [(of, block) for of in (Kernel, CountingKernel) for block in range(7)]
TRANSLATED += [(JumpingKernel, block) for block in range(2)]


@pytest.mark.parametrize(("of", "block"), TRANSLATED)
def test_translation(of: type[Kernel], block: int) -> None:
    seeds = range(EACH * block, EACH * block + EACH)
    kernels = [of(seed) for seed in seeds]
    text = "".join(kernel.text for kernel in kernels)
    module, library = tw.c.load(text, scop="function"), compiled(text, WRAPPING)
    for seed, kernel in zip(seeds, kernels, strict=True):
        check(module, library, kernel.name, arguments(seed))


@pytest.mark.parametrize("of", [Kernel, CountingKernel])
@pytest.mark.parametrize("block", range(3))
def test_compiled(block: int, of: type[Kernel]) -> None:
    seeds = range(1000 + COMPILED * block, 1000 + COMPILED * block + COMPILED)
    kernels = [of(seed) for seed in seeds]
    text = "".join(kernel.text for kernel in kernels)
    module, library = tw.c.load(text, scop="function"), compiled(text, WRAPPING)
    taken = 0
    for seed, kernel in zip(seeds, kernels, strict=True):
        function = module.functions[kernel.name]
        ours, theirs = copies(arguments(seed)), copies(arguments(seed))
        run_c(library, function, theirs)
        try:
            function(*ours)
        except tw.TranslationError:
            continue  # loops and subscripts that data decide about
        taken += 1
        for value, wanted in zip(ours, theirs, strict=True):
            if isinstance(value, np.ndarray):
                assert_same_bits(value, wanted, kernel.name)
    assert taken


@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_no_thread_leaves_a_loop_around_the_others():
    """Found by a random program: `break` of a loop around a GPU's blocks was a `while` in a kernel."""
    kernel_case(7, collections.Counter())
