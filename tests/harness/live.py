"""What the tests of the event log ask of tests/apps/live.py."""

from __future__ import annotations

from contextlib import ExitStack

from .client import Client
from .server import Server
from .waiting import wait_until


def connections_to_each(server: Server, stack: ExitStack, count: int = 2) -> dict[int, Client]:
    """One kept connection to each worker."""
    found: dict[int, Client] = {}

    def more() -> bool:
        client = server.connect()
        pid = int(client.get("/who").body)
        if pid in found:
            client.close()
        else:
            found[pid] = stack.enter_context(client)
        return len(found) == count

    wait_until(more, "a connection to each worker")
    return found


def published(server: Server, data: str) -> bool:
    try:
        with server.connect(timeout=3) as client:
            answer = client.get(f"/publish?channel=a&data={data}")
    except (AssertionError, OSError):
        return False
    return answer.status == 200 and answer.body != b"None"
