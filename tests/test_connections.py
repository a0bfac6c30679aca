"""One connection's life: kept or closed, pipelined, half closed, answers without bodies."""

from __future__ import annotations

import re
import socket
from email.utils import parsedate_to_datetime
from urllib.parse import quote

import pytest
from harness.client import Client, Truncated, chunked, compose
from harness.gate import Gate
from harness.server import Server
from harness.waiting import never


def test_http11_is_kept(bare: Server) -> None:
    with bare.connect() as client:
        for _ in range(5):
            answer = client.get("/hello")
            assert (answer.version, answer.status, answer.reason, answer.body) == ("1.1", 200, "OK", b"hello\n")
            assert not answer.closes


@pytest.mark.parametrize("value", ["close", "Close", "keep-alive, close", "close, x-other"])
def test_http11_closes_when_asked(bare: Server, value: str) -> None:
    with bare.connect() as client:
        assert client.get("/hello", [("Connection", value)]).closes
        assert client.ended_cleanly()


def test_http10_is_closed(bare: Server) -> None:
    with bare.connect() as client:
        client.request("GET", "/hello", version="1.0")
        answer = client.response()
        assert answer.body == b"hello\n"
        assert client.ended_cleanly()


@pytest.mark.parametrize("value", ["keep-alive", "Keep-Alive"])
def test_http10_is_kept_when_asked(bare: Server, value: str) -> None:
    with bare.connect() as client:
        for _ in range(3):
            client.request("GET", "/hello", [("Connection", value)], version="1.0")
            answer = client.response()
            assert answer.body == b"hello\n"
            assert (answer.header("Connection") or "").lower() == "keep-alive"


def test_http10_unsized_answer_ends_with_the_connection(bare: Server) -> None:
    for headers in ([], [("Connection", "keep-alive")]):
        with bare.connect() as client:
            client.request("GET", "/stream?count=50&size=1000", headers, version="1.0")
            answer = client.response()
            assert answer.header("Transfer-Encoding") is None
            assert answer.framing == "close"
            assert len(answer.body) == 50_000
            assert (answer.header("Connection") or "close").lower() == "close"


def test_http10_sized_stream_is_kept(bare: Server) -> None:
    with bare.connect() as client:
        for _ in range(2):
            target = "/lengths?declared=100&piece=10&count=10"
            client.request("GET", target, [("Connection", "keep-alive")], version="1.0")
            assert client.response().body == b"y" * 100


def test_pipelined_requests_are_answered_in_order(bare: Server) -> None:
    with bare.connect() as client:
        bodies = [b"%d" % number * number for number in range(1, 60)]
        client.send(b"".join(compose("POST", "/echo", body=body) for body in bodies))
        assert [client.response().body for _ in bodies] == bodies


def test_pipelined_behind_a_slow_one_waits_its_turn(bare: Server, gate: Gate) -> None:
    """One connection's requests run one after the other."""
    with bare.connect() as client:
        client.send(compose("GET", gate.target("slow")) + compose("GET", "/note-and-hello?key=behind") * 2)
        visitor = gate.arrival()
        assert bare.notes("behind") == []
        never(client.has_bytes, "an answer overtook the one before it")
        visitor.release()
        assert [client.response().body for _ in range(3)] == [b"through\n", b"hello\n", b"hello\n"]


def test_pipelined_mixture(bare: Server) -> None:
    """Bodies, chunked bodies, HEAD, streams and empty answers one behind the other."""
    kinds = [
        (compose("GET", "/hello"), "GET", 200, b"hello\n"),
        (compose("HEAD", "/hello"), "HEAD", 200, b""),
        (compose("POST", "/echo", body=b"abc"), "POST", 200, b"abc"),
        (compose("GET", "/stream?count=3&size=2"), "GET", 200, b"001122"),
        (compose("GET", "/status?line=204%20No%20Content"), "GET", 204, b""),
        (compose("POST", "/echo", [("Transfer-Encoding", "chunked")], chunked(b"de", b"f")), "POST", 200, b"def"),
        (compose("HEAD", "/stream?count=3"), "HEAD", 200, b""),
        (compose("GET", "/nowhere"), "GET", 404, b"no such view\n"),
    ]
    with bare.connect() as client:
        client.send(b"".join(kind[0] for kind in kinds) * 10)
        for _, method, status, body in kinds * 10:
            answer = client.response(method)
            assert (answer.status, answer.body) == (status, body)


