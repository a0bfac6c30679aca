"""Each limit has an option, and a test that reaches it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from harness.client import Client, Truncated, compose
from harness.gate import Gate
from harness.server import Server, serving
from harness.waiting import BOUND, never, wait_until


def ends_unanswered_or(client: Client, *statuses: int) -> None:
    """The connection is closed; an answer before it, if any, has one of the statuses."""
    try:
        answer = client.response()
    except (Truncated, ConnectionResetError):
        return
    assert answer.status in statuses
    assert answer.closes
    assert client.ended()


# -- sizes


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        tmp_path_factory.mktemp("narrow"), "bare", "--max-line", "100", "--max-head", "300", "--max-fields", "5"
    ) as server:
        yield server


def test_max_line_of_the_request_line(narrow: Server) -> None:
    def line(length: int) -> bytes:
        rest = b"GET /hello? HTTP/1.1"
        return b"GET /hello?" + b"a" * (length - len(rest)) + b" HTTP/1.1\r\nHost: test\r\n\r\n"

    for length, status in ((100, 200), (101, 414), (250, 414)):
        with narrow.connect() as client:
            client.send(line(length))
            assert client.response().status == status


def test_max_line_of_a_field(narrow: Server) -> None:
    for length, status in ((100, 200), (101, 431), (200, 431)):
        with narrow.connect() as client:
            client.send(compose("GET", "/hello", [("X", "a" * (length - 3))]))
            assert client.response().status == status


def test_a_line_that_never_ends_is_refused_at_the_limit(narrow: Server) -> None:
    for start, status in ((b"GET /", 414), (b"GET /hello HTTP/1.1\r\nHost: test\r\nX: ", 431)):
        with narrow.connect() as client:
            client.send(start + b"a" * 120)
            assert client.response().status == status


def test_max_fields(narrow: Server) -> None:
    for count, status in ((4, 200), (5, 431)):
        with narrow.connect() as client:
            client.send(compose("GET", "/hello", [("X", "y")] * count))
            assert client.response().status == status


def test_max_head(narrow: Server) -> None:
    with narrow.connect() as client:
        client.send(compose("GET", "/hello", [("X", "a" * 80)] * 4))
        assert client.response().status == 431


def test_limits_hold_for_trailers(narrow: Server) -> None:
    head = b"POST /note-and-hello?key=trailers HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    for trailer in (b"X: y\r\n" * 6, b"X: " + b"a" * 150 + b"\r\n", (b"X: " + b"a" * 90 + b"\r\n") * 4):
        with narrow.connect() as client:
            client.send(head + trailer + b"\r\n")
            assert client.response().status in (400, 431)
    assert narrow.notes("trailers") == []


# -- times


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    words = [
        "--head-timeout",
        "300ms",
        "--body-timeout",
        "300ms",
        "--idle-timeout",
        "300ms",
        "--write-timeout",
        "500ms",
    ]
    with serving(tmp_path_factory.mktemp("hasty"), "bare", *words) as server:
        yield server


def test_a_silent_client_is_let_go(hasty: Server) -> None:
    with hasty.connect() as client:
        ends_unanswered_or(client, 408)


def test_an_idle_connection_is_let_go_without_a_word(hasty: Server) -> None:
    with hasty.connect() as client:
        assert client.get("/hello").status == 200
        assert client.ended_cleanly()


@pytest.mark.parametrize("part", [b"G", b"GET /hello HTTP/1.1\r\nHos", b"GET /hello HTTP/1.1\r\nHost: test\r\n"])
def test_half_a_head_is_let_go(hasty: Server, part: bytes) -> None:
    with hasty.connect() as client:
        client.send(part)
        ends_unanswered_or(client, 408)


def test_a_head_that_drips_is_let_go(hasty: Server) -> None:
    """The time is for the whole head: a byte now and then does not extend it."""
    with hasty.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.send(b"GET /hello HTTP/1.1\r\nHost: test\r\nX: ")
        end = time.monotonic() + BOUND
        while not client.has_bytes():
            assert time.monotonic() < end, "a dripping head is read without end"
            try:
                client.send(b"a")
            except ConnectionError:
                break
            time.sleep(0.05)
        ends_unanswered_or(client, 408)


def test_half_a_body_is_let_go(hasty: Server) -> None:
    with hasty.connect() as client:
        client.request("POST", "/note-and-hello?key=half", [("Content-Length", "10")])
        client.send(b"abc")
        ends_unanswered_or(client, 408)
    assert hasty.notes("half") == []


def test_a_body_never_begun_is_let_go(hasty: Server) -> None:
    with hasty.connect() as client:
        client.request("POST", "/note-and-hello?key=unbegun", [("Content-Length", "10")])
        ends_unanswered_or(client, 408)
    assert hasty.notes("unbegun") == []


def test_a_body_that_makes_progress_is_read(serve: Callable[..., Server]) -> None:
    """The time is between two pieces, not for the whole."""
    server = serve("bare", "--body-timeout", "1s")
    with server.connect() as client:
        client.request("POST", "/echo", [("Content-Length", "12")])
        for number in range(12):
            time.sleep(0.15)
            client.send(b"%x" % number)
        assert client.response().body == b"0123456789ab"


def test_a_slow_view_is_no_idle_connection(hasty: Server, gate: Gate) -> None:
    """No limit of the client's runs while the application is at work."""
    with hasty.connect() as client:
        client.request("GET", gate.target())
        visitor = gate.arrival()
        never(client.has_bytes, "cut while the view works", during=1.5)
        visitor.release()
        assert client.response().body == b"through\n"


