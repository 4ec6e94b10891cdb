"""Twenty deliberate breaks of the legality checker; the unit tests or the fuzzer's judge must notice each.

    python tests/python/fuzz/mutations.py                 # all; minutes of building
    python tests/python/fuzz/mutations.py --only 3 7      # some

Works on a copy of the sources in a scratch folder. A break is noticed when a test of mapping or analysis fails, or,
where all pass, when the fuzzer finds a verdict that is wrong. What the copy is built of is not changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ORDER = "cpp/analysis/happens_before.cpp"
LEGALITY = "cpp/analysis/legality.cpp"
ACCESSES = "cpp/mapping/accesses.cpp"


@dataclass
class Mutation:
    what: str
    file: str
    old: str  # any white space matches any white space
    new: str


MUTATIONS = [
    Mutation(
        "parallel loops are taken for ordered",
        ORDER,
        "return tag.tag == Tag::Parallel || tag.tag == Tag::Vector;",
        "return tag.tag == Tag::Vector;",
    ),
    Mutation(
        "vector loops are taken for ordered",
        ORDER,
        "return tag.tag == Tag::Parallel || tag.tag == Tag::Vector;",
        "return tag.tag == Tag::Parallel;",
    ),
    Mutation(
        "a loop is concurrent only where both statements say so",
        ORDER,
        "is_concurrent(source.tags[level]) || is_concurrent(sink.tags[level])",
        "is_concurrent(source.tags[level]) && is_concurrent(sink.tags[level])",
    ),
    Mutation(
        "only the source's tag counts",
        ORDER,
        "is_concurrent(source.tags[level]) || is_concurrent(sink.tags[level])",
        "is_concurrent(source.tags[level])",
    ),
    Mutation(
        "equal loop values count as out of order", ORDER, "isl_pw_aff_gt_map(", "isl_pw_aff_ge_map("
    ),
    Mutation(
        "loops are compared the wrong way round", ORDER, "isl_pw_aff_gt_map(", "isl_pw_aff_lt_map("
    ),
    Mutation(
        "a shared static position counts as before",
        ORDER,
        "source.order[level] < sink.order[level]",
        "source.order[level] <= sink.order[level]",
    ),
    Mutation(
        "a wrong static order is forgotten",
        ORDER,
        "result.push_back({pairs, static_cast<int>(level), true, false});",
        "",
    ),
    Mutation(
        "instances at the same time count as ordered",
        ORDER,
        "result.push_back({pairs, static_cast<int>(depth), false, false});",
        "",
    ),
    Mutation(
        "outer loops do not decide before inner ones",
        ORDER,
        "pairs = pairs.intersect(isl::manage(isl_pw_aff_eq_map(first.copy(), second.copy())));",
        "",
    ),
    Mutation(
        "races of reductions are not looked for",
        LEGALITY,
        "if (violation_ || !concurrent) {",
        "if (!violation_) {",
    ),
    Mutation(
        "parallel reductions do not race",
        LEGALITY,
        "update.tags[level].tag == Tag::Parallel || update.tags[level].tag == Tag::Vector;",
        "update.tags[level].tag == Tag::Vector;",
    ),
    Mutation(
        "folded storage counts as storage of its own",
        LEGALITY,
        'return checked(relation.is_injective(), "storage of a computation");',
        "return true;",
    ),
    Mutation(
        "a buffer of two computations counts as storage of its own",
        LEGALITY,
        "if (owner != nullptr && owner != statement.computation.get()) { return false; }",
        "",
    ),
    Mutation(
        "an instance may not overwrite what it reads",
        LEGALITY,
        "between = between.subtract(isl::map::identity(between.space()));",
        "",
    ),
    Mutation("a value is overwritten by itself", LEGALITY, "pairs = pairs.subtract(same);", ""),
    Mutation(
        "outputs may be overwritten at the end",
        LEGALITY,
        "if (writer.buffer != source.buffer || violation_) {",
        "if (true) {",
    ),
    Mutation(
        "only the first piece of a producer is asked about",
        LEGALITY,
        "if (source.computation != read.producer || violation_) {",
        "if (source.computation != read.producer || violation_ || source.piece > 0) {",
    ),
    Mutation(
        "reads that are not affine are trusted",
        LEGALITY,
        "check_flow(source, sink, flow_relation(source, sink, read.relation), read.exact);",
        "if (read.exact) { check_flow(source, sink, flow_relation(source, sink, read.relation), true); }",
    ),
    Mutation(
        "only a producer itself overwrites its elements",
        LEGALITY,
        "if (writer.buffer == source.buffer && !violation_) {",
        "if (&writer == &source && !violation_) {",
    ),
]


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


def applied(mutation: Mutation, source: str) -> str:
    changed, count = pattern(mutation.old).subn(lambda _: mutation.new, source)
    if count != 1:
        raise SystemExit(
            f"'{mutation.what}': its text stands {count} times in {mutation.file}; bring it up to date"
        )
    return changed


class Scratch:
    """A copy of the sources with a build folder of its own."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.sources, self.build, self.jobs = folder / "sources", folder / "build", jobs
        if self.sources.exists():
            shutil.rmtree(self.sources)
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        for name in ("cpp", "cmake", "tests/cpp", "python"):
            shutil.copytree(ROOT / name, self.sources / name, ignore=ignored)
        for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
            if (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.sources / name)
        command = ["cmake", "-S", str(self.sources), "-B", str(self.build), "-G", "Ninja"]
        subprocess.run(
            [*command, f"-DPython_EXECUTABLE={sys.executable}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def make(self, *targets: str) -> None:
        command = ["ninja", "-C", str(self.build), f"-j{self.jobs}", *targets]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stdout[-4000:])

    def tests_fail(self) -> str | None:
        self.make("tw_test_mapping", "tw_test_analysis")
        for name in ("tw_test_mapping", "tw_test_analysis"):
            found = next(self.build.rglob(name))
            done = subprocess.run([str(found)], capture_output=True, text=True)
            if done.returncode != 0:
                failed = re.findall(r"\[  FAILED  \] (\S+) \(", done.stdout)
                return f"unit tests: {', '.join(failed[:3])}" + (
                    f" and {len(failed) - 3} more" if len(failed) > 3 else ""
                )
        return None

    def fuzzer_fails(self, cases: int) -> str | None:
        self.make("_core")
        environment = {**os.environ, "PYTHONPATH": str(self.sources / "python")}
        script = ROOT / "tests/python/fuzz/run.py"
        command = [
            sys.executable,
            str(script),
            "--no-compile",
            "--cases",
            str(cases),
            "--seed",
            "mutation",
        ]
        command += ["--shrink", "0", "--shown", "0", "--jobs", str(self.jobs)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        kinds = re.findall(r"(\d+)  FAILED: (.+)", done.stdout)
        return (
            None
            if done.returncode == 0
            else "fuzzer: " + ", ".join(f"{count} {kind}" for count, kind in kinds)
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=int, nargs="*", help="numbers of mutations, from 1")
    parser.add_argument(
        "--cases", type=int, default=600, help="cases of the fuzzer for each that the tests pass"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--scratch", type=Path, default=Path(tempfile.gettempdir()) / "tilewright-mutations"
    )
    parser.add_argument("--tests-only", action="store_true", help="asks the unit tests alone")
    parser.add_argument("--fuzzer-only", action="store_true", help="asks the fuzzer alone")
    options = parser.parse_args()
    scratch = Scratch(options.scratch, options.jobs)
    problem = scratch.tests_fail()
    if problem:
        print(f"the tests fail without a mutation: {problem}")
        return 1
    missed = 0
    for number, mutation in enumerate(MUTATIONS, 1):
        if options.only and number not in options.only:
            continue
        file = scratch.sources / mutation.file
        original = file.read_text()
        file.write_text(applied(mutation, original))
        try:
            noticed = None if options.fuzzer_only else scratch.tests_fail()
            if not noticed and not options.tests_only:
                noticed = scratch.fuzzer_fails(options.cases)
        finally:
            file.write_text(original)
        print(f"{number:2d}  {mutation.what}: {noticed or 'NOT NOTICED'}", flush=True)
        missed += noticed is None
    print(f"{missed} not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
