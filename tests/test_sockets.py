"""Where the server listens: TCP, IPv6, Unix sockets, several at once, and what cannot work."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.client import Client
from harness.server import Server, run


def refused_with_78(*words: str) -> str:
    """The start ends at once: exit 78 and one sentence."""
    ended = run("bare", *words)
    assert ended.returncode == 78, ended.stderr
    assert "Traceback" not in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, ended.stderr
    return lines[0]


def test_port_zero_is_told(bare: Server) -> None:
    assert bare.port > 0
    assert bare.get("/environ").json()["environ"]["SERVER_PORT"] == str(bare.port)


def test_several_binds(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    server = serve("bare", bind=["127.0.0.1:0", "127.0.0.1:0", f"unix:{path}"])
    assert len(server.addresses) == 3
    for address in server.addresses:
        with server.connect(address=address) as client:
            assert client.get("/hello").body == b"hello\n"
    ports = {client_port[1] for client_port in server.addresses if isinstance(client_port, tuple)}
    assert len(ports) == 2


def test_ipv6(serve: Callable[..., Server]) -> None:
    server = serve("bare", bind=["[::1]:0"])
    seen = server.get("/environ").json()["environ"]
    assert seen["REMOTE_ADDR"] == "::1"
    assert seen["SERVER_NAME"] == "[::1]", "as a URL needs it"


def test_ipv6_any_serves_both(serve: Callable[..., Server]) -> None:
    server = serve("bare", bind=["[::]:0"])
    with server.connect(address=("::1", server.port)) as client:
        assert client.get("/environ").json()["environ"]["REMOTE_ADDR"] == "::1"
    with server.connect(address=("127.0.0.1", server.port)) as client:
        assert client.get("/environ").json()["environ"]["REMOTE_ADDR"] in ("127.0.0.1", "::ffff:127.0.0.1")


def test_localhost_by_name(serve: Callable[..., Server]) -> None:
    server = serve("bare", bind=["localhost:0"])
    with server.connect(address=("127.0.0.1", server.port)) as client:
        assert client.get("/hello").status == 200


def test_host_and_port(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--host", "127.0.0.1", "--port", "0", bind=None)
    assert server.get("/hello").status == 200


def test_unix_socket(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    server = serve("bare", bind=[f"unix:{path}"])
    assert server.address == path
    with server.connect() as client:
        seen = client.get("/environ").json()["environ"]
        assert isinstance(seen["REMOTE_ADDR"], str)
        assert isinstance(seen["SERVER_NAME"], str) and seen["SERVER_NAME"]
        assert isinstance(seen["SERVER_PORT"], str)
        assert client.get("/hello").status == 200
    server.stop()
    assert not os.path.exists(path), "the socket file goes with its server"


def test_unix_socket_upload_and_pipelining(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("bare", bind=[f"unix:{tmp_path / 's'}"])
    body = os.urandom(3_000_000)
    with server.connect() as client:
        assert client.post("/echo", body).body == body


def test_unix_socket_replaces_a_stale_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(path)
    assert stat.S_ISSOCK(os.stat(path).st_mode)
    server = serve("bare", bind=[f"unix:{path}"])
    assert server.get("/hello").status == 200


def test_unix_socket_after_a_kill(serve: Callable[..., Server], tmp_path: Path) -> None:
    """What a killed server leaves is stale: the next one starts."""
    path = str(tmp_path / "s")
    first = serve("bare", bind=[f"unix:{path}"])
    workers = first.workers()
    first.signal(signal.SIGKILL)
    first.wait()
    from harness.processes import alive
    from harness.waiting import wait_until

    wait_until(lambda: not any(alive(pid) for pid in workers), "workers end with their supervisor")
    second = serve("bare", bind=[f"unix:{path}"])
    assert second.get("/hello").status == 200


def test_unix_socket_never_replaces_a_live_one(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    server = serve("bare", bind=[f"unix:{path}"])
    assert path in refused_with_78("--bind", f"unix:{path}")
    assert server.get("/hello").status == 200


def test_unix_socket_never_replaces_a_plain_file(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("content")
    assert str(path) in refused_with_78("--bind", f"unix:{path}")
    assert path.read_text() == "content"


def test_unix_socket_never_replaces_a_directory_or_a_link_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "directory").mkdir()
    for name in ("link", "directory"):
        refused_with_78("--bind", f"unix:{tmp_path / name}")
    assert (tmp_path / "file").read_text() == "content"
    assert (tmp_path / "link").is_symlink()


def test_unix_socket_in_no_directory(tmp_path: Path) -> None:
    refused_with_78("--bind", f"unix:{tmp_path}/nowhere/s")


def test_unix_socket_path_too_long(tmp_path: Path) -> None:
    ended = run("bare", "--bind", f"unix:{tmp_path}/{'x' * 200}")
    assert ended.returncode in (2, 78)
    assert "Traceback" not in ended.stderr


def test_unix_socket_mode_is_decided_by_us_and_not_by_the_umask(serve: Callable[..., Server], tmp_path: Path) -> None:
    modes = set()
    for number, umask in enumerate(("000", "077")):
        path = tmp_path / f"s{number}"
        serve("bare", bind=[f"unix:{path}"], prefix=["sh", "-c", f'umask {umask}; exec "$0" "$@"'])
        modes.add(stat.S_IMODE(os.stat(path).st_mode))
    assert len(modes) == 1
    assert modes.pop() & 0o600 == 0o600


def test_address_in_use(bare: Server) -> None:
    said = refused_with_78("--bind", f"127.0.0.1:{bare.port}")
    assert str(bare.port) in said
    assert "in use" in said
    assert bare.get("/hello").status == 200


def test_address_in_use_beside_a_good_one(bare: Server) -> None:
    refused_with_78("--bind", "127.0.0.1:0", "--bind", f"127.0.0.1:{bare.port}")


def test_an_address_that_is_not_ours() -> None:
    refused_with_78("--bind", "192.0.2.1:0")


@pytest.mark.skipif(os.geteuid() != 0, reason="drops root's permission to bind low ports")
def test_no_permission(tmp_path: Path) -> None:
    import subprocess

    from harness.server import APPS, command, environment

    ended = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
        + ["unshare", "--user", "--net", *command(), "bare", "--bind", "127.0.0.1:80"],
        env=environment(),
        cwd=APPS,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    if "unshare" in ended.stderr:
        pytest.skip("no user namespaces here")
    assert ended.returncode == 78, ended.stderr
    assert "ermission" in ended.stderr


@pytest.mark.parametrize("value", ["127.0.0.1:99999", "127.0.0.1:http", "[::1:80", "unix:", "127.0.0.1:-1", ""])
def test_an_address_that_is_none(value: str) -> None:
    ended = run("bare", "--bind", value)
    assert ended.returncode in (2, 78), ended.stderr
    assert len([line for line in ended.stderr.splitlines() if line]) <= 2
    assert "Traceback" not in ended.stderr


def test_a_host_that_nobody_knows() -> None:
    ended = run("bare", "--bind", "no-such-host.invalid:0")
    assert ended.returncode in (2, 78)
    assert re.search("no-such-host.invalid", ended.stderr)


def test_restart_on_the_same_port(serve: Callable[..., Server]) -> None:
    """Connections in TIME_WAIT do not hold the port."""
    first = serve("bare")
    with first.connect() as client:
        client.get("/hello", [("Connection", "close")])
        client.ended_cleanly()
    port = first.port
    first.stop()
    second = serve("bare", bind=[f"127.0.0.1:{port}"])
    with Client(("127.0.0.1", port)) as client:
        assert client.get("/hello").status == 200
    assert second.port == port
