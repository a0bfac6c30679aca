"""What the application answers: start_response, write(), iterables, close(), lengths (PEP 3333)."""

from __future__ import annotations

import json

import pytest
from harness.client import Truncated
from harness.gate import Gate
from harness.server import Server


def pieces(*parts: str, how: str = "generator", key: str = "-") -> str:
    return f"/pieces?as={how}&key={key}&pieces={json.dumps(parts).encode().hex()}"


# -- sized and unsized


@pytest.mark.parametrize("how", ["list", "tuple"])
@pytest.mark.parametrize("parts", [(), ("",), ("one",), ("one", "two", "", "three"), ("x" * 100_000, "y" * 100_000)])
def test_lists_go_out_whole(bare: Server, how: str, parts: tuple[str, ...]) -> None:
    body = "".join(parts)
    with bare.connect() as client:
        if len(body) < 8000:
            answer = client.get(pieces(*parts, how=how))
            assert (answer.header("Content-Length"), answer.framing) == (str(len(body)), "length")
            assert answer.body.decode() == body
        answer = client.get("/lengths?as=list&declared=200000&piece=1000&count=200")
        assert answer.body == b"y" * 200_000


def test_one_piece_of_a_generator_gets_a_length(bare: Server) -> None:
    answer = bare.get(pieces("only one"))
    assert answer.body == b"only one"
    assert answer.framing in ("length", "chunked")


