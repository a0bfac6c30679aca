"""Lanes: threads of its own for a prefix. Mounts: another application at a prefix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.client import Client, Response
from harness.full_queue import fill_queue
from harness.gate import Gate
from harness.server import APPS, Server, run
from harness.waiting import never, wait_until

MOUNTS = APPS / "mounts"
Serve = Callable[..., Server]


@pytest.fixture
def places(serve: Serve) -> Serve:
    """Starts the application that says where a request arrived, with more words."""
    return lambda *words, **options: serve("places", *words, cwd=MOUNTS, **options)


def at(gate: Gate, path: str) -> str:
    """That path, waiting at the gate."""
    return f"{path}?port={gate.port}"


def asking(server: Server, target: str) -> Client:
    client = server.connect()
    client.request("GET", target)
    return client


def lane_of(answer: Response) -> str:
    """The lane whose thread answered."""
    match = re.fullmatch(r"m0serve-(.+)-\d+", answer.json()["thread"])
    assert match, answer.json()
    return match[1]


def seen(server: Server, target: str, method: str = "GET") -> dict[str, Any]:
    answer = server.get(target, method=method)
    assert answer.status == 200, answer
    return answer.json()


def where(server: Server, target: str, method: str = "GET") -> tuple[str, str, str]:
    facts = seen(server, target, method)
    return facts["application"], facts["script_name"], facts["path_info"]


# -- which lane


def test_the_longest_prefix_wins_where_a_segment_ends(places: Serve) -> None:
    server = places("--lane", "/reports,threads=1", "--lane", "/reports/yearly,threads=1", "--lane", "/a,threads=1")
    lanes = {
        "/reports": "/reports",
        "/reports/": "/reports",
        "/reports?x=/reports/yearly": "/reports",
        "/reports/x": "/reports",
        "/reports/yearly": "/reports/yearly",
        "/reports/yearly/x": "/reports/yearly",
        "/reports/yearlyx": "/reports",
        "/reportsx": "default",
        "/report": "default",
        "/x/reports": "default",
        "/Reports": "default",
        "/a/reports": "/a",
        "/": "default",
    }
    with server.connect() as client:
        assert {target: lane_of(client.get(target)) for target in lanes} == lanes


def test_a_prefix_is_known_in_any_encoding(places: Serve) -> None:
    server = places("--lane", "/reports,threads=1", "--lane", "/gr\u00f6\u00dfe,threads=1")
    lanes = {
        "/%72eports/x": "/reports",
        "/%72%65%70%6f%72%74%73": "/reports",
        "/reports%2Fx": "/reports",
        "/reports%20x": "default",
        "/gr%C3%B6%C3%9Fe/x": "/gr\u00f6\u00dfe",
        "/gr%c3%b6%C3%9fe": "/gr\u00f6\u00dfe",
    }
    with server.connect() as client:
        assert {target: lane_of(client.get(target)) for target in lanes} == lanes


def test_a_lane_leaves_the_path_as_it_is(places: Serve) -> None:
    server = places("--lane", "/reports/,threads=1")
    assert where(server, "/reports/x%20y") == ("main", "", "/reports/x y")
    assert lane_of(server.get("/reports/x")) == "/reports", "a slash at its end is forgiven"


def test_the_ready_line_names_the_lanes(places: Serve) -> None:
    server = places("--lane", "/reports,threads=2", "--mount", "/one=places:first,threads=1,max-threads=3")
    assert re.search(
        r"ready on http://\S+ \(CPython \S+, 1 worker, 8 to 64 threads, lane /reports 2 threads,"
        r" lane /one 1 to 3 threads\)",
        server.log,
    ), server.log
    server = places("--lane", "/reports,threads=1", "--workers", "2", "--blocking-threads", "3")
    assert "2 workers, 3 threads each, lane /reports 1 thread each)" in server.log


def test_two_lanes_of_one_thread_are_many_threads(places: Serve) -> None:
    assert seen(places("--blocking-threads", "1"), "/")["multithread"] is False
    server = places("--blocking-threads", "1", "--lane", "/reports,threads=1")
    assert seen(server, "/")["multithread"] is True
    assert seen(server, "/reports")["multithread"] is True


# -- at saturation


def test_a_saturated_lane_changes_nothing_for_another(places: Serve, gate: Gate) -> None:
    server = places("--lane", "/slow,threads=2", "--blocking-threads", "2")
    slow = [asking(server, at(gate, "/slow")) for _ in range(6)]
    inside = gate.arrivals(2)
    assert {visitor.facts["thread"] for visitor in inside} == {"m0serve-/slow-0", "m0serve-/slow-1"}
    clients = [server.connect() for _ in range(10)]
    for number in range(20):
        for client in clients:
            client.request("GET", f"/fast/{number}")
        for client in clients:
            assert lane_of(client.response()) == "default"
    assert gate.arrival_or_none() is None, "no third thread took one, and none of the default lane helped"
    for _ in range(4):
        gate.inside.pop(0).release()
        gate.arrival()
    gate.release_all()
    assert [lane_of(client.response()) for client in slow] == ["/slow"] * 6


def test_a_lane_answers_while_the_default_one_is_saturated(places: Serve, gate: Gate) -> None:
    server = places("--lane", "/health,threads=1", "--blocking-threads", "1")
    blocked = [asking(server, at(gate, "/page")) for _ in range(3)]
    gate.arrival()
    with server.connect() as client:
        assert [lane_of(client.get("/health")) for _ in range(50)] == ["/health"] * 50
    for _ in range(2):
        gate.inside.pop(0).release()
        gate.arrival()
    gate.release_all()
    assert [lane_of(client.response()) for client in blocked] == ["default"] * 3


def test_a_lane_grows_to_its_own_maximum(places: Serve, gate: Gate) -> None:
    server = places("--lane", "/slow,threads=1,max-threads=3")
    slow = [asking(server, at(gate, "/slow")) for _ in range(4)]
    threads = {visitor.facts["thread"] for visitor in gate.arrivals(3)}
    assert threads == {f"m0serve-/slow-{number}" for number in range(3)}
    assert gate.arrival_or_none() is None
    gate.inside.pop(0).release()
    gate.arrival()
    gate.release_all()
    assert [client.response().status for client in slow] == [200] * 4


def test_a_full_lane_answers_503(places: Serve, gate: Gate) -> None:
    server = places("--lane", "/slow,threads=1,queue=4")
    running = asking(server, at(gate, "/slow"))
    visitor = gate.arrival()
    refused, queued = fill_queue(lambda: asking(server, "/slow/next"))
    assert 4 <= len(queued) <= 8
    answer = refused.response()
    assert answer.status == 503
    assert int(answer.header("Retry-After") or "") >= 1
    server.wait_log("lane /slow is full: 4 requests wait for its 1 threads")
    assert lane_of(server.get("/other")) == "default"
    visitor.release()
    assert [client.response().status for client in [running, *queued]] == [200] * (1 + len(queued))


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (["--lane", "/slow,threads=1,queue-timeout=100ms"], {}),
        (["--blocking-threads", "1", "--queue-timeout", "100ms"], {}),
        (["--blocking-threads", "1"], {"M0_QUEUE_TIMEOUT": "100ms"}),
        (["--mount", "/slow=places:first,threads=1,queue-timeout=100ms"], {}),
    ],
    ids=["lane", "default", "variable", "mount"],
)
def test_who_waits_too_long_is_answered_503(places: Serve, gate: Gate, words: list[str], env: dict[str, str]) -> None:
    """What runs is not given up, however long it takes; what was given up is never run."""
    server = places(*words, env=env)
    running = asking(server, at(gate, "/slow"))
    visitor = gate.arrival()
    waiting = [asking(server, at(gate, "/slow")) for _ in range(2)]
    for client in waiting:
        answer = client.response()
        assert answer.status == 503
        assert int(answer.header("Retry-After") or "") >= 1
    assert not running.has_bytes()
    visitor.release()
    assert running.response().status == 200
    assert gate.arrival_or_none() is None
    assert server.get("/slow").status == 200


def test_without_a_queue_timeout_a_request_waits(places: Serve, gate: Gate) -> None:
    """Also beside a lane that has one."""
    server = places("--blocking-threads", "1", "--lane", "/slow,threads=1,queue-timeout=50ms")
    running = [asking(server, at(gate, path)) for path in ("/page", "/slow")]
    gate.arrivals(2)
    waiting = asking(server, "/page")
    assert asking(server, "/slow").response().status == 503
    never(waiting.has_bytes, "the default lane waits for ever")
    gate.release_all()
    assert [client.response().status for client in [*running, waiting]] == [200] * 3


# -- mounts


def test_a_mount_is_the_script_name(places: Serve) -> None:
    server = places("--mount", "/one=places:first", "--mount", "/one/two=places:second")
    assert where(server, "/") == ("main", "", "/")
    assert where(server, "/onex/y") == ("main", "", "/onex/y")
    assert where(server, "/one") == ("first", "/one", "")
    assert where(server, "/one/") == ("first", "/one", "/")
    assert where(server, "/one/x%20y/%C3%BC") == ("first", "/one", "/x y/\u00c3\u00bc")
    assert where(server, "/one/twox") == ("first", "/one", "/twox")
    assert where(server, "/one/two") == ("second", "/one/two", "")
    assert where(server, "/one/two/three") == ("second", "/one/two", "/three")
    assert where(server, "/%6fne/%74wo/three") == ("second", "/one/two", "/three")
    assert where(server, "*", "OPTIONS") == ("main", "", "")


def test_the_request_uri_is_what_was_sent(places: Serve) -> None:
    server = places("--mount", "/one=places:first")
    assert seen(server, "/%6Fne/a%20b?q=%C3%BC")["request_uri"] == "/%6Fne/a%20b?q=%C3%BC"


def test_mounts_have_the_default_lane_or_their_own(places: Serve) -> None:
    server = places(
        *("--mount", "/one=places:first", "--mount", "/two=places:second,threads=1", "--lane", "/one/slow,threads=1"),
        *("--lane", "/area,threads=1", "--mount", "/area/first=places:first"),
    )
    assert lane_of(server.get("/")) == "default"
    assert lane_of(server.get("/one/x")) == "default"
    assert lane_of(server.get("/two/x")) == "/two"
    assert lane_of(server.get("/one/slow/x")) == "/one/slow"
    assert where(server, "/one/slow/x") == ("first", "/one", "/slow/x")
    assert lane_of(server.get("/area/first/x")) == "/area"
    assert where(server, "/area/first/x") == ("first", "/area/first", "/x")


def test_mounts_under_the_validator(serve: Serve) -> None:
    server = serve("validated_places", "--mount", "/gr\u00fcn=validated_places:mounted", cwd=MOUNTS)
    assert where(server, "/x") == ("main", "", "/x")
    for target, path_info in [("/gr%C3%BCn", ""), ("/gr%C3%BCn/", "/"), ("/gr%C3%BCn/x", "/x")]:
        assert where(server, target) == ("mounted", "/gr\u00c3\u00bcn", path_info)


@pytest.mark.parametrize("mode", [[], ["--preload"], ["--no-fork"]], ids=" ".join)
def test_the_worker_hook_and_the_ways_to_start(places: Serve, mode: list[str]) -> None:
    server = places("--mount", "/one=places:first,threads=1", "--worker-start", "places:started", *mode)
    for target, application in [("/", "main"), ("/one", "first")]:
        facts = seen(server, target)
        assert (facts["application"], facts["worker"]) == (application, 0)


def test_every_worker_has_every_application(places: Serve) -> None:
    server = places("--mount", "/one=places:first", "--workers", "2", "--preload", "--worker-start", "places:started")
    workers = set()

    def both() -> bool:
        facts = seen(server, "/one")
        assert facts["application"] == "first"
        workers.add((facts["pid"], facts["worker"]))
        return len(workers) == 2

    wait_until(both, "both workers answer")
    assert {worker for _, worker in workers} == {0, 1}


def test_the_factory_makes_the_main_application(serve: Serve) -> None:
    server = serve("places:create", "--factory", "--mount", "/one=places:first", cwd=MOUNTS)
    assert where(server, "/") == ("made", "", "/")
    assert where(server, "/one") == ("first", "/one", "")


def test_flask_under_a_mount(places: Serve) -> None:
    pytest.importorskip("flask")
    server = places("--mount", "/part=flask_part", "--mount", "/other=flask_part:app,threads=1")
    for prefix in ("/part", "/other"):
        assert server.get(f"{prefix}/").json() == {
            "root": prefix,
            "script": prefix,
            "path": "/",
            "url": f"http://test{prefix}/",
        }
        answer = server.get(f"{prefix}/old")
        assert (answer.status, answer.header("Location")) == (302, f"{prefix}/new/7")
        external = server.get(f"{prefix}/new/7").json()["external"]
        assert external == f"http://test{prefix}/new/7"


def test_django_under_a_mount(places: Serve) -> None:
    pytest.importorskip("django")
    server = places("--mount", "/shop=shop_project.wsgi")
    answer = server.get("/shop/old")
    assert (answer.status, answer.header("Location")) == (302, "/shop/new/7/")
    answer = server.get("/shop/new/7")
    assert (answer.status, answer.header("Location")) == (301, "/shop/new/7/"), "APPEND_SLASH"
    facts = server.get("/shop/new/7/").json()
    assert (facts["reverse"], facts["path"], facts["path_info"]) == ("/shop/new/7/", "/shop/new/7/", "/new/7/")
    assert where(server, "/shops") == ("main", "", "/shops")


# -- what cannot live together


@pytest.mark.parametrize(
    "mode", [[], ["--workers", "2"], ["--preload"], ["--preload", "--workers", "2"], ["--no-fork"]], ids=" ".join
)
@pytest.mark.parametrize(
    ("words", "shop"),
    [
        (["shop_project.wsgi"], "/"),
        (["places", "--mount", "/shop=shop_project.wsgi"], "/shop"),
    ],
    ids=["main", "mounts"],
)
def test_two_django_projects_are_refused(words: list[str], shop: str, mode: list[str]) -> None:
    pytest.importorskip("django")
    words = [*words, "--mount", "/blog=blog_project.wsgi"]
    ended = run(*words, *mode, "--bind", "127.0.0.1:0", cwd=MOUNTS)
    assert ended.returncode == 78, ended.stderr
    (line,) = ended.stderr.splitlines()
    for said in (
        f"shop_project.wsgi at {shop} ",
        "shop_project.settings",
        "blog_project.wsgi at /blog ",
        "blog_project.settings",
        "run two servers",
    ):
        assert said in line


def test_what_every_worker_finds_is_said_once(tmp_path: Path) -> None:
    """Also by a worker that finds it when the server has given up already."""
    words = ["lagging", "--mount", "/blog=blog_project.wsgi", "--workers", "2", "--bind", "127.0.0.1:0"]
    ended = run(*words, env={"M0TEST_FILE": str(tmp_path / "first")}, cwd=MOUNTS)
    assert ended.returncode == 78, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert "lagging.settings" in line


@pytest.mark.parametrize("mode", [[], ["--preload"]], ids=" ".join)
def test_one_django_project_may_be_there_twice(serve: Serve, mode: list[str]) -> None:
    pytest.importorskip("django")
    mounts = ["--mount", "/again=shop_project.wsgi:application", "--mount", "/other=shop_project.other_wsgi"]
    server = serve("shop_project.wsgi", *mounts, *mode, cwd=MOUNTS)
    for prefix in ("", "/again", "/other"):
        facts = server.get(f"{prefix}/new/7/").json()
        assert (facts["project"], facts["reverse"]) == ("shop", f"{prefix}/new/7/")


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("/one=no_such_module", "--mount /one: there is no module 'no_such_module'"),
        ("/one=places:nothing", "--mount /one: 'places' has no 'nothing'"),
        ("/one=places:create", "--mount /one: places:create does not take (environ, start_response)"),
    ],
)
def test_a_mount_that_cannot_be_loaded_is_named(mount: str, said: str) -> None:
    ended = run("places", "--mount", mount, "--bind", "127.0.0.1:0", cwd=MOUNTS)
    assert ended.returncode == 1, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert said in line


# -- words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lane", "reports"], "--lane: 'reports': a prefix begins with a slash"),
        (["--lane", "/"], "--blocking-threads"),
        (["--lane", "/a?b"], "--lane: '/a?b': a prefix is a path alone"),
        (["--lane", "/a,colour=red"], "'colour=red' is none of threads=N, max-threads=M, queue=N, queue-timeout=TIME"),
        (["--lane", "/a,threads=many"], "--lane: threads: 'many' is not a whole number"),
        (["--lane", "/a,threads=3,max-threads=2"], "max-threads=2 is less than threads=3"),
        (["--lane", "/a,queue-timeout=soon"], "--lane: queue-timeout: 'soon' is not a time"),
        (["--lane", "/a", "--lane", "/a/"], "--lane: '/a' has a lane already"),
        (["--mount", "/one"], "write PREFIX=MODULE[:ATTR]"),
        (["--mount", "/one="], "--mount: MODULE is missing: write /one=MODULE[:ATTR]"),
        (["--mount", "/=places:first"], "without --mount"),
        (["--mount", "/a=places", "--mount", "/a=places:first"], "something is mounted at '/a' already"),
        (["--mount", "/a=places,threads=1", "--lane", "/a"], "leave one of them out"),
        (["--queue-timeout", "soon"], "--queue-timeout: 'soon' is not a time"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_words_are_one_sentence_and_exit_2(words: list[str], said: str) -> None:
    ended = run("places", *words, "--bind", "127.0.0.1:0", cwd=MOUNTS)
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert said in line


def test_lanes_and_mounts_by_their_variables(places: Serve) -> None:
    env = {
        "M0_LANE": "/a,threads=1,queue=4  /b,threads=2",
        "M0_MOUNT": "/one=places:first\n/two=places:second,threads=1",
    }
    server = places(env=env)
    assert [lane_of(server.get(target)) for target in ("/a", "/b/x", "/two", "/one")] == ["/a", "/b", "/two", "default"]
    assert where(server, "/one/x") == ("first", "/one", "/x")
    server = places("--lane", "/c,threads=1", env=env)
    assert [lane_of(server.get(target)) for target in ("/a", "/c")] == ["default", "/c"], "a flag wins"
    ended = run("places", cwd=MOUNTS, env={"M0_LANE": "/a,threads=1 b"})
    assert ended.returncode == 2
    assert "M0_LANE: 'b': a prefix begins with a slash" in ended.stderr
