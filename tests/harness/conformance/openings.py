"""Rows of the opening handshake: RFC 6455 section 4, RFC 6454, RFC 7692 sections 5 and 7.1."""

from __future__ import annotations

from .peer import text
from .rows import ACCEPT, KEY, Row, opening

GOOD = ("101",)
BAD = ("4xx",)


def _handshake(name: str, section: str, demand: str, sent: bytes, *answer: str) -> Row:
    return Row("handshake", name, section, demand, sent, answer)


_SHORT, _LONG = "AQIDBAUGBwgJCgsMDQ4P", "AQIDBAUGBwgJCgsMDQ4PEBE="  # of 15 and of 17 bytes

HANDSHAKE = [
    _handshake("status", "6455 4.2.2 (5)", "a good one is answered with 101", opening(), "101"),
    _handshake("upgrade", "6455 4.2.2 (5)", "with Upgrade: websocket", opening(), "101", "Upgrade ~ websocket"),
    _handshake("connection", "6455 4.2.2 (5)", "with Connection: Upgrade", opening(), "101", "Connection ~ upgrade"),
    _handshake(
        "accept", "6455 4.2.2 (5)", "with the accept value", opening(), "101", f"Sec-WebSocket-Accept: {ACCEPT}"
    ),
    _handshake(
        "accept-trimmed",
        "6455 4.2.2 (5)",
        "whitespace around the key is not part of it",
        opening(key=f" \t{KEY}\t "),
        *("101", f"Sec-WebSocket-Accept: {ACCEPT}"),
    ),
    _handshake("no-length", "9110 8.6", "a 101 has no Content-Length", opening(), "101", "no Content-Length"),
    _handshake("no-coding", "9112 6.1", "nor Transfer-Encoding", opening(), "101", "no Transfer-Encoding"),
    _handshake("query", "6455 4.1 (3)", "the target may have a query", opening("GET /?room=1 HTTP/1.1"), "101"),
    _handshake(
        "absolute", "6455 4.1 (3)", "or be an absolute URI", opening("GET http://server.example.com/ HTTP/1.1"), "101"
    ),
    _handshake("get", "6455 4.2.1 (1)", "the method is GET", opening("POST / HTTP/1.1"), *BAD),
    _handshake("http-1.0", "6455 4.2.1 (1)", "the version is at least 1.1", opening("GET / HTTP/1.0"), *BAD),
    _handshake("no-host", "6455 4.2.1 (2)", "there is a Host", opening(host=None), *BAD),
    _handshake("no-upgrade", "6455 4.2.1 (3)", "there is an Upgrade", opening(upgrade=None), *BAD),
    _handshake("other-upgrade", "6455 4.2.1 (3)", "that names websocket", opening(upgrade="h2c"), *BAD),
    _handshake("upgrade-case", "6455 4.2.1 (3)", "in any case", opening(upgrade="WebSocket"), *GOOD),
    _handshake("upgrade-list", "6455 4.2.1 (3)", "among others", opening(upgrade="h2c, websocket"), *GOOD),
    _handshake("no-connection", "6455 4.2.1 (4)", "there is a Connection", opening(connection=None), *BAD),
    _handshake("other-connection", "6455 4.2.1 (4)", "that names upgrade", opening(connection="keep-alive"), *BAD),
    _handshake("connection-case", "6455 4.2.1 (4)", "in any case", opening(connection="uPGRADE"), *GOOD),
    _handshake("connection-list", "6455 4.2.1 (4)", "among others", opening(connection="keep-alive, Upgrade"), *GOOD),
    _handshake("no-key", "6455 4.2.1 (5)", "there is a key", opening(key=None), *BAD),
    _handshake("short-key", "6455 4.2.1 (5)", "of 16 bytes and not of 15", opening(key=_SHORT), *BAD),
    _handshake("long-key", "6455 4.2.1 (5)", "and not of 17", opening(key=_LONG), *BAD),
    _handshake("key-characters", "6455 4.2.1 (5)", "in base64", opening(key="dGhlIHNhbXBsZSBub2!jZQ=="), *BAD),
    _handshake("two-keys", "6455 11.3.1", "the key comes once", opening(more=[("Sec-WebSocket-Key", KEY)]), *BAD),
    _handshake("no-version", "6455 4.2.1 (6)", "there is a version", opening(version=None), *BAD),
    _handshake("version-8", "6455 4.4", "another than 13 is a 426", opening(version="8"), "426"),
    _handshake("version-14", "6455 4.4", "a later one too", opening(version="14"), "426"),
    _handshake(
        "version-told",
        "6455 4.4",
        "which says what is spoken here",
        opening(version="8"),
        *("426", "Sec-WebSocket-Version: 13"),
    ),
    _handshake("upgrade-told", "9110 15.5.22", "and what to", opening(version="8"), "426", "Upgrade ~ websocket"),
    _handshake(
        "nothing-accepted", "6455 4.2.2", "and accepts nothing", opening(version="8"), "426", "no Sec-WebSocket-Accept"
    ),
    _handshake("unknown-fields", "6455 4.2.1", "other fields do not matter", opening(more=[("X-Other", "a")]), *GOOD),
    _handshake(
        "field-case",
        "9110 5.1",
        "names of fields are of any case",
        opening(key=None, more=[("sec-websocket-KEY", KEY)]),
        *("101", f"Sec-WebSocket-Accept: {ACCEPT}"),
    ),
    _handshake("view-refuses", "6455 4.2.2", "a refusal is an HTTP answer", opening("GET /refused HTTP/1.1"), "403"),
    _handshake("page", "9110 7.8", "an upgrade may be passed over", opening("GET /page HTTP/1.1"), "200"),
    Row(
        "handshake",
        "early-frame",
        "6455 4.1",
        "frames that come with the handshake are heard",
        opening() + text(b"early"),
        GOOD,
        ("text(early)",),
    ),
]


