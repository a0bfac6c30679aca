"""What the sum of a test run is made of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tooling import fuzz_runner, gtest_runner, pytest_runner, sabotage
from tooling.processes import ROOT, run
from tooling.tally import Kind, Outcome, Tally, closing_line, failed, passed, read_allowed_skips, skipped


def program(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def alive(pid: int) -> bool:
    """A zombie, which is somebody else's child and not reaped yet, has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kinds(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.name, outcome.kind.value) for outcome in outcomes]


def test_the_closing_line_mentions_skips_only_when_there_are_some() -> None:
    assert closing_line(3, 0, 0) == "3 passed, 0 failed"
    assert closing_line(3, 1, 2) == "3 passed, 1 failed, 2 skipped"


def test_a_report_ends_with_the_closing_line(capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally([passed("a"), failed("b", "why\nmore"), skipped("c", "later")])
    assert tally.report() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["SKIPPED c: later", "FAILED b: why", "1 passed, 1 failed, 1 skipped"]


def test_nothing_run_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert Tally().report() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed"


def test_a_skip_without_leave_fails(tmp_path: Path) -> None:
    listing = tmp_path / "allowed.txt"
    listing.write_text("# why skips are allowed\n\ntests.test_ipv6::*: the machine may have no IPv6\n")
    tally = Tally([skipped("tests.test_ipv6::test_both", "no IPv6"), skipped("tests.test_x::test_y", "lazy")])
    tally.refuse_skips(read_allowed_skips(listing))
    assert [outcome.kind for outcome in tally.outcomes] == [Kind.SKIPPED, Kind.FAILED]


def test_an_allowed_skip_needs_a_reason(tmp_path: Path) -> None:
    listing = tmp_path / "allowed.txt"
    listing.write_text("tests.test_ipv6::test_both\n")
    with pytest.raises(ValueError, match="needs a reason"):
        read_allowed_skips(listing)


def test_googletest_report() -> None:
    case = {"status": "RUN", "result": "COMPLETED"}
    report = {
        "testsuites": [
            {
                "testsuite": [
                    {"name": "Good", **case},
                    {"name": "Bad", **case, "failures": [{"failure": "1 != 2"}]},
                    {"name": "Later", "status": "RUN", "result": "SKIPPED"},
                    {"name": "DISABLED_Off", "status": "NOTRUN"},
                ],
                "name": "Ring",
            }
        ]
    }
    assert kinds(gtest_runner.read_report("pool_test", report)) == [
        ("pool_test:Ring.Good", "passed"),
        ("pool_test:Ring.Bad", "failed"),
        ("pool_test:Ring.Later", "skipped"),
        ("pool_test:Ring.DISABLED_Off", "skipped"),
    ]


REPORT = '{"testsuites": [{"name": "S", "testsuite": [{"name": "T", "status": "RUN", "result": "COMPLETED"}]}]}'
WRITE_REPORT = (
    f"for word; do case $word in --gtest_output=json:*) echo '{REPORT}' > ${{word#--gtest_output=json:}};; esac; done\n"
)


def test_a_binary_that_passes_is_silent(tmp_path: Path) -> None:
    outcomes, output = gtest_runner.run_binary(program(tmp_path / "x_test", WRITE_REPORT + "echo noise\n"), 10, {})
    assert (kinds(outcomes), output) == ([("x_test:S.T", "passed")], "")


def test_a_crash_after_the_report_is_a_failure(tmp_path: Path) -> None:
    outcomes, output = gtest_runner.run_binary(
        program(tmp_path / "x_test", WRITE_REPORT + "echo race; exit 86\n"), 10, {}
    )
    assert kinds(outcomes) == [("x_test:S.T", "passed"), ("x_test", "failed")]
    assert "race" in output


def test_a_crash_before_any_report_is_a_failure(tmp_path: Path) -> None:
    outcomes, output = gtest_runner.run_binary(program(tmp_path / "x_test", "echo last words; kill -SEGV $$\n"), 10, {})
    assert kinds(outcomes) == [("x_test", "failed")]
    assert "last words" in output


def test_a_binary_without_tests_is_a_failure(tmp_path: Path) -> None:
    outcomes, _ = gtest_runner.run_binary(program(tmp_path / "x_test", "exit 0\n"), 10, {})
    assert kinds(outcomes) == [("x_test", "failed")]


def test_a_build_tree_without_binaries_is_a_failure(tmp_path: Path) -> None:
    assert kinds(gtest_runner.run_all(gtest_runner.find_binaries(tmp_path), 10, {})) == [("unit", "failed")]


def test_a_time_limit_ends_the_grandchildren_too(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    endless = program(tmp_path / "endless", f"sleep 600 & echo $! > {note}; wait\n")
    began = time.monotonic()
    done = run([endless], 1.0)
    assert done.code is None
    assert time.monotonic() - began < 300
    wait_for(lambda: not alive(int(note.read_text())))


def test_junit_report() -> None:
    outcomes = pytest_runner.read_junit(
        """<testsuites><testsuite name="pytest">
        <testcase classname="tests.test_a" name="test_good"/>
        <testcase classname="tests.test_a" name="test_bad"><failure message="assert 1 == 2">...</failure></testcase>
        <testcase classname="tests.test_a" name="test_later"><skipped message="no IPv6"/></testcase>
        <testcase classname="tests.test_a" name="test_teardown"/>
        <testcase classname="tests.test_a" name="test_teardown"><error message="left a process"/></testcase>
        </testsuite></testsuites>"""
    )
    assert kinds(outcomes) == [
        ("tests.test_a::test_good", "passed"),
        ("tests.test_a::test_bad", "failed"),
        ("tests.test_a::test_later", "skipped"),
        ("tests.test_a::test_teardown", "failed"),
    ]


def test_a_pytest_that_runs_nothing_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_empty.py").write_text("")
    outcomes = pytest_runner.run_pytest([tmp_path / "test_empty.py"], 60, {}, [f"--rootdir={tmp_path}"])
    assert kinds(outcomes) == [("pytest", "failed")]


def test_a_fuzz_target_that_fails_or_does_nothing_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "fuzz").mkdir()
    program(tmp_path / "fuzz" / "fuzz_busy", "echo stat::number_of_executed_units: 12\n")
    program(tmp_path / "fuzz" / "fuzz_crash", "echo stat::number_of_executed_units: 12; exit 77\n")
    program(tmp_path / "fuzz" / "fuzz_idle", "exit 0\n")
    assert kinds(fuzz_runner.run_all(tmp_path, 1, {})) == [
        ("fuzz_busy", "passed"),
        ("fuzz_crash", "failed"),
        ("fuzz_idle", "failed"),
    ]


def test_the_sabotage_table_names_lines_that_stand_once() -> None:
    """A rule that moved must take its mutation along; waiting for the sabotage run to say so would be late."""
    mutations = sabotage.read_table(sabotage.TABLE)
    assert len({mutation.rule for mutation in mutations}) == len(mutations) >= 15
    for mutation in mutations:
        text = (ROOT / mutation.file).read_text()
        assert text.count(mutation.old) == 1, f"{mutation.rule}: {mutation.old!r} in {mutation.file}"
        assert ":" in mutation.test


def test_a_copy_keeps_what_did_not_change(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "sub").mkdir(parents=True)
    (source / "same").write_text("1")
    (source / "sub" / "changed").write_text("1")
    sabotage.copy_changed(source, target)
    os.utime(target / "same", (1, 1))
    (source / "sub" / "changed").write_text("2")
    (target / "gone").write_text("left behind")
    sabotage.copy_changed(source, target)
    assert (target / "same").stat().st_mtime == 1
    assert (target / "sub" / "changed").read_text() == "2"
    assert not (target / "gone").exists()


def test_whoever_ends_the_runner_ends_what_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    endless = program(tmp_path / "endless", f"echo $$ > {note}.new; mv {note}.new {note}; exec sleep 600\n")
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from tooling.processes import end_children_with_us, run\n"
        "end_children_with_us()\n"
        f"ThreadPoolExecutor(1).submit(run, [{str(endless)!r}], 600).result()\n"
    )
    scripts = Path(sabotage.__file__).parents[1]
    runner = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(scripts)})
    try:
        wait_for(note.exists)
        runner.terminate()
        assert runner.wait(60) == 128 + signal.SIGTERM
        wait_for(lambda: not alive(int(note.read_text())))
    finally:
        runner.kill()
        runner.wait()
