from .probe_cells import CLOSED, FIRST, LOOP, POOL
from .probe_report import cells, summary
from .rounds import Row, Rows


def _rows(*names: str) -> Rows:
    sample = {
        "p50_ms": 0.123,
        "p99_ms": 12.34,
        "max_ms": 405.6,
        "count": 52,
        "errors": 1,
        "unanswered": 2,
        "slow_per_s": 9.876,
    }
    return Rows(Row(name, case, [sample]) for name in names for case in ("0", "2"))


def test_published_figures_stand_under_ours() -> None:
    lines = summary(FIRST, _rows(LOOP.name, POOL.name), (0, 2)).splitlines()
    assert lines[4].startswith("| loop only | 0.12 / 12.3 | 0.12 / 12.3 | by definition")
    assert lines[5] == "| *loop only, published* |  | 405 |  |"
    assert lines[6].startswith("| pool of 4 |") and "the result" in lines[6]
    assert lines[7] == "| *pool of 4, published* | 0.2-0.3 | 0.2-0.3 |  |"


def test_a_peer_that_is_left_out_keeps_its_earlier_line() -> None:
    told = summary(CLOSED, _rows(POOL.name), (0, 2))
    assert "| *granian 4, before* | 0.13 | 0.12 |  |" in told
    assert "| granian 4 |" not in told


def test_a_cell_that_was_not_measured_is_said() -> None:
    rows = _rows(POOL.name)
    rows[1].samples = []
    assert "| pool of 4 | 0.12 / 12.3 | not measured |" in summary(FIRST, rows, (0, 2))


def test_every_cell_tells_how_many_it_counted() -> None:
    lines = cells(_rows(POOL.name)).splitlines()
    assert lines[2] == "| pool of 4 | 0 | 1 | 0.12 | 12.3 | 406 | 52 | 1 | 2 | 9.88 |"
    assert len(lines) == 4
