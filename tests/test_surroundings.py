"""Places where a server has to live: many descriptors, no writable disk, log readers that stand still."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.client import compose
from harness.server import APPS, Server, command
from harness.waiting import wait_until


def test_the_applications_select_works_beside_many_connections(serve: Callable[..., Server]) -> None:
    """More than 1,024: accepted sockets live above what select() can take."""
    server = serve("bare")
    clients = [server.connect() for _ in range(1200)]
    for client in clients[::100]:
        assert client.get("/hello").status == 200
    # The last one was accepted, hence all before it.
    assert clients[-1].get("/hello").status == 200
    answer = server.get("/select").json()
    assert answer["ready"] == 1
    assert answer["fd"] < 1024
    for client in clients:
        client.close()


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors_are_nobody_elses(
    serve: Callable[..., Server], tmp_path: Path, closed: str
) -> None:
    """Otherwise the listener or the access log would take their numbers, and get whatever is printed."""
    path, log = tmp_path / "socket", tmp_path / "access.log"
    server = serve(
        *("bare", "--access-log", str(log)),
        bind=(f"unix:{path}",),
        prefix=["sh", "-c", f'exec "$@" {closed}', "sh"],
        wait=False,
    )

    def answers() -> bool:
        try:
            with server.connect(address=str(path)) as client:
                return client.get("/raise?when=first").status == 500
        except OSError:
            return False

    wait_until(answers, "it serves")
    for pid in [server.pid, *server.workers()]:
        for number in re.findall(r"[0-2]", closed.replace("<", "0").replace(" >", " 1").replace("2>", "2")):
            assert os.readlink(f"/proc/{pid}/fd/{number}") == "/dev/null"
    server.stop()
    assert all('"GET /raise?when=first HTTP/1.1" 500' in line for line in log.read_text().splitlines())


def test_the_soft_limit_of_descriptors_is_raised(serve: Callable[..., Server]) -> None:
    server = serve("bare", prefix=["prlimit", "--nofile=256:4096"])
    (worker,) = server.workers()
    limits = Path(f"/proc/{worker}/limits").read_text()
    match = re.search(r"Max open files\s+(\d+)\s+(\d+)", limits)
    assert match and match[1] == match[2] == "4096"
    assert "descriptor" in server.log.lower() or "max-connections" in server.log, "one line says that it is too low"


# -- log readers that stand still


def test_a_stdout_reader_that_stops_reading(serve: Callable[..., Server]) -> None:
    """An access log of many times a pipe's size goes nowhere; nothing else stops, nor does the end."""
    reading, writing = os.pipe()
    try:
        server = serve("bare", "--access-log", "-", stdout=writing)
        os.close(writing)
        with server.connect() as client:
            for _ in range(20):
                client.send(compose("GET", "/hello?" + "x" * 2000) * 100)
                for _ in range(100):
                    assert client.response().status == 200
        server.stop()
    finally:
        os.close(reading)


def test_a_stderr_reader_that_stops_reading(serve: Callable[..., Server]) -> None:
    """The views' own lines and tracebacks too."""
    reading, writing = os.pipe()
    try:
        server = serve("bare", bind=["127.0.0.1:0"], stderr=writing, wait=False)
        os.close(writing)
        said = b""
        while b"ready" not in said or not said.endswith(b"\n"):
            said += os.read(reading, 4096)
        port = int(re.search(rb"http://127\.0\.0\.1:(\d+)", said)[1])  # type: ignore[index]
        server.addresses.append(("127.0.0.1", port))
        with server.connect() as client:
            for _ in range(300):
                assert client.get("/errors-stream?text=" + b"y".hex() * 2000).status == 200
                assert client.get("/raise?what=ValueError").status == 500
        server.stop()
    finally:
        os.close(reading)


def test_a_log_reader_that_went_away(serve: Callable[..., Server]) -> None:
    """A closed pipe is no reason to end."""
    reading, writing = os.pipe()
    server = serve("bare", "--access-log", "-", stdout=writing)
    os.close(writing)
    os.close(reading)
    for _ in range(50):
        assert server.get("/hello").status == 200


