"""Programs written in C++: the same server behind the other door."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.client import Client, Truncated
from harness.event_stream import EventStream
from harness.gate import Gate
from harness.processes import alive, descendants
from harness.server import Server, native, refused, run, serving
from harness.waiting import never, wait_until
from harness.web_socket import WebSocket


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The native program at its defaults, shared by a module's tests."""
    with serving(tmp_path_factory.mktemp("native"), program=native()) as server:
        yield server


@pytest.fixture
def start(serve: Callable[..., Server]) -> Callable[..., Server]:
    return lambda *words, **options: serve(*words, program=native(), **options)


def problem(body: bytes) -> dict[str, object]:
    found = json.loads(body)
    assert isinstance(found, dict)
    return found


# -- what it answers


@pytest.mark.parametrize("path", ["/hello", "/loop", "/lane/hello"])
def test_both_kinds_of_handlers_answer(program: Server, path: str) -> None:
    with program.connect() as client:
        for _ in range(3):
            answer = client.get(path)
            assert (answer.status, answer.framing) == (200, "length")
            assert answer.body in (b"hello\n", b"loop\n")
            head = client.get(path, method="HEAD")
            assert (head.status, head.body, head.header("Content-Length")) == (200, b"", str(len(answer.body)))


def test_it_links_no_interpreter(program: Server) -> None:
    linked = subprocess.run(["ldd", native()[0]], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in linked and "python" not in linked
    for pid in [program.pid, *program.workers()]:
        assert "python" not in Path(f"/proc/{pid}/maps").read_text()


def test_the_ready_line_names_the_door(program: Server) -> None:
    assert "(native, 1 worker" in program.log


def test_the_mount_is_taken_off_the_path(program: Server) -> None:
    assert program.get("/where/a").body.startswith(b" /where/a ")
    assert program.get("/lane/where/a%2Fb").body.startswith(b"/lane /where/a%2Fb ")
    assert program.get("/l%61ne/where/a").body.startswith(b"/l%61ne /where/a ")
    assert program.get("/lanes/where/a").status == 404


def test_the_router_names_parts(program: Server) -> None:
    assert program.get("/items/a%2Fb%20c").body == b"a/b c"
    assert program.get("/items/x", method="DELETE").body == b"x"


def test_an_unknown_path_is_a_404_problem(program: Server) -> None:
    for path in ("/", "/nowhere", "/items", "/items/"):
        answer = program.get(path)
        assert (answer.status, answer.header("Content-Type")) == (404, "application/problem+json")
        assert problem(answer.body) == {"status": 404, "title": "Not Found"}


def test_another_method_is_a_405_with_allow(program: Server) -> None:
    answer = program.get("/items/7", method="PATCH")
    assert answer.status == 405
    assert answer.all("Allow") == ["DELETE, GET, HEAD, OPTIONS"]
    options = program.get("/items/7", method="OPTIONS")
    assert (options.status, options.all("Allow")) == (204, ["DELETE, GET, HEAD, OPTIONS"])


@pytest.mark.parametrize("path", ["/fail", "/fail?what=int", "/loop/fail", "/file"])
def test_what_a_handler_throws_is_a_500_and_the_server_lives(program: Server, path: str) -> None:
    with program.connect() as client:
        answer = client.get(path)
        assert (answer.status, answer.header("Content-Type")) == (500, "application/problem+json")
        assert problem(answer.body) == {"status": 500, "title": "Internal Server Error"}
        assert client.get("/hello").status == 200
    program.wait_log("the handler failed")


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000])
def test_bodies(program: Server, size: int) -> None:
    body = os.urandom(size)
    assert program.post("/echo", body).body == body


def test_files(program: Server, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"<p>" * 500_000)
    answer = program.get(f"/file?path={path}")
    assert (answer.status, answer.header("Content-Type")) == (200, "text/html; charset=utf-8")
    assert answer.body == path.read_bytes()
    assert program.get(f"/file?path={tmp_path}").status == 404
    assert program.get(f"/file?path={tmp_path}/missing").status == 404


