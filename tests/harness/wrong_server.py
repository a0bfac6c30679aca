"""A small WebSocket server that is right (RFC 6455, RFC 7692), and wrong in one respect where it is told to be.

It shows that the conformance table fails for who deserves it: each mistake has the group of rows that must notice it, and
no other may. It does what tests/apps/mirror.py does.
"""

from __future__ import annotations

import codecs
import socket
import struct
import threading
import zlib

from .conformance.rows import MAX_MESSAGE
from .wrong_opening import Opening, Refusal

# What it does wrong, and which group of rows must tell.
MISTAKES = {
    "accepts another key": "handshake",
    "speaks any version": "handshake",
    "answers 426 without its version": "handshake",
    "takes a key of any length": "handshake",
    "lets any origin in": "origin",
    "answers a subprotocol that was not offered": "subprotocol",
    "answers deflate unasked": "offers",
    "passes over parameters it does not know": "offers",
    "forgets the window it was asked for": "offers",
    "takes what is not masked": "masking",
    "masks what it sends": "masking",
    "passes over RSV2": "framing",
    "passes over RSV1 that was not agreed on": "framing",
    "takes reserved opcodes for text": "framing",
    "takes lengths in more bytes than they need": "framing",
    "mixes messages": "fragmentation",
    "continues what did not begin": "fragmentation",
    "answers a ping with another payload": "control",
    "takes a ping of any length": "control",
    "takes a ping in parts": "control",
    "takes surrogates for text": "text",
    "takes text that ends inside a character": "text",
    "looks at text when it is complete": "fail-fast",
    "takes any code": "codes",
    "sends 1005": "codes",
    "goes on behind a close": "closing",
    "takes any reason": "closing",
    "has no limit": "limits",
    "takes compressed pings": "deflate",
    "keeps its context": "deflate",
    "passes over what is missing of compressed data": "deflate",
    "uses its whole window": "deflate",
    "inflates without a limit": "bombs",
}


class WrongServer:
    """Answers from the time it is made until it is closed."""

    def __init__(self, mistake: str | None = None) -> None:
        assert mistake is None or mistake in MISTAKES, mistake
        self.mistake = mistake
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address: tuple[str, int] = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> WrongServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(client, self.mistake), daemon=True).start()


