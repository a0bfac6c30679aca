"""The latency probe against a server whose delays are known."""

import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import cast

import pytest

from . import clients
from .servers import RAW_EPOLL, TOOLS, Recipe, Server

_STALL = 0.3


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = cast(_Stub, self.server)
        server.connections += 1
        while (line := self.rfile.readline()).startswith(b"GET"):
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            server.answer(line.split()[1].decode())
            self.wfile.write(server.reply)


class _Stub(socketserver.ThreadingTCPServer):
    """Answers at once, except that it once stands still for everybody."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.stall_at: int | None = None
        self.connections = 0
        self.asked: dict[str, int] = {}
        self._lock = threading.Lock()

    def answer(self, path: str) -> None:
        with self._lock:
            self.asked[path] = self.asked.get(path, 0) + 1
            if self.asked[path] == self.stall_at:
                time.sleep(_STALL)  # with the lock held: whoever comes meanwhile waits too


@pytest.fixture
def stub() -> Iterator[_Stub]:
    with _Stub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _server(stub: _Stub, keeps: bool = True) -> Server:
    server = Server.__new__(Server)  # nothing is started: the stub is there
    server.recipe = Recipe("stub", "raw", keeps_connections=keeps)
    server.path, server.port = "/busy", stub.server_address[1]
    server.process = cast("subprocess.Popen[bytes]", type("NoProcess", (), {"pid": 2**22 + 1}))
    return server


def test_a_stall_is_charged_for_everybody_who_came_meanwhile(stub: _Stub) -> None:
    stub.stall_at = 200
    told = clients.probe(_server(stub), 1, {})
    assert told["failures"] == told["unanswered"] == 0
    # Of the second about three tenths is the stall: a client that waited for its answer would have seen it once.
    assert told["p90_us"] > _STALL * 1e6 / 6
    assert told["p50_us"] < told["p90_us"] < told["max_us"]


@pytest.mark.parametrize("keeps", [True, False])
def test_loads_run_beside_the_probe(stub: _Stub, keeps: bool) -> None:
    told = clients.probe(_server(stub, keeps), 0.3, {"/busy": 2})
    assert told["samples"] > 50 and told["failures"] == 0
    assert stub.asked["/busy"] >= told["load_answered"] > 0
    assert stub.connections <= 18 if keeps else stub.connections >= told["samples"]


def test_exactly_the_requests_wanted_are_asked(stub: _Stub) -> None:
    assert clients.ask(_server(stub), 1000, 8) == 1000
    assert stub.asked == {"/busy": 1000}


def test_a_server_that_only_fails_is_not_measured(stub: _Stub) -> None:
    stub.reply = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(subprocess.CalledProcessError):
        clients.ask(_server(stub), 1000, 2)


def test_wrk_tells_rate_and_cpu_of_a_server() -> None:
    server = Server(Recipe("raw epoll test", RAW_EPOLL.family), "none")
    try:
        told = clients.wrk(server, 4, 1)
    finally:
        server.stop()
    assert told["requests"] > 100 and told["errors"] == 0
    assert told["cpu_us"] > 0 and told["p99_us"] >= told["p50_us"] > 0
    assert server.process.returncode is not None


def test_the_tools_are_built() -> None:
    assert (TOOLS / "latency_probe").exists() and (TOOLS / "raw_epoll").exists()
