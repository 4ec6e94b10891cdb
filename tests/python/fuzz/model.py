"""The model of a mapping: what each command does to loops, order, storage and the equations, as its documentation says.

Written from the documentation of the commands, without isl and without the library's code. `Model.after` is one more
command; it raises `Refused` where the arguments make no sense, which the library must say too.
"""

from __future__ import annotations

import copy
from typing import Any

from fuzz.equation_model import EquationCommands
from fuzz.function_model import FunctionCommands
from fuzz.linear import Nest, Refused
from fuzz.loop_model import LoopCommands
from fuzz.programs import walk
from fuzz.rewriting import (
    is_computed,
    is_fold,
    is_ordered,
)
from fuzz.state import NotModelled
from fuzz.storage_model import StorageCommands

__all__ = ["Model", "NotModelled"]


#: Commands that ask when an instance runs.
ONE_TIME = "apply_schedule cache compute_at fission independent inline prefetch rfactor storage_fold".split()


class Model(LoopCommands, EquationCommands, StorageCommands, FunctionCommands):
    """A mapping, and what each command makes of it."""

    def after(self, command: list[Any], whole: bool = True) -> Model:
        """The model after [computation, name, arguments]; raises Refused. What a whole function is given has no
        computation. With `whole` false, as in a transaction, what has to hold of loops inside each other is not asked
        yet: `require_inside` asks it at the end."""
        result = copy.copy(self)
        for name in ("order", "placements", "inputs"):
            setattr(result, name, copy.copy(getattr(self, name)))
        copied = ("computations", "iterators", "reduced", "storage", "allocations", "private_loops")
        for name in copied:
            setattr(result, name, dict(getattr(self, name)))
        result.types, result.planned = dict(self.types), dict(self.planned)
        result.atomic, result.assumed = set(self.atomic), dict(self.assumed)
        result.independent = list(self.independent)
        result.fixed, result.variants = dict(self.fixed), list(self.variants)
        result.nests = {
            n: Nest(list(nest.loops), nest.explicit, nest.copies) for n, nest in self.nests.items()
        }
        computation, name, arguments = command
        if computation in self.nests and self.nests[computation].copies and name in ONE_TIME:
            raise Refused("instances with several times")
        if not computation and hasattr(result, "_function_" + name):
            getattr(result, "_function_" + name)(*arguments)
        elif computation not in self.nests and computation:
            raise Refused(f"no computation {computation}")
        else:
            getattr(result, "_" + name)(computation, *arguments)
        if result.rewritten != self.rewritten:
            result._forget_promises(self)
        for c, nest in result.nests.items():
            if c not in self.nests or nest.loops != self.nests[c].loops:
                result.require_known_beginning(c)
        result._fit()
        result.require_replaceable()
        if whole:
            result.require_inside()
        return result

    # ---- promises ----

    def _atomic(self, c: str) -> None:
        reduction = self.reduction(c)
        if reduction is None or is_ordered(reduction) or is_fold(reduction):
            raise Refused("no reduction that takes its terms in any order, in one step each")
        if self.types[c].startswith("complex"):
            raise Refused("two parts")
        self.atomic.add(c)

    def _assume(self, c: str, index: str, most: int) -> None:
        """The values of an array that are used as subscripts are 0 to `most`."""
        subscripts = [
            node
            for _, value in self.computations[c]["pieces"]
            for node in walk(value)
            if node[0] == "read" and any(is_computed(s) and s[1][1] == index for s in node[2])
        ]
        if not subscripts:
            raise Refused("no subscript")
        self.assumed[c, index] = min(most, self.assumed.get((c, index), most))

    def _independent(self, c: str, loop: str, *others: str) -> None:
        promise = {}
        for name in (c, *others):
            if name not in self.nests:
                raise Refused(f"no computation {name}")
            if self.nests[name].copies:
                raise Refused("instances with several times")
            promise[name] = self.nests[name].loops[self.nests[name].find(loop)].value
        self.independent.append(promise)

    def _forget_promises(self, before: Model) -> None:
        """Promises are about instances: they stay where these are what they were."""
        self.atomic = {c for c in self.atomic if self.reduced.get(c)}
        same = {
            c
            for c in self.computations
            if self.iterators[c] == before.iterators.get(c) and self.reduced[c] == before.reduced[c]
        }
        for c, index in list(self.assumed):
            if c not in same:
                del self.assumed[c, index]
        self.independent = [{c: v for c, v in p.items() if c in same} for p in self.independent]
