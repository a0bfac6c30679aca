"""Runs pytest over the black-box suite and reads what it says in JUnit's format."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path

from tooling.processes import run
from tooling.tally import Outcome, failed, passed, skipped

# Debian's pytest lives here; the server under test may run on another interpreter.
INTERPRETER = "/usr/bin/python3"


def read_junit(text: str) -> list[Outcome]:
    """One outcome a test: a test whose body passed and whose teardown failed has failed."""
    by_name: dict[str, Outcome] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
        problem = case.find("failure")
        if problem is None:
            problem = case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            by_name[name] = failed(name, problem.get("message") or problem.text or "")
        elif skip is not None:
            by_name.setdefault(name, skipped(name, skip.get("message") or ""))
        else:
            by_name.setdefault(name, passed(name))
    return list(by_name.values())


def run_pytest(
    paths: Sequence[str | Path], limit: float, env: Mapping[str, str], options: Sequence[str] = ()
) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "junit.xml"
        command = [
            INTERPRETER,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *options,
            *paths,
        ]
        done = run(command, limit, env, show=True)
        try:
            outcomes = read_junit(report.read_text())
        except (OSError, ElementTree.ParseError):
            outcomes = []
    if done.code is None:
        outcomes.append(failed("pytest", f"no end within {limit:.0f} s"))
    elif not outcomes:
        outcomes.append(failed("pytest", f"it ran no test (exit code {done.code})"))
    elif done.code != 0 and not any(outcome.kind.value == "failed" for outcome in outcomes):
        outcomes.append(failed("pytest", f"exit code {done.code}"))
    return outcomes
