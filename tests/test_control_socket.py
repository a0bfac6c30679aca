"""Publishing from outside of a worker: real servers, and children, programs and strangers at their control sockets."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness.event_stream import hold
from harness.gate import Gate
from harness.live import connections_to_each, published
from harness.processes import alive, open_sockets, stopped
from harness.server import APPS, Server, run, serving
from harness.waiting import BOUND, wait_until

ID = re.compile(r"[0-9a-f]{12}-[0-9]+")


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    """The user's runtime directory; its name leaves room for that of a socket.

    Another server seems to run there: who asks has to know which of the two.
    """
    folder = Path(tempfile.mkdtemp(prefix="m0-"))
    (folder / "m0serve").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "m0serve" / "other.sock"))
        other.listen(64)
        yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own_runtime() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="m0-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory, runtime: Path) -> Iterator[Server]:
    env = {"XDG_RUNTIME_DIR": str(runtime)}
    with serving(tmp_path_factory.mktemp("outside"), "outside", "--workers", "2", env=env) as server:
        yield server


def control_of(server: Server) -> str:
    path = json.loads(server.get("/control").body)[0]
    assert isinstance(path, str)
    return path


def command(*words: str, control: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return run("publish", *words, env={**({"M0_CONTROL": control} if control else {}), **env})


def connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    # It waits where the backlog is full for a moment, which is an error at once after settimeout().
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(BOUND), 0))
    connection.connect(path)
    connection.settimeout(BOUND)
    return connection


def message(*fields: bytes) -> bytes:
    body = b"".join(struct.pack(">I", len(field)) + field for field in fields)
    return struct.pack(">I", len(body)) + body


def all_of(connection: socket.socket) -> bytes:
    """Until the server ends it."""
    said = b""
    try:
        while piece := connection.recv(1 << 16):
            said += piece
            assert len(said) < 1 << 20
    except ConnectionResetError:
        pass
    return said


# -- who can publish


@pytest.mark.parametrize("words", [("--workers", "1"), ("--workers", "4"), ("--no-fork",)], ids=lambda words: words[-1])
def test_the_command_reaches_every_subscriber(
    serve: Callable[..., Server], own_runtime: Path, words: tuple[str, ...]
) -> None:
    server = serve("outside", *words, env={"XDG_RUNTIME_DIR": str(own_runtime)})
    with ExitStack() as stack:
        streams = [stack.enter_context(hold(server, "news")) for _ in range(12)]
        done = command("news", "it rains", "--event", "weather", XDG_RUNTIME_DIR=str(own_runtime))
        assert done.returncode == 0, done.stderr
        identity = done.stdout.strip()
        assert ID.fullmatch(identity)
        for stream in streams:
            event = stream.next()
            assert (event.id, event.data, event.type) == (identity, "it rains", "weather")


@pytest.mark.parametrize("way", ["os-fork", "fork", "spawn", "subprocess", "copied-environment"])
def test_a_child_of_a_view_publishes(outside: Server, way: str) -> None:
    with hold(outside, way) as stream:
        identity = outside.get(f"/child?way={way}&channel={way}&data=from+below").body.decode()
        assert ID.fullmatch(identity), outside.log
        event = stream.next()
        assert (event.id, event.data) == (identity, "from below")


def test_under_preload_too(serve: Callable[..., Server], own_runtime: Path) -> None:
    server = serve("outside", "--preload", env={"XDG_RUNTIME_DIR": str(own_runtime)})
    with hold(server, "a") as stream:
        for way in ("os-fork", "copied-environment"):
            identity = server.get(f"/child?way={way}&channel=a&data=x").body.decode()
            assert stream.next().id == identity


@pytest.mark.parametrize("preload", [True, False])
def test_an_import_publishes_or_is_told_why_not(serve: Callable[..., Server], own_runtime: Path, preload: bool) -> None:
    """The supervisor, which imports it under --preload, does not ask itself and wait."""
    server = serve("early", *(["--preload"] if preload else []), env={"XDG_RUNTIME_DIR": str(own_runtime)})
    assert ("nothing was published to 'early': nothing serves yet" in server.log) == preload
    assert "did not answer" not in server.log


def test_json_and_standard_input(outside: Server) -> None:
    control = control_of(outside)
    with hold(outside, "in") as stream:
        assert command("in", '{ "a": 1 }', "--json", control=control).returncode == 0
        assert stream.next().data == '{"a":1}'
        sent = subprocess.run(
            [*outside.program, "publish", "in", "-", "--control", control], input=b"a\nb", capture_output=True
        )
        assert sent.returncode == 0, sent.stderr
        assert stream.next().data == "a\nb"


def test_what_the_command_cannot_do_is_a_sentence(outside: Server) -> None:
    for words, control, code in (
        (["a", "x"], "/nowhere", 1),
        (["a", "x" * 100_000], control_of(outside), 0),
        (["a\nb", "x"], control_of(outside), 2),
        (["a"], control_of(outside), 2),
    ):
        done = command(*words, control=control)
        assert done.returncode == code
        assert bool(done.stdout) == (code == 0)
        assert ("Traceback" in done.stderr, bool(done.stderr)) == (False, code != 0)
    assert "usage: m0serve publish" in command("--help").stdout


def test_an_application_may_be_called_publish(serve: Callable[..., Server], own_runtime: Path) -> None:
    (own_runtime / "publish.py").write_text("from bare import application as app\n")
    server = serve(
        "publish:app", "--app-dir", str(own_runtime), env={"XDG_RUNTIME_DIR": str(own_runtime), "PYTHONPATH": str(APPS)}
    )
    assert server.get("/hello").status == 200


# -- where it is


def test_it_is_its_owners_alone(outside: Server, runtime: Path) -> None:
    path = Path(control_of(outside))
    assert path == runtime / "m0serve" / f"127.0.0.1-{outside.port}.sock"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_servers_of_one_user_do_not_share(serve: Callable[..., Server], own_runtime: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(own_runtime)}
    servers = [
        serve("outside", env=env),
        serve("outside", env=env),
        serve("outside", env=env, bind=[f"unix:{own_runtime}/a"]),
    ]
    paths = [control_of(server) for server in servers]
    assert len(set(paths)) == 3
    done = command("a", "x", **env)
    assert done.returncode == 1
    for word in (*paths, "M0_CONTROL"):
        assert word in done.stderr
    for server, path in zip(servers, paths, strict=True):
        with hold(server, "a") as stream:
            assert command("a", path, control=path, **env).returncode == 0
            assert stream.next().data == path


def test_a_live_one_is_not_taken_and_one_that_was_killed_is(serve: Callable[..., Server], own_runtime: Path) -> None:
    path = own_runtime / "s"
    words = ["outside", "--control", str(path)]
    first = serve(*words)
    refusal = run(*words, "--bind", "127.0.0.1:0")
    assert refusal.returncode == 78
    assert len(refusal.stderr.strip().splitlines()) == 1 and str(path) in refusal.stderr
    with hold(first, "a") as stream:
        assert command("a", "still there", control=str(path)).returncode == 0
        assert stream.next().data == "still there"
    first.end_by_force()
    assert path.exists()
    second = serve(*words)
    with hold(second, "a") as stream:
        assert command("a", "here", control=str(path)).returncode == 0
        assert stream.next().data == "here"
    second.stop()
    assert not path.exists()


def test_a_server_that_a_view_starts_has_its_own(serve: Callable[..., Server], own_runtime: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(own_runtime)}
    outer = serve("outside", env=env)
    inner = serve("outside", env={**env, "M0_CONTROL": control_of(outer)})
    assert control_of(inner) != control_of(outer)
    assert command("a", "x", control=control_of(outer)).returncode == 0


def test_a_stop_frees_it_at_once(serve: Callable[..., Server], own_runtime: Path, gate: Gate) -> None:
    """While the old server finishes its requests the new one has the place."""
    path = own_runtime / "s"
    old = serve("outside", "--control", str(path))
    with old.connect() as client:
        client.request("GET", f"/gate?port={gate.port}")
        visitor = gate.arrival()
        old.signal(signal.SIGTERM)
        wait_until(lambda: not path.exists(), "the path is free")
        new = serve("outside", "--control", str(path))
        assert old.process.poll() is None
        with hold(new, "a") as stream:
            assert command("a", "to the new one", control=str(path)).returncode == 0
            assert stream.next().data == "to the new one"
        visitor.release()
        assert client.response().body == b"through"
    assert old.wait() == 0
    assert path.exists(), "the end of the old one takes nothing from the new one"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--control", "/no/such/place"], "does not exist"),
        (["--control", "/tmp"], "is not a socket"),
        (["--control", "x" * 200], "at most 107 bytes"),
        (["--control", "s", "--control-group", "no such group"], "no group"),
        (["--control-group", "users"], "--control PATH"),
    ],
)
def test_what_cannot_work_is_one_sentence_and_exit_78(words: list[str], said: str) -> None:
    done = run("bare", "--bind", "127.0.0.1:0", *words)
    assert done.returncode == 78
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr


def test_where_the_best_place_cannot_be_the_next_one_is_used(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A path that is too long stands for every reason; where there is no place at all it is a unit test's."""
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    server = serve("outside", env={"XDG_RUNTIME_DIR": str(deep)})
    assert list((deep / "m0serve").iterdir()) == []
    assert command("a", "x", control=control_of(server)).returncode == 0


