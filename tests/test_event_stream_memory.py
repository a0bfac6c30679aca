"""What held connections cost: memory of the server for each, also of those that never read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from harness.event_stream import EventStream, hold
from harness.processes import status_field
from harness.server import Server
from harness.waiting import wait_until
from harness.web_socket import BINARY, WebSocket, frame, talk


def resident(server: Server) -> int:
    """KiB of the only worker."""
    return int(status_field(server.workers()[0], "VmRSS").split()[0])


def test_a_held_stream_costs_at_most_a_kib(serve: Callable[..., Server]) -> None:
    server = serve("live")
    with ExitStack() as stack:

        def open_streams(count: int) -> int:
            for _ in range(count):
                stack.enter_context(hold(server, "a"))
            return resident(server)

        few = open_streams(300)  # what the first ones need, they all share
        many = open_streams(1200)
        assert (many - few) * 1024 / 1200 < 1024


def test_clients_that_never_read_cost_what_idle_ones_do(serve: Callable[..., Server]) -> None:
    server = serve("live", "--event-log-size", "4m")
    with ExitStack() as stack:
        for _ in range(100):
            stalled = EventStream(server, "/hold?channel=big", receive_buffer=4096)
            stack.callback(stalled.client.close)
        reader = stack.enter_context(hold(server, "big"))
        prefix = "x" * 10_000
        server.get(f"/publish-many?channel=big&count=400&prefix={prefix[:4000]}")
        reader.take(400)  # the log has gone round once
        before = resident(server)
        for _ in range(5):
            server.get(f"/publish-many?channel=big&count=400&prefix={prefix[:4000]}")
            reader.take(400)
        assert resident(server) - before < 10 * 1024


def test_a_held_websocket_costs_a_kib_and_the_head_of_its_handshake(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "1")
    agent = [("User-Agent", "x" * 500)]
    with ExitStack() as stack:

        def open_sockets(count: int) -> int:
            for _ in range(count):
                socket = WebSocket(server, "/ws?M0-Meta-User=7", agent)
                stack.callback(socket.client.close)
                assert socket.ask("echo:hello").text == "hello"
            return resident(server)

        few = open_sockets(300)
        many = open_sockets(1200)
        assert (many - few) * 1024 / 1200 < 1024 + 600


def test_what_comes_and_goes_leaves_nothing(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "1")

    def come_and_go(count: int) -> int:
        for _ in range(count):
            with WebSocket(server, "/ws?M0-Events=close") as socket:
                assert socket.ask("echo:hello").text == "hello"
        return resident(server)

    few = come_and_go(1000)
    many = come_and_go(2000)
    assert many - few < 1024


def test_messages_that_have_begun_to_arrive_have_a_bound_in_all(serve: Callable[..., Server]) -> None:
    """Those that are complete have one too: a socket is not read any more."""
    server = serve("talk", "--workers", "1")
    before = resident(server)
    sockets = [talk(server, "half") for _ in range(200)]
    for socket in sockets:
        socket.client.send(frame(b"x" * ((1 << 20) - 1), BINARY)[:-1])
    wait_until(lambda: sum(socket.client.has_bytes() for socket in sockets) > 100, "who goes beyond is told")
    grown = max(resident(server) for _ in range(50)) - before
    for socket in sockets:
        socket.client.close()
    assert grown < 100 * 1024
