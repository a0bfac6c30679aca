"""Held event streams: what a view asks for by its fields, what a client gets, and how it comes back."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import urllib.parse
from collections.abc import Callable, Iterator

import pytest
from harness.client import Client
from harness.event_stream import Event, EventStream, hold
from harness.full_queue import fill_queue
from harness.gate import Gate
from harness.live import publish
from harness.server import Server, serving
from harness.waiting import wait_until

ID = re.compile(r"[0-9a-f]{12}-[0-9]+")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("live"), "live") as server:
        yield server


def sequence(identity: str) -> int:
    return int(identity.rpartition("-")[2])


def test_a_view_holds_a_stream_and_another_publishes(live: Server) -> None:
    with hold(live, "plain") as stream:
        identity = publish(live, "plain", "hello")
        assert ID.fullmatch(identity)
        assert stream.next() == Event(identity, "hello")
        second = publish(live, "plain", "two\nlines", event="note")
        assert stream.next() == Event(second, "two\nlines", "note")
        assert sequence(second) == sequence(identity) + 1


def test_the_head_is_that_of_an_event_stream(live: Server) -> None:
    with hold(live, "head") as stream:
        answer = stream.answer
        assert answer.status == 200
        assert answer.header("Content-Type") == "text/event-stream"
        assert answer.header("Cache-Control") == "no-cache, no-transform"
        assert answer.header("X-Accel-Buffering") == "no"
        assert answer.header("Transfer-Encoding") == "chunked"
        assert answer.header("Set-Cookie") == "seen=1"
        assert answer.header("Content-Length") is None
        assert answer.header("ETag") is None
        assert not [name for name, _ in answer.headers if name.lower().startswith("m0-")]
        assert stream.retry == 2000
        assert ID.fullmatch(stream.last_id)


def test_the_body_is_the_head_of_the_stream(live: Server) -> None:
    with hold(live, "body", head="event: first\ndata: from the view\n\n") as stream:
        assert stream.next() == Event(stream.last_id, "from the view", "first")


def test_what_is_published_during_the_view_is_delivered_once(live: Server) -> None:
    with hold(live, "during", publish="in between") as stream:
        assert stream.next().data == "in between"
        publish(live, "during", "afterwards")
        assert stream.next().data == "afterwards"


def test_what_was_published_before_is_not(live: Server) -> None:
    publish(live, "before", "too early")
    with hold(live, "before") as stream:
        publish(live, "before", "in time")
        assert stream.next().data == "in time"


def test_several_channels_come_in_one_order(live: Server) -> None:
    with hold(live, "one", "two", "thr%ee, four") as stream:
        sent = [publish(live, name, name) for name in ("two", "one", "thr%ee, four", "other", "two")]
        assert [(e.id, e.data) for e in stream.take(4)] == [
            (sent[0], "two"),
            (sent[1], "one"),
            (sent[2], "thr%ee, four"),
            (sent[4], "two"),
        ]


def test_who_comes_back_gets_the_rest(live: Server) -> None:
    with hold(live, "back") as stream:
        first = publish(live, "back", "1")
        assert stream.next().id == first
        last = stream.last_id
    for number in range(2, 5):
        publish(live, "back", str(number))
    with hold(live, "back", last_id=last) as stream:
        publish(live, "back", "5")
        assert [event.data for event in stream.take(4)] == ["2", "3", "4", "5"]


def test_a_client_that_drops_before_its_first_event_resumes(live: Server) -> None:
    with hold(live, "early") as stream:
        last = stream.last_id
    publish(live, "early", "while away")
    with hold(live, "early", last_id=last) as stream:
        assert stream.next().data == "while away"


def test_the_cursor_may_stand_in_the_query_and_the_field_wins(live: Server) -> None:
    older = publish(live, "query", "1")
    newer = publish(live, "query", "2")
    publish(live, "query", "3")
    with hold(live, "query", last_event_id=older) as stream:
        assert [e.data for e in stream.take(2)] == ["2", "3"]
    with hold(live, "query", last_id=newer, last_event_id=older) as stream:
        assert stream.next().data == "3"


@pytest.mark.parametrize("said", ["nonsense", "0", "000000000000-", "-1", "%00"])
def test_a_malformed_id_counts_as_none(live: Server, said: str) -> None:
    publish(live, "malformed", "before")
    with hold(live, "malformed", last_event_id=said) as stream:
        publish(live, "malformed", "after")
        assert stream.next().data == "after"


def test_an_id_of_another_life_gets_one_gap_and_everything(serve: Callable[..., Server]) -> None:
    server = serve("live")
    for number in range(3):
        publish(server, "a", str(number))
    with hold(server, "a", last_id="0123456789ab-77") as stream:
        gap = stream.next()
        assert gap.type == "m0-gap"
        assert json.loads(gap.data) == {"from": "0123456789ab-77", "to": gap.id}
        assert [e.data for e in stream.take(3)] == ["0", "1", "2"]


def test_an_id_from_the_future_too(serve: Callable[..., Server]) -> None:
    server = serve("live")
    first = publish(server, "a", "1")
    future = first.replace("-1", "-1000")
    with hold(server, "a", last_id=future) as stream:
        gap = stream.next()
        assert (gap.type, json.loads(gap.data)["from"]) == ("m0-gap", future)
        assert stream.next().data == "1"


def test_who_comes_back_too_late_is_told_what_it_missed(serve: Callable[..., Server]) -> None:
    server = serve("live", "--event-log-size", "64k")
    with hold(server, "a") as stream:
        first = publish(server, "a", "1")
        assert stream.next().id == first
        last = stream.last_id
    missed = publish(server, "a", "2")
    server.get("/publish-many?channel=other&count=2000&prefix=x")
    newest = publish(server, "a", "3")
    with hold(server, "a", last_id=last) as stream:
        gap = stream.next()
        assert gap.type == "m0-gap"
        told = json.loads(gap.data)
        assert told["from"] == last
        assert sequence(missed) <= sequence(told["to"]) < sequence(newest)
        assert stream.next().id == newest
        come_back = stream.last_id
    with hold(server, "a", last_id=come_back) as stream:
        publish(server, "a", "4")
        assert stream.next().data == "4", "the gap is told once"


def test_a_first_visit_may_ask_for_the_last_few(live: Server) -> None:
    for number in range(5):
        publish(live, "replay", str(number))
        publish(live, "other", "x")
    with hold(live, "replay", **{"M0-Replay": "2"}) as stream:
        assert [e.data for e in stream.take(2)] == ["3", "4"]
        publish(live, "replay", "5")
        last = stream.next().id
    with hold(live, "replay", last_id=last, **{"M0-Replay": "2"}) as stream:
        publish(live, "replay", "6")
        assert stream.next().data == "6", "who comes back does not get them again"


def test_nobody_resumes_below_the_floor(live: Server) -> None:
    old = publish(live, "floor", "private")
    floor = publish(live, "floor", "the newcomer joins")
    publish(live, "floor", "welcome")
    before = f"{old.rpartition('-')[0]}-{sequence(old) - 1}"
    with hold(live, "floor", last_id=before, **{"M0-Since": floor}) as stream:
        assert stream.next().data == "welcome"
    with hold(live, "floor", **{"M0-Since": floor, "M0-Replay": "10"}) as stream:
        assert stream.next().data == "welcome"


def test_the_cursor_of_a_request_is_when_it_arrived(live: Server) -> None:
    before, inside = json.loads(live.get("/cursor").body)
    assert before == inside
    after, _ = json.loads(live.get("/cursor").body)
    assert sequence(after) > sequence(before)


def test_an_error_is_just_that_answer(live: Server) -> None:
    answer = live.get("/hold?channel=a&status=403+Forbidden&head=no")
    assert (answer.status, answer.body) == (403, b"no")
    assert not [name for name, _ in answer.headers if name.lower().startswith("m0-")]


def test_a_head_request_gets_the_head_and_ends(live: Server) -> None:
    with live.connect() as client:
        answer = client.get("/hold?channel=a", method="HEAD")
        assert answer.header("Content-Type") == "text/event-stream"
        assert answer.header("Content-Length") is None
        assert client.get("/who").status == 200, "the connection goes on"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/hold?M0-Replay=1", "needs at least one M0-Channel"),
        ("/hold?channel=a&M0-Channel=%25ff", "is not UTF-8"),
        ("/hold?channel=a&M0-Keep-Alive=never", "M0-Keep-Alive must be"),
        ("/hold?channel=a&M0-Colour=red", "no response field M0-Colour"),
        ("/compressed", "must not be compressed"),
        ("/generated", "must not be a stream"),
    ],
)
def test_what_cannot_be_held_is_a_500_with_its_reason_in_the_log(live: Server, target: str, reason: str) -> None:
    answer = live.get(target)
    assert answer.status == 500
    assert b"M0" not in answer.raw_head
    live.wait_log(re.escape(reason))


@pytest.mark.parametrize("name", ["M0-Event", "m0-connection", "M0-Hold"])
def test_a_client_cannot_speak_the_servers_own_fields(live: Server, name: str) -> None:
    assert live.get("/who", [(name, "message")]).status == 400


def test_signs_of_life_carry_the_cursor(serve: Callable[..., Server]) -> None:
    server = serve("live", "--hold-keep-alive", "1s")
    with hold(server, "quiet") as stream:
        first, comments = stream.last_id, stream.comments
        moved_on = publish(server, "other", "x")
        while stream.last_id == first:
            assert stream.read_chunk()
        assert stream.last_id == moved_on
        assert stream.comments > comments
    with hold(server, "quiet", last_id=moved_on) as stream:
        publish(server, "quiet", "y")
        assert stream.next().data == "y"


def test_a_hold_has_its_time(serve: Callable[..., Server]) -> None:
    server = serve("live")
    with hold(server, "short", **{"M0-Hold-Timeout": "1"}) as stream:
        stream.retry = None
        while stream.read_chunk():
            pass
        assert stream.retry is not None, "it is told to come back"
        assert not stream.ended, "a stream that ends properly is not asked for again"


def test_a_stop_sends_the_held_away(serve: Callable[..., Server]) -> None:
    server = serve("live", "--drain-spread", "1s")
    streams = [hold(server, "a") for _ in range(20)]
    server.signal(signal.SIGTERM)
    for stream in streams:
        stream.retry = None
        while stream.read_chunk():
            pass
        assert stream.retry is not None and stream.retry >= 2000
        assert not stream.ended
        stream.client.close()
    assert server.wait() == 0


def test_a_full_lane_tells_who_wants_a_stream_to_come_back(serve: Callable[..., Server], gate: Gate) -> None:
    """Browsers give up an event stream for good that was answered with an error."""
    server = serve("live", "--blocking-threads", "1", "--queue", "1")
    running = server.connect()
    running.request("GET", f"/gate?port={gate.port}")
    visitor = gate.arrival()

    def ask() -> Client:
        client = server.connect()
        client.request("GET", "/who")
        return client

    refused, queued = fill_queue(ask)
    assert refused.response().status == 503
    stream = EventStream(server, "/hold?channel=a")
    assert stream.answer.status == 200
    while stream.read_chunk():
        pass
    assert stream.retry is not None and stream.retry >= 2000
    assert not stream.ended
    visitor.release()
    for client in [running, *queued]:
        assert client.response().status == 200
    with hold(server, "a") as again:
        publish(server, "a", "x")
        assert again.next().data == "x"


@pytest.mark.parametrize("words", [(), ("--preload",), ("--no-fork",)])
def test_a_workers_start_may_publish(serve: Callable[..., Server], words: tuple[str, ...]) -> None:
    server = serve("live", "--worker-start", "live:worker_starts", *words)
    assert ID.fullmatch(server.get("/at-start").body.decode())


def test_an_http_1_0_client_gets_blocks_without_chunks(live: Server) -> None:
    with live.connect() as client:
        client.request("GET", "/hold?channel=ten", version="1.0")
        head = client.head()
        assert head.header("Transfer-Encoding") is None
        client.until(b"\n\n")
        identity = publish(live, "ten", "x")
        assert client.until(b"\n\n") == f"id: {identity}\ndata: x\n\n".encode()


def test_a_client_that_leaves_is_forgotten(serve: Callable[..., Server]) -> None:
    server = serve("live", "--max-connections", "3")
    for _ in range(10):
        with hold(server, "a"):
            pass
    with hold(server, "a") as stream:
        stream.client.half_close()
        while stream.read_chunk():
            pass
    publish(server, "a", "to nobody")


def test_line_breaks_forge_no_event(live: Server) -> None:
    with hold(live, "forge") as stream:
        publish(live, "forge", "x\n\nid: 0-0\rdata: forged\r\n\r\nretry: 1")
        event = stream.next()
        assert event.data.split("\n") == ["x", "", "id: 0-0", "data: forged", "", "retry: 1"]
        assert event.id == stream.last_id
        answer = live.get("/publish?" + urllib.parse.urlencode({"channel": "forge", "data": "", "event": "a\ndata: b"}))
        assert answer.status == 500
    live.wait_log("ValueError: event has a control character")


def test_an_event_that_is_too_large_is_not_published(serve: Callable[..., Server]) -> None:
    server = serve("live", "--max-event", "1k")
    assert server.post("/publish-body?channel=a", b"x" * 1000).body != b"None"
    assert server.post("/publish-body?channel=a", b"x" * 1100).body == b"None"
    server.wait_log("nothing was published to 'a': the event is larger than --max-event")


@pytest.mark.parametrize("workers", [1, 4])
def test_every_event_reaches_every_subscriber_once_and_in_one_order(serve: Callable[..., Server], workers: int) -> None:
    server = serve("live", "--workers", str(workers))
    streams = [hold(server, "all") for _ in range(24)]
    publishers, each = 6, 50
    ids: list[list[str]] = [[] for _ in range(publishers)]

    def run(number: int) -> None:
        for start in range(0, each, 10):
            said = server.get(f"/publish-many?channel=all&count=10&prefix={number}.{start}.")
            ids[number] += json.loads(said.body)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(publishers)]
    for thread in threads:
        thread.start()
    received = [stream.take(publishers * each) for stream in streams]
    for thread in threads:
        thread.join()
    expected = sorted((i for one in ids for i in one), key=sequence)
    assert len(set(expected)) == publishers * each
    for one in received:
        assert [event.id for event in one] == expected
        assert one == received[0]
    for stream in streams:
        stream.client.close()


def test_a_worker_that_is_killed_takes_no_event_with_it(serve: Callable[..., Server]) -> None:
    """Its clients come back to the others, with nothing missing and nothing twice."""
    server = serve("live", "--workers", "3")
    stream = hold(server, "all")
    got: list[str] = []
    sent: list[str] = []
    for round_number in range(5):
        sent += json.loads(server.get(f"/publish-many?channel=all&count=20&prefix={round_number}.").body)
        pids = server.workers()
        for pid in pids[:-1]:
            os.kill(pid, signal.SIGKILL)
        sent += json.loads(retry(server, f"/publish-many?channel=all&count=20&prefix={round_number}b."))
        while len(got) < len(sent):
            try:
                got.append(stream.next().id)
            except (AssertionError, OSError):
                stream.client.close()
                stream = reopen(server, "all", stream.last_id)
        wait_until(lambda: len(server.workers()) == 3, "the killed workers are replaced")
    assert got == sent
    stream.client.close()


def retry(server: Server, target: str) -> bytes:
    """A request to a server whose workers are being killed."""

    def attempt() -> bytes | None:
        try:
            answer = server.get(target)
            return answer.body if answer.status == 200 else None
        except (AssertionError, OSError):
            return None

    return wait_until(attempt, target)


def reopen(server: Server, channel: str, last_id: str) -> EventStream:
    def attempt() -> EventStream | None:
        try:
            return hold(server, channel, last_id=last_id)
        except (AssertionError, OSError):
            return None

    return wait_until(attempt, "a stream")


def test_a_slow_reader_gets_everything(serve: Callable[..., Server]) -> None:
    server = serve("live", "--event-log-size", "8m")
    slow = EventStream(server, "/hold?channel=big", receive_buffer=4096)
    with hold(server, "big") as quick:
        data = "x" * 1000
        for _ in range(40):
            server.get(f"/publish-many?channel=big&count=100&prefix={data}")
        assert len(quick.take(4000)) == 4000
        events = slow.take(4000)
        assert [sequence(e.id) for e in events] == list(range(sequence(events[0].id), sequence(events[0].id) + 4000))
    slow.client.close()


def test_one_that_never_reads_is_told_of_its_gap_or_cut(serve: Callable[..., Server]) -> None:
    server = serve("live", "--event-log-size", "64k")
    slow = EventStream(server, "/hold?channel=big", receive_buffer=4096)
    with hold(server, "big") as quick:
        for number in range(60):
            server.get(f"/publish-many?channel=big&count=20&prefix={'y' * 1000}{number}.")
            quick.take(20)
        seen: list[Event] = []
        try:
            while not seen or seen[-1].type != "m0-gap":
                seen.append(slow.next())
            last = slow.last_id
        except AssertionError:
            last = slow.last_id  # it was cut in the middle of an event
            with hold(server, "big", last_id=last) as again:
                seen.append(again.next())
        assert seen[-1].type == "m0-gap"
    slow.client.close()
