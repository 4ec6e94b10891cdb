"""Deliberate breaks of the legality checker, some sixty; the unit tests and the fuzzer's judge must notice each.

    python tests/python/fuzz/mutations.py                 # all, by tests and fuzzer; minutes of building
    python tests/python/fuzz/mutations.py --only 3 7      # some
    python tests/python/fuzz/mutations.py --tests-only    # only the file that is broken and the tests are built anew

Works on a copy of the sources in a scratch folder with a build folder of its own. A break is noticed by the unit tests
when one of analysis or mapping fails, and by the fuzzer when it finds a verdict that is wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.broken_joins import JOINS
from fuzz.broken_windows import WINDOWS
from fuzz.data_mutations import DATA_MUTATIONS
from fuzz.fold_mutations import FOLD_MUTATIONS
from fuzz.view_mutations import VIEW_MUTATIONS

ROOT = Path(__file__).resolve().parents[3]
ORDER = "cpp/analysis/happens_before.cpp"
VALUES = "cpp/polyhedral/compare_values.cpp"
CHECKER = "cpp/analysis/legality_checker.cpp"
OVERWRITES = "cpp/analysis/legality_overwrites.cpp"
TERMS = "cpp/analysis/legality_reductions.cpp"
UNCHANGED = "cpp/analysis/unchanged.cpp"
ACCESSES = "cpp/mapping/accesses.cpp"
MAPPING = "cpp/mapping/mapping.cpp"
LOOPS = "cpp/mapping/loop_commands.cpp"
PROGRAM = "cpp/mapping/program.cpp"
STORAGE = "cpp/mapping/storage_commands.cpp"
REDUCTIONS = "cpp/algorithm/reductions.cpp"
FIXED = "cpp/algorithm/fixed_parameters.cpp"
WALK = "cpp/algorithm/instance_walk.cpp"


@dataclass
class Mutation:
    what: str
    file: str
    old: str  # any white space matches any white space
    new: str


MUTATIONS = [
    *(Mutation(*one) for one in WINDOWS),
    Mutation(
        "arguments of C unread", WALK, "default: for", "case ExprKind::Extern: break; default: for"
    ),
    Mutation(
        "scale delays a loop by its factor",
        LOOPS,
        'loop.value.scale(integer_value(factor)), "scale"',
        'loop.value.add_constant(integer_value(factor)), "scale"',
    ),
    Mutation(
        "a loop over a range with a step counts too far",
        MAPPING,
        "value.sub(*first).scale_down(step).floor()",
        "value.sub(*first).scale_down(step).floor().add(value.sub(*first))",
    ),
    Mutation(
        "reductions over ranges with a step take all values",
        "cpp/algorithm/affine_domain.cpp",
        "result = result.intersect(*steps);",
        "",
    ),
    Mutation(
        "elements of negative index are kept modulo the size of a fold plus one",
        ACCESSES,
        "index = isl_aff_mod_val(index, isl_val_int_from_si(isl_context().get(), static_cast<long>(size)));",
        "index = isl_aff_add_constant_si(isl_aff_mod_val(index, isl_val_int_from_si("
        "isl_context().get(), static_cast<long>(size + 1))), 0);",
    ),
    Mutation(
        "parallel loops are taken for ordered",
        MAPPING,
        "return tag == Tag::Parallel || tag == Tag::Vector || is_gpu(tag);",
        "return tag == Tag::Vector || is_gpu(tag);",
    ),
    Mutation(
        "vector loops are taken for ordered",
        MAPPING,
        "return tag == Tag::Parallel || tag == Tag::Vector || is_gpu(tag);",
        "return tag == Tag::Parallel || is_gpu(tag);",
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
        "equal loop values count as out of order",
        VALUES,
        "isl_aff_gt_basic_set, isl_pw_aff_gt_map",
        "isl_aff_ge_basic_set, isl_pw_aff_ge_map",
    ),
    Mutation(
        "loops are compared the wrong way round",
        VALUES,
        "isl_aff_gt_basic_set, isl_pw_aff_gt_map",
        "isl_aff_lt_basic_set, isl_pw_aff_lt_map",
    ),
    Mutation(
        "a shared static position counts as before",
        ORDER,
        "source.order[level] < sink.order[level]",
        "source.order[level] <= sink.order[level]",
    ),
    Mutation(
        "instances without a time are not looked for",
        "cpp/mapping/program.cpp",
        "require_total(statement);",
        "",
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
        "pairs = by_order.equal; } result",
        "} result",
    ),
    Mutation(
        "races of reductions are not looked for",
        TERMS,
        "if (violation_ || !terms_may_meet(update)) {",
        "if (!violation_) {",
    ),
    Mutation("folds in any order", PROGRAM, "= terms.ordered;", "= terms.states.size() == 1;"),
    Mutation(
        "parallel reductions do not race",
        ACCESSES,
        "if (is_concurrent(update.tags[level]) &&",
        "if (update.tags[level].tag == Tag::Vector &&",
    ),
    Mutation(
        "every reduction counts as atomic",
        TERMS,
        "(update.atomic && is_concurrent(tag));",
        "is_concurrent(tag.tag);",
    ),
    Mutation(
        "folded storage counts as storage of its own",
        CHECKER,
        'return checked(relation.is_injective(), "storage of a computation");',
        "return true;",
    ),
    Mutation(
        "a buffer of two computations counts as storage of its own",
        CHECKER,
        "if (owner != nullptr && owner != statement.computation.get()) { return false; }",
        "",
    ),
    Mutation(
        "an instance may not overwrite what it reads",
        OVERWRITES,
        "between = between.subtract(isl::map::identity(between.space()));",
        "",
    ),
    Mutation("a value is overwritten by itself", OVERWRITES, "pairs = pairs.subtract(same);", ""),
    Mutation(
        "outputs may be overwritten at the end",
        CHECKER,
        "for (const Statement *source : statements_of_[output.get()]) { if (!violation_) {",
        "for (const Statement *source : statements_of_[output.get()]) { if (false) {",
    ),
    Mutation(
        "only the first piece of a producer is asked about",
        CHECKER,
        "if (!violation_ && !is_settled(*source, sink)) {",
        "if (!violation_ && !is_settled(*source, sink) && source->piece == 0) {",
    ),
    Mutation(
        "reads that are not affine are trusted",
        CHECKER,
        "doubt_about(*source, sink, read));",
        'read.exact ? std::string() : std::string("x")); if (!read.exact) { violation_.reset(); }',
    ),
    Mutation(
        "only a producer itself overwrites its elements",
        CHECKER,
        "if (!violation_ && !outside(",
        "if (!violation_ && writer == &source && !outside(",
    ),
    Mutation(
        "what a command changed counts as unchanged",
        UNCHANGED,
        "return same_order(now.tags[level], then.tags[other]);",
        "return same_order(now.tags[level], now.tags[level]) || level == other;",
    ),
    Mutation(
        "a new order of statements counts as unchanged",
        UNCHANGED,
        "order_of(one, earlier_levels(one), other, earlier_levels(other));",
        "order_of(first, levels(first), second, levels(second)) || &one == &other;",
    ),
    Mutation(
        "a new place in memory counts as unchanged",
        UNCHANGED,
        "return is_same(now_.places.at(name).relation, before_->program.places.at(name).relation);",
        "return !name.empty();",
    ),
    Mutation(
        "concurrent loops are forgotten where other writes are in other iterations",
        OVERWRITES,
        "if (is_concurrent_at(level) && !have_equal_loops(others,",
        "if (is_concurrent_at(level) && others.is_null() && !have_equal_loops(others,",
    ),
    Mutation(
        "other writes in the same iteration are forgotten",
        OVERWRITES,
        "others = with_equal_loops(others, writer.loops[level], source.loops[level]);",
        "others = others.subtract(others);",
    ),
    Mutation(
        "each reader comes before the next write",
        OVERWRITES,
        'return not_before(program_, sink, source, checked(pairs, "writes to one element")).empty();',
        "return !pairs.is_null();",
    ),
    Mutation(
        "before the next write, whatever loops are concurrent",
        OVERWRITES,
        "if (is_concurrent(source.tags[level]) != is_concurrent(sink.tags[level])) { return false; }",
        "",
    ),
    Mutation(
        "a split keeps the order, whatever shares its loop",
        LOOPS,
        "position < static_cast<size_t>(placement.shared);",
        "position < static_cast<size_t>(placement.shared) && placement.shared < 0;",
    ),
    Mutation(
        "a split of a loop keeps the order, whatever its tag",
        LOOPS,
        "(tag == Tag::Sequential || tag == Tag::Unroll) &&",
        "tag >= Tag::Sequential &&",
    ),
    Mutation("a new tag leaves all loops ordered", UNCHANGED, "found.push_back(level);", ""),
    Mutation(
        "only the first of two statements may have new tags",
        UNCHANGED,
        "(is_new(first, *one, level) || is_new(second, *other, level))",
        "is_new(first, *one, level)",
    ),
    Mutation(
        "with new tags only later writes matter",
        ORDER,
        "(!forward && !is_empty(by_order.larger))",
        "(forward && !is_empty(by_order.larger))",
    ),
    # This one only makes questions of what had answers: no verdict shows it.
    Mutation(
        "with new tags, times that differ further out matter as well",
        ORDER,
        "pairs = by_order.equal; } else { pairs = with_equal_loops(pairs, one, other); }",
        "}",
    ),
    Mutation(
        "with new tags only the first new loop matters",
        ORDER,
        "pairs = by_order.equal; } else { pairs = with_equal_loops(pairs, one, other); }",
        "return false; } else { pairs = with_equal_loops(pairs, one, other); }",
    ),
    Mutation(
        "with new tags the writes among each other are forgotten",
        CHECKER,
        "known->second = levels && (levels->empty() ||",
        "known->second = levels && (true || levels->empty() ||",
    ),
    Mutation(
        "with new tags no reader meets a writer",
        CHECKER,
        "if (!levels->empty() && differ_first_at(",
        "if (levels->empty() && differ_first_at(",
    ),
    Mutation(
        "with new tags terms of a reduction never meet",
        TERMS,
        "if (!differ_first_at(*levels, update, update, pairs)) {",
        "if (!levels->empty() || !differ_first_at(*levels, update, update, pairs)) {",
    ),
    Mutation(
        "computations of explicit time have their loops for themselves",
        LOOPS,
        "[](const auto &entry) { return entry.second.explicit_time; }) == 1;",
        "[](const auto &entry) { return entry.second.explicit_time; }) > 0;",
    ),
    Mutation(
        "what is made of a reduction does not wait for its terms",
        TERMS,
        "if (source->role < sink.role && !violation_ && !is_settled(*source, sink)) {",
        "if (source->role < sink.role && sink.role != StatementRole::Finish && !violation_ && "
        "!is_settled(*source, sink)) {",
    ),
    Mutation(
        "readers do not wait for what is made of a reduction",
        CHECKER,
        "if (!violation_ && !is_settled(*source, sink)) {",
        "if (!violation_ && !is_settled(*source, sink) && source->role != StatementRole::Finish) {",
    ),
    Mutation(
        "what the expression around a reduction reads is forgotten",
        ACCESSES,
        "at.node->kind == ExprKind::Access && !is_accumulated(*at.node)",
        "at.node->kind == ExprKind::Access && statement_.role != StatementRole::Finish",
    ),
    Mutation(
        "what is made of a reduction has the loops outside of all terms only",
        PROGRAM,
        "if (d < prefix || !driven(map.dimensions[d])) {",
        "if (d < prefix || (role != StatementRole::Finish && !driven(map.dimensions[d]))) {",
    ),
    Mutation(
        "what is made of a reduction runs where the next computation begins",
        "cpp/mapping/program_builder.h",
        "return 3 * position + 1;",
        "return 2 * position + 1;",
    ),
    Mutation(
        "a reduction in a branch has loops of its own",
        REDUCTIONS,
        "return {node.operands.front()};",
        "return node.operands;",
    ),
    Mutation(
        "of several reductions the last one has loops of its own",
        REDUCTIONS,
        "parts.rbegin(), parts.rend()",
        "parts.begin(), parts.end()",
    ),
    Mutation(
        "a reduction of another type has loops of its own",
        REDUCTIONS,
        "node->type == computation.type || has_several_states(*node)",
        "node->type == computation.type || node->type != computation.type",
    ),
    Mutation(
        "inlining may put another reduction before the one that has loops",
        "cpp/mapping/rewrite_commands.cpp",
        "} else if (now.iterators != earlier.iterators) {",
        "} else if (now.iterators.size() < earlier.iterators.size()) {",
    ),
    Mutation(
        "what the expression around a reduction reads is computed for each term",
        "cpp/mapping/program_replicas.cpp",
        "bool inside = reader->loops.size() >= shared_;",
        "bool inside = reader->loops.size() >= shared_; if (reader->role == StatementRole::Finish) { continue; }",
    ),
    Mutation(
        "what is private to an iteration is read in another one",
        CHECKER,
        "check_private(source, sink, flow, doubt);",
        "",
    ),
    Mutation(
        "of what shares a private buffer, one may be read outside of its loop",
        "cpp/mapping/program_replicas.cpp",
        "= readers_of(program_.statements, *member);",
        "= member != members.front() ? std::vector<const Statement *>() : readers_of(program_.statements, *member);",
    ),
    Mutation(
        "a buffer in which store_in has put several may be private for one of them",
        "cpp/mapping/order_commands.cpp",
        "for (const std::string &each : names) {",
        "for (const std::string &each : std::vector<std::string>{name}) {",
    ),
    Mutation(
        "fixed parameters are not part of the context",
        FIXED,
        "result->context = checked(result->context.intersect(value_of(name, value)), doing_fixed_parameters);",
        "result->context = checked(result->context.coalesce(), doing_fixed_parameters);",
    ),
    Mutation(
        "expressions have a number beside the fixed one",
        FIXED,
        "constant(value->second, Int64)",
        "constant(value->second + 1, Int64)",
    ),
    Mutation(
        "a version runs for other parameters than those that it is made for",
        MAPPING,
        "all.push_back({std::move(version), variant.condition});",
        "all.push_back({std::move(version), variant.condition.complement()});",
    ),
    Mutation(
        "nobody asks whether the commands of a transaction are legal",
        "cpp/scheduling/scheduled_function.cpp",
        "change(legal_after(*current_, made->mapping.recorded_as(std::move(recorded)), made->command));",
        "change(State{made->mapping.recorded_as(std::move(recorded)), current_->digest, true, nullptr});",
    ),
    Mutation(
        "each command of a transaction begins where the transaction did",
        "cpp/scheduling/transaction.cpp",
        "Mapping next = now_->mapping.with(command);",
        "Mapping next = now_->levels.front().before.with(command);",
    ),
    Mutation(
        "a loop that a map keeps is the one that stood in its new place",
        "cpp/mapping/apply_schedule_command.cpp",
        "LoopDimension loop = kept[d] ? loops[*kept[d]] : LoopDimension{};",
        "LoopDimension loop = kept[d] ? loops[std::min(d, loops.size() - 1)] : LoopDimension{};",
    ),
    Mutation(
        "computations with maps of their own do not share a space",
        "cpp/mapping/set_schedule_command.cpp",
        "result.explicit_time = true;",
        "result.explicit_time = command.computation.empty();",
    ),
    Mutation(
        "a value lives on while what replaces it reads it",
        "cpp/analysis/storage_conflicts.cpp",
        "between = between.subtract(isl::map::identity(between.space()));",
        "",
    ),
    Mutation(
        "nobody else's reads keep a value alive",
        "cpp/analysis/storage_conflicts.cpp",
        "if (read.producer->name == question_.computation) {",
        "if (read.producer == sink.computation) {",
    ),
]
MUTATIONS += [Mutation(*one) for one in VIEW_MUTATIONS + DATA_MUTATIONS + FOLD_MUTATIONS + JOINS]


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
        # As in a checkout: ccache knows objects by the paths in their commands.
        self.sources, self.build, self.jobs = folder / "sources", folder / "sources/build", jobs
        wanted = [
            path
            for name in ("cpp", "cmake", "tests/cpp", "python")
            for path in sorted((ROOT / name).rglob("*"))
            if path.is_file() and path.suffix != ".so" and "__pycache__" not in path.parts
        ]
        names = ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "scripts/groups.py")
        wanted += [ROOT / name for name in names if (ROOT / name).exists()]
        copies = {self.sources / path.relative_to(ROOT): path for path in wanted}
        for copy in self.sources.rglob("*"):
            is_made = copy.suffix == ".so" or self.build in copy.parents
            if copy.is_file() and copy not in copies and not is_made:
                copy.unlink()
        for copy, path in copies.items():
            # Only what differs is written, and so built anew.
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
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
        for name in ("tw_test_analysis", "tw_test_mapping", "tw_test_algorithm"):
            self.make(name)
            found = next(self.build.rglob(name))
            done = subprocess.run([str(found)], capture_output=True, text=True)
            if done.returncode != 0:
                failed = re.findall(r"\[  FAILED  \] (\S+) \(", done.stdout)
                more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
                return f"{', '.join(failed[:3]) or 'it ends early'}{more}"
        return None

    def fuzzer_fails(self, cases: int) -> str | None:
        self.make("_core")
        environment = {**os.environ, "PYTHONPATH": str(self.sources / "python")}
        tests = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        tests += ["-o", f"pythonpath={self.sources / 'python'}"]
        files = "fuzz mended partial chains ordered_folds blocks several_times until_programs joins".split()
        given = [f"test_{name}.py" for name in files]
        tests += [
            *(str(ROOT / "tests/python/fuzz" / name) for name in given),
            "-k",
            "library or mended",
        ]
        ended = subprocess.run(tests, capture_output=True, text=True, env=environment, cwd=ROOT)
        if ended.returncode != 0:
            failed = re.findall(r"^FAILED \S+::(\S+)", ended.stdout, re.MULTILINE)
            return f"in the given case {failed[0] if failed else 'of them, which end early'}"
        script = ROOT / "tests/python/fuzz/run.py"
        command = [sys.executable, str(script), "--no-compile", "--stop", "--seed", "mutation"]
        command += f"--cases {cases} --jobs {self.jobs} --shrink 0 --shown 0".split()
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        ran = re.search(r"^(\d+) cases \(", done.stdout, re.MULTILINE)
        kinds = re.findall(r"\d+  FAILED: (.+)", done.stdout)
        if not ran:
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
        return f"{', '.join(kinds)} after {ran.group(1)} cases" if kinds else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=int, nargs="*", help="numbers of mutations, from 1")
    parser.add_argument("--cases", type=int, default=4000, help="cases of the fuzzer for each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--scratch", type=Path, default=Path(tempfile.gettempdir()) / "tilewright-mutations"
    )
    parser.add_argument("--tests-only", action="store_true", help="asks the unit tests alone")
    parser.add_argument("--fuzzer-only", action="store_true", help="asks the fuzzer alone")
    options = parser.parse_args()
    chosen = [
        (number, mutation)
        for number, mutation in enumerate(MUTATIONS, 1)
        if not options.only or number in options.only
    ]
    for _, mutation in chosen:
        applied(mutation, (ROOT / mutation.file).read_text())  # all fit, before anything is built
    scratch = Scratch(options.scratch, options.jobs)
    asked = {}
    if not options.fuzzer_only:
        asked["unit tests"] = scratch.tests_fail
    if not options.tests_only:
        asked["fuzzer"] = lambda: scratch.fuzzer_fails(options.cases)
    for who, ask in asked.items():
        problem = ask()
        if problem:
            print(f"without a mutation, the {who} find: {problem}")
            return 1
    missed: dict[str, list[int]] = {who: [] for who in asked}
    for number, mutation in chosen:
        file = scratch.sources / mutation.file
        original = file.read_text()
        file.write_text(applied(mutation, original))
        print(f"{number:2d}  {mutation.what}", flush=True)
        try:
            for who, ask in asked.items():
                noticed = ask()
                print(f"    {who}: {noticed or 'NOT NOTICED'}", flush=True)
                if not noticed:
                    missed[who].append(number)
        finally:
            file.write_text(original)
    for who, numbers in missed.items():
        names = f" (not {', '.join(map(str, numbers))})" if numbers else ""
        print(f"{who}: {len(chosen) - len(numbers)} of {len(chosen)} noticed{names}")
    return 1 if any(missed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
