"""Random scheduling commands, and how each is given to the library.

A command is ``[computation, name, arguments]`` in the judge's notation: names, integers, and for set_schedule,
apply_schedule, store_in and specialize structured subscripts and conditions, which become text only for the library. Of
what is given to the whole function, the computation is "".
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from fuzz.drawn_places import draw_private_places, draw_storage
from fuzz.function_model import condition_text
from fuzz.linear import iterator
from fuzz.loop_model import COPYING
from fuzz.model import Model
from fuzz.programs import AXES, walk
from fuzz.rewriting import is_fold, is_grouped

Command = list[Any]

WEIGHTS = {
    "split": 8,
    "tile": 8,
    "join": 5,
    "interchange": 10,
    "reorder": 3,
    "reverse": 5,
    "shift": 7,
    "scale": 3,
    "skew": 7,
    "after": 14,
    "before": 4,
    "then": 3,
    "parallelize": 10,
    "vectorize": 9,
    "unroll": 4,
    "set_schedule": 5,
    "apply_schedule": 7,
    "set_schedules": 3,
    "store_in": 12,
    "storage_fold": 4,
    "fuse_with": 5,
    "fission": 2,
    "transform": 3,
    "auto_allocate_map": 1,
    "atomic": 3,
    "assume": 1,
    "independent": 2,
    "stream": 2,
    "prefetch": 2,
}
#: Commands that change what is computed where: not only when, and not only where it is stored.
RESTRUCTURING = {
    "compute_at": 14,
    "inline": 4,
    "rfactor": 9,
    "store_at": 9,
    "private": 9,
    "cache": 9,
}
WEIGHTS.update(RESTRUCTURING)
#: Commands of the whole function.
OF_FUNCTION = {"fix": 4, "specialize": 4, "when_work": 3}
WEIGHTS.update(OF_FUNCTION)

#: How parallelize deals out iterations.
DEALINGS = (["dynamic"], ["dynamic", 2], ["static", 1], ["static", 3])


def as_drawn(name: str, arguments: Iterable[Any]) -> list[Any]:
    """The arguments of a command of the library's own, as they would have been drawn."""
    given = list(arguments)
    if name == "store_in":  # in an element of the same iterators
        buffer, _, index = given[0].rstrip("]").partition("[")
        return [buffer, [[0, {iterator.strip(): 1}] for iterator in index.split(",")]]
    return given


def draw_command(rng: random.Random, model: Model) -> Command | None:
    """A command that mostly makes sense for the model; None when nothing fits what was drawn."""
    terms = draw_terms(rng, model) if rng.random() < 0.3 else None
    if terms is not None:
        return draw_of_terms(rng, *terms)
    name = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    if name in OF_FUNCTION:
        return draw_of_function(rng, model, name)
    computation = rng.choice(model.order)
    size = rng.choice((1, 2, 2, 3, 4))
    if name in ("after", "before", "then", "fuse_with"):
        return draw_place(rng, model, computation, name)
    if name == "store_in":
        return draw_storage(rng, model, computation)
    if name == "set_schedule":
        return draw_schedule(rng, model, computation)
    if name == "set_schedules":
        return draw_schedules(rng, model)
    if name in RESTRUCTURING:
        return draw_restructuring(rng, model, computation, name)
    if name in ("storage_fold", "auto_allocate_map", "atomic", "stream", "assume"):
        return draw_storing(rng, model, computation, name)
    if not model.nests[computation].loops:
        return None
    loop = rng.choice([loop.name for loop in model.nests[computation].loops])
    if name == "split":
        by_sizes = draw_block_size(rng, model, computation, loop)
        return [computation, name, [loop, by_sizes if by_sizes and rng.random() < 0.3 else size]]
    if name == "apply_schedule":
        return draw_new_loops(rng, model, computation)
    if name in ("tile", "reorder", "transform", "skew", "join"):
        return draw_several_loops(rng, model, computation, name)
    return draw_one_loop(rng, model, computation, name, loop)