def test_off(serve: Callable[..., Server], own_runtime: Path) -> None:
    server = serve("outside", "--control", "off", env={"XDG_RUNTIME_DIR": str(own_runtime)})
    assert list(own_runtime.iterdir()) == []
    assert control_of(server) == "off"
    for way in ("os-fork", "copied-environment"):
        assert server.get(f"/child?way={way}&channel=a&data=x").body == b"None"
    assert published(server, "inside")


def test_workers_keep_no_copy_of_it(outside: Server) -> None:
    path = control_of(outside)
    with connect(path) as kept:
        kept.sendall(message(b"publish", b"a", b"x", b"", b"text"))
        kept.recv(4096)
        victim = outside.workers()[0]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: len(set(outside.workers()) - {victim}) == 2, "it is replaced")
        table = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
        ours = {f"socket:[{words[6]}]" for words in table if words[7:] == [path]}
        assert ours & set(open_sockets(outside.pid)), "the supervisor's"
        for worker in outside.workers():
            wait_until(lambda pid=worker: not ours & set(open_sockets(pid)), "no worker has one")  # type: ignore[misc]


# -- strangers


def harmless(server: Server, path: str) -> None:
    """It publishes, from inside and from outside."""
    with hold(server, "h") as stream:
        assert published(server, "elsewhere")
        assert command("h", "x", control=path).returncode == 0
        assert stream.next().data == "x"


