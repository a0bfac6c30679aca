"""The snippets of docs/clients.md in a real browser: each hears, and hears again after a restart of the server."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.browser import Browser, Page
from harness.event_stream import EventStream
from harness.server import ROOT, Server
from harness.waiting import wait_until

PAGE = (ROOT / "docs" / "clients.md").read_text()
SNIPPETS = dict(re.findall(r"^```html ([\w-]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
# What is published for the snippet before it; else it is text.
PUBLISHED = dict(re.findall(r"^```html ([\w-]+)\n[^`]*^```\n\n```text published\n([^`]*)\n```$", PAGE, re.MULTILINE))

# A folder with what these packages hold, for whom wants to see them run: no index is asked for them.
LIBRARIES = os.environ.get("M0_CLIENT_LIBRARIES")
SCRIPTS = {
    "htmx-sse": ("htmx.org/dist/htmx.js", "htmx-ext-sse/dist/sse.js"),
    "htmx-ws": ("htmx.org/dist/htmx.js", "htmx-ext-ws/ws.js"),
    "turbo": ("@hotwired/turbo/dist/turbo.es2017-umd.js",),
    "reconnecting-websocket": ("reconnecting-websocket/dist/reconnecting-websocket-iife.js",),
}
WITHOUT = ("eventsource", "websocket", "fetch")
# What comes back without its cursor.
FORGETS = ("htmx-ws",)


@pytest.fixture
def client(serve: Callable[..., Server], tmp_path: Path) -> Callable[[str], Callable[..., Server]]:
    """Writes the page of a snippet, and gives what starts a server of it."""

    def prepare(name: str) -> Callable[..., Server]:
        head = "<!doctype html><meta charset=utf-8>"
        for number, script in enumerate(SCRIPTS.get(name, ())):
            assert LIBRARIES is not None
            (tmp_path / f"{number}.js").write_text((Path(LIBRARIES) / script).read_text())
            head += f'<script src="/pages/{number}.js"></script>'
        (tmp_path / "page.html").write_text(head + SNIPPETS[name])
        return lambda **more: serve("clients", "--drain-spread", "0", env={"M0TEST_PAGES": str(tmp_path)}, **more)

    return prepare


def publish(server: Server, name: str, text: str) -> None:
    body = PUBLISHED.get(name, "it rains").replace("it rains", text)
    assert server.post("/publish", body.encode()).status == 200


def text(page: Page) -> str:
    return str(page.evaluate("document.body.innerText"))


def heard(server: Server, page: Page, name: str, what: str) -> None:
    """Who resumes is told once. Who does not has to be told again until it is there."""
    if name not in FORGETS:
        publish(server, name, what)
    wait_until(
        lambda: what in text(page) or (name in FORGETS and publish(server, name, what)),
        f"{what!r} in {text(page)!r}",
    )


@pytest.mark.parametrize("name", WITHOUT)
def test_a_snippet(client: Callable[[str], Callable[..., Server]], name: str, tmp_path: Path) -> None:
    through_a_restart(client(name), name, tmp_path)


@pytest.mark.skipif(LIBRARIES is None, reason="M0_CLIENT_LIBRARIES names no folder with them")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_library(client: Callable[[str], Callable[..., Server]], name: str, tmp_path: Path) -> None:
    through_a_restart(client(name), name, tmp_path)


def through_a_restart(start: Callable[..., Server], name: str, tmp_path: Path) -> None:
    server = start()
    with Browser(tmp_path / "browser") as browser:
        page = browser.open(f"http://127.0.0.1:{server.port}/pages/page.html")
        heard(server, page, name, "it rains")
        if name in ("websocket", "htmx-ws"):
            with EventStream(server, "/said").opened() as said:
                wait_until(lambda: page.evaluate("document.forms.length"), "its form")
                page.evaluate("document.querySelector('input').value = 'from the page'")
                page.evaluate("document.forms[0].requestSubmit()")
                told = said.next().data
                assert (json.loads(told)["line"] if name == "htmx-ws" else told) == "from the page"
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        again = start(bind=[f"127.0.0.1:{server.port}"])
        heard(again, page, name, "it has stopped")
        if name in WITHOUT or name == "reconnecting-websocket":
            assert text(page).count("it rains") == text(page).count("it has stopped") == 1
            assert text(page).count("(some were missed)") == 1
        if name == "fetch":
            assert again.post("/close", b"").body == b"True"
            wait_until(lambda: "(closed)" in text(page), "it has heard that it shall not come back")


def test_every_snippet_is_known() -> None:
    assert set(SNIPPETS) == {*WITHOUT, *SCRIPTS, "datastar"}
    assert set(PUBLISHED) == {"htmx-sse", "htmx-ws", "turbo", "datastar"}
