"""Threads: a handler that blocks strands nobody, N means N, a full lane says so."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

import pytest
from harness.client import Client, compose
from harness.full_queue import fill_queue
from harness.gate import Gate
from harness.server import Server
from harness.waiting import never, wait_until


class Crowd:
    """Connections that ask for one target again and again until told to stop."""

    def __init__(self, server: Server, count: int, target: str) -> None:
        self.stopping = threading.Event()
        self.answers = 0
        self.failures: list[str] = []
        self._lock = threading.Lock()
        self.threads = [threading.Thread(target=self._ask, args=(server, target)) for _ in range(count)]

    def _ask(self, server: Server, target: str) -> None:
        try:
            with server.connect() as client:
                while not self.stopping.is_set():
                    assert client.get(target).status == 200
                    with self._lock:
                        self.answers += 1
        except (AssertionError, OSError) as error:
            self.failures.append(repr(error))

    def __enter__(self) -> Crowd:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert self.failures == []


def durations(server: Server, count: int, target: str = "/hello") -> list[float]:
    """How long each of `count` requests on one connection took."""
    taken = []
    with server.connect() as client:
        for _ in range(count):
            start = time.perf_counter()
            assert client.get(target).status == 200
            taken.append(time.perf_counter() - start)
    return taken


def test_forty_sleepers_do_not_delay_a_fast_view(serve: Callable[..., Server]) -> None:
    """At the defaults, from the first request on: as a multiple of what the sleepers sleep."""
    server = serve("bare")
    with Crowd(server, 40, "/sleep?ms=400") as crowd:
        wait_until(lambda: crowd.answers >= 40, "the sleepers are at it")
        taken = sorted(durations(server, 300))
    assert statistics.median(taken) < 0.400 / 10
    assert taken[int(len(taken) * 0.95)] < 0.400 / 2


def test_the_first_fast_request_behind_a_burst_of_sleepers(serve: Callable[..., Server], gate: Gate) -> None:
    """While the lane still has to grow."""
    server = serve("bare")
    clients = [server.connect() for _ in range(40)]
    for client in clients:
        client.request("GET", gate.target())
    start = time.perf_counter()
    assert server.get("/hello").status == 200
    assert time.perf_counter() - start < 5, "with the gate shut only growth can help"
    gate.arrivals(40)
    gate.release_all()
    for client in clients:
        assert client.response().body == b"through\n"


def test_a_view_that_computes_without_the_lock_does_not_delay_others(serve: Callable[..., Server]) -> None:
    server = serve("bare")
    alone = statistics.median(durations(server, 3, "/burn?rounds=300000"))
    with Crowd(server, 1, "/burn?rounds=300000") as crowd:
        wait_until(lambda: crowd.answers >= 1, "it burns")
        taken = durations(server, 200)
    assert statistics.median(taken) < alone / 10


def test_a_view_that_spins_in_python_delays_others_by_a_fraction(serve: Callable[..., Server]) -> None:
    server = serve("bare")
    with Crowd(server, 1, "/spin?ms=300") as crowd:
        wait_until(lambda: crowd.answers >= 1, "it spins")
        taken = durations(server, 100)
    assert statistics.median(taken) < 0.300 / 10


def test_the_lane_grows_to_its_maximum_and_no_further(serve: Callable[..., Server], gate: Gate) -> None:
    """64 at the defaults: the 65th waits."""
    server = serve("bare")
    clients = [server.connect() for _ in range(66)]
    for client in clients:
        client.request("GET", gate.target())
    inside = gate.arrivals(64)
    assert gate.arrival_or_none() is None
    assert len({visitor.facts["thread"] for visitor in inside}) == 64
    inside[0].release()
    gate.arrival()
    inside[1].release()
    gate.arrival()
    gate.release_all()
    for client in clients:
        assert client.response().body == b"through\n"


@pytest.mark.parametrize("count", [1, 3, 12])
def test_exactly_n_threads(serve: Callable[..., Server], gate: Gate, count: int) -> None:
    server = serve("bare", "--blocking-threads", str(count))
    clients = [server.connect() for _ in range(count + 4)]
    for client in clients:
        client.request("GET", gate.target())
    inside = gate.arrivals(count)
    assert gate.arrival_or_none() is None
    seen = {visitor.facts["thread"] for visitor in inside}
    for _ in range(4):
        inside.pop(0).release()
        inside.append(gate.arrival())
        seen.add(inside[-1].facts["thread"])
    gate.release_all()
    for client in clients:
        assert client.response().body == b"through\n"
    assert len(seen) == count


def test_growth_from_n_to_m(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare", "--blocking-threads", "2", "--max-blocking-threads", "5")
    clients = [server.connect() for _ in range(7)]
    for client in clients:
        client.request("GET", gate.target())
    gate.arrivals(5)
    assert gate.arrival_or_none() is None
    gate.release_all()
    gate.arrivals(2)
    gate.release_all()
    for client in clients:
        assert client.response().body == b"through\n"


def test_threads_have_names_and_none_is_the_main_one(bare: Server) -> None:
    seen = bare.get("/threads").json()
    assert seen["on_main"] is False
    assert seen["imported_on_main"] is True
    assert "default" in seen["current"] or "m0" in seen["current"]
    assert not seen["current"].startswith("Dummy")


def test_the_switch_interval(serve: Callable[..., Server]) -> None:
    assert serve("bare").get("/threads").json()["switch_interval"] == pytest.approx(0.001)
    assert serve("bare", "--switch-interval", "7ms").get("/threads").json()["switch_interval"] == pytest.approx(0.007)


def test_a_full_lane_answers_503(serve: Callable[..., Server], gate: Gate) -> None:
    """With Retry-After, at once, and the connection may go on."""
    server = serve("bare", "--blocking-threads", "1", "--queue", "4")
    running = server.connect()
    running.request("GET", gate.target())
    visitor = gate.arrival()

    def ask() -> Client:
        client = server.connect()
        client.request("GET", "/note-and-hello?key=full")
        return client

    refused, queued = fill_queue(ask)
    assert 4 <= len(queued) <= 8
    answer = refused.response()
    assert answer.status == 503
    assert int(answer.header("Retry-After") or "") >= 1
    visitor.release()
    for client in [running, *queued]:
        assert client.response().status == 200
    if not answer.closes:
        assert refused.get("/hello").status == 200
    assert len(server.notes("full")) == len(queued)


def test_a_queued_request_of_a_vanished_client_is_not_run(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare", "--blocking-threads", "1")
    running = server.connect()
    running.request("GET", gate.target())
    visitor = gate.arrival()
    (worker,) = server.workers()
    before = _socket_count(worker)
    gone, stays = server.connect(), server.connect()
    gone.request("GET", "/note-and-hello?key=gone")
    stays.request("GET", "/note-and-hello?key=stays")
    wait_until(lambda: _socket_count(worker) == before + 2, "both are accepted")
    gone.reset()
    wait_until(lambda: _socket_count(worker) == before + 1, "the server sees that it left")
    visitor.release()
    assert stays.response().status == 200
    assert running.response().status == 200
    assert server.notes("stays") == ["ran"]
    assert server.notes("gone") == []


def _socket_count(pid: int) -> int:
    from harness.processes import open_sockets

    return len(open_sockets(pid))


def test_pipelined_requests_behind_a_vanished_client_are_not_run(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare", "--blocking-threads", "2")
    client = server.connect()
    client.send(compose("GET", gate.target()) + compose("GET", "/note-and-hello?key=behind"))
    visitor = gate.arrival()
    (worker,) = server.workers()
    before = _socket_count(worker)
    client.reset()
    wait_until(lambda: _socket_count(worker) < before, "the server sees that it left")
    visitor.release()
    assert server.get("/hello").status == 200
    never(lambda: server.notes("behind"), "a request without a client was run")


def test_saturation_is_linear_and_nothing_is_lost(serve: Callable[..., Server]) -> None:
    """More blockers than threads: each is answered, in turn."""
    server = serve("bare", "--blocking-threads", "4")
    clients = [server.connect() for _ in range(60)]
    for client in clients:
        client.request("GET", "/sleep?ms=20")
    for client in clients:
        assert client.response().body == b"slept\n"


def test_many_short_requests_on_many_connections(bare: Server) -> None:
    with Crowd(bare, 32, "/hello") as crowd:
        wait_until(lambda: crowd.answers >= 5000, "all are served")


def test_streams_wait_without_holding_the_interpreter(serve: Callable[..., Server]) -> None:
    """A reader that stands still blocks its thread only."""
    server = serve("bare", "--blocking-threads", "3")
    stuck = [server.connect(receive_buffer=4096) for _ in range(2)]
    for client in stuck:
        client.request("GET", "/stream?count=2000&size=10000")
        client.head()
    for _ in range(50):
        assert server.get("/hello").status == 200
    for client in stuck:
        client.reset()