def test_generators_stream_chunked(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get("/stream?count=100&size=10000&key=chunked")
        assert answer.framing == "chunked"
        assert answer.body == b"".join(b"%d" % (number % 10) * 10000 for number in range(100))
        assert client.get("/notes?key=chunked").json() == ["closed"]


def test_a_piece_arrives_before_the_next_is_made(bare: Server, gate: Gate) -> None:
    """PEP 3333: a server does not delay a piece that was yielded."""
    with bare.connect() as client:
        client.request("GET", gate.target("stream").replace("/gate", "/gated-stream"))
        answer = client.head()
        assert answer.status == 200
        visitor = gate.arrival()
        assert client._until(b"first\n", "before the first piece").endswith(b"first\n")
        visitor.release()
        assert b"second\n" in client._until(b"0\r\n\r\n", "before the end")


def test_empty_pieces_neither_end_nor_stall_a_stream(bare: Server, gate: Gate) -> None:
    with bare.connect() as client:
        client.request("GET", gate.target("empty", "&empty=1000&key=empties").replace("/gate", "/gated-stream"))
        gate.arrival().release()
        assert client.response().body == b"first\nsecond\n"
        answer = client.get(pieces("", "", "a", "", "b", ""))
        assert answer.body == b"ab"
        assert 0 not in answer.chunks


def test_nothing_but_empty_pieces(bare: Server) -> None:
    with bare.connect() as client:
        assert client.get(pieces("", "", "")).body == b""
        assert client.get(pieces()).body == b""
        assert client.get("/hello").status == 200


def test_start_response_from_the_iterable(bare: Server) -> None:
    assert bare.get("/lazy-start").body == b"lazy\n"


def test_a_slow_reader_gets_everything(bare: Server) -> None:
    """The window of 64 KiB fills, the thread waits, nothing is lost."""
    with bare.connect(receive_buffer=8192) as client:
        client.request("GET", "/stream?count=3000&size=3001&key=slow-reader")
        answer = client.response()
        assert answer.body == b"".join(b"%d" % (number % 10) * 3001 for number in range(3000))


def test_one_huge_piece(bare: Server) -> None:
    with bare.connect() as client:
        assert client.get("/stream?count=2&size=5000000").body == b"0" * 5_000_000 + b"1" * 5_000_000
        assert client.get("/big?size=33554432").body == bytes(range(256)) * (33554432 // 256)
        assert client.get("/hello").status == 200


def test_huge_answers_side_by_side(bare: Server) -> None:
    clients = [bare.connect(receive_buffer=16384) for _ in range(6)]
    for client in clients:
        client.request("GET", "/big?size=4194304")
    for client in reversed(clients):
        assert client.response().body == bytes(range(256)) * (4194304 // 256)
        client.close()


# -- write()


def test_write(bare: Server) -> None:
    with bare.connect() as client:
        assert client.get("/writer").body == b"written twice returned\n"
        assert client.get("/writer?and-return=0").body == b"written twice "
        assert client.get("/hello").status == 200


def test_write_of_much(bare: Server) -> None:
    with bare.connect() as client:
        assert client.get("/write-many?count=50&size=65537&key=w").body == b"w" * 50 * 65537
        assert client.get("/hello").status == 200


def test_write_to_a_client_that_left(bare: Server) -> None:
    """It raises, so that the view ends."""
    client = bare.connect()
    client.request("GET", "/write-many?count=100000&size=65536&key=left")
    assert client.socket.recv(100)
    client.reset()
    notes = bare.wait_note("left", "left")
    assert len(notes) == 2, notes


# -- close()


@pytest.mark.parametrize(
    "target",
    [
        pieces("a", "b", key="KEY"),
        pieces(key="KEY"),
        pieces("", key="KEY"),
        "/stream?count=50&size=10000&key=KEY",
        "/raise?when=first&key=KEY",
        "/raise?when=later&key=KEY",
        "/lengths?declared=5&piece=10&key=KEY",
        "/lengths?declared=50&piece=10&key=KEY",
        "/status?line=200%20OK",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_close_is_called_once(bare: Server, target: str, method: str, request: pytest.FixtureRequest) -> None:
    key = f"close{abs(hash(request.node.name))}"
    with bare.connect() as client:
        try:
            client.get(target.replace("KEY", key), method=method)
        except Truncated:
            pass
    if "KEY" in target:
        bare.wait_note(key, "closed")
        assert bare.notes(key) == ["closed"]


def test_close_when_the_client_leaves_a_stream(bare: Server) -> None:
    client = bare.connect()
    client.request("GET", "/stream?count=1000000&size=10000&key=leaves")
    assert client.socket.recv(100)
    client.reset()
    bare.wait_note("leaves", "closed")
    assert bare.notes("leaves") == ["closed"]


def test_close_when_the_client_leaves_a_stream_that_yields_nothing(bare: Server) -> None:
    client = bare.connect()
    client.request("GET", "/endless-empty?key=nothing")
    bare.wait_note("nothing", "started")
    client.reset()
    bare.wait_note("nothing", "closed")
    assert bare.notes("nothing") == ["started", "closed"]


def test_close_when_the_client_leaves_between_pieces(bare: Server, gate: Gate) -> None:
    client = bare.connect()
    client.request("GET", gate.target("x", "&key=between").replace("/gate", "/gated-stream"))
    visitor = gate.arrival()
    client.reset()
    visitor.release()
    bare.wait_note("between", "closed")
    assert bare.notes("between") == ["closed"]


def test_an_error_in_close_harms_nothing(bare: Server) -> None:
    """The answer was complete; the traceback goes to the log."""
    with bare.connect() as client:
        try:
            answer = client.get("/raise?when=close&what=OSError&key=in-close")
            assert answer.status in (200, 500)
        except Truncated:
            pass
    assert bare.wait_note("in-close", "closed") == ["closed"]
    bare.wait_log("Input/output error")
    assert bare.get("/hello").status == 200


# -- lengths that are not kept


@pytest.mark.parametrize("how", ["list", "bytes", "generator"])
def test_more_than_declared_is_cut_off(bare: Server, how: str) -> None:
    """The next answer on the connection, if there is one, begins where it should."""
    with bare.connect() as client:
        answer = client.get(f"/lengths?declared=15&piece=10&count=3&as={how}")
        assert (answer.status, answer.body) in ((200, b"y" * 15), (500, answer.body))
        if answer.closes:
            assert client.ended()
        else:
            try:
                assert client.get("/hello").body == b"hello\n"
            except (Truncated, ConnectionError) as error:
                assert "before an answer" in str(error) or isinstance(error, ConnectionError)


@pytest.mark.parametrize("how", ["list", "bytes", "generator"])
def test_less_than_declared_ends_the_connection(bare: Server, how: str) -> None:
    """The client can tell that something is missing; what follows is not taken for the rest."""
    with bare.connect() as client:
        client.send(b"GET /lengths?declared=50&piece=10&count=3&as=%s HTTP/1.1\r\nHost: t\r\n\r\n" % how.encode())
        client.request("GET", "/hello")
        try:
            assert client.response().status == 500
        except Truncated as error:
            assert error.so_far in (b"y" * 30, b"")


def test_a_declared_stream_is_sized(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get("/lengths?declared=300000&piece=1000&count=300")
        assert (answer.framing, answer.body) == ("length", b"y" * 300_000)
        assert client.get("/hello").status == 200


@pytest.mark.parametrize("declared", ["abc", "-1", "1, 1", "", " ", "99999999999999999999999"])
def test_a_declared_length_that_is_none(bare: Server, declared: str) -> None:
    from urllib.parse import quote

    with bare.connect() as client:
        answer = client.get(f"/lengths?declared={quote(declared)}&piece=10&count=1&as=list")
        assert answer.status == 500 or answer.body == b"y" * 10


# -- start_response


def test_start_response_again_with_exc_info_replaces(bare: Server) -> None:
    answer = bare.get("/exc-info")
    assert (answer.status, answer.reason, answer.body) == (503, "Replaced", b"second\n")
    assert answer.all("X-First") == []
    assert answer.all("X-Second") == ["1"]


def test_start_response_again_after_bytes_were_sent_raises_the_original(bare: Server) -> None:
    with bare.connect() as client:
        with pytest.raises(Truncated) as ended:
            client.get("/exc-info?sent=1&key=exc")
        assert ended.value.so_far in (b"s" * 100, b"")
    assert bare.notes("exc") == ["RuntimeError: replaced"]


def test_start_response_twice_is_an_error(bare: Server) -> None:
    assert bare.get("/start-twice?key=twice").status == 500
    (note,) = bare.notes("twice")
    assert note != "accepted"


def test_no_start_response_is_an_error(bare: Server) -> None:
    answer = bare.get("/no-start")
    assert answer.status == 500
    assert b"never started" not in answer.body


@pytest.mark.parametrize(
    "how",
    [
        "status-bytes",
        "status-short",
        "status-word",
        "status-crlf",
        "status-none",
        "headers-none",
        "headers-dict",
        "header-triple",
        "header-bytes",
        "header-int",
        "no-arguments",
    ],
)
def test_start_response_with_nonsense_is_an_error(bare: Server, how: str) -> None:
    with bare.connect() as client:
        answer = client.get(f"/start-badly?how={how}")
        assert answer.status == 500
        assert b"accepted" not in answer.body
    bare.wait_log("Traceback")


@pytest.mark.parametrize("what", ["none", "int", "text", "str", "mixed"])
def test_a_result_that_is_no_iterable_of_bytes_is_an_error(bare: Server, what: str) -> None:
    with bare.connect() as client:
        try:
            assert client.get(f"/return?what={what}").status == 500
        except Truncated:
            assert what == "mixed"
    assert bare.get("/hello").status == 200


def test_plain_bytes_are_an_iterable_of_ints(bare: Server) -> None:
    """A common mistake: an error that names it, or served as meant; never garbage."""
    with bare.connect() as client:
        try:
            answer = client.get("/return?what=bytes")
            assert answer.status == 500 or answer.body == b"abc"
        except Truncated:
            pass


# -- header values


def set_header(value: str, name: str = "X-Test") -> str:
    return f"/header?name={name.encode().hex()}&value={value.encode().hex()}"


@pytest.mark.parametrize("value", ["plain", "", "a\tb", "Gr\u00f6\u00dfe", "\u00ff", "a" * 3500])
def test_header_values_are_passed_on(bare: Server, value: str) -> None:
    assert bare.get(set_header(value)).all("X-Test") == [value]


@pytest.mark.parametrize(
    "value",
    [
        "a\r\nX-Injected: 1",
        "a\nX-Injected: 1",
        "a\rX-Injected: 1",
        "a\x00b",
        "\u20ac",
        "a\r\n\r\ninjected",
        "\r\n",
        "x\x1b[2J",
        "x\x7f",
    ],
)
def test_header_values_never_reach_the_wire_when_they_would_break_it(bare: Server, value: str) -> None:
    with bare.connect() as client:
        answer = client.get(set_header(value))
        assert answer.status == 500
        assert b"injected" not in answer.raw_head.lower() + answer.body.lower()
        if not answer.closes:
            assert client.get("/hello").body == b"hello\n"


@pytest.mark.parametrize("name", ["X Test", "X:Test", "X\r\nY", "", "Gr\u00f6\u00dfe", "X\x00"])
def test_header_names_never_reach_the_wire_when_they_would_break_it(bare: Server, name: str) -> None:
    if name:
        assert bare.get(set_header("value", name)).status == 500
    else:
        pair = json.dumps([["", "x"]]).encode().hex()
        assert bare.get(f"/fields?pairs={pair}").status == 500


def test_repeated_header_fields_stay_apart_and_in_order(bare: Server) -> None:
    pairs = (
        json.dumps([["Set-Cookie", "a=1"], ["X-A", "1"], ["Set-Cookie", "b=2"], ["set-cookie", "c=3"]]).encode().hex()
    )
    answer = bare.get(f"/fields?pairs={pairs}")
    assert answer.all("Set-Cookie") == ["a=1", "b=2", "c=3"]


def test_many_header_fields(bare: Server) -> None:
    """A head of 30 KiB."""
    value = "v" * 500
    pairs = json.dumps([["X-A", value]] * 3).encode().hex()
    with bare.connect() as client:
        for _ in range(3):
            assert client.get(f"/fields?pairs={pairs}&times=20").all("X-A") == [value] * 60
            assert client.get("/hello").body == b"hello\n"


# -- clients that leave


def test_disconnected_tells_a_long_view(bare: Server) -> None:
    client = bare.connect()
    client.request("GET", "/watch?key=watch")
    bare.wait_note("watch", "at first False")
    client.reset()
    assert bare.wait_note("watch", "noticed") == ["at first False", "noticed"]


def test_disconnected_tells_of_a_plain_close(bare: Server) -> None:
    """A closed tab and an interrupted curl send a FIN, no more."""
    client = bare.connect()
    client.request("GET", "/watch?key=watch-close")
    bare.wait_note("watch-close", "at first False")
    client.close()
    assert bare.wait_note("watch-close", "noticed") == ["at first False", "noticed"]


def test_a_half_closed_client_is_answered_though_a_view_may_take_it_for_gone(bare: Server) -> None:
    """A half close cannot be told from a close until something is sent."""
    with bare.connect() as client:
        client.request("GET", "/watch?key=watch-half")
        bare.wait_note("watch-half", "at first False")
        client.half_close()
        assert client.response().body == b"watched\n"
    assert bare.notes("watch-half") == ["at first False", "noticed"]


def test_streams_go_on_for_a_client_that_reads(bare: Server) -> None:
    with bare.connect() as client:
        client.request("GET", "/stream?count=20&size=10&pause=10&key=reads")
        assert len(client.response().body) == 200
