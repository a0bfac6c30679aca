"""A real browser on the demo's page: what no client of ours can show."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.browser import Browser, Page
from harness.server import ROOT, Server
from harness.waiting import wait_until

pytest.importorskip("django")
DEMO = ("app", "--app-dir", str(ROOT / "examples" / "demo"), "--drain-spread", "0")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as started:
        yield started


def opened(browser: Browser, server: Server) -> Page:
    """A tab whose stream and socket are both there."""
    page = browser.open(f"http://127.0.0.1:{server.port}")
    live(page)
    return page


def live(page: Page) -> None:
    for connection in ("chat", "news"):
        wait_until(lambda: page.text(f"{connection}-state") == "live", f"{connection} is live")


def submit(page: Page, form: str, field: str, text: str) -> None:
    page.evaluate(f"document.getElementById('{field}').value = {text!r}")
    page.evaluate(f"document.getElementById('{form}').requestSubmit()")


def say(page: Page, text: str) -> None:
    submit(page, "say", "line", text)


def tell(page: Page, text: str) -> None:
    submit(page, "tell", "headline", text)


def rename(page: Page, name: str) -> None:
    page.evaluate(f"document.getElementById('name').value = {name!r}")
    page.evaluate("document.getElementById('name').dispatchEvent(new Event('change'))")


def test_two_tabs_stay_in_step_and_survive_a_restart(serve: Callable[..., Server], browser: Browser) -> None:
    server = serve(*DEMO)
    tabs = [opened(browser, server), opened(browser, server)]
    for number, tab in enumerate(tabs):
        say(tab, f"said in tab {number} <img>")
        tell(tab, f"told in tab {number} <img>")
        for each in tabs:
            each.wait_text("chat", f"said in tab {number} <img>")
            each.wait_text("news", f"told in tab {number} <img>")
            assert each.evaluate("document.images.length") == 0, "text is no markup"

    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    for tab in tabs:
        tab.wait_text("chat-state", "coming back")
        tab.wait_text("news-state", "coming back")
    again = serve(*DEMO, bind=[f"127.0.0.1:{server.port}"])
    for tab in tabs:
        live(tab)
        tab.wait_text("people", "2 here")
    say(tabs[0], "said after the restart")
    tell(tabs[1], "told after the restart")
    for tab in tabs:
        tab.wait_text("chat", "said after the restart")
        tab.wait_text("news", "told after the restart")
        # Ids of the log's former life: told once, not passed over, and nothing comes twice.
        for list_, verb in (("chat", "said"), ("news", "told")):
            assert tab.text(list_).count("may have been missed") == 1
            for what in ("in tab 0", "in tab 1", "after the restart"):
                assert tab.text(list_).count(f"{verb} {what}") == 1
    again.stop()


def test_with_the_log_in_a_file_a_restart_is_no_gap(
    serve: Callable[..., Server], browser: Browser, tmp_path: Path
) -> None:
    options = (*DEMO, "--event-log", str(tmp_path / "events"))
    server = serve(*options)
    tabs = [opened(browser, server), opened(browser, server)]
    tell(tabs[0], "before the restart")
    for tab in tabs:
        tab.wait_text("news", "before the restart")
    server.stop()
    for tab in tabs:
        tab.wait_text("chat-state", "coming back")
        tab.wait_text("news-state", "coming back")
    again = serve(*options, bind=[f"127.0.0.1:{server.port}"])
    # A third tab tells it, perhaps before the others have come back.
    tell(opened(browser, again), "while they were away")
    for tab in tabs:
        live(tab)
        tab.wait_text("news", "while they were away")
        assert "may have been missed" not in tab.text("news") + tab.text("chat")
        assert tab.text("news").count("before the restart") == 1
    again.stop()


def test_who_is_in_the_room(serve: Callable[..., Server], browser: Browser) -> None:
    server = serve(*DEMO)
    ada, ben = opened(browser, server), opened(browser, server)
    rename(ada, "ada <b>")
    rename(ben, "ben")
    for tab in (ada, ben):
        wait_until(lambda: tab.text("people") == "2 hereada <b>ben", "both are seen")
    ben.evaluate("location.href = 'about:blank'")
    wait_until(lambda: ada.text("people") == "1 hereada <b>", "one has left")
    ada.wait_text("chat", "ben left")
    ben.evaluate("history.back()")
    wait_until(lambda: ada.text("people") == "2 hereada <b>ben", "it has come back")


def test_a_view_that_blocks_leaves_the_page_live(serve: Callable[..., Server], browser: Browser) -> None:
    server = serve(*DEMO, "--blocking-threads", "2")
    page = opened(browser, server)
    page.evaluate("document.getElementById('block').click()")
    page.wait_text("ping", "1 blocked")
    before = page.evaluate("times.length")
    for number in range(5):
        say(page, f"line {number}")
        page.wait_text("chat", f"line {number}")
        tell(page, f"headline {number}")
        page.wait_text("news", f"headline {number}")
    wait_until(lambda: page.evaluate("times.length") > before + 2, "another view is answered again and again")
    assert page.evaluate("blocked") == 1, "all while the view slept"
