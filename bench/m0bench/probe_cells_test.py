import dataclasses
import subprocess

import pytest

from . import probe_cells
from .probe_cells import CLOSED, FIRST, FULL, LOOP, OPEN, POOL, QUICK, arguments, measurement, runs
from .rounds import Row
from .servers import Recipe, granian, uwsgi
from .stub_server import Stub


def _words(recipe: Recipe, geometry: str) -> str:
    return " ".join(arguments(recipe, geometry, 6, FULL))


def test_the_first_geometry_is_bounded_by_what_is_asked_of_the_row() -> None:
    assert "--geometry first --blockers 6" in _words(POOL, FIRST)
    assert "--requests 300 --seconds 20 --at-least 100" in _words(POOL, FIRST)
    assert "--requests 300 --seconds 20 --at-least 20" in _words(LOOP, FIRST)


def test_the_field_is_bounded_by_time() -> None:
    for geometry in (CLOSED, OPEN):
        assert "--seconds 4" in _words(POOL, geometry) and "--requests" not in _words(POOL, geometry)
    assert _words(granian(4), CLOSED).endswith("--seconds 4")
    assert _words(uwsgi(4), CLOSED).endswith("--fresh")


def test_a_look_has_the_columns_that_are_asserted() -> None:
    assert set(QUICK.columns) == {0, 2, 6} < set(FULL.columns)


def test_the_rows_have_names_of_their_own() -> None:
    names = [recipe.name for recipe in [*probe_cells.ROWS, *probe_cells.peers(True)]]
    assert len(names) == len(set(names))


def test_a_cell_that_is_over_at_once_runs_more_often() -> None:
    wanted = runs(FULL)
    assert wanted(Row("pool of 4", "0")) == FULL.runs == 3
    assert wanted(Row("pool of 4", "0", [{"seconds": 0.02}])) == 15
    assert wanted(Row("pool of 4", "6", [{"seconds": 20.4}])) == 3


@pytest.mark.parametrize("geometry", probe_cells.GEOMETRIES)
def test_a_cell_is_measured(stub: Stub, geometry: str) -> None:
    server = stub.as_server()
    plan = dataclasses.replace(QUICK, requests=30, seconds=0.3)
    told = measurement(geometry, plan)(server, 2)
    assert told["errors"] == told["slow_errors"] == 0
    assert told["count"] == 30 if geometry == FIRST else told["count"] > 30
    assert 0 < told["p50_ms"] <= told["p99_ms"] <= told["max_ms"]
    assert stub.asked["/fast"] == told["count"] and stub.asked["/slow"] > 2


def test_a_server_that_fails_is_not_measured(stub: Stub) -> None:
    stub.reply = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(subprocess.CalledProcessError):
        measurement(FIRST, QUICK)(stub.as_server(), 1)
