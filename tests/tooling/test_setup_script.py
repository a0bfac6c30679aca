"""scripts/setup decides from dpkg-query alone; here dpkg-query, apt-get and id are stand-ins."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "scripts" / "setup"


def listed(*purposes: str) -> list[str]:
    return subprocess.run([SETUP, "--list", *purposes], check=True, capture_output=True, text=True).stdout.split()


def run_setup(
    tmp_path: Path, *purposes: str, installed: list[str], root: bool, apt: str = "exit 0"
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Runs it, and says what was called."""
    calls = tmp_path / "calls"
    calls.write_text("")
    answers = "\n".join(f"echo 'installed {name}'" for name in installed)
    for name, body in {
        "dpkg-query": f"{answers}\nexit 1",
        "id": f"echo {0 if root else 1000}",
        "apt-get": f'echo "apt-get $*" >> {calls}\n{apt}',
    }.items():
        stand_in = tmp_path / name
        stand_in.write_text(f"#!/bin/sh\n{body}\n")
        stand_in.chmod(0o755)
    done = subprocess.run(
        [SETUP, *purposes], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    return done, calls.read_text().splitlines()


def test_nothing_missing_is_silent_and_installs_nothing(tmp_path: Path) -> None:
    done, calls = run_setup(tmp_path, "build", installed=listed("build"), root=True)
    assert (done.returncode, done.stdout + done.stderr, calls) == (0, "", [])


def test_without_root_it_names_exactly_what_is_missing_in_one_line(tmp_path: Path) -> None:
    there = [name for name in listed("build") if name not in ("mold", "cmake")]
    done, calls = run_setup(tmp_path, "build", installed=there, root=False)
    assert done.returncode == 1
    assert calls == []
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.split("apt-get install -y --no-install-recommends")[1].split() == ["cmake", "mold"]


def test_a_name_inside_another_name_is_not_taken_for_it(tmp_path: Path) -> None:
    there = [name for name in listed("build") if name != "python3"]
    done, _ = run_setup(tmp_path, "build", installed=there, root=False)
    assert done.stderr.split()[-1] == "python3"


def test_root_installs_only_what_is_missing(tmp_path: Path) -> None:
    there = [name for name in listed("build", "lint") if name != "black"]
    done, calls = run_setup(tmp_path, "build", "lint", installed=there, root=True)
    assert done.returncode == 0
    assert calls == ["apt-get install -y -q --no-install-recommends black"]


def test_stale_package_lists_are_updated_and_it_is_tried_again(tmp_path: Path) -> None:
    there = [name for name in listed("build") if name != "mold"]
    once = f'[ -e {tmp_path}/updated ] || {{ [ "$1" = update ] && touch {tmp_path}/updated; }}'
    done, calls = run_setup(tmp_path, "build", installed=there, root=True, apt=once)
    assert done.returncode == 0
    assert [call.split()[1] for call in calls] == ["install", "update", "install"]


def test_an_install_that_fails_fails(tmp_path: Path) -> None:
    done, _ = run_setup(tmp_path, "build", installed=[], root=True, apt="exit 100")
    assert done.returncode != 0


def test_an_unknown_purpose_is_refused(tmp_path: Path) -> None:
    done, calls = run_setup(tmp_path, "biuld", installed=[], root=True)
    assert (done.returncode, calls) == (2, [])


def test_no_script_calls_a_bare_python3() -> None:
    """Whatever `python3` happens to be first on somebody's PATH is not what we were built for."""
    programs = [path for folder in ("scripts", "bench", ".ci") for path in (ROOT / folder).iterdir() if path.is_file()]
    programs = [path for path in programs if os.access(path, os.X_OK) or path.parent.name == ".ci"]
    assert len(programs) >= 5
    for program in [ROOT / "Makefile", *programs]:
        lines = program.read_text(errors="replace").splitlines()
        if program.name != "Makefile":
            assert lines[0] in ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/python3"), program
        if lines[0] == "#!/usr/bin/python3":
            continue
        for number, line in enumerate(lines, 1):
            if line.startswith(("build=", "test=", "bench=")):
                continue  # names of packages
            bare = re.search(r"(?<![\w/.-])python3?(?![\w.-])", line.partition("#")[0])
            assert not bare, f"{program}:{number}: {line}"
