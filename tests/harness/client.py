"""A raw HTTP/1.1 client: it sends the bytes it is told to, and is strict about those that come back."""

from __future__ import annotations

import json
import re
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

from .waiting import BOUND

Headers = list[tuple[str, str]]
Address = tuple[str, int] | str

_STATUS_LINE = re.compile(rb"HTTP/(1\.[01]) ([1-5][0-9][0-9]) ([\t\x20-\x7e\x80-\xff]*)")
_FIELD_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})")


class Truncated(AssertionError):
    """The connection ended inside an answer; `so_far` is what came of its body."""

    def __init__(self, where: str, so_far: bytes = b"") -> None:
        super().__init__(f"connection ended {where}")
        self.so_far = so_far


class Malformed(AssertionError):
    """The server's bytes are not HTTP."""


@dataclass
class Response:
    version: str
    status: int
    reason: str
    headers: Headers
    raw_head: bytes
    body: bytes = b""
    framing: str = "none"  # "none", "length", "chunked" or "close"
    chunks: list[int] = field(default_factory=list)
    interim: list[int] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        values = self.all(name)
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def closes(self) -> bool:
        return "close" in (self.header("Connection") or "").lower()


class Client:
    """One connection."""

    def __init__(self, address: Address, timeout: float = BOUND, receive_buffer: int | None = None) -> None:
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
        else:
            self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.buffer = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- sending

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(
        self,
        method: str = "GET",
        target: str = "/",
        headers: Headers | None = None,
        body: bytes | None = None,
        version: str = "1.1",
    ) -> None:
        self.send(compose(method, target, headers, body, version))

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Closes with a RST, as a client that crashed."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # -- receiving

    def get(self, target: str = "/", headers: Headers | None = None, method: str = "GET") -> Response:
        self.request(method, target, headers)
        return self.response(method)

    def post(self, target: str, body: bytes, headers: Headers | None = None) -> Response:
        self.request("POST", target, headers, body)
        return self.response("POST")

    def response(self, method: str = "GET") -> Response:
        """Reads one whole answer; interim ones (100) are noted in it."""
        interim = []
        while True:
            answer = self.head()
            if answer.status >= 200:
                break
            interim.append(answer.status)
        answer.interim = interim
        self.body_of(answer, method)
        return answer

    def head(self) -> Response:
        raw = self._until(b"\r\n\r\n", "inside a head" if self.buffer else "before an answer")
        lines = raw[:-4].split(b"\r\n")
        start = _STATUS_LINE.fullmatch(lines[0])
        if not start:
            raise Malformed(repr(lines[0]))
        headers = []
        for line in lines[1:]:
            match = _FIELD_LINE.fullmatch(line)
            if not match:
                raise Malformed(repr(line))
            headers.append((match[1].decode(), match[2].decode("latin-1").rstrip(" \t")))
        return Response(start[1].decode(), int(start[2]), start[3].decode("latin-1"), headers, raw)

    def body_of(self, answer: Response, method: str = "GET") -> None:
        coding, length = answer.header("Transfer-Encoding"), answer.header("Content-Length")
        if coding is not None and length is not None:
            raise Malformed("both Content-Length and Transfer-Encoding")
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            return
        if coding is not None:
            if coding != "chunked":
                raise Malformed(f"Transfer-Encoding: {coding}")
            answer.framing = "chunked"
            self._chunked(answer)
        elif length is not None:
            if not re.fullmatch("[0-9]+", length):
                raise Malformed(f"Content-Length: {length}")
            answer.framing = "length"
            answer.body = self._exactly(int(length), "inside a body")
        else:
            answer.framing = "close"
            answer.body = self.rest()

    def chunk(self) -> bytes | None:
        """The next chunk of a body that is still coming; empty for the last, None where the connection ended first."""
        try:
            return self._one_chunk()
        except (Truncated, ConnectionError):
            return None

    def until(self, mark: bytes) -> bytes:
        """All up to and with `mark`."""
        return self._until(mark, f"before {mark!r}")

    def exactly(self, count: int) -> bytes:
        return self._exactly(count, "before all of a frame had come")

    def rest(self) -> bytes:
        """All until the server closes."""
        parts = [self.buffer]
        self.buffer = b""
        while data := self.socket.recv(1 << 18):
            parts.append(data)
        return b"".join(parts)

    def ended(self) -> bool:
        """Waits for the server to end the connection, by a close or a reset. Bytes that come first are kept."""
        try:
            while data := self.socket.recv(1 << 16):
                self.buffer += data
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def ended_cleanly(self) -> bool:
        """Waits for the server's close; nothing more may come before it."""
        assert self.buffer == b"", f"unexpected bytes {self.buffer[:200]!r}"
        data = self.socket.recv(1 << 16)
        assert data == b"", f"unexpected bytes {data[:200]!r}"
        return True

    def has_bytes(self) -> bool:
        """Whether something, or the end, can be read now."""
        if self.buffer:
            return True
        timeout = self.socket.gettimeout()
        self.socket.setblocking(False)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
            return True
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self.socket.settimeout(timeout)

    def _more(self, where: str, so_far: bytes = b"") -> None:
        data = self.socket.recv(1 << 18)
        if not data:
            raise Truncated(where, so_far)
        self.buffer += data

    def _until(self, mark: bytes, where: str) -> bytes:
        while mark not in self.buffer:
            self._more(where)
        found, _, self.buffer = self.buffer.partition(mark)
        return found + mark

    def _exactly(self, count: int, where: str) -> bytes:
        if len(self.buffer) >= count:
            data, self.buffer = self.buffer[:count], self.buffer[count:]
            return data
        parts = [self.buffer]
        missing = count - len(self.buffer)
        self.buffer = b""
        while missing:
            data = self.socket.recv(min(missing, 1 << 20))
            if not data:
                raise Truncated(where, b"".join(parts))
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def _one_chunk(self) -> bytes:
        """Empty for the last one, whose trailer is read too."""
        line = self._until(b"\r\n", "before a chunk")[:-2]
        match = _CHUNK_SIZE.fullmatch(line)
        if not match:
            raise Malformed(f"chunk size {line!r}")
        size = int(match[1], 16)
        data = self._exactly(size + 2, "inside a chunk" if size else "inside the trailer")
        if data[-2:] != b"\r\n":
            raise Malformed("chunk without its end" if size else "trailer")
        return data[:-2]

    def _chunked(self, answer: Response) -> None:
        parts: list[bytes] = []
        try:
            while data := self._one_chunk():
                answer.chunks.append(len(data))
                parts.append(data)
        except Truncated as error:
            raise Truncated(str(error), b"".join(parts) + error.so_far) from None
        answer.body = b"".join(parts)


def compose(
    method: str = "GET",
    target: str = "/",
    headers: Headers | None = None,
    body: bytes | None = None,
    version: str = "1.1",
) -> bytes:
    """A request's bytes. Host and Content-Length are added unless given."""
    fields = list(headers or [])
    names = {name.lower() for name, _ in fields}
    if "host" not in names:
        fields.insert(0, ("Host", "test"))
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        fields.append(("Content-Length", str(len(body))))
    lines = [f"{method} {target} HTTP/{version}"] + [f"{name}: {value}" for name, value in fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


def chunked(*pieces: bytes, trailer: bytes = b"") -> bytes:
    """A body in the chunked coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n" + trailer + b"\r\n"