def draw_terms(rng: random.Random, model: Model) -> tuple[str, str] | None:
    """A loop over the terms of an associative fold: lanes and threads have no states of their own."""
    reductions = {n: model.reduction(n) for n in model.order}
    loops = [
        (n, loop.name)
        for n, r in reductions.items()
        if r is not None and is_fold(r) and is_grouped(r)
        for loop, by_terms in zip(model.nests[n].loops, model.driven(n), strict=True)
        if by_terms
    ]
    return rng.choice(loops) if loops else None


def draw_of_terms(rng: random.Random, computation: str, loop: str) -> Command:
    """Lanes, threads and partial results of a fold, which few programs have."""
    name = rng.choice(("vectorize", "parallelize", "split", "rfactor", "rfactor"))
    return [computation, name, [loop, 2] if name in ("vectorize", "split") else [loop]]


def draw_block_size(
    rng: random.Random, model: Model, computation: str, loop: str
) -> list[Any] | None:
    """A part of an axis, (axis + constant) // divisor, for a loop that runs along it; None for others."""
    one = model.computations[computation]
    along = dict(zip(one["iterators"], one.get("axes", ()), strict=False))
    nest = model.nests[computation]
    if loop not in along or nest.loops[nest.find(loop)].value != iterator(loop):
        return None
    divisor = rng.choice((1, 2, 2, 3))
    return [along[loop], rng.randrange(divisor + 1), divisor]


def draw_of_function(rng: random.Random, model: Model, name: str) -> Command:
    """fix, specialize or when_work."""
    if name == "when_work":
        limits = [rng.choice((0, 20, 200, 2000, 10**6)), rng.choice((0, 100)), rng.choice((0, 1))]
        return ["", name, limits[: rng.randint(1, 3)]]
    known = model.parameters if model.parameters and rng.random() < 0.95 else AXES
    if name == "fix":
        axes = rng.sample(known, rng.randint(1, min(2, len(known))))
        return ["", name, [part for a in axes for part in (a, rng.choice((0, 1, 3, 4, 5, 6, 8)))]]

    def condition(kinds: str = "ge ge le eq") -> list[Any]:
        axis = rng.choice(known)
        if rng.random() < 0.6:
            divisor = rng.choice((2, 3, 4))
            return ["mod", axis, divisor, rng.randrange(divisor) if rng.random() < 0.3 else 0]
        return [rng.choice(kinds.split()), axis, rng.randint(1, 6)]

    if rng.random() < 0.3:
        return ["", name, [["and", condition(), condition()]]]
    return ["", name, [condition("ge ge le eq ne")]]


def draw_place(rng: random.Random, model: Model, computation: str, name: str) -> Command | None:
    """after, before, then or fuse_with."""
    others = [n for n in model.order if n != computation]
    if not others:
        return None
    other = rng.choice(others)
    # `then` places the other one.
    lead, placed = (computation, other) if name == "then" else (other, computation)
    levels = [loop.name for loop in model.nests[lead].loops][: len(model.nests[placed].loops)]
    if levels and rng.random() < 0.85:
        return [computation, name, [other, rng.choice(levels)]]
    return [computation, name, [other]]


def draw_storing(rng: random.Random, model: Model, computation: str, name: str) -> Command | None:
    """A command about elements: how many are kept, how they are written, what is known of subscripts."""
    if name == "storage_fold":
        own = model.own(computation)
        if not own or computation in model.outputs:
            return None
        if rng.random() < 0.2:
            return [computation, name, [rng.choice(own)]]
        if rng.random() < 0.2:
            buffers = [buffer for buffer, _ in model.storage.values()]
            if buffers.count(model.storage[computation][0]) == 1:
                return [computation, name, []]
        return [computation, name, [rng.choice(own), rng.choice((1, 2, 2, 3))]]
    if name == "atomic":
        sums = [n for n in model.order if model.reduced[n]]
        return [rng.choice(sums) if sums and rng.random() < 0.9 else computation, name, []]
    if name == "stream":
        plain = [n for n in model.order if not model.reduced[n]]
        return [rng.choice(plain), name, []] if plain else None
    if name == "assume":
        index = [x for x, one in model.inputs.items() if one.get("index")]
        users = [
            n
            for n in model.order
            if any(x in names(v) for x in index for _, v in model.computations[n]["pieces"])
        ]
        return [rng.choice(users), name, [index[0], rng.choice((0, 0, 1))]] if users else None
    return [computation, name, []]