def _origin(name: str, section: str, demand: str, status: str, *values: str, host: str = "server.example.com") -> Row:
    return Row(
        "origin", name, section, demand, opening(host=host, more=[("Origin", value) for value in values]), (status,)
    )


ORIGIN = [
    _origin("none", "6455 10.2", "who has none is no browser", "101"),
    _origin("same", "6455 4.2.2 (4)", "the page's own server", "101", "http://server.example.com"),
    _origin("same-port", "6454 4", "the scheme's own port is none", "101", "http://server.example.com:80"),
    _origin("port", "6454 5", "the port counts", "101", "http://server.example.com:81", host="server.example.com:81"),
    _origin("other", "6455 10.2", "another host is refused with 403", "403", "http://evil.example"),
    _origin("other-port", "6454 5", "another port too", "403", "http://server.example.com:81"),
    _origin("other-scheme", "6454 5", "and another scheme", "403", "https://server.example.com"),
    _origin("longer", "6455 10.2", "and a host that begins alike", "403", "http://server.example.com.evil.example"),
    _origin("null", "6454 7.3", "and no origin at all", "403", "null"),
    _origin("two", "6454 7.3", "there is one at most", "4xx", "http://server.example.com", "http://evil.example"),
]


def _protocol(name: str, section: str, demand: str, offers: list[str], *answer: str, chosen: str = "") -> Row:
    line = f"GET /{'?subprotocol=' + chosen if chosen else ''} HTTP/1.1"
    fields = [("Sec-WebSocket-Protocol", offer) for offer in offers]
    return Row("subprotocol", name, section, demand, opening(line, fields), answer)


_NONE = "no Sec-WebSocket-Protocol"
SUBPROTOCOL = [
    _protocol("none", "6455 4.2.2 (5)", "none is answered where none was offered", [], "101", _NONE),
    _protocol("not-chosen", "6455 4.2.2 (5)", "a server need not choose one", ["a, b"], "101", _NONE),
    _protocol("first", "6455 1.9", "it may choose the first", ["a, b"], "101", "Sec-WebSocket-Protocol: a", chosen="a"),
    _protocol("second", "6455 1.9", "or another", ["a, b"], "101", "Sec-WebSocket-Protocol: b", chosen="b"),
    _protocol("fields", "6455 11.3.4", "of any field", ["a", "b"], "101", "Sec-WebSocket-Protocol: b", chosen="b"),
    _protocol("foreign", "6455 4.2.2 (5)", "but none that was not offered", ["a"], "500", _NONE, chosen="c"),
    _protocol("case", "6455 4.2.2 (5)", "case counts", ["a"], "500", _NONE, chosen="A"),
    _protocol("empty", "6455 4.1 (10)", "an offer is not empty", ["a,"], "4xx"),
    _protocol("token", "6455 4.1 (10)", "it is a token", ["a b"], "4xx"),
    _protocol("separators", "6455 4.1 (10)", "without separators", ["a/b"], "4xx"),
    _protocol("twice", "6455 4.1 (10)", "each offer is another", ["a, b, a"], "4xx"),
]


def _offer(name: str, section: str, demand: str, offers: list[str], *answer: str) -> Row:
    fields = [("Sec-WebSocket-Extensions", offer) for offer in offers]
    return Row("offers", name, section, demand, opening(more=fields), answer)


def _declined(name: str, section: str, demand: str, parameters: str) -> Row:
    return _offer(name, section, demand, [f"permessage-deflate; {parameters}"], "101", _NO_EXTENSION)


