"""Runs the GoogleTest binaries of a build tree."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tooling.processes import run
from tooling.tally import Outcome, failed, passed, skipped


def find_binaries(build: Path) -> list[Path]:
    found = [path for folder in ("src", "bench", "tests") for path in (build / folder).rglob("*_test")]
    return sorted(path for path in found if path.is_file() and os.access(path, os.X_OK))


def read_report(binary: str, report: Mapping[str, Any]) -> list[Outcome]:
    outcomes = []
    for suite in report.get("testsuites", []):
        for case in suite.get("testsuite", []):
            name = f"{binary}:{suite['name']}.{case['name']}"
            if case.get("failures"):
                outcomes.append(failed(name, "\n".join(failure["failure"] for failure in case["failures"])))
            elif case.get("status") == "NOTRUN":
                outcomes.append(skipped(name, "disabled"))
            elif case.get("result") == "SKIPPED":
                outcomes.append(skipped(name, "; ".join(s.get("message", "") for s in case.get("skipped", []))))
            else:
                outcomes.append(passed(name))
    return outcomes


def run_binary(binary: Path, limit: float, env: Mapping[str, str]) -> tuple[list[Outcome], str]:
    """The outcomes, and what it printed when that is worth reading."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        done = run([binary, f"--gtest_output=json:{report}", "--gtest_brief=1", "--gtest_color=no"], limit, env)
        outcomes: list[Outcome] = []
        if report.exists():
            try:
                outcomes = read_report(binary.name, json.loads(report.read_text()))
            except (ValueError, KeyError) as problem:
                outcomes = [failed(binary.name, f"its report cannot be read: {problem}")]
    any_failed = any(outcome.kind.value == "failed" for outcome in outcomes)
    if done.code is None:
        outcomes.append(failed(binary.name, f"no end within {limit:.0f} s"))
    elif done.code != 0 and not any_failed:
        # A crash or a sanitizer's report writes no (or an innocent) report of its own.
        outcomes.append(failed(binary.name, f"exit code {done.code}"))
    elif not outcomes:
        outcomes.append(failed(binary.name, "it holds no test"))
    return outcomes, done.output if done.code != 0 else ""


def run_all(binaries: Sequence[Path], limit: float, env: Mapping[str, str], jobs: int = 2) -> list[Outcome]:
    if not binaries:
        return [failed("unit", "the build tree holds no *_test binary")]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(jobs) as pool:
        for found, output in pool.map(lambda binary: run_binary(binary, limit, env), binaries):
            outcomes += found
            if output:
                print(output, flush=True)
    print(f"unit: {len(binaries)} binaries, {len(outcomes)} tests", flush=True)
    return outcomes