def draw_several_loops(
    rng: random.Random, model: Model, computation: str, name: str
) -> Command | None:
    """A command for two or more loops; None where there are too few."""
    loops = [loop.name for loop in model.nests[computation].loops]
    if name == "tile":
        count = rng.choice((2, 2, 2, 3))
        if len(loops) < count:
            return None
        first = rng.randrange(len(loops) - count + 1)
        sizes = [rng.choice((1, 2, 3, 4)) for _ in range(count)]
        return [computation, name, [*loops[first : first + count], *sizes]]
    if len(loops) < 2:
        return None
    if name == "join":
        own = model.nests[computation].loops
        cut = [p for p in range(1, len(own)) if own[p].extent]
        if not cut:
            return None
        pair = loops[(p := rng.choice(cut)) - 1 : p + 1]
        return [computation, name, pair if rng.random() < 0.9 else pair[::-1]]
    if name == "reorder":
        return [computation, name, rng.sample(loops, rng.randint(2, len(loops)))]
    if name == "transform":
        matrix = rng.choice(
            ([1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, -1], [2, 1, 1, 1], [1, -1, 0, 1])
        )
        return [computation, name, [*rng.sample(loops, 2), matrix]]
    return [computation, name, [*rng.sample(loops, 2), rng.choice((1, 1, -1, 2))]]


def draw_one_loop(
    rng: random.Random, model: Model, computation: str, name: str, loop: str
) -> Command | None:
    """A command for one loop."""
    own = model.nests[computation].loops
    loops = [each.name for each in own]
    if name == "independent":
        beside = [
            n
            for n in model.order
            if n != computation and any(one.name == loop for one in model.nests[n].loops)
        ]
        return [computation, name, [loop, *rng.sample(beside, rng.randint(0, len(beside)))]]
    if name == "interchange":
        return [computation, name, [loop, rng.choice(loops)]]
    if name == "shift":
        return [computation, name, [loop, rng.choice((-2, -1, 1, 1, 2))]]
    if name == "scale":
        return [computation, name, [loop, rng.choice((0, 1, 2, 2, 3))]]
    if name in ("vectorize", "unroll"):
        extent = own[loops.index(loop)].extent
        lanes = extent if extent and rng.random() < 0.7 else rng.choice((2, 4))
        return [computation, name, [loop, lanes]]
    if name == "prefetch":
        read = sorted({n for _, v in model.computations[computation]["pieces"] for n in names(v)})
        if not read:
            return None
        return [computation, name, [rng.choice(read), loop, rng.choice((1, 3, -2))]]
    if name == "parallelize" and rng.random() < 0.5:
        return [computation, name, [loop, *rng.choice(DEALINGS)]]
    return [computation, name, [loop]]


