"""Programs judged by the interpreter: compiled in their own order, evaluated, and under commands."""

from __future__ import annotations

from random import Random

import numpy as np

import tilewright as tw
from tilewright.frontends import tree
from tilewright.frontends.dataflow import to_function
from tilewright.frontends.interpreter import interpret


def copied(arguments):
    return {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


def expected(program, arguments):
    """What the interpreter leaves in the arrays."""
    arrays = copied(arguments)
    interpret(program, arrays)
    return arrays


def same(found, wanted):
    for name, value in wanted.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found[name], value, err_msg=name, strict=True)


def check(program: tree.Program, arguments, **options):
    """Translates and runs; the function."""
    wanted = expected(program, arguments)
    function = to_function(program, **options)
    arrays = copied(arguments)
    function(**arrays)
    same(arrays, wanted)
    return function


def check_evaluator(function, program, arguments):
    wanted = expected(program, arguments)
    for name, value in function.evaluate(**copied(arguments)).items():
        np.testing.assert_array_equal(value, wanted[name], err_msg=name)


def random_commands(function, random: Random, count: int = 4) -> int:
    """Gives commands of which the checker decides; how many were legal."""
    legal = 0
    names = list(function.function.computations)
    for _ in range(count):
        statement = function[random.choice(names)]
        loops = statement.loops
        if not loops:
            continue
        try:
            match random.randrange(5):
                case 0:
                    statement.parallelize(random.choice(loops))
                case 1 if len(loops) > 1:
                    statement.interchange(*random.sample(list(loops), 2))
                case 2:
                    statement.reverse(random.choice(loops))
                case 3:
                    statement.split(random.choice(loops), 2)
                case 4:
                    statement.auto_allocate_map()
            legal += 1
        except tw.ScheduleError:
            continue
    return legal
