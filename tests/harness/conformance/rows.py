"""A row, and how it is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .peer import Answer, Peer, close

KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # of RFC 6455 1.3
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
MAX_MESSAGE = 100_000  # that a server under test allows, --max-message

Address = tuple[str, int]


class HalfClose:
    """The client ends its direction: nothing that a server does from then on was waiting for more bytes."""

    def __repr__(self) -> str:
        return "half-close"


HALF_CLOSE = HalfClose()
Step = bytes | str | HalfClose

OPENING = (
    ("Host", "server.example.com"),
    ("Upgrade", "websocket"),
    ("Connection", "Upgrade"),
    ("Sec-WebSocket-Key", KEY),
    ("Sec-WebSocket-Version", "13"),
)


def opening(line: str = "GET / HTTP/1.1", more: Sequence[tuple[str, str]] = (), **instead: str | None) -> bytes:
    """A handshake; `key=None` leaves Sec-WebSocket-Key out, `key="x"` gives it that value."""
    lines = [line]
    for name, value in OPENING:
        word = name.lower().removeprefix("sec-websocket-")
        value_now = instead.get(word, value)
        if value_now is not None:
            lines.append(f"{name}: {value_now}")
    lines += [f"{name}: {value}" for name, value in more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(frozen=True)
class Row:
    """`answer`: the status (4xx is any of these), then what its fields must be: "Name: value", "Name ~ part",
    "Name !~ part", "no Name". `steps` follow it: bytes are sent, a str is the next event that must come. "pong" stands for any pong,
    "a or b" for either. A row that does not end with "end" goes on with a closing handshake."""

    group: str
    name: str
    section: str
    demand: str
    opening: bytes
    answer: tuple[str, ...]
    steps: tuple[Step, ...] = ()

    @property
    def identity(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def sent(self) -> bytes:
        return self.opening + b"".join(step for step in self.steps if isinstance(step, bytes))


class Wrong(Exception):
    """What was seen in place of what must be."""


def run(row: Row, address: Address, patience: float, one_by_one: bool = False) -> str | None:
    """What is wrong with the server; None where it keeps to the row. `one_by_one`: each byte is a write of its own."""
    peer = Peer(address, patience)
    try:
        peer.send(row.opening, one_by_one)
        _check_answer(row.answer, peer.answer())
        if row.answer[0] == "101":
            _converse(row, peer, one_by_one)
    except Wrong as wrong:
        return str(wrong)
    except TimeoutError:
        return f"nothing came within {patience:g} s"
    except (EOFError, ConnectionError) as error:
        return f"the connection ended without an answer ({type(error).__name__})"
    finally:
        peer.socket.close()
    return None


def _check_answer(wanted: tuple[str, ...], answer: Answer) -> None:
    status, *fields = wanted
    if answer.status != status and not (status == "4xx" and answer.status[:1] == "4"):
        raise Wrong(f"status {answer.status}, not {status}")
    for field in fields:
        if not _has_field(field, answer):
            raise Wrong(f"{field!r} does not hold: {answer.fields}")


def _has_field(field: str, answer: Answer) -> bool:
    if field.startswith("no "):
        return not answer.all(field[3:])
    for sign, wanted in ((" ~ ", True), (" !~ ", False)):
        if sign in field:
            name, _, part = field.partition(sign)
            return (part.lower() in ", ".join(answer.all(name)).lower()) == wanted
    name, _, value = field.partition(": ")
    return answer.all(name) == [value]


def _converse(row: Row, peer: Peer, one_by_one: bool) -> None:
    steps = list(row.steps)
    if not steps or steps[-1] != "end":
        steps += [close(1000), "close", "end"]
    for number, step in enumerate(steps):
        if isinstance(step, bytes):
            peer.send(step, one_by_one)
        elif isinstance(step, HalfClose):
            peer.half_close()
        else:
            view = step.partition("(")[0]
            seen = peer.header(view) if view in ("header", "first", "length") else peer.event()
            if not any(seen == each or seen.partition("(")[0] == each for each in step.split(" or ")):
                raise Wrong(f"step {number + 1}: {seen}, not {step}")
