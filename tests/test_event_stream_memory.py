"""What held event streams cost: memory of the server for each, also of those that never read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from harness.event_stream import EventStream, hold
from harness.processes import status_field
from harness.server import Server


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
