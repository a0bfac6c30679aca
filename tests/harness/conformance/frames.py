"""Rows of frames: RFC 6455 section 5."""

from __future__ import annotations

from .peer import (
    binary,
    binary_begins,
    ends,
    frame,
    goes_on,
    header,
    ping,
    pong,
    said,
    text,
    text_begins,
    unmasked,
)
from .rows import HALF_CLOSE, Row, Step, opening

BROKEN = ("close(1002)", "end")


def _row(group: str, name: str, section: str, demand: str, *steps: Step) -> Row:
    return Row(group, name, section, demand, opening(), ("101",), steps)


# ---- 5.1, 5.3


def _masking(name: str, section: str, demand: str, *steps: Step) -> Row:
    return _row("masking", name, section, demand, *steps)


MASKING = [
    _masking("text", "6455 5.1", "a text that is not masked ends the connection", unmasked(0x81, b"Hello"), *BROKEN),
    _masking("binary", "6455 5.1", "so does binary", unmasked(0x82, b"Hello"), *BROKEN),
    _masking("empty", "6455 5.1", "so does an empty one", unmasked(0x81), *BROKEN),
    _masking("ping", "6455 5.1", "so does a ping", unmasked(0x89, b"a"), *BROKEN),
    _masking("close", "6455 5.1", "so does a close", unmasked(0x88, b"\x03\xe8"), *BROKEN),
    _masking("continuation", "6455 5.1", "so does a continuation", text_begins(b"a") + unmasked(0x80, b"b"), *BROKEN),
    _masking("long", "6455 5.1", "so does one of 70,000 bytes", unmasked(0x82, bytes(70_000)), *BROKEN),
    _masking("late", "6455 5.1", "also behind good ones", text(b"a"), "text(a)", unmasked(0x81, b"b"), *BROKEN),
    _masking("answer", "6455 5.1", "a server masks nothing", text(b"Hello"), "header(81 05)", "text(Hello)"),
    _masking("answer-pong", "6455 5.1", "no pong", ping(b"Hello"), "header(8a 05)", "pong"),
    _masking("answer-close", "6455 5.1", "no close", frame(0x88, b"\x03\xe8"), "header(88 02)", "close", "end"),
    _masking("zeros", "6455 5.3", "a mask of zeros is one", frame(0x81, b"Hello", bytes(4)), "text(Hello)"),
    _masking(
        "ones",
        "6455 5.3",
        "any mask is",
        frame(0x82, b"\xff\x00\xff\x00\xff", b"\xff" * 4),
        said("binary", b"\xff\x00\xff\x00\xff"),
    ),
    _masking(
        "each",
        "6455 5.3",
        "each frame has its own",
        frame(1, b"He", b"abcd") + frame(0x80, b"llo", b"efgh"),
        "text(Hello)",
    ),
    _masking(
        "turns",
        "6455 5.3",
        "it goes on in turns of four",
        frame(0x82, bytes(range(256)), b"\x01\x02\x03\x04"),
        said("binary", bytes(range(256))),
    ),
]

# ---- 5.2


def _framing(name: str, section: str, demand: str, *steps: Step) -> Row:
    return _row("framing", name, section, demand, *steps)


def _lengths() -> list[Row]:
    rows = []
    for length in (0, 1, 125, 126, 127, 128, 65535, 65536, 65537):
        payload = b"*" * length
        rows.append(
            _framing(f"text-{length}", "6455 5.2", f"text of {length} bytes", text(payload), said("text", payload))
        )
        rows.append(
            _framing(
                f"binary-{length}", "6455 5.2", f"binary of {length} bytes", binary(payload), said("binary", payload)
            )
        )
    for length, shape in (
        (125, "7d"),
        (126, "7e 00 7e"),
        (65535, "7e ff ff"),
        (65536, "7f 00 00 00 00 00 01 00 00"),
    ):
        rows.append(
            _framing(
                f"shortest-{length}",
                "6455 5.2",
                f"{length} is answered in its shortest form",
                binary(b"*" * length),
                f"length({shape})",
                "binary",
            )
        )
    return rows


