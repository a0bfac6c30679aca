"""wsgi.file_wrapper: files go out from where they stand and are closed at once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from harness.client import Client
from harness.server import Server
from harness.waiting import wait_until

SIZE = 3_000_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    path = tmp_path_factory.mktemp("files") / "data.bin"
    content = os.urandom(SIZE)
    path.write_bytes(content)
    return str(path), content


def test_a_whole_file(bare: Server, data: tuple[str, bytes]) -> None:
    path, content = data
    with bare.connect() as client:
        for number in range(3):
            answer = client.get(f"/file?path={path}&key=whole{number}")
            assert answer.body == content
            assert client.get(f"/file-closed?key=whole{number}").json() is True


def test_with_a_length(bare: Server, data: tuple[str, bytes]) -> None:
    path, content = data
    with bare.connect() as client:
        answer = client.get(f"/file?path={path}&length={SIZE}")
        assert (answer.framing, answer.body) == ("length", content)
        assert client.get("/hello").status == 200


@pytest.mark.parametrize("buffering", [-1, 0])
def test_from_a_position(bare: Server, data: tuple[str, bytes], buffering: int) -> None:
    """Where seek() or read() left it, Python's own buffer considered."""
    path, content = data
    with bare.connect() as client:
        assert client.get(f"/file?path={path}&seek=1000&buffering={buffering}").body == content[1000:]
        assert client.get(f"/file?path={path}&peek=10&buffering={buffering}").body == content[10:]
        assert client.get(f"/file?path={path}&seek={SIZE}&buffering={buffering}").body == b""
        assert client.get(f"/file?path={path}&seek={SIZE + 5}&buffering={buffering}").body == b""


def test_a_range(bare: Server, data: tuple[str, bytes]) -> None:
    """A position and a smaller length: how frameworks answer Range."""
    path, content = data
    with bare.connect() as client:
        answer = client.get(f"/file?path={path}&seek=500&length=1000")
        assert (answer.header("Content-Length"), answer.body) == ("1000", content[500:1500])
        assert client.get("/hello").status == 200


def test_a_file_that_is_shorter_than_declared(bare: Server, data: tuple[str, bytes]) -> None:
    from harness.client import Truncated

    path, content = data
    with bare.connect() as client:
        try:
            answer = client.get(f"/file?path={path}&length={SIZE + 10}")
            assert answer.status == 500
        except Truncated as error:
            assert content.startswith(error.so_far)
    assert bare.get("/hello").status == 200


def test_an_empty_file(bare: Server, tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    with bare.connect() as client:
        assert client.get(f"/file?path={tmp_path}/empty").body == b""
        assert client.get("/hello").status == 200


def test_head(bare: Server, data: tuple[str, bytes]) -> None:
    path, _ = data
    with bare.connect() as client:
        answer = client.get(f"/file?path={path}&length={SIZE}&key=head", method="HEAD")
        assert answer.header("Content-Length") == str(SIZE)
        assert client.get("/file-closed?key=head").json() is True


def test_a_file_like_object_is_read(bare: Server, tmp_path: Path) -> None:
    """A descriptor alone does not mean that its bytes are what read() gives."""
    path = tmp_path / "text"
    path.write_bytes(b"Abc" * 10_000)
    with bare.connect() as client:
        assert client.get(f"/other-file?path={path}&key=other").body == b"aBC" * 10_000
        assert client.get("/notes?key=other").json() == ["closed"]


def test_no_regular_file(bare: Server) -> None:
    with bare.connect() as client:
        assert client.get("/pipe").body == b"through a pipe\n"
        assert client.get("/file-like?times=100000").body == b"0123456789" * 100_000
        assert client.get("/hello").status == 200


def test_the_wrapper_can_be_iterated(bare: Server) -> None:
    assert bare.get("/wrapper-iterated").body == b"|".join([b"abcabcabca", b"bcabcabcab", b"cabcabcabc"])


def _told(server: Server, key: str) -> bool:
    """Whether the view has begun."""
    return server.get(f"/file-closed?key={key}").status == 200


def test_closed_at_once_while_the_client_is_slow(bare: Server, data: tuple[str, bytes], tmp_path: Path) -> None:
    """close() does not wait for the client; the answer is complete nevertheless, the file deleted meanwhile."""
    path = tmp_path / "deleted.bin"
    content = os.urandom(16 << 20)
    path.write_bytes(content)
    with bare.connect(receive_buffer=4096) as client:
        client.request("GET", f"/file?path={path}&key=slow&length={len(content)}")
        wait_until(lambda: _told(bare, "slow") and bare.get("/file-closed?key=slow").json(), "it is closed")
        path.unlink()
        answer = client.response()
        assert hashlib.sha256(answer.body).digest() == hashlib.sha256(content).digest()


def test_slow_downloads_take_no_thread(bare: Server, data: tuple[str, bytes], tmp_path: Path) -> None:
    """Many more than there are threads, and a page is served."""
    path = tmp_path / "large.bin"
    path.write_bytes(b"x" * (32 << 20))
    clients: list[Client] = []
    for number in range(80):
        client = bare.connect(receive_buffer=4096)
        client.request("GET", f"/file?path={path}&key=many{number}")
        clients.append(client)
    for _ in range(20):
        assert bare.get("/hello").status == 200
    for client in clients:
        client.reset()


def test_a_client_that_leaves_a_download_gives_the_descriptor_back(bare: Server, tmp_path: Path) -> None:
    path = tmp_path / "left.bin"
    path.write_bytes(b"x" * (32 << 20))
    for _ in range(5):
        client = bare.connect(receive_buffer=4096)
        client.request("GET", f"/file?path={path}")
        client.head()
        client.reset()

    def still_open() -> bool:
        (worker,) = bare.workers()
        for entry in Path(f"/proc/{worker}/fd").iterdir():
            try:
                if os.readlink(entry) == str(path):
                    return True
            except FileNotFoundError:
                continue
        return False

    wait_until(lambda: not still_open(), "the file is closed")
