"""The fuzzer: random programs under random commands, judged, compiled and compared.

    scripts/fuzz --minutes 10 --seed 7          # until the time is over; prints statistics
    scripts/fuzz --cases 100000 --no-compile    # verdicts only
    scripts/fuzz --seed 7 --start 5000 --cases 5000 --jobs 2 --report summary.txt
    scripts/fuzz --seed 7 --case 123            # one case again, with what it is
    scripts/fuzz --replay failure.json          # a stored one
    scripts/fuzz --cases 500 --c                # also as C source, compiled by gcc
    scripts/fuzz --cases 500 --seed auto-7      # each scheduled by auto_schedule
    scripts/fuzz --cases 500 --seed gpu-emulator-7    # each mapped to a GPU by it; cuda-7 for a real one

Cases run in child processes: one that dies is a failed case, not the end. Failures are shrunk and stored as JSON.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

# Small loops run on threads, too.
os.environ["TILEWRIGHT_LEAST_PARALLEL_WORK"] = "0"
# Threads of C source that wait for work leave the processor to others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

Case = dict[str, Any]
CHECKOUT = Path(__file__).resolve().parents[3]
#: A case is given up after so many seconds of the processor, whoever else is busy on the machine.
CASE_SECONDS = 60.0
#: And after so many of the clock, if it waits for something that never comes.
WAITED_SECONDS = 600.0
#: How often that is asked.
ASKED_SECONDS = 0.1


def processor_seconds(process: int) -> float:
    """What a process has used; 0 where the system does not say so as Linux does."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except OSError:
        return 0.0
    user, system = fields.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def outcome_of(case: Case, compiled: bool, c_compiler: str) -> dict[str, Any]:
    """Runs a case in this process: {"statistics"} or {"kind", "message", "commands"}."""
    from fuzz.cases import Failure, run_case

    try:
        return {"statistics": run_case(case, compiled, c_compiler)}
    except Failure as failure:
        return {"kind": failure.kind, "message": str(failure), "commands": failure.commands}
    except Exception as error:
        text = traceback.format_exc(limit=-6).replace(f"{CHECKOUT}/", "")
        return {
            "kind": f"exception {type(error).__name__}",
            "message": text,
            "commands": case["commands"],
        }


def worker(connection: Connection, compiled: bool, c_compiler: str) -> None:
    """Answers until the pipe closes: a case or its seed is run; ("commands", case) and ("text", case) tell about it."""
    from fuzz.cases import draw_case, drawn_commands

    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if isinstance(request, tuple):
            what, case = request
            told = drawn_commands(case) if what == "commands" else described(case)
            connection.send({"told": told})
        else:
            case = draw_case(request) if isinstance(request, str) else request
            connection.send(outcome_of(case, compiled, c_compiler))


