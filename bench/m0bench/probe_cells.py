"""The cells of the pool probe: who is asked (rows), in which geometry, beside how many blockers (columns)."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from .clients import Sample
from .rounds import Row, Rows, take_turns
from .servers import TOOLS, Recipe, Server, granian, gunicorn, native, ours, uwsgi

BLOCK_MS = 400.0  # what /slow takes: kBlock of probe_server.cpp and the sleep of apps/bench_app.py
THREADS = 4
APP = "bench_app:views"  # of the Python rows

FIRST, CLOSED, OPEN = "first", "field closed", "field open"
GEOMETRIES = (FIRST, CLOSED, OPEN)
_WORDS = {FIRST: "first", CLOSED: "closed", OPEN: "open"}

_EXACTLY = ("--blocking-threads", str(THREADS))
_GROWING = (*_EXACTLY, "--max-blocking-threads", "16")

LOOP = native("loop only", "loop")
POOL = native("pool of 4", "pool", *_EXACTLY)
GROWING = native("pool of 4 growing to 16", "pool", *_GROWING)
PYTHON_POOL = ours("Python, pool of 4", *_EXACTLY)
PYTHON_GROWING = ours("Python, pool of 4 growing to 16", *_GROWING)

POOLS = (POOL, PYTHON_POOL)
GROWING_POOLS = (GROWING, PYTHON_GROWING)
ROWS = (LOOP, POOL, GROWING, PYTHON_POOL, PYTHON_GROWING)

# 300 requests that wait for nobody are over in 15 ms, and on which core the kernel puts two threads in these moves their p50
# by half. Cells so short run so many times as often, and their median is of all of them.
SHORT_SECONDS = 1.0
SHORT_TIMES = 5

Measured = dict[str, Rows]  # by geometry; a case is the number of blockers


def peers(has_granian: bool) -> list[Recipe]:
    return [*([granian(THREADS)] if has_granian else []), gunicorn(THREADS), uwsgi(THREADS)]


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    columns: tuple[int, ...]
    runs: int
    requests: int  # first geometry
    limit: float  # first geometry: seconds after which a cell ends, once `enough` were answered
    enough: int
    enough_of_the_loop: int  # of which a p50 is asked, no p99, and each waits for every blocker
    seconds: float  # field geometries


FULL = Plan((0, 1, 2, 4, 6), runs=3, requests=300, limit=20, enough=100, enough_of_the_loop=20, seconds=4)
# A look: it still measures each kind of cell that is asserted, but a p99 of so few is their maximum.
QUICK = Plan((0, 2, 6), runs=1, requests=100, limit=5, enough=10, enough_of_the_loop=5, seconds=2)


def arguments(recipe: Recipe, geometry: str, blockers: int, plan: Plan) -> list[str]:
    """The words of pool_probe for one cell."""
    words = ["--geometry", _WORDS[geometry], "--blockers", str(blockers), "--block-ms", str(BLOCK_MS)]
    if geometry == FIRST:
        enough = plan.enough_of_the_loop if recipe == LOOP else plan.enough
        words += ["--requests", str(plan.requests), "--seconds", str(plan.limit), "--at-least", str(enough)]
    else:
        words += ["--seconds", str(plan.seconds)]
    return words if recipe.keeps_connections else [*words, "--fresh"]


def _ask(server: Server, words: list[str]) -> Sample:
    command = [str(TOOLS / "pool_probe"), "--port", str(server.port), *words]
    told: Sample = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return told


def measurement(geometry: str, plan: Plan) -> Callable[[Server, int], Sample]:
    return lambda server, blockers: _ask(server, arguments(server.recipe, geometry, blockers, plan))


def runs(plan: Plan) -> Callable[[Row], int]:
    return lambda row: plan.runs * (SHORT_TIMES if row.samples and row.samples[0]["seconds"] < SHORT_SECONDS else 1)


def warm(servers: list[Server]) -> None:
    """The first requests of a fresh server are not what is compared."""
    for server in servers:
        _ask(server, arguments(server.recipe, FIRST, 0, FULL))


def measure(servers: list[Server], geometry: str, plan: Plan) -> Rows:
    """Every row beside every number of blockers, `runs` times; rows take turns."""
    # The peers are compared in the field, on kept connections: the first geometry is ours and the published figures'.
    asked = [server for server in servers if geometry == CLOSED or server.recipe in ROWS]
    return take_turns(asked, {str(column): column for column in plan.columns}, runs(plan), measurement(geometry, plan))