def draw_restructuring(
    rng: random.Random, model: Model, computation: str, name: str
) -> Command | None:
    """compute_at, store_at, private, cache, inline or rfactor; sometimes one that cannot be."""
    mostly = rng.random() < 0.9
    if name == "private":
        if rng.random() < 0.3:
            together = draw_private_places(rng, model)
            if together is not None:
                return together
        fused = [p.computation for p in model.placements if not p.inside and p.shared]
        fused += [p.other for p in model.placements if not p.inside and p.shared]
        chosen = [n for n in fused if n not in model.outputs]
        if chosen and mostly:
            computation = rng.choice(chosen)
        loops = [loop.name for loop in model.nests[computation].loops]
        if not loops:
            return None
        return [computation, name, [loops[0] if rng.random() < 0.6 else rng.choice(loops)]]
    if name == "inline":
        return [computation, name, []]
    if name == "rfactor":
        sums = [n for n in model.order if model.reduced[n]]
        if sums and mostly:
            computation = rng.choice(sums)
        loops = [loop.name for loop in model.nests[computation].loops]
        return [computation, name, [rng.choice(loops)]] if loops else None
    if name == "cache":
        read = sorted({n for _, v in model.computations[computation]["pieces"] for n in names(v)})
        loops = [loop.name for loop in model.nests[computation].loops]
        if rng.random() < 0.3:
            read = [computation]
        if not read or not loops:
            return None
        arguments: list[Any] = [rng.choice(read), rng.choice(loops)]
        if rng.random() < 0.3:
            arguments += ["", "auto", None, 0, 1, "values"]
        return [computation, name, arguments]
    placed = [p.computation for p in model.placements if p.inside]
    if name == "store_at" and not placed and mostly:
        return draw_window(rng, model)
    if name == "store_at" and placed and mostly:
        computation = rng.choice(placed)
        reader = next(p.other for p in model.placements if p.computation == computation)
    else:
        readers = model.readers(computation) if mostly else list(model.order)
        if name == "compute_at" and computation in model.outputs and mostly:
            return None
        if not readers:
            return None
        reader = rng.choice(readers)
    loops = [loop.name for loop in model.nests[reader].loops]
    return [computation, name, [reader, rng.choice(loops)]] if loops else None


def draw_window(rng: random.Random, model: Model) -> Command | None:
    """compute_at in one loop and store_at in another one, mostly further out, at once."""
    pairs = [
        (c, reader)
        for c in model.order
        if c not in model.outputs
        for reader in model.readers(c)
        if model.nests[reader].loops
    ]
    if not pairs:
        return None
    computation, reader = rng.choice(pairs)
    loops = [loop.name for loop in model.nests[reader].loops]
    inner = rng.randrange(len(loops))
    outer = rng.randint(0, inner) if rng.random() < 0.9 else rng.randrange(len(loops))
    inside = [computation, "compute_at", [reader, loops[inner]]]
    return ["", "transaction", [inside, [computation, "store_at", [reader, loops[outer]]]]]


def names(value: list[Any]) -> set[str]:
    """The arrays that a value reads."""
    return {node[1] for node in walk(value) if node[0] == "read"}


