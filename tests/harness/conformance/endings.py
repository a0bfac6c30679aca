"""Rows of the closing handshake, its codes and the limits: RFC 6455 sections 5.5.1, 7 and 10.4."""

from __future__ import annotations

from .peer import binary, binary_begins, close, ends, frame, goes_on, header, ping, said, text, text_begins
from .rows import HALF_CLOSE, MAX_MESSAGE, Row, Step, opening

_ALLOWED = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999)
_NOT_ALLOWED = (0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535)


def _row(group: str, name: str, section: str, demand: str, *steps: Step, target: str = "/") -> Row:
    return Row(group, name, section, demand, opening(f"GET {target} HTTP/1.1"), ("101",), steps)


def _codes() -> list[Row]:
    rows = []
    for code in _ALLOWED:
        rows.append(
            _row(
                "codes",
                f"{code}",
                "6455 7.4",
                f"{code} may be sent, and comes back",
                close(code),
                f"close({code})",
                "end",
            )
        )
    for code in _NOT_ALLOWED:
        rows.append(_row("codes", f"not-{code}", "6455 7.4", f"{code} may not", close(code), "close(1002)", "end"))
    return rows


CODES = [
    *_codes(),
    _row("codes", "1010", "6455 7.4.1", "1010 may be sent, and a server never sends it", close(1010), "close(1000)", "end"),
    _row("codes", "none", "6455 7.1.5", "none comes back as none: 1005 is never sent", close(), "close()", "end"),
    _row("codes", "1000-asked", "6455 7.4.1", "the server's own", text(b"bye"), "text(bye)", "close(1000)", "end", target="/?close=1000"),
    _row("codes", "4001-asked", "6455 7.4.2", "or the application's", text(b"bye"), "text(bye)", "close(4001)", "end", target="/?close=4001%20why"),
    *(
        _row("codes", f"{code}-asked", "6455 7.4.1", f"but never {code}", text(b"bye"), "close(1011)", "end", target=f"/?close={code}")
        for code in (1005, 1006, 1010, 1015)
    ),
]  # fmt: skip


_WRONG = frame(0x91)  # RSV3


def _closing(name: str, section: str, demand: str, *steps: Step) -> Row:
    return _row("closing", name, section, demand, *steps)


CLOSING = [
    _closing("answered", "6455 5.5.1", "a close is answered, then the server ends the connection", close(1000), "close", "end"),
    _closing("reason", "6455 5.5.1", "one with a reason too", close(1000, b"bye"), "close", "end"),
    _closing("reason-123", "6455 5.5.1", "of 123 bytes", close(1000, b"*" * 123), "close", "end"),
    _closing("reason-greek", "6455 5.5.1", "in UTF-8", close(1000, "κόσμε".encode()), "close", "end"),
    _closing("reason-bad", "6455 5.5.1", "and in nothing else", close(1000, b"\xce\xba\xff"), "close(1007)", "end"),
    _closing("reason-cut", "6455 5.5.1", "nor half a character", close(1000, b"\xce"), "close(1007)", "end"),
    _closing("reason-surrogate", "6455 5.5.1", "nor a surrogate", close(1000, b"\xed\xa0\x80"), "close(1007)", "end"),
    _closing("one-byte", "6455 5.5.1", "a code has two bytes", frame(0x88, b"\x03"), "close(1002)", "end"),
    _closing("text-behind", "6455 5.5.1", "nothing is answered behind a close", close(1000) + text(b"late"), "close", "end"),
    _closing("ping-behind", "6455 5.5.1", "no ping", close(1000) + ping(b"late"), "close", "end"),
    _closing("wrong-behind", "6455 5.5.1", "nor what breaks the protocol", close(1000) + _WRONG, "close(1000)", "end"),
    _closing("close-behind", "6455 5.5.1", "nor a second close", close(1000) + close(1001), "close(1000)", "end"),
    _closing("rest-behind", "6455 5.5.1", "nor the rest of a message", text_begins(b"a") + close(1000) + ends(b"b"), "close", "end"),
    _closing("much-behind", "6455 7.1.1", "however much comes", close(1000) + binary(bytes(50_000)) * 4, "close", "end"),
    _closing("after-failure", "6455 7.1.7", "nothing is answered behind a failure", _WRONG + text(b"late") + ping(b"late"), "close(1002)", "end"),
    _closing("close-after-failure", "6455 7.1.7", "no close", _WRONG + close(1000), "close(1002)", "end"),
    _closing("before-failure", "6455 7.1.7", "what was answered before it counts", text(b"a"), "text(a)", _WRONG, "close(1002)", "end"),
    _closing("half-close", "6455 7.1.1", "a client that ends without a close gets none", HALF_CLOSE, "end"),
    _closing("half-close-behind", "6455 7.1.1", "one that ends behind its close gets the answer", close(1000), HALF_CLOSE, "close", "end"),
]  # fmt: skip


def _limit(name: str, demand: str, *steps: Step) -> Row:
    return _row("limits", name, "6455 10.4", demand, *steps)


_MOST = b"*" * MAX_MESSAGE
_HALF = MAX_MESSAGE // 2
_TOO_BIG = ("close(1009)", "end")
LIMITS = [
    _limit("at", "a message at the limit", binary(_MOST), said("binary", _MOST)),
    _limit("at-text", "of text", text(_MOST), said("text", _MOST)),
    _limit("at-fragments", "in two frames", binary_begins(_MOST[:_HALF]) + ends(_MOST[_HALF:]), said("binary", _MOST)),
    _limit("over", "a byte more is 1009", binary(_MOST + b"*"), *_TOO_BIG),
    _limit("over-text", "of text too", text(_MOST + b"*"), *_TOO_BIG),
    _limit("over-fragments", "in two frames too", binary_begins(_MOST) + ends(b"*"), *_TOO_BIG),
    _limit("over-many", "in many", binary_begins(b"") + goes_on(bytes(1000)) * (MAX_MESSAGE // 1000 + 1) + ping(b"later"), *_TOO_BIG),
    _limit("announced", "before it has come", header(0x82, MAX_MESSAGE + 1) + bytes(4), HALF_CLOSE, *_TOO_BIG),
    _limit("announced-63-bits", "however much it would be", header(0x82, (1 << 63) - 1) + bytes(4), HALF_CLOSE, *_TOO_BIG),
    _limit("announced-fragment", "of a later frame too", text_begins(b"a") + header(0x80, MAX_MESSAGE) + bytes(4), HALF_CLOSE, *_TOO_BIG),
    _limit("each", "each message has the whole limit", binary(_MOST), said("binary", _MOST), binary(_MOST), said("binary", _MOST)),
]  # fmt: skip

ROWS = CODES + CLOSING + LIMITS
