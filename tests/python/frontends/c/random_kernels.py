"""Random C functions whose meaning C defines, or gcc without optimisation: integer types of all widths,
their conversions, wraps, divisions and shifts, guards, scalars that are overwritten, loops of all directions,
jumps, calls, structures, matrices, linearised ones, subscripts that data decide about."""

from __future__ import annotations

import random

import numpy as np

SIZE = 8
ARRAYS = {
    "a": ("int", np.int32),
    "b": ("unsigned char", np.uint8),
    "c": ("short", np.int16),
    "d": ("unsigned", np.uint32),
    "e": ("long", np.int64),
    "g": ("unsigned long", np.uint64),
    "h": ("float", np.float32),
    "x": ("double", np.float64),
}
PAIR = np.dtype([("u", "i4"), ("v", "f8"), ("w", "i2", (2,))], align=True)
_PAIR = "struct pair { int u; double v; short w[2]; };"
_INTEGERS = "abcdeg"
_CASTS = [
    "char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
]
_LITERALS = [
    "0",
    "1",
    "-1",
    "7",
    "100",
    "127",
    "255u",
    "-300",
    "65535",
    "2147483647",
    "4000000000u",
    "5000000000L",
    "1UL",
]


class Kernel:
    """A function `f0`, `f1`, ... drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.name = f"f{seed}"
        self.scalars: list[str] = []
        self.iterators: list[str] = []
        self.count = 0
        body = "".join(self.statement(1) for _ in range(self.draw.randint(2, 5)))
        locals_ = "".join(
            f"  {self.draw.choice(_CASTS)} {name} = {self.literal()};\n" for name in ("s", "t")
        )
        arguments = ", ".join(f"{of} {name}[{SIZE}]" for name, (of, _) in ARRAYS.items())
        arguments += f", struct pair z[{SIZE}], int m[{SIZE}][{SIZE}], double *restrict y"
        self.text = (
            f"#ifndef PAIR\n#define PAIR\n{_PAIR}\n#endif\n"
            f"static long twice_{self.name}(int v, unsigned w) {{ if (v < 0) return w; return v * 2L + w; }}\n"
            f"void {self.name}(int n, {arguments}) {{\n  __pencil_assume(n >= 1 && n <= {SIZE});\n"
            f"{locals_}  int p, q, k[{SIZE}] = {{0}};\n  double r = 0.5;\n{body}"
            "  a[0] += s; e[0] ^= t; x[0] += r; a[1] += k[3];\n}\n"
        )

    def literal(self) -> str:
        return self.draw.choice(_LITERALS)

    def subscript(self) -> str:
        kinds = [
            str(self.draw.randrange(SIZE)),
            f"({self.draw.choice('st')} * {self.draw.randrange(4)} + n) & {SIZE - 1}",
        ]
        if self.iterators:
            name = self.draw.choice(self.iterators)
            kinds += [
                name,
                name,
                name,
                f"{SIZE - 1} - {name}",
                f"({name} + {self.draw.randrange(3)}) % {SIZE}",
                f"{self.draw.choice('abk')}[{name}] & {SIZE - 1}",
            ]
        return self.draw.choice(kinds)

    def integer(self, depth: int) -> str:
        """An integer expression."""
        draw = self.draw
        if depth <= 0 or draw.random() < 0.15:
            atoms = [self.literal(), "s", "t", "n", *self.iterators]
            atoms += [f"{draw.choice(_INTEGERS)}[{self.subscript()}]"] * 2
            atoms += [self.place()]
            return draw.choice(atoms)
        one, two = self.integer(depth - 1), self.integer(depth - 1)
        match draw.randrange(13):
            case 0 | 1 | 2:
                return f"({one} {draw.choice('+-*')} {two})"
            case 3:
                return f"({one} {draw.choice('&|^')} {two})"
            case 4:
                return (
                    f"({one} {draw.choice('/%')} {draw.choice(['3', '7u', '10L', '255', '1000'])})"
                )
            case 5:
                return f"({one} {draw.choice(['<<', '>>'])} (({two}) & 7))"
            case 6:
                return f"{draw.choice(['~', '-', '!', '+'])}({one})"
            case 7:
                return f"({draw.choice(_CASTS)})({one})"
            case 8:
                return f"({one} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {two})"
            case 9:
                return f"({self.condition(depth - 1)} ? {one} : {two})"
            case 10:
                return f"({one} {draw.choice(['&&', '||'])} {two})"
            case 11:
                return f"twice_{self.name}({one}, {two})"
        return one

    def place(self) -> str:
        """An integer in a matrix, a structure or a local array."""
        kinds = [
            f"m[{self.subscript()}][{self.subscript()}]",
            f"z[{self.subscript()}].u",
            f"z[{self.subscript()}].w[{self.draw.randrange(2)}]",
            f"k[{self.subscript()}]",
        ]
        return self.draw.choice(kinds)

    def real(self, depth: int) -> str:
        """A floating-point expression."""
        draw = self.draw
        if depth <= 0:
            return draw.choice(
                [
                    "0.5f",
                    "1.25",
                    "3",
                    f"h[{self.subscript()}]",
                    f"x[{self.subscript()}]",
                    f"z[{self.subscript()}].v",
                    "r",
                    "(float)s",
                ]
            )
        one, two = self.real(depth - 1), self.real(depth - 1)
        kinds = [
            f"({one} {draw.choice('+-*')} {two})",
            f"({one} / 3)",
            f"-({one})",
            f"(float)({one})",
            f"({one} + {self.integer(1)})",
        ]
        return draw.choice(kinds)

    def condition(self, depth: int) -> str:
        if self.draw.random() < 0.2:
            return f"{self.real(1)} < {self.real(1)}"
        return self.integer(depth)

    def assignment(self) -> str:
        draw = self.draw
        if draw.random() < 0.25:
            name = draw.choice("st")
            return draw.choice(
                [
                    f"{name} = {self.integer(2)};",
                    f"{name}{draw.choice(['++', '--'])};",
                    f"{name} {draw.choice('+-^')}= {self.integer(1)};",
                ]
            )
        if draw.random() < 0.25:
            return f"{draw.choice('hx')}[{self.subscript()}] {draw.choice(['=', '=', '+=', '*='])} {self.real(2)};"
        if draw.random() < 0.15:
            target = draw.choice(["r", f"z[{self.subscript()}].v"])
            return f"{target} {draw.choice(['=', '=', '+=', '*='])} {self.real(2)};"
        if draw.random() < 0.1:
            return f"z[{self.subscript()}] = z[{self.subscript()}];"
        target = f"{draw.choice(_INTEGERS)}[{self.subscript()}]"
        if draw.random() < 0.25:
            target = self.place()
        return f"{target} {draw.choice(['=', '=', '=', '+=', '-=', '*=', '^=', '|='])} {self.integer(3)};"

    def statement(self, depth: int) -> str:
        draw, pad = self.draw, "  " * depth
        kind = draw.randrange(11) if depth < 4 else 0
        if kind < 4:
            return f"{pad}{self.assignment()}\n"
        if kind == 4:
            other = (
                f"{pad}else {{\n{self.statement(depth + 1)}{pad}}}\n" if draw.random() < 0.5 else ""
            )
            return f"{pad}if ({self.condition(2)}) {{\n{self.statement(depth + 1)}{pad}}}\n{other}"
        if kind == 5:
            cases = "".join(
                f"{pad}case {at}:\n{self.statement(depth + 1)}{pad}  break;\n"
                for at in range(draw.randint(1, 3))
            )
            head = f"{pad}switch (({self.integer(2)}) & 3) {{\n{cases}"
            return f"{head}{pad}default:\n{self.statement(depth + 1)}{pad}}}\n"
        if kind == 6:
            return self.counted_while(depth)
        if kind == 7:
            return self.rows(depth)
        return self.loop(depth)

    def rows(self, depth: int) -> str:
        """Loops over a matrix that is written as `y[i * n + j]`."""
        pad = "  " * depth
        self.count += 1
        one, two = f"i{self.count}", f"j{self.count}"
        self.iterators += [one, two]
        value = self.real(1)
        inner = f"{pad}    y[{one} * n + {two}] {self.draw.choice(['=', '+='])} {value};\n"
        del self.iterators[-2:]
        head = f"{pad}for (int {one} = 0; {one} < n; {one}++)\n"
        return f"{head}{pad}  for (int {two} = {self.draw.choice(['0', one])}; {two} < n; {two}++)\n{inner}"

    def counted_while(self, depth: int) -> str:
        pad = "  " * depth
        self.count += 1
        name = f"w{self.count}"
        body = self.statement(depth + 1)
        if self.draw.random() < 0.5:
            return f"{pad}{{ int {name} = {self.draw.randrange(5)}; while ({name}-- > 0) {{\n{body}{pad}}} }}\n"
        return f"{pad}{{ int {name} = 0; do {{\n{body}{pad}}} while (++{name} < {self.draw.randrange(4)}); }}\n"

    def loop(self, depth: int) -> str:
        draw, pad = self.draw, "  " * depth
        self.count += 1
        outer = draw.random() < 0.3 and not {"p", "q"} <= set(self.iterators)
        name = (
            next((each for each in "pq" if each not in self.iterators), "")
            if outer
            else f"i{self.count}"
        )
        of = "" if outer else draw.choice(["int ", "int ", "long ", "unsigned ", "short "])
        head = draw.choice(
            [
                f"{of}{name} = 0; {name} < n; {name}++",
                f"{of}{name} = 1; {name} <= 6; {name} += 2",
                f"{of}{name} = 0; {name} != 6; {name} += 3",
                f"{of}{name} = n - 1; {name} > 0; --{name}",
                f"{of}{name} = 7; {name} > 1; {name} = {name} - 2",
                f"{of}{name} = n; {name}-- > 0;",
                f"{of}{name} = 0; {name} < n && {self.integer(1)} != 3; {name}++",
                f"{of}{name} = 0; {name} + 2 < n; {name}++",
                f"{of}{name} = 0; 5 > {name}; {name} = 1 + {name}",
            ]
        )
        self.iterators.append(name)
        body = "".join(self.statement(depth + 1) for _ in range(draw.randint(1, 2)))
        if draw.random() < 0.3:
            body += f"{pad}  if ({self.condition(1)}) {draw.choice(['break', 'continue'])};\n"
            body += self.statement(depth + 1)
        self.iterators.pop()
        after = f"{pad}e[1] += {name};\n" if outer and draw.random() < 0.7 else ""
        return f"{pad}for ({head}) {{\n{body}{pad}}}\n{after}"


class CountingKernel(Kernel):
    """One whose scalars and pointers count: steps in loops, under conditions, by other counters."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        counters = "  int o = 0;\n  long v = 2;\n  unsigned long u = 1;\n"
        self.text = self.text.replace("  int p, q,", f"{counters}  int p, q,", 1)

    def subscript(self) -> str:
        if self.draw.random() < 0.4:
            return f"({self.draw.choice(['o', 'v', 'u', 'o + v', 'o - 1', '2 * v'])}) & {SIZE - 1}"
        return super().subscript()

    def statement(self, depth: int) -> str:
        draw, pad = self.draw, "  " * depth
        kind = draw.randrange(8)
        if kind == 0:
            return f"{pad}{draw.choice(['o++;', 'o += 2;', 'v--;', '++u;', 'v += o;', 'o = v;', 'u += 3;'])}\n"
        if kind == 1:
            iterators = "".join(f" + {each}" for each in self.iterators)
            return f"{pad}{draw.choice(['o = 0;', 'v = n;', f'o = 1{iterators};', 'u = 5;'])}\n"
        if kind == 2 and depth < 4:
            return self.pointer(depth)
        if kind == 3 and depth < 4:
            self.count += 1
            name, sign = f"c{self.count}", draw.choice(["<", "<=", "!="])
            step = f"{pad}  {draw.choice(['', f'if ({self.condition(1)}) break; '])}{name}++;\n"
            parts = [step, self.statement(depth + 1)]
            draw.shuffle(parts)
            head = f"{pad}{{ int {name} = {draw.randrange(2)}; while ({name} {sign} n - 1 && {name} < 6) {{\n"
            return f"{head}{''.join(parts)}{pad}}} e[0] += {name}; }}\n"
        if kind == 4 and depth < 4:
            return draw.choice([self.chosen_bounds, self.both_ends])(depth)
        return super().statement(depth)

    def both_ends(self, depth: int) -> str:
        """A `while` loop of which both sides of the condition move, or that steps until it meets a bound."""
        draw, pad = self.draw, "  " * depth
        self.count += 1
        low, high = f"c{self.count}", f"d{self.count}"
        up, down = draw.randint(0, 2), draw.randint(0, 3)
        outer = draw.choice([*self.iterators, "n"])
        condition = draw.choice(
            [
                f"{low} < {high}",
                f"{high} >= {low} + 1",
                f"{high} - {low} > 2",
                f"2 * {low} <= {high}",
            ]
        )
        if draw.random() < 0.2:
            body = f"{pad}  if ({self.condition(1)}) break;\n{self.statement(depth + 1)}"
            head = f"{pad}{{ int {low} = (e[0] + {outer}) & 3; while ({low}-- > 0) {{\n"
            return f"{head}{body}{pad}}} e[0] += {low}; }}\n"
        begin, leave = f"{outer} - {draw.randint(0, 2)}", ""
        if draw.random() < 0.3:
            up, down, condition = 3, 1, f"{low} != {high}"
            begin = f"{low} + 4 * ({outer} % 3 + 1)"
        elif draw.random() < 0.3:
            leave = f"{pad}  if ({self.condition(1)}) break;\n"
        parts = [
            f"{pad}  {low} += {up};\n",
            f"{pad}  {high} -= {down or 1};\n",
            self.statement(depth + 1),
        ]
        draw.shuffle(parts)
        head = (
            f"{pad}{{ int {low} = {draw.randrange(2)}, {high} = {begin}; while ({condition}) {{\n"
        )
        return f"{head}{leave}{''.join(parts)}{pad}}} e[0] += {low} - {high}; }}\n"

    def chosen_bounds(self, depth: int) -> str:
        """A loop between bounds that are halves, remainders, the smaller one of two, or chosen."""
        draw, pad = self.draw, "  " * depth
        self.count += 1
        name = f"i{self.count}"
        outer = draw.choice([*self.iterators, "n"])
        start = draw.choice(["0", f"{outer} % 2", "n / 3", f"{outer} < 3 ? 1 : 0", "(n - 4) / 2"])
        stop = draw.choice(
            [
                "n / 2",
                f"({outer} + 2 < n ? {outer} + 2 : n)",
                f"(n > 4 ? 4 : {outer} % 5)",
                f"((int){outer} - 5) / 2 + 4",
                f"(n + 2) / 3 * 2 - {outer} % 3",
                "(int)((unsigned)n - 1)",
            ]
        )
        test = draw.choice(
            ["", f"if ((unsigned){outer} - 2 < (unsigned)n - 3) ", f"if (n - 4ul >= u - {name}) "]
        )
        self.iterators.append(name)
        body = self.statement(depth + 1)
        self.iterators.pop()
        step = draw.choice([f"{name}++", f"{name} += 2", f"{name} += 3"])
        head = f"int {name} = {start}; {name} < {stop}; {step}"
        inner = f"{pad}  if ({name} < 0) continue;\n{pad}  {test}{{\n{body}{pad}  }}\n"
        return f"{pad}for ({head}) {{\n{inner}{pad}}}\n"

    def pointer(self, depth: int) -> str:
        """A loop that walks an array, forwards, backwards or as long as data say."""
        draw, pad = self.draw, "  " * depth
        self.count += 1
        array = draw.choice("abcdeghx")
        of, name = ARRAYS[array][0], f"p{self.count}"
        value = self.real(1) if array in "hx" else self.integer(1)
        start, head, element = draw.choice(
            [
                (array, f"; {name} < {array} + n; {name}++", f"*{name}"),
                (f"{array} + n", f"; {name} != {array};", f"*--{name}"),
                (array, f"int i{self.count} = 0; i{self.count} < n; i{self.count}++", f"*{name}++"),
                (f"{array} + n - 1", f"; {name} >= {array}; {name} -= 2", f"{name}[0]"),
                (array, f"; {name} < {array} + 7; ++{name}", f"{name}[1]"),
            ]
        )
        skip = f"if ({self.condition(1)}) break; " if draw.random() < 0.3 and "++" in head else ""
        inner = f"{pad}  {skip}{element} {draw.choice(['=', '+='])} {value};\n"
        return f"{pad}{{ {of} *{name} = {start}; for ({head}) {{\n{inner}{pad}}} o += {name} - {array}; }}\n"


