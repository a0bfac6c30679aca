"""The words after `m0serve`, the environment, and how the start fails."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.server import APPS, Server, run
from harness.waiting import wait_until

BROKEN = ["--app-dir", str(APPS / "broken"), "--bind", "127.0.0.1:0"]
DISCOVERED = str(APPS / "discovered")


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


# -- help


def test_version() -> None:
    ended = run("--version")
    assert ended.returncode == 0
    assert re.search(r"\bm0serve\b.*\d+\.\d+\.\d+", ended.stdout)
    assert ended.stderr == ""


def test_help() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    assert ended.stderr == ""
    for flag in (
        "--bind --host --port --workers --preload --no-fork --blocking-threads --max-blocking-threads --queue"
        " --switch-interval --factory --app-dir --worker-start --max-body --max-line --max-head --max-fields"
        " --max-connections --head-timeout --body-timeout --idle-timeout --write-timeout --graceful-timeout --body-memory"
        " --body-disk --backlog --control --control-group --access-log --access-log-format --log-level --version --help"
    ).split():
        assert re.search(rf"(?<![-\w]){flag}\b", ended.stdout), flag
    assert "M0_" in ended.stdout


def test_no_words() -> None:
    ended = run()
    assert ended.returncode == 2
    assert "MODULE" in ended.stderr + ended.stdout


# -- wrong words


@pytest.mark.parametrize(
    "words",
    [
        ["bare", "--no-such-flag"],
        ["bare", "--bindd", "127.0.0.1:0"],
        ["bare", "-x"],
        ["bare", "extra"],
        ["bare", "--workers"],
        ["bare", "--workers", "many"],
        ["bare", "--workers", "-1"],
        ["bare", "--workers", "0"],
        ["bare", "--blocking-threads", "0"],
        ["bare", "--blocking-threads", "5", "--max-blocking-threads", "2"],
        ["bare", "--max-body", "lots"],
        ["bare", "--max-body", "1x"],
        ["bare", "--max-body", "-1"],
        ["bare", "--max-body", "99999999999999999999g"],
        ["bare", "--head-timeout", "soon"],
        ["bare", "--head-timeout", "-1s"],
        ["bare", "--idle-timeout", "5 parsecs"],
        ["bare", "--port", "99999"],
        ["bare", "--port", "http"],
        ["bare", "--log-level", "loud"],
        ["bare", "--access-log-format", "xml"],
        ["bare", "--queue", "0"],
        ["--workers", "2", "publish", "channel", "data"],
        ["top"],
    ],
)
def test_wrong_words_are_one_sentence_and_exit_2(words: list[str]) -> None:
    ended = run(*words)
    assert ended.returncode == 2, ended.stderr
    assert 1 <= len(lines(ended.stderr)) <= 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_the_sentence_names_the_flag() -> None:
    assert "--max-body" in run("bare", "--max-body", "lots").stderr
    assert "--no-such-flag" in run("bare", "--no-such-flag").stderr


def test_a_near_miss_is_suggested() -> None:
    assert "--workers" in run("bare", "--worker", "2").stderr


def test_a_wrong_value_in_the_environment_names_the_variable() -> None:
    ended = run("bare", env={"M0_MAX_BODY": "lots"})
    assert ended.returncode == 2
    assert "M0_MAX_BODY" in ended.stderr


# -- an application that cannot be loaded


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("raises_import", "No module named 'no_such_module_anywhere'"),
        ("raises_runtime", "the application says why"),
        ("raises_exit", "SystemExit"),
        ("bad_syntax", "SyntaxError"),
    ],
)
@pytest.mark.parametrize("mode", [[], ["--workers", "2"], ["--preload"], ["--no-fork"]], ids=" ".join)
def test_a_failing_import_ends_with_its_traceback_and_exit_1(
    module: str, said: str, mode: list[str], tmp_path: Path
) -> None:
    words = [module, *BROKEN, *mode]
    if module == "bad_syntax":
        (tmp_path / "bad_syntax.py").write_text("def application(:\n")
        words = [module, "--app-dir", str(tmp_path), "--bind", "127.0.0.1:0", *mode]
    ended = run(*words)
    assert ended.returncode == 1, ended.stderr
    assert said in ended.stderr
    if module != "bad_syntax":
        assert ended.stderr.count("Traceback (most recent call last)") >= 1
        assert f"{module}.py" in ended.stderr
    assert "ready" not in ended.stderr.lower().replace("already", "")
    # "Its traceback last, one sentence": nothing but sentences after it.
    after = ended.stderr[ended.stderr.rindex(said) :]
    assert len(lines(after)) <= 5, ended.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["has_nothing"], "application"),
        (["has_nothing:app"], "app"),
        (["not_callable"], "call"),
        (["no_such_module"], "no_such_module"),
        (["no.such.package"], "no"),
        (["has_nothing:nothing_here.deeper"], "deeper"),
    ],
)
def test_no_application_is_one_sentence_and_exit_1(words: list[str], said: str) -> None:
    ended = run(*words, *BROKEN)
    assert ended.returncode == 1, ended.stderr
    assert said in ended.stderr


@pytest.mark.parametrize("name", ["create_wrongly", "create_failing"])
def test_a_factory_that_fails(name: str) -> None:
    ended = run(f"shapes:{name}", "--factory", "--bind", "127.0.0.1:0")
    assert ended.returncode == 1, ended.stderr


@pytest.mark.parametrize("word", [":app", "a:", "bare:application:more", "1bad", "bare.py", "a b", ""])
def test_an_application_word_that_is_none(word: str) -> None:
    ended = run(word, "--bind", "127.0.0.1:0")
    assert ended.returncode in (1, 2), ended.stderr
    assert ended.stderr


# -- finding the application


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["only_app", "--app-dir", DISCOVERED], b"app\n"),
        (["has_both", "--app-dir", DISCOVERED], b"application\n"),
        (["has_both:app", "--app-dir", DISCOVERED], b"app\n"),
        (["site_package", "--app-dir", DISCOVERED], b"package\n"),
        (["site_package.wsgi", "--app-dir", DISCOVERED], b"package\n"),
        (["top:app", "--app-dir", DISCOVERED], b"app\n"),
        (["shapes:named"], b"named\n"),
        (["shapes:create", "--factory"], b"made\n"),
        (["shapes:Nested.deeper.app"], b"nested\n"),
        (["shapes:instance"], b"instance\n"),
        (["shapes:PerRequest"], b"per request\n"),
    ],
    ids=lambda value: " ".join(value).replace(DISCOVERED, "D") if isinstance(value, list) else "",
)
def test_the_application_is_found(serve: Callable[..., Server], words: list[str], body: bytes) -> None:
    assert serve(*words).get("/").body == body


def test_the_current_directory_is_searched(serve: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text((APPS / "discovered" / "only_app.py").read_text())
    assert serve("here", cwd=tmp_path).get("/").body == b"app\n"


def test_app_dir_wins_over_installed_modules(serve: Callable[..., Server], tmp_path: Path) -> None:
    (tmp_path / "flask.py").write_text((APPS / "discovered" / "only_app.py").read_text())
    assert serve("flask", "--app-dir", str(tmp_path)).get("/").body == b"app\n"


def test_app_dir_that_is_none() -> None:
    ended = run("bare", "--app-dir", "/no/such/directory")
    assert ended.returncode in (1, 2, 78)


# -- flags and variables


def test_flags_on_either_side(serve: Callable[..., Server]) -> None:
    server = serve("--blocking-threads", "2", "bare", "--max-body", "10")
    assert server.post("/echo", b"x" * 11).status == 413
    server = serve("--max-body=10", "bare")
    assert server.post("/echo", b"x" * 11).status == 413


def test_every_flag_has_a_variable(serve: Callable[..., Server]) -> None:
    server = serve("bare", env={"M0_MAX_BODY": "10", "M0_MAX_FIELDS": "4"})
    assert server.post("/echo", b"x" * 11).status == 413
    assert server.get("/hello", [("X", "y")] * 4).status == 431


def test_a_flag_wins_over_its_variable(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--max-body", "20", env={"M0_MAX_BODY": "10"})
    assert server.post("/echo", b"x" * 20).status == 200


def test_bind_by_variable(serve: Callable[..., Server]) -> None:
    server = serve("bare", bind=None, env={"M0_BIND": "127.0.0.1:0"})
    assert server.get("/hello").status == 200


def test_port_alone_binds_all_interfaces(serve: Callable[..., Server]) -> None:
    server = serve("bare", bind=None, env={"PORT": "0"})
    with server.connect(address=("127.0.0.1", server.port)) as client:
        assert client.get("/hello").status == 200
    listening = {
        line.split()[1].split(":")[0]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if int(line.split()[1].split(":")[1], 16) == server.port and line.split()[3] == "0A"
    }
    assert listening and all(set(address) == {"0"} for address in listening)


def test_bind_wins_over_port(serve: Callable[..., Server]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = serve("bare", env={"PORT": str(taken.getsockname()[1])})
        assert server.get("/hello").status == 200


@pytest.mark.parametrize("variable", ["M0_WORKERS", "WEB_CONCURRENCY"])
def test_workers_by_variable(serve: Callable[..., Server], variable: str) -> None:
    server = serve("bare", env={variable: "2"})
    wait_until(lambda: len(server.workers()) == 2, "two workers")


def test_workers_by_both_variables(serve: Callable[..., Server]) -> None:
    server = serve("bare", env={"M0_WORKERS": "1", "WEB_CONCURRENCY": "3"})
    assert server.get("/hello").status == 200
    assert len(server.workers()) == 1


# -- what the application finds


def test_the_ready_line(bare: Server) -> None:
    (line,) = [line for line in bare.log.splitlines() if "ready" in line]
    assert f"http://127.0.0.1:{bare.port}" in line
    assert "CPython 3." in line
    assert re.search(r"\b8\b.*thread|thread.*\b8\b", line)


def test_one_ready_line_for_many_workers(serve: Callable[..., Server]) -> None:
    server = serve("bare", "--workers", "3")
    assert len([line for line in server.log.splitlines() if "ready" in line and "http://" in line]) == 1


def test_the_interpreter_is_the_users(bare: Server) -> None:
    facts = bare.get("/facts").json()
    assert os.path.realpath(facts["executable"]) == os.path.realpath("/usr/bin/python3")
    assert facts["path0"] == str(APPS)
    assert facts["cwd"] == str(APPS)
    assert facts["faulthandler"] is True


def test_no_signal_is_blocked_in_a_view(bare: Server) -> None:
    assert bare.get("/facts").json()["blocked"] == []


def test_from_any_directory(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve("bare", "--app-dir", str(APPS), cwd=tmp_path)
    assert server.get("/facts").json()["cwd"] == str(tmp_path)


def test_the_launcher_is_the_supervisor(bare: Server) -> None:
    """The pid that was started, with the worker as its only child."""
    (worker,) = bare.workers()
    facts = bare.get("/facts").json()
    assert (facts["pid"], facts["ppid"]) == (worker, bare.pid)


def test_python_path_is_not_ours(serve: Callable[..., Server], tmp_path: Path) -> None:
    """What the application starts finds its environment as the user left it."""
    (tmp_path / "seen.py").write_text(
        "import json, os\n"
        "def application(environ, start_response):\n"
        "    start_response('200 OK', [])\n"
        "    return [json.dumps(dict(os.environ)).encode()]\n"
    )
    seen = serve("seen", cwd=tmp_path, env={"PYTHONPATH": "/nowhere/of/the/users"}).get("/").json()
    assert seen["PYTHONPATH"] == "/nowhere/of/the/users"
    assert "PYTHONPATH" not in serve("seen", cwd=tmp_path).get("/").json()


def test_worker_start_hook(serve: Callable[..., Server], tmp_path: Path) -> None:
    where = tmp_path / "said"
    server = serve(
        "lifecycle", "--worker-start", "lifecycle:started", "--workers", "2", env={"M0TEST_FILE": str(where)}
    )
    wait_until(lambda: len(server.workers()) == 2, "two workers")
    wait_until(lambda: where.exists() and where.read_text().count("worker-start") == 2, "the hook ran in both")
    said = [line.split() for line in where.read_text().splitlines()]
    assert sorted(line[1] for line in said if line[0] == "worker-start") == ["0", "1"]
    assert len([line for line in said if line[0] == "import"]) == 2


@pytest.mark.parametrize("hook", ["lifecycle:nothing", "no_such_module:hook", "shapes:create_failing", "nocolon"])
def test_a_worker_start_hook_that_fails(hook: str, tmp_path: Path) -> None:
    ended = run(
        "lifecycle", "--worker-start", hook, "--bind", "127.0.0.1:0", env={"M0TEST_FILE": str(tmp_path / "said")}
    )
    assert ended.returncode in (1, 2), ended.stderr


def test_python_dash_m(tmp_path: Path) -> None:
    """The launcher starts an interpreter with a file of the package: here that interpreter runs the package instead."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        'PYTHONPATH=$(dirname "$(dirname "$1")")\n'
        "export PYTHONPATH\n"
        "shift\n"
        f'exec {sys.executable} -m m0serve "$@"\n'
    )
    python.chmod(0o755)
    ended = run("--version", env={"PYTHON": str(python)})
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"\bm0serve\b.*\d+\.\d+\.\d+", ended.stdout)
    ended = run("bare", "--no-such-flag", env={"PYTHON": str(python)})
    assert ended.returncode == 2
