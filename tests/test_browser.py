"""A real browser on the demo's page: what no client of ours can show."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.browser import Browser, Page
from harness.server import ROOT, Server

DEMO = ("app:application", "--app-dir", str(ROOT / "examples" / "demo"), "--drain-spread", "0")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as started:
        yield started


def say(page: Page, line: str) -> None:
    page.evaluate(f"document.getElementById('line').value = {line!r}; document.getElementById('say').requestSubmit()")


def test_two_tabs_stay_in_step_and_survive_a_restart(serve: Callable[..., Server], browser: Browser) -> None:
    server = serve(*DEMO)
    address = f"http://127.0.0.1:{server.port}"
    tabs = [browser.open(address), browser.open(address)]
    for tab in tabs:
        tab.wait_text("link", "connected")
    for number, tab in enumerate(tabs):
        say(tab, f"from tab {number} <b>")
        for each in tabs:
            each.wait_text("wall", f"from tab {number} <b>\n")

    late = browser.open(address)
    late.wait_text("wall", "from tab 0 <b>\nfrom tab 1 <b>\n")

    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    for tab in tabs:
        tab.wait_text("link", "away")
    again = serve(*DEMO, bind=[f"127.0.0.1:{server.port}"])
    for tab in [*tabs, late]:
        tab.wait_text("link", "connected")
    # Ids of the log's former life: told once, not passed over.
    say(tabs[0], "after the restart")
    for tab in [*tabs, late]:
        tab.wait_text("wall", "after the restart\n")
        assert tab.text("wall").count("(some lines were missed)") == 1
        assert tab.text("wall").count("from tab 0") == 1
    again.stop()


def test_a_slow_view_leaves_the_stream_live(serve: Callable[..., Server], browser: Browser) -> None:
    server = serve(*DEMO, "--blocking-threads", "2")
    page = browser.open(f"http://127.0.0.1:{server.port}")
    page.wait_text("link", "connected")
    page.evaluate("void (window.slow = fetch('/sleep?s=5').then(() => window.done = true))")
    for number in range(5):
        say(page, f"line {number}")
        page.wait_text("wall", f"line {number}\n")
    assert page.evaluate("window.done === undefined"), "all while the view slept"