def draw_schedule(rng: random.Random, model: Model, computation: str) -> Command | None:
    """A map of the iterators behind a constant, one that may put computations beside each other: mostly unimodular,
    sometimes by steps of two, or in blocks."""
    iterators = list(model.iterators[computation])
    rng.shuffle(iterators)
    if rng.random() < 0.5:
        iterators = list(model.iterators[computation])
    dimensions: list[Any] = [[rng.choice((0, 0, -1, 1)), {i: 1}] for i in iterators]
    if len(dimensions) > 1 and rng.random() < 0.3:
        a, b = sorted(rng.sample(range(len(dimensions)), 2))
        dimensions[b][1][iterators[a]] = rng.choice((1, -1, 2))
    if dimensions and rng.random() < 0.15:
        position = rng.randrange(len(dimensions))
        dimensions[position] = [
            -dimensions[position][0],
            {i: -c for i, c in dimensions[position][1].items()},
        ]
    elif dimensions and rng.random() < 0.1:
        position = rng.randrange(len(dimensions))
        dimensions[position] = [
            dimensions[position][0],
            {i: 2 * c for i, c in dimensions[position][1].items()},
        ]
    if dimensions and rng.random() < 0.15:
        dimensions.insert(0, ["div", rng.choice(dimensions), rng.choice((2, 4))])
    place = rng.randint(0, len(dimensions)) if rng.random() < 0.7 else 0
    dimensions.insert(place, [rng.randint(0, 3), {}])
    if model.iterators[computation] and rng.random() < 0.15:
        along = rng.choice(list(model.iterators[computation]))
        bounds: list[Any] = [[0, {}], [rng.choice((1, 1, 2)), {}]]
        if rng.random() < 0.6:
            block = rng.choice((2, 4))
            bounds = [
                ["div", [-block // 2, {along: 1}], block],
                ["div", [block // 2, {along: 1}], block],
            ]
        dimensions.insert(rng.choice((0, 0, len(dimensions) // 2)), list(COPYING))
        own = draw_names(rng, len(dimensions))
        own[dimensions.index(COPYING)] = ""
        return [computation, "set_schedule", [dimensions, own, bounds]]
    return [computation, "set_schedule", [dimensions, draw_names(rng, len(dimensions))]]


def draw_names(rng: random.Random, count: int) -> list[str]:
    """Names that a map gives to its dimensions; "" to most."""
    names = ["t", "u", "v", "t0", "t1", *(f"w{n}" for n in range(count))]
    return [name if rng.random() < 0.2 else "" for name in rng.sample(names, count)]


def draw_schedules(rng: random.Random, model: Model) -> Command:
    """The times of all computations: mostly one after the other, or together in the loops of their iterators."""
    kind = rng.random()
    maps: list[list[Any]] = []
    for rank, computation in enumerate(model.order):
        if kind < 0.3:
            dimensions = [[0, {i: 1}] for i in model.iterators[computation]]
            dimensions.append([rank, {}])
        else:
            (dimensions, *_) = draw_schedule(rng, model, computation)[2]
            dimensions = [d for d in dimensions if d != COPYING]
            if kind < 0.8:
                dimensions = [[rank, {}], *dimensions]
        maps.append([computation, dimensions])
    most = max(len(dimensions) for _, dimensions in maps)
    result = []
    for computation, dimensions in maps:
        before = dimensions[:-1] if kind < 0.3 else dimensions
        padding = [[0, {}] for _ in range(most - len(dimensions))]
        padded = before + padding + dimensions[len(before) :]
        result.append([computation, padded, draw_names(rng, len(padded))])
    wrong = rng.random()
    if wrong < 0.05 and len(result) > 1:
        del result[rng.randrange(len(result))]
    elif wrong < 0.1 and len(result) > 1:
        _, padded, names = result[0]
        padded.append([0, {}])
        names.append("")
    return ["", "set_schedule", [result]]


def draw_new_loops(rng: random.Random, model: Model, computation: str) -> Command:
    """A map from the loops that there are, one to one: unimodular, perhaps in blocks, with a constant among them."""
    loops = model.nests[computation].loops
    plain = [loop.name for loop in loops if not loop.tag and not loop.prefetched]
    dimensions: list[Any] = [[0, {loop.name: 1}] for loop in loops]
    changed = [d for d, loop in enumerate(loops) if loop.name in plain or rng.random() < 0.1]
    for d in changed:
        if rng.random() < 0.3:
            other = rng.choice(loops).name
            if other != loops[d].name:
                # Outer ones into inner ones, so that each can be told from the others.
                first, second = sorted((d, [loop.name for loop in loops].index(other)))
                dimensions[second][1][loops[first].name] = rng.choice((1, -1, 2))
        elif rng.random() < 0.2:
            constant, terms = dimensions[d]
            dimensions[d] = [rng.randint(-2, 2) - constant, {n: -c for n, c in terms.items()}]
    if changed and rng.random() < 0.3:
        d = rng.choice(changed)
        size = rng.choice((2, 3))
        dimensions[d : d + 1] = [["div", dimensions[d], size], ["mod", dimensions[d], size]]
    if rng.random() < 0.5:
        rng.shuffle(dimensions)
    if rng.random() < 0.2:
        dimensions.insert(rng.randint(0, len(dimensions)), [rng.randint(0, 2), {}])
    return [computation, "apply_schedule", [dimensions, draw_names(rng, len(dimensions))]]


# ---- for the library ----


def tuple_text(dimensions: list[Any], names: list[str] | None = None) -> str:
    named = zip(dimensions, names or [""] * len(dimensions), strict=True)
    return f"[{', '.join((f'{name} = ' if name else '') + affine_text(d) for d, name in named)}]"


def with_names(value: list[Any], names: dict[str, str]) -> list[Any]:
    """A dimension in other names."""
    if value[0] in ("div", "mod"):
        return [value[0], with_names(value[1], names), value[2]]
    return [value[0], {names.get(name, name): factor for name, factor in value[1].items()}]


def time_text(
    model: Model,
    c: str,
    dimensions: list[Any],
    names: list[str] | None = None,
    copies: list[Any] | None = None,
) -> str:
    """A map; `copies` are the bounds of its dimension z."""
    iterators = model.iterators[c]
    if set(iterators) & set(names or ()):  # where a loop may have the name of another iterator
        own = {name: f"p{d}" for d, name in enumerate(iterators)}
        iterators = list(own.values())
        dimensions = [with_names(d, own) for d in dimensions]
        copies = copies and [with_names(bound, own) for bound in copies]
    text = f"{c}[{', '.join(iterators)}] -> {tuple_text(dimensions, names)}"
    return text + (
        f" : {affine_text(copies[0])} <= z <= {affine_text(copies[1])}" if copies else ""
    )


def affine_text(value: list[Any]) -> str:
    if value[0] == "mod":
        return f"({affine_text(value[1])}) mod {value[2]}"
    if value[0] == "div":
        return f"floor(({affine_text(value[1])})/{value[2]})"
    terms = [f"{c}*{name}" if c != 1 else name for name, c in value[1].items()]
    if value[0] or not terms:
        terms.append(str(value[0]))
    return " + ".join(terms).replace("+ -", "- ")


def give(function: Any, command: Command, model: Model) -> None:
    """Calls the command of the library; raises what it raises."""
    computation, name, arguments = command
    if name == "fix":
        function.fix(dict(zip(arguments[::2], arguments[1::2], strict=True)))
        return
    if name == "specialize":
        function.specialize(condition_text(arguments[0]))
        return
    if name == "when_work":
        function.when_work(*arguments)
        return
    if not computation:
        maps = (time_text(model, c, *rest) for c, *rest in arguments[0])
        function.set_schedule(f"{{ {'; '.join(maps)} }}")
        return
    handle = function[computation]
    if name == "set_schedule":
        handle.set_schedule(f"{{ {time_text(model, computation, *arguments)} }}")
    elif name == "apply_schedule":
        # In names of the text's own: those of new loops may be those of others.
        places = {loop.name: f"p{d}" for d, loop in enumerate(model.nests[computation].loops)}
        times = tuple_text([with_names(d, places) for d in arguments[0]], arguments[1])
        handle.apply_schedule(f"{{ [{', '.join(places.values())}] -> {times} }}")
    elif name == "store_in":
        handle.store_in(f"{arguments[0]}[{', '.join(affine_text(i) for i in arguments[1])}]")
    elif name == "split" and not isinstance(arguments[1], int):
        axis, constant, divisor = arguments[1]
        handle.split(arguments[0], f"({axis} + {constant}) // {divisor}", *arguments[2:])
    elif name == "assume":
        handle.assume(f"{{ {arguments[0]}[i] -> [v] : 0 <= v <= {arguments[1]} }}")
    elif name == "transform":
        *loops, flat = arguments
        handle.transform(loops, [flat[k : k + len(loops)] for k in range(0, len(flat), len(loops))])
    elif hasattr(handle, name):
        getattr(handle, name)(*arguments)
    else:  # not in the public language yet
        function._apply(computation, name, arguments, None)
