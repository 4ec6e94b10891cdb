"""Makes a page of what `scripts/bench` stored: a table a topic, losses in bold.

    python benchmarks/report.py                          # build/benchmarks/*.json, on screen
    python benchmarks/report.py FOLDER --write PAGE.md

Each line is a case: our least time, and how many times as long each peer took (below 1: it was
faster). Goals are those of the topic; a goal that was missed is said to be.
"""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness import OURS, Row, duration

__all__ = ["page"]

ROOT = pathlib.Path(__file__).resolve().parents[1]

HEAD = """\
# Measurements

Made by `python benchmarks/report.py` from what `scripts/bench` stored
([how it is measured](../benchmarks/README.md)): one machine, one day. Times are minima of
interleaved repeats. After each peer stands how many times as long as tilewright it took; in bold
where it was faster. "1.2 missed" is a goal for that ratio.
"""


def _machine(results: Iterable[Mapping[str, Any]]) -> str:
    machine = next(iter(results))["machine"]
    features = machine["features"]
    widest = next((f for f in ("avx512f", "avx2", "neon") if f in features), "")
    caches = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['cores']} cores of {machine['processor']} "
        f"(family, model, stepping {machine['family, model, stepping']}; {widest}), {caches}. "
        f"Python {machine['python']}, {versions}."
    )


def _peer(row: Row) -> str:
    if row.problem:
        return f"{row.contender}: {row.problem.splitlines()[0].split(':')[0]}"
    ratio = f"{row.ratio:.2f}" if row.ratio >= 0.1 else f"{row.ratio:.1g}"
    text = f"{row.contender} {f'**{ratio}**' if row.ratio < 1 else ratio}"
    return text if row.reached is not False else f"{text} ({row.goal:g} missed)"


def _lines(rows: Sequence[Row]) -> Iterable[str]:
    cases: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        cases.setdefault((row.case, row.threads), []).append(row)
    for (name, threads), of_case in cases.items():
        ours = next((row for row in of_case if row.contender == OURS), None)
        if ours is None or ours.problem:
            time = "none" if ours is None else ours.problem.splitlines()[0]
        else:
            time = duration(ours.minimum).strip()
            if ours.reached is not None:
                time += f" (at most {ours.goal:g} ms{'' if ours.reached else ' missed'})"
        peers = "; ".join(_peer(row) for row in of_case if row.contender != OURS)
        yield f"| {name} | {threads} | {time} | {peers} |".replace("  ", " ")


def _means(means: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """A line for each group: the geometric means of its ratios."""
    groups: dict[tuple[str, int], list[str]] = {}
    for mean in means:
        if mean["cases"] > 1:
            texts = groups.setdefault((mean["group"], mean["threads"]), [])
            texts.append(f"{mean['peer']} {mean['ratio']:.2f}")
    for (group, threads), texts in groups.items():
        yield f"- {group or 'all'}, {threads} thread{'s' if threads > 1 else ''}: {', '.join(texts)}"


def page(results: Sequence[Mapping[str, Any]]) -> str:
    """The page of some topics' results, as the runner stores them."""
    parts = [HEAD, _machine(results) + "\n"]
    for result in results:
        rows = [Row(**row) for row in result["rows"]]
        parts.append(f"## {result['title']}\n")
        clock = " Processor time." if result["clock"] == "cpu" else ""
        parts.append(f"`scripts/bench {result['topic']}`, {result['date']}.{clock}\n")
        parts.append("| case | threads | tilewright | peers |\n|---|---|---|---|")
        parts.append("\n".join(_lines(rows)) + "\n")
        means = "\n".join(_means(result["means"]))
        if means:
            parts.append(f"Geometric means of the ratios:\n\n{means}\n")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = ROOT / "build" / "benchmarks"
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=usual)
    parser.add_argument("--write", type=pathlib.Path, help="a file for the page")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.json"))
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    results = [result for result in stored if isinstance(result, dict) and "means" in result]
    if not results:
        parser.error(f"{options.folder} has no results of scripts/bench")
    text = page(results)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")
        print(f"written: {options.write}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
