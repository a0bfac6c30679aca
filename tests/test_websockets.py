"""Held WebSockets: the handshake, what a client gets, what it says, and how it is told to leave."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
from harness.client import Headers, Response
from harness.event_stream import EventStream
from harness.gate import Gate
from harness.live import publish
from harness.processes import children
from harness.server import Server, serving
from harness.waiting import wait_until
from harness.web_socket import BINARY, CLOSE, PING, PONG, TEXT, Frame, WebSocket, frame, handshake_fields, talk


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("talk"), "talk") as server:
        yield server


# ---- the handshake


def test_a_view_holds_a_websocket_and_another_publishes(live: Server) -> None:
    with talk(live, "plain", head="first") as socket:
        assert socket.answer.header("Set-Cookie") == "seen=1"
        for gone in ("ETag", "Content-Type", "Content-Length", "Transfer-Encoding", "M0-Hold", "M0-Channel"):
            assert socket.answer.header(gone) is None, gone
        assert socket.next() == Frame(TEXT, b"first")
        publish(live, "plain", "hello")
        assert socket.next() == Frame(TEXT, b"hello")
        publish(live, "plain", "bytes", binary="1")
        assert socket.next() == Frame(BINARY, b"bytes")


def test_what_is_published_during_the_view_is_delivered_once(live: Server) -> None:
    with talk(live, "during", publish="meanwhile") as socket:
        publish(live, "during", "after")
        assert [socket.next().text, socket.next().text] == ["meanwhile", "after"]


def without(name: str) -> Headers:
    return [(key, value) for key, value in handshake_fields() if key != name]


def refused(server: Server, headers: Headers, target: str = "/ws", method: str = "GET") -> Response:
    with server.connect() as client:
        client.request(method, target, headers)
        return client.response(method)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 426),
        (without("Upgrade"), 426),
        ([*without("Sec-WebSocket-Version"), ("Sec-WebSocket-Version", "8")], 426),
        (without("Sec-WebSocket-Version"), 426),
        (without("Connection"), 400),
        (without("Sec-WebSocket-Key"), 400),
        ([*without("Sec-WebSocket-Key"), ("Sec-WebSocket-Key", "c2hvcnQ=")], 400),
        ([*handshake_fields(), ("Sec-WebSocket-Extensions", "permessage-deflate; =")], 400),
    ],
)
def test_a_bad_handshake_is_refused(live: Server, headers: Headers, status: int) -> None:
    answer = refused(live, headers)
    assert answer.status == status
    if status == 426:
        assert answer.header("Upgrade") == "websocket"
        assert "upgrade" in (answer.header("Connection") or "")
        assert answer.header("Sec-WebSocket-Version") == "13"
    assert live.get("/page").body == b"a page"


def test_a_request_that_asks_for_an_upgrade_that_its_view_does_not_give_is_ordinary(live: Server) -> None:
    assert refused(live, without("Sec-WebSocket-Key"), "/page").body == b"a page"


def test_the_views_refusal_is_passed_on(live: Server) -> None:
    answer = refused(live, handshake_fields(), "/ws?status=403%20Forbidden&head=not+you")
    assert (answer.status, answer.body) == (403, b"not you")


def test_the_view_chooses_a_subprotocol(live: Server) -> None:
    offer = [("Sec-WebSocket-Protocol", "chat.v1, chat.v2")]
    with WebSocket(live, "/ws?subprotocol=chat.v2", offer) as socket:
        assert socket.answer.header("Sec-WebSocket-Protocol") == "chat.v2"
    with WebSocket(live, "/ws", offer) as socket:
        assert socket.answer.status == 101
        assert socket.answer.header("Sec-WebSocket-Protocol") is None
    with WebSocket(live, "/ws?subprotocol=chat.v3", offer) as socket:
        assert socket.answer.status == 500
    live.wait_log("Sec-WebSocket-Protocol is none that the client has offered")


def origin(value: str) -> Headers:
    return [("Origin", value)]


def test_a_page_from_somewhere_else_is_refused(live: Server) -> None:
    with WebSocket(live, "/ws", origin("https://evil.example")) as socket:
        assert socket.answer.status == 403
    live.wait_log("add it to --allowed-origins")
    with WebSocket(live, "/ws", origin("null")) as socket:
        assert socket.answer.status == 403
    with WebSocket(live, "/ws", origin("http://test")) as socket:  # what the client calls its host
        assert socket.answer.status == 101
    with WebSocket(live, "/ws", [*origin("https://test"), ("X-Forwarded-Proto", "https")]) as socket:
        assert socket.answer.status == 101
    with WebSocket(live, "/ws?M0-Origin=any", origin("https://evil.example")) as socket:
        assert socket.answer.status == 101


def test_other_origins_are_allowed_by_name(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--allowed-origins", "https://a.example", "--allowed-origins", "https://b.example:444")
    for said, status in [("https://a.example", 101), ("https://b.example:444", 101), ("https://b.example", 403)]:
        with WebSocket(server, "/ws", origin(said)) as socket:
            assert socket.answer.status == status


def test_frames_that_come_with_the_handshake_are_heard(live: Server) -> None:
    with live.connect() as client:
        lines = [f"{name}: {value}\r\n" for name, value in handshake_fields()]
        head = "GET /ws HTTP/1.1\r\nHost: test\r\n" + "".join(lines) + "\r\n"
        client.send(head.encode() + frame("echo:early"))
        assert client.head().status == 101
        assert client.exactly(7) == b"\x81\x05early"


# ---- what it says


def test_what_its_view_answers(live: Server) -> None:
    with talk(live, "answers") as socket:
        assert socket.ask("echo:hello") == Frame(TEXT, b"hello")
        assert socket.ask("echo:") == Frame(TEXT, b"")
        assert socket.ask("binary:abc") == Frame(BINARY, b"abc")
        assert socket.ask("size:70000").payload == b"x" * 70000
        assert socket.ask("generated:300").payload == b"y" * 300_000
        assert socket.ask("file:").payload == b"from a file"
        for silent in ("status:204", "status:201", "status:302", "status:404", "status:418"):
            socket.send(silent)
        assert socket.ask("echo:still here").text == "still here"


def test_what_its_view_is_told(live: Server) -> None:
    target = "/ws?channel=told&channel=gr%C3%BC%C3%9F&M0-Meta-User=7"
    with WebSocket(live, target, [("Cookie", "session=1"), ("X-Mine", "yes")]) as socket:
        environ = json.loads(socket.ask("fields:").text)
        assert environ["REQUEST_METHOD"] == "POST"
        assert (environ["PATH_INFO"], environ["QUERY_STRING"]) == ("/ws", target.partition("?")[2])
        assert environ["HTTP_M0_EVENT"] == "message"
        assert environ["HTTP_M0_CHANNEL"] == "told, gr%C3%BC%C3%9F"
        assert environ["HTTP_M0_META_USER"] == "7"
        assert environ["HTTP_COOKIE"] == "session=1"
        assert environ["HTTP_X_MINE"] == "yes"
        assert environ["CONTENT_TYPE"] == "text/plain; charset=utf-8"
        assert environ["CONTENT_LENGTH"] == "7"
        assert environ["REMOTE_ADDR"] == "127.0.0.1"
        assert not [name for name in environ if "WEBSOCKET" in name or name in ("HTTP_UPGRADE", "HTTP_CONNECTION")]
        again = json.loads(socket.ask(b"fields:").text)
        assert again["CONTENT_TYPE"] == "application/octet-stream"
        assert again["HTTP_M0_CONNECTION"] == environ["HTTP_M0_CONNECTION"]


@pytest.mark.parametrize("said", ["fail:", "status:500", "status:503", "broken:", "size:2000000", "generated:2000"])
def test_a_view_that_fails_closes_with_1011(live: Server, said: str) -> None:
    with talk(live, "fails") as socket:
        socket.send(said)
        assert socket.closed() == 1011


def test_a_view_closes_with_its_own_code_and_last_word(live: Server) -> None:
    with talk(live, "closes") as socket:
        assert socket.ask("close:4001 had enough").text == "the last word"
        last = socket.next()
        assert (last.code, last.payload[2:]) == (4001, b"had enough")


def test_an_answer_replaces_the_channels(live: Server) -> None:
    with talk(live, "lobby") as socket:
        assert [socket.ask("join-and-say:room").text, socket.next().text] == [
            "joined room",
            "published to room during the view",
        ]
        publish(live, "lobby", "not for you")
        publish(live, "room", "for you")
        assert socket.next().text == "for you"
        assert json.loads(socket.ask("fields:").text)["HTTP_M0_CHANNEL"] == "room"


def test_a_fragmented_message_is_one(live: Server) -> None:
    with talk(live, "fragments") as socket:
        socket.send("echo:a", fin=False)
        socket.send(b"ping between", PING)
        socket.send("b", 0, fin=False)
        socket.send("c", 0)
        assert socket.receive() == Frame(PONG, b"ping between")
        assert socket.next().text == "abc"


def test_messages_are_heard_one_at_a_time_and_in_order(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--blocking-threads", "4")
    with talk(server, "order") as socket:
        socket.send(f"wait:{gate.port}")
        for number in range(40):
            socket.send(f"echo:{number}")
        visitor = gate.arrival()
        with talk(server, "order") as other:
            assert other.ask("echo:others are heard").text == "others are heard"
        assert not socket.client.has_bytes()
        visitor.release()
        assert socket.next().text == "waited"
        assert [socket.next().text for _ in range(40)] == [str(number) for number in range(40)]


def test_its_life_is_told_to_its_view(live: Server) -> None:
    with talk(live, "events") as events:
        with talk(live, "life", M0_Events="open, close") as socket:
            opened = json.loads(events.next().text)
            assert (opened["EVENT"], opened["CHANNEL"]) == ("open", "life")
            socket.send(b"\x0f\xa2bye", CLOSE)
            assert socket.next() == Frame(CLOSE, b"\x0f\xa2")
        closed = json.loads(events.next().text)
        assert (closed["EVENT"], closed["CLOSE"]) == ("close", "4002")
        assert closed["CONNECTION"] == opened["CONNECTION"]
        talk(live, "life", M0_Events="close").client.reset()
        assert json.loads(events.next().text)["CLOSE"] == "1006"


def test_a_full_lane_leaves_the_messages_queued(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--blocking-threads", "1", "--max-blocking-threads", "1", "--queue", "2")
    with talk(server, "lane") as first, talk(server, "lane") as second, talk(server, "lane") as third:
        first.send(f"wait:{gate.port}")
        visitor = gate.arrival()
        second.send("echo:second")
        third.send("echo:third")
        for number in range(30):  # more than wait in the server: they stay in the kernel
            third.send(f"echo:{number}")
        with server.connect() as client:  # half of the queue is left to pages
            client.request("GET", "/page")
            assert not client.has_bytes()
            visitor.release()
            assert client.response().body == b"a page"
        assert first.next().text == "waited"
        assert second.next().text == "second"
        assert third.next().text == "third"
        assert [third.next().text for _ in range(30)] == [str(number) for number in range(30)]
    assert "is full" not in server.log


def test_a_mass_disconnect_leaves_threads_for_pages(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--blocking-threads", "4", "--max-blocking-threads", "4")
    sockets = [talk(server, "mass", M0_Events="close", wait=str(gate.port)) for _ in range(40)]
    for socket in sockets:
        socket.client.reset()
    told = gate.arrivals(2)
    assert gate.arrival_or_none() is None, "half of the threads hear of it at once"
    for _ in range(20):
        assert server.get("/page").body == b"a page"
    for visitor in told:
        visitor.release()
    for _ in range(38):
        gate.arrival().release()


def test_a_lost_worker_loses_its_messages_and_runs_none_twice(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--workers", "1")
    with talk(server, "lost") as socket:
        socket.send(f"wait:{gate.port}")
        gate.arrival()
        (worker,) = children(server.pid)
        os.kill(worker, signal.SIGKILL)
        assert socket.client.ended()
    with talk(server, "lost") as again:
        assert again.ask("echo:a new worker").text == "a new worker"
    assert gate.arrival_or_none() is None


def test_nobody_forges_a_message(live: Server) -> None:
    with live.connect() as client:
        client.request("POST", "/ws", [("M0-Event", "message"), ("Content-Length", "5")])
        assert client.response().status == 400


# ---- frames


def test_a_violation_closes_with_its_code(live: Server) -> None:
    for bytes_sent, code in [
        (b"\x81\x05hello", 1002),  # not masked
        (frame(b"\xff\xfe", TEXT), 1007),
        (frame(b"x", 3), 1002),
        (frame(b"x" * 126, PING), 1002),
        (frame(b"\x03\xed", CLOSE), 1002),
    ]:
        with talk(live, "violations") as socket:
            socket.client.send(bytes_sent)
            assert socket.closed() == code


def test_a_message_over_the_limit_closes_with_1009(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--max-message", "1000")
    with talk(server, "limit") as socket:
        assert len(socket.ask("echo:" + "x" * 995).payload) == 995
        socket.send("echo:" + "x" * 996)
        assert socket.closed() == 1009
    with talk(server, "limit", deflate=True) as socket:
        socket.send("echo:" + "x" * 100_000, compressed=True)
        assert socket.closed() == 1009
    with talk(server, "limit") as socket:
        socket.send("size:1001")
        assert socket.closed() == 1011


def test_one_answer_may_be_as_large_as_a_message(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--max-message", "12M")
    said = "x" * 9_000_000
    with talk(server, "large") as socket:
        for _ in range(2):
            assert socket.ask("echo:" + said) == Frame(TEXT, said.encode())


def test_frames_are_compressed_for_who_agreed(live: Server) -> None:
    with talk(live, "deflate", deflate=True) as packed, talk(live, "deflate") as plain:
        assert packed.deflate
        assert not plain.deflate
        text = "the same again and again, " * 100
        publish(live, "deflate", text)
        assert packed.next() == Frame(TEXT, text.encode(), compressed=True)
        assert plain.next() == Frame(TEXT, text.encode())
        publish(live, "deflate", "short")
        assert packed.next() == Frame(TEXT, b"short")
        packed.send("echo:" + text, compressed=True)
        assert packed.next() == Frame(TEXT, text.encode(), compressed=True)


@pytest.mark.parametrize(
    ("offer", "agreed"),
    [
        ("permessage-deflate; server_max_window_bits=12", True),
        ("permessage-deflate; server_max_window_bits=9", False),
        ("x-unknown", False),
    ],
)
def test_compression_is_agreed_on_where_all_can_share_it(live: Server, offer: str, agreed: bool) -> None:
    with WebSocket(live, "/ws", [("Sec-WebSocket-Extensions", offer)]) as socket:
        assert socket.answer.status == 101
        assert (socket.answer.header("Sec-WebSocket-Extensions") is not None) == agreed


def test_json_frames_say_what_they_are_and_resume(live: Server) -> None:
    with talk(live, "json", M0_Frames="json") as socket:
        cursor = json.loads(socket.next().text)
        assert (cursor["channel"], cursor["event"], cursor["data"]) == (None, "m0-cursor", "")
        identity = publish(live, "json", 'say "hi"', event="note")
        assert json.loads(socket.next().text) == {
            "id": identity,
            "channel": "json",
            "event": "note",
            "data": 'say "hi"',
        }
    missed = publish(live, "json", "missed")
    with talk(live, "json", M0_Frames="json", last_event_id=identity) as socket:
        assert json.loads(socket.next().text)["id"] == identity
        assert json.loads(socket.next().text)["id"] == missed
    with talk(live, "json", M0_Frames="json", last_event_id="ffffffffffff-1") as socket:
        gap = json.loads(socket.next().text)
        assert gap["event"] == "m0-gap"
        assert json.loads(gap["data"])["from"] == "ffffffffffff-1"


def test_raw_frames_cannot_tell_a_gap_and_close(live: Server) -> None:
    with talk(live, "raw", last_event_id="ffffffffffff-1") as socket:
        assert socket.closed() == 1013


# ---- how it ends


def test_one_that_gives_no_sign_of_life_is_ended(live: Server) -> None:
    with talk(live, "silent", M0_Keep_Alive="1") as socket, talk(live, "lively", M0_Keep_Alive="1") as other:
        for _ in range(3):
            ping = other.receive()
            assert ping.opcode == PING
            other.send(ping.payload, PONG)
        assert socket.receive().opcode == PING
        assert socket.client.ended()
        assert other.ask("echo:alive").text == "alive"


def test_its_time_is_over(live: Server) -> None:
    with talk(live, "age", M0_Hold_Timeout="1") as socket:
        assert socket.closed() == 1012


def test_a_stop_answers_what_was_said_and_sends_away(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--drain-spread", "0s")
    with talk(server, "stop") as busy, talk(server, "stop") as idle:
        busy.send(f"wait:{gate.port}")
        busy.send("echo:after that")
        visitor = gate.arrival()
        server.signal(signal.SIGTERM)
        assert idle.closed() == 1012
        visitor.release()
        assert [busy.next().text, busy.next().text] == ["waited", "after that"]
        assert busy.closed() == 1012
    assert server.wait() == 0


def test_a_stop_tells_who_is_gone_before_it_ends(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--drain-spread", "0s")
    with talk(server, "stop", M0_Events="close", wait=str(gate.port)) as socket:
        server.signal(signal.SIGTERM)
        assert socket.closed() == 1012
    gate.arrival().release()
    assert server.wait() == 0


def test_a_full_server_refuses_a_handshake_with_503(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("talk", "--blocking-threads", "1", "--max-blocking-threads", "1", "--queue", "1")
    with talk(server, "full") as socket, server.connect() as waiting:
        socket.send(f"wait:{gate.port}")
        visitor = gate.arrival()
        waiting.request("GET", "/page")
        wait_until(lambda: refused(server, handshake_fields()).status == 503, "the queue is full")
        visitor.release()
        assert waiting.response().status == 200


# ---- many workers


def test_every_worker_tells_every_socket_in_one_order(serve: Callable[..., Server]) -> None:
    server = serve("talk", "--workers", "4")
    sockets = [talk(server, "all", deflate=number % 2 == 0) for number in range(24)]

    def speak(number: int) -> None:
        with talk(server, "speakers") as socket:
            for message in range(25):
                assert socket.ask("spread-to-all:" + f"{number}/{message}").text == "told"

    speakers = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
    for speaker in speakers:
        speaker.start()
    got = [[socket.next().text for _ in range(200)] for socket in sockets]
    for speaker in speakers:
        speaker.join()
    assert all(each == got[0] for each in got)
    assert sorted(got[0]) == sorted(f"{number}/{message}" for number in range(8) for message in range(25))


def test_a_stream_and_a_socket_get_the_same(live: Server) -> None:
    with talk(live, "both") as socket, EventStream(live, "/ws?hold=stream&channel=both") as stream:
        publish(live, "both", "to both")
        assert socket.next().text == stream.next().data == "to both"


def test_an_event_stream_has_a_life_too(live: Server) -> None:
    with talk(live, "events") as events:
        with EventStream(live, "/ws?hold=stream&channel=s&M0-Events=open,close") as stream:
            assert stream.answer.status == 200
            assert json.loads(events.next().text)["EVENT"] == "open"
        assert json.loads(events.next().text)["EVENT"] == "close"
