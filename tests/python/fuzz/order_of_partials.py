"""The order of the partial results of a fold that is associative and not commutative.

From the documentation: partial results are combined in the order of the loop that was factored out, so each has terms
that stand together, and comes before those of later terms. This is what the terms were declared in, whatever the loops
are by now.
"""

from __future__ import annotations

import itertools
from typing import Any

from fuzz.rewriting import Env, points


def turned_round(model: Any, sizes: Env) -> str | None:
    """Two terms of which the first is in a later partial result, at these sizes."""
    for computation, (_, _, ranges, where, _), loop in model.grouped:
        names, bounds = [r[0] for r in ranges], [r[1:] for r in ranges]
        for around in points(
            computation["iterators"], computation["ranges"], computation["where"], sizes
        ):
            terms = [(loop.evaluate(e), e) for e in points(names, bounds, where, around)]
            for (early, first), (late, second) in itertools.pairwise(terms):
                if early > late:
                    at = [tuple(e[n] for n in names) for e in (first, second)]
                    return f"{computation['name']} has {at[1]} in an earlier result than {at[0]}"
    return None