# -- streams


def test_the_loop_streams(program: Server) -> None:
    with program.connect() as client:
        for _ in range(2):
            answer = client.get("/loop/stream?pieces=50&size=5000")
            assert (answer.status, answer.framing, len(answer.body)) == (200, "chunked", 250_000)
            assert answer.chunks == [5000] * 50


def test_a_stream_from_a_pool_thread_is_a_409(program: Server) -> None:
    with program.connect() as client:
        answer = client.get("/stream")
        assert (answer.status, answer.header("Content-Type")) == (409, "application/problem+json")
        assert "LoopHandler" in str(problem(answer.body)["detail"])
        assert client.get("/stream", method="HEAD").status == 409
        assert client.get("/hello").status == 200
    program.wait_log("it became a 409")


def test_a_producer_that_fails_ends_no_answer_properly(program: Server) -> None:
    with program.connect() as client:
        with pytest.raises(Truncated):
            client.get("/loop/stream?pieces=9&fail=5")
    assert program.get("/hello").status == 200


def test_a_stream_waits_for_its_reader_and_others_do_not(program: Server) -> None:
    with program.connect(receive_buffer=4096) as slow:
        slow.request("GET", "/loop/stream?pieces=1000&size=100000")
        for _ in range(20):
            assert program.get("/loop").status == 200
        head = slow.head()
        slow.body_of(head)
        assert len(head.body) == 100_000_000


# -- the pool


def test_two_threads_answer_at_once(program: Server, gate: Gate) -> None:
    """Each from its own handler; which thread it was is said over the wire."""
    clients = [program.connect() for _ in range(2)]
    for client in clients:
        client.request("GET", gate.target())
    visitors = gate.arrivals(2)
    assert len({str(visitor.facts["thread"]) for visitor in visitors}) == 2
    gate.release_all()
    threads = {client.response().header("X-Thread") for client in clients}
    assert threads == {str(visitor.facts["thread"]) for visitor in visitors}
    assert all(thread and re.fullmatch(r"default#\d+", thread) for thread in threads)


def test_blocked_handlers_strand_nobody(start: Callable[..., Server], gate: Gate) -> None:
    server = start("--blocking-threads", "4")
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        client.request("GET", gate.target())
    gate.arrivals(3)
    with server.connect() as other:
        for _ in range(100):
            assert other.get("/hello").status == 200
    gate.release_all()
    assert [client.response().status for client in clients] == [200] * 3


def test_more_blockers_than_threads_saturate_the_pool_and_not_the_loop(
    start: Callable[..., Server], gate: Gate
) -> None:
    server = start("--blocking-threads", "2")
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        client.request("GET", gate.target())
    gate.arrivals(2)
    assert gate.arrival_or_none() is None, "exactly two run"
    assert server.get("/loop").status == 200
    with server.connect() as waiting:
        waiting.request("GET", "/hello")
        never(waiting.has_bytes, "no thread is free for it")
        for _ in range(5):
            gate.inside.pop(0).release()
            if len(gate.inside) < 2:
                gate.arrival_or_none()
        assert waiting.response().status == 200
    assert [client.response().status for client in clients] == [200] * 5


def test_a_growing_pool_gives_every_blocker_a_thread(start: Callable[..., Server], gate: Gate) -> None:
    server = start("--blocking-threads", "1", "--max-blocking-threads", "6")
    clients = [server.connect() for _ in range(6)]
    for client in clients:
        client.request("GET", gate.target())
    assert len({str(visitor.facts["thread"]) for visitor in gate.arrivals(6)}) == 6
    gate.release_all()
    assert [client.response().status for client in clients] == [200] * 6


