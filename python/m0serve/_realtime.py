"""Speaking to held connections: see docs/realtime.md."""

from __future__ import annotations

import functools
import json as _json
import logging
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

# Here, and not where it is used: a forked child should have to import nothing.
from m0serve import _control

_log = logging.getLogger("m0serve")
_UNSET: Any = object()
_LONGEST_NAME = 255
_META = "M0-Meta-"
_View = TypeVar("_View", bound=Callable[..., Any])


@dataclass(frozen=True)
class Connection:
    """One held connection: what connection() called it, and the M0-Meta- fields of the answer that held it."""

    id: str
    meta: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Presence:
    """Who has a channel, on all workers of a server: how many, and the first of them."""

    count: int
    connections: tuple[Connection, ...] = ()
    complete: bool = True
    """False where a worker that lives has not answered within a second: there may be more."""


def publish(
    channel: str, data: str | bytes | bytearray | memoryview = _UNSET, event: str | None = None, *, json: Any = _UNSET
) -> str | None:
    """Sends an event to every subscriber of the channel, on every worker.

    `data` is text, or bytes for a binary frame; `json=` an object that is sent as JSON instead. `event` is the event's
    type. Returns the event's id, or None where nothing was published (no server, no room, no time; the log of the
    logger "m0serve" says why). Raises TypeError and ValueError for arguments that could never be published. Any thread;
    waits at most one second. In a process that serves nobody (a child, a management command, a cron job) the server
    that M0_CONTROL names is asked, or else this user's only one; that takes two seconds at most.
    """
    encoded = _channel(channel)
    name = b"" if event is None else _checked_name("event", event)
    payload, binary = _payload("publish", data, json)
    said = _publish_here(encoded, payload, name, binary) or _publish_from_outside(encoded, payload, name, binary)
    if not said.startswith("!"):
        return said
    _log.warning("nothing was published to %r: %s", channel, said[1:])
    return None


def send(connection: str, data: str | bytes | bytearray | memoryview = _UNSET, *, json: Any = _UNSET) -> bool:
    """Sends to one held connection, on whatever worker it is, behind what was published before.

    A WebSocket gets one frame, text or binary; an event stream an event without an id. `connection` is what
    connection() said in one of its requests. False where nothing was sent (see publish()); True does not say that the
    client is still there.
    """
    payload, binary = _payload("send", data, json)
    encoded = _checked_name("connection", connection)
    return _ask(f"nothing was sent to {connection!r}", "send", encoded, payload, _kind(binary)) is not None


def close(
    *,
    channel: str | None = None,
    connection: str | None = None,
    reconnect: bool = False,
    code: int | None = None,
    reason: str = "",
) -> bool:
    """Ends one held connection, or all that have a channel, when they have got what was published before.

    With `reconnect` the client is told to come back, else not to: a WebSocket is closed with `code` (1012, else 1000)
    and `reason`; an event stream's last block says it. False where nobody could be told (see publish()).
    """
    if (channel is None) == (connection is None):
        raise TypeError("close() takes either channel= or connection=")
    if code is not None and not isinstance(code, int):
        raise TypeError(f"code must be int, not {type(code).__name__}")
    if (
        code is not None
        and not (code in (1000, 1001, 1003) or 1007 <= code <= 1014 and code != 1010)
        and not (3000 <= code <= 4999)
    ):
        raise ValueError(f"{code} is no close code that a server may send: 1000, or 3000 to 4999")
    encoded_reason = _checked_name("reason", reason)
    if len(encoded_reason) > 123:
        raise ValueError("reason has more than 123 bytes of UTF-8")
    kind, whom = (b"channel", _channel(channel)) if channel is not None else (b"connection", _id(connection))
    manner = b"reconnect" if reconnect else b"stay-away"
    what = f"nobody was told to leave {channel!r}" if channel is not None else f"{connection!r} was not told to leave"
    return _ask(what, "close", kind, whom, manner, str(code or 0).encode(), encoded_reason) is not None


def presence(channel: str, limit: int = 100) -> Presence | None:
    """Who has the channel now, on all workers: how many, and up to `limit` of them.

    None where nobody could be asked (see publish()). Waits at most one second for workers that do not answer.
    """
    if not isinstance(limit, int):
        raise TypeError(f"limit must be int, not {type(limit).__name__}")
    if limit < 0:
        raise ValueError("limit must not be negative")
    limit = min(limit, 1_000_000)
    said = _ask(f"nobody knows who has {channel!r}", "presence", _channel(channel), str(limit).encode())
    if said is None:
        return None
    count, complete, *rest = said
    connections = tuple(
        Connection(identity.decode(), _meta_of(metadata)) for identity, metadata in zip(rest[::2], rest[1::2])
    )
    return Presence(int(count), connections, complete == b"all")


