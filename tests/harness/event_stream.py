"""A client of an event stream: reads blocks as the HTML standard (9.2.6) says, and comes back with the last id."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass

from .client import Client, Headers, Response
from .server import Server


@dataclass(frozen=True)
class Event:
    id: str
    data: str
    type: str = "message"


class EventStream:
    """One stream. `last_id` is what a browser would send when it comes back."""

    def __init__(self, server: Server, target: str, headers: Headers | None = None, receive_buffer: int | None = None):
        client = server.connect(receive_buffer=receive_buffer)
        client.request("GET", target, [("Accept", "text/event-stream"), *(headers or [])])
        self._begin(client)

    @classmethod
    def of(cls, client: Client) -> EventStream:
        """On a connection that has asked for one."""
        stream = cls.__new__(cls)
        stream._begin(client)
        return stream

    def _begin(self, client: Client) -> None:
        self.client = client
        self.answer: Response = client.head()
        self.last_id = ""
        self.retry: int | None = None
        self.comments = 0
        self.ended = False  # by a last chunk
        self._text = ""
        self._type = ""
        self._data: list[str] = []
        self._waiting: list[Event] = []

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def _line(self, line: str) -> None:
        if line == "":
            if self._data:
                self._waiting.append(Event(self.last_id, "\n".join(self._data), self._type or "message"))
            self._data, self._type = [], ""
            return
        if line.startswith(":"):
            self.comments += 1
            return
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isdigit():
            self.retry = int(value)

    def read_chunk(self) -> bool:
        """Takes one chunk. False: the stream has ended, or the connection."""
        chunk = self.client.chunk()
        if not chunk:
            self.ended = chunk is not None
            return False
        self._text += chunk.decode()
        while "\n" in self._text:
            line, self._text = self._text.split("\n", 1)
            self._line(line)
        return True

    def next(self) -> Event:
        """The next event; waits for it."""
        while not self._waiting:
            assert self.read_chunk(), "the stream is over"
        return self._waiting.pop(0)

    def take(self, count: int) -> list[Event]:
        return [self.next() for _ in range(count)]

    def opened(self) -> EventStream:
        """Waits for the first block, which every held stream begins with."""
        while self.last_id == "":
            assert self.read_chunk(), "the stream is over"
        return self


def hold(server: Server, *channels: str, last_id: str | None = None, **fields: str) -> EventStream:
    """A stream of tests/apps/live.py, opened."""
    pairs = [("channel", channel) for channel in channels] + list(fields.items())
    headers = [("Last-Event-ID", last_id)] if last_id is not None else None
    return EventStream(server, "/hold?" + urllib.parse.urlencode(pairs), headers).opened()
