"""The latency probe against a server whose delays are known."""

import subprocess

import pytest

from . import clients
from .servers import RAW_EPOLL, TOOLS, Recipe, Server
from .stub_server import STALL, Stub


def test_a_stall_is_charged_for_everybody_who_came_meanwhile(stub: Stub) -> None:
    stub.stall_at = 200
    told = clients.probe(stub.as_server(), 1, {})
    assert told["failures"] == told["unanswered"] == 0
    # Of the second about three tenths is the stall: a client that waited for its answer would have seen it once.
    assert told["p90_us"] > STALL * 1e6 / 6
    assert told["p50_us"] < told["p90_us"] < told["max_us"]


@pytest.mark.parametrize("keeps", [True, False])
def test_loads_run_beside_the_probe(stub: Stub, keeps: bool) -> None:
    told = clients.probe(stub.as_server(keeps), 0.3, {"/busy": 2})
    assert told["samples"] > 50 and told["failures"] == 0
    assert stub.asked["/busy"] >= told["load_answered"] > 0
    assert stub.connections <= 18 if keeps else stub.connections >= told["samples"]


def test_exactly_the_requests_wanted_are_asked(stub: Stub) -> None:
    assert clients.ask(stub.as_server(), 1000, 8) == 1000
    assert stub.asked == {"/busy": 1000}


def test_a_server_that_only_fails_is_not_measured(stub: Stub) -> None:
    stub.reply = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(subprocess.CalledProcessError):
        clients.ask(stub.as_server(), 1000, 2)


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
    names = ("latency_probe", "pool_probe", "probe_server", "raw_epoll")
    assert [name for name in names if not (TOOLS / name).exists()] == []
