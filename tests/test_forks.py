"""Processes that the application makes: they keep nothing of ours, and their end is not the server's."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from harness.gate import Gate
from harness.processes import alive
from harness.server import Server, refused, serving
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("forks"), "forks") as server:
        yield server


KINDS = ["subprocess", "multiprocessing"]
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_a_child_has_no_socket_of_ours_and_no_blocked_signals(forks: Server, gate: Gate, kind: str) -> None:
    idle = [forks.connect() for _ in range(5)]
    for client in idle:
        assert client.get("/hello").status == 200
    child = forks.get(f"/{kind}?port={gate.port}").json()["pid"]
    visitor = gate.arrival()
    assert visitor.facts["pid"] == child
    # The connection to the gate itself is made before it looks only in the fork's case.
    assert len(visitor.facts["sockets"]) <= (1 if kind == "multiprocessing" else 0), visitor.facts
    assert visitor.facts["blocked"] == []
    for client in idle:
        assert client.get("/hello").status == 200
        client.close()
    visitor.release()
    wait_until(lambda: not alive(child), "the child ends")


@kinds
def test_a_child_that_stays_keeps_no_client(forks: Server, gate: Gate, kind: str) -> None:
    """The client whose request made it sees the end of its connection."""
    with forks.connect() as client, forks.connect() as other:
        assert other.get("/hello").status == 200
        answer = client.get(f"/{kind}?port={gate.port}", [("Connection", "close")])
        visitor = gate.arrival()
        assert answer.closes
        assert client.ended_cleanly()
        assert other.get("/hello", [("Connection", "close")]).closes
        assert other.ended_cleanly()
        assert alive(answer.json()["pid"])
        visitor.release()


@kinds
def test_a_child_that_stays_keeps_no_port(serve: Callable[..., Server], gate: Gate, kind: str) -> None:
    """After the server's end another one can have the address."""
    server = serve("forks")
    child = server.get(f"/{kind}?port={gate.port}").json()["pid"]
    gate.arrival()
    port = server.port
    # multiprocessing joins its children at exit: the gate is opened only afterwards where the child is no daemon's.
    server.signal(signal.SIGTERM)

    wait_until(lambda: refused(port), "the port is closed although the child lives")
    assert alive(child)
    gate.release_all()
    assert server.wait() == 0
    second = serve("bare", bind=[f"127.0.0.1:{port}"])
    assert second.get("/hello").status == 200


@kinds
def test_terminate_ends_the_child_only(forks: Server, gate: Gate, kind: str) -> None:
    """The handlers it inherited act only where they were installed."""
    child = forks.get(f"/{kind}?port={gate.port}").json()["pid"]
    gate.arrival()
    if kind == "multiprocessing":
        assert forks.get(f"/terminate?pid={child}").json()["exitcode"] == -signal.SIGTERM
    else:
        os.kill(child, signal.SIGTERM)
        wait_until(lambda: not alive(child), "the child ends")
    for _ in range(20):
        assert forks.get("/hello").status == 200
    assert forks.process.poll() is None


def test_sigterm_to_a_plain_fork_ends_it_only(forks: Server) -> None:
    assert forks.get("/os-fork-kill-parent-group").json()["exit"] == -signal.SIGTERM
    assert forks.get("/hello").status == 200


def test_multiprocessing_pool(forks: Server) -> None:
    for _ in range(3):
        assert forks.get("/pool").json() == [5, 4, 3, 2, 1]


def test_subprocess_run(forks: Server) -> None:
    """A broken pipe ends `yes` silently: SIGPIPE is neither blocked nor ignored in children."""
    assert forks.get("/run").json() == {"out": "y\n", "err": "", "code": 0}


def test_a_forked_child_that_returns_from_the_view(forks: Server) -> None:
    """It ends there; the client gets the parent's answer alone."""
    for _ in range(5):
        with forks.connect() as client:
            answer = client.get("/os-fork")
            assert answer.all("X-From") == ["parent"]
            assert answer.json()["exit"] == 0
            assert client.get("/hello").body == b"hello\n"
            assert not alive(answer.json()["pid"])
    assert len(forks.workers()) == 1


def test_a_forked_child_that_returns_in_a_stream(forks: Server) -> None:
    with forks.connect() as client:
        assert client.get("/os-fork-stream").body == b"before after\n"
        assert client.get("/hello").body == b"hello\n"


def test_a_forked_child_that_logs(forks: Server) -> None:
    """Under traffic: no lock of ours may be held in it."""
    import threading

    stopping = threading.Event()

    def traffic() -> None:
        with forks.connect() as client:
            while not stopping.is_set():
                client.get("/errors-stream?text=" + b"noise".hex())

    threads = [threading.Thread(target=traffic) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert forks.get("/os-fork-log").json() == {"exit": 7}
    finally:
        stopping.set()
        for thread in threads:
            thread.join()


def test_forks_under_traffic(forks: Server) -> None:
    """Children are made while other threads answer; every answer is right."""
    import threading

    failures: list[str] = []

    def ask(target: str, count: int) -> None:
        try:
            with forks.connect() as client:
                for _ in range(count):
                    answer = client.get(target)
                    assert answer.status == 200, answer
        except (AssertionError, OSError) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=ask, args=("/hello", 300)) for _ in range(4)]
    threads += [
        threading.Thread(target=ask, args=(target, 10)) for target in ("/os-fork", "/run", "/pool", "/os-fork-stream")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(forks.workers()) == 1
