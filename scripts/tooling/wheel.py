"""The wheel: built from the checkout, installed into a new virtual environment, one request served by each command."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tooling.processes import ROOT, run
from tooling.tally import Outcome, failed, passed, skipped

PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
APP = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"from a wheel"]
"""


def index_reachable(pip: Path, directory: str) -> bool:
    command: list[str | Path] = [pip, "download", "--no-deps", "--disable-pip-version-check", "--retries", "1"]
    return run([*command, "--timeout", "20", "-q", "-d", directory, "scikit-build-core"], 120).code == 0


def serve_one(command: Sequence[str | Path], directory: str) -> str:
    """What is wrong with a server started by `command`; empty when it answers and ends well."""
    process = subprocess.Popen(
        [str(word) for word in (*command, "wheel_app", "--bind", "127.0.0.1:0")],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(60, process.kill)
    limit.start()
    said = ""
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            ready = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if ready:
                with urllib.request.urlopen(f"http://127.0.0.1:{ready[1]}/", timeout=30) as answer:
                    if answer.read() != b"from a wheel":
                        return "another answer than the application's"
                process.terminate()
                rest = process.stderr.read()
                code = process.wait()
                return "" if code == 0 else f"exit code {code}\n{said}{rest}"
        return f"it was never ready\n{said}"
    except OSError as problem:
        return f"{problem}\n{said}"
    finally:
        limit.cancel()
        process.kill()
        process.wait()


def check() -> list[Outcome]:
    with tempfile.TemporaryDirectory() as directory:
        venv = Path(directory) / "venv"
        bin_folder = venv / "bin"
        made = run([PYTHON, "-m", "venv", venv], 120)
        if made.code != 0:
            return [failed("wheel", f"no virtual environment: {made.output}")]
        if not index_reachable(bin_folder / "pip", directory):
            return [skipped("wheel", "no package index is reachable")]
        wheels = Path(directory) / "wheels"
        built = run([bin_folder / "pip", "wheel", "--no-deps", "--disable-pip-version-check", "-w", wheels, ROOT], 900)
        names = [path.name for path in wheels.glob("*.whl")] if wheels.exists() else []
        if built.code != 0 or len(names) != 1:
            print(built.output[-8000:], flush=True)
            return [failed("wheel build", f"exit code {built.code}, wheels: {names}")]
        outcomes = [passed("wheel build")]
        if not re.fullmatch(r"m0serve-[\d.]+-cp311-abi3-\w+\.whl", names[0]):
            outcomes.append(failed("wheel tag", f"{names[0]} is no stable-ABI wheel"))
        installed = run([bin_folder / "pip", "install", "--no-deps", "--no-index", wheels / names[0]], 120)
        if installed.code != 0:
            return [*outcomes, failed("wheel install", installed.output)]
        (Path(directory) / "wheel_app.py").write_text(APP)
        commands: dict[str, list[str | Path]] = {
            "wheel m0serve": [bin_folder / "m0serve"],
            "wheel python -m m0serve": [bin_folder / "python", "-m", "m0serve"],
        }
        for name, command in commands.items():
            problem = serve_one(command, directory)
            outcomes.append(failed(name, problem) if problem else passed(name))
        for outcome in outcomes:
            print(f"{outcome.name}: {outcome.kind.value} {outcome.detail}", flush=True)
        return outcomes
