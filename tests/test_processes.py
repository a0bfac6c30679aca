"""One supervisor, its workers, what happens when one dies, and how connections are shared out."""

from __future__ import annotations

import collections
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.client import Client
from harness.gate import Gate
from harness.processes import alive, children, descendants
from harness.server import APPS, Server, run
from harness.waiting import wait_until


def test_two_workers_serve(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--workers", "2")
    wait_until(lambda: len(server.workers()) == 2, "two workers")
    workers = set(server.workers())

    def all_answered() -> bool:
        clients = [server.connect() for _ in range(16)]
        answers = [client.get("/pid").json() for client in clients]
        for client in clients:
            client.close()
        assert {answer["pid"] for answer in answers} <= workers
        assert all(answer["multiprocess"] is True for answer in answers)
        return {answer["pid"] for answer in answers} == workers

    wait_until(all_answered, "both answer")
    assert set(descendants(server.pid)) == workers


@pytest.mark.parametrize("mode", [[], ["--no-fork"]], ids=["supervised", "no-fork"])
def test_one_worker_is_not_multiprocess(serve: Callable[..., Server], mode: list[str]) -> None:
    assert serve("bare", *mode).get("/pid").json()["multiprocess"] is False


def test_no_fork(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--no-fork")
    assert server.get("/pid").json()["pid"] == server.pid
    assert children(server.pid) == []
    assert server.post("/echo", b"x" * 100_000).body == b"x" * 100_000


def test_no_fork_with_workers_is_refused() -> None:
    ended = run("bare", "--no-fork", "--workers", "2", "--bind", "127.0.0.1:0")
    assert ended.returncode in (2, 78)


def test_a_killed_worker_is_replaced(serve: Callable[..., Server]) -> None:
    """Its clients are closed at once, a new one serves, and the log says so."""
    server = serve("bare")
    (first,) = server.workers()
    with server.connect() as client:
        assert client.get("/pid").json()["pid"] == first
        os.kill(first, signal.SIGKILL)
        assert client.ended()
    second = server.get("/pid").json()["pid"]
    assert second != first
    assert server.workers() == [second]
    server.wait_log(str(first))
    assert re.search(r"SIGKILL|signal 9", server.log)


def test_a_killed_worker_of_two(serve: Callable[..., Server]) -> None:
    """The other one's clients notice nothing."""
    server = serve("bare", "--workers", "2")
    wait_until(lambda: len(server.workers()) == 2, "two workers")
    clients: dict[int, list[Client]] = collections.defaultdict(list)
    for _ in range(40):
        client = server.connect()
        clients[client.get("/pid").json()["pid"]].append(client)
    assert len(clients) == 2
    victim, survivor = clients
    os.kill(victim, signal.SIGKILL)
    for client in clients[victim]:
        assert client.ended()
    for client in clients[survivor]:
        assert client.get("/pid").json()["pid"] == survivor
    wait_until(lambda: len(server.workers()) == 2, "a new one")
    replacement = (set(server.workers()) - {survivor}).pop()

    def answers() -> bool:
        fresh = [server.connect() for _ in range(8)]
        pids = {client.get("/pid").json()["pid"] for client in fresh}
        for client in fresh:
            client.close()
        return replacement in pids

    wait_until(answers, "the new worker answers")


def test_a_view_that_crashes_the_process(serve: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "crash.py").write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(APPS)!r})\n"
        "import bare\n"
        "def application(environ, start_response):\n"
        "    if environ['PATH_INFO'] == '/exit': os._exit(3)\n"
        "    if environ['PATH_INFO'] == '/abort': os.abort()\n"
        "    return bare.application(environ, start_response)\n"
    )
    server = serve("crash", cwd=tmp_path)
    for how in ("/exit", "/abort", "/exit"):
        with server.connect() as client:
            client.request("GET", how)
            assert client.ended()
        assert server.get("/hello").status == 200


def test_a_worker_that_cannot_start_ends_the_server(tmp_path: Path) -> None:
    """What fails only in the second worker, or only after the import, counts against a budget: exit 1, no loop."""
    (tmp_path / "dies.py").write_text("import os\nos._exit(9)\n")
    ended = run("dies", "--workers", "2", "--bind", "127.0.0.1:0", cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert len(ended.stderr.splitlines()) < 60


def test_a_worker_that_can_no_longer_start_ends_the_server(serve: Callable[..., Server], tmp_path: Path) -> None:
    """It served, it crashed, and what is there now cannot be imported."""
    source = tmp_path / "changing.py"
    source.write_text((APPS / "discovered" / "only_app.py").read_text())
    server = serve("changing", cwd=tmp_path)
    assert server.get("/").body == b"app\n"
    source.write_text("raise RuntimeError('no longer')\n")
    (worker,) = server.workers()
    os.kill(worker, signal.SIGKILL)
    assert server.wait() == 1
    assert "no longer" in server.log


def test_a_worker_that_cannot_start_leaves_the_others_alone(
    serve: Callable[..., Server], gate: Gate, tmp_path: Path
) -> None:
    """The tries go on while one serves; the reason may pass."""
    source = tmp_path / "changing.py"
    good = f"import sys\nsys.path.insert(0, {str(APPS)!r})\nfrom bare import application\n"
    source.write_text(good)
    server = serve("changing", "--workers", "2", cwd=tmp_path)
    with server.connect() as client:
        client.request("GET", gate.target())
        serving = gate.arrival().facts["pid"]
        (victim,) = [pid for pid in server.workers() if pid != serving]
        source.write_text("raise RuntimeError('the database is away')\n")
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: server.log.count("the database is away") >= 3, "it is tried again")
        assert "another try follows in 4 s" in server.log or server.wait_log("another try follows in 4 s")
        gate.release_all()
        assert client.response().body == b"through\n"
    source.write_text(good)
    wait_until(lambda: len(server.workers()) == 2, "the second is back")
    assert server.get("/hello").status == 200


