"""The client of the control socket against peers that say whatever a test wants, and the command publish."""

from __future__ import annotations

import io
import os
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from m0serve import _control, _publish  # noqa: E402


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder that is looked into; its name is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="m0-"))
    monkeypatch.setattr(_control, "_places", lambda: iter([str(folder), str(folder / "missing"), str(folder)]))
    monkeypatch.delenv("M0_CONTROL", raising=False)
    yield folder
    shutil.rmtree(folder)


class Peer:
    """Listens; each connection is given to `serve`, one after the other."""

    def __init__(self, path: Path, serve: Callable[[socket.socket], None]) -> None:
        self.path = str(path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.serve = serve
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    self.serve(connection)
                except OSError:
                    pass

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def message(*fields: bytes) -> bytes:
    body = b"".join(struct.pack(">I", len(field)) + field for field in fields)
    return struct.pack(">I", len(body)) + body


def answering(*fields: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        if connection.recv(1 << 16):
            connection.sendall(message(*fields))

    return serve


def test_what_is_asked_and_answered(place: Path) -> None:
    asked: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        expected = len(message(b"publish", b"news", b"x" * 100_000, b""))
        got = b""
        while len(got) < expected:
            got += connection.recv(1 << 16)
        asked.append(got)
        for byte in message(b"ok", b"1-2", b""):
            connection.sendall(bytes([byte]))

    peer = Peer(place / "s", serve)
    assert _control.request("publish", b"news", b"x" * 100_000, b"", path=peer.path) == [b"1-2", b""]
    assert asked == [message(b"publish", b"news", b"x" * 100_000, b"")]


def test_an_error_is_raised(place: Path) -> None:
    peer = Peer(place / "s", answering(b"error", b"no room"))
    with pytest.raises(_control.ControlError, match="^no room$"):
        _control.request("publish", path=peer.path)


def test_a_server_that_closes_early_is_read_all_the_same(place: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(4)
        connection.sendall(message(b"error", b"too large"))

    peer = Peer(place / "s", serve)
    with pytest.raises(_control.ControlError, match="^too large$"):
        _control.request("publish", b"x" * 10_000_000, path=peer.path)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\0\0",
        b"\0\0\0\x09\0\0\0\x02ok",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0\0\0\0",
        b"\0\0\0\x05\0\0\0\x02o",
    ],
)
def test_nonsense_is_an_error(place: Path, said: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(said)

    peer = Peer(place / "s", serve)
    with pytest.raises(_control.ControlError, match="ended the connection|no server of this version"):
        _control.request("publish", path=peer.path)


def test_no_answer_is_waited_for_no_longer(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of one that says a byte now and then."""
    monkeypatch.setattr(_control, "PATIENCE", 0.2)

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"\0\0\1\0")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    peer = Peer(place / "s", serve)
    with pytest.raises(_control.ControlError, match="did not answer"):
        _control.request("publish", path=peer.path)


def test_a_full_backlog_is_waited_for(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / "a.sock"))
    listener.listen(0)
    with listener, socket.socket(socket.AF_UNIX) as first:
        first.connect(str(place / "a.sock"))
        assert _control.find() == str(place / "a.sock"), "it is live"

        def take_two() -> None:
            listener.accept()[0].close()
            answering(b"ok", b"1-2")(listener.accept()[0])

        threading.Timer(0.1, take_two).start()
        assert _control.request("publish", path=str(place / "a.sock")) == [b"1-2"]
        first_again = socket.socket(socket.AF_UNIX)
        first_again.connect(str(place / "a.sock"))
        monkeypatch.setattr(_control, "PATIENCE", 0.1)
        with first_again, pytest.raises(_control.ControlError, match="too busy"):
            _control.request("publish", path=str(place / "a.sock"))


def test_the_variable_names_the_server(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Peer(place / "other.sock", answering(b"ok", b"other"))
    named = Peer(place / "named", answering(b"ok", b"named"))
    monkeypatch.setenv("M0_CONTROL", named.path)
    assert _control.request("publish") == [b"named"]
    monkeypatch.setenv("M0_CONTROL", str(place / "gone"))
    with pytest.raises(_control.NoServer, match="gone"):
        _control.request("publish")
    monkeypatch.setenv("M0_CONTROL", "off")
    with pytest.raises(_control.NoServer, match="no control socket"):
        _control.request("publish")


def test_the_only_live_server_is_found(place: Path) -> None:
    with pytest.raises(_control.NoServer, match="no server of this user"):
        _control.request("publish")
    stale = Peer(place / "127.0.0.1-1.sock", answering())
    stale.close()
    (place / "file.sock").write_text("")
    (place / "127.0.0.1-1.sock.lock").write_text("")
    Peer(place / "127.0.0.1-2.sock", answering(b"ok", b"2"))
    assert _control.request("publish") == [b"2"]
    Peer(place / "127.0.0.1-3.sock", answering(b"ok", b"3"))
    with pytest.raises(_control.NoServer) as failure:
        _control.request("publish")
    for word in ("127.0.0.1-2.sock", "127.0.0.1-3.sock", "M0_CONTROL"):
        assert word in str(failure.value)


def test_a_place_that_somebody_else_may_write_is_not_looked_into(place: Path) -> None:
    Peer(place / "a.sock", answering(b"ok"))
    os.chmod(place, 0o777)
    with pytest.raises(_control.NoServer):
        _control.request("publish")


# -- the command


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []

    def request(*words: object, path: str | None = None) -> list[bytes]:
        found.append((*words, path))
        return [b"1-2"]

    monkeypatch.setattr(_control, "request", request)
    return found


def test_the_command_asks(
    asked: list[tuple[object, ...]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _publish.main(["news", "it rains"]) == 0
    assert _publish.main(["news", '{ "a": "\xe4" }', "--json", "--event", "note", "--control", "/s"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"two\nlines\n")))
    assert _publish.main(["news", "-"]) == 0
    assert asked == [
        ("publish", b"news", b"it rains", b"", b"text", None),
        ("publish", b"news", '{"a":"\xe4"}'.encode(), b"note", b"text", "/s"),
        ("publish", b"news", b"two\nlines\n", b"", b"text", None),
    ]
    assert capsys.readouterr().out == "1-2\n" * 3


def test_a_closed_standard_input_is_wrong_usage(
    asked: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert _publish.main(["news", "-"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["news"],
        ["news", "x", "y"],
        ["news", "x", "--loud"],
        ["", "x"],
        ["a\nb", "x"],
        ["news", "x", "--event", "a\nb"],
        ["news", "{", "--json"],
        ["news", "NaN", "--json"],
        ["news", "\udcff"],
    ],
)
def test_what_could_never_be_published_is_wrong_usage(asked: list[tuple[object, ...]], words: list[str]) -> None:
    try:
        code = _publish.main(words)
    except SystemExit as left:
        assert isinstance(left.code, int)
        code = left.code
    assert code == 2
    assert asked == []


def test_what_was_not_published_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("M0_CONTROL", "/nowhere.sock")
    assert _publish.main(["news", "x"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "m0serve publish: nothing was published: no server runs at /nowhere.sock\n"
