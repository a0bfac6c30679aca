"""Applications that misbehave get exceptions; the server stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from harness.client import Truncated
from harness.server import Server, serving


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("hostile"), "hostile") as server:
        (worker,) = server.workers()
        yield server
        assert server.workers() == [worker], "the worker was replaced"


def test_what_was_kept_of_an_earlier_request_is_harmless(hostile: Server) -> None:
    with hostile.connect() as client:
        for size in (0, 100, 200_000):
            assert client.post("/keep", b"x" * size).body == b"kept\n"
            outcomes = client.get("/use-kept").json()
            assert outcomes["environ"].isdigit()
            answer = client.get("/use-kept-on-a-thread")
            assert answer.status == 200
            assert answer.all("X-Late") == []
            assert client.get("/hello").body == b"hello\n"
    assert hostile.get("/hello").body == b"hello\n"


def test_headers_changed_after_the_start(hostile: Server) -> None:
    answer = hostile.get("/change-headers-later")
    assert answer.status == 200
    assert answer.all("X-First") == ["1"]
    assert answer.all("X-Worse") == []
    assert answer.body == b"a" * 100_000 + b"b" * 100_000


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/lying-length", b"one two three\n"),
        ("/list-subclass", b"one grown\n"),
        ("/bytes-subclass", b"a subclass\n"),
    ],
)
def test_iterables_that_lie(hostile: Server, target: str, body: bytes) -> None:
    with hostile.connect() as client:
        assert client.get(target).body == body
        assert client.get("/hello").body == b"hello\n"


def test_an_iterable_without_an_iterator(hostile: Server) -> None:
    assert hostile.get("/bad-iterator").status == 500
    assert hostile.wait_note("bad-iterator", "closed") == ["closed"]


def test_a_close_that_is_no_function(hostile: Server) -> None:
    with hostile.connect() as client:
        try:
            assert client.get("/close-is-no-function").status in (200, 500)
        except Truncated:
            pass
    assert hostile.get("/hello").status == 200


@pytest.mark.parametrize("kind", ["bytearray", "memoryview"])
def test_what_is_not_bytes(hostile: Server, kind: str) -> None:
    """PEP 3333 knows bytes only: an error, or the right bytes."""
    answer = hostile.get(f"/other-bytes?as={kind}")
    assert answer.status == 500 or answer.body == b"other\n"


@pytest.mark.parametrize("size", [0, 100, 65536, 1_000_000])
def test_reading_while_answering(hostile: Server, size: int) -> None:
    with hostile.connect() as client:
        assert client.post("/shout", b"x" * size).body == b"X" * size
        assert client.get("/hello").status == 200


@pytest.mark.parametrize("size", [8_000, 70_000, 1_000_000])
def test_a_large_header(hostile: Server, size: int) -> None:
    with hostile.connect() as client:
        answer = client.get(f"/large-header?size={size}")
        assert answer.status == 500 or answer.header("X-Large") == "h" * size
        if not answer.closes:
            assert client.get("/hello").status == 200


def test_an_environ_that_is_emptied(hostile: Server) -> None:
    with hostile.connect() as client:
        for _ in range(20):
            assert client.get("/change-environ").body == b"clean\n"


def test_an_unfinished_line_reaches_the_log(hostile: Server) -> None:
    hostile.get("/unfinished-line?text=marked")
    hostile.wait_log("a line without its end marked")


def test_what_was_printed_is_flushed_at_the_end(serve: Callable[..., Server]) -> None:
    server = serve("hostile")
    server.get("/print?text=printed-by-a-view")
    server.stop()
    assert "printed-by-a-view" in server.out


def test_requests_to_itself(hostile: Server) -> None:
    """Ten views that wait for each other on eight threads: growth has to help."""
    assert hostile.get("/nested?depth=15").body == b"bottom" + b"." * 15


def test_nothing_piles_up(hostile: Server) -> None:
    """Python objects after a thousand requests of every kind."""
    targets = [
        "/hello",
        "/raise?what=ValueError",
        "/stream?count=3&size=10",
        "/bad-iterator",
        "/environ",
        "/writer",
        "/lazy-start",
    ]

    def rounds(count: int) -> int:
        with hostile.connect() as client:
            for _ in range(count):
                for target in targets:
                    client.get(target)
                client.post("/digest", b"x" * 1000)
                client.post("/digest", b"x" * 100_000)
        return int(hostile.get("/objects").json()["count"])

    before = rounds(30)
    after = rounds(100)
    assert after - before < 400


@pytest.mark.parametrize("threads", [1, 2])
def test_multithread_tells_the_truth(serve: Callable[..., Server], threads: int) -> None:
    seen = serve("bare", "--blocking-threads", str(threads)).get("/environ").json()["environ"]
    assert seen["wsgi.multithread"] is (threads > 1)


def test_descriptors_do_not_pile_up(hostile: Server, tmp_path: object) -> None:
    (worker,) = hostile.workers()

    def rounds() -> int:
        for _ in range(30):
            with hostile.connect() as client:
                client.post("/digest", os.urandom(100_000))
                client.get("/file-like")
        return len(os.listdir(f"/proc/{worker}/fd"))

    assert rounds() >= rounds() - 3
