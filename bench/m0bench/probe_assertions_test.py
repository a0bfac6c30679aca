import pytest

from . import probe_assertions
from .probe_assertions import SCHEDULING_QUANTUM_MS, Assertion, assertions
from .probe_cells import CLOSED, FIRST, GEOMETRIES, GROWING, LOOP, OPEN, POOL, PYTHON_POOL, ROWS, Measured
from .rounds import Row, Rows

_COLUMNS = (0, 1, 2, 4, 6)


def _sample(**changed: float) -> dict[str, float]:
    fine = {
        "p50_ms": 0.1,
        "p99_ms": 0.3,
        "slow_per_s": 10.0,
        "seconds": 4.0,
        "errors": 0,
        "slow_errors": 0,
        "unanswered": 0,
    }
    return {**fine, **changed}


def _measured(*changes: tuple[str, str, int, dict[str, float]]) -> Measured:
    """Everything as it should be, but for `changes`: geometry, row, blockers and values."""
    measured: Measured = {
        geometry: Rows(Row(recipe.name, str(column), [_sample()]) for recipe in ROWS for column in _COLUMNS)
        for geometry in GEOMETRIES
    }
    collapsed = [(FIRST, LOOP.name, 2, {"p50_ms": 405.0}), (FIRST, LOOP.name, 6, {"p50_ms": 2022.0})]
    for geometry, name, column, values in [*collapsed, *changes]:
        row = measured[geometry].row(name, str(column))
        assert row is not None
        row.samples[0].update(values)
    return measured


def _failed(measured: Measured, geometries: tuple[str, ...] = GEOMETRIES) -> list[Assertion]:
    return [found for found in assertions(measured, geometries, _COLUMNS) if not found.holds]


def test_what_is_as_it_should_be_holds() -> None:
    found = assertions(_measured(), GEOMETRIES, _COLUMNS)
    assert [str(assertion) for assertion in found if not assertion.holds] == []
    # 2 of the loop; in each geometry 16 of recovery, 2 of the p99 at 6, 4 of the rate, 2 of growth; 1 of failures.
    assert len(found) == 2 + 3 * 8 + 3 * 8 + 1
    assert str(found[0]).startswith("ok      first, loop only, 2 blockers: p50 at least 0.9 durations: 405.00 ms")


@pytest.mark.parametrize(
    ("geometry", "name", "blockers", "just", "over"),
    [
        (FIRST, LOOP.name, 2, {"p50_ms": 360.0}, {"p50_ms": 359.9}),
        (FIRST, LOOP.name, 6, {"p50_ms": 1600.0}, {"p50_ms": 1599.0}),
        (FIRST, POOL.name, 1, {"p50_ms": 0.149}, {"p50_ms": 0.151}),
        (CLOSED, PYTHON_POOL.name, 2, {"p50_ms": 0.149}, {"p50_ms": 0.151}),
        (OPEN, POOL.name, 2, {"p99_ms": 0.599 + SCHEDULING_QUANTUM_MS}, {"p99_ms": 0.601 + SCHEDULING_QUANTUM_MS}),
        (CLOSED, POOL.name, 6, {"p99_ms": 439.9}, {"p99_ms": 440.1}),
        (FIRST, PYTHON_POOL.name, 6, {"p99_ms": 439.9}, {"p99_ms": 440.1}),
        (FIRST, POOL.name, 4, {"slow_per_s": 8.5}, {"slow_per_s": 8.49}),
        (OPEN, PYTHON_POOL.name, 6, {"slow_per_s": 9.45, "seconds": 80}, {"slow_per_s": 9.44, "seconds": 80}),
        (FIRST, GROWING.name, 6, {"p99_ms": 7.99}, {"p99_ms": 8.0}),
        (FIRST, POOL.name, 0, {"errors": 0}, {"errors": 1}),
        (OPEN, POOL.name, 6, {"unanswered": 0}, {"unanswered": 1}),
        (OPEN, LOOP.name, 6, {"slow_errors": 0, "unanswered": 400}, {"slow_errors": 1}),
    ],
)
def test_each_bound_is_where_it_is_said_to_be(
    geometry: str, name: str, blockers: int, just: dict[str, float], over: dict[str, float]
) -> None:
    assert _failed(_measured((geometry, name, blockers, just))) == []
    (failed,) = _failed(_measured((geometry, name, blockers, over)))
    assert str(failed).startswith("FAILED  ")
    assert "no request failed" in failed.statement or f"{geometry}, {name}, {blockers} blockers" in failed.statement


def test_medians_are_held_and_every_failure_counts() -> None:
    measured = _measured()
    row = measured[FIRST].row(POOL.name, "2")
    assert row is not None
    row.samples = [_sample(p99_ms=100), _sample(), _sample(errors=3)]
    (failed,) = _failed(measured)
    assert failed.measured == "3 failed in 77 runs of cells"


def test_a_cell_that_was_not_measured_fails() -> None:
    measured = _measured()
    measured[FIRST] = Rows(row for row in measured[FIRST] if row.server != GROWING.name)
    (failed,) = _failed(measured)
    assert failed.measured == "not measured" and GROWING.name in failed.statement
    assert not any(assertion.holds for assertion in assertions({}, GEOMETRIES, _COLUMNS))


def test_only_what_was_asked_for_is_asserted() -> None:
    measured = {OPEN: _measured()[OPEN]}
    assert _failed(measured, (OPEN,)) == []
    few = assertions(_measured(), GEOMETRIES, (0, 2))
    assert not any("6 blockers" in found.statement or "1 blockers" in found.statement for found in few)


@pytest.mark.parametrize(("ours", "holds"), [(0.109, True), (0.111, False)])
def test_peers_are_compared_where_they_were_measured(ours: float, holds: bool) -> None:
    measured = _measured((CLOSED, PYTHON_POOL.name, 2, {"p50_ms": ours}))
    for name, p50 in (("granian 4", 0.1), ("uwsgi 4", 0.4)):
        measured[CLOSED] += [Row(name, str(column), [_sample(p50_ms=p50, errors=5)]) for column in _COLUMNS]
    told = [found for found in assertions(measured, GEOMETRIES, _COLUMNS) if "any peer's" in found.statement]
    assert [found.holds for found in told] == [True, holds]
    assert "granian 4" in told[1].measured
    assert probe_assertions.PEER_NOISE == 0.1
