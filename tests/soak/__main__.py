"""`make soak`: the long forms of tests/test_realtime_load.py and what is too large for it. Minutes; kept as JSON.

tests/soak NAME... runs only those. M0SERVE names the server (default build/release/m0serve).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[0] = str(TESTS)
sys.dont_write_bytecode = True

from harness.server import Server, command, serving  # noqa: E402
from soak import comeback, held, kills, slow_views, stalled  # noqa: E402
from soak.outcome import Outcome  # noqa: E402

RESULTS = TESTS.parent / "build" / "soak-results"


def _one(*words: str) -> tuple[str, ...]:
    return (*words, "--workers", "1")


# What each is served by, and the run.
RUNS: dict[str, tuple[tuple[str, ...], Callable[[Server], Outcome]]] = {
    "stalled": (
        _one("live", "--event-log-size", "16m"),
        lambda server: stalled.run(server, stalled.Size(stalled=100, readers=200, events=1000, rate=50, phases=2)),
    ),
    "stalled, a small log": (
        _one("live", "--event-log-size", "4m"),
        lambda server: stalled.fall_behind(
            server, stalled.Size(stalled=100, readers=50, events=1000, rate=0, phases=0)
        ),
    ),
    "comeback": (
        _one("live", "--queue", "4096"),
        lambda server: comeback.run(server, comeback.Size(clients=2000, events=1000, size=200)),
    ),
    "slow views": (
        _one("load", "--blocking-threads", "4"),
        lambda server: slow_views.run(server, slow_views.Size(rounds=20)),
    ),
    "kills": (
        ("load", "--workers", str(kills.WORKERS)),
        lambda server: kills.run(server, kills.Size(kills=1000, streams=4, sockets=4, publishers=4, seed=20261130)),
    ),
    "kills, a small log": (
        ("load", "--workers", str(kills.WORKERS), "--event-log-size", "64k"),
        lambda server: kills.run(
            server, kills.Size(kills=100, streams=4, sockets=4, publishers=4, seed=5, absent=250, padding=400)
        ),
    ),
    "held streams": (
        _one("load", "--max-connections", "12000"),
        lambda server: held.run(server, held.Size(few=2000, many=10_000, idle_seconds=60)),
    ),
    "held WebSockets": (
        _one("load", "--max-connections", "12000"),
        lambda server: held.run(server, held.Size(few=2000, many=10_000, idle_seconds=0), websocket=True),
    ),
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description="Realtime under load for minutes.")
    parser.add_argument("runs", nargs="*", metavar="NAME", help="only these: " + ", ".join(RUNS))
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON is kept")
    given = parser.parse_args()
    if unknown := set(given.runs) - set(RUNS):
        parser.error(f"no run {', '.join(sorted(unknown))}: {', '.join(RUNS)}")
    return given


def _run(name: str) -> tuple[Outcome, dict[str, object]]:
    words, measure = RUNS[name]
    before, began = os.getloadavg()[0], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="m0soak-") as folder:
        try:
            with serving(Path(folder), *words) as server:
                outcome = measure(server)
        except (AssertionError, OSError) as problem:
            outcome = Outcome(broken=[str(problem)])
    took = time.monotonic() - began
    load = [before, os.getloadavg()[0]]
    return outcome, {"seconds": took, "load": load, "measured": outcome.measured, "broken": outcome.broken}


def main() -> int:
    given = _arguments()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    now = datetime.now(UTC)
    given.output.mkdir(parents=True, exist_ok=True)
    path = given.output / f"soak-{now:%Y%m%dT%H%M%SZ}.json"
    told: dict[str, object] = {"date": now.isoformat(timespec="seconds"), "server": command()}
    told |= {"cores": os.cpu_count(), "kernel": platform.release(), "memory": Path("/proc/meminfo").read_text()[:40]}
    runs: dict[str, object] = {}
    failed = 0
    for name in given.runs or RUNS:
        outcome, facts = _run(name)
        runs[name] = facts
        path.write_text(json.dumps({**told, "runs": runs}, indent=1) + "\n")
        failed += bool(outcome.broken)
        print(f"{'FAILED' if outcome.broken else 'ok    '}  {name} ({facts['seconds']:.0f} s): {outcome.measured}")
        for broken in outcome.broken[:20]:
            print(f"        {broken}", flush=True)
    print(f"{len(runs) - failed} ok, {failed} FAILED; {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
