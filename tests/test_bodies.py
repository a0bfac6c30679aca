"""Request bodies: gathered whole, limited one by one and together, 100-continue only when needed."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.client import Client, Truncated, chunked
from harness.gate import Gate
from harness.processes import alive
from harness.server import Server
from harness.waiting import never, wait_until

MIB = 1 << 20


def upload(client: Client, target: str, size: int, headers: list[tuple[str, str]] | None = None) -> str:
    """Sends `size` bytes in pieces and returns their digest."""
    block = os.urandom(MIB)
    hashed = hashlib.sha256()
    client.request("POST", target, [("Content-Length", str(size)), *(headers or [])])
    sent = 0
    while sent < size:
        piece = block[: min(MIB, size - sent)]
        hashed.update(piece)
        client.send(piece)
        sent += len(piece)
    return hashed.hexdigest()


@pytest.mark.parametrize("size", [0, 1, 16383, 65535, 65536, 65537, 262144, MIB + 1, 5 * MIB])
def test_sizes_around_the_borders(bare: Server, size: int) -> None:
    body = os.urandom(size)
    assert bare.post("/echo", body).body == body


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, MIB + 1])
def test_chunked_sizes_around_the_borders(bare: Server, size: int) -> None:
    body = os.urandom(size)
    pieces = [body[at : at + 9973] for at in range(0, size, 9973)]
    with bare.connect() as client:
        client.request("POST", "/echo", [("Transfer-Encoding", "chunked")], chunked(*pieces))
        assert client.response().body == body
        assert client.get("/hello").status == 200


def test_many_tiny_chunks(bare: Server) -> None:
    with bare.connect() as client:
        client.request("POST", "/echo", [("Transfer-Encoding", "chunked")], chunked(*[b"x"] * 50_000))
        assert client.response().body == b"x" * 50_000


def test_100_mib_by_digest(bare: Server) -> None:
    with bare.connect() as client:
        digest = upload(client, "/digest", 100 * MIB)
        assert client.response().json() == {"length": 100 * MIB, "sha256": digest}
        assert client.get("/hello").status == 200


def test_a_large_chunked_upload(bare: Server) -> None:
    block, hashed = os.urandom(MIB), hashlib.sha256()
    with bare.connect() as client:
        client.request("POST", "/digest?piece=1000", [("Transfer-Encoding", "chunked")])
        for number in range(30):
            piece = block[number * 1000 :]
            hashed.update(piece)
            client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        client.send(b"0\r\n\r\n")
        assert client.response().json()["sha256"] == hashed.hexdigest()


def test_no_thread_is_taken_before_the_body_is_complete(serve: Callable[..., Server]) -> None:
    """With one thread and an upload that stands still, other requests are served."""
    server = serve("bare", "--blocking-threads", "1")
    with server.connect() as slow:
        slow.request("POST", "/digest", [("Content-Length", "10")])
        slow.send(b"01234")
        for _ in range(20):
            assert server.get("/hello").status == 200
        slow.send(b"56789")
        assert slow.response().json()["length"] == 10


def _worker_files(server: Server) -> list[str]:
    (worker,) = server.workers()
    found = []
    for entry in Path(f"/proc/{worker}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return found


def test_a_large_body_lies_in_an_unlinked_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("bare", env={"TMPDIR": str(tmp_path)})
    with server.connect() as client:
        client.request("POST", "/digest", [("Content-Length", str(MIB))])
        client.send(b"x" * (MIB - 1))

        def deleted() -> list[str]:
            return [name for name in _worker_files(server) if name.startswith(str(tmp_path)) and "(deleted)" in name]

        wait_until(deleted, "the body's file, without a name")
        client.send(b"x")
        assert client.response().json()["length"] == MIB
        assert not [name for name in os.listdir(tmp_path) if not name.startswith(("log-", "out-"))]
        assert client.get("/hello").status == 200
        wait_until(lambda: not deleted(), "the body's file is closed")


# -- Expect: 100-continue


EXPECT = [("Expect", "100-continue")]


def test_continue_is_sent_before_the_body_is_needed(bare: Server) -> None:
    with bare.connect() as client:
        client.request("POST", "/echo", [("Content-Length", "5"), *EXPECT])
        assert client.head().status == 100
        client.send(b"hello")
        answer = client.response()
        assert (answer.status, answer.body, answer.interim) == (200, b"hello", [])
        assert client.get("/hello").status == 200


def test_continue_for_a_chunked_body(bare: Server) -> None:
    with bare.connect() as client:
        client.request("POST", "/echo", [("Transfer-Encoding", "chunked"), ("Expect", "100-Continue")])
        assert client.head().status == 100
        client.send(chunked(b"hello"))
        assert client.response().body == b"hello"


def test_continue_is_not_sent_when_the_body_is_there(bare: Server) -> None:
    """RFC 9110 10.1.1: it may be left out once some of the body came."""
    with bare.connect() as client:
        client.request("POST", "/echo", EXPECT, b"hello")
        answer = client.response()
        assert (answer.body, answer.interim) == (b"hello", [])


def test_continue_is_not_sent_without_a_body(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.post("/echo", b"", EXPECT)
        assert (answer.status, answer.interim) == (200, [])


def test_continue_is_never_sent_on_http10(bare: Server) -> None:
    with bare.connect() as client:
        client.request("POST", "/echo", [("Content-Length", "5"), *EXPECT], version="1.0")
        never(client.has_bytes, "an interim answer on HTTP/1.0")
        client.send(b"hello")
        answer = client.response()
        assert (answer.body, answer.interim) == (b"hello", [])


def test_continue_behind_a_pipelined_request_comes_after_its_answer(bare: Server, gate: Gate) -> None:
    with bare.connect() as client:
        client.request("GET", gate.target())
        client.request("POST", "/echo", [("Content-Length", "5"), *EXPECT])
        visitor = gate.arrival()
        never(client.has_bytes, "100 overtook the answer before it")
        visitor.release()
        assert client.response().body == b"through\n"
        assert client.head().status == 100
        client.send(b"hello")
        assert client.response().body == b"hello"


def test_too_large_is_said_instead_of_continue(bare: Server) -> None:
    with bare.connect() as client:
        client.request("POST", "/echo", [("Content-Length", str(200 * MIB)), *EXPECT])
        answer = client.response()
        assert (answer.status, answer.interim) == (413, [])
        assert answer.closes
        assert client.ended_cleanly()


@pytest.mark.parametrize("value", ["200-ok", "100-continue-please", ""])
def test_other_expectations_do_no_harm(bare: Server, value: str) -> None:
    """RFC 9110 10.1.1: 417 is allowed, ignoring as well."""
    with bare.connect() as client:
        answer = client.post("/echo", b"hello", [("Expect", value)])
        assert answer.status in (200, 417)


# -- too large


def test_early_413(bare: Server) -> None:
    """At the head already, with nothing of the body sent."""
    with bare.connect() as client:
        client.request("POST", "/note-and-hello?key=413", [("Content-Length", str(128 * MIB + 1))])
        answer = client.response()
        assert answer.status == 413
        assert answer.closes
    assert bare.notes("413") == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> object:
    from harness.server import serving

    with serving(tmp_path_factory.mktemp("small"), "bare", "--max-body", "1m") as server:
        yield server


def test_exactly_the_limit_passes(small: Server) -> None:
    with small.connect() as client:
        assert len(client.post("/echo", b"x" * MIB).body) == MIB
        assert client.post("/echo", b"x" * (MIB + 1)).status == 413


def test_chunks_over_the_limit(small: Server) -> None:
    with small.connect() as client:
        client.request("POST", "/note-and-hello?key=chunks", [("Transfer-Encoding", "chunked")])
        client.send(b"80000\r\n" + b"x" * 0x80000 + b"\r\n")
        client.send(b"80000\r\n" + b"x" * 0x80000 + b"\r\n")
        never(client.has_bytes, "refused before the limit was passed")
        client.send(b"1\r\nx\r\n")
        assert client.response().status == 413
    assert small.notes("chunks") == []


def test_a_chunk_size_over_the_limit_is_refused_before_its_bytes(small: Server) -> None:
    with small.connect() as client:
        client.request("POST", "/echo", [("Transfer-Encoding", "chunked")])
        client.send(b"7fffffffffffffff\r\n")
        assert client.response().status == 413
        assert client.ended()


def test_a_client_that_still_sends_reads_its_413(small: Server) -> None:
    """No reset before the answer was read: the rest is taken in and thrown away for a while."""
    for _ in range(5):
        with small.connect() as client:
            client.request("POST", "/echo", [("Content-Length", str(3 * MIB))])
            for _ in range(48):
                client.send(b"x" * 65536)
            answer = client.response()
            assert (answer.status, answer.closes) == (413, True)
            assert client.ended_cleanly()


def test_what_is_thrown_away_is_bounded(small: Server) -> None:
    """A client that never stops sending is cut off."""
    with small.connect() as client:
        client.request("POST", "/echo", [("Content-Length", str(10**15))])
        with pytest.raises(OSError):
            for _ in range(40_000):
                client.send(b"x" * 65536)


# -- all bodies together


def test_the_sum_of_bodies_is_bounded(serve: Callable[..., Server]) -> None:
    """Two unfinished uploads that together pass the budget: one is refused, the server goes on, room comes back."""
    server = serve("bare", "--body-disk", "3m", "--body-memory", "1m", "--max-body", "100m")
    with server.connect() as first, server.connect() as second:
        for client in (first, second):
            client.request("POST", "/digest", [("Content-Length", str(2 * MIB))])
        first.send(b"x" * (2 * MIB - 1))
        wait_until(lambda: _bodies_on_disk(server) == 2 * MIB - 1, "the first lies on disk")
        try:
            second.send(b"x" * (2 * MIB - 1))
        except ConnectionError:
            pass

        def answered() -> Client | None:
            return next((client for client in (first, second) if client.has_bytes()), None)

        refused = wait_until(answered, "one of both is refused")
        assert refused.response().status in (413, 503, 507)
        other = second if refused is first else first
        assert server.get("/hello").status == 200
        other.send(b"x")
        assert other.response().json()["length"] == 2 * MIB
    assert server.post("/digest", b"y" * (2 * MIB)).json()["length"] == 2 * MIB


def _bodies_on_disk(server: Server) -> int:
    """Bytes in unlinked files of the worker."""
    (worker,) = server.workers()
    total = 0
    for entry in Path(f"/proc/{worker}/fd").iterdir():
        try:
            if "(deleted)" in os.readlink(entry):
                total += entry.stat().st_size
        except FileNotFoundError:
            continue
    return total


def test_many_small_bodies_pass_the_memory_budget(serve: Callable[..., Server]) -> None:
    """Bodies that stay in memory count as well."""
    server = serve("bare", "--body-memory", "1m", "--body-disk", "1m")
    clients = [server.connect() for _ in range(60)]
    for client in clients:
        client.request("POST", "/digest", [("Content-Length", "60000")])
        try:
            client.send(b"x" * 59_999)
        except ConnectionError:
            pass
    wait_until(lambda: any(client.has_bytes() for client in clients), "some are refused")
    refused = [client for client in clients if client.has_bytes()]
    for client in refused:
        assert client.response().status in (413, 503, 507)
    waiting = [client for client in clients if client not in refused]
    assert waiting, "not all of them"
    for client in waiting:
        if client.has_bytes():
            continue
        client.send(b"x")
        assert client.response().json()["length"] == 60_000
    for client in clients:
        client.close()
    assert server.post("/digest", b"y" * 60_000).json()["length"] == 60_000


def test_vanished_uploads_give_their_room_back(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--body-disk", "3m", "--body-memory", "1m")
    for _ in range(20):
        client = server.connect()
        client.request("POST", "/digest", [("Content-Length", str(2 * MIB))])
        client.send(b"x" * (2 * MIB - 1))
        client.reset()
        wait_until(lambda: not any("(deleted)" in name for name in _worker_files(server)), "the body is dropped")
    assert server.post("/digest", b"y" * (2 * MIB)).json()["length"] == 2 * MIB
    assert alive(server.pid)


def test_a_client_that_vanishes_in_its_body(bare: Server) -> None:
    for cut in (b"", b"x" * 100, b"x" * 100_000):
        client = bare.connect()
        client.request("POST", "/note-and-hello?key=vanished", [("Content-Length", str(MIB))])
        client.send(cut)
        client.reset()
    assert bare.get("/hello").status == 200
    assert bare.notes("vanished") == []


def test_uploads_side_by_side(bare: Server) -> None:
    """Eight at once, each with its own digest."""
    failures: list[str] = []

    def one() -> None:
        try:
            with bare.connect() as client:
                for _ in range(3):
                    digest = upload(client, "/digest", 2 * MIB + 17)
                    assert client.response().json()["sha256"] == digest
        except (AssertionError, OSError, Truncated) as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
