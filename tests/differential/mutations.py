"""Requests, and ways to spoil them."""

from __future__ import annotations

import random
from collections.abc import Iterator

_HOST = b"Host: example.org\r\n"

SEEDS: tuple[bytes, ...] = (
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /a/b?c=d&e HTTP/1.1\r\n" + _HOST + b"Accept: */*\r\nUser-Agent: x/1 (y; z)\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"HEAD /x HTTP/1.1\r\n" + _HOST + b"Connection: close\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"GET http://example.org/x HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Content-Length: 5\r\n\r\nhello",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Content-Length: 0\r\n\r\n",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
    b"POST /f HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\nA;x=y\r\n0123456789\r\n0;z\r\n\r\n",
    b"PUT /f HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nDigest: q\r\nX: y\r\n\r\n",
    b"GET /1 HTTP/1.1\r\n" + _HOST + b"\r\nGET /2 HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"POST /1 HTTP/1.1\r\n" + _HOST + b"Content-Length: 2\r\n\r\nhiGET /2 HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"DELETE /x HTTP/1.1\r\n" + _HOST + b"Cookie: a=b; c=d\r\nCookie: e=f\r\nX-Empty:\r\n\r\n",
)

# Fields and pieces that parsers are known to read differently.
LINES: tuple[bytes, ...] = (
    b"Content-Length: 5",
    b"Content-Length: 6",
    b"Content-Length: +5",
    b"Content-Length: 5, 5",
    b"Content-Length: 0x5",
    b"Content-Length: 5 5",
    b"Content-Length:",
    b"Content-Length : 5",
    b"Content-Length: 18446744073709551621",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:chunked",
    b"Transfer-Encoding: , chunked",
    b"transfer-encoding: CHUNKED",
    b"Host: b",
    b"Host:",
    b"Host: a b",
    b" folded",
    b"\tfolded",
    b"no colon",
    b": no name",
    b"X: a\x00b",
    b"X: a\rb",
    b"X\xe9: y",
    b"X: \xc3\xa9",
    b"Connection: close",
    b"0",
    b"5;e=\x01",
)

BYTES: tuple[bytes, ...] = tuple(bytes([n]) for n in b'\r\n\t\x00\x0b\x0c\x1f\x7f\x80\xff :;,=/?#*+-.05aAfFgxX"\\')
PIECES: tuple[bytes, ...] = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\r\n",
    b"\r\n\r\n",
    b"\r\n ",
    b"  ",
    b"0x",
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"HTTP/1.10",
    b"http://u@h/",
)


def _byte(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(BYTES) + text[at + 1 :]


def _any_byte(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]


def _insert(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice((rng.choice(BYTES), rng.choice(PIECES))) + text[at:]


def _remove(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randrange(1, 4) :]


def _line(text: bytes, rng: random.Random) -> bytes:
    lines = text.split(b"\r\n")
    lines.insert(rng.randrange(1, len(lines) + 1), rng.choice(LINES))
    return b"\r\n".join(lines)


def _line_again(text: bytes, rng: random.Random) -> bytes:
    lines = text.split(b"\r\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\r\n".join(lines)


def _line_gone(text: bytes, rng: random.Random) -> bytes:
    lines = text.split(b"\r\n")
    del lines[rng.randrange(len(lines))]
    return b"\r\n".join(lines)


def _line_end(text: bytes, rng: random.Random) -> bytes:
    ends = text.count(b"\r\n")
    if ends == 0:
        return text
    parts = text.split(b"\r\n")
    at = rng.randrange(1, ends + 1)
    end = rng.choice((b"\n", b"\r", b"\r\r\n", b" \r\n", b"\r\n ", b""))
    return b"\r\n".join(parts[:at]) + end + b"\r\n".join(parts[at:])


def _around_separator(text: bytes, rng: random.Random) -> bytes:
    places = [at for at, byte in enumerate(text) if byte in b" :;,="]
    if not places:
        return text
    at = rng.choice(places) + rng.randrange(2)
    return text[:at] + rng.choice((b" ", b"\t", b"  ", b"\x00", b"\x0b")) + text[at:]


_WAYS = (_byte, _any_byte, _insert, _remove, _line, _line, _line_again, _line_gone, _line_end, _around_separator)


def mutated(count: int, seed: int) -> Iterator[bytes]:
    """Requests with one to three changes each; the same ones for the same seed."""
    rng = random.Random(seed)
    for _ in range(count):
        text = rng.choice(SEEDS)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
            text = rng.choice(_WAYS)(text, rng) or b"\r\n"
        yield text
