"""The measured rows as Markdown."""

from collections.abc import Callable

from .rounds import Row, Rows, ratio
from .scenarios import DEFAULTS, REQUESTS_AFTER, REQUESTS_BEFORE
from .servers import RAW_EPOLL
from .targets import Verdict


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def _ms(microseconds: float) -> str:
    return f"{microseconds / 1000:.2f}" if microseconds < 100_000 else f"{microseconds / 1000:.0f}"


def _rates(rows: Rows) -> str:
    """A line a server and case; the ratio is ours to theirs."""
    lines = []
    for case in rows.cases():
        mine = rows.row(DEFAULTS, case)
        for row in rows.of_case(case):
            times = f"{ratio(mine, row, 'rps'):.2f}" if mine and mine is not row else ""
            lines.append(
                [
                    row.server,
                    case,
                    f"{row.median('rps'):.0f}",
                    times,
                    f"{row.median('cpu_us'):.1f}",
                    _ms(row.median("p50_us")),
                    _ms(row.median("p99_us")),
                    f"{row.median('errors'):.0f}",
                ]
            )
    return table(
        ["server", "connections", "requests/s", "ours : it", "CPU us/request", "p50 ms", "p99 ms", "errors"], lines
    )


def _latencies(rows: Rows) -> str:
    """A line a server, a column a case: p50 / p99."""

    def cell(row: Row | None) -> str:
        return f"{_ms(row.median('p50_us'))} / {_ms(row.median('p99_us'))}" if row else ""

    cases = rows.cases()
    lines = [[server, *(cell(rows.row(server, case)) for case in cases)] for server in rows.servers()]
    return table(["p50 / p99 ms beside", *cases], lines)


def _switch(rows: Rows) -> str:
    """Rates where wrk measured, latencies where the probe did."""

    def cell(row: Row | None) -> str:
        if row is None:
            return ""
        latency = f"{_ms(row.median('p50_us'))} / {_ms(row.median('p99_us'))} ms"
        return f"{row.median('rps'):.0f}, {latency}" if "rps" in row.samples[0] else latency

    cases = rows.cases()
    lines = [[server, *(cell(rows.row(server, case)) for case in cases)] for server in rows.servers()]
    return table(["switch interval", *cases], lines)


def _memory(rows: Rows) -> str:
    lines = []
    for row in rows:
        before, after = (row.median(f"rss_{total}_kib") / 1024 for total in (REQUESTS_BEFORE, REQUESTS_AFTER))
        lines.append([row.server, row.case, f"{before:.1f}", f"{after:.1f}", f"{100 * (after / before - 1):+.1f} %"])
    return table(["server", "application", "MiB after 20,000", "MiB after 200,000", "growth"], lines)


def _doors(rows: Rows) -> str:
    raw = rows.row(RAW_EPOLL.name, "64")
    lines = []
    for row in rows:
        share = f"{ratio(raw, row, 'cpu_us'):.2f}" if raw else ""
        lines.append([row.server, f"{row.median('rps'):.0f}", f"{row.median('cpu_us'):.2f}", share])
    return table(["server", "rps", "CPU us a request", "of the bare responder's rate per CPU us"], lines)


def _handoff(rows: Rows) -> str:
    keys = ("in_place_us", "batch_us", "single_us", "batch_ratio", "single_ratio")
    lines = [[row.case, *(f"{row.median(key):.2f}" for key in keys)] for row in rows]
    return table(["cores", "in place, us", "batch, us", "one by one, us", "batch", "one by one"], lines)


_TABLES: dict[str, Callable[[Rows], str]] = {
    "isolation": _latencies,
    "switch-interval": _switch,
    "memory": _memory,
    "doors": _doors,
    "handoff": _handoff,
}


def scenario(name: str, rows: Rows) -> str:
    if not any(row.samples for row in rows):
        return f"### {name}\n\nNothing was measured.\n"
    return f"### {name}\n\n{_TABLES.get(name, _rates)(rows)}\n"


def targets(verdicts: list[Verdict]) -> str:
    lines = [[verdict.statement, verdict.measured, verdict.word] for verdict in verdicts]
    return "### To reach\n\n" + table(["statement", "measured", "verdict"], lines) + "\n"
