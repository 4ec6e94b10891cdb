"""Programs that are damaged at random: ``python malformed_programs.py 5000 [first seed]`` tries many.

Each is read, checked, printed, read again, and made a function of; what goes wrong must be an error of the
library's that says line and column.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter

from alpha_programs import RandomProgram

import tilewright as tw

__all__ = ["damaged", "fault_of"]

JUNK = """{ } ( ) [ ] : ; || | && == <= < -> @ reduce case esac val if N i j A X R 0 1 -1 99999999999999999999 2 N-
use returns 0.5 min max + * / % floor(i/2) // /* let . affine local double bool not xor true floor( i*j N*N {| e
L0 sums 9e999 " ' # é""".split()  # fmt: skip
_TOKEN = re.compile(r"\w+|[^\w\s]")


def damaged(seed: int) -> str:
    """The text of a program with some mistakes in it."""
    choice = random.Random(seed)
    text = RandomProgram(seed % 200).text()
    for _ in range(choice.choice([1, 1, 1, 2, 3])):
        start = choice.randrange(len(text))
        end = min(len(text), start + choice.choice([1, 1, 2, 5, 20]))
        kind = choice.randint(0, 6)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + choice.choice(JUNK) + text[start:]
        elif kind == 2:
            text = text[:start] + choice.choice(JUNK) + text[end:]
        elif kind == 3:
            copied = text[end : end + choice.choice([3, 10, 40])]
            text = text[:start] + copied + text[start:]
        elif kind == 4:
            text = text[:start]
        else:
            tokens = list(_TOKEN.finditer(text)) or [re.match("", text)]
            token, other = choice.choice(tokens), choice.choice(tokens)
            assert token is not None and other is not None
            word = choice.choice(JUNK) if kind == 5 else other.group()
            text = text[: token.start()] + word + text[token.end() :]
        text = text or " "
    return text


def fault_of(text: str) -> str:
    """What is wrong with how a program is treated; nothing if it is refused with its place, or works."""
    try:
        program = tw.alpha.load(text)
        if tw.alpha.load(str(program)) != program or tw.alpha.load(program.show()) != program:
            return "its text does not read back equal"
        for name in program:
            program[name]
    except tw.DeclarationError as error:
        return "" if "line" in error.details else f"no place: {error.message}"
    except Exception as error:  # whatever it is, it is not what people should see
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    count, first = (int(each) for each in [*sys.argv[1:], "1000", "0"][:2])
    results: Counter[str] = Counter()
    for seed in range(first, first + count):
        fault = fault_of(damaged(seed))
        results["faults" if fault else "as it should be"] += 1
        if fault:
            print(f"seed {seed}: {fault}")
    print(dict(results))
    sys.exit(bool(results["faults"]))


if __name__ == "__main__":
    main()
