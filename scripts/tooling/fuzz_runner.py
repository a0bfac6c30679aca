"""Runs each fuzz target for a bounded time, starting from its corpus and leaving the corpus as it is."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tooling.processes import ROOT, run
from tooling.tally import Outcome, failed, passed


def find_targets(build: Path) -> list[Path]:
    found = build.glob("fuzz/**/fuzz_*")
    return sorted(path for path in found if path.is_file() and os.access(path, os.X_OK) and not path.suffix)


def corpora(target: str) -> list[Path]:
    home = ROOT / "fuzz" / target.removeprefix("fuzz_")
    return [home / "corpus"] if (home / "corpus").is_dir() else []


def run_target(target: Path, seconds: int, artifacts: Path, env: Mapping[str, str]) -> Outcome:
    with tempfile.TemporaryDirectory() as found:
        options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
        command: list[str | Path] = [target, *options, f"-artifact_prefix={artifacts}/{target.name}-", found]
        done = run([*command, *corpora(target.name)], seconds + 120, env)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.output)
    if done.code != 0:
        print(done.output[-20000:], flush=True)
        return failed(target.name, f"exit code {done.code}; the input is in {artifacts}")
    if not executed or int(executed.group(1)) == 0:
        return failed(target.name, "it executed nothing")
    print(f"{target.name}: {int(executed.group(1)):,} executions in {seconds} s", flush=True)
    return passed(target.name)


def run_all(build: Path, seconds: int, env: Mapping[str, str], jobs: int = 2) -> list[Outcome]:
    targets = find_targets(build)
    if not targets:
        return [failed("fuzz", "the build tree holds no fuzz_* target")]
    artifacts = build / "fuzz-artifacts"
    artifacts.mkdir(exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda target: run_target(target, seconds, artifacts, env), targets))