def test_a_thousand_pipelined_requests_do_not_hinder_another(bare: Server) -> None:
    """More than one turn's budget: another connection is served between."""
    with bare.connect() as busy, bare.connect() as other:
        busy.send(compose("GET", "/hello") * 1000)
        assert other.get("/hello").body == b"hello\n"
        for _ in range(1000):
            assert busy.response().body == b"hello\n"


def test_pipelined_answers_that_nobody_reads_do_not_pile_up(bare: Server) -> None:
    """The server stops reading from a client that does not take its answers: its sends come to a halt."""
    with bare.connect(receive_buffer=4096) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.socket.settimeout(1.0)
        wave = compose("GET", "/big?size=262144")
        sent = 0
        try:
            while sent < 64 << 20:
                sent += client.socket.send(wave * 100)
        except TimeoutError:
            pass
        assert sent < 32 << 20
    assert bare.get("/hello").status == 200


def test_head_has_the_fields_and_no_body(bare: Server) -> None:
    with bare.connect() as client:
        get = client.get("/hello")
        head = client.get("/hello", method="HEAD")
        assert head.header("Content-Length") == get.header("Content-Length") == "6"
        assert client.get("/hello").body == b"hello\n"


def test_head_of_an_unsized_answer(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get("/stream?count=100&size=5000&key=head", method="HEAD")
        assert answer.status == 200
        assert answer.header("Content-Length") is None
        assert client.get("/hello").body == b"hello\n"
    assert bare.wait_note("head", "closed") == ["closed"]


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("body", ["", "forbidden"])
@pytest.mark.parametrize("length", ["", "1"])
def test_answers_that_have_no_body(bare: Server, status: str, body: str, length: str) -> None:
    """Whatever the application sends with them."""
    with bare.connect() as client:
        answer = client.get(f"/status?line={quote(status)}&body={body}&length={length}")
        assert answer.status == int(status[:3])
        assert answer.header("Transfer-Encoding") is None
        if answer.status == 204:
            assert answer.header("Content-Length") is None, "RFC 9110 8.6"
        assert client.get("/hello").body == b"hello\n"


def test_an_empty_answer_has_a_length(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get("/status?line=200%20OK")
        assert (answer.header("Content-Length"), answer.framing) == ("0", "length")
        assert client.get("/hello").body == b"hello\n"


@pytest.mark.parametrize("line", ["299 Odd", "404 Ganz woanders", "599 Last"])
def test_status_lines_are_passed_on(bare: Server, line: str) -> None:
    answer = bare.get(f"/status?line={quote(line)}")
    assert f"{answer.status} {answer.reason}".strip() == line.strip()


def test_one_date_and_one_server(bare: Server) -> None:
    answer = bare.get("/hello")
    assert re.fullmatch(r"m0serve(/[0-9.]+)?", answer.header("Server") or "")
    date = answer.header("Date") or ""
    assert re.fullmatch(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", date)
    assert parsedate_to_datetime(date)


def fields_of(pairs: list[list[str]]) -> str:
    import json

    return json.dumps(pairs).encode().hex()


def test_the_applications_date_and_server_win(bare: Server) -> None:
    pairs = [["Date", "Tue, 15 Nov 1994 08:12:31 GMT"], ["server", "mine/1"]]
    answer = bare.get(f"/fields?pairs={fields_of(pairs)}")
    assert answer.all("Date") == ["Tue, 15 Nov 1994 08:12:31 GMT"]
    assert answer.all("Server") == ["mine/1"]


@pytest.mark.parametrize(
    "pairs",
    [
        [["Transfer-Encoding", "chunked"]],
        [["Transfer-Encoding", "gzip"], ["Content-Length", "6"]],
        [["Connection", "keep-alive"], ["Keep-Alive", "timeout=5"]],
        [["Connection", "upgrade"], ["Upgrade", "h2c"]],
        [["Trailer", "X-Late"]],
        [["Proxy-Connection", "close"]],
        [["TE", "trailers"]],
        [["Content-Length", "6"], ["content-length", "6"]],
    ],
)
def test_hop_by_hop_fields_of_the_application_break_nothing(bare: Server, pairs: list[list[str]]) -> None:
    """PEP 3333 forbids them; a server that passed them on would lose its framing. Refusing is right as well."""
    with bare.connect() as client:
        answer = client.get(f"/fields?pairs={fields_of(pairs)}")
        assert answer.status in (200, 500)
        if answer.status == 200:
            assert answer.body == b"x" * 6
        assert answer.header("Upgrade") is None
        assert answer.header("Trailer") is None
        assert client.get("/hello").body == b"hello\n" if not answer.closes else client.ended_cleanly()


def test_connection_close_of_the_application_closes(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get(f"/fields?pairs={fields_of([['Connection', 'close']])}")
        if answer.status == 200:
            assert answer.closes
            assert client.ended_cleanly()
        else:
            assert answer.status == 500


def test_half_closed_client_gets_its_answer(bare: Server) -> None:
    with bare.connect() as client:
        client.request("GET", "/hello")
        client.half_close()
        assert client.response().body == b"hello\n"
        assert client.ended_cleanly()


def test_half_closed_client_gets_a_late_answer(bare: Server, gate: Gate) -> None:
    with bare.connect() as client:
        client.request("GET", gate.target("half"))
        client.half_close()
        gate.arrival().release()
        assert client.response().body == b"through\n"
        assert client.ended_cleanly()


def test_half_closed_client_gets_all_that_it_pipelined(bare: Server) -> None:
    with bare.connect() as client:
        client.send(compose("POST", "/echo", body=b"abc") * 40)
        client.half_close()
        assert [client.response().body for _ in range(40)] == [b"abc"] * 40
        assert client.ended_cleanly()


def test_half_closed_client_gets_a_whole_stream(bare: Server) -> None:
    with bare.connect() as client:
        client.request("GET", "/stream?count=200&size=10000")
        client.half_close()
        assert len(client.response().body) == 2_000_000


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET",
        b"GET /hello HTTP/1.1\r\nHost: te",
        b"POST /note-and-hello?key=cut HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nabc",
        b"POST /note-and-hello?key=cut HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ],
)
def test_a_request_cut_short_is_not_run(bare: Server, part: bytes) -> None:
    """RFC 9112 8: incomplete. An answer, if any, is a 400."""
    with bare.connect() as client:
        client.send(part)
        client.half_close()
        try:
            assert client.response().status == 400
        except Truncated as error:
            assert "before an answer" in str(error)
        assert client.ended()
    assert bare.notes("cut") == []


def test_a_body_that_the_view_does_not_read_is_skipped(bare: Server) -> None:
    with bare.connect() as client:
        for size in (0, 1, 1000, 70_000, 3_000_000):
            assert client.post("/ignore-body", b"z" * size).body == b"ignored\n"


def test_connections_one_after_the_other(bare: Server) -> None:
    for _ in range(300):
        with Client(bare.address) as client:
            assert client.get("/hello").status == 200


def test_clients_that_vanish_everywhere(bare: Server) -> None:
    """A reset at any point of a request or an answer harms only that connection."""
    whole = compose("POST", "/echo", body=b"abcdefghij") + compose("GET", "/stream?count=100&size=10000")
    for at in range(0, len(whole), 7):
        client = bare.connect()
        client.send(whole[:at])
        client.reset()
    assert bare.get("/hello").body == b"hello\n"
