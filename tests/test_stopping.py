"""Stopping loses nothing, and ends within its bound."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.client import Client, Truncated, compose
from harness.gate import Gate
from harness.processes import alive, descendants
from harness.server import Server, refused
from harness.waiting import never, wait_until

MODES = [[], ["--no-fork"], ["--workers", "2"]]
modes = pytest.mark.parametrize("mode", MODES, ids=["one worker", "no fork", "two workers"])


@modes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_clean_stop(serve: Callable[..., Server], mode: list[str], number: int) -> None:
    server = serve("bare", *mode)
    assert server.get("/hello").status == 200
    below = descendants(server.pid)
    server.signal(number)
    assert server.wait() == 0
    wait_until(lambda: not any(alive(pid) for pid in below), "nothing stays")
    assert "Traceback" not in server.log


@modes
def test_what_runs_finishes(serve: Callable[..., Server], gate: Gate, mode: list[str]) -> None:
    """With Connection: close; meanwhile the port is closed."""
    server = serve("bare", *mode)
    with server.connect() as client:
        client.request("GET", gate.target())
        visitor = gate.arrival()
        server.signal(signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the listener closes first")
        never(client.has_bytes, "cut off")
        visitor.release()
        answer = client.response()
        assert (answer.status, answer.body) == (200, b"through\n")
        assert answer.closes
        assert client.ended_cleanly()
    assert server.wait() == 0


def test_what_is_queued_finishes(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare", "--blocking-threads", "1")
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        client.request("GET", gate.target())
    visitor = gate.arrival()
    server.signal(signal.SIGTERM)
    wait_until(lambda: refused(server.port), "the listener closes")
    visitor.release()
    for _ in range(4):
        gate.arrival().release()
    for client in clients:
        assert client.response().body == b"through\n"
    assert server.wait() == 0


def test_idle_connections_are_closed_at_once(serve: Callable[..., Server], gate: Gate) -> None:
    """Although something else still runs."""
    server = serve("bare")
    silent, kept, busy = server.connect(), server.connect(), server.connect()
    assert kept.get("/hello").status == 200
    busy.request("GET", gate.target())
    visitor = gate.arrival()
    server.signal(signal.SIGTERM)
    assert kept.ended_cleanly()
    assert silent.ended_cleanly()
    assert server.process.poll() is None
    visitor.release()
    assert busy.response().status == 200
    assert server.wait() == 0


def test_an_upload_in_flight_is_read_to_its_end(serve: Callable[..., Server]) -> None:
    server = serve("bare")
    with server.connect() as client:
        client.request("POST", "/digest", [("Content-Length", "1000000")])
        client.send(b"x" * 500_000)
        server.signal(signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the listener closes")
        client.send(b"x" * 500_000)
        answer = client.response()
        assert answer.json()["length"] == 1_000_000
        assert answer.closes
    assert server.wait() == 0


def test_a_download_in_flight_is_sent_to_its_end(serve: Callable[..., Server], tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (32 << 20))
    server = serve("bare")
    targets = [f"/file?path={path}", "/big?size=33554432", "/stream?count=3000&size=10000"]
    clients = [server.connect(receive_buffer=16384) for _ in targets]
    heads = []
    for client, target in zip(clients, targets):
        client.request("GET", target)
        heads.append(client.head())
    server.signal(signal.SIGTERM)
    wait_until(lambda: refused(server.port), "the listener closes")
    for client, head, size in zip(clients, heads, (32 << 20, 32 << 20, 30_000_000)):
        client.body_of(head)
        assert len(head.body) == size
    assert server.wait() == 0


def test_pipelined_behind_a_stop(serve: Callable[..., Server], gate: Gate) -> None:
    """The answer that says close is the last: what was not begun is the client's to repeat."""
    server = serve("bare")
    with server.connect() as client:
        client.send(compose("GET", gate.target()) + compose("GET", "/hello") * 3)
        visitor = gate.arrival()
        server.signal(signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the listener closes")
        visitor.release()
        answers = [client.response()]
        while not answers[-1].closes:
            answers.append(client.response())
        assert answers[0].body == b"through\n"
        assert client.ended_cleanly()
    assert server.wait() == 0


def test_clients_in_the_backlog_are_not_left_hanging(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare", "--max-connections", "1")
    first = server.connect()
    first.request("GET", gate.target())
    visitor = gate.arrival()
    waiting = server.connect()
    waiting.request("GET", "/hello")
    server.signal(signal.SIGTERM)
    visitor.release()
    assert first.response().status == 200
    assert server.wait() == 0
    assert waiting.ended()


@modes
def test_the_graceful_timeout(serve: Callable[..., Server], gate: Gate, mode: list[str]) -> None:
    """A view that never ends is named in the log and ended; that is a clean stop."""
    server = serve("bare", "--graceful-timeout", "300ms", *mode)
    below = descendants(server.pid)
    with server.connect() as client:
        client.request("GET", gate.target("stuck-view"))
        gate.arrival()
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
        assert client.ended()
    assert "/gate" in server.log
    wait_until(lambda: not any(alive(pid) for pid in below), "nothing stays")


@modes
def test_a_second_signal_ends_at_once(serve: Callable[..., Server], gate: Gate, mode: list[str]) -> None:
    """And names what it ended; exit 0."""
    server = serve("bare", *mode)
    with server.connect() as client:
        client.request("GET", gate.target("stuck-view"))
        gate.arrival()
        server.signal(signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the stop has begun")
        never(lambda: server.process.poll() is not None, "it waits for the view")
        server.signal(signal.SIGTERM)
        assert server.wait(10) == 0
        assert client.ended()
    assert "/gate" in server.log


def test_a_view_that_spins_is_ended_too(serve: Callable[..., Server]) -> None:
    """It holds the interpreter most of the time."""
    server = serve("bare", "--graceful-timeout", "300ms")
    with server.connect() as client:
        client.request("GET", "/spin?ms=60000")
        wait_until(lambda: _cpu(server) > 0.1, "it spins")
        server.signal(signal.SIGTERM)
        assert server.wait() == 0


def _cpu(server: Server) -> float:
    (worker,) = server.workers()
    words = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_a_stop_while_clients_hammer(serve: Callable[..., Server]) -> None:
    """Every answer that begins is whole."""
    import threading

    server = serve("bare", "--workers", "2")
    broken: list[str] = []
    answered = [0]

    def hammer() -> None:
        while True:
            try:
                client = Client(server.address)
            except OSError:
                return
            with client:
                try:
                    while True:
                        answer = client.get("/hello")
                        answered[0] += 1
                        if answer.closes:
                            break
                except Truncated as error:
                    if "before an answer" not in str(error):
                        broken.append(str(error))
                except OSError:
                    pass

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: answered[0] > 500, "they hammer")
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    for thread in threads:
        thread.join()
    assert broken == []


def test_a_stop_before_ready(serve: Callable[..., Server], tmp_path: Path) -> None:
    """While the application is still being imported."""
    (tmp_path / "slow.py").write_text(
        "import os, time\n" "open(os.environ['M0TEST_FILE'], 'w').close()\n" "time.sleep(60)\n" "application = None\n"
    )
    where = tmp_path / "importing"
    server = serve("slow", cwd=tmp_path, env={"M0TEST_FILE": str(where)}, wait=False)
    wait_until(where.exists, "the import has begun")
    below = descendants(server.pid)
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    wait_until(lambda: not any(alive(pid) for pid in below), "nothing stays")


# -- the end of the interpreter


@modes
def test_atexit_functions_run(serve: Callable[..., Server], tmp_path: Path, mode: list[str]) -> None:
    where = tmp_path / "said"
    server = serve("lifecycle", *mode, env={"M0TEST_FILE": str(where)})
    count = 2 if "2" in mode else 1
    wait_until(lambda: where.read_text().count("import") == count, "all have imported")
    if count == 2:
        wait_until(lambda: len(server.workers()) == 2, "two workers")
    workers = set(server.workers()) or {server.pid}
    server.stop()
    ended = {int(line.split()[1]) for line in where.read_text().splitlines() if line.startswith("atexit")}
    assert ended == workers


def test_atexit_functions_registered_by_a_view_run(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("bare")
    (worker,) = server.workers()
    server.get(f"/atexit?path={tmp_path}/left")
    server.stop()
    assert (tmp_path / "left").read_text() == f"{worker}\n"


def test_non_daemon_threads_are_joined(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("bare")
    server.get(f"/late-thread?ms=500&path={tmp_path}/late")
    server.stop()
    assert (tmp_path / "late").read_text() == "finished"


def test_a_thread_that_never_ends_does_not_keep_the_server(serve: Callable[..., Server], tmp_path: Path) -> None:
    env = {"M0TEST_FILE": str(tmp_path / "said"), "M0TEST_THREAD": "never"}
    server = serve("lifecycle", "--graceful-timeout", "500ms", env=env)
    assert server.get("/hello").status == 200
    server.signal(signal.SIGTERM)
    assert server.wait() == 0


def test_the_applications_own_signal_handlers(serve: Callable[..., Server], tmp_path: Path) -> None:
    """signal.signal() at import works for signals that are not ours: the handler runs on the main thread."""
    (tmp_path / "handles.py").write_text(
        "import os, signal, sys, threading\n"
        "def handler(number, frame):\n"
        "    with open(os.environ['M0TEST_FILE'], 'a') as file:\n"
        "        print(number, threading.current_thread() is threading.main_thread(), file=file)\n"
        "signal.signal(signal.SIGUSR2, handler)\n"
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [])\n"
        "    return [b'ok']\n"
    )
    where = tmp_path / "handled"
    server = serve("handles", cwd=tmp_path, env={"M0TEST_FILE": str(where)})
    (worker,) = server.workers()
    os.kill(worker, signal.SIGUSR2)
    wait_until(lambda: where.exists() and where.read_text(), "the handler ran")
    assert where.read_text() == f"{int(signal.SIGUSR2)} True\n"
    assert server.get("/").body == b"ok"


@modes
def test_one_stop_for_the_whole_process_group(serve: Callable[..., Server], gate: Gate, mode: list[str]) -> None:
    """As `timeout`, supervisord and container runtimes send it: each process gets one, some get two."""
    server = serve("bare", *mode)
    with server.connect() as client:
        client.request("GET", gate.target())
        visitor = gate.arrival()
        server.signal(signal.SIGTERM)
        os.killpg(server.pid, signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the stop has begun")
        never(client.has_bytes, "cut by a signal that was meant for all")
        visitor.release()
        assert client.response().body == b"through\n"
    assert server.wait() == 0
    assert "at once" not in server.log


def test_a_worker_that_dies_while_it_stops_is_told(serve: Callable[..., Server], gate: Gate) -> None:
    server = serve("bare")
    with server.connect() as client:
        client.request("GET", gate.target())
        gate.arrival()
        (worker,) = server.workers()
        server.signal(signal.SIGTERM)
        wait_until(lambda: refused(server.port), "the stop has begun")
        os.kill(worker, signal.SIGKILL)
        assert client.ended()
    assert server.wait() == 0
    assert f"(pid {worker}) was ended by signal 9" in server.log


@pytest.mark.parametrize("mode", [[], ["--workers", "2"]], ids=["one worker", "two workers"])
def test_a_hangup_of_the_terminal_cuts_nobody(serve: Callable[..., Server], gate: Gate, mode: list[str]) -> None:
    server = serve("bare", *mode)
    below = server.workers()
    with server.connect() as client:
        client.request("GET", gate.target())
        visitor = gate.arrival()
        os.killpg(server.pid, signal.SIGHUP)
        server.wait_log("SIGHUP")
        never(client.has_bytes, "cut")
        visitor.release()
        assert client.response().body == b"through\n"
    assert server.workers() == below


def test_a_hangup_leaves_no_orphans(serve: Callable[..., Server]) -> None:
    """A terminal that is closed may end the server, then as a whole."""
    server = serve("bare")
    below = descendants(server.pid)
    server.signal(signal.SIGHUP)

    def decided() -> bool:
        return server.process.poll() is not None or server.get("/hello").status == 200

    try:
        wait_until(decided, "it ends or serves")
    except OSError:
        pass  # the answer was cut by the end
    if server.process.poll() is not None:
        server.wait()
        wait_until(lambda: not any(alive(pid) for pid in below), "nothing stays")