def test_a_client_that_takes_nothing_is_cut(hasty: Server) -> None:
    """And the iterable is closed."""
    with hasty.connect(receive_buffer=4096) as client:
        client.request("GET", "/stream?count=100000&size=10000&key=stuck")
        hasty.wait_note("stuck", "closed")
        with pytest.raises((Truncated, ConnectionResetError)):
            client.response()
    assert hasty.notes("stuck") == ["closed"]


def test_a_client_that_takes_nothing_of_a_sized_answer_is_cut(hasty: Server) -> None:
    with hasty.connect(receive_buffer=4096) as client:
        client.request("GET", "/big?size=67108864")
        wait_until(lambda: not _established(hasty, client), "the server gives the connection up")
        with pytest.raises((Truncated, ConnectionResetError)):
            client.response()


def test_a_client_that_takes_slowly_is_served(hasty: Server) -> None:
    """Progress counts, not the whole time."""
    with hasty.connect(receive_buffer=65536) as client:
        client.request("GET", "/big?size=8388608")
        answer = client.head()
        left = int(answer.header("Content-Length") or 0) - len(client.buffer)
        start = time.monotonic()
        while left > 0:
            data = client.socket.recv(min(left, 200_000))
            assert data, "cut although it reads"
            left -= len(data)
            if time.monotonic() - start < 1.5:
                time.sleep(0.02)


def _established(server: Server, client: Client) -> bool:
    """Whether the server's side of this connection is open."""
    ours = client.socket.getsockname()[1]
    with open("/proc/net/tcp") as table:
        for line in table.read().splitlines()[1:]:
            words = line.split()
            local, remote = (int(word.split(":")[1], 16) for word in words[1:3])
            if (local, remote, words[3]) == (server.port, ours, "01"):
                return True
    return False


# -- connections


def test_max_connections(serve: Callable[..., Server]) -> None:
    """One more waits in the backlog and is served when another goes."""
    server = serve("bare", "--max-connections", "10")
    clients = [server.connect() for _ in range(10)]
    for client in clients:
        assert client.get("/hello").status == 200
    with server.connect() as waiting:
        waiting.request("GET", "/hello")
        never(waiting.has_bytes, "served beyond the limit")
        clients[0].close()
        assert waiting.response().status == 200
    for client in clients:
        client.close()
    assert server.get("/hello").status == 200


def test_a_thousand_idle_connections_while_a_page_is_served(bare: Server) -> None:
    """Slowloris costs its sockets only: a third silent, a third in their head, a third in their body."""
    parts = [b"", b"GET /hello HTTP/1.1\r\nHost: te", compose("POST", "/echo", [("Content-Length", "5")]) + b"ab"]
    slow = []
    for number in range(1000):
        client = bare.connect()
        client.send(parts[number % 3])
        slow.append(client)
    with bare.connect() as quick:
        for _ in range(100):
            assert quick.get("/hello").body == b"hello\n"
    for number, client in enumerate(slow):
        if number % 3 == 1:
            client.send(b"st\r\n\r\n")
        elif number % 3 == 2:
            client.send(b"cde")
        else:
            client.request("GET", "/hello")
    for number, client in enumerate(slow):
        assert client.response().body == (b"abcde" if number % 3 == 2 else b"hello\n")
        client.close()


def test_descriptors_run_out(serve: Callable[..., Server]) -> None:
    """The listener rests while there is no descriptor left, and comes back; who is connected is served."""
    server = serve("bare", prefix=["prlimit", "--nofile=120:120"])
    clients = []
    for _ in range(150):
        client = server.connect()
        client.request("GET", "/hello")
        clients.append(client)
    assert clients[0].response().status == 200
    for _ in range(20):
        assert clients[0].get("/hello").status == 200
    clients[0].close()
    for client in clients[1:]:
        assert client.response().status == 200
        client.close()
    assert server.get("/hello").status == 200
