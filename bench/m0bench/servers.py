"""The servers that are compared: how each is started, asked whether it is ready, and ended."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from . import processes

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
APPS = BENCH / "apps"
BUILD = ROOT / "build"
LOGS = BUILD / "bench-logs"
VENV = BUILD / "bench-venv"
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
M0SERVE = Path(os.environ.get("M0SERVE", BUILD / "release" / "m0serve"))
TOOLS = Path(os.environ.get("M0_BENCH_TOOLS", BUILD / "release" / "bench"))

_READY_WITHIN = 20.0
_END_WITHIN = 15.0


class CannotServe(Exception):
    """A server did not answer; the message ends with what it said."""


@dataclass(frozen=True)
class Recipe:
    """One way to start one server."""

    name: str
    family: str
    flags: tuple[str, ...] = ()
    keeps_connections: bool = True
    environment: dict[str, str] = field(default_factory=dict, hash=False)

    def command(self, app: str, port: int) -> list[str]:
        address = f"127.0.0.1:{port}"
        match self.family:
            case "m0serve":
                return [str(M0SERVE), app, "--bind", address, "--app-dir", str(APPS), *self.flags]
            case "granian":
                program = str(VENV / "bin" / "granian")
                return [program, "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), *self.flags, app]
            case "gunicorn":
                return [PYTHON, "-m", "gunicorn", "-b", address, "--pythonpath", str(APPS), *self.flags, app]
            case "uwsgi":
                common = ["--plugin", "python3", "--pythonpath", str(APPS), "--need-app", "--die-on-term"]
                return ["uwsgi", *common, "--http-socket", address, "--wsgi", app, *self.flags]
            case "native":
                return [str(TOOLS / "probe_server"), "--bind", address, *self.flags]
            case "raw":
                return [str(TOOLS / "raw_epoll"), str(port)]
        raise AssertionError(self.family)


def ours(name: str = "m0serve", *flags: str) -> Recipe:
    return Recipe(name, "m0serve", flags)


def native(name: str, handler: str, *flags: str) -> Recipe:
    """bench/probe_server.cpp: its handler on the `loop` or in a `pool`, whatever the application."""
    return Recipe(name, "native", flags, environment={"PROBE_HANDLER": handler})


def granian(threads: int | None) -> Recipe:
    if threads is None:
        return Recipe("granian defaults", "granian")
    flags = ("--workers", "1", "--runtime-threads", "1", "--blocking-threads", str(threads), "--no-access-log")
    return Recipe(f"granian {threads}", "granian", flags)


def gunicorn(threads: int) -> Recipe:
    flags = (
        "-k",
        "gthread",
        "--threads",
        str(threads),
        "--backlog",
        "4096",
        "--worker-connections",
        "10000",
        "--keep-alive",
        "75",
        "--log-level",
        "warning",
    )
    return Recipe(f"gunicorn {threads}", "gunicorn", flags)


def uwsgi(threads: int) -> Recipe:
    flags = ("--master", "--processes", "1", "--threads", str(threads), "--listen", "4096", "--disable-logging")
    return Recipe(f"uwsgi {threads}", "uwsgi", flags, keeps_connections=False)


RAW_EPOLL = Recipe("raw epoll", "raw")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a server that was started here, and all that it has started."""
    family = processes.tree(process.pid)
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_WITHIN)
    except subprocess.TimeoutExpired:
        for pid in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


class Server:
    """A started server. It ends with `stop`, by its own pid."""

    def __init__(self, recipe: Recipe, app: str, path: str = "/") -> None:
        self.recipe = recipe
        self.name = recipe.name
        self.path = path
        self.port = free_port()
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{recipe.name}-{app}.log".replace(" ", "-").replace(":", "-")
        # What others set for their own servers must not reach these: all run at their defaults and the flags given.
        inherited = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("M0_", "GRANIAN_", "GUNICORN_", "UWSGI_", "WEB_CONCURRENCY"))
        }
        environment = {**inherited, "PYTHONPATH": str(APPS), "PYTHONDONTWRITEBYTECODE": "1", **recipe.environment}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                recipe.command(app, self.port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=APPS,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_WITHIN
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", self.path)
                if connection.getresponse().status == 200:
                    return
            connection.close()
            time.sleep(0.05)
        said = self.log.read_text(errors="replace").strip().splitlines()[-5:]
        raise CannotServe(f"{self.name}: no answer from {self.url}\n  " + "\n  ".join(said))

    def stop(self) -> None:
        end(self.process)


@contextlib.contextmanager
def running(recipes: list[Recipe], app: str, path: str = "/") -> Iterator[list[Server]]:
    """The servers that start, all at once: those that are not measured sleep. One that does not start is told and left
    out."""
    with contextlib.ExitStack() as stack:
        started = []
        for recipe in recipes:
            try:
                server = Server(recipe, app, path)
            except (CannotServe, FileNotFoundError) as problem:
                print(f"  left out: {problem}", flush=True)
                continue
            stack.callback(server.stop)
            started.append(server)
        yield started


def prepare_granian() -> bool:
    """Granian in a virtual environment of its own that sees the system's Django and Flask. False: no index."""
    program = VENV / "bin" / "granian"
    if program.exists():
        return True
    steps = [
        [PYTHON, "-m", "venv", "--system-site-packages", str(VENV)],
        [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "granian"],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"Granian is skipped, it does not install: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
            return False
    return True
