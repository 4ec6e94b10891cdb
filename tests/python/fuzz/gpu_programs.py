"""Programs with schedules that make kernels, drawn at random: what is computed is simple, how blocks, threads, memory
and barriers are mapped is not. Every command may be refused by itself (it is left out then), so most of what is drawn
compiles; which commands held is recorded as text.

A draw is a function with its commands given and the arrays of a few calls; all values are small integers, so sums are
exact in any order.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw

N, M, K, T = tw.params("N M K T")
i, j, k, t, r = tw.iters("i j k t r")

Arrays = dict[str, Any]
SIZES = (0, 1, 2, 3, 5, 8, 9, 16, 17, 21, 35)
TILES = (1, 2, 3, 4, 4, 5, 8, 8, 16)
THREADS = (2, 3, 4, 8, 16, 32, 40)
MEMORY = ("auto", "shared", "shared", "shared", "private")


class Draw:
    """One case. `function` has the commands of `given` and is for `target`; `calls()` draws arrays and sizes."""

    def __init__(self, seed: str, target: str = "gpu-emulator") -> None:
        self.rng = random.Random(seed)
        self.target = target
        self.given: list[str] = []
        self.refused: dict[str, int] = {}
        self.dtype = self.rng.choice(
            [tw.float32] * 5 + [tw.float64, tw.int32, tw.int64, tw.float16, tw.int8]
        )
        self.shapes: dict[str, list[Any]] = {}
        self.inputs: list[tw.Computation] = []
        self.bounds: dict[str, Any] = {}
        self.products = False
        self.multiples = self.rng.random() < 0.3  # sizes that are known to be multiples of 8
        self.family = self.rng.choice(FAMILIES)
        getattr(self, self.family)()

    # ---- programs ----

    def input(self, name: str, shape: list[Any], dtype: tw.DType | None = None) -> tw.Computation:
        self.shapes[name] = shape
        made = tw.input(name, shape, dtype or self.dtype)
        self.inputs.append(made)
        return made

    def declare(self, *outputs: tw.Computation, context: Sequence[Any] = ()) -> None:
        named = " ".join(str(extent) for shape in self.shapes.values() for extent in shape)
        if self.multiples:
            context = [*context, *(p % 8 == 0 for p in (N, M, K) if str(p) in named)]
        self.function = tw.function(
            "f",
            outputs=list(outputs),
            inputs=self.inputs,
            target=self.target,
            context=list(context),
            default_schedule=False,
        )
        self.given.append(f"{self.function} where {[str(c) for c in context]}")

    def range(self, outer: tw.Iterator | None, size: Any) -> Any:
        """A loop's bounds: all of it, a part, a triangle."""
        choices: list[Any] = [size, size, size, (1, size), (0, size - 1)]
        if outer is not None:
            choices += [(0, outer + 1), (0, outer), (outer, size), (outer + 1, size)]
            choices += [(2, outer - 1), (outer, outer + 3), (0, 2 * outer)]
        drawn = self.rng.choice(choices)
        self.given.append(f"# bounds {drawn}")
        return drawn

    def reduction(self) -> Any:
        reduce = self.rng.choice([tw.sum, tw.sum, tw.sum, tw.max, tw.min, tw.prod])
        self.products = self.products or reduce is tw.prod
        self.given.append(f"# {reduce.__name__}")
        return reduce

    def finished(self, reduction: Any, other: Any) -> Any:
        """Often what an expression makes of a reduction: scaled, with a bias, bounded, chosen by it."""
        if self.rng.random() < 0.4:
            return reduction
        drawn = self.rng.choice(
            [
                reduction + other, other - reduction * 2, -reduction,
                tw.maximum(reduction + other, 0), tw.select(reduction < other, other, reduction),
                tw.minimum(reduction * other, reduction),
            ]
        )  # fmt: skip
        self.given.append("# epilogue")
        return drawn

    def elements(self) -> None:
        """Element by element, with neighbours."""
        rng = self.rng
        a = self.input("A", [3 * N + M + 8, 3 * N + M + 8])
        b = self.input("B", [3 * N + M + 8])
        second = self.range(i, M)
        terms = [
            a[i, j], a[i + 1, j] - a[i, j + 2], a[j, i], a[i, j] + b[j], b[i] * 2 + b[j + 1],
            a[i, j + 1] + a[j, i], b[j] + b[j + 1] + b[j + 2], b[i] + a[j, i + 1],
        ]  # fmt: skip
        c = tw.computation("C", {i: N, j: second}, rng.choice(terms), shape=[N, 3 * N + M + 8])
        self.declare(c)
        self.map(c, ["i", "j"], [])
        self.copies(c, [a, b])

    def pieces(self) -> None:
        """Another expression on the border."""
        a = self.input("A", [N + 2, N + 2])
        c = tw.computation("C", {i: N, j: N}, dtype=self.dtype)
        line = self.rng.choice([i - j, i - N + 1, j - 3, i - 2 * j, i + j - N])
        c.define(line < 0, a[i, j] + 1)
        c.define(line == 0, a[j, i])
        c.define(line > 0, a[i + 1, j] - a[i, j + 1])
        self.given.append(f"# pieces at {line}")
        self.declare(c)
        self.map(c, ["i", "j"], [])
        self.copies(c, [a])

    def rows(self) -> None:
        """A reduction of each row, or of each column."""
        a = self.input("A", [4 * N + K + 8, 4 * N + K + 8])
        over = self.range(i, K)
        reduced = self.reduction()(self.element(a, i, k), over={k: over})
        s = tw.computation("S", {i: N}, self.finished(reduced, a[i, 0]))
        self.declare(s)
        self.map(s, ["i"], ["k"])
        self.copies(s, [a])

    def element(self, a: tw.Computation, row: Any, column: Any) -> Any:
        return self.rng.choice([a[row, column], a[row, column], a[column, row], a[row + 1, column]])

    def planes(self) -> None:
        """A reduction over two iterators."""
        a = self.input("A", [N, M + 3, 3 * M + K + 8])
        over = {j: M, k: self.range(j, K)}
        reduced = self.reduction()(a[i, j, k], over=over)
        s = tw.computation("S", {i: N}, self.finished(reduced, a[i, 0, 1]))
        self.declare(s)
        self.map(s, ["i"], ["j", "k"])
        self.copies(s, [a])

    def products_of_matrices(self) -> None:
        self.products = True
        a = self.input("A", [N, 3 * N + K + 8])
        b = self.input("B", [3 * N + K + 8, M])
        over = self.range(self.rng.choice([None, i]), K)
        total = tw.sum(a[i, k] * b[k, j], over={k: over})
        c = tw.computation("C", {i: N, j: M}, self.finished(total, b[0, j]))
        self.declare(c)
        self.map(c, ["i", "j"], ["k"])
        self.copies(c, [a, b])

    def producer(self) -> None:
        """What one computation needs of another one is made where it is needed."""
        rng = self.rng
        a = self.input("A", [3 * N + M + 12, 3 * N + M + 12])
        p = tw.computation("P", {i: N + 2, j: M + 2}, a[i, j] + a[j, i] * 2)
        second = rng.choice([M, (0, M), (1, M)])
        read = rng.choice(
            [
                p[i, j], p[i, j] + p[i, j + 1], p[i, j] + p[i + 1, j] - p[i + 2, j + 2],
                p[i, M - 1 - j], p[N - 1 - i, j],
            ]
        )  # fmt: skip
        c = tw.computation("C", {i: N, j: second}, read + a[i, j])
        self.declare(c)
        self.map(c, ["i", "j"], [])
        self.inside(p, c, ["i", "j"])
        self.copies(c, [a])
        self.copies(p, [a])

    def biased(self) -> None:
        """What only the expression around a reduction reads is made where it is needed."""
        a = self.input("A", [4 * N + K + 8, 4 * N + K + 8])
        over = self.range(i, K)
        p = tw.computation("P", {i: N}, a[0, i] * 2)
        reduced = self.reduction()(self.element(a, i, k), over={k: over})
        s = tw.computation("S", {i: N}, self.rng.choice([reduced + p[i], p[i] - reduced]))
        self.declare(s)
        self.map(s, ["i"], ["k"])
        self.inside(p, s, ["i"])
        self.copies(s, [a])
        self.copies(p, [a])

    def softmax(self) -> None:
        """A reduction that all threads of the block read."""
        rng = self.rng
        a = self.input("A", [4 * N + K + 8, 4 * N + K + 8])
        over = self.range(i, K)
        reduced = self.reduction()(a[i, k], over={k: over})
        s = tw.computation("S", {i: N}, self.finished(reduced, a[0, i]))
        y = tw.computation("Y", {i: N, j: K}, a[i, j] - s[i])
        outputs = [y, s] if rng.random() < 0.2 else [y]
        self.declare(*outputs)
        self.map(y, ["i", "j"], [])
        if rng.random() < 0.8:
            self.give(s, "split", "k", rng.choice(THREADS))
            self.inside(s, y, ["k0", "k1"], terms=True)
        else:
            self.map(s, ["i"], ["k"])
        self.copies(s, [a])
        self.copies(y, [a])

    def chain(self) -> None:
        """Three computations of one kernel, one after the other."""
        rng = self.rng
        size = rng.choice([8, 16, 20, 32])
        a = self.input("A", [N, size])
        p = tw.computation("P", {i: N, j: size}, a[i, j] + 1)
        q = tw.computation("Q", {i: N, j: size}, p[i, size - 1 - j] + rng.choice([p[i, j], 2]))
        over = rng.choice([size, (0, j + 1), (j, size), (j + 1, size), (0, j)])
        self.given.append(f"# bounds {over}")
        c = tw.computation("C", {i: N, j: size}, tw.sum(q[i, k], over={k: over}) + p[i, j])
        self.declare(*rng.choice([[c], [c, q], [c, p, q]]))
        width = rng.choice([size, size, 4, 8])
        for computation in self.function.computations:
            handle = self.function[computation]
            names = list(handle.loops)
            if "j" not in names:
                continue
            if width < size:
                self.give(handle, "split", "j", width, *rng.choice([("j0", "j1"), ("j0", "j1")]))
            self.give(handle, "gpu_block", "i")
            self.give(handle, "gpu_thread", "j" if width == size else "j1")
        names = list(self.function.computations)
        for before, after in itertools.pairwise(names):
            self.give(self.function[after], "after", before, "i")
        for name in names:
            self.copies(self.function[name], [a])

    def steps(self) -> None:
        """Time steps: a launch each, or a barrier each in one block."""
        rng = self.rng
        one_block = rng.random() < 0.7
        size: Any = rng.choice([8, 16, 24]) if one_block else N
        a = self.input("A", [M, size])
        x = tw.computation("X", {j: M, t: T, i: size}, dtype=self.dtype)
        x.define(t == 0, a[j, i])
        reach = rng.choice([1, 2])
        inside = (i >= reach) & (i < size - reach)
        x.define((t > 0) & inside, x[j, t - 1, i - reach] - x[j, t - 1, i + rng.choice([0, 1])])
        x.define((t > 0) & (i < reach), x[j, t - 1, i])
        x.define((t > 0) & (i >= reach) & (i >= size - reach), x[j, t - 1, i - 1])
        self.declare(x)
        if not one_block and rng.random() < 0.8:
            self.give(x, "reorder", "t", "j", "i")
        if not one_block or rng.random() < 0.6:
            width = rng.choice(THREADS)
            self.give(x, "split", "i", width)
            thread = "i1"
        else:
            thread = "i"
        loops = list(self.function[x.name].loops)
        blocks = ["j"] if one_block else [name for name in ("j", "i0") if name in loops]
        if rng.random() < 0.9:
            self.give(x, "gpu_block", *blocks)
        self.give(x, rng.choice(["gpu_thread", "gpu_thread", "gpu_spread"]), thread)
        if rng.random() < 0.4:
            self.give(
                x, "cache", x, self.place(x, "shared"), None, "shared", None, rng.choice([0, 1])
            )
        if rng.random() < 0.4:
            self.copies(x, [a])

    def updates(self) -> None:
        """Elements that the data choose are added to atomically."""
        rng = self.rng
        places = self.input("X", [N], tw.int64)
        a = self.input("A", [N])
        total = tw.sum(a[i], over={i: N}, where=places[i] == j)
        h = tw.computation("H", {j: 7}, self.finished(total, 3))
        self.declare(h)
        self.give(h, "interchange", "j", "i")
        self.give(h, "atomic")
        width = rng.choice(THREADS)
        self.give(h, "split", "i", width)
        if rng.random() < 0.7:
            self.give(h, "gpu_block", "i0")
        self.give(h, rng.choice(["gpu_thread", "gpu_spread"]), "i1")
        self.copies(h, [a])

    # ---- schedules ----

    def give(self, computation: Any, name: str, *arguments: Any) -> bool:
        handle = self.function[getattr(computation, "name", computation)]
        text = f"{handle.name}.{name}({', '.join(str(getattr(a, 'name', a)) for a in arguments)})"
        try:
            self.made = getattr(handle, name)(*arguments)
        except (tw.ScheduleError, tw.AnalysisLimitError, KeyError) as error:
            what = f"{name}: {str(error)[:70]}"
            self.refused[what] = self.refused.get(what, 0) + 1
            return False
        self.given.append(text)
        return True

    def map(self, c: Any, elements: list[str], terms: list[str]) -> None:
        """Tiles of constant extents; blocks outermost; threads, shares, or one thread's own inside."""
        rng = self.rng
        blocks: list[str] = []
        serial: list[str] = []
        inner: list[str] = []
        own: list[str] = []
        reduced: list[str] = []
        together = bool(terms) and rng.random() < 0.6
        for loop in elements:
            how = rng.random()
            if how < 0.7:
                self.give(c, "split", loop, rng.choice(TILES), loop + "0", loop + "1")
                (blocks if rng.random() < 0.8 else serial).append(loop + "0")
                if rng.random() < 0.3:
                    self.give(c, "split", loop + "1", rng.choice((1, 2, 4)), loop + "t", loop + "v")
                    inner.append(loop + "t")
                    own.append(loop + "v")
                else:
                    (inner if rng.random() < 0.75 else own).append(loop + "1")
            else:
                (blocks if how < 0.9 else serial).append(loop)
        atomic = bool(terms) and rng.random() < 0.2 and self.give(c, "atomic")
        for loop in terms:
            if rng.random() < 0.8:
                width = rng.choice(THREADS if together else TILES)
                self.give(c, "split", loop, width, loop + "0", loop + "1")
                where = blocks if atomic and rng.random() < 0.7 else serial
                where.append(loop + "0")
                if together and rng.random() < 0.8:
                    inner.append(loop + "1")
                    reduced.append(loop + "1")
                else:
                    own.append(loop + "1")
            else:
                serial.append(loop)
        rng.shuffle(blocks)
        if rng.random() < 0.6:
            rng.shuffle(inner)
            order = [*blocks, *serial, *inner, *own]
        elif rng.random() < 0.5:
            rest = [*serial, *inner, *own]
            rng.shuffle(rest)
            order = [*blocks, *rest]
        else:
            order = [*blocks, *inner, *serial, *own]
        if len(order) > 1 and not self.give(c, "reorder", *order):
            order = list(self.function[c.name].loops)
        if own and rng.random() < 0.15:
            self.give(c, "reverse", rng.choice(own))
        blocks = sorted((name for name in blocks if name in order), key=order.index)
        if blocks and rng.random() < 0.95:
            self.give(c, "gpu_block", *blocks[:3])
        inner = sorted((name for name in inner if name in order), key=order.index)
        while len(inner) > 3:
            inner.remove(rng.choice(inner))
        if inner:
            if not reduced and rng.random() < 0.25:
                self.give(c, "gpu_spread", *inner)
            else:
                self.give(c, "gpu_thread", *inner)
        for loop in own:
            how = rng.random()
            if how < 0.35:
                self.give(c, "unroll", loop)
            elif how < 0.6 and loop == order[-1]:
                self.give(c, "vectorize", loop, rng.choice((2, 4, 8)))

    def inside(self, p: Any, c: Any, loops: list[str], terms: bool = False) -> None:
        """p where c needs it, kept in memory of the block or of each thread."""
        rng = self.rng
        outside = list(self.function[c.name].loops)
        memory = rng.choice(MEMORY)
        at = self.place(c, memory)
        if not self.give(p, "compute_at", c, at):
            return
        kept = at if rng.random() < 0.7 else rng.choice(outside[: outside.index(at) + 1])
        pad = rng.choice([0, 0, 0, 1, 4]) if memory == "shared" else 0
        self.give(p, "store_at", c, kept, memory, pad)
        rest = [name for name in self.function[p.name].loops if name in loops]
        chosen = rest[-1:] if terms else rest
        if chosen and rng.random() < 0.8:
            how = "gpu_thread" if terms or rng.random() < 0.3 else "gpu_spread"
            self.give(p, how, *chosen)

    def place(self, c: Any, memory: str) -> str:
        """A loop inside of which a block, or a thread, may have a buffer of its own; now and then any loop."""
        loops = list(self.function[c.name].loops)
        tags = self.function[c.name].tags
        blocks = [p for p, name in enumerate(loops) if "block" in tags.get(name, "")]
        threads = [
            p
            for p, name in enumerate(loops)
            if "thread" in tags.get(name, "") or "spread" in tags.get(name, "")
        ]
        last_block = blocks[-1] if blocks else 0
        if memory == "shared" or (memory == "auto" and self.rng.random() < 0.5):
            fitting = loops[last_block : threads[0] if threads else len(loops)]
        else:
            fitting = loops[max(last_block, threads[-1] if threads else 0) :]
        return self.rng.choice(fitting if fitting and self.rng.random() < 0.9 else loops)

    def copies(self, c: Any, arrays: list[tw.Computation]) -> None:
        rng = self.rng
        loops = list(self.function[c.name].loops)
        if not loops:
            return
        if rng.random() < 0.25:
            memory = rng.choice(MEMORY)
            if self.give(c, "cache", self.function[c.name], self.place(c, memory), None, memory):
                c = self.made  # what the loops are now of
                loops = list(self.function[c.name].loops)
        if not loops:
            return
        for array in arrays:
            if rng.random() > 0.5:
                continue
            memory = rng.choice(MEMORY)
            loop = self.place(c, memory)
            ahead = memory == "shared" and loop not in self.function[c.name].tags
            stages = rng.choice([1, 2, 2, 3]) if ahead else 1
            pad = rng.choice([0, 0, 1, 4]) if memory != "private" else 0
            self.give(c, "cache", array, loop, None, memory, None, pad, stages)

    # ---- calls ----

    def calls(self) -> list[Arrays]:
        """Arguments by name for each of three calls; arrays begin and step anywhere."""
        drawn = []
        for _ in range(3):
            some = (8, 16, 24, 40) if self.multiples else SIZES
            sizes = {name: self.rng.choice(some) for name in "NMK"}
            sizes["T"] = self.rng.choice((1, 2, 4))
            arguments: Arrays = {}
            for declared in self.inputs:
                shape = [self.value(extent, sizes) for extent in self.shapes[declared.name]]
                arguments[declared.name] = self.array(shape, declared.dtype.dtype)
            known = self.function.parameters
            arguments.update((name, value) for name, value in sizes.items() if name in known)
            drawn.append(arguments)
        return drawn

    @staticmethod
    def value(extent: Any, sizes: dict[str, int]) -> int:
        return int(extent) if isinstance(extent, int) else int(eval(str(extent), {}, dict(sizes)))

    def array(self, shape: list[int], dtype: Any) -> Any:
        generator = np.random.default_rng(self.rng.randrange(1 << 30))
        room = list(shape)
        begin = step = None
        if room and self.rng.random() < 0.2:
            begin = 1
            room[-1] += 1
        elif room and self.rng.random() < 0.1:
            step = self.rng.choice([-1, 2, -2])
            room[-1] *= abs(step)
        if self.products:
            values = generator.choice([-1, 1], room)
        elif dtype == np.int64:
            values = generator.integers(0, 9, room)
        elif dtype == np.float16:
            values = generator.integers(-1, 2, room)
        else:
            values = generator.integers(-5, 6, room)
        return values.astype(dtype)[..., begin::step]


FAMILIES = (
    "elements", "pieces", "rows", "rows", "rows", "planes", "products_of_matrices",
    "products_of_matrices", "producer", "producer", "biased", "softmax", "softmax", "chain", "steps",
    "steps", "updates",
)  # fmt: skip
