"""How the command starts: from any folder, without PYTHONPATH, the module next to the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
M0SERVE = os.environ.get("M0SERVE", str(ROOT / "build" / "release" / "m0serve"))

pytestmark = pytest.mark.skipif(not os.access(M0SERVE, os.X_OK), reason="the server is not built")


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable}
    return subprocess.run([M0SERVE, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60)


def test_it_runs_from_any_folder(tmp_path: Path) -> None:
    done = run("--version", cwd=tmp_path)
    assert done.returncode == 0 and "m0serve" in done.stdout


def test_it_leaves_no_trace_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text(
        "import os, sys\n"
        "raise RuntimeError(repr(('PYTHONPATH' in os.environ, sys.argv[0], sys.path[0] == os.getcwd(),"
        " 'm0serve' in sys.modules, '_core' in sys.modules, '_loader' in sys.modules)))\n"
    )
    done = run("shows", "--bind", "127.0.0.1:0", cwd=tmp_path)
    assert done.returncode == 1
    assert "(False, 'm0serve', True, True, False, False)" in done.stderr


def test_words_that_are_no_text_are_passed_on(tmp_path: Path) -> None:
    done = subprocess.run([M0SERVE, b"--no-such-\xff"], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 2
