"""A real nginx in front, with the lines of docs/operating.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from harness.browser import Browser
from harness.client import Client
from harness.event_stream import EventStream
from harness.server import ROOT, Server
from harness.waiting import BOUND, wait_until
from harness.web_socket import PING, PONG, WebSocket

import test_browser

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PAGE = (ROOT / "docs" / "operating.md").read_text()

# scripts/setup installs it for `proxy`, apart from the other tests' packages, because it starts a service.
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is missing: scripts/setup proxy")


class Proxy:
    """What a client sees in place of the server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.fields = [("Host", f"127.0.0.1:{port}")]

    def connect(self, timeout: float = BOUND, receive_buffer: int | None = None) -> Client:
        return Client(("127.0.0.1", self.port), timeout, receive_buffer)

    def stream(self, target: str) -> EventStream:
        return EventStream(self, target, self.fields)  # type: ignore[arg-type]

    def websocket(self, target: str, origin: str | None = None) -> WebSocket:
        fields = [*self.fields, ("Origin", origin or self.origin)]
        return WebSocket(self, target, fields)  # type: ignore[arg-type]


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} in\n{text}"
    return text.replace(old, new)


@contextmanager
def nginx(directory: Path, server: Server, *more: str) -> Iterator[Proxy]:
    """The page's configuration, with `more` lines in its location."""
    (shown,) = re.findall(r"^```nginx\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        text = replaced(shown, "listen 80;", f"listen 127.0.0.1:{port};")
        text = replaced(text, "server unix:/run/shop/shop.sock;", f"server 127.0.0.1:{server.port};")
        text = replaced(text, "    proxy_pass", "".join(f"    {line};\n        " for line in more) + "    proxy_pass")
        paths = "".join(f"{kind}_temp_path {directory}/{kind};\n" for kind in ("proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = directory / f"nginx-{port}.conf"
        configuration.write_text(
            f"daemon off;\npid {directory}/pid-{port};\nerror_log stderr;\n"
            + ("user root;\n" if os.geteuid() == 0 else "")
            + f"events {{}}\nhttp {{\naccess_log off;\nclient_body_temp_path {directory}/body;\n{paths}{text}}}\n"
        )
        # It takes over the listener that it is given by number here, so that no other process can take the port.
        fd = listener.fileno()
        process = subprocess.Popen(
            [str(NGINX), "-e", "stderr", "-p", str(directory), "-c", str(configuration)],
            env={**os.environ, "NGINX": f"{fd};"},
            pass_fds=(fd,),
            stdin=subprocess.DEVNULL,
            stderr=(directory / f"nginx-{port}.log").open("wb"),
            start_new_session=True,
        )
        try:
            yield Proxy(port)
            assert process.poll() is None, (directory / f"nginx-{port}.log").read_text()
        finally:
            process.terminate()
            process.wait(BOUND)


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Callable[..., Proxy]]:
    with ExitStack() as stack:
        yield lambda server, *more: stack.enter_context(nginx(tmp_path, server, *more))


def test_an_event_comes_through_at_once(serve: Callable[..., Server], proxied: Callable[..., Proxy]) -> None:
    server = serve("talk")
    with proxied(server).stream("/ws?hold=stream&channel=news") as stream:
        stream.opened()
        for number in range(5):  # each before the next is published
            server.get(f"/publish?channel=news&data={number}")
            assert stream.next().data == str(number)
        assert stream.answer.header("X-Accel-Buffering") is None


def test_a_websocket_of_a_page_of_the_proxy(serve: Callable[..., Server], proxied: Callable[..., Proxy]) -> None:
    server = serve("talk")
    proxy = proxied(server)
    with proxy.websocket("/ws?channel=news") as socket:
        assert socket.ask("echo:hello").text == "hello"
        server.get("/publish?channel=news&data=rain")
        assert socket.next().text == "rain"
        seen = json.loads(socket.ask("fields:").text)
        assert seen["HTTP_X_FORWARDED_FOR"] == "127.0.0.1"
    with proxy.websocket("/ws", origin="http://elsewhere.example") as socket:
        assert socket.answer.status == 403


def test_what_a_page_without_those_lines_gets(
    serve: Callable[..., Server], proxied: Callable[..., Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says what each line is for."""
    server = serve("talk")
    for line, other, status in [
        ("proxy_set_header Upgrade $http_upgrade;", "", 426),
        ("Host $http_host", "Host $host", 403),
    ]:
        with monkeypatch.context() as patched:
            patched.setattr(f"{__name__}.PAGE", replaced(PAGE, line, other))
            with proxied(server).websocket("/ws") as socket:
                assert socket.answer.status == status


def test_who_leaves_the_proxy_leaves_the_server(serve: Callable[..., Server], proxied: Callable[..., Proxy]) -> None:
    server = serve("talk")
    proxy = proxied(server)

    def count() -> int:
        return int(server.get("/presence?channel=room").json()["count"])

    with proxy.stream("/ws?hold=stream&channel=room") as stream, proxy.websocket("/ws?channel=room"):
        stream.opened()
        wait_until(lambda: count() == 2, "both are there")
    wait_until(lambda: count() == 0, "both are gone")


def test_signs_of_life_have_to_come_before_the_read_timeout(
    serve: Callable[..., Server], proxied: Callable[..., Proxy]
) -> None:
    server = serve("talk")
    proxy = proxied(server, "proxy_read_timeout 3s")
    quiet = proxy.stream("/ws?hold=stream&channel=quiet&M0-Keep-Alive=60").opened()
    with proxy.stream("/ws?hold=stream&channel=quiet&M0-Keep-Alive=1").opened() as lively:
        assert quiet.client.ended()
        before = lively.comments
        while lively.comments < before + 5:
            assert lively.read_chunk(), "as old as the other one, and longer there than the timeout"


def test_the_pings_of_a_websocket_are_signs_of_life(
    serve: Callable[..., Server], proxied: Callable[..., Proxy]
) -> None:
    server = serve("talk")
    with proxied(server, "proxy_read_timeout 3s").websocket("/ws?M0-Keep-Alive=1") as socket:
        for _ in range(5):
            ping = socket.receive()
            assert ping.opcode == PING
            socket.send(ping.payload, PONG)
        assert socket.ask("echo:still here").text == "still here"


def test_a_stop_is_told_through_it(serve: Callable[..., Server], proxied: Callable[..., Proxy]) -> None:
    server = serve("talk", "--drain-spread", "0")
    proxy = proxied(server)
    with proxy.stream("/ws?hold=stream&channel=all").opened() as stream, proxy.websocket("/ws?channel=all") as socket:
        server.signal(signal.SIGTERM)
        assert socket.closed() == 1012
        while stream.read_chunk():
            pass
        assert not stream.ended, "a clean end would keep clients that use fetch from coming back"


def test_nobody_speaks_the_servers_own_fields_through_it(
    serve: Callable[..., Server], proxied: Callable[..., Proxy]
) -> None:
    proxy = proxied(serve("talk"))
    with proxy.connect() as client:
        assert client.post("/ws", b"hello", [*proxy.fields, ("M0-Event", "message")]).status == 400


def test_two_tabs_come_back_after_a_restart_behind_it(
    serve: Callable[..., Server], proxied: Callable[..., Proxy], tmp_path: Path
) -> None:
    """Meanwhile nginx answers 502, which ends an EventSource for good."""
    pytest.importorskip("django")
    server = serve(*test_browser.DEMO)
    proxy = proxied(server)
    with Browser(tmp_path / "browser") as browser:
        tabs = [test_browser.opened(browser, proxy) for _ in range(2)]  # type: ignore[arg-type]
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        for tab in tabs:
            wait_until(lambda: tab.evaluate("news.readyState == EventSource.CLOSED"), "it has got its 502")
        serve(*test_browser.DEMO, bind=[f"127.0.0.1:{server.port}"])
        for tab in tabs:
            test_browser.live(tab)
        test_browser.tell(tabs[0], "told after the restart")
        test_browser.say(tabs[1], "said after the restart")
        for tab in tabs:
            tab.wait_text("news", "told after the restart")
            tab.wait_text("chat", "said after the restart")
