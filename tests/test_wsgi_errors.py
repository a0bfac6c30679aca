"""Whatever a view raises ends that request only."""

from __future__ import annotations

import pytest
from harness.client import Truncated
from harness.server import Server

KINDS = [
    "ValueError",
    "SystemExit",
    "KeyboardInterrupt",
    "GeneratorExit",
    "MemoryError",
    "OSError",
    "BrokenPipeError",
    "StopIteration",
    "UnicodeDecodeError",
    "RecursionError",
    "Unprintable",
]


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("when", ["call", "started"])
def test_before_anything_was_sent_it_is_a_500(bare: Server, what: str, when: str) -> None:
    with bare.connect() as client:
        answer = client.get(f"/raise?what={what}&when={when}")
        assert answer.status == 500
        assert b"Traceback" not in answer.body
        assert b"the view's own" not in answer.body
        if not answer.closes:
            assert client.get("/hello").body == b"hello\n"
    assert bare.get("/hello").body == b"hello\n"


@pytest.mark.parametrize("what", [kind for kind in KINDS if kind != "StopIteration"])
def test_at_the_first_piece_it_is_a_500(bare: Server, what: str) -> None:
    answer = bare.get(f"/raise?what={what}&when=first&key=first-{what}")
    assert answer.status == 500
    assert bare.wait_note(f"first-{what}", "closed") == ["closed"]


@pytest.mark.parametrize("what", [kind for kind in KINDS if kind != "StopIteration"])
@pytest.mark.parametrize("size", [100, 300_000])
def test_after_the_first_piece_the_answer_is_cut(bare: Server, what: str, size: int) -> None:
    """Never a last chunk: the client must be able to tell. What was held back may still become a 500."""
    with bare.connect() as client:
        try:
            answer = client.get(f"/raise?what={what}&when=later&size={size}&key=later-{what}-{size}")
            assert answer.status == 500
        except Truncated as error:
            assert error.so_far == b"z" * len(error.so_far)
    assert bare.wait_note(f"later-{what}-{size}", "closed") == ["closed"]
    assert bare.get("/hello").body == b"hello\n"


def test_on_http10_a_cut_answer_is_a_reset_or_short(bare: Server) -> None:
    """Delimited by close there is only the reset to tell by."""
    with bare.connect() as client:
        client.request("GET", "/raise?what=ValueError&when=later&size=300000&key=cut10", version="1.0")
        try:
            assert client.response().status in (200, 500)
        except ConnectionResetError:
            pass
    assert bare.wait_note("cut10", "closed") == ["closed"]


def test_the_traceback_is_in_the_log(bare: Server) -> None:
    bare.get("/raise?what=ValueError&when=call")
    bare.wait_log(r"Traceback \(most recent call last\):")
    bare.wait_log(r"bare\.py")
    bare.wait_log("ValueError: the view's own")


def test_errors_of_many_views_leave_the_threads_alive(bare: Server) -> None:
    """More than there are threads."""
    for what in KINDS:
        for _ in range(10):
            with bare.connect() as client:
                client.request("GET", f"/raise?what={what}&when=call", [("Connection", "close")])
                assert client.response().status == 500
    for _ in range(20):
        assert bare.get("/hello").status == 200


def test_wsgi_errors_goes_to_the_log(bare: Server) -> None:
    text = "seen in the log \u00e4\u20ac"
    assert bare.get(f"/errors-stream?text={text.encode().hex()}").status == 200
    bare.wait_log("seen in the log \u00e4\u20ac")
    bare.wait_log("printed seen in the log")


def test_a_500_for_head_has_no_body(bare: Server) -> None:
    with bare.connect() as client:
        answer = client.get("/raise?what=ValueError&when=call", method="HEAD")
        assert answer.status == 500
        if not answer.closes:
            assert client.get("/hello").body == b"hello\n"
        else:
            assert client.ended_cleanly()
