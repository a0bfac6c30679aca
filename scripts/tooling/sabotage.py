"""Breaks one rule at a time and demands that the test which guards it turns red.

Works on a copy of the checkout in build/sabotage with a build tree of its own that is kept, so that a mutation costs the
compilation of one file, the linking of one test binary and the run of one test.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tooling.processes import ROOT, Finished, run
from tooling.tally import Outcome, failed, passed

TABLE = ROOT / "tests" / "tooling" / "sabotage.toml"
HOME = ROOT / "build" / "sabotage"
COPIED = ("src", "include", "cmake", "CMakeLists.txt", "CMakePresets.json")


@dataclass(frozen=True)
class Mutation:
    rule: str
    file: str
    old: str
    new: str
    test: str  # BINARY:SUITE.CASE

    @property
    def name(self) -> str:
        return f"sabotage: {self.rule}"

    @property
    def binary(self) -> str:
        return self.test.partition(":")[0]

    @property
    def case(self) -> str:
        return self.test.partition(":")[2]


def read_table(path: Path) -> list[Mutation]:
    return [Mutation(**entry) for entry in tomllib.loads(path.read_text())["mutation"]]


def copy_changed(source: Path, target: Path) -> None:
    """Copies what differs and removes what is gone, keeping the times of the rest: the build tree stays warm."""
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()} if source.is_dir() else set()
    for path in wanted:
        here, there = source / path, target / path
        if not there.exists() or there.read_bytes() != here.read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(here, there)
    for path in list(target.rglob("*")):
        if path.is_file() and path.relative_to(target) not in wanted:
            path.unlink()


def prepare() -> str:
    """The copy, configured; what went wrong, or nothing."""
    tree = HOME / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            copy_changed(ROOT / name, tree / name)
        elif not (tree / name).exists() or (tree / name).read_bytes() != (ROOT / name).read_bytes():
            shutil.copyfile(ROOT / name, tree / name)
    options = ["-DM0_PYTHON=OFF", "-DM0_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    done = run(["cmake", "--preset", "release", "-S", tree, "-B", HOME / "build", *options], 120)
    return "" if done.code == 0 else done.output


def build(binary: str) -> Finished:
    return run(["ninja", "-C", HOME / "build", binary], 600)


def run_case(mutation: Mutation) -> tuple[Finished, int, int]:
    """How it ended, how many cases ran, how many of them failed by an assertion."""
    found = list((HOME / "build").rglob(mutation.binary))
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        options = [f"--gtest_filter={mutation.case}", f"--gtest_output=json:{report}", "--gtest_brief=1"]
        done = run([found[0], *options], 120)
        counts = json.loads(report.read_text()) if report.exists() else {}
    return done, int(counts.get("tests", 0)), int(counts.get("failures", 0))


def attempt(mutation: Mutation) -> Outcome:
    path = HOME / "tree" / mutation.file
    text = path.read_text() if path.exists() else ""
    if text.count(mutation.old) != 1:
        return failed(mutation.name, f"its line stands {text.count(mutation.old)} times in {mutation.file}, not once")
    try:
        path.write_text(text.replace(mutation.old, mutation.new))
        built = build(mutation.binary)
        if built.code != 0:
            return failed(mutation.name, f"the mutation does not compile\n{built.output[-2000:]}")
        done, tests, failures = run_case(mutation)
    finally:
        path.write_text(text)
    if tests == 0:
        return failed(
            mutation.name, f"{mutation.test} does not exist or did not come to its end (exit code {done.code})"
        )
    if failures == 0:
        return failed(mutation.name, f"{mutation.test} stays green")
    return passed(mutation.name)


def run_all() -> list[Outcome]:
    mutations = read_table(TABLE)
    problem = prepare()
    if problem:
        return [failed("sabotage", f"the copy cannot be configured\n{problem}")]
    outcomes: list[Outcome] = []
    healthy: dict[str, bool] = {}
    for mutation in sorted(mutations, key=lambda mutation: (mutation.binary, mutation.file)):
        if mutation.binary not in healthy:
            built = build(mutation.binary)
            healthy[mutation.binary] = built.code == 0
            if built.code != 0:
                outcomes.append(failed(f"sabotage: {mutation.binary}", f"it does not build\n{built.output[-2000:]}"))
        if not healthy[mutation.binary]:
            continue
        # Green before, or red says nothing.
        done, tests, failures = run_case(mutation)
        if tests == 0 or failures or done.code != 0:
            outcomes.append(failed(mutation.name, f"{mutation.test} is not green to begin with ({tests} cases ran)"))
            continue
        outcome = attempt(mutation)
        build(mutation.binary)
        outcomes.append(outcome)
        print(f"{outcome.name}: {'caught' if outcome.kind.value == 'passed' else outcome.detail}", flush=True)
    return outcomes
