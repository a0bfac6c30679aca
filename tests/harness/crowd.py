"""Many subscribers read by one thread. What comes is looked through for marks and not parsed, so that Python keeps up."""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Callable

from .client import Headers, compose
from .server import Server
from .waiting import BOUND

_MARK = re.compile(rb"~(\d{8})~")
_MARK_SIZE = 10
_AT_ONCE = 16
_PER_ADDRESS = 5000


def mark(number: int) -> str:
    """What an event's data begin with to be heard."""
    return f"~{number:08}~"


class Member:
    """One subscriber. Its numbers have to count up from `expected`."""

    def __init__(self, connection: socket.socket, expected: int = 0) -> None:
        self.socket = connection
        self.expected = expected
        self.heard = 0
        self.in_order = True
        self.ended = False
        self._tail = b""

    def feed(self, data: bytes) -> list[int]:
        text = self._tail + data
        numbers, end = [], 0
        for found in _MARK.finditer(text):
            end = found.end()
            numbers.append(int(found[1]))
        for number in numbers:
            self.in_order = self.in_order and number == self.expected
            self.expected = number + 1
        self.heard += len(numbers)
        self._tail = text[max(end, len(text) - _MARK_SIZE + 1) :]
        return numbers


class Crowd:
    """Give `heard` to be told of each number and when it came."""

    def __init__(self, server: Server, heard: Callable[[int, float], None] | None = None) -> None:
        self.server = server
        self.members: list[Member] = []
        self._heard = heard
        self._poll = select.epoll()
        self._by_fd: dict[int, Member] = {}

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.socket.close()
        self._poll.close()

    def connect(self, count: int) -> list[Member]:
        """Connections that have asked nothing yet, from addresses with enough ports."""
        added = []
        for _ in range(count):
            source = f"127.0.0.{2 + len(self.members) // _PER_ADDRESS}"
            added.append(Member(socket.create_connection(self.server.address, BOUND, (source, 0))))
            self.members.append(added[-1])
        return added

    def listen(self, members: list[Member]) -> None:
        """From now on what comes to them is heard."""
        for member in members:
            member.socket.setblocking(False)
            self._by_fd[member.socket.fileno()] = member
            self._poll.register(member.socket, select.EPOLLIN)

    def open(self, count: int, target: str, headers: Headers | None = None, status: int = 200) -> list[Member]:
        """Subscribers that are held: a few at a time, so that none waits longer than the server lets it."""
        request = compose("GET", target, headers)
        opened: list[Member] = []
        while len(opened) < count:
            group = self.connect(min(_AT_ONCE, count - len(opened)))
            for member in group:
                member.socket.sendall(request)
            for member in group:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = member.socket.recv(1 << 16)
                    assert data, "a subscriber was not answered"
                    head += data
                assert head.startswith(b"HTTP/1.1 %d" % status), head
                member.feed(head)
            opened += group
        self.listen(opened)
        return opened

    def turn(self, wait: float) -> None:
        """Hears what is there, or waits for it."""
        for fd, _ in self._poll.poll(wait, 256):
            member = self._by_fd[fd]
            try:
                data = member.socket.recv(1 << 18)
            except BlockingIOError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                member.ended = True
                self._poll.unregister(fd)
                continue
            now = time.monotonic()
            numbers = member.feed(data)
            if self._heard:
                for number in numbers:
                    self._heard(number, now)

    def hear(self, condition: Callable[[], bool], what: str, within: float = BOUND) -> None:
        """Until `condition` is true, which is looked at each turn."""
        end = time.monotonic() + within
        while not condition():
            assert time.monotonic() < end, f"not within {within:g} s: {what}"
            self.turn(0.01)
