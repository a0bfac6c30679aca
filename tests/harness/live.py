"""What several tests ask of tests/apps/live.py and talk.py."""

from __future__ import annotations

import urllib.parse
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


def publish(server: Server, channel: str, data: str, **more: str) -> str:
    """The event's id."""
    said = server.get("/publish?" + urllib.parse.urlencode({"channel": channel, "data": data, **more}))
    assert said.status == 200
    return said.body.decode()


def publish_bytes(server: Server, channel: str, size: int, count: int = 1) -> None:
    """So many events of so many bytes."""
    target = "/publish?" + urllib.parse.urlencode({"channel": channel, "data": "x" * size})
    with server.connect() as client:
        for _ in range(count):
            assert client.get(target).status == 200
