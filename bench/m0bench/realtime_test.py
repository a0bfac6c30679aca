import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .realtime import FEW, MANY, Case, case_name, report, verdicts
from .realtime_servers import NCHAN_SERVER, PEERS, PUSHPIN_SERVER, STREAMS, FanServer, Started
from .rounds import Row, Rows
from .servers import CannotServe
from .targets import Verdict


def _sample(per_second: float = 0, cpu: float = 1, p50: float = 1, p99: float = 1, lost: float = 0) -> dict[str, float]:
    told = {"per_second": per_second, "cpu_us": cpu, "p50_ms": p50, "p99_ms": p99}
    return {**told, "lost": lost, "repeated": 0}


def _verdict(rows: Rows, *words: str) -> Verdict:
    (found,) = (v for v in verdicts(rows) if all(word in v.statement for word in words))
    return found


def test_a_case_has_the_name_by_which_it_is_judged() -> None:
    assert Case(5000, 10, 0).name == case_name("burst", MANY)
    assert Case(1000, 10, 5).name == case_name("paced", FEW)


def test_nothing_measured_is_nothing_reached() -> None:
    assert {verdict.reached for verdict in verdicts(Rows())} == {None}


@pytest.mark.parametrize(
    ("mine", "theirs", "rate", "times"), [(1e6, 2e5, True, True), (999_999, 200_001, False, False)]
)
def test_the_burst_is_held_to_a_rate_and_to_pushpins(mine: float, theirs: float, rate: bool, times: bool) -> None:
    case = case_name("burst", MANY)
    rows = Rows([Row(STREAMS.name, case, [_sample(mine)]), Row(PUSHPIN_SERVER.name, case, [_sample(theirs)])])
    assert _verdict(rows, "1,000,000").reached is rate
    assert _verdict(rows, "Pushpin").reached is times
    assert _verdict(rows, "1.5 us").reached is True


@pytest.mark.parametrize(("p99", "reached"), [(9, True), (10, False)])
def test_the_paced_are_held_to_nchans_latencies(p99: float, reached: bool) -> None:
    case = case_name("paced", FEW)
    rows = Rows(
        [Row(STREAMS.name, case, [_sample(p99=p99)]), Row(NCHAN_SERVER.name, case, [_sample(p50=2, p99=10, cpu=9)])]
    )
    assert _verdict(rows, case, "p99").reached is reached
    assert _verdict(rows, case, "p50").reached is True
    assert _verdict(rows, case, "7.5 us").reached is True
    assert _verdict(rows, case_name("paced", MANY), "p99").reached is None


def test_one_that_is_lost_is_told() -> None:
    rows = Rows([Row(STREAMS.name, case_name("burst", FEW), [_sample(), _sample(lost=3)])])
    assert _verdict(rows, "every message").reached is False
    assert "| 3 |" in report(rows)


def _fake(program: str) -> FanServer:
    def start(folder: Path) -> tuple[list[str], tuple[str, ...], Callable[..., Started]]:
        return [sys.executable, "-c", program], ("http://127.0.0.1:1/",), lambda process: Started(process, "", "", "")

    return FanServer("fake", (sys.executable, "no-such-program"), start)


def test_what_is_not_installed_is_named() -> None:
    assert _fake("").missing == ["no-such-program"]
    assert all(peer.needs for peer in PEERS)


def test_a_server_that_does_not_answer_is_told_with_its_last_words() -> None:
    with pytest.raises(CannotServe, match="no room"):
        with _fake("import sys; sys.exit('no room')").running():
            pass