def cursor() -> str | None:
    """The position of the event log when this request arrived: what a page opens its stream with.

    Outside of a request, the newest event. None where nothing serves.
    """
    core = _core()
    return None if core is None else core.cursor()


def connection() -> str | None:
    """What the connection of this request is called: what send() and close() take once it is held.

    In a request that holds, and in those that its messages become, it is the same. None outside of a request, and under
    another server.
    """
    core = _core()
    return None if core is None else core.connection()


def channel_header(*channels: str) -> str:
    """The value of M0-Channel for these channels, whatever characters they have."""
    for channel in channels:
        _channel(channel)
    return ", ".join(urllib.parse.quote(channel, safe="/:@!$&'()*+;=~ ").replace(" ", "%20") for channel in channels)


def channels(value: str) -> list[str]:
    """The names in an M0-Channel field, such as a message's request has: what channel_header() has made of them."""
    return [urllib.parse.unquote(item.strip()) for item in value.split(",") if item.strip()]


def websocket(view: _View) -> _View:
    """Marks a Django view that holds WebSockets: what comes over them needs no CSRF token.

    Those requests come from the server, which has looked at the Origin of the handshake, and nobody else can make one;
    a POST from the network is answered 405.
    """

    @functools.wraps(view)
    def checked(request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method not in ("GET", "HEAD", "OPTIONS") and "HTTP_M0_EVENT" not in request.META:
            from django.http import HttpResponseNotAllowed  # type: ignore[import]

            return HttpResponseNotAllowed(["GET"])
        return view(request, *args, **kwargs)

    checked.csrf_exempt = True  # type: ignore[attr-defined]
    return checked  # type: ignore[return-value]


# ---- within


class _Server(Protocol):
    """The server's module, where this process has it."""

    def publish(self, channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
        ...

    def ask(self, verb: bytes, *arguments: bytes) -> list[bytes] | str:
        ...

    def cursor(self) -> str | None:
        ...

    def connection(self) -> str | None:
        ...


def _core() -> _Server | None:
    try:
        from m0serve import _core
    except ImportError:
        return None
    return _core


def _ask(failure: str, verb: str, *fields: bytes) -> list[bytes] | None:
    """What the server answers, this process or another one; None, and a line in the log, where none does it."""
    core = _core()
    said = "" if core is None else core.ask(verb.encode(), *fields)
    if said == "":
        try:
            return _control.request(verb, *fields)
        except _control.ControlError as problem:
            said = str(problem)
    if isinstance(said, list):
        return said
    _log.warning("%s: %s", failure, said.lstrip("!"))
    return None


def _publish_here(channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
    """The event's id, "!" and why there is none, or nothing where this process serves nobody."""
    core = _core()
    return "" if core is None else core.publish(channel, data, event, binary)


def _publish_from_outside(channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
    """The event's id, or "!" and why there is none."""
    try:
        (identity,) = _control.request("publish", channel, data, event, _kind(binary))
    except _control.ControlError as problem:
        return f"!{problem}"
    return identity.decode()


def _kind(binary: bool) -> bytes:
    return b"binary" if binary else b"text"


def _checked_name(what: str, name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"{what} must be str, not {type(name).__name__}")
    encoded = name.encode()
    if len(encoded) > _LONGEST_NAME:
        raise ValueError(f"{what} has more than {_LONGEST_NAME} bytes of UTF-8")
    if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in name):
        raise ValueError(f"{what} has a control character")
    return encoded


def _channel(name: str) -> bytes:
    encoded = _checked_name("channel", name)
    if not encoded:
        raise ValueError("channel is empty")
    return encoded


def _id(connection: Any) -> bytes:
    return _checked_name("connection", connection)


def _payload(function: str, data: Any, json: Any) -> tuple[bytes, bool]:
    if (data is _UNSET) == (json is _UNSET):
        raise TypeError(f"{function}() takes either data or json")
    if json is not _UNSET:
        return _json.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), False
    if isinstance(data, str):
        return data.encode(), False
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data), True
    raise TypeError(f"data must be str or bytes, not {type(data).__name__}; json= takes other objects")


def _meta_of(lines: bytes) -> dict[str, str]:
    meta = {}
    for line in lines.decode("latin-1").splitlines():
        name, _, value = line.partition(": ")
        meta[name[len(_META) :]] = value
    return meta
