import subprocess
from types import SimpleNamespace
from typing import Any, cast

from .clients import Sample
from .rounds import Row, ratio, take_turns
from .servers import Server


def _servers(*names: str) -> list[Server]:
    return [cast(Server, SimpleNamespace(name=name)) for name in names]


def _row(server: str, *rates: float) -> Row:
    return Row(server, "64", [{"rps": rate} for rate in rates])


def test_ratio_is_taken_pair_by_pair() -> None:
    # The machine halves its speed in the third round: medians (100 : 50) would say 2, every pair says 1 or less.
    assert ratio(_row("a", 100, 100, 25), _row("b", 200, 100, 50), "rps") == 0.5


def test_servers_take_turns_within_a_round() -> None:
    turns = []

    def measure(server: Server, parameter: Any) -> Sample:
        turns.append((server.name, parameter))
        return {"rps": 1.0}

    rows = take_turns(_servers("a", "b"), {"x": 1, "y": 2}, 2, measure)
    assert turns == [("a", 1), ("b", 1), ("a", 2), ("b", 2)] * 2
    assert [(row.server, row.case, len(row.samples)) for row in rows] == [
        ("a", "x", 2),
        ("b", "x", 2),
        ("a", "y", 2),
        ("b", "y", 2),
    ]


def test_a_row_says_how_many_rounds_it_takes_part_in() -> None:
    turns = []

    def measure(server: Server, parameter: Any) -> Sample:
        turns.append(server.name)
        return {"rps": 1.0 if server.name == "a" else 9.0}

    def wanted(row: Row) -> int:
        return 3 if row.samples and row.samples[0]["rps"] < 5 else 1

    rows = take_turns(_servers("a", "b"), {"x": 1}, wanted, measure)
    assert turns == ["a", "b", "a", "a"]
    assert [len(row.samples) for row in rows] == [3, 1]


def test_a_server_that_fails_sits_out_that_case_alone() -> None:
    def measure(server: Server, parameter: Any) -> Sample:
        if (server.name, parameter) == ("a", 1):
            raise subprocess.CalledProcessError(1, "wrk")
        return {"rps": 1.0}

    rows = take_turns(_servers("a", "b"), {"x": 1, "y": 2}, 3, measure)
    assert rows.row("a", "x") is None
    assert [len(row.samples) for row in rows] == [0, 3, 3, 3]