def test_who_is_malformed_is_answered_and_cut(outside: Server) -> None:
    path = control_of(outside)
    for said in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\0",
        b"\0\0\0\x04\xff\xff\xff\xff",
        b"\xff\xff\xff\xff" + b"x" * 200_000,
        message(*[b"x"] * 100),
    ):
        with connect(path) as connection:
            try:
                connection.sendall(said)
            except (BrokenPipeError, ConnectionResetError):
                pass
            assert all_of(connection).count(b"error") == 1
    with connect(path) as connection:
        connection.sendall(message(b"no such verb") + message(b"publish", b"a"))
        connection.shutdown(socket.SHUT_WR)
        assert all_of(connection).count(b"error") == 2
    harmless(outside, path)


def test_who_is_slow_or_never_reads_harms_nothing(serve: Callable[..., Server], own_runtime: Path) -> None:
    server = serve("outside", env={"XDG_RUNTIME_DIR": str(own_runtime)})
    path = control_of(server)
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connect(path)).sendall(b"\0\0")
        # Asks without end and reads nothing.
        deaf = stack.enter_context(connect(path))
        deaf.settimeout(0.2)
        with pytest.raises(TimeoutError):
            for _ in range(1000):
                deaf.sendall(message(b"no such verb") * 1000)
        harmless(server, path)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 10, "it waits for none of them"


