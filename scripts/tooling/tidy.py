"""clang-tidy over what changed: a file whose text, reach, flags and rules were found clean before is not read again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tooling.processes import ROOT, run
from tooling.sources import closure

TIDY = "clang-tidy-19"
LIMIT = 300.0
# GCC's flags and its precompiled header mean nothing to clang's parser.
EXTRA = ("-Wno-unknown-warning-option", "-Wno-ignored-gch", "-Wno-ignored-optimization-argument")
PRECOMPILED = re.compile(r"\s-include\s+\S*cmake_pch\.hxx|\s-Winvalid-pch")


def stamps() -> Path:
    """Outside the checkout where there is a place, so that clones share it as they share the compiler's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or (
        os.path.join(os.environ["HOME"], ".cache") if os.environ.get("HOME") else ""
    )
    for base in ([Path(home) / "m0serve"] if home else []) + [ROOT / "build"]:
        folder = base / "tidy"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError("no place for clang-tidy's stamps")


def wanted(path: Path) -> bool:
    """Tests and benchmarks are left out: framework macros, and the sanitizers run them anyway."""
    relative = path.relative_to(ROOT) if path.is_relative_to(ROOT) else None
    return relative is not None and relative.parts[0] == "src" and not path.stem.endswith(("_test", "_benchmark"))


def commands(database: Path) -> dict[Path, str]:
    found = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["file"])
        if wanted(path):
            command = entry["command"]
            found[path] = command
    return found


def stamp_of(path: Path, command: str, rules: str) -> str:
    digest = hashlib.sha256()
    digest.update(rules.encode())
    # The same flags in another clone are the same flags.
    digest.update(command.replace(str(ROOT), "").encode())
    for file in sorted(closure(ROOT, path)):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def check_one(path: Path, database: Path) -> list[str]:
    """What clang-tidy says, each problem with its lines; nothing when it is content."""
    extra = [f"--extra-arg={flag}" for flag in EXTRA]
    done = run([TIDY, "--quiet", "-p", database, *extra, path], LIMIT)
    if done.code == 0:
        return []
    lines = "".join(line for line in done.output.splitlines(True) if not re.match(r"^\d+ warnings? ", line))
    problems = re.split(r"^(?=\S+:\d+:\d+: (?:error|warning))", lines, flags=re.MULTILINE)
    return [problem.rstrip() for problem in problems if problem.strip()]


def without_precompiled(database: Path) -> Path:
    """A copy of the compile commands that clang can follow."""
    entries = json.loads(database.read_text())
    for entry in entries:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
        words = shlex.split(entry["command"])
        if words and words[0].endswith("ccache"):
            entry["command"] = entry["command"].split(" ", 1)[1]
    folder = ROOT / "build" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def check(build: Path, jobs: int = 2) -> list[str]:
    source = build / "compile_commands.json"
    if not source.exists():
        return [f"{source} does not exist: configure the build first"]
    database = without_precompiled(source)
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout
    rules = version + (ROOT / ".clang-tidy").read_text()
    folder = stamps()
    waiting = {
        path: folder / stamp
        for path, command in commands(database / "compile_commands.json").items()
        if not (folder / (stamp := stamp_of(path, command, rules))).exists()
    }
    problems: dict[str, None] = {}  # what stands in a header is said by every file that includes it
    with ThreadPoolExecutor(jobs) as pool:
        for path, said in zip(waiting, pool.map(lambda path: check_one(path, database), waiting)):
            if said:
                problems.update(dict.fromkeys(said))
            else:
                waiting[path].touch()
    print(f"clang-tidy: {len(waiting)} files read, the others were clean before", flush=True)
    return list(problems)
