"""Rows of compressed messages: RFC 7692 sections 6 to 8."""

from __future__ import annotations

import random
import zlib

from .peer import binary, close, deflate, ends, frame, goes_on, ping, said, text, text_begins
from .rows import MAX_MESSAGE, Row, Step, opening


def _row(group: str, name: str, section: str, demand: str, *steps: Step, offer: str = "permessage-deflate") -> Row:
    fields = [("Sec-WebSocket-Extensions", offer)]
    agreed = ("101", "Sec-WebSocket-Extensions ~ permessage-deflate")
    return Row(group, name, section, demand, opening(more=fields), agreed, steps)


def _deflate(name: str, section: str, demand: str, *steps: Step, offer: str = "permessage-deflate") -> Row:
    return _row("deflate", name, section, demand, *steps, offer=offer)


_HELLO = b"\xf2\x48\xcd\xc9\xc9\x07\x00"  # of RFC 7692 7.2.3.1
_FIVE_BACK = b"\xf2\x00\x11\x00\x00"  # a copy of five bytes that stand five bytes before
_BROKEN = ("close(1002)", "end")
_CORRUPT = ("close(1007) or close(1002)", "end")
_AGAIN = b"the same again and again, " * 60
# Its end stands 5,000 bytes before: beyond a window of 12 bits.
_FAR = random.Random(7692).randbytes(5_000)
_FAR += _FAR[:1_000]

