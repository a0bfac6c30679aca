"""The client's end of a row: it sends any bytes, and writes down what comes back.

How events read:
  text(abc)  binary(abc)   a message, put together and inflated; of a long one its size and its sum, see said()
  ping(abc)  pong(abc)
  close(1000)  close()     with its code, or without one
  header(81 05)            of the next frame, where a row asks for it;
  first(81)  length(05)    a part of it, the mask left out
  end  reset               of the connection
"""

from __future__ import annotations

import re
import socket
import struct
import zlib

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_NAMES = {TEXT: "text", BINARY: "binary", PING: "ping", PONG: "pong"}
_KEY = b"\x37\xfa\x21\x3d"  # of RFC 6455 5.7

_STEP = 256
_MOST_INFLATED = 1 << 18

# ---- what a client sends


def mask(payload: bytes, key: bytes = _KEY) -> bytes:
    stream = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(payload), "big")


def header(first: int, length: int, masked: bool = True) -> bytes:
    """The length in its shortest form; the mask's key is not part of it."""
    bit = 0x80 if masked else 0
    if length < 126:
        return bytes([first, bit | length])
    if length < 1 << 16:
        return bytes([first, bit | 126]) + struct.pack("!H", length)
    return bytes([first, bit | 127]) + struct.pack("!Q", length)


def frame(first: int, payload: bytes = b"", key: bytes = _KEY) -> bytes:
    return header(first, len(payload)) + key + mask(payload, key)


def unmasked(first: int, payload: bytes = b"") -> bytes:
    return header(first, len(payload), masked=False) + payload


def text(payload: bytes) -> bytes:
    return frame(0x81, payload)


def binary(payload: bytes) -> bytes:
    return frame(0x82, payload)


def ping(payload: bytes = b"") -> bytes:
    return frame(0x89, payload)


def pong(payload: bytes = b"") -> bytes:
    return frame(0x8A, payload)


def close(code: int | None = None, reason: bytes = b"") -> bytes:
    return frame(0x88, b"" if code is None else struct.pack("!H", code) + reason)


def text_begins(payload: bytes) -> bytes:
    return frame(0x01, payload)


def binary_begins(payload: bytes) -> bytes:
    return frame(0x02, payload)


def goes_on(payload: bytes) -> bytes:
    return frame(0x00, payload)


def ends(payload: bytes) -> bytes:
    return frame(0x80, payload)


def deflate(message: bytes, flush: int = zlib.Z_SYNC_FLUSH) -> bytes:
    """A message's payload (RFC 7692 7.2.1)."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(message) + packer.flush(flush)
    return packed[:-4] if flush == zlib.Z_SYNC_FLUSH else packed


# ---- what comes back


def said(kind: str, payload: bytes) -> str:
    if len(payload) > 60:
        return f"{kind}({len(payload)} bytes, {zlib.crc32(payload):08x})"
    return f"{kind}({payload.decode('utf-8', 'backslashreplace')})"


class Answer:
    """A head."""

    def __init__(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        self.status = words[1] if len(words) > 1 else lines[0]
        self.fields = [line.split(":", 1) for line in lines[1:] if ":" in line]

    def all(self, name: str) -> list[str]:
        return [value.strip() for key, value in self.fields if key.lower() == name.lower()]

    @property
    def extension(self) -> str:
        return ", ".join(self.all("Sec-WebSocket-Extensions"))


class Peer:
    """One connection."""

    def __init__(self, address: tuple[str, int], patience: float) -> None:
        self.socket = socket.create_connection(address, patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._window = 15  # that the server has agreed on

    def send(self, data: bytes, one_by_one: bool) -> None:
        """What a server that is through with us does not take says nothing: what counts is what it has said."""
        try:
            if one_by_one:
                for byte in data:
                    self.socket.sendall(bytes([byte]))
            else:
                self.socket.sendall(data)
        except ConnectionError:
            pass

    def half_close(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def answer(self) -> Answer:
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        answer = Answer(head)
        window = re.search(r"server_max_window_bits=(\d+)", answer.extension)
        self._window = int(window[1]) if window else 15
        return answer

    def header(self, view: str) -> str:
        """Of the next frame, which stays to be read."""
        try:
            head = self._header()
        except (EOFError, ConnectionError) as error:
            return _ending(error)
        plain = bytes([head[0], head[1] & 0x7F]) + head[2 : -4 if head[1] & 0x80 else len(head)]
        seen = {"header": head, "first": plain[:1], "length": plain[1:]}[view]
        return f"{view}({seen.hex(' ')})"

    def event(self) -> str:
        kind, compressed, message = 0, False, b""
        while True:
            try:
                first, payload = self._frame()
            except (EOFError, ConnectionError) as error:
                return _ending(error)
            opcode = first & 0x0F
            if opcode == CLOSE:
                return _close_event(payload)
            if opcode in (PING, PONG):
                return said(_NAMES[opcode], payload)
            if opcode:
                kind, compressed = opcode, first & 0x40 != 0
            message += payload
            if first & 0x80:
                break
        name = _NAMES.get(kind, f"opcode {kind}")
        return said(name, message) if not compressed else self._inflated(name, message)

    def _inflated(self, name: str, payload: bytes) -> str:
        """By itself and with the agreed window: so that it is noticed when it refers to anything before or beyond."""
        inflater = zlib.decompressobj(-self._window)
        out, rest = bytearray(), payload + b"\x00\x00\xff\xff"
        try:
            while piece := inflater.decompress(rest, _STEP):  # in small steps: zlib sees only what is in its window
                out += piece
                rest = inflater.unconsumed_tail
                if len(out) > _MOST_INFLATED:
                    return f"{name} of more than {_MOST_INFLATED} bytes"
        except zlib.error:
            return f"{name}, which cannot be inflated"
        return said(name, bytes(out))

    def _more(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self._buffer += data

    def _header(self) -> bytes:
        while len(self._buffer) < 2:
            self._more()
        length = self._buffer[1] & 0x7F
        size = 2 + (2 if length == 126 else 8 if length == 127 else 0) + (4 if self._buffer[1] & 0x80 else 0)
        while len(self._buffer) < size:
            self._more()
        return self._buffer[:size]

    def _frame(self) -> tuple[int, bytes]:
        head = self._header()
        masked = head[1] & 0x80 != 0
        length = head[1] & 0x7F
        if length >= 126:
            length = int.from_bytes(head[2 : 4 if length == 126 else 10], "big")
        while len(self._buffer) < len(head) + length:
            self._more()
        payload = self._buffer[len(head) : len(head) + length]
        self._buffer = self._buffer[len(head) + length :]
        return head[0], mask(payload, head[-4:]) if masked else payload


def _ending(error: BaseException) -> str:
    return "end" if isinstance(error, EOFError) else "reset"


def _close_event(payload: bytes) -> str:
    if not payload:
        return "close()"
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        return "close with a reason that is no UTF-8"
    return f"close({int.from_bytes(payload[:2], 'big')})" if len(payload) > 1 else "close of one byte"
