"""What is refused on the wire and how, and what odd things are accepted (RFC 9112)."""

from __future__ import annotations

import socket
import threading

import pytest
from harness.client import Client, chunked, compose
from harness.server import Server

GET = b"GET /hello HTTP/1.1\r\n"
HOST = b"Host: test\r\n"
POST = b"POST /note-and-hello?key=framing HTTP/1.1\r\nHost: test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    # request line
    "line ended by LF": (400, b"GET /hello HTTP/1.1\nHost: test\r\n\r\n"),
    "line ended by CR": (400, b"GET /hello HTTP/1.1\rHost: test\r\n\r\n"),
    "method with a space before it": (400, b" GET /hello HTTP/1.1\r\nHost: test\r\n\r\n"),
    "method that is no token": (400, b"G(T /hello HTTP/1.1\r\nHost: test\r\n\r\n"),
    "method with a control byte": (400, b"G\x01T /hello HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a TLS hello": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64),
    "no version": (400, b"GET /hello\r\nHost: test\r\n\r\n"),
    "no target": (400, b"GET HTTP/1.1\r\nHost: test\r\n\r\n"),
    "two spaces before the target": (400, b"GET  /hello HTTP/1.1\r\nHost: test\r\n\r\n"),
    "two spaces before the version": (400, b"GET /hello  HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a space after the version": (400, b"GET /hello HTTP/1.1 \r\nHost: test\r\n\r\n"),
    "a tab as separator": (400, b"GET\t/hello\tHTTP/1.1\r\nHost: test\r\n\r\n"),
    "a space in the target": (400, b"GET /hello there HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a tab in the target": (400, b"GET /hel\tlo HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a NUL in the target": (400, b"GET /hel\x00lo HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a DEL in the target": (400, b"GET /hel\x7flo HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a target without a slash": (400, b"GET hello HTTP/1.1\r\nHost: test\r\n\r\n"),
    "an asterisk for GET": (400, b"GET * HTTP/1.1\r\nHost: test\r\n\r\n"),
    "protocol in lower case": (400, b"GET /hello http/1.1\r\nHost: test\r\n\r\n"),
    "version without a minor number": (400, b"GET /hello HTTP/1\r\nHost: test\r\n\r\n"),
    "version of two digits": (400, b"GET /hello HTTP/1.10\r\nHost: test\r\n\r\n"),
    "version of letters": (400, b"GET /hello HTTP/x.y\r\nHost: test\r\n\r\n"),
    "another protocol": (400, b"GET /hello ICAP/1.1\r\nHost: test\r\n\r\n"),
    "HTTP/2.0": (505, b"GET /hello HTTP/2.0\r\nHost: test\r\n\r\n"),
    "the preface of HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/0.9 in words": (505, b"GET /hello HTTP/0.9\r\nHost: test\r\n\r\n"),
    "HTTP/3.0": (505, b"GET /hello HTTP/3.0\r\nHost: test\r\n\r\n"),
    "CONNECT": (501, b"CONNECT test:443 HTTP/1.1\r\nHost: test:443\r\n\r\n"),
    # fields
    "a field ended by LF": (400, GET + b"Host: test\nX: y\r\n\r\n"),
    "a head ended by LF LF": (400, GET + b"Host: test\n\n"),
    "a bare CR in a value": (400, GET + HOST + b"X: a\rb\r\n\r\n"),
    "a folded line": (400, GET + HOST + b"X: a\r\n b\r\n\r\n"),
    "a folded line by tab": (400, GET + HOST + b"X: a\r\n\tb\r\n\r\n"),
    "a first field that begins with a space": (400, GET + b" Host: test\r\n\r\n"),
    "a space before the colon": (400, GET + b"Host : test\r\n\r\n"),
    "a tab before the colon": (400, GET + HOST + b"X\t: y\r\n\r\n"),
    "no colon": (400, GET + HOST + b"nonsense\r\n\r\n"),
    "no name": (400, GET + HOST + b": y\r\n\r\n"),
    "a name with a space": (400, GET + HOST + b"X Y: z\r\n\r\n"),
    "a name with a quote": (400, GET + HOST + b'X"Y: z\r\n\r\n'),
    "a name outside ASCII": (400, GET + HOST + "Größe: z\r\n\r\n".encode()),
    "a NUL in a value": (400, GET + HOST + b"X: a\x00b\r\n\r\n"),
    "a control byte in a value": (400, GET + HOST + b"X: a\x1bb\r\n\r\n"),
    "a DEL in a value": (400, GET + HOST + b"X: a\x7fb\r\n\r\n"),
    # Host
    "no Host": (400, GET + b"\r\n"),
    "an empty Host": (400, GET + b"Host:\r\n\r\n"),
    "two Hosts": (400, GET + HOST + b"Host: other\r\n\r\n"),
    "two equal Hosts": (400, GET + HOST + HOST + b"\r\n"),
    "a Host with a space": (400, GET + b"Host: te st\r\n\r\n"),
    "a Host with a path": (400, GET + b"Host: test/path\r\n\r\n"),
    "a Host with user information": (400, GET + b"Host: user@test\r\n\r\n"),
    "a Host with a port of letters": (400, GET + b"Host: test:http\r\n\r\n"),
    # lengths
    "two lengths that differ": (400, POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    "a list of lengths": (400, POST + b"Content-Length: 5, 5\r\n\r\nhello"),
    "a list of lengths that differ": (400, POST + b"Content-Length: 5, 6\r\n\r\nhello"),
    "a length with a plus": (400, POST + b"Content-Length: +5\r\n\r\nhello"),
    "a negative length": (400, POST + b"Content-Length: -5\r\n\r\nhello"),
    "a hexadecimal length": (400, POST + b"Content-Length: 0x5\r\n\r\nhello"),
    "a length of letters": (400, POST + b"Content-Length: five\r\n\r\nhello"),
    "a length with a space inside": (400, POST + b"Content-Length: 1 0\r\n\r\nhello"),
    "an empty length": (400, POST + b"Content-Length:\r\n\r\nhello"),
    "a fractional length": (400, POST + b"Content-Length: 5.0\r\n\r\nhello"),
    "a length of 2 to the 64": (400, POST + b"Content-Length: 18446744073709551616\r\n\r\n"),
    "a length that wraps to 5": (400, POST + b"Content-Length: 18446744073709551621\r\n\r\nhello"),
    "length and coding": (400, POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "coding and length": (400, POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    # codings
    "chunked twice": (400, POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    "chunked in two fields": (400, POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "chunked not last": (400, POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    "a coding we do not know": (501, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "a coding nobody knows": (501, POST + b"Transfer-Encoding: x-odd\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "identity alone": (400, POST + b"Transfer-Encoding: identity\r\n\r\n"),
    "an empty coding": (400, POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    "chunked with a vertical tab": (400, POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
    "a coding on HTTP/1.0": (400, b"POST /hello HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    # chunks
    "a chunk size with a plus": (400, CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n"),
    "a negative chunk size": (400, CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with 0x": (400, CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n"),
    "a space before the chunk size": (400, CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n"),
    "a space after the chunk size": (400, CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n"),
    "a chunk size of 17 digits": (400, CHUNKED + b"00000000000000005\r\nhello\r\n0\r\n\r\n"),
    "no chunk size": (400, CHUNKED + b"\r\nhello\r\n0\r\n\r\n"),
    "a chunk size of letters": (400, CHUNKED + b"g\r\nhello\r\n0\r\n\r\n"),
    "an extension without a size": (400, CHUNKED + b";a=b\r\nhello\r\n0\r\n\r\n"),
    "a control byte in an extension": (400, CHUNKED + b"5;a=\x01\r\nhello\r\n0\r\n\r\n"),
    "a chunk size ended by LF": (400, CHUNKED + b"5\nhello\r\n0\r\n\r\n"),
    "a bare CR in an extension": (400, CHUNKED + b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
    "a chunk that is longer": (400, CHUNKED + b"4\r\nhello\r\n0\r\n\r\n"),
    "a chunk ended by LF": (400, CHUNKED + b"5\r\nhello\n0\r\n\r\n"),
    "Content-Length as a trailer": (400, CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n"),
    "Transfer-Encoding as a trailer": (400, CHUNKED + b"0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "Host as a trailer": (400, CHUNKED + b"0\r\nHost: other\r\n\r\n"),
    "a folded trailer": (400, CHUNKED + b"0\r\nX: a\r\n b\r\n\r\n"),
    "a trailer without a colon": (400, CHUNKED + b"0\r\nnonsense\r\n\r\n"),
    # sizes at the defaults
    "a request line over 8 KiB": (414, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: test\r\n\r\n"),
    "a field line over 8 KiB": (431, GET + HOST + b"X: " + b"a" * 9000 + b"\r\n\r\n"),
    "more than 100 fields": (431, GET + HOST + b"X: y\r\n" * 100 + b"\r\n"),
    "a head over 64 KiB": (431, GET + HOST + (b"X: " + b"a" * 8000 + b"\r\n") * 9 + b"\r\n"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(bare: Server, name: str) -> None:
    status, data = REFUSED[name]
    with bare.connect() as client:
        client.send(data)
        answer = client.response()
        assert answer.status == status
        assert answer.closes
        assert answer.header("Date") and answer.header("Server")
        assert client.ended_cleanly()


@pytest.mark.parametrize("name", ["a folded line", "a chunk that is longer", "coding and length", "a TLS hello"])
def test_refused_whatever_the_pieces(bare: Server, name: str) -> None:
    """The same answer when every byte comes by itself."""
    status, data = REFUSED[name]
    with bare.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for at in range(len(data)):
                client.send(data[at : at + 1])
        except ConnectionError:
            pass  # it was refused before the last byte
        assert client.response().status == status
        assert client.ended()


def test_a_refused_request_is_not_run(bare: Server) -> None:
    """A body that breaks the coding only at its end has not reached a view before."""
    with bare.connect() as client:
        client.send(CHUNKED.replace(b"key=framing", b"key=not-run") + b"5\r\nhello\r\nX\r\n")
        assert client.response().status == 400
    assert bare.notes("not-run") == []


def test_nothing_behind_a_refused_request_is_run(bare: Server) -> None:
    smuggled = b"GET /note-and-hello?key=smuggled HTTP/1.1\r\nHost: test\r\n\r\n"
    for head in (GET + HOST + b"Content-Length: 0, 0\r\n\r\n", POST + b"Transfer-Encoding: gzip\r\n\r\n"):
        with bare.connect() as client:
            client.send(head + smuggled)
            assert client.response().status == 400
            assert client.ended_cleanly()
    assert bare.notes("smuggled") == []


def test_what_was_pipelined_before_is_answered_first(bare: Server) -> None:
    with bare.connect() as client:
        client.send(compose("GET", "/hello") + b"BAD\r\n\r\n")
        assert client.response().status == 200
        assert client.response().status == 400
        assert client.ended_cleanly()


MARK = b"mArKeR7x"


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + MARK + b"\x01 HTTP/1.1\r\nHost: test\r\n\r\n",
        MARK + b"( / HTTP/1.1\r\nHost: test\r\n\r\n",
        GET + b"Host: " + MARK + b"/x\r\n\r\n",
        GET + HOST + MARK + b" : x\r\n\r\n",
        GET + HOST + b"X: " + MARK + b"\x00\r\n\r\n",
        POST + b"Content-Length: " + MARK + b"\r\n\r\n",
        POST + b"Transfer-Encoding: " + MARK + b", chunked\r\n\r\n",
        b"GET /" + MARK + b" HTTP/7.1\r\nHost: test\r\n\r\n",
        b"GET /" + MARK + b"a" * 9000 + b" HTTP/1.1\r\nHost: test\r\n\r\n",
        b"POST /" + MARK + b" HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999999\r\n\r\n",
        b"GET /raise?what=ValueError&" + MARK + b" HTTP/1.1\r\nHost: test\r\nX: " + MARK + b"\r\n\r\n",
    ],
)
def test_error_pages_repeat_nothing(bare: Server, data: bytes) -> None:
    with bare.connect() as client:
        client.send(data)
        answer = client.response()
        assert answer.status >= 400
        assert answer.body, "a page says what happened"
        assert answer.header(
            "Content-Type",
        ).startswith(
            "text/"
        )  # type: ignore[union-attr]
        assert MARK.lower() not in (answer.raw_head + answer.body).lower()


ACCEPTED = {
    "an empty line first": b"\r\n" + GET + HOST + b"\r\n",
    "no space after the colon": GET + b"Host:test\r\n\r\n",
    "tabs around a value": GET + b"Host:\t test \t\r\n\r\n",
    "an empty value": GET + HOST + b"X:\r\n\r\n",
    "a tab inside a value": GET + HOST + b"X: a\tb\r\n\r\n",
    "bytes above 127 in a value": GET + HOST + "X: Größe\r\n\r\n".encode(),
    "every token character in a name": GET + HOST + b"!#$%&'*+-.^`|~09azAZ: y\r\n\r\n",
    "names in any case": b"GET /hello HTTP/1.1\r\nhOsT: test\r\ncOnTeNt-LeNgTh: 0\r\n\r\n",
    "an absolute target": b"GET http://other:81/hello HTTP/1.1\r\nHost: test\r\n\r\n",
    "an absolute https target": b"GET https://other/hello HTTP/1.1\r\nHost: test\r\n\r\n",
    "an absolute target in capitals": b"GET HTTP://other/hello HTTP/1.1\r\nHost: test\r\n\r\n",
    "HTTP/1.0 without a Host": b"GET /hello HTTP/1.0\r\n\r\n",
    "HTTP/1.2": b"GET /hello HTTP/1.2\r\nHost: test\r\n\r\n",
    "a Host with a port": GET + b"Host: test:8000\r\n\r\n",
    "a Host that is an IPv6 address": GET + b"Host: [::1]:8000\r\n\r\n",
    "a query that browsers send raw": b'GET /hello?a[]=<b>&c="d"|{e}^`f`\\ HTTP/1.1\r\nHost: test\r\n\r\n',
    "raw UTF-8 in the query": "GET /hello?q=Größe HTTP/1.1\r\nHost: test\r\n\r\n".encode(),
    "a question mark in the query": b"GET /hello?a?b?c HTTP/1.1\r\nHost: test\r\n\r\n",
    "a length with zeros in front": POST + b"Content-Length: 0005\r\n\r\nhello",
    "chunks": CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",
    "chunked in capitals": POST + b"Transfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "a chunk size in capitals": CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n",
    "a chunk size of 16 digits": CHUNKED + b"0000000000000005\r\nhello\r\n0\r\n\r\n",
    "chunk extensions": CHUNKED + b'5;a=b;c="d\\"e";f\r\nhello\r\n0;last\r\n\r\n',
    "a last chunk of several zeros": CHUNKED + b"5\r\nhello\r\n000\r\n\r\n",
    "trailers": CHUNKED + b"5\r\nhello\r\n0\r\nX-Checksum: 1\r\nX-Other: 2\r\n\r\n",
    "a body with GET": b"GET /hello HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello",
    "a method nobody knows": b"FROB /hello HTTP/1.1\r\nHost: test\r\n\r\n",
    "100 fields": GET + HOST + b"X: y\r\n" * 99 + b"\r\n",
    "a long request line": b"GET /hello?" + b"a" * 8000 + b" HTTP/1.1\r\nHost: test\r\n\r\n",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(bare: Server, name: str) -> None:
    """Followed by another request, which proves that its end was found."""
    data = ACCEPTED[name]
    with bare.connect() as client:
        client.send(data)
        answer = client.response()
        assert (answer.status, answer.body) == (200, b"hello\n")
        if b"HTTP/1.0" not in data:
            assert client.get("/environ").status == 200


def test_two_equal_lengths_are_one_or_refused(bare: Server) -> None:
    """RFC 9110 8.6 allows both; never is the second field ignored in silence."""
    with bare.connect() as client:
        client.send(POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
        answer = client.response()
        assert answer.status in (200, 400)
        assert client.ended_cleanly() if answer.status == 400 else client.get("/hello").status == 200


def test_absolute_target_replaces_the_host(bare: Server) -> None:
    """RFC 9112 3.2.2."""
    with bare.connect() as client:
        client.send(b"GET http://other:81/environ?a=b HTTP/1.1\r\nHost: test\r\n\r\n")
        seen = client.response().json()["environ"]
    assert seen["HTTP_HOST"] == "other:81"
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == ("/environ", "a=b")


def test_absolute_target_without_a_path(bare: Server) -> None:
    with bare.connect() as client:
        client.send(b"GET http://other HTTP/1.1\r\nHost: test\r\n\r\n")
        assert client.response().body == b"hello\n"
        client.send(b"GET http://other?a=b HTTP/1.1\r\nHost: test\r\n\r\n")
        assert client.response().body == b"hello\n"


def test_options_asterisk_reaches_the_application(bare: Server) -> None:
    with bare.connect() as client:
        client.send(b"OPTIONS * HTTP/1.1\r\nHost: test\r\n\r\n")
        assert client.response().status in (200, 404)
        assert client.get("/hello").status == 200


def test_requests_split_at_every_byte(bare: Server) -> None:
    data = (
        b"\r\nPOST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n"
    )
    with bare.connect() as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(1, len(data)):
            client.send(data[:at])
            client.send(data[at:])
            assert client.response().body == b"abcde"


def test_a_refused_client_that_goes_on_sending_reads_its_answer(bare: Server) -> None:
    """Lingering close: a close with unread bytes would be a reset, which takes the answer with it."""
    with bare.connect() as client:
        client.send(GET + HOST + b"Bad Name: x\r\n\r\n" + b"x" * 300_000)
        assert client.response().status == 400
        client.half_close()
        assert client.ended_cleanly()


def test_many_refused_at_once(bare: Server) -> None:
    """Refusals do not hinder each other, nor a good request between them."""
    outcomes: list[int] = []

    def ask(data: bytes) -> None:
        with Client(bare.address) as client:
            client.send(data)
            outcomes.append(client.response().status)

    kinds = [b"BAD\r\n\r\n", compose("GET", "/hello"), CHUNKED + b"zz\r\n"]
    threads = [threading.Thread(target=ask, args=(kinds[number % 3],)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [200] * 20 + [400] * 40


def test_chunked_helper_is_what_the_server_reads(bare: Server) -> None:
    body = chunked(b"one", b"two" * 1000, b"three")
    with bare.connect() as client:
        client.request("POST", "/echo", [("Transfer-Encoding", "chunked")], body)
        assert client.response().body == b"one" + b"two" * 1000 + b"three"