def test_a_worker_that_is_refused_leaves_the_others_alone(serve: Callable[..., Server], tmp_path: Path) -> None:
    """A configuration that was spoilt after the start ends nobody who serves."""
    source = tmp_path / "changing.py"
    good = f"import os, sys\nsys.path.insert(0, {str(APPS)!r})\nfrom bare import application\n"
    source.write_text(good)
    (tmp_path / "other.py").write_text(good + "os.environ['DJANGO_SETTINGS_MODULE'] = 'other.settings'\n")
    server = serve("changing", "--mount", "/other=other", "--workers", "2", cwd=tmp_path)
    source.write_text(good + "os.environ['DJANGO_SETTINGS_MODULE'] = 'changing.settings'\n")
    before = server.workers()
    os.kill(before[0], signal.SIGKILL)
    server.wait_log("changing.settings")
    server.wait_log("another try follows")
    assert server.workers()[0] == before[1] and server.get("/hello").status == 200


@pytest.mark.parametrize("workers", [2, 4])
def test_connections_are_balanced(serve: Callable[..., Server], workers: int) -> None:
    """64 kept connections: the busiest has at most 1.5 times what the least has."""
    server = serve("bare", "--workers", str(workers))
    wait_until(lambda: len(server.workers()) == workers, "all workers")
    # A worker may still be importing when the first one is ready.
    wait_until(lambda: _pids(server, 8 * workers) == set(server.workers()), "all workers answer")
    clients = [server.connect() for _ in range(64)]
    counts = collections.Counter(client.get("/pid").json()["pid"] for client in clients)
    assert len(counts) == workers
    assert max(counts.values()) <= 1.5 * min(counts.values()), counts
    for client in clients:
        client.close()


def _pids(server: Server, count: int) -> set[int]:
    clients = [server.connect() for _ in range(count)]
    pids = {client.get("/pid").json()["pid"] for client in clients}
    for client in clients:
        client.close()
    return pids


def test_balance_under_slow_views(serve: Callable[..., Server], gate: Gate) -> None:
    """Workers whose threads are all taken still get no more than their share of connections."""
    server = serve("bare", "--workers", "2")
    wait_until(lambda: _pids(server, 16) == set(server.workers()), "both workers answer")
    clients = [server.connect() for _ in range(32)]
    for client in clients:
        client.request("GET", gate.target())
    counts = collections.Counter(visitor.facts["pid"] for visitor in gate.arrivals(32))
    gate.release_all()
    for client in clients:
        assert client.response().status == 200
    assert max(counts.values()) <= 1.5 * min(counts.values()), counts


def test_preload_imports_once(serve: Callable[..., Server], tmp_path: Path) -> None:
    where = tmp_path / "said"
    server = serve("lifecycle", "--preload", "--workers", "2", env={"M0TEST_FILE": str(where)})
    assert where.read_text().split() == ["import", str(server.pid)]
    wait_until(lambda: _pids(server, 16) == set(server.workers()), "both workers answer")
    assert server.get("/pid").json()["multiprocess"] is True
    (before,) = [line for line in where.read_text().splitlines() if line.startswith("import")]
    os.kill(server.workers()[0], signal.SIGKILL)
    wait_until(lambda: len(server.workers()) == 2 and len(_pids(server, 16)) == 2, "a new worker")
    assert [line for line in where.read_text().splitlines() if line.startswith("import")] == [before]


def test_without_preload_each_worker_imports(serve: Callable[..., Server], tmp_path: Path) -> None:
    where = tmp_path / "said"
    server = serve("lifecycle", "--workers", "2", env={"M0TEST_FILE": str(where)})
    wait_until(lambda: len(server.workers()) == 2, "two workers")
    wait_until(lambda: where.read_text().count("import") == 2, "both have imported")
    assert {int(line.split()[1]) for line in where.read_text().splitlines()} == set(server.workers())


def test_preload_threads_work_in_workers(serve: Callable[..., Server]) -> None:
    """Python's own fork hooks ran: locks are usable, the main thread is the main thread."""
    server = serve("bare", "--preload")
    seen = server.get("/threads").json()
    assert seen["imported_on_main"] is True
    assert not any(name.startswith("Dummy") for name in seen["names"])
    assert server.post("/digest", b"x" * 200_000).json()["length"] == 200_000


def test_workers_end_with_their_supervisor(serve: Callable[..., Server]) -> None:
    """A supervisor that is killed leaves no orphans that hold the port."""
    server = serve("bare", "--workers", "2")
    wait_until(lambda: len(server.workers()) == 2, "two workers")
    workers = server.workers()
    server.signal(signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    wait_until(lambda: not any(alive(pid) for pid in workers), "workers end too")
