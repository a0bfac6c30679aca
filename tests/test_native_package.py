"""The CMake package: installed, found, compiled against, as a user of it would."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.server import ROOT, serving

BUILD = Path(os.environ.get("M0_BUILD") or ROOT / "build" / "release")
# Rooms that a native program's headers may come from: never the door of Python, nor the insides of a worker.
REACHED = {"base", "http", "pool", "pubsub", "handler", "native"}


def run(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    prefix = tmp_path_factory.mktemp("installed")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    yield prefix


def test_m0_hpp_compiles_alone_and_reaches_only_what_it_may(installed: Path) -> None:
    """With the installed headers and the standard library; no library's headers but those."""
    source = installed / "alone.cpp"
    source.write_text("#include <m0/m0.hpp>\nint main(int c, char** v) { return m0::Server(c, v).run(); }\n")
    told = run(
        *("g++", "-std=c++23", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-H"),
        *("-I", installed / "include", source),
    )
    headers = re.findall(r"^\.+ (\S+)$", told, re.MULTILINE)
    ours = {Path(name).relative_to(installed / "include") for name in headers if str(installed) in name}
    assert Path("m0/m0.hpp") in ours
    rooms = {path.parts[1] for path in ours if len(path.parts) == 3}
    assert rooms <= REACHED, rooms - REACHED
    foreign = [name for name in headers if str(installed) not in name and "/fmt/" in name or "Python.h" in name]
    assert foreign == []


def test_m0_hpp_holds_only_includes_and_using_declarations() -> None:
    text = (ROOT / "include" / "m0" / "m0.hpp").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    allowed = r'#pragma once|#include "m0/[a-z_/]+\.hpp"|namespace m0 \{|using [a-z]+::\w+;|\}  // namespace m0'
    assert [line for line in lines if not re.fullmatch(allowed, line)] == []


def test_the_examples_build_against_the_package(installed: Path, tmp_path: Path) -> None:
    examples = tmp_path / "examples"
    run("cmake", "-S", ROOT / "examples" / "native", "-B", examples, f"-DCMAKE_PREFIX_PATH={installed}", "-G", "Ninja")
    run("cmake", "--build", examples)
    cache = (examples / "CMakeCache.txt").read_text()
    assert f"m0serve_DIR:PATH={installed}/lib/cmake/m0serve" in cache
    with serving(tmp_path, program=[str(examples / "reports")]) as server:
        assert server.get("/ping").body == b"pong\n"
        answer = server.get("/reports/2024")
        assert (answer.status, answer.json()) == (200, {"year": 2024})
        assert (answer.header("X-Thread") or "").startswith("/reports#")
        assert server.get("/reports/2024", method="DELETE").all("Allow") == ["GET, HEAD, OPTIONS, PUT"]
        lines = server.get("/ping/count").body.split()
        assert lines == [str(i).encode() for i in range(1, 1001)]