class Child:
    """A worker process that is replaced when it dies or hangs."""

    def __init__(self, compiled: bool, c_compiler: str = "") -> None:
        self.compiled = compiled
        self.c_compiler = c_compiler
        self.request: Any = None
        self.since = self.used = 0.0
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (theirs, self.compiled, self.c_compiler)
        self.process = context.Process(target=worker, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def give(self, request: Any) -> None:
        self.request, self.since = request, time.monotonic()
        self.used = processor_seconds(self.process.pid or 0)
        self.connection.send(request)

    def is_late(self) -> bool:
        used = processor_seconds(self.process.pid or 0) - self.used
        return used > CASE_SECONDS or time.monotonic() - self.since > WAITED_SECONDS

    def answer(self) -> dict[str, Any]:
        """The outcome, once the connection is readable or time is over."""
        try:
            while not self.connection.poll(ASKED_SECONDS):
                if self.is_late():
                    break
            else:
                result: dict[str, Any] = self.connection.recv()
                return result
            outcome = {
                "kind": "hang",
                "message": f"no answer in {CASE_SECONDS:.0f} s of the processor",
                "commands": None,
            }
        except (EOFError, OSError):
            self.process.join()
            outcome = {
                "kind": "crash",
                "message": f"the process ended with code {self.process.exitcode}",
                "commands": None,
            }
        self.stop()
        self.start()
        return outcome

    def ask(self, request: Any) -> dict[str, Any]:
        self.give(request)
        return self.answer()

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


# ---- shrinking ----


def smaller(case: Case) -> Any:
    """Cases that are simpler by one step."""
    from fuzz.programs import names_read, pruned, self_reads

    commands = case["commands"]
    for k in range(len(commands)):
        yield {**case, "commands": commands[:k] + commands[k + 1 :]}
        computation, name, arguments = commands[k]
        if name in ("transaction", "abandoned"):
            for part in range(len(arguments)):
                rest = [computation, name, arguments[:part] + arguments[part + 1 :]]
                yield {**case, "commands": [*commands[:k], rest, *commands[k + 1 :]]}
    program = case["program"]
    for k, computation in enumerate(program["computations"]):
        one = copy.deepcopy(program)
        name = computation["name"]
        if any(name in names_read(c) for c in one["computations"] if c["name"] != name):
            continue
        del one["computations"][k]
        one["outputs"] = [o for o in one["outputs"] if o != name]
        used = set(one["outputs"]) | {n for c in one["computations"] for n in names_read(c)}
        one["outputs"].extend(c["name"] for c in one["computations"] if c["name"] not in used)
        if one["outputs"] and one["computations"]:
            kept = [c for c in commands if name not in (c[0], *c[2][:1])]
            yield {**case, "program": pruned(one), "commands": kept}
    for k in range(len(case["sizes"])):
        if len(case["sizes"]) > 1:
            yield {**case, "sizes": case["sizes"][:k] + case["sizes"][k + 1 :]}
    for k, sizes in enumerate(case["sizes"]):
        for d, size in enumerate(sizes):
            if size > 0:
                less = (*sizes[:d], size - 1, *sizes[d + 1 :])
                yield {**case, "sizes": [*case["sizes"][:k], less, *case["sizes"][k + 1 :]]}
    for k, computation in enumerate(program["computations"]):
        for p, (condition, value) in enumerate(computation["pieces"]):
            for simpler in simpler_values(value):
                if self_reads(value, computation["name"]) and not self_reads(
                    simpler, computation["name"]
                ):
                    continue
                one = copy.deepcopy(program)
                one["computations"][k]["pieces"][p] = [condition, simpler]
                if simpler[0] != "choose":  # what data decided about is there for certain now
                    one["computations"][k].pop("partial", None)
                yield {**case, "program": pruned(one)}


def simpler_values(value: list[Any]) -> Any:
    from fuzz.programs import OPERATIONS

    children = [
        k
        for k, c in enumerate(value)
        if k and isinstance(c, list) and c and isinstance(c[0], str) and c[0] in OPERATIONS
    ]
    if value[0] == "guard":
        yield value[3]
    if value[0] == "while":
        yield value[1]
    if value[0] in ("add", "sub", "mul", "min", "max", "neg", "choose", "call"):
        for k in children:
            yield value[k]
    if value[0] == "read":
        yield ["const", 1]
        return
    for k in children:
        for inner in simpler_values(value[k]):
            yield [*value[:k], inner, *value[k + 1 :]]


def shrink(child: Child, case: Case, kind: str, seconds: float) -> Case:
    """The simplest case found that still fails in the same way."""
    end = time.monotonic() + seconds
    progress = case["commands"] is not None
    while progress and time.monotonic() < end:
        progress = False
        for candidate in smaller(case):
            if time.monotonic() > end:
                break
            try:
                outcome = child.ask(candidate)
            except (KeyError, IndexError):
                continue
            if outcome.get("kind") == kind:
                case = {**candidate, "commands": outcome["commands"] or candidate["commands"]}
                progress = True
                break
    return case


def drawn(seed: str) -> Case:
    from fuzz.cases import draw_case

    return draw_case(seed)


def with_commands(child: Child, case: Case, outcome: dict[str, Any]) -> Case:
    """The commands that were given when the case failed; after a crash, those that a run without compiling gives."""
    commands = outcome["commands"]
    if commands is None:
        commands = child.ask(("commands", case)).get("told")
    return {**case, "commands": commands}


# ---- the loop ----


class Fuzzer:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.statistics: Counter[str] = Counter()
        self.failures: list[dict[str, Any]] = []
        self.kinds: Counter[str] = Counter()

    def run(self) -> int:
        options = self.options
        children = [Child(not options.no_compile, options.c) for _ in range(options.jobs)]
        begin = last = time.monotonic()
        following = options.start

        def give(child: Child) -> bool:
            nonlocal following
            if options.stop and self.failures:
                child.request = None
                return False
            over = time.monotonic() - begin > options.minutes * 60 if options.minutes else False
            if over or (options.cases and following >= options.start + options.cases):
                child.request = None
                return False
            child.give(f"{options.seed}:{following}")
            following += 1
            return True

        busy = [child for child in children if give(child)]
        try:
            while busy:
                ready = wait([child.connection for child in busy], timeout=1.0)
                for child in list(busy):
                    if child.connection in ready or child.is_late():
                        self.take(child, child.answer())
                        if not give(child):
                            busy.remove(child)
                if time.monotonic() - last > 60:
                    last = time.monotonic()
                    print(
                        f"{self.statistics['cases']} cases, {len(self.failures)} failures",
                        flush=True,
                    )
        except KeyboardInterrupt:
            print("interrupted")
        finally:
            for child in children:
                child.stop()
        self.report(time.monotonic() - begin)
        return 1 if self.failures else 0

    def take(self, child: Child, outcome: dict[str, Any]) -> None:
        if "statistics" in outcome:
            self.statistics.update(outcome["statistics"])
            return
        self.statistics["cases"] += 1
        self.kinds[outcome["kind"]] += 1
        seed = child.request
        print(
            f"\nFAILED: scripts/fuzz --seed {seed.split(':')[0]} --case {seed.split(':')[1]}",
            flush=True,
        )
        if self.kinds[outcome["kind"]] > self.options.shown:
            print(outcome["message"].splitlines()[0])
            self.failures.append({"seed": seed, **outcome})
            return
        case = with_commands(child, drawn(seed), outcome)
        case = shrink(child, case, outcome["kind"], self.options.shrink)
        final = child.ask(case)
        outcome = final if final.get("kind") == outcome["kind"] else outcome
        path = store(case, outcome, seed)
        text = child.ask(("text", case)).get("told", "")
        print(f"{outcome['message']}\n  shrunk: scripts/fuzz --replay {path}\n{text}", flush=True)
        self.failures.append({"seed": seed, **outcome})

    def report(self, seconds: float) -> None:
        text = "\n".join(self.summary(seconds))
        print("\n" + text)
        if self.options.report:
            self.options.report.write_text(text + "\n")

    def summary(self, seconds: float) -> list[str]:
        """What was run and what came out: verdicts in pairs (library / judge), commands by name."""
        options, count = self.options, self.statistics["cases"]
        what = "verdicts only" if options.no_compile else "compiled and compared with the evaluator"
        what += f", and as C source by {options.c}" if options.c else ""
        jobs = f"{options.jobs} process{'es' if options.jobs > 1 else ''}"
        lines = [
            f"tilewright {library_version()}",
            f"{count} cases ({what}), seed {options.seed}, from case {options.start}",
            f"{seconds:.0f} s with {jobs}, {1000 * seconds * options.jobs / max(count, 1):.1f} ms a case",
            f"{sum(self.kinds.values())} failures",
        ]
        lines += [f"{count:9d}  FAILED: {name}" for name, count in self.kinds.items()]
        groups: dict[str, list[str]] = {}
        for name, count in sorted(self.statistics.items()):
            group = next((g for g in GROUPS if name.startswith(g)), "cases and calls")
            groups.setdefault(group, []).append(f"{count:9d}  {name}")
        for group in ("cases and calls", *GROUPS):
            if group in groups:
                total = sum(int(line.split()[0]) for line in groups[group])
                title = group.strip(" :(")
                lines += ["", title if group == "cases and calls" else f"{title}: {total}"]
                lines += groups[group]
        return lines


#: How the lines of a summary begin that belong together.
GROUPS = ("verdicts: ", "not judged (", "legal: ", "refused: ", "without sense: ")


def library_version() -> str:
    import tilewright as tw
    from tilewright import _core

    build = getattr(_core, "build_identity", None)
    return f"{tw.__version__} {build() if callable(build) else ''}".strip()


def store(case: Case, outcome: dict[str, Any], seed: str) -> Path:
    folder = Path(tempfile.gettempdir()) / "tilewright-fuzz"
    folder.mkdir(exist_ok=True)
    path = folder / f"{seed.replace(':', '-')}.json"
    path.write_text(
        json.dumps({**case, "kind": outcome["kind"], "message": outcome["message"]}, indent=1)
    )
    return path


def described(case: Case) -> str:
    """The program as tilewright prints it, the commands and sizes."""
    from fuzz.programs import Declaration

    try:
        text = str(Declaration(case["program"]).function.layers)
    except Exception as error:
        text = f"({error})"
    commands = "\n".join(
        f"  {c[0]}.{c[1]}({', '.join(map(repr, c[2]))})" for c in case["commands"] or []
    )
    return f"{text}\n{commands}\n  sizes (N, M, K): {case['sizes']}"


def replay(case: Case, compiled: bool, c_compiler: str) -> int:
    case["sizes"] = [tuple(s) for s in case["sizes"]]
    child = Child(compiled, c_compiler)
    outcome = child.ask(case)
    if case["commands"] is None and "commands" in outcome:
        case = with_commands(child, case, outcome)
    print(child.ask(("text", case)).get("told", ""))
    child.stop()
    print(outcome.get("message") or json.dumps(outcome["statistics"], indent=1))
    return 0 if "statistics" in outcome else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, help="how long (1, unless --cases is given)")
    parser.add_argument("--cases", type=int, help="how many cases")
    parser.add_argument(
        "--seed", default=str(int(time.time())), help="printed, so that a run can be repeated"
    )
    parser.add_argument("--start", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="runs this case alone")
    parser.add_argument("--replay", type=Path, help="runs a stored case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--no-compile", action="store_true", help="verdicts only")
    parser.add_argument(
        "--c",
        metavar="COMPILER",
        nargs="?",
        const="gcc",
        default="",
        help="compiles the C source of each case, too (gcc), and compares its bits",
    )
    parser.add_argument("--stop", action="store_true", help="ends at the first failure")
    parser.add_argument("--report", type=Path, help="writes the summary to this file as well")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to shrink a failure")
    parser.add_argument(
        "--shown", type=int, default=5, help="failures of one kind that are shrunk and shown"
    )
    options = parser.parse_args()
    if options.minutes is None and options.cases is None:
        options.minutes = 1.0
    if options.replay:
        return replay(json.loads(options.replay.read_text()), not options.no_compile, options.c)
    if options.case is not None:
        return replay(drawn(f"{options.seed}:{options.case}"), not options.no_compile, options.c)
    return Fuzzer(options).run()


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent)
    sys.exit(main())