def test_half_a_request_is_cut_off(outside: Server) -> None:
    with connect(control_of(outside)) as connection:
        connection.sendall(b"\0\0")
        assert all_of(connection) == b""


def test_clients_that_come_and_go_leave_nothing(outside: Server) -> None:
    path = control_of(outside)
    before = len(os.listdir(f"/proc/{outside.pid}/fd"))
    for number in range(300):
        with connect(path) as connection:
            connection.sendall(message(b"publish", b"a", b"x", b"", b"text")[: number % 50])
    harmless(outside, path)
    wait_until(lambda: len(os.listdir(f"/proc/{outside.pid}/fd")) <= before, "no descriptor is left")


# -- a log that is held


def test_a_stopped_publisher_stops_no_supervisor(serve: Callable[..., Server], own_runtime: Path) -> None:
    server = serve("outside", "--workers", "2", env={"XDG_RUNTIME_DIR": str(own_runtime)})
    path = control_of(server)
    with ExitStack() as stack:
        clients = connections_to_each(server, stack)
        victim, other = clients
        clients[victim].request("GET", f"/signal-at?step=copied&signal={signal.SIGSTOP.value}&channel=a")
        wait_until(lambda: stopped(victim), "it stops inside its append")
        with ExitStack() as asking:
            started = time.monotonic()
            peers = [asking.enter_context(connect(path)) for _ in range(5)]
            for peer in peers:
                peer.sendall(message(b"publish", b"a", b"lost", b"", b"text"))
            for peer in peers:
                assert b"error" in peer.recv(4096)
            assert 0.9 < time.monotonic() - started < 10, "after a second, all at once"
        assert command("a", "lost", control=path).returncode == 1
        # Meanwhile it reaps and replaces.
        os.kill(other, signal.SIGKILL)
        wait_until(lambda: set(server.workers()) - {victim, other}, "a worker that died is replaced")
        with connect(path) as peer:
            peer.sendall(message(b"publish", b"a", b"patient", b"", b"text"))
            os.kill(victim, signal.SIGKILL)
            assert b"ok" in peer.recv(4096), "what waits is published once the log is free"
        wait_until(lambda: not alive(victim), "it is gone")
        wait_until(lambda: published(server, "afterwards"), "and so is the hold")
        with hold(server, "a", **{"M0-Replay": "9"}) as stream:
            assert [stream.next().data for _ in range(2)] == ["patient", "afterwards"]


def stop_inside(server: Server, stack: ExitStack) -> int:
    """A worker that is stopped inside its append."""
    pid, client = next(iter(connections_to_each(server, stack).items()))
    client.request("GET", f"/signal-at?step=copied&signal={signal.SIGSTOP.value}&channel=b")
    wait_until(lambda: stopped(pid), "it stops")
    return pid


def test_a_supervisor_whose_log_is_held_stops_in_its_time(serve: Callable[..., Server], own_runtime: Path) -> None:
    server = serve("outside", "--workers", "2", "--graceful-timeout", "0", env={"XDG_RUNTIME_DIR": str(own_runtime)})
    with ExitStack() as stack:
        stop_inside(server, stack)
        waiting = stack.enter_context(connect(control_of(server)))
        waiting.sendall(message(b"publish", b"a", b"x", b"", b"text"))
        # The stopped worker is killed when its time is over, five seconds later.
        server.stop(within=15)
