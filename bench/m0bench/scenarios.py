"""What is measured. Each scenario starts its servers, lets them take turns and returns its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import clients, processes
from .rounds import Row, Rows, take_turns
from .servers import RAW_EPOLL, Recipe, Server, granian, gunicorn, native, ours, running, uwsgi

DEFAULTS = "m0serve"
ONE_THREAD = "m0serve 1"
POOL_SIZES = (1, 2, 4, 8, 16, 32)
SWITCH_INTERVALS = ("0.5ms", "1ms", "2ms", "5ms")
REQUESTS_BEFORE, REQUESTS_AFTER = 20_000, 200_000


@dataclass(frozen=True)
class Plan:
    """How much is measured and of whom."""

    connections: tuple[int, ...]
    rounds: int
    seconds: int
    quick: bool
    has_ours: bool
    has_granian: bool
    has_others: bool

    def recipes(self, *candidates: Recipe) -> list[Recipe]:
        """Those that are there to be measured."""
        there = {
            "m0serve": self.has_ours,
            "granian": self.has_granian,
            "gunicorn": self.has_others,
            "uwsgi": self.has_others,
            "raw": True,
        }
        return [recipe for recipe in candidates if there[recipe.family]]


def _wrk(plan: Plan) -> Callable[[Server, int], clients.Sample]:
    return lambda server, connections: clients.wrk(server, connections, plan.seconds)


def _warm(servers: list[Server]) -> None:
    for server in servers:
        clients.wrk(server, 64, 1)


def _best_threads(plan: Plan, app: str, make: Callable[[int], Recipe]) -> list[Recipe]:
    """One thread or four, whichever serves `app` faster: a peer is measured at its best."""
    with running(plan.recipes(make(1), make(4)), app) as servers:
        _warm(servers)
        rates = {server.recipe: clients.wrk(server, 64, 1)["rps"] for server in servers}
    return [max(rates, key=lambda recipe: rates[recipe])] if rates else []


def throughput(app: str, *extra: Recipe) -> Callable[[Plan], Rows]:
    """One application at each number of connections, against every peer."""

    def run(plan: Plan) -> Rows:
        recipes = plan.recipes(
            ours(), granian(1), granian(4), granian(None), ours(ONE_THREAD, "--blocking-threads", "1")
        )
        recipes += [*_best_threads(plan, app, gunicorn), *_best_threads(plan, app, uwsgi), *extra]
        with running(recipes, app) as servers:
            _warm(servers)
            cases = {str(connections): connections for connections in plan.connections}
            return take_turns(servers, cases, plan.rounds, _wrk(plan))

    return run


def noise(plan: Plan) -> Rows:
    """The same server twice: what a ratio is worth on this machine."""
    with running(plan.recipes(ours(), ours("m0serve again")), "bench_app:hello") as servers:
        _warm(servers)
        return take_turns(servers, {"64": 64}, max(plan.rounds, 5), _wrk(plan))


ISOLATION_CASES: dict[str, dict[str, int]] = {
    "alone": {},
    "2 sleepers": {"/slow": 2},
    "6 sleepers": {"/slow": 6},
    "40 sleepers": {"/slow": 40},
    "hash": {"/hash": 1},
    "spinner": {"/spin": 1},
    "2 spinners": {"/spin": 2},
}


def isolation(plan: Plan) -> Rows:
    """A view that does nothing, beside others that block, burn or spin."""
    recipes = plan.recipes(ours(), granian(4), granian(None), gunicorn(8), uwsgi(8))
    with running(recipes, "bench_app:views", "/fast") as servers:
        _warm(servers)
        return take_turns(
            servers, ISOLATION_CASES, plan.rounds, lambda server, loads: clients.probe(server, plan.seconds, loads)
        )


def mixed(plan: Plan) -> Rows:
    """1 ms of CPU and five waits of 1 ms at 64 connections: every fixed pool size against our defaults."""
    recipes = [ours(), *(ours(f"m0serve {n}", "--blocking-threads", str(n)) for n in POOL_SIZES)]
    recipes += [*map(granian, POOL_SIZES), granian(None)]
    with running(plan.recipes(*recipes), "bench_app:views", "/mixed") as servers:
        _warm(servers)
        return take_turns(servers, {"64": 64}, plan.rounds, _wrk(plan))


def workers(plan: Plan) -> Rows:
    """One worker and two for a view of 1 ms of CPU."""
    recipes = plan.recipes(ours("1 worker", "--workers", "1"), ours("2 workers", "--workers", "2"))
    with running(recipes, "bench_app:views", "/cpu") as servers:
        _warm(servers)
        return take_turns(servers, {"64": 64}, plan.rounds, _wrk(plan))


def doors(plan: Plan) -> Rows:
    """Hello of the native server, on the loop and on the pool, beside a bare responder: rate for each CPU microsecond."""
    recipes = [RAW_EPOLL, native("loop handler", "loop"), native("pool handler", "pool")]
    with running(recipes, "", "/fast") as servers:
        _warm(servers)
        return take_turns(servers, {"64": 64}, max(plan.rounds, 5), _wrk(plan))


def handoff(plan: Plan) -> Rows:
    """What handing a job over costs beside doing it in place: one core and two, in batches and one by one."""
    rows: dict[str, list[clients.Sample]] = {}
    for _ in range(1 if plan.quick else 3):
        for cell in clients.handoff():
            rows.setdefault(f"{cell.pop('cores'):.0f}", []).append(cell)
    return Rows(Row("pool_handoff", cores, samples) for cores, samples in rows.items())


def switch_interval(plan: Plan) -> Rows:
    """What each switch interval costs and gains."""
    recipes = plan.recipes(*(ours(interval, "--switch-interval", interval) for interval in SWITCH_INTERVALS))
    rows = Rows()
    for case, app, path in (
        ("hello", "bench_app:hello", "/"),
        ("django", "django_app:hello", "/"),
        ("mixed", "bench_app:views", "/mixed"),
    ):
        with running(recipes, app, path) as servers:
            _warm(servers)
            rows += take_turns(servers, {case: 64}, plan.rounds, _wrk(plan))
    beside = {case: ISOLATION_CASES[case] for case in ("hash", "spinner", "2 spinners")}
    with running(recipes, "bench_app:views", "/fast") as servers:
        rows += take_turns(
            servers, beside, plan.rounds, lambda server, loads: clients.probe(server, plan.seconds, loads)
        )
    return rows


def memory(plan: Plan) -> Rows:
    """Resident memory of a fresh server after 20,000 and after 200,000 requests."""
    rows = Rows()
    for app in ("hello",) if plan.quick else ("hello", "django", "flask"):
        with running(plan.recipes(ours(), granian(1)), f"{'bench' if app == 'hello' else app}_app:hello") as servers:
            for server in servers:
                sample: clients.Sample = {}
                for total in (REQUESTS_BEFORE, REQUESTS_AFTER):
                    asked = total - int(sample.get("requests", 0))
                    sample["requests"] = sample.get("requests", 0) + clients.ask(server, asked, 16)
                    sample[f"rss_{total}_kib"] = processes.rss_kib(server.pid)
                rows.append(Row(server.name, app, [sample]))
    return rows


SCENARIOS: dict[str, Callable[[Plan], Rows]] = {
    "hello": throughput("bench_app:hello", RAW_EPOLL),
    "body64k": throughput("bench_app:body_64k"),
    "download1m": throughput("bench_app:body_1m"),
    "django": throughput("django_app:hello"),
    "flask": throughput("flask_app:hello"),
    "noise": noise,
    "isolation": isolation,
    "mixed": mixed,
    "workers": workers,
    "doors": doors,
    "handoff": handoff,
    "switch-interval": switch_interval,
    "memory": memory,
}


def as_json(measured: dict[str, Rows]) -> dict[str, list[dict[str, Any]]]:
    return {name: [row.as_json() for row in rows] for name, rows in measured.items()}
