"""The pool probe's cells as Markdown, the published figures beside ours."""

from .probe_cells import (
    BLOCK_MS,
    CLOSED,
    FIRST,
    GROWING,
    LOOP,
    OPEN,
    POOL,
    PYTHON_GROWING,
    PYTHON_POOL,
    SHORT_SECONDS,
    SHORT_TIMES,
)
from .report import table
from .rounds import Row, Rows

_TITLES = {
    FIRST: "one fast client without think time, 300 requests (fewer where each waits for blockers: see the count)",
    CLOSED: "8 fast clients, kept connections, 5 ms think time",
    OPEN: "arrivals at 250 a second, latency from when each was meant to be sent",
}

_BY_DEFINITION = "by definition: a loop that sleeps serves nobody"
_RESULT = "the result"
_SHOWS = {
    LOOP.name: _BY_DEFINITION,
    POOL.name: f"{_RESULT} up to 3 blockers; from 4 on saturated by definition",
    GROWING.name: _RESULT,
    PYTHON_POOL.name: f"{_RESULT} up to 3 blockers; from 4 on saturated by definition",
    PYTHON_GROWING.name: _RESULT,
}

# Another machine's, in the first geometry; and what the peers did here before, in the field. A p50, or p50 / p99.
_PUBLISHED: dict[str, dict[str, dict[int, str]]] = {
    FIRST: {
        LOOP.name: {2: "405", 6: "2022 / 2026"},
        POOL.name: {0: "0.2-0.3", 1: "0.2-0.3", 2: "0.2-0.3", 6: "31.8 / 404"},
    },
    CLOSED: {
        "granian 4": {0: "0.13", 2: "0.12", 4: "95", 6: "328"},
        "gunicorn 4": {0: "0.18", 2: "0.18", 4: "95", 6: "330"},
        "uwsgi 4": {0: "0.30", 2: "0.41", 4: "95", 6: "328"},
    },
}


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _cell(row: Row | None) -> str:
    return f"{_ms(row.median('p50_ms'))} / {_ms(row.median('p99_ms'))}" if row else "not measured"


def summary(geometry: str, rows: Rows, columns: tuple[int, ...]) -> str:
    """A line a server, a column a number of blockers: medians of p50 / p99 in ms. Published figures under ours."""
    published = _PUBLISHED.get(geometry, {})
    lines = []
    for name in dict.fromkeys([*rows.servers(), *published]):
        if name in rows.servers():
            cells = [_cell(rows.row(name, str(column))) for column in columns]
            lines.append([name, *cells, _SHOWS.get(name, "a peer")])
        if name in published:
            known = published[name]
            origin = "published" if geometry == FIRST else "before"
            lines.append([f"*{name}, {origin}*", *(known.get(column, "") for column in columns), ""])
    head = ["p50 / p99 ms beside", *(f"{column} blockers" for column in columns), "what the row shows"]
    return f"### {geometry}: {_TITLES[geometry]}\n\n{table(head, lines)}\n"


def cells(rows: Rows) -> str:
    """Every cell's medians."""
    lines = []
    for name in rows.servers():
        for case in rows.cases():
            row = rows.row(name, case)
            if row is None:
                continue
            times = [_ms(row.median(f"{key}_ms")) for key in ("p50", "p99", "max")]
            taken = str(len(row.samples))
            counts = [f"{row.median(key):.0f}" for key in ("count", "errors", "unanswered")]
            lines.append([name, case, taken, *times, *counts, f"{row.median('slow_per_s'):.2f}"])
    return (
        table(
            ["row", "blockers", "runs", "p50 ms", "p99 ms", "max ms", "count", "errors", "unanswered", "slow/s"], lines
        )
        + "\n"
    )


def heading(runs: int) -> str:
    return (
        f"The slow route blocks for {BLOCK_MS:g} ms; each blocker asks it without a pause. "
        f"{f'Medians of {runs} runs' if runs > 1 else 'One run'}; of {SHORT_TIMES} times as many where a cell is over "
        f"in less than {SHORT_SECONDS:g} s.\n"
    )
