"""Publishing to held connections: see docs/realtime.md."""

from __future__ import annotations

import json as _json
import logging
import urllib.parse
from typing import Any

# Here, and not where it is used: a forked child should have to import nothing.
from m0serve import _control

_log = logging.getLogger("m0serve")
_UNSET: Any = object()
_LONGEST_NAME = 255


def _checked_name(what: str, name: str) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"{what} must be str, not {type(name).__name__}")
    encoded = name.encode()
    if len(encoded) > _LONGEST_NAME:
        raise ValueError(f"{what} has more than {_LONGEST_NAME} bytes of UTF-8")
    if any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in name):
        raise ValueError(f"{what} has a control character")
    return encoded


def _payload(data: Any, json: Any) -> tuple[bytes, bool]:
    if (data is _UNSET) == (json is _UNSET):
        raise TypeError("publish() takes either data or json")
    if json is not _UNSET:
        return _json.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), False
    if isinstance(data, str):
        return data.encode(), False
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data), True
    raise TypeError(f"data must be str or bytes, not {type(data).__name__}; json= takes other objects")


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
    encoded = _checked_name("channel", channel)
    if not encoded:
        raise ValueError("channel is empty")
    name = b"" if event is None else _checked_name("event", event)
    payload, binary = _payload(data, json)
    said = _publish_here(encoded, payload, name, binary) or _publish_from_outside(encoded, payload, name, binary)
    if not said.startswith("!"):
        return said
    _log.warning("nothing was published to %r: %s", channel, said[1:])
    return None


def _publish_here(channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
    """The event's id, "!" and why there is none, or nothing where this process serves nobody."""
    try:
        from m0serve import _core
    except ImportError:
        return ""
    return _core.publish(channel, data, event, binary)


def _publish_from_outside(channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
    """The event's id, or "!" and why there is none."""
    try:
        (identity,) = _control.request("publish", channel, data, event, b"binary" if binary else b"text")
    except _control.ControlError as problem:
        return f"!{problem}"
    return identity.decode()


def cursor() -> str | None:
    """The position of the event log when this request arrived: what a page opens its stream with.

    Outside of a request, the newest event. None where nothing serves.
    """
    try:
        from m0serve import _core
    except ImportError:
        return None
    return _core.cursor()


def channel_header(*channels: str) -> str:
    """The value of M0-Channel for these channels, whatever characters they have."""
    for channel in channels:
        if not _checked_name("channel", channel):
            raise ValueError("channel is empty")
    return ", ".join(urllib.parse.quote(channel, safe="/:@!$&'()*+;=~ ").replace(" ", "%20") for channel in channels)
