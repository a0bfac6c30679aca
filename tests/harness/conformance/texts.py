"""Rows of text: RFC 6455 sections 5.6 and 8.1."""

from __future__ import annotations

from .peer import binary, ends, frame, goes_on, ping, pong, said, text, text_begins
from .rows import HALF_CLOSE, Row, Step, opening

NO_TEXT = ("close(1007)", "end")


def _text(name: str, demand: str, *steps: Step) -> Row:
    return Row("text", name, "6455 8.1", demand, opening(), ("101",), steps)


_KOSME = "κόσμε".encode()
_GOOD = {
    "greek": (_KOSME, "text is UTF-8"),
    "emoji": ("🐘".encode(), "of four bytes too"),
    "first": (b"\0\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80", "the first character of each length"),
    "last": (b"\x7f\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf", "the last of each"),
    "around-surrogates": (b"\xed\x9f\xbf\xee\x80\x80", "those around the surrogates"),
    "noncharacter": (b"\xef\xbf\xbe\xef\xbf\xbf", "noncharacters"),
    "mark": (b"\xef\xbb\xbfa", "a byte order mark, which stays"),
    "nul": (b"a\0b", "NUL"),
}
_BAD = {
    "ff": (b"a\xff", "a byte that begins nothing"),
    "continuation": (b"\x80", "a continuation byte alone"),
    "head": (b"\xce ", "a head alone"),
    "cut": (b"\xce\xba\xe1\xbd", "a message that ends inside a character"),
    "cut-4": (b"\xf0\x9f\x90", "of four bytes"),
    "surrogate": (b"\xed\xa0\x80", "a surrogate"),
    "surrogate-pair": (b"\xed\xa0\xbd\xed\xb8\x80", "a pair of them"),
    "surrogate-last": (b"\xed\xbf\xbf", "the last of them"),
    "overlong-2": (b"\xc0\xaf", "an overlong form of two bytes"),
    "overlong-3": (b"\xe0\x80\xaf", "of three"),
    "overlong-4": (b"\xf0\x80\x80\xaf", "of four"),
    "overlong-nul": (b"\xc0\x80", "of NUL"),
    "overlong-7f": (b"\xc1\xbf", "of the last byte"),
    "beyond": (b"\xf4\x90\x80\x80", "beyond U+10FFFF"),
    "five": (b"\xf8\x88\x80\x80\x80", "five bytes"),
    "six": (b"\xfc\x84\x80\x80\x80\x80", "six bytes"),
    "good-before": ("κόσμε".encode() * 20 + b"\xff", "behind much that is good"),
}
TEXT = [
    *(_text(name, demand, text(data), said("text", data)) for name, (data, demand) in _GOOD.items()),
    *(_text(f"bad-{name}", f"refused: {demand}", text(data), *NO_TEXT) for name, (data, demand) in _BAD.items()),
    _text(
        "split", "a frame may end inside a character", text_begins(_KOSME[:3]) + ends(_KOSME[3:]), said("text", _KOSME)
    ),
    _text(
        "split-all",
        "every frame may",
        text_begins(b"\xf0") + goes_on(b"\x9f") + goes_on(b"\x90") + ends(b"\x98"),
        "text(🐘)",
    ),
    _text("split-cut", "the message may not", text_begins(b"\xce\xba\xe1") + ends(b"\xbd"), *NO_TEXT),
    _text("binary", "binary may be anything", binary(b"\xff\xfe\xc0\x80"), said("binary", b"\xff\xfe\xc0\x80")),
    _text("next", "each message begins anew", text(b"a"), "text(a)", text(b"\x80"), *NO_TEXT),
]

# ---- 8.1, as early as it can be known. A server that waits for the rest answers the ping, or sees the end and says
# nothing.


def _early(name: str, demand: str, sent: bytes) -> Row:
    return Row("fail-fast", name, "6455 8.1", demand, opening(), ("101",), (sent, HALF_CLOSE, *NO_TEXT))


def _first_bytes(first: int, payload: bytes, length: int) -> bytes:
    """Of a frame that announces more."""
    whole = frame(first, payload + bytes(length - len(payload)))
    return whole[: len(whole) - (length - len(payload))]


FAIL_FAST = [
    _early("first-fragment", "before the message has ended", text_begins(b"\xff") + ping(b"later")),
    _early("second-fragment", "in its second frame", text_begins(b"a") + goes_on(b"\xff") + ping(b"later")),
    _early("split", "at the frame that makes it wrong", text_begins(b"\xf4") + goes_on(b"\x90") + ping(b"later")),
    _early(
        "behind-ping", "whatever came between", text_begins(b"\xf4") + pong(b"a") + goes_on(b"\x90") + ping(b"later")
    ),
    _early("inside-frame", "before the frame has ended", _first_bytes(0x81, b"a\xff", 50)),
    _early("inside-long", "of a long one", _first_bytes(0x81, b"*" * 500 + b"\xff", 60_000)),
    _early("inside-character", "at the byte that makes it wrong", _first_bytes(0x81, b"\xf4\x90", 4)),
    _early("overlong", "of an overlong form", _first_bytes(0x81, b"\xe0\x80", 3)),
    _early("inside-last", "in the last frame", text_begins(b"good") + _first_bytes(0x80, b"\xff", 10)),
]

ROWS = TEXT + FAIL_FAST