class JumpingKernel(Kernel):
    """One that jumps: to labels further on, through cases, out of them, and out of functions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.scalars, self.iterators = [], []
        body = "".join(
            f"    {self.draw.choice(['v += w;', 'v -= i;', 'w ^= v;', 'continue;', 'break;'])}\n"
            if self.draw.random() < 0.5
            else f"    if ((v & 7) == {at}) return v + {at};\n"
            for at in range(self.draw.randint(1, 3))
        )
        helper = (
            f"static long twice_{self.name}(int v, unsigned w) {{\n  if (v < 0) return w;\n"
            f"  for (int i = 0; i < 4; i++) {{\n    if (i * v > 40) return i;\n{body}    v += 3;\n  }}\n"
            "  switch (w & 3) { case 0: v++; case 1: if (v & 2) break; v += 5; default: return v; case 3: w -= 2; }\n"
            "  return v * 2L + w;\n}\n"
        )
        head = f"static long twice_{self.name}(int v, unsigned w) {{ if"
        self.text = "\n".join(
            helper.rstrip() if line.startswith(head) else line for line in self.text.split("\n")
        )

    def statement(self, depth: int) -> str:
        draw, pad = self.draw, "  " * depth
        kind = draw.randrange(7) if depth < 4 else 6
        if kind == 0:
            self.count += 1
            name = f"l{self.count}"
            jump = f"{pad}  if ({self.condition(2)}) goto {name};\n"
            loop = f"i{self.count}"
            parts = [jump, self.statement(depth + 1)]
            if draw.random() < 0.5:
                self.iterators.append(loop)
                inner = [f"{pad}  {jump}", self.statement(depth + 2)]
                self.iterators.pop()
                draw.shuffle(inner)
                parts.append(
                    f"{pad}  for (int {loop} = 0; {loop} < n; {loop}++) {{\n{''.join(inner)}{pad}  }}\n"
                )
            draw.shuffle(parts)
            after = self.statement(depth + 1)
            return f"{pad}{{\n{''.join(parts)}{pad}{name}:\n{after}{pad}}}\n"
        if kind == 1:
            cases = "".join(
                f"{pad}{'default' if at == draw.randrange(4) and at == 2 else f'case {at}'}:\n"
                f"{self.statement(depth + 1)}{pad}  {self.end_of_case()}\n"
                for at in range(draw.randint(1, 4))
            )
            return f"{pad}switch (({self.integer(2)}) & 3) {{\n{cases}{pad}}}\n"
        return super().statement(depth)

    def end_of_case(self) -> str:
        return self.draw.choice(["break;", "", "", f"if ({self.condition(1)}) break;", "s++;"])


def arguments(seed: int) -> list[object]:
    """What a kernel is called with."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, SIZE + 1))
    found: list[object] = [n]
    for _, dtype in ARRAYS.values():
        if np.dtype(dtype).kind == "f":
            found.append(draw.standard_normal(SIZE).astype(dtype))
        else:
            info = np.iinfo(dtype)
            values = draw.integers(info.min, info.max, SIZE, dtype=dtype, endpoint=True)
            small = draw.integers(0, 9, SIZE).astype(dtype)
            found.append(np.where(draw.random(SIZE) < 0.6, small, values).astype(dtype))
    pairs = np.zeros(SIZE, PAIR)
    pairs["u"], pairs["v"] = draw.integers(-9, 9, SIZE), draw.standard_normal(SIZE)
    pairs["w"] = draw.integers(-9, 9, (SIZE, 2))
    matrix = draw.integers(-9, 9, (SIZE, SIZE)).astype(np.int32)
    return [*found, pairs, matrix, draw.standard_normal(n * n)]
