"""What issue 4 asserts of the pool probe's table: multiples of the blocking duration and of a row's own 0-blocker cell."""

from collections.abc import Iterator
from dataclasses import dataclass

from .probe_cells import (
    BLOCK_MS,
    CLOSED,
    FIRST,
    GROWING_POOLS,
    LOOP,
    POOLS,
    PYTHON_POOL,
    ROWS,
    THREADS,
    Measured,
)
from .rounds import Row, Rows

# Added to the bound of a p99 that is compared with another p99 of tenths of a millisecond. A thread that is woken while
# every core is taken (here the client has one, the server the other) waits at the longest for the timer tick that takes the
# core from whoever has it: 1/250 s where the kernel has CONFIG_HZ=250, Debian's and the usual one. Three such waits among
# 300 requests are the p99, whatever the server does. It is a hundredth of the blocking duration: it hides no blocker.
SCHEDULING_QUANTUM_MS = 4.0

# The slow route's rate is counted in a window whose edges cut through one round of the threads: that round, and this.
RATE_TOLERANCE = 0.05

# A p50 of a tenth of a millisecond differs by so much between two runs of the same server.
PEER_NOISE = 0.1


@dataclass(frozen=True)
class Assertion:
    statement: str
    measured: str
    holds: bool

    def __str__(self) -> str:
        return f"{'ok    ' if self.holds else 'FAILED'}  {self.statement}: {self.measured}"


def _row(measured: Measured, geometry: str, name: str, blockers: int) -> Row | None:
    return measured.get(geometry, Rows()).row(name, str(blockers))


def _value(measured: Measured, geometry: str, name: str, blockers: int, key: str) -> float | None:
    row = _row(measured, geometry, name, blockers)
    return row.median(key) if row else None


def _not_measured(statement: str) -> Assertion:
    """A cell that is not there proves nothing, so it fails."""
    return Assertion(statement, "not measured", False)


def _ms(value: float) -> str:
    return f"{value:.2f} ms"


def _loop_collapses(measured: Measured, columns: tuple[int, ...]) -> Iterator[Assertion]:
    for blockers, durations in ((2, 0.9), (6, 4.0)):
        if blockers not in columns:
            continue
        statement = f"{FIRST}, {LOOP.name}, {blockers} blockers: p50 at least {durations:g} durations"
        value = _value(measured, FIRST, LOOP.name, blockers, "p50_ms")
        if value is None:
            yield _not_measured(statement)
            continue
        numbers = f"{_ms(value)} is {value / BLOCK_MS:.2f} durations"
        yield Assertion(statement, numbers, value >= durations * BLOCK_MS)


def _recovers(measured: Measured, geometry: str, columns: tuple[int, ...]) -> Iterator[Assertion]:
    """With a thread to spare the fast route is where it is without blockers."""
    for name in (pool.name for pool in POOLS):
        for blockers in (column for column in columns if column in (1, 2)):
            for key, times, quantum in (("p50_ms", 1.5, 0.0), ("p99_ms", 2.0, SCHEDULING_QUANTUM_MS)):
                allowance = f" and a quantum of {quantum:g} ms" if quantum else ""
                statement = f"{geometry}, {name}, {blockers} blockers: {key[:3]} within {times:g} times its own without{allowance}"
                own = _value(measured, geometry, name, 0, key)
                value = _value(measured, geometry, name, blockers, key)
                if own is None or value is None:
                    yield _not_measured(statement)
                    continue
                numbers = f"{_ms(value)} against {_ms(own)}"
                yield Assertion(statement, numbers, value <= times * own + quantum)


def _saturates_linearly(measured: Measured, geometry: str, columns: tuple[int, ...]) -> Iterator[Assertion]:
    for name in (pool.name for pool in POOLS):
        if 6 in columns:
            statement = f"{geometry}, {name}, 6 blockers: p99 at most 1.1 durations"
            value = _value(measured, geometry, name, 6, "p99_ms")
            if value is None:
                yield _not_measured(statement)
            else:
                numbers = f"{_ms(value)} is {value / BLOCK_MS:.2f} durations"
                yield Assertion(statement, numbers, value <= 1.1 * BLOCK_MS)
        for blockers in (column for column in columns if column >= THREADS):
            yield _full_rate(measured, geometry, name, blockers)