def test_a_full_disk_under_the_access_log(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--access-log", "/dev/full")
    for _ in range(200):
        assert server.get("/hello").status == 200


# -- nothing writable, nobody at home


@pytest.mark.skipif(os.geteuid() != 0, reason="changes to another user")
def test_as_nobody_with_nothing_writable() -> None:
    """No HOME, an unwritable working directory, no place for temporary files: it starts, serves and takes uploads."""
    base = Path("/var/tmp") if os.path.isdir("/var/tmp") else Path("/tmp")
    place = base / f"m0serve-nobody-{os.getpid()}"
    apps = place / "apps"
    try:
        shutil.copytree(APPS, apps, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (place, apps, *apps.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        logs = place.with_name(place.name + "-log")
        logs.mkdir()
        prefix = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "--bounding-set=-all",
        ]
        if subprocess.run([*prefix, "test", "-x", command()[0]], check=False).returncode != 0:
            pytest.skip("the build lies where only its owner may read")
        env = {"TMPDIR": "/proc", "HOME": "", "LANG": "C"}
        server = Server(logs, "bare", prefix=[*prefix, "env", "-u", "HOME"], cwd=apps, env=env)
        try:
            assert server.get("/hello").status == 200
            body = os.urandom(3_000_000)
            assert server.post("/echo", body).body == body
            seen = server.get("/facts").json()
            assert seen["cwd"] == str(apps)
            assert os.stat(f"/proc/{server.workers()[0]}").st_uid == 65534
        finally:
            server.stop()
        assert "Traceback" not in server.log
    finally:
        for path in (apps, place, *[path for path in apps.rglob("*") if path.is_dir()]):
            if path.exists():
                path.chmod(0o755)
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(place.with_name(place.name + "-log"), ignore_errors=True)


def test_in_a_directory_that_is_gone(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A deployment that replaced its directory under the running server."""
    place = tmp_path / "gone"
    place.mkdir()
    server = serve("bare", "--app-dir", str(APPS), cwd=place)
    place.rmdir()
    assert server.get("/hello").status == 200
    assert server.post("/digest", b"x" * 500_000).json()["length"] == 500_000


# -- the access log


def access_lines(server: Server, count: int) -> list[str]:
    return wait_until(
        lambda: len(found := server.out.splitlines()) >= count and found,
        f"{count} lines of the access log: {server.out!r}",
    )


def test_access_log_combined(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--access-log", "-")
    server.get("/hello?a=b", [("User-Agent", "probe/1"), ("Referer", "http://from/")])
    (line,) = access_lines(server, 1)
    assert re.fullmatch(
        r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET /hello\?a=b HTTP/1\.1" 200 6'
        r' "http://from/" "probe/1".*',
        line,
    ), line


def test_access_log_json(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--access-log", "-", "--access-log-format", "json")
    server.get("/hello?a=b", [("User-Agent", 'pro"be\\1')])
    with server.connect() as client:
        client.send(b'GET /\xff\xfe"\\ HTTP/1.1\r\nHost: t\r\nUser-Agent: \xff\xc3\r\nReferer: a\tb\r\n\r\n')
        assert client.response().status == 404
    first, second = (json.loads(line) for line in access_lines(server, 2))
    assert first["method"] == "GET"
    assert first["status"] == 200
    assert 'pro"be\\1' in first.values()
    assert second["status"] == 404


def test_access_log_to_a_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text("kept\n")
    server = serve("bare", "--access-log", str(path))
    for _ in range(10):
        server.get("/hello")
    server.stop()
    lines = path.read_text().splitlines()
    assert lines[0] == "kept"
    assert len(lines) == 11


def test_access_log_counts_every_answer(serve: Callable[..., Server]) -> None:
    """Refusals, streams, cut answers, files, HEAD: one line each, with the bytes of the body."""
    server = serve("bare", "--access-log", "-")
    server.get("/stream?count=10&size=1000&key=k")
    server.get("/hello", method="HEAD")
    server.get("/raise?what=ValueError")
    with server.connect() as client:
        client.send(b"BAD\r\n\r\n")
        client.response()
    lines = access_lines(server, 4)
    assert [re.search(r'" (\d{3}) ', line)[1] for line in lines] == ["200", "200", "500", "400"]  # type: ignore[index]
    assert " 200 10000 " in lines[0]


def test_no_request_can_forge_a_line(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--access-log", "-")
    evil = b'x" 200 5\x1b[31m'
    with server.connect() as client:
        client.send(
            b"GET /%0aFORGED%0d%0a"
            + b'"FORGED HTTP/1.1\r\nHost: t\r\nUser-Agent: "FORGED" '
            + b"\xc2\x85\xe2\x80\xa8"
            + b'\r\nReferer: \\"\r\n\r\n'
        )
        assert client.response().status == 404
        client.send(b"GET /" + evil + b" HTTP/1.1\r\nHost: t\r\n\r\n")
        assert client.response().status == 400
    lines = access_lines(server, 2)
    assert len(server.out.split("\n")) == len(lines) + 1 == 3
    assert "\x1b" not in server.out
    # A quote of the client's is escaped: the line still has its three quoted parts.
    assert len(re.findall(r'(?<!\\)"', lines[0].replace("\\\\", ""))) == 6, lines[0]


def test_no_request_can_forge_a_line_of_the_servers_log(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--log-level", "debug")
    with server.connect() as client:
        client.send(b"GET /raise?what=ValueError&%0aFORGED=1 HTTP/1.1\r\nHost: t\r\nX: \xc2\x85FORGED\r\n\r\n")
        assert client.response().status == 500
    with server.connect() as client:
        client.send(b"GET /\nFORGED HTTP/1.1\r\n\r\n")
        client.response()
    server.stop()
    assert not re.search(r"^\s*FORGED", server.log, re.MULTILINE)


def test_control_characters_of_a_view_are_escaped_in_the_log(serve: Callable[..., Server]) -> None:
    """What a client sent and a view logs must not steer the operator's terminal."""
    server = serve("bare")
    server.get("/errors-stream?text=" + b"before\x1b[2Jafter\x00end".hex())
    server.wait_log("after")
    server.stop()
    assert "\x1b" not in server.log
    assert "\x00" not in server.log


def test_log_level(serve: Callable[..., Server]) -> None:
    quiet = serve("bare", "--log-level", "error", wait=False)
    # Without a ready line the port is found by looking who listens.
    wait_until(lambda: quiet.process.poll() is None and _listens(quiet), "it listens")
    quiet.stop()
    assert "INFO" not in quiet.log.upper()


def _listens(server: Server) -> bool:
    from harness.processes import open_sockets

    inodes = {name.removeprefix("socket:[").removesuffix("]") for name in open_sockets(server.pid)}
    table = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[9] in inodes and line.split()[3] == "0A" for line in table) and time.monotonic() > 0


# -- counters


def test_counters_are_logged_at_the_end(serve: Callable[..., Server]) -> None:
    """At level debug, by a worker that stops."""
    server = serve("bare", "--log-level", "debug", "--max-body", "10", "--max-fields", "5", "--max-line", "200")
    for _ in range(7):
        server.get("/hello")
    server.post("/echo", b"x" * 11)
    server.get("/hello", [("X", "y")] * 6)
    server.get("/" + "a" * 300)
    with server.connect() as client:
        client.send(b"BAD\r\n\r\n")
        client.response()
    server.stop()
    counters = dict(re.findall(r"counter (\S+) (\d+)", server.log))
    assert counters, server.log
    assert any(int(value) >= 7 for value in counters.values())
    refusals = {
        name: int(value) for name, value in counters.items() if re.search("refus|bad|reject|error|limit|too", name)
    }
    assert sum(refusals.values()) >= 4, counters