DEFLATE = [
    _deflate("text", "7692 6", "RSV1 says that a message is compressed", frame(0xC1, _HELLO), "text(Hello)"),
    _deflate("binary", "7692 6", "binary too", frame(0xC2, _HELLO), "binary(Hello)"),
    _deflate("plain", "7692 6", "without RSV1 it is not", text(b"Hello"), "text(Hello)"),
    _deflate("each", "7692 6", "each message decides", text(b"a") + frame(0xC1, _HELLO) + binary(b"b"), "text(a)", "text(Hello)", "binary(b)"),
    _deflate("rsv2", "7692 6", "RSV2 stays reserved", frame(0xE1, _HELLO), *_BROKEN),
    _deflate("rsv3", "7692 6", "RSV3 too", frame(0xD1, _HELLO), *_BROKEN),
    _deflate("ping", "7692 6", "a ping is not compressed", frame(0xC9, _HELLO), *_BROKEN),
    _deflate("pong", "7692 6", "nor a pong", frame(0xCA, _HELLO) + ping(b"later"), *_BROKEN),
    _deflate("close", "7692 6", "nor a close", frame(0xC8), *_BROKEN),
    _deflate("second", "7692 6", "RSV1 is the first frame's alone", frame(0x41, _HELLO[:3]) + frame(0xC0, _HELLO[3:]), *_BROKEN),
    _deflate("second-plain", "7692 6", "also of one that is not compressed", text_begins(b"a") + frame(0xC0, b"b"), *_BROKEN),
    _deflate("fragments", "7692 6.2", "fragments are put together first", frame(0x41, _HELLO[:1]) + goes_on(_HELLO[1:3]) + ends(_HELLO[3:]), "text(Hello)"),
    _deflate("fragments-ping", "7692 6.2", "a ping may come between", frame(0x41, _HELLO[:3]) + ping(b"p"), "pong", ends(_HELLO[3:]), "text(Hello)"),
    _deflate("fragments-empty", "7692 6.2", "the last may be empty", frame(0x41, _HELLO) + ends(b""), "text(Hello)"),
    _deflate("empty", "7692 7.2.3.6", "an empty message", frame(0xC1, b"\x00"), "text()"),
    _deflate("stored", "7692 7.2.3.3", "a block without compression", frame(0xC1, b"\x00\x05\x00\xfa\xffHello\x00"), "text(Hello)"),
    _deflate("final", "7692 7.2.3.4", "a final block", frame(0xC1, b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), "text(Hello)"),
    _deflate("two-blocks", "7692 7.2.3.5", "two blocks", frame(0xC1, b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"), "text(Hello)"),
    _deflate("dynamic", "7692 7.2.1", "codes of its own", frame(0xC1, deflate(_AGAIN)), said("text", _AGAIN)),
    _deflate("within", "7692 7.2.1", "a block may refer to the one before", frame(0xC1, b"\xf3\x48\xcd\xc9\xc9\x07\x00" + _FIVE_BACK), "text(HelloHello)"),
    _deflate("long", "7692 7.2.2", "of 90,000 bytes", frame(0xC2, deflate(bytes(90_000))), said("binary", bytes(90_000))),
    _deflate("corrupt", "7692 7.2.2", "what is no DEFLATE fails", frame(0xC1, b"\xff\xff\xff"), *_CORRUPT),
    _deflate("cut", "7692 7.2.2", "and what ends inside a block", frame(0xC1, _HELLO[:4]), *_CORRUPT),
    _deflate("cut-stored", "7692 7.2.2", "of any kind", frame(0xC2, b"\x00\x14\x00\xeb\xffHello"), *_CORRUPT),
    _deflate("distance", "7692 7.2.2", "and what refers to nothing", frame(0xC1, _FIVE_BACK), *_CORRUPT),
    _deflate("takeover", "7692 7.1.1.2", "and to the message before", frame(0xC1, _HELLO), "text(Hello)", frame(0xC1, _FIVE_BACK), *_CORRUPT),
    _deflate("text-inflated", "7692 6.2", "text is UTF-8 when it is inflated", frame(0xC1, deflate(b"\xc3\x28")), "close(1007)", "end"),
    _deflate("text-compressed", "7692 6.2", "and need not be before", frame(0xC1, deflate("κόσμε".encode())), "text(κόσμε)"),
    _deflate("answer", "7692 7.2.1", "what a server sends can be inflated", text(_AGAIN), said("text", _AGAIN)),
    _deflate("answers", "7692 7.1.1.1", "each message by itself", text(_AGAIN), said("text", _AGAIN), text(_AGAIN), said("text", _AGAIN), offer="permessage-deflate; server_no_context_takeover"),
    _deflate("answer-window", "7692 7.1.2.1", "in the window that was agreed on", binary(_FAR), said("binary", _FAR), offer="permessage-deflate; server_max_window_bits=12"),
    _deflate("answer-ping", "7692 6", "a pong is not compressed", ping(b"*" * 125), "first(8a)", "pong"),
    _deflate("answer-close", "7692 6", "nor a close", close(1000), "first(88)", "close", "end"),
]  # fmt: skip

_OVER = MAX_MESSAGE + 1
_TOO_BIG = ("close(1009)", "end")


def _bomb(name: str, demand: str, *steps: Step) -> Row:
    return _row("bombs", name, "7692 8", demand, *steps)


def _of_bombs() -> bytes:
    """1 MiB of zeros again and again: a thousandth of 64 MiB."""
    packer = zlib.compressobj(wbits=-15)
    out = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64))
    return (out + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


BOMBS = [
    _bomb("at", "what a message becomes is limited: at the limit", frame(0xC2, deflate(bytes(MAX_MESSAGE))), said("binary", bytes(MAX_MESSAGE))),
    _bomb("over", "a byte more is 1009", frame(0xC2, deflate(bytes(_OVER))), *_TOO_BIG),
    _bomb("over-text", "of text too", frame(0xC1, deflate(b"*" * _OVER)), *_TOO_BIG),
    _bomb("over-fragments", "in fragments too", frame(0x42, deflate(bytes(_OVER))[:50]) + ends(deflate(bytes(_OVER))[50:]), *_TOO_BIG),
    _bomb("64-mib", "of 64 MiB too", frame(0xC2, _of_bombs()), *_TOO_BIG),
    _bomb("behind-a-good-one", "also later", frame(0xC1, _HELLO), "text(Hello)", frame(0xC2, deflate(bytes(_OVER))), *_TOO_BIG),
]  # fmt: skip

ROWS = DEFLATE + BOMBS