def _full_rate(measured: Measured, geometry: str, name: str, blockers: int) -> Assertion:
    full = THREADS / BLOCK_MS * 1000
    statement = (
        f"{geometry}, {name}, {blockers} blockers: the slow route at its full rate, {full:g}/s, "
        f"but for {RATE_TOLERANCE:.0%} and a round of the threads at the window's edges"
    )
    row = _row(measured, geometry, name, blockers)
    if row is None:
        return _not_measured(statement)
    rate, seconds = row.median("slow_per_s"), row.median("seconds")
    least = (1 - RATE_TOLERANCE) * full - THREADS / seconds
    return Assertion(statement, f"{rate:.2f}/s over {seconds:.1f} s, at least {least:.2f}", rate >= least)


def _grows(measured: Measured, geometry: str, columns: tuple[int, ...]) -> Iterator[Assertion]:
    for name in (pool.name for pool in GROWING_POOLS if 6 in columns):
        statement = f"{geometry}, {name}, 6 blockers: p99 below a fiftieth of the duration"
        value = _value(measured, geometry, name, 6, "p99_ms")
        if value is None:
            yield _not_measured(statement)
            continue
        yield Assertion(statement, f"{_ms(value)}, below {BLOCK_MS / 50:g} ms", value < BLOCK_MS / 50)


def _nothing_failed(measured: Measured) -> Assertion:
    """Who waits behind a loop that sleeps may give up unanswered: that is the collapse, and it is asserted elsewhere."""
    samples = [
        (row.server, sample)
        for rows in measured.values()
        for row in rows
        if row.server in {recipe.name for recipe in ROWS}
        for sample in row.samples
    ]
    failures = sum(
        int(sample["errors"] + sample["slow_errors"] + (0 if name == LOOP.name else sample["unanswered"]))
        for name, sample in samples
    )
    statement = "in every run of every cell of ours, no request failed, and none of a pool was left unanswered"
    return Assertion(statement, f"{failures} failed in {len(samples)} runs of cells", failures == 0 and bool(samples))


def _no_worse_than_peers(measured: Measured, columns: tuple[int, ...]) -> Iterator[Assertion]:
    """Only where peers were measured in the same run."""
    mine = {recipe.name for recipe in ROWS}
    for blockers in (column for column in columns if column in (0, 2)):
        rows = [row for row in measured.get(CLOSED, Rows()).of_case(str(blockers)) if row.server not in mine]
        if not rows:
            continue
        best = min(rows, key=lambda row: row.median("p50_ms"))
        statement = (
            f"{CLOSED}, {PYTHON_POOL.name}, {blockers} blockers: p50 no worse than any peer's ({PEER_NOISE:.0%})"
        )
        value = _value(measured, CLOSED, PYTHON_POOL.name, blockers, "p50_ms")
        if value is None:
            yield _not_measured(statement)
            continue
        theirs = best.median("p50_ms")
        yield Assertion(
            statement, f"{value:.3f} ms against {theirs:.3f} ms, {best.server}", value <= (1 + PEER_NOISE) * theirs
        )


def assertions(measured: Measured, geometries: tuple[str, ...], columns: tuple[int, ...]) -> list[Assertion]:
    """All that can be asked of a run of these geometries and columns."""
    found = [*_loop_collapses(measured, columns)] if FIRST in geometries else []
    for geometry in geometries:
        found += _recovers(measured, geometry, columns)
        found += _saturates_linearly(measured, geometry, columns)
        found += _grows(measured, geometry, columns)
    return [*found, *_no_worse_than_peers(measured, columns), _nothing_failed(measured)]