def test_a_lane_of_its_own(program: Server, gate: Gate) -> None:
    """One thread and one place in its queue: the third is refused, and nobody else notices."""
    first, second = program.connect(), program.connect()
    first.request("GET", "/lane" + gate.target())
    assert str(gate.arrival().facts["thread"]) == "/lane#0"
    second.request("GET", "/lane" + gate.target())

    def refused_now() -> bool:
        with program.connect() as third:
            third.request("GET", "/lane/hello")
            third.socket.settimeout(0.3)
            try:
                answer = third.response()
            except TimeoutError:
                return False  # it came before the second, and waits in its place
            assert (answer.status, answer.header("Retry-After")) == (503, "1")
            return True

    wait_until(refused_now, "the lane is full")
    for path in ("/hello", "/loop"):
        assert program.get(path).status == 200
    program.wait_log("lane /lane is full: 1 requests wait for its 1 threads")
    gate.release_all()
    assert first.response().status == 200
    gate.arrival().release()
    assert second.response().status == 200


# -- starting and stopping


def test_the_flags_are_those_of_the_python_program() -> None:
    told = run("--help", program=native())
    assert told.returncode == 0
    assert "--blocking-threads" in told.stdout and "--workers" in told.stdout
    assert "--factory" not in told.stdout
    wrong = run("--wrkers", "2", program=native())
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "native_program: unknown option --wrkers: did you mean --workers?\n",
    )


@pytest.mark.parametrize("mode", [[], ["--workers", "2"], ["--no-fork"]], ids=["one worker", "two workers", "no fork"])
@pytest.mark.parametrize(
    "variable, sentence",
    [
        ("M0TEST_FAIL_MAKE", "the test's handler cannot be made"),
        ("M0TEST_FAIL_LOOP", "the test's loop handler cannot be made"),
    ],
)
def test_a_handler_that_cannot_be_made_ends_the_start(mode: list[str], variable: str, sentence: str) -> None:
    ended = run(*mode, "--bind", "127.0.0.1:0", env={variable: "1"}, program=native())
    assert ended.returncode == 1
    lines = ended.stderr.splitlines()
    assert sentence in lines[0]
    assert all(sentence in line for line in lines), ended.stderr


def test_each_handler_is_shut_down_on_a_clean_stop(start: Callable[..., Server]) -> None:
    server = start("--blocking-threads", "3", env={"M0TEST_TELL_SHUTDOWN": "1"})
    server.stop()
    told = sorted(line for line in server.out.splitlines() if line.startswith("shutdown of "))
    assert told == [f"shutdown of {name}" for name in ("/lane#0", "default#0", "default#1", "default#2")]


def test_a_clean_stop_under_load_answers_what_it_accepted(start: Callable[..., Server], gate: Gate) -> None:
    server = start("--blocking-threads", "4")
    below = descendants(server.pid)
    clients = [server.connect() for _ in range(12)]
    for client in clients:
        client.request("GET", gate.target())
    gate.arrivals(4)
    # The four that wait in the pool's queue are accepted too.
    with server.connect() as probe:
        assert probe.get("/loop").status == 200
    server.signal(signal.SIGTERM)
    wait_until(lambda: refused(server.port), "the listener closes first")
    for _ in range(12):
        if not gate.inside:
            gate.arrival()
        gate.inside.pop(0).release()
    answers = [client.response() for client in clients]
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"through\n")] * 12
    assert server.wait() == 0
    wait_until(lambda: not any(alive(pid) for pid in below), "no process and no thread stays")


def test_a_stop_while_saturated_ends_within_its_bound(start: Callable[..., Server], gate: Gate) -> None:
    server = start("--blocking-threads", "2", "--graceful-timeout", "300ms")
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        client.request("GET", gate.target())
    gate.arrivals(2)
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    assert "ended GET /gate" in server.log
    for client in clients:
        assert client.ended()


