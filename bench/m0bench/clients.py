"""The two measuring clients: wrk for rates, latency_probe for latencies beside load."""

import json
import subprocess
from typing import Any

from . import processes
from .servers import BENCH, TOOLS, Server

Sample = dict[str, float]


def wrk(server: Server, connections: int, seconds: int) -> Sample:
    """One run on one thread: wrk has one core, the server the other. Includes the server's CPU time a request."""
    command = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(connections),
        "-d",
        f"{seconds}s",
        "--timeout",
        "10s",
        "-s",
        str(BENCH / "wrk_report.lua"),
        server.url,
    ]
    before = processes.cpu_seconds(server.pid)
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu = processes.cpu_seconds(server.pid) - before
    told = json.loads(output.strip().splitlines()[-1])
    # A server that keeps no connection ends each answer by closing, which wrk calls a read error.
    kinds = ["connect", "write", "status"] + (["read"] if server.recipe.keeps_connections else [])
    return {
        "requests": told["requests"],
        "rps": told["requests"] / told["seconds"],
        "p50_us": told["p50_us"],
        "p99_us": told["p99_us"],
        "max_us": told["max_us"],
        "cpu_us": cpu * 1e6 / max(told["requests"], 1),
        "errors": sum(told[f"{kind}_errors"] for kind in kinds) + told["timeouts"],
    }


def handoff() -> list[Sample]:
    """What bench/pool_handoff.cpp tells, a cell for each number of cores."""
    output = subprocess.run([str(TOOLS / "pool_handoff")], stdout=subprocess.PIPE, text=True, check=True).stdout
    cells: list[Sample] = json.loads(output)["cpu_us_a_job"]
    return cells


def _probe(server: Server, arguments: list[str]) -> dict[str, Any]:
    fresh = [] if server.recipe.keeps_connections else ["--fresh"]
    command = [str(TOOLS / "latency_probe"), "--port", str(server.port), *fresh, *arguments]
    told: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return told


def probe(server: Server, seconds: float, loads: dict[str, int]) -> Sample:
    """The latency of /fast while `loads` (path: connections) are asked without a pause."""
    arguments = ["--seconds", str(seconds)]
    for path, connections in loads.items():
        arguments += ["--load", f"{path}={connections}"]
    before = processes.cpu_seconds(server.pid)
    told = _probe(server, arguments)
    told["cpu_s"] = processes.cpu_seconds(server.pid) - before
    told["threads"] = processes.threads(server.pid)
    told["load_answered"] = sum(told.pop("loads").values())
    return told


def ask(server: Server, requests: int, connections: int) -> int:
    """Asks `requests` times as fast as the server answers; returns how many were answered."""
    told = _probe(server, ["--requests", str(requests), "--load", f"{server.path}={connections}"])
    return sum(told["loads"].values())
