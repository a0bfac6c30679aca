"""The demo does the same in each of its three files; what its page does in a browser is in test_browser.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from harness.client import Response
from harness.event_stream import EventStream
from harness.server import ROOT, Server
from harness.waiting import wait_until
from harness.web_socket import WebSocket

from test_django import Browser

FRAMEWORKS = {"app": "Django", "flask_app": "Flask", "bare_app": "WSGI"}


@pytest.fixture(params=FRAMEWORKS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param != "bare_app":
        pytest.importorskip(FRAMEWORKS[request.param].lower())
    return str(request.param)


@pytest.fixture
def demo(name: str, serve: Callable[..., Server]) -> Server:
    """Each test's own: in a shared one it would hear who leaves from the test before."""
    return serve(name, "--app-dir", str(ROOT / "examples" / "demo"), "--workers", "2")


class Visitor:
    """Somebody who has loaded the page."""

    def __init__(self, server: Server) -> None:
        self.browser = Browser(server)
        self.page = self.browser.ask("GET", "/").body.decode()
        self.cursor, self.token = (self._meta(each) for each in ("cursor", "csrf"))

    def _meta(self, name: str) -> str:
        found = re.search(f'<meta name="{name}" content="([^"]*)">', self.page)
        assert found, self.page
        return found[1]

    def post(self, target: str, **form: str) -> Response:
        fields = [("Content-Type", "application/x-www-form-urlencoded"), ("X-CSRFToken", self.token)]
        return self.browser.ask("POST", target, fields, urlencode(form).encode())


class Chatter:
    """One who has come in, and has heard that."""

    def __init__(self, server: Server, name: str) -> None:
        self.socket = WebSocket(server, f"/chat?name={quote(name)}")
        assert self.socket.answer.status == 101
        assert self._next()["event"] == "m0-cursor"
        assert self.hears() == ("joined", {"name": name})

    def __enter__(self) -> Chatter:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.client.close()

    def _next(self) -> dict[str, Any]:
        return dict(json.loads(self.socket.next().text))

    def hears(self) -> tuple[str, dict[str, str]]:
        got = self._next()
        return got["event"], json.loads(got["data"])


def who(server: Server) -> dict[str, Any]:
    return dict(server.get("/who").json())


def test_the_page_is_the_same_for_all(name: str, demo: Server) -> None:
    visitor = Visitor(demo)
    assert "<title>m0serve demo</title>" in visitor.page
    assert f"One synchronous {FRAMEWORKS[name]} file" in visitor.page
    assert "{{" not in visitor.page
    assert re.fullmatch(r"[0-9a-f]+-\d+", visitor.cursor)


def test_two_chat(demo: Server) -> None:
    with Chatter(demo, "ada <i>") as ada, Chatter(demo, "zo\u00eb") as zoe:
        assert ada.hears() == ("joined", {"name": "zo\u00eb"})
        zoe.socket.send("gr\u00fc\u00dfe & <b>kisses</b>")
        for each in (ada, zoe):
            assert each.hears() == ("said", {"name": "zo\u00eb", "text": "gr\u00fc\u00dfe & <b>kisses</b>"})
        zoe.socket.client.close()
        assert ada.hears() == ("left", {"name": "zo\u00eb"})


def test_who_is_there(demo: Server) -> None:
    with Chatter(demo, "ada"):
        assert who(demo) == {"count": 1, "names": ["ada"]}
        with Chatter(demo, "zo\u00eb"):
            assert who(demo) == {"count": 2, "names": ["ada", "zo\u00eb"]}
        wait_until(lambda: who(demo) == {"count": 1, "names": ["ada"]}, "the other one is gone")


def test_nobody_from_outside_speaks_for_the_server(demo: Server) -> None:
    assert demo.post("/chat", b"hello").status == 405
    assert demo.post("/chat", b"hello", [("M0-Event", "message")]).status == 400


def test_news_between_page_and_stream(demo: Server) -> None:
    visitor = Visitor(demo)
    between = visitor.post("/news", text="between page and stream")
    with EventStream(demo, f"/news?last_event_id={visitor.cursor}") as stream:
        later = visitor.post("/news", text="later\n& more")
        told = stream.take(2)
        assert [event.data for event in told] == ["between page and stream", "later\n& more"]
        assert [event.id for event in told] == [between.body.decode(), later.body.decode()]


def test_a_form_without_its_token_is_refused_by_django(name: str, demo: Server) -> None:
    visitor = Visitor(demo)
    visitor.token = ""
    assert visitor.post("/news", text="forged").status == (403 if name == "app" else 200)


def test_the_button_that_blocks_leaves_the_chat_live(demo: Server) -> None:
    visitor = Visitor(demo)
    cookies = "; ".join(f"{key}={value}" for key, value in visitor.browser.cookies.items())
    fields = [("X-CSRFToken", visitor.token), ("Cookie", cookies)]
    with Chatter(demo, "ada") as ada, Chatter(demo, "ben") as ben, ExitStack() as stack:
        assert ada.hears()[0] == "joined"
        blocked = [stack.enter_context(demo.connect()) for _ in range(20)]  # more than there are threads
        for client in blocked:
            client.request("POST", "/block", fields, b"")
        for number in range(20):
            ada.socket.send(str(number))
            for each in (ada, ben):
                assert each.hears() == ("said", {"name": "ada", "text": str(number)})
            assert demo.get("/ping").body == b"pong"
        assert not any(client.has_bytes() for client in blocked), "all while they slept"
        for client in blocked:
            assert client.response("POST").status == 204
