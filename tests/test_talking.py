"""m0serve.send, close, presence and connection, from the views of all workers, and from outside of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.event_stream import Event, EventStream
from harness.processes import children
from harness.server import Server, serving
from harness.waiting import wait_until
from harness.web_socket import BINARY, CLOSE, TEXT, Frame, WebSocket, talk


ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def control() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="m0-") as folder:  # a socket's name is short
        yield f"{folder}/control.sock"


@pytest.fixture(scope="module", params=[1, 4])
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, control: str) -> Iterator[Server]:
    words = ("talk", "--workers", str(request.param), "--control", control)
    with serving(tmp_path_factory.mktemp("talk"), *words) as server:
        yield server


def ask(server: Server, view: str, **query: str) -> str:
    answer = server.get(f"/{view}?" + urllib.parse.urlencode(query))
    assert answer.status == 200
    return answer.body.decode()


def presence(server: Server, channel: str, **query: str) -> Any:
    return json.loads(ask(server, "presence", channel=channel, **query))


def named(server: Server, channel: str, **fields: str) -> tuple[WebSocket, str]:
    """A socket, and what it is called."""
    socket = talk(server, channel, tell="1", **fields)
    return socket, socket.next().text


def test_the_request_knows_its_connections_name(live: Server) -> None:
    socket, name = named(live, "name")
    with socket:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", name)
        assert json.loads(socket.ask("connection:").text) == [name, name]
    with live.connect() as client:
        names = [client.get("/connection").body.decode() for _ in range(3)]
        assert len(set(names)) == 3, "each request of a kept connection might be held"


def test_a_message_to_one_alone(live: Server) -> None:
    sockets = [named(live, "send") for _ in range(6)]
    for socket, name in sockets:
        assert ask(live, "send", to=name, data=f"to {name}") == "True"
        assert socket.next() == Frame(TEXT, f"to {name}".encode())
        assert ask(live, "send", to=name, data="bytes", binary="1") == "True"
        assert socket.next() == Frame(BINARY, b"bytes")
    for socket, _ in sockets:
        assert not socket.client.has_bytes()
        socket.client.close()


def test_a_message_to_a_stream_has_no_id(live: Server) -> None:
    with EventStream(live, "/ws?hold=stream&channel=s&head=data:+&tell=1") as stream:
        pass
    with EventStream(live, "/ws?hold=stream&channel=s&M0-Meta-Me=stream") as stream:
        stream.opened()
        cursor = stream.last_id
        (me,) = (found for found in presence(live, "s")["all"] if found[1] == {"Me": "stream"})
        assert ask(live, "send", to=me[0], data="two\nlines") == "True"
        assert stream.next() == Event(cursor, "two\nlines")


def test_who_is_there(live: Server) -> None:
    assert presence(live, "there") == {"count": 0, "complete": True, "all": []}
    sockets = [named(live, "there", M0_Meta_User=str(number)) for number in range(8)]
    found = presence(live, "there")
    assert (found["count"], found["complete"]) == (8, True)
    assert sorted(found["all"]) == sorted([name, {"User": str(number)}] for number, (_, name) in enumerate(sockets))
    few = presence(live, "there", limit="3")
    assert (few["count"], len(few["all"])) == (8, 3)
    assert presence(live, "there", limit="0")["all"] == []
    for socket, _ in sockets[:5]:
        socket.client.close()
    wait_until(lambda: presence(live, "there")["count"] == 3, "five have left")
    for socket, _ in sockets[5:]:
        socket.client.close()


def test_one_is_closed_with_code_and_reason(live: Server) -> None:
    socket, name = named(live, "close")
    other, _ = named(live, "close")
    with socket, other:
        assert ask(live, "close", connection=name, code="4000", reason="enough") == "True"
        assert socket.next() == Frame(CLOSE, b"\x0f\xa0enough")
        assert other.ask("echo:still here").text == "still here"


def test_a_channel_is_closed_behind_what_was_published(live: Server) -> None:
    sockets = [talk(live, "all", deflate=number % 2 == 0) for number in range(8)]
    streams = [EventStream(live, "/ws?hold=stream&channel=all") for _ in range(8)]
    for stream in streams:
        stream.opened()
    assert ask(live, "close", channel="all", before="goodbye") == "True"
    for socket in sockets:
        assert socket.next().text == "goodbye"
        assert socket.closed() == 1000
    for stream in streams:
        assert stream.next().data == "goodbye"
        while stream.read_chunk():
            pass
        assert stream.ended, "by a last chunk"
        assert re.fullmatch(r"[0-9a-f]{12}-[0-9]+-end", stream.last_id)
    with live.connect() as client:
        client.request("GET", "/ws?hold=stream&channel=all", [("Last-Event-ID", streams[0].last_id)])
        assert client.response().status == 204
        assert client.get("/page").body == b"a page"
    with live.connect() as client:
        client.request("GET", f"/ws?hold=stream&channel=all&last_event_id={streams[0].last_id}")
        assert client.response().status == 204


def test_who_may_come_back_is_told_so(live: Server) -> None:
    with talk(live, "back") as socket, EventStream(live, "/ws?hold=stream&channel=back") as stream:
        stream.opened()
        assert ask(live, "close", channel="back", reconnect="1") == "True"
        assert socket.closed() == 1012
        while stream.read_chunk():
            pass
        assert not stream.ended, "clients that read it by themselves would never come back"
        assert stream.retry is not None
        assert not stream.last_id.endswith("-end")


def test_right_after_a_worker_was_killed(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "4")
    sockets = [named(server, "killed") for _ in range(24)]
    assert presence(server, "killed")["count"] == 24
    victim = children(server.pid)[0]
    os.kill(victim, signal.SIGKILL)
    gone = [socket for socket, _ in sockets if lost(socket)]
    found = presence(server, "killed")
    assert found == {**found, "count": 24 - len(gone), "complete": True}
    for socket, _ in sockets:
        socket.client.close()


def lost(socket: WebSocket) -> bool:
    """Whether its worker is dead: the others answer."""
    try:
        return socket.ask("echo:x").text != "x"
    except (AssertionError, OSError):
        return True


def test_a_worker_that_does_not_answer_is_told_of(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "2")
    sockets = [named(server, "stopped") for _ in range(12)]
    stopped = children(server.pid)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        # One of the workers that live is asked; half of the connections would wait in the other.
        answers = [socket for socket, _ in sockets if socket.responds()]
        assert 0 < len(answers) < 12
        answers[0].send("presence:stopped")
        found = json.loads(answers[0].next().text)
        assert (found["count"], found["complete"]) == (len(answers), False)
    finally:
        os.kill(stopped, signal.SIGCONT)
    for socket, _ in sockets:
        socket.client.close()


@pytest.fixture
def outside(control: str) -> Callable[[str], str]:
    """What a program of the same user says, which has nothing to do with the server."""

    def run(program: str) -> str:
        environ = {**os.environ, "M0_CONTROL": control, "PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_from_outside_of_the_workers(live: Server, outside: Callable[[str], str]) -> None:
    socket, name = named(live, "outside", M0_Meta_User="7")
    with socket:
        said = outside("import m0serve; print(m0serve.presence('outside'))")
        assert said == f"Presence(count=1, connections=(Connection(id='{name}', meta={{'User': '7'}}),), complete=True)"
        assert outside(f"import m0serve; print(m0serve.send('{name}', 'hello'))") == "True"
        assert socket.next().text == "hello"
        assert outside("import m0serve; print(m0serve.connection(), m0serve.cursor())") == "None None"
        assert outside("import m0serve; print(m0serve.close(channel='outside', code=4009))") == "True"
        assert socket.closed() == 4009
        assert outside("import m0serve; print(m0serve.send('nobody', 'x'))") == "False"
