"""The examples serve, from the build's own folder and from where `make install` puts the program."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("M0_BUILD") or ROOT / "build" / "release")
LAUNCHER = Path(os.environ.get("M0SERVE") or BUILD / "m0serve")
BOUND = 60.0


@contextmanager
def serving(launcher: Path, cwd: Path, *words: str) -> Iterator[str]:
    """The address of a server that ends with exit code 0."""
    process = subprocess.Popen(
        [launcher, *words, "--bind", "127.0.0.1:0"],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(BOUND, process.kill)
    limit.start()
    try:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            ready = re.search(r"http://127\.0\.0\.1:\d+", line)
            if ready:
                yield ready[0]
                break
        else:
            raise AssertionError(f"never ready: {said}")
        process.terminate()
        rest = process.stderr.read()
        assert process.wait() == 0, said + rest
    finally:
        limit.cancel()
        process.kill()
        process.wait()


def ask(address: str, data: bytes | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, data=data, timeout=BOUND) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.mark.parametrize("app", ["app", "flask_app", "bare_app"])
def test_the_demo(tmp_path: Path, app: str) -> None:
    """By the Makefile's words; what it does is in tests/test_demo.py."""
    assert "$(APP) --app-dir examples/demo --bind $(BIND)" in (ROOT / "Makefile").read_text()
    with serving(LAUNCHER, tmp_path, app, "--app-dir", str(ROOT / "examples" / "demo")) as address:
        status, page = ask(f"{address}/")
        assert status == 200
        assert "<title>m0serve demo</title>" in page and "{{" not in page
        assert ask(f"{address}/ping") == (200, "pong")
        assert ask(f"{address}/nowhere")[0] == 404


@pytest.mark.parametrize("framework", ["django", "flask"])
def test_the_frameworks(tmp_path: Path, framework: str) -> None:
    with serving(LAUNCHER, tmp_path, "app", "--app-dir", str(ROOT / "examples" / f"{framework}_hello")) as address:
        assert ask(f"{address}/") == (200, f"Hello from {framework.capitalize()}\n")
        assert '"you"' in ask(f"{address}/greet/you")[1]
        assert len(ask(f"{address}/squares")[1].splitlines()) == 1000


def test_an_installation(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    assert sorted(path.name for path in prefix.iterdir()) == ["bin", "include", "lib"]
    installed = prefix / "bin" / "m0serve"
    version = subprocess.run([installed, "--version"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    built = subprocess.run([LAUNCHER, "--version"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert version == built and re.search(r"\d+\.\d+\.\d+", version)
    assert str(BUILD) not in installed.read_text()
    with serving(installed, tmp_path, "app", "--app-dir", str(ROOT / "examples" / "flask_hello")) as address:
        assert ask(f"{address}/")[0] == 200


def test_versions_agree() -> None:
    """One version, written in three places because three tools read it."""
    found = {
        "CMakeLists.txt": r"project\(m0serve VERSION ([\d.]+)",
        "pyproject.toml": r'(?m)^version = "([\d.]+)"',
        "python/m0serve/__init__.py": r'__version__ = "([\d.]+)"',
    }
    versions = set()
    for name, pattern in found.items():
        match = re.search(pattern, (ROOT / name).read_text())
        assert match, name
        versions.add(match[1])
    assert len(versions) == 1