_NO_EXTENSION = "no Sec-WebSocket-Extensions"
_AGREED = "Sec-WebSocket-Extensions ~ permessage-deflate"
_NO_TAKEOVER = "Sec-WebSocket-Extensions ~ server_no_context_takeover"
_WINDOW = "Sec-WebSocket-Extensions ~ server_max_window_bits="

OFFERS = [
    _offer("none", "6455 9.1", "nothing is agreed on that was not offered", [], "101", _NO_EXTENSION),
    _offer("unknown", "6455 9.1", "nor what nobody knows", ["x-unknown; a=b"], "101", _NO_EXTENSION),
    _offer("known", "7692 5", "an offer of permessage-deflate is met", ["permessage-deflate"], "101", _AGREED),
    _offer("among", "7692 5", "among others", ["x-unknown, permessage-deflate"], "101", _AGREED),
    _offer("fields", "6455 11.3.2", "in any field", ["x-unknown", "permessage-deflate"], "101", _AGREED),
    _offer(
        "once",
        "7692 5",
        "and answered once",
        ["permessage-deflate, permessage-deflate; server_max_window_bits=13"],
        *("101", "Sec-WebSocket-Extensions !~ ,"),
    ),
    _offer(
        "next",
        "7692 5.1",
        "the next one where one is declined",
        ["permessage-deflate; x, permessage-deflate"],
        "101",
        _AGREED,
    ),
    _offer(
        "next-window",
        "7692 5.1",
        "also for its window",
        ["permessage-deflate; server_max_window_bits=8, permessage-deflate"],
        *("101", _AGREED),
    ),
    _offer(
        "next-windows",
        "7692 5.1",
        "of whatever size",
        ["permessage-deflate; server_max_window_bits=9, permessage-deflate"],
        *("101", _AGREED),
    ),
    _offer(
        "server-takeover",
        "7692 7.1.1.1",
        "server_no_context_takeover is answered",
        ["permessage-deflate; server_no_context_takeover"],
        "101",
        _NO_TAKEOVER,
    ),
    _offer(
        "server-window",
        "7692 7.1.2.1",
        "server_max_window_bits is answered",
        ["permessage-deflate; server_max_window_bits=12"],
        "101",
        _WINDOW + "12",
    ),
    _offer(
        "server-window-15",
        "7692 7.1.2.1",
        "also when it asks for nothing",
        ["permessage-deflate; server_max_window_bits=15"],
        "101",
        _WINDOW,
    ),
    _offer(
        "client-window",
        "7692 7.1.2.2",
        "client_max_window_bits needs no value",
        ["permessage-deflate; client_max_window_bits"],
        "101",
        _AGREED,
    ),
    _offer(
        "client-window-10",
        "7692 7.1.2.2",
        "and may have one",
        ["permessage-deflate; client_max_window_bits=10"],
        "101",
        _AGREED,
    ),
    _offer(
        "quoted",
        "6455 9.1",
        "a value may be quoted",
        ['permessage-deflate; server_max_window_bits="13"'],
        "101",
        _WINDOW + "13",
    ),
    _declined("parameter", "7692 7", "a parameter that nobody knows declines", "x-unknown"),
    _declined("twice", "7692 7", "and one that comes twice", "server_no_context_takeover; server_no_context_takeover"),
    _declined("takeover-value", "7692 7.1.1.1", "and one with a value that has none", "server_no_context_takeover=1"),
    _declined("client-takeover-value", "7692 7.1.1.2", "the client's too", "client_no_context_takeover=1"),
    _declined("window-16", "7692 7.1.2.1", "and a window of 16 bits", "server_max_window_bits=16"),
    _declined("window-7", "7692 7.1.2.1", "and of 7", "server_max_window_bits=7"),
    _declined("window-zero", "7692 7.1.2", "and with a leading zero", "server_max_window_bits=012"),
    _declined("window-none", "7692 7.1.2.1", "and without a value", "server_max_window_bits"),
    _declined("client-window-16", "7692 7.1.2.2", "the client's window of 16 bits", "client_max_window_bits=16"),
    _declined("client-window-zero", "7692 7.1.2.2", "and with a leading zero", "client_max_window_bits=09"),
    _offer("empty-name", "6455 9.1", "what breaks the grammar fails", ["; a"], "4xx"),
    _offer("empty-parameter", "6455 9.1", "so does a parameter without a name", ["a; =b"], "4xx"),
    _offer("empty-value", "6455 9.1", "or with = and no value", ["permessage-deflate; server_max_window_bits="], "4xx"),
    _offer("not-a-token", "6455 9.1", "or a quoted value that is no token", ['a; b="c d"'], "4xx"),
]

ROWS = HANDSHAKE + ORIGIN + SUBPROTOCOL + OFFERS