def test_workers(start: Callable[..., Server]) -> None:
    server = start("--workers", "2")
    seen: dict[str, Client] = {}

    def both() -> bool:
        client = server.connect()
        seen.setdefault(client.get("/where/").body.split()[-1].decode(), client)
        return len(seen) == 2

    wait_until(both, "both workers answer")
    assert {int(pid) for pid in seen} == set(server.workers())
    victim, other = seen
    os.kill(int(victim), signal.SIGKILL)
    assert seen[victim].ended(), "its clients are closed at once"
    assert seen[other].get("/hello").status == 200
    wait_until(lambda: len(server.workers()) == 2 and int(victim) not in server.workers(), "a new one serves")


def test_a_lane_that_cannot_be_is_told() -> None:
    taken = run("--bind", "127.0.0.1:0", "--lane", "no-slash", program=native())
    assert taken.returncode == 2
    assert "slash" in taken.stderr


def test_an_operators_lane_on_a_native_program(start: Callable[..., Server], gate: Gate) -> None:
    server = start("--lane", "/items,threads=1", "--blocking-threads", "2")
    assert server.get("/items/7").header("X-Thread") == "/items#0"
    assert (server.get("/hello").header("X-Thread") or "").startswith("default#")


def test_work_that_tbb_splits_is_faster_on_two_processors(serve: Callable[..., Server]) -> None:
    """At least 1.5 times on two; the best of several rounds, for a machine that does other things too."""
    path = Path(native("examples/native/parallel_sum")[0])
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    server = serve(program=[str(path)])
    sums = set()

    def took(tasks: int) -> float:
        answer = server.get(f"/?n=30000000&tasks={tasks}").json()
        sums.add(answer["sum"])
        return float(answer["milliseconds"])

    def split_pays() -> bool:
        one, two = min(took(1) for _ in range(3)), min(took(2) for _ in range(3))
        return one >= 1.5 * two

    wait_until(split_pays, "two tasks are 1.5 times as fast as one", within=60)
    assert len(sums) == 1


def test_a_file_whose_name_has_a_nul_is_not_there(program: Server, tmp_path: Path) -> None:
    """The kernel would open what stands before it, and who judges the name by its ending would see another."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert program.get(f"/file?path={tmp_path}/secret").status == 200
    assert program.get(f"/file?path={tmp_path}/secret%00.txt").status == 404
    assert program.get(f"/file?path={tmp_path}/loop").status == 404


# -- held connections


@pytest.mark.parametrize("kind", ["", "/loop"])
def test_both_kinds_of_handlers_hold_and_publish(program: Server, kind: str) -> None:
    with EventStream(program, kind + "/hold").opened() as stream:
        assert stream.answer.header("Content-Type") == "text/event-stream"
        for publisher in ("", "/loop"):
            said = program.get(f"{publisher}/publish?channel=news&data=from{publisher or '/pool'}").body.decode()
            event = stream.next()
            assert (event.id, event.data) == (said, f"from{publisher or '/pool'}")


def test_a_channels_name_may_be_anything(program: Server) -> None:
    with EventStream(program, "/hold").opened() as stream:
        program.get("/publish?channel=a,%20b&data=x")
        assert stream.next().data == "x"


def test_a_channel_that_cannot_be_is_an_error_of_publish(program: Server) -> None:
    assert program.get("/publish?channel=a%0ab&data=x").body.startswith(b"!a channel has 1 to 255 bytes")


@pytest.mark.parametrize("kind", ["", "/loop"])
def test_both_kinds_of_handlers_hold_websockets_and_answer_what_they_say(program: Server, kind: str) -> None:
    with WebSocket(program, kind + "/talk") as socket:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", socket.next().text)
        assert socket.ask("hello").text == "you said hello"
        assert socket.ask("send").text == "sent"
        # A loop must not wait for what the others know.
        said = socket.ask("who").text
        assert said == "1" if kind == "" else "a loop must not wait" in said
        socket.send("close")
        assert socket.closed() == 4000