def _reserved() -> list[Row]:
    rows = []
    for bits, name in ((0x40, "1"), (0x20, "2"), (0x10, "3"), (0x70, "1-2-3")):
        for first, kind in ((0x81, "text"), (0x82, "binary"), (0x89, "ping"), (0x88, "close")):
            rows.append(
                _framing(f"rsv{name}-{kind}", "6455 5.2", f"RSV{name} of a {kind} is 0", frame(first | bits), *BROKEN)
            )
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        rows.append(
            _framing(
                f"opcode-{opcode}", "6455 5.2", f"opcode {opcode} is reserved", frame(0x80 | opcode, b"a"), *BROKEN
            )
        )
    return rows


FRAMING = [
    *_lengths(),
    *_reserved(),
    _framing(
        "rsv2-continuation", "6455 5.2", "RSV2 of a continuation is 0", text_begins(b"a") + frame(0xA0, b"b"), *BROKEN
    ),
    _framing(
        "opcode-inside", "6455 5.2", "a reserved opcode inside a message", text_begins(b"a") + frame(0x83), *BROKEN
    ),
    _framing("longer-2", "6455 5.2", "125 has one byte of length", b"\x82\xfe\x00\x7d" + bytes(129), *BROKEN),
    _framing("longer-8", "6455 5.2", "so it has not eight", b"\x82\xff" + bytes(7) + b"\x7d" + bytes(129), *BROKEN),
    _framing("longer-65535", "6455 5.2", "65535 has two", b"\x82\xff" + bytes(6) + b"\xff\xff" + bytes(65539), *BROKEN),
    _framing("longer-ping", "6455 5.2", "a ping too", b"\x89\xfe\x00\x01" + bytes(5), *BROKEN),
    _framing("64-bits", "6455 5.2", "a length has at most 63 bits", b"\x82\xff\x80" + bytes(7), HALF_CLOSE, *BROKEN),
    _framing("no-frame", "6455 10.7", "what is no frame", b"GET / HTTP/1.1\r\n\r\n", *BROKEN),
    _framing(
        "many",
        "6455 5.2",
        "frames that come together are all heard",
        text(b"a") + binary(b"b") + text(b"c"),
        "text(a)",
        "binary(b)",
        "text(c)",
    ),
]

# ---- 5.4


def _fragments(name: str, demand: str, *steps: Step) -> Row:
    return _row("fragmentation", name, "6455 5.4", demand, *steps)


FRAGMENTATION = [
    _fragments("two", "a message of two frames", text_begins(b"Hel") + ends(b"lo"), "text(Hello)"),
    _fragments(
        "five",
        "of five",
        binary_begins(b"H") + goes_on(b"e") + goes_on(b"l") + goes_on(b"l") + ends(b"o"),
        "binary(Hello)",
    ),
    _fragments(
        "thousand", "of a thousand", binary_begins(b"") + goes_on(b"*") * 998 + ends(b"*"), said("binary", b"*" * 999)
    ),
    _fragments("empty", "of empty ones", text_begins(b"") + goes_on(b"") + ends(b""), "text()"),
    _fragments("empty-first", "that begins empty", text_begins(b"") + ends(b"Hello"), "text(Hello)"),
    _fragments("empty-last", "that ends empty", text_begins(b"Hello") + ends(b""), "text(Hello)"),
    _fragments(
        "sizes",
        "of any sizes",
        binary_begins(bytes(70_000)) + goes_on(b"a") + ends(bytes(200)),
        said("binary", bytes(70_000) + b"a" + bytes(200)),
    ),
    _fragments(
        "kind",
        "its kind is that of its first frame",
        binary_begins(b"\xff") + ends(b"\xfe"),
        said("binary", b"\xff\xfe"),
    ),
    _fragments(
        "two-messages",
        "one behind the other",
        text_begins(b"a") + ends(b"b") + binary_begins(b"c") + ends(b"d"),
        "text(ab)",
        "binary(cd)",
    ),
    _fragments(
        "ping-inside",
        "a ping may come inside, and is answered before the end",
        text_begins(b"Hel") + ping(b"p"),
        "pong",
        ends(b"lo"),
        "text(Hello)",
    ),
    _fragments("pong-inside", "so may a pong", text_begins(b"Hel") + pong(b"p") + ends(b"lo"), "text(Hello)"),
    _fragments("close-inside", "so may a close", text_begins(b"Hel") + frame(0x88, b"\x03\xe8"), "close", "end"),
    _fragments(
        "pings-between",
        "between all of them",
        text_begins(b"a") + ping(b"1"),
        "pong",
        goes_on(b"b") + ping(b"2"),
        "pong",
        ends(b"c"),
        "text(abc)",
    ),
    _fragments("mixed", "messages are not mixed", text_begins(b"a") + text(b"b"), *BROKEN),
    _fragments("mixed-binary", "nor of two kinds", text_begins(b"a") + binary(b"b"), *BROKEN),
    _fragments(
        "mixed-first", "nor by another first frame", binary_begins(b"a") + binary_begins(b"b") + ping(b"later"), *BROKEN
    ),
    _fragments("mixed-later", "nor behind the second", text_begins(b"a") + goes_on(b"b") + text(b"c"), *BROKEN),
    _fragments("nothing-ends", "nothing ends that did not begin", ends(b"a"), *BROKEN),
    _fragments("nothing-goes-on", "nor goes on", goes_on(b"a") + ping(b"later"), *BROKEN),
    _fragments("ended", "nor what has ended", text(b"a"), "text(a)", ends(b"b"), *BROKEN),
    _fragments("ended-fragments", "in two frames", text_begins(b"a") + ends(b"b"), "text(ab)", ends(b"c"), *BROKEN),
]

