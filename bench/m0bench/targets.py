"""What issue 3 wants of the numbers, statement by statement."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .rounds import Row, Rows, ratio
from .scenarios import DEFAULTS, ONE_THREAD, REQUESTS_AFTER, REQUESTS_BEFORE

# "No worse" and "no slower" mean: not by more than the same server differs from itself (scenario `noise`).
NOISE = 0.03

Measured = dict[str, Rows]


@dataclass(frozen=True)
class Verdict:
    statement: str
    measured: str
    reached: bool | None  # None: not measured in this run

    @property
    def word(self) -> str:
        return "not measured" if self.reached is None else "reached" if self.reached else "NOT REACHED"


def best_granian(rows: Rows, case: str, mine: Row) -> Row | None:
    """The setting that is hardest to beat in this case: the one with the least ratio, not the one with the best luck."""
    settings = [row for row in rows.of_case(case) if row.server.startswith("granian")]
    return min(settings, key=lambda theirs: ratio(mine, theirs, "rps")) if settings else None


def _against_best(
    measured: Measured, scenario: str, case: str, key: str, name: str, bound: float, least: bool, wanted: str
) -> Verdict:
    statement = f"{scenario}, {case} connections: {name} {wanted} Granian's best"
    rows = measured.get(scenario, Rows())
    mine = rows.row(DEFAULTS, case)
    theirs = best_granian(rows, case, mine) if mine else None
    if mine is None or theirs is None:
        return Verdict(statement, "", None)
    value = ratio(mine, theirs, key)
    numbers = f"{value:.2f} ({mine.median(key):.0f} : {theirs.median(key):.0f}, {theirs.server})"
    return Verdict(statement, numbers, value >= bound if least else value <= bound)


def _rates(measured: Measured) -> Iterator[Verdict]:
    for case in ("16", "64", "256"):
        yield _against_best(measured, "hello", case, "rps", "rate", 1.4, True, "at least 1.4 times")
        yield _against_best(measured, "hello", case, "cpu_us", "server CPU", 0.7, False, "at most 0.7 of")
    yield _against_best(measured, "hello", "1", "rps", "rate", 1 - NOISE, True, "no worse than")
    yield _against_best(measured, "hello", "1", "cpu_us", "server CPU", 1 + NOISE, False, "no worse than")
    for scenario, times in (("django", 1.1), ("flask", 1.15)):
        for case in ("16", "64", "256"):
            yield _against_best(measured, scenario, case, "rps", "rate", times, True, f"at least {times} times")
            yield _against_best(measured, scenario, case, "p99_us", "p99", 1 + NOISE, False, "no worse than")


def _defaults_against_one_thread(measured: Measured) -> Iterator[Verdict]:
    for scenario in ("hello", "django", "flask"):
        for case in ("1", "16", "64", "256"):
            statement = f"{scenario}, {case} connections: our defaults no slower than our --blocking-threads 1"
            rows = measured.get(scenario, Rows())
            mine, one = rows.row(DEFAULTS, case), rows.row(ONE_THREAD, case)
            if mine is None or one is None:
                yield Verdict(statement, "", None)
                continue
            value = ratio(mine, one, "rps")
            numbers = f"{value:.2f} ({mine.median('rps'):.0f} : {one.median('rps'):.0f})"
            yield Verdict(statement, numbers, value >= 1 - NOISE)


def _latency(measured: Measured, case: str, key: str, below_ms: float, why: str) -> Verdict:
    statement = f"fast view beside {case}: {key} below {below_ms:g} ms ({why})"
    row = measured.get("isolation", Rows()).row(DEFAULTS, case)
    if row is None:
        return Verdict(statement, "", None)
    value = row.median(f"{key}_us") / 1000
    return Verdict(statement, f"{value:.2f} ms", value < below_ms)


def _isolation(measured: Measured) -> Iterator[Verdict]:
    yield _latency(measured, "40 sleepers", "p99", 8, "a fiftieth of 400 ms")
    statement = "fast view beside hash: p50 within 2 times of its own without it"
    rows = measured.get("isolation", Rows())
    beside, alone = rows.row(DEFAULTS, "hash"), rows.row(DEFAULTS, "alone")
    if beside is None or alone is None:
        yield Verdict(statement, "", None)
    else:
        value = ratio(beside, alone, "p50_us")
        numbers = f"{value:.2f} ({beside.median('p50_us'):.0f} : {alone.median('p50_us'):.0f} us)"
        yield Verdict(statement, numbers, value <= 2)
    yield _latency(measured, "hash", "p99", 4, "a fiftieth of 200 ms")
    yield _latency(measured, "spinner", "p50", 2, "a hundredth of 200 ms")
    yield _latency(measured, "spinner", "p99", 5, "a fortieth of 200 ms")


def _mixed(measured: Measured) -> Iterator[Verdict]:
    statement = "mixed view: our defaults at least 0.95 of the best fixed pool size, ours or Granian's"
    rows = measured.get("mixed", Rows())
    mine = rows.row(DEFAULTS, "64")
    fixed = [row for row in rows.of_case("64") if row.server not in (DEFAULTS, "granian defaults")]
    if mine is None or not fixed:
        yield Verdict(statement, "", None)
        return
    value, best = min(((ratio(mine, row, "rps"), row) for row in fixed), key=lambda pair: pair[0])
    numbers = f"{value:.2f} ({mine.median('rps'):.0f} : {best.median('rps'):.0f}, {best.server})"
    yield Verdict(statement, numbers, value >= 0.95)


def _workers(measured: Measured) -> Iterator[Verdict]:
    statement = "two workers at least 1.7 times one for a view of 1 ms of CPU"
    rows = measured.get("workers", Rows())
    two, one = rows.row("2 workers", "64"), rows.row("1 worker", "64")
    if two is None or one is None:
        yield Verdict(statement, "", None)
        return
    value = ratio(two, one, "rps")
    yield Verdict(statement, f"{value:.2f} ({two.median('rps'):.0f} : {one.median('rps'):.0f})", value >= 1.7)


def _memory(measured: Measured) -> Iterator[Verdict]:
    for case in ("hello", "django", "flask"):
        statement = f"{case}: RSS after 200,000 requests within 5 % of RSS after 20,000"
        row = measured.get("memory", Rows()).row(DEFAULTS, case)
        if row is None:
            yield Verdict(statement, "", None)
            continue
        before, after = (row.median(f"rss_{total}_kib") for total in (REQUESTS_BEFORE, REQUESTS_AFTER))
        numbers = f"{100 * (after / before - 1):+.1f} % ({before / 1024:.1f} -> {after / 1024:.1f} MiB)"
        yield Verdict(statement, numbers, after <= 1.05 * before)


def _doors(measured: Measured) -> Iterator[Verdict]:
    rows = measured.get("doors", Rows())
    for name, least in (("loop handler", 0.9), ("pool handler", 0.75)):
        statement = f"native hello, {name}: at least {least} of a bare epoll responder's rate per CPU microsecond"
        mine, raw = rows.row(name, "64"), rows.row("raw epoll", "64")
        if mine is None or raw is None:
            yield Verdict(statement, "", None)
            continue
        value = ratio(raw, mine, "cpu_us")
        yield Verdict(
            statement, f"{value:.2f} ({raw.median('cpu_us'):.2f} : {mine.median('cpu_us'):.2f} us)", value >= least
        )


_ALL: tuple[Callable[[Measured], Iterator[Verdict]], ...] = (
    _rates,
    _defaults_against_one_thread,
    _isolation,
    _mixed,
    _workers,
    _memory,
    _doors,
)


def verdicts(measured: Measured) -> list[Verdict]:
    return [verdict for evaluate in _ALL for verdict in evaluate(measured)]
