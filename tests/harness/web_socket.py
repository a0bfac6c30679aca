"""A client of a WebSocket (RFC 6455, 7692): it says what it is told to, also what it should not."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct
import urllib.parse
import zlib
from dataclasses import dataclass

from .client import Headers, Response
from .server import Server
from .waiting import wait_until

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True)
class Frame:
    opcode: int
    payload: bytes
    fin: bool = True
    compressed: bool = False

    @property
    def text(self) -> str:
        assert self.opcode == TEXT, self
        return self.payload.decode()

    @property
    def code(self) -> int:
        """Of a close frame; 1005 for one without."""
        assert self.opcode == CLOSE, self
        return struct.unpack("!H", self.payload[:2])[0] if self.payload else 1005


def handshake_fields(key: str = "dGhlIHNhbXBsZSBub25jZQ==") -> Headers:
    return [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", key),
        ("Sec-WebSocket-Version", "13"),
    ]


class WebSocket:
    """One connection, opened; a refused one has an answer whose status is not 101."""

    def __init__(
        self,
        server: Server,
        target: str,
        headers: Headers | None = None,
        deflate: bool = False,
        receive_buffer: int | None = None,
    ):
        self.client = server.connect(receive_buffer=receive_buffer)
        if self.client.socket.family != socket.AF_UNIX:  # as every browser does
            self.client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        extension = [("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")] if deflate else []
        self.client.request("GET", target, [*handshake_fields(key), *extension, *(headers or [])])
        self.answer: Response = self.client.head()
        if self.answer.status != 101:
            self.client.body_of(self.answer)
            return
        accept = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()
        assert self.answer.header("Sec-WebSocket-Accept") == accept
        self.deflate = (self.answer.header("Sec-WebSocket-Extensions") or "").startswith("permessage-deflate")

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def send(self, payload: str | bytes, opcode: int | None = None, fin: bool = True, compressed: bool = False) -> None:
        self.client.send(frame(payload, opcode, fin, compressed))

    def receive(self) -> Frame:
        """The next frame, whatever it is; a message's is inflated."""
        first, second = self.client.exactly(2)
        assert second & 0x80 == 0, "a server masks nothing"
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", self.client.exactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self.client.exactly(8))[0]
        payload = self.client.exactly(length)
        compressed = first & 0x40 != 0
        if compressed:
            assert self.deflate, "compressed, and nobody agreed on it"
            payload = zlib.decompressobj(-15).decompress(payload + b"\x00\x00\xff\xff")
        return Frame(first & 0x0F, payload, first & 0x80 != 0, compressed)

    def next(self) -> Frame:
        """The next frame that is no ping; those are answered."""
        while (got := self.receive()).opcode == PING:
            self.send(got.payload, PONG)
        return got

    def ask(self, message: str | bytes) -> Frame:
        self.send(message)
        return self.next()

    def responds(self) -> bool:
        """Whether its worker echoes now; of one that is stopped, the answer may come later."""
        self.send("echo:x")
        try:
            wait_until(self.client.has_bytes, "an answer", within=0.5)
        except AssertionError:
            return False
        return self.next().text == "x"

    def closed(self) -> int:
        """Reads on to the close frame, answers it, and sees the end of the connection."""
        while (got := self.next()).opcode != CLOSE:
            pass
        self.send(got.payload[:2], CLOSE)
        assert self.client.ended()
        return got.code


def frame(payload: str | bytes, opcode: int | None = None, fin: bool = True, compressed: bool = False) -> bytes:
    """A client's frame: masked."""
    data = payload.encode() if isinstance(payload, str) else payload
    kind = opcode if opcode is not None else TEXT if isinstance(payload, str) else BINARY
    if compressed:
        packer = zlib.compressobj(wbits=-15)
        data = (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]
    head = bytes([kind | (0x80 if fin else 0) | (0x40 if compressed else 0)])
    if len(data) < 126:
        head += bytes([0x80 | len(data)])
    elif len(data) < 1 << 16:
        head += bytes([0x80 | 126]) + struct.pack("!H", len(data))
    else:
        head += bytes([0x80 | 127]) + struct.pack("!Q", len(data))
    mask = os.urandom(4)
    key = int.from_bytes((mask * (len(data) // 4 + 1))[: len(data)], "big")
    return head + mask + (int.from_bytes(data, "big") ^ key).to_bytes(len(data), "big")


def talk(server: Server, *channels: str, path: str = "/ws", deflate: bool = False, **fields: str) -> WebSocket:
    """Opens one whose view is told the channels and the fields of its answer: M0_Frames="json"."""
    query = [("channel", channel) for channel in channels]
    query += [(name.replace("_", "-") if name.startswith("M0") else name, value) for name, value in fields.items()]
    socket = WebSocket(server, f"{path}?{urllib.parse.urlencode(query)}", deflate=deflate)
    assert socket.answer.status == 101, socket.answer
    return socket