class _Closed(Exception):
    """The conversation is over: with this code, or none, and the end of the connection."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


def _serve(client: socket.socket, mistake: str | None) -> None:
    with client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(20)
        try:
            conversation = _Conversation(client, mistake)
            conversation.run()
        except (EOFError, OSError):
            pass
        try:
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):  # what still comes must not become a reset
                pass
        except OSError:
            pass


class _Conversation:
    def __init__(self, client: socket.socket, mistake: str | None) -> None:
        self._client = client
        self._mistake = mistake
        self._buffer = b""
        self._left = False  # the client has sent a close
        self._packer: zlib._Compress | None = None
        self._opening = Opening(self._wrongly)

    def _wrongly(self, mistake: str) -> bool:
        return self._mistake == mistake

    def run(self) -> None:
        try:
            self._client.sendall(self._open())
        except Refusal as refusal:
            self._client.sendall(("\r\n".join(refusal.lines) + "\r\n\r\n").encode())
            return
        try:
            self._talk()
        except _Closed as closed:
            code = 1005 if closed.code is None and self._wrongly("sends 1005") else closed.code
            self._send(0x88, b"" if code is None else struct.pack("!H", code))
            if self._left and self._buffer and self._wrongly("goes on behind a close"):
                self._send(0x81, b"one more thing")

    # ---- bytes

    def _some(self) -> bytes:
        """What is there, of what has to come."""
        if not self._buffer:
            self._buffer = self._client.recv(1 << 16)
            if not self._buffer:
                raise EOFError
        data, self._buffer = self._buffer, b""
        return data

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            data += self._some()
        data, self._buffer = data[:count], data[count:]
        return data

    def _send(self, first: int, payload: bytes) -> None:
        length = len(payload)
        masked = 0x80 if self._wrongly("masks what it sends") else 0
        head = bytes([first, masked | (length if length < 126 else 126 if length < 1 << 16 else 127)])
        if length >= 126:
            head += struct.pack("!H" if length < 1 << 16 else "!Q", length)
        self._client.sendall(head + (bytes(4) if masked else b"") + payload)

    def _open(self) -> bytes:
        raw = b""
        while b"\r\n\r\n" not in raw:
            raw += self._some()
        head, _, self._buffer = raw.partition(b"\r\n\r\n")
        return self._opening.answer(head)

    # ---- frames

    def _talk(self) -> None:
        kind, compressed, message = 0, False, bytearray()
        text = self._text_check()
        while True:
            first = self._exactly(1)[0]
            opcode, fin = first & 0x0F, first & 0x80 != 0
            opcode = self._check_first(first, kind)
            length = self._length(opcode)
            if opcode >= 8:
                payload = self._payload(length)
                self._control(opcode, payload, compressed=first & 0x40 != 0)
                continue
            if opcode:
                kind, compressed = opcode, first & 0x40 != 0 and self._opening.deflate
            elif not kind:
                kind = 1
            most = MAX_MESSAGE + MAX_MESSAGE // 8 + 64 if compressed else MAX_MESSAGE
            if len(message) + length > most and not self._wrongly("has no limit"):
                raise _Closed(1009)
            check = text if kind == 1 and not compressed else None
            message += self._payload(length, None if self._wrongly("looks at text when it is complete") else check)
            if not fin:
                continue
            whole = self._inflated(bytes(message)) if compressed else bytes(message)
            if check is None or self._wrongly("looks at text when it is complete"):
                text = self._text_check()
                if kind == 1:
                    text(whole, False)
            if kind == 1 and not self._wrongly("takes text that ends inside a character"):
                text(b"", True)
            self._answer(kind, whole)
            kind, compressed, message, text = 0, False, bytearray(), self._text_check()

    def _text_check(self):  # type: ignore[no-untyped-def]
        errors = "surrogatepass" if self._wrongly("takes surrogates for text") else "strict"
        decoder = codecs.getincrementaldecoder("utf-8")(errors)

        def check(data: bytes, final: bool) -> None:
            try:
                decoder.decode(data, final)
            except UnicodeDecodeError:
                raise _Closed(1007) from None

        return check

    def _check_first(self, first: int, kind: int) -> int:
        opcode, control = first & 0x0F, first & 0x08 != 0
        if first & 0x10 or first & 0x20 and (self._opening.deflate or not self._wrongly("passes over RSV2")):
            raise _Closed(1002)
        if opcode not in (0, 1, 2, 8, 9, 10):
            if not self._wrongly("takes reserved opcodes for text"):
                raise _Closed(1002)
            return 1
        if first & 0x40:
            fine = self._opening.deflate and opcode in (1, 2)
            fine = fine or self._opening.deflate and control and self._wrongly("takes compressed pings")
            if not fine and (self._opening.deflate or not self._wrongly("passes over RSV1 that was not agreed on")):
                raise _Closed(1002)
        if control and not first & 0x80 and not self._wrongly("takes a ping in parts"):
            raise _Closed(1002)
        if not control and opcode and kind and not self._wrongly("mixes messages"):
            raise _Closed(1002)
        if not control and not opcode and not kind and not self._wrongly("continues what did not begin"):
            raise _Closed(1002)
        return opcode

    def _length(self, opcode: int) -> int:
        second = self._exactly(1)[0]
        self._masked = second & 0x80 != 0
        if not self._masked and not self._wrongly("takes what is not masked"):
            raise _Closed(1002)
        length = second & 0x7F
        if opcode >= 8 and length > 125 and not self._wrongly("takes a ping of any length"):
            raise _Closed(1002)
        if length < 126:
            return length
        size = 2 if length == 126 else 8
        length = int.from_bytes(self._exactly(size), "big")
        if length >> 63:
            raise _Closed(1002)
        shortest = length > (125 if size == 2 else 65535)
        if not shortest and not self._wrongly("takes lengths in more bytes than they need"):
            raise _Closed(1002)
        return length

    def _payload(self, length: int, check=None) -> bytes:  # type: ignore[no-untyped-def]
        key = self._exactly(4) if self._masked else bytes(4)
        out = bytearray()
        while len(out) < length:
            data = self._some()
            data, self._buffer = data[: length - len(out)], data[length - len(out) :]
            turned = (key * (len(data) // 4 + 2))[len(out) % 4 :][: len(data)]
            data = (int.from_bytes(data, "big") ^ int.from_bytes(turned, "big")).to_bytes(len(data), "big")
            if check is not None:
                check(data, False)
            out += data
        return bytes(out)

    def _control(self, opcode: int, payload: bytes, compressed: bool) -> None:
        if opcode == 9:
            self._send(
                0x8A,
                bytes(byte ^ 1 for byte in payload) or b"!"
                if self._wrongly("answers a ping with another payload")
                else payload,
            )
        if opcode != 8:
            return
        self._left = True
        if not payload:
            raise _Closed(None)
        code = struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else 0
        if not _may_be_sent(code) and not (len(payload) > 1 and self._wrongly("takes any code")):
            raise _Closed(1002)
        try:
            payload[2:].decode("utf-8", "replace" if self._wrongly("takes any reason") else "strict")
        except UnicodeDecodeError:
            raise _Closed(1007) from None
        raise _Closed(1000 if code == 1010 else code)

    # ---- messages

    def _answer(self, kind: int, message: bytes) -> None:
        code = int(self._opening.query["close"][0].partition(" ")[0]) if "close" in self._opening.query else None
        if code is not None and (not _may_be_sent(code) or code == 1010):
            raise _Closed(1005 if self._wrongly("sends 1005") and code == 1005 else 1011)
        if self._opening.deflate and len(message) >= 128:
            self._send(0xC0 | kind, self._deflated(message))
        else:
            self._send(0x80 | kind, message)
        if code is not None:
            raise _Closed(code)

    def _deflated(self, message: bytes) -> bytes:
        if self._packer is None or not self._wrongly("keeps its context"):
            bits = 15 if self._wrongly("uses its whole window") else max(9, self._opening.window)
            self._packer = zlib.compressobj(wbits=-bits)
        return (self._packer.compress(message) + self._packer.flush(zlib.Z_SYNC_FLUSH))[:-4]

    def _inflated(self, payload: bytes) -> bytes:
        limit = 0 if self._wrongly("inflates without a limit") else MAX_MESSAGE
        try:
            out, _ = _inflate(payload + _TAIL, limit)
            # An empty final block behind data that end inside of one is not seen as such.
            missing = not _inflate(payload + _TAIL + b"\x03\x00", limit)[1]
        except zlib.error:
            raise _Closed(1007) from None
        if missing and not self._wrongly("passes over what is missing of compressed data"):
            raise _Closed(1007)
        return out


_TAIL = b"\x00\x00\xff\xff"  # that a message has lost (RFC 7692 7.2.1)


def _may_be_sent(code: int) -> bool:
    return 1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999


def _inflate(data: bytes, limit: int) -> tuple[bytes, bool]:
    """And whether the data end with a final block. One in their middle ends Python's inflater, but not the message,
    and what comes behind it may refer to what was before."""
    out = b""
    while True:
        inflater = zlib.decompressobj(-15, zdict=out[-32768:])
        out += inflater.decompress(data, limit + 1 - len(out) if limit else 0)
        if limit and len(out) > limit:
            raise _Closed(1009)
        data = inflater.unused_data
        if not inflater.eof or not data:
            return out, inflater.eof
