"""The control socket's other end: how a process that serves nobody reaches a server. See docs/realtime.md.

A message is the length of all that follows, then fields, each its length and its bytes; lengths are four bytes, the most
significant first. A request is a verb and its arguments; an answer "ok" or "error", and text.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import time
from collections.abc import Iterator

VARIABLE = "M0_CONTROL"
# The server answers within one second, if with an error.
PATIENCE = 2.0
_LENGTH = struct.Struct(">I")
_LARGEST_ANSWER = 64 * 1024 * 1024


class ControlError(Exception):
    """One sentence: why the request was not done."""


class NoServer(ControlError):
    """There is nobody to ask."""


def request(verb: str, *fields: bytes, path: str | None = None) -> list[bytes]:
    """Asks the server at `path`, or the one that find() names; what it answers.

    Takes two seconds at most. Any thread; a connection of its own each time, so that a fork in between shares none.
    """
    until = time.monotonic() + PATIENCE
    where = find() if path is None else path
    connection = _connect(where, until)
    with connection:
        status, *texts = _exchange(connection, _encoded(verb.encode(), *fields), until, where)
    if status != b"ok":
        raise ControlError(texts[0].decode(errors="replace") if texts else "the server did not do it")
    return texts


def find() -> str:
    """Where the server is: M0_CONTROL says it, or it is the only one of this user."""
    told = os.environ.get(VARIABLE)
    if told == "off":
        raise NoServer(f"{VARIABLE} says that there is no control socket to ask")
    if told:
        return told
    found = list(_live_sockets())
    if not found:
        raise NoServer(f"no server of this user runs here (where one does, {VARIABLE} may name its control socket)")
    if len(found) > 1:
        raise NoServer(f"{len(found)} servers run here, {VARIABLE} has to name one: {', '.join(found)}")
    return found[0]


def _places() -> Iterator[str]:
    """The server's own list: see control_places() in src/m0/process/control_socket.cpp."""
    uid = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        yield f"{runtime}/m0serve"
    yield f"/run/user/{uid}/m0serve"
    if uid == 0:
        yield "/run/m0serve"
    yield f"/tmp/m0serve-{uid}"


def _live_sockets() -> Iterator[str]:
    seen = set()
    for place in _places():
        try:
            what = os.lstat(place)
            names = sorted(os.listdir(place))
        except OSError:
            continue
        # In /tmp anybody may have made it.
        ours = stat.S_ISDIR(what.st_mode) and what.st_uid == os.geteuid() and not what.st_mode & 0o022
        if not ours or (what.st_dev, what.st_ino) in seen:
            continue
        seen.add((what.st_dev, what.st_ino))
        for name in names:
            path = f"{place}/{name}"
            if name.endswith(".sock") and _is_live(path):
                yield path


def _is_live(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        # A full backlog is somebody's.
        return probe.connect_ex(path) in (0, errno.EAGAIN)


def _connect(path: str, until: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The kernel's timeout: with settimeout() a backlog that is full for a moment would be an error at once.
        left = max(0.001, until - time.monotonic())
        timeval = struct.pack("ll", int(left), int(left % 1 * 1_000_000))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
        connection.connect(path)
    except BlockingIOError:
        connection.close()
        raise ControlError(f"the server at {path} was too busy to be asked within {PATIENCE:g} s") from None
    except OSError as problem:
        connection.close()
        if isinstance(problem, (ConnectionRefusedError, FileNotFoundError)):
            raise NoServer(f"no server runs at {path}") from None
        raise NoServer(f"the server at {path} cannot be reached ({problem.strerror or problem})") from None
    return connection


def _encoded(*fields: bytes) -> bytes:
    body = b"".join(_LENGTH.pack(len(field)) + field for field in fields)
    return _LENGTH.pack(len(body)) + body


def _exchange(connection: socket.socket, message: bytes, until: float, where: str) -> list[bytes]:
    try:
        try:
            _wait_no_longer(connection, until)
            connection.sendall(message)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it may have said why
        (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size, until))
        if length > _LARGEST_ANSWER:
            raise ControlError(f"what listens at {where} is no server of this version")
        return _split(_receive(connection, length, until), where)
    except TimeoutError:
        raise ControlError(f"the server at {where} did not answer within {PATIENCE:g} s") from None
    except (OSError, EOFError):
        raise ControlError(
            f"the server at {where} ended the connection: it stops, or this user may not ask it"
        ) from None


def _wait_no_longer(connection: socket.socket, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)


def _receive(connection: socket.socket, size: int, until: float) -> bytes:
    pieces = []
    while size > 0:
        _wait_no_longer(connection, until)
        piece = connection.recv(min(size, 1 << 18))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _split(body: bytes, where: str) -> list[bytes]:
    fields = []
    at = 0
    while at < len(body):
        try:
            (length,) = _LENGTH.unpack_from(body, at)
        except struct.error:
            length = len(body)
        at += _LENGTH.size + length
        if at > len(body):
            break
        fields.append(body[at - length : at])
    if at != len(body) or not fields:
        raise ControlError(f"what listens at {where} is no server of this version")
    return fields
