"""Fan-out: what is measured, and what issue 5 wants of it."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .clients import Sample
from .realtime_servers import NCHAN_SERVER, OURS, PUSHPIN_SERVER, STREAMS, FanServer
from .report import table
from .rounds import Row, Rows, ratio, take_turns
from .servers import TOOLS, CannotServe
from .targets import Verdict

FEW, MANY = 1000, 5000

_TRIES = 3


@dataclass(frozen=True)
class Case:
    subscribers: int
    events: int
    rate: float  # a second; 0: a burst

    @property
    def name(self) -> str:
        return case_name("paced" if self.rate else "burst", self.subscribers)


def case_name(kind: str, subscribers: int) -> str:
    return f"{kind}, {subscribers}"


@dataclass(frozen=True)
class Plan:
    rounds: int
    burst: int
    paced: int
    rate: float = 5.0
    bytes: int = 100
    at_once: int = 16
    patience: float = 10.0  # without any delivery

    def cases(self) -> list[Case]:
        sizes = (FEW, MANY)
        return [Case(n, self.burst, 0) for n in sizes] + [Case(n, self.paced, self.rate) for n in sizes]


FULL = Plan(rounds=5, burst=500, paced=50)
QUICK = Plan(rounds=1, burst=200, paced=15)


def fan_out(server: FanServer, case: Case, plan: Plan) -> Sample:
    """One measurement of a server of its own. ValueError says why there is none."""
    try:
        with server.running() as started:
            command = [str(TOOLS / "fanout"), "--subscribe", started.subscribe, "--publish", started.publish]
            command += ["--body", started.body, *(["--websocket"] if started.websocket else [])]
            command += ["--subscribers", str(case.subscribers), "--events", str(case.events)]
            command += ["--rate", str(case.rate), "--bytes", str(plan.bytes), "--at-once", str(plan.at_once)]
            command += ["--patience", str(plan.patience)]
            for pid in started.pids:
                command += ["--process", str(pid)]
            done = subprocess.run(command, capture_output=True, text=True)
    except CannotServe as problem:
        raise ValueError(str(problem)) from problem
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    sample: Sample = json.loads(done.stdout)
    if sample["lost"] or sample["repeated"]:
        print(f"  {server.name}, {case.name}: {sample['lost']:.0f} lost, {sample['repeated']:.0f} twice", flush=True)
    return sample


def _try_again(server: FanServer, case: Case, plan: Plan) -> Sample:
    """Pushpin ends or refuses one of its first subscribers now and then, just after its start."""
    for _ in range(_TRIES - 1):
        try:
            return fan_out(server, case, plan)
        except ValueError as problem:
            print(f"  {server.name}, {case.name}, tried again: {problem}", flush=True)
    return fan_out(server, case, plan)


def measure(servers: Sequence[FanServer], plan: Plan) -> Rows:
    cases = {case.name: case for case in plan.cases()}
    return take_turns(list(servers), cases, plan.rounds, lambda server, case: _try_again(server, case, plan))


# -- the table


def report(rows: Rows) -> str:
    lines = []
    for row in rows:
        if not row.samples:
            continue
        lines.append(
            [
                row.case,
                row.server,
                f"{row.median('per_second'):,.0f}",
                f"{row.median('cpu_us'):.2f}",
                f"{row.median('p50_ms'):.1f}",
                f"{row.median('p99_ms'):.1f}",
                f"{sum(sample['lost'] + sample['repeated'] for sample in row.samples):.0f}",
            ]
        )
    head = ["subscribers", "server", "deliveries/s", "CPU us each", "p50 ms", "p99 ms", "lost or twice"]
    return f"### Fan-out\n\n{table(head, lines)}\n"


# -- what is wanted


def _ours_alone(
    rows: Rows, case: str, statement: str, key: str, bound: float, least: bool = False, digits: int = 2
) -> Verdict:
    row = rows.row(STREAMS.name, case)
    if row is None:
        return Verdict(f"{case}: {statement}", "", None)
    value = row.median(key)
    return Verdict(f"{case}: {statement}", f"{value:,.{digits}f}", value >= bound if least else value < bound)


def _against(rows: Rows, case: str, peer: FanServer, statement: str, key: str, times: float = 1) -> Verdict:
    """`times`: at least so many times the peer's; 1: below it."""
    mine, theirs = rows.row(STREAMS.name, case), rows.row(peer.name, case)
    if mine is None or theirs is None:
        return Verdict(f"{case}: {statement}", "", None)
    value = ratio(mine, theirs, key)
    numbers = f"{value:.2f} ({mine.median(key):,.1f} : {theirs.median(key):,.1f})"
    return Verdict(f"{case}: {statement}", numbers, value >= times if times > 1 else value < 1)


def _whole(rows: Rows) -> Verdict:
    statement = "every subscriber of ours got every message once, in every run"
    mine: list[Row] = [row for server in OURS for case in rows.cases() if (row := rows.row(server.name, case))]
    wrong = sum(sample["lost"] + sample["repeated"] for row in mine for sample in row.samples)
    return Verdict(statement, f"{wrong:.0f} of them not", wrong == 0 if mine else None)


def _all(rows: Rows) -> Iterator[Verdict]:
    burst = case_name("burst", MANY)
    yield _ours_alone(rows, burst, "at least 1,000,000 deliveries a second", "per_second", 1e6, least=True, digits=0)
    yield _against(rows, burst, PUSHPIN_SERVER, "at least 5 times Pushpin's deliveries", "per_second", times=5)
    yield _ours_alone(rows, burst, "under 1.5 us of CPU a delivery", "cpu_us", 1.5)
    for subscribers in (FEW, MANY):
        paced = case_name("paced", subscribers)
        for key in ("p50_ms", "p99_ms"):
            yield _against(rows, paced, NCHAN_SERVER, f"{key[:3]} below nchan's", key)
        yield _ours_alone(rows, paced, "under 7.5 us of CPU a delivery", "cpu_us", 7.5)
    yield _whole(rows)


def verdicts(rows: Rows) -> list[Verdict]:
    return list(_all(rows))
