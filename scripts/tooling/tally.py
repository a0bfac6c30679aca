"""Outcomes of tests, their sum, and which skips are allowed."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path


class Kind(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Outcome:
    name: str
    kind: Kind
    detail: str = ""


def passed(name: str) -> Outcome:
    return Outcome(name, Kind.PASSED)


def failed(name: str, detail: str) -> Outcome:
    return Outcome(name, Kind.FAILED, detail)


def skipped(name: str, reason: str) -> Outcome:
    return Outcome(name, Kind.SKIPPED, reason)


def read_allowed_skips(path: Path) -> dict[str, str]:
    """Lines of `name-or-pattern: reason`. A line without a reason allows nothing and is an error."""
    allowed: dict[str, str] = {}
    if not path.exists():
        return allowed
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        pattern, separator, reason = line.rpartition(": ")
        if not separator or not reason.strip():
            raise ValueError(f"{path}:{number}: an allowed skip needs a reason, 'NAME: REASON'")
        allowed[pattern.strip()] = reason.strip()
    return allowed


@dataclass
class Tally:
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcomes: list[Outcome]) -> None:
        self.outcomes.extend(outcomes)

    def refuse_skips(self, allowed: dict[str, str]) -> None:
        """Turns every skip that nothing allows into a failure."""
        for index, outcome in enumerate(self.outcomes):
            if outcome.kind is Kind.SKIPPED and not any(fnmatchcase(outcome.name, pattern) for pattern in allowed):
                self.outcomes[index] = failed(outcome.name, f"skipped without leave: {outcome.detail}")

    def count(self, kind: Kind) -> int:
        return sum(outcome.kind is kind for outcome in self.outcomes)

    def line(self) -> str:
        return closing_line(self.count(Kind.PASSED), self.count(Kind.FAILED), self.count(Kind.SKIPPED))

    def report(self) -> int:
        """Names what did not pass, prints the closing line last, returns the exit code."""
        for outcome in self.outcomes:
            if outcome.kind is Kind.SKIPPED:
                print(f"SKIPPED {outcome.name}: {first_line(outcome.detail)}")
        for outcome in self.outcomes:
            if outcome.kind is Kind.FAILED:
                print(f"FAILED {outcome.name}: {first_line(outcome.detail)}")
        if not self.outcomes:
            print("no test was run")
        print(self.line())
        sys.stdout.flush()
        return 1 if self.count(Kind.FAILED) or not self.outcomes else 0

    def write_counts(self, path: Path) -> None:
        path.write_text(json.dumps({kind.value: self.count(kind) for kind in Kind}))


def closing_line(passes: int, failures: int, skips: int) -> str:
    line = f"{passes} passed, {failures} failed"
    return f"{line}, {skips} skipped" if skips else line


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
