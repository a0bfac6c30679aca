"""Views that wait until a test lets them go: each knocks at a socket of the test and blocks there in recv()."""

from __future__ import annotations

import json
import select
import socket
from dataclasses import dataclass
from typing import Any

from .waiting import BOUND


@dataclass
class Visitor:
    """A view that waits."""

    socket: socket.socket
    facts: dict[str, Any]

    @property
    def tag(self) -> str:
        return str(self.facts["tag"])

    def release(self) -> None:
        self.socket.sendall(b"go")
        self.socket.close()


class Gate:
    """Give `?port=N` of it to the application's /gate."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.inside: list[Visitor] = []

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.release_all()
        self.listener.close()

    def target(self, tag: str = "", more: str = "") -> str:
        return f"/gate?port={self.port}&tag={tag}{more}"

    def arrival(self, within: float = BOUND) -> Visitor:
        """The next view that arrives."""
        visitor = self.arrival_or_none(within)
        assert visitor is not None, f"no view arrived within {within:g} s"
        return visitor

    def arrival_or_none(self, within: float = 0.25) -> Visitor | None:
        if not select.select([self.listener], [], [], within)[0]:
            return None
        connection, _ = self.listener.accept()
        connection.settimeout(BOUND)
        line = b""
        while not line.endswith(b"\n"):
            data = connection.recv(4096)
            assert data, "a view left the gate"
            line += data
        visitor = Visitor(connection, json.loads(line))
        self.inside.append(visitor)
        return visitor

    def arrivals(self, count: int) -> list[Visitor]:
        return [self.arrival() for _ in range(count)]

    def release_all(self) -> None:
        for visitor in self.inside:
            try:
                visitor.release()
            except OSError:
                pass
        self.inside.clear()
