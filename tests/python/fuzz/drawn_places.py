"""Random places in memory: store_in, and buffers that are private to an iteration of a loop."""

from __future__ import annotations

import random
from typing import Any

from fuzz.model import Model

Command = list[Any]


def draw_storage(rng: random.Random, model: Model, computation: str) -> Command | None:
    own = model.own(computation)
    draw = rng.random()
    if computation in model.outputs and rng.random() < 0.9:
        draw = 0.7  # outputs have their own places, or those of an input
    index: list[Any] = [[0, {i: 1}] for i in own]
    buffer = f"b_{computation}"
    if draw < 0.35 and own:
        position = rng.randrange(len(own))
        index[position] = ["mod", index[position], rng.choice((1, 2, 2, 3, 3))]
    elif draw < 0.5 and own:
        del index[rng.randrange(len(own))]
        index = index or [[0, {}]]
    elif draw < 0.6 and own:
        rng.shuffle(index)
    elif draw < 0.65 and own:
        index[rng.randrange(len(index))] = ["div", index[0], 2]
    elif draw < 0.75:
        fitting = [
            x
            for x, one in model.inputs.items()
            if one["dtype"] == model.types[computation] and len(one["extents"]) == len(index)
        ]
        if not fitting:
            return None
        buffer = rng.choice(fitting)
    else:
        others = [n for n in model.order if n != computation]
        if not others:
            return None
        other = rng.choice(others)
        buffer = model.storage[other][0]
        rank = len(model.storage[other][1])
        if len(index) > rank:
            index = index[:rank] if rank else [[0, {}]]
        while len(index) < rank:
            index.append([0, {}])
        if index and rng.random() < 0.15:
            index[0] = [index[0][0] + 1, index[0][1]]
    return [computation, "store_in", [buffer, index]]


def draw_private_places(rng: random.Random, model: Model) -> Command | None:
    """Places in one buffer, which is then private: of one computation, or of two, mostly in one nest."""
    own = [c for c in model.order if c not in model.outputs and model.nests[c].loops]
    if not own:
        return None
    pairs = [
        (p.computation, p.other)
        for p in model.placements
        if not p.inside and p.shared and p.computation in own and p.other in own
    ]
    draw = rng.random()
    if draw < 0.2 and len(own) > 1:
        chosen = tuple(rng.sample(own, 2))  # mostly not in one nest
    else:
        chosen = rng.choice(pairs) if pairs and draw < 0.8 else (rng.choice(own),)
    rank = rng.randint(0, max(len(model.own(c)) for c in chosen))
    stores: list[Any] = []
    for c in chosen:
        index: list[Any] = [[0, {i: 1}] for i in model.own(c)[-rank:]] if rank else []
        index = [[0, {}]] * (rank - len(index)) + index
        if index and rng.random() < 0.3:
            position = rng.randrange(len(index))
            index[position] = ["mod", index[position], rng.choice((1, 2, 3))]
        stores.append([c, "store_in", [f"b_{chosen[0]}", index]])
    loop = rng.choice([loop.name for loop in model.nests[chosen[0]].loops])
    return ["", "transaction", [*stores, [chosen[0], "private", [loop]]]]
