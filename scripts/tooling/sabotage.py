"""Breaks one rule at a time and demands that the test which guards it turns red.

Works on copies of the checkout in build/sabotage, each with a build tree of its own that is kept, so that a mutation
costs the compilation of one file, the linking of one test binary and the run of one test.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tooling.processes import ROOT, Finished, run
from tooling.tally import Outcome, failed, passed

TABLE = ROOT / "tests" / "tooling" / "sabotage.toml"
HOME = ROOT / "build" / "sabotage"
LANES = 2
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


@dataclass(frozen=True)
class Lane:
    """A copy of the checkout and a build tree: what one mutation at a time happens in."""

    home: Path

    @property
    def tree(self) -> Path:
        return self.home / "tree"

    def prepare(self) -> str:
        """The copy, configured; what went wrong, or nothing."""
        self.tree.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            if (ROOT / name).is_dir():
                copy_changed(ROOT / name, self.tree / name)
            elif not (self.tree / name).exists() or (self.tree / name).read_bytes() != (ROOT / name).read_bytes():
                shutil.copyfile(ROOT / name, self.tree / name)
        options = ["-DM0_PYTHON=OFF", "-DM0_BENCHMARKS=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
        done = run(["cmake", "--preset", "release", "-S", self.tree, "-B", self.home / "build", *options], 120)
        return "" if done.code == 0 else done.output

    def build(self, binary: str) -> Finished:
        # What one lane has compiled the compiler's cache gives to the other.
        env = {"CCACHE_BASEDIR": str(self.home), "CCACHE_NOHASHDIR": "1"}
        return run(["ninja", "-C", self.home / "build", binary], 900, env)

    def run_case(self, mutation: Mutation) -> tuple[Finished, int, int]:
        """How it ended, how many cases ran, how many of them failed by an assertion."""
        found = list((self.home / "build").rglob(mutation.binary))
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "report.json"
            options = [f"--gtest_filter={mutation.case}", f"--gtest_output=json:{report}", "--gtest_brief=1"]
            done = run([found[0], *options], 120)
            counts = json.loads(report.read_text()) if report.exists() else {}
        return done, int(counts.get("tests", 0)), int(counts.get("failures", 0))

    def attempt(self, mutation: Mutation) -> Outcome:
        path = self.tree / mutation.file
        text = path.read_text() if path.exists() else ""
        if text.count(mutation.old) != 1:
            count = text.count(mutation.old)
            return failed(mutation.name, f"its line stands {count} times in {mutation.file}, not once")
        try:
            path.write_text(text.replace(mutation.old, mutation.new))
            built = self.build(mutation.binary)
            if built.code != 0:
                return failed(mutation.name, f"the mutation does not compile\n{built.output[-2000:]}")
            done, tests, failures = self.run_case(mutation)
        finally:
            path.write_text(text)
        if tests == 0:
            return failed(
                mutation.name, f"{mutation.test} does not exist or did not come to its end (exit code {done.code})"
            )
        if failures == 0:
            return failed(mutation.name, f"{mutation.test} stays green")
        return passed(mutation.name)

    def run_binary(self, binary: str, mutations: list[Mutation]) -> list[Outcome]:
        """All mutations that the tests of one binary guard against."""
        built = self.build(binary)
        if built.code != 0:
            return [failed(f"sabotage: {binary}", f"it does not build\n{built.output[-2000:]}")]
        outcomes: list[Outcome] = []
        # Green before, or red says nothing: all of them while nothing is broken.
        for mutation in mutations:
            done, tests, failures = self.run_case(mutation)
            if tests == 0 or failures or done.code != 0:
                detail = f"{mutation.test} is not green to begin with ({tests} cases ran)"
                outcomes.append(failed(mutation.name, detail))
        if outcomes:
            return outcomes
        for mutation in sorted(mutations, key=lambda each: each.file):
            outcome = self.attempt(mutation)
            outcomes.append(outcome)
            print(f"{outcome.name}: {'caught' if outcome.kind.value == 'passed' else outcome.detail}", flush=True)
        return outcomes


def run_all() -> list[Outcome]:
    """Side by side on two processors: a mutation costs one compilation, which is one process's work."""
    by_binary: dict[str, list[Mutation]] = {}
    for mutation in read_table(TABLE):
        by_binary.setdefault(mutation.binary, []).append(mutation)
    lanes = [Lane(HOME / str(number)) for number in range(min(LANES, len(by_binary)))]
    for lane in lanes:
        if problem := lane.prepare():
            return [failed("sabotage", f"the copy cannot be configured\n{problem}")]
    waiting = sorted(by_binary, key=lambda binary: len(by_binary[binary]), reverse=True)
    lock = threading.Lock()

    def work(lane: Lane) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while True:
            with lock:
                if not waiting:
                    return outcomes
                binary = waiting.pop(0)
            outcomes += lane.run_binary(binary, by_binary[binary])

    with ThreadPoolExecutor(len(lanes)) as pool:
        return [outcome for outcomes in pool.map(work, lanes) for outcome in outcomes]
