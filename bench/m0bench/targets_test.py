import pytest

from .rounds import Row, Rows
from .scenarios import REQUESTS_AFTER, REQUESTS_BEFORE
from .targets import Measured, Verdict, best_granian, verdicts


def _rates(case: str, **servers: tuple[float, float, float]) -> Rows:
    """Two equal rounds: requests a second, CPU and p99 of each server."""
    rows = Rows()
    for name, (rps, cpu, p99) in servers.items():
        sample = {"rps": rps, "cpu_us": cpu, "p99_us": p99}
        rows.append(Row(name.replace("_", " "), case, [sample, sample]))
    return rows


def _verdict(measured: Measured, *words: str) -> Verdict:
    (found,) = (v for v in verdicts(measured) if all(word in v.statement for word in words))
    return found


def test_nothing_measured_is_nothing_reached() -> None:
    assert {verdict.reached for verdict in verdicts({})} == {None}


def test_the_best_setting_is_the_one_hardest_to_beat() -> None:
    rows = _rates(
        "64", m0serve=(150, 6, 1), granian_1=(100, 10, 1), granian_4=(110, 11, 1), granian_defaults=(50, 30, 9)
    )
    mine = rows.row("m0serve", "64")
    best = best_granian(rows, "64", mine) if mine else None
    assert best is not None and best.server == "granian 4"


@pytest.mark.parametrize(
    ("rps", "cpu", "rate_reached", "cpu_reached"), [(140, 7, True, True), (139, 7.1, False, False)]
)
def test_hello_is_held_to_rate_and_cpu(rps: float, cpu: float, rate_reached: bool, cpu_reached: bool) -> None:
    measured = {"hello": _rates("64", m0serve=(rps, cpu, 1), granian_1=(100, 10, 1))}
    assert _verdict(measured, "hello, 64", "1.4 times").reached is rate_reached
    assert _verdict(measured, "hello, 64", "0.7 of").reached is cpu_reached


@pytest.mark.parametrize(("scenario", "times"), [("django", 1.1), ("flask", 1.15)])
def test_frameworks_are_held_to_rate_and_p99(scenario: str, times: float) -> None:
    measured = {scenario: _rates("256", m0serve=(times * 100, 1, 1.04), granian_1=(100, 1, 1))}
    assert _verdict(measured, scenario, "256", "times").reached is True
    assert _verdict(measured, scenario, "256", "p99").reached is False
    measured = {scenario: _rates("256", m0serve=(times * 100 - 1, 1, 1), granian_1=(100, 1, 1))}
    assert _verdict(measured, scenario, "256", "times").reached is False
    assert _verdict(measured, scenario, "256", "p99").reached is True


@pytest.mark.parametrize(("rps", "reached"), [(97, True), (96, False)])
def test_defaults_are_held_to_one_thread(rps: float, reached: bool) -> None:
    measured = {"flask": _rates("16", m0serve=(rps, 1, 1), m0serve_1=(100, 1, 1))}
    assert _verdict(measured, "flask, 16", "our --blocking-threads 1").reached is reached


def _isolation(**cases: tuple[float, float]) -> Measured:
    """p50 and p99 in microseconds."""
    return {
        "isolation": Rows(
            Row("m0serve", case.strip("_").replace("_", " "), [{"p50_us": p50, "p99_us": p99}])
            for case, (p50, p99) in cases.items()
        )
    }


@pytest.mark.parametrize(("p99", "reached"), [(7_999, True), (8_000, False)])
def test_sleepers(p99: float, reached: bool) -> None:
    assert _verdict(_isolation(_40_sleepers=(90, p99)), "40 sleepers").reached is reached


@pytest.mark.parametrize(("p50", "p99", "reached"), [(180, 3_999, True), (181, 4_000, False)])
def test_hash(p50: float, p99: float, reached: bool) -> None:
    measured = _isolation(alone=(90, 200), hash=(p50, p99))
    assert _verdict(measured, "hash", "2 times").reached is reached
    assert _verdict(measured, "hash", "p99").reached is reached


@pytest.mark.parametrize(("p50", "p99", "reached"), [(1_999, 4_999, True), (2_000, 5_000, False)])
def test_spinner(p50: float, p99: float, reached: bool) -> None:
    measured = _isolation(spinner=(p50, p99))
    assert _verdict(measured, "spinner", "p50").reached is reached
    assert _verdict(measured, "spinner", "p99").reached is reached


@pytest.mark.parametrize(("rps", "reached"), [(95, True), (94, False)])
def test_mixed_is_held_to_the_best_fixed_size(rps: float, reached: bool) -> None:
    rates = _rates(
        "64", m0serve=(rps, 1, 1), m0serve_8=(80, 1, 1), granian_16=(100, 1, 1), granian_defaults=(500, 1, 1)
    )
    verdict = _verdict({"mixed": rates}, "mixed")
    assert verdict.reached is reached and "granian 16" in verdict.measured


@pytest.mark.parametrize(("rps", "reached"), [(170, True), (169, False)])
def test_workers(rps: float, reached: bool) -> None:
    rows = Rows([Row("1 worker", "64", [{"rps": 100}]), Row("2 workers", "64", [{"rps": rps}])])
    assert _verdict({"workers": rows}, "two workers").reached is reached


@pytest.mark.parametrize(("after", "reached"), [(10_500, True), (10_501, False)])
def test_memory(after: float, reached: bool) -> None:
    sample = {f"rss_{REQUESTS_BEFORE}_kib": 10_000, f"rss_{REQUESTS_AFTER}_kib": after}
    assert _verdict({"memory": Rows([Row("m0serve", "django", [sample])])}, "django", "RSS").reached is reached