# ---- 5.5


def _control(name: str, section: str, demand: str, *steps: Step) -> Row:
    return _row("control", name, section, demand, *steps)


_ANY = bytes(range(125))
CONTROL = [
    _control("ping", "6455 5.5.3", "a pong has the ping's payload", ping(b"Hello"), "pong(Hello)"),
    _control("ping-empty", "6455 5.5.3", "an empty one too", ping(), "pong()"),
    _control(
        "ping-any", "6455 5.5.2", "a ping may hold any bytes", ping(b"\x00\xff\xfe"), said("pong", b"\x00\xff\xfe")
    ),
    _control("ping-125", "6455 5.5", "up to 125", ping(_ANY), said("pong", _ANY)),
    _control("ping-126", "6455 5.5", "and not 126", ping(b"*" * 126), *BROKEN),
    _control("pong-126", "6455 5.5", "nor a pong", pong(b"*" * 126) + ping(b"later"), *BROKEN),
    _control("close-126", "6455 5.5", "nor a close", frame(0x88, b"\x03\xe8" + b"*" * 124), *BROKEN),
    _control(
        "ping-8-bytes",
        "6455 5.5",
        "nor a length of eight bytes",
        b"\x89\xff" + (70_000).to_bytes(8, "big"),
        HALF_CLOSE,
        *BROKEN,
    ),
    _control("ping-parts", "6455 5.4", "a ping is not fragmented", frame(0x09, b"a"), HALF_CLOSE, *BROKEN),
    _control("pong-parts", "6455 5.4", "nor a pong", frame(0x0A, b"a"), HALF_CLOSE, *BROKEN),
    _control("close-parts", "6455 5.4", "nor a close", frame(0x08, b"\x03\xe8"), HALF_CLOSE, *BROKEN),
    _control(
        "ping-parts-inside", "6455 5.4", "nor inside a message", text_begins(b"a") + frame(0x09), HALF_CLOSE, *BROKEN
    ),
    _control(
        "pings",
        "6455 5.5.3",
        "ten are answered in order",
        b"".join(ping(b"%d" % n) for n in range(10)),
        *(f"pong({n})" for n in range(10)),
    ),
    _control(
        "pong-unasked", "6455 5.5.3", "a pong nobody asked for is passed over", pong(b"a") + text(b"b"), "text(b)"
    ),
    _control("pong-long-ago", "6455 5.5.3", "several too", pong() * 5 + text(b"b"), "text(b)"),
    _control("ping-first", "6455 5.5.2", "before anything else", ping(b"first"), "pong(first)", text(b"b"), "text(b)"),
]

ROWS = MASKING + FRAMING + FRAGMENTATION + CONTROL
