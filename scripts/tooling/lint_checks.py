"""Everything `make lint` looks at; each check is one outcome."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tooling import rooms, tidy
from tooling.processes import ROOT, run
from tooling.sources import cxx_files
from tooling.tally import Outcome, failed, passed

LIMIT = 900.0
PYTHON_FOLDERS = ("python", "scripts", "tests", "examples", "bench")


def scripts() -> list[Path]:
    """Python programs without a suffix."""
    found = [path for folder in ("scripts", "bench") for path in (ROOT / folder).glob("*") if path.is_file()]
    return sorted(
        path for path in found if not path.suffix and path.open("rb").readline().startswith(b"#!/usr/bin/python3")
    )


def output_of(command: Sequence[str | Path]) -> list[str]:
    done = run(command, LIMIT)
    return [] if done.code == 0 else [done.output.strip() or f"{command[0]}: exit code {done.code}"]


def check_rooms() -> list[str]:
    return rooms.check(ROOT)


def check_format(fix: bool = False) -> list[str]:
    files = cxx_files(ROOT)
    if fix:
        return output_of(["clang-format-19", "-i", *files])
    said = output_of(["clang-format-19", "--dry-run", "-Werror", *files])
    places = re.findall(r"^(\S+?):\d+:\d+: error", "\n".join(said), re.MULTILINE)
    return [
        f"{Path(place).relative_to(ROOT)}: not in its format (make format)" for place in dict.fromkeys(places)
    ] or said


def check_black(fix: bool = False) -> list[str]:
    folders = [folder for folder in PYTHON_FOLDERS if any((ROOT / folder).rglob("*.py"))]
    return output_of(["/usr/bin/black", *([] if fix else ["--check"]), *folders, *scripts()])


def check_mypy() -> list[str]:
    """The package and the tools strictly; a program without a suffix one at a time, for each is a __main__."""
    problems = output_of(["/usr/bin/mypy", "scripts/tooling"])
    problems += output_of(["/usr/bin/mypy", "--no-explicit-package-bases", *(ROOT / "tests" / "tooling").glob("*.py")])
    if any((ROOT / "python").rglob("*.py")):
        problems += output_of(["/usr/bin/mypy", "python/m0serve"])
    for script in scripts():
        problems += output_of(["/usr/bin/mypy", script])
    return problems


def check_headers() -> list[str]:
    return output_of([ROOT / "scripts" / "build", "release", "header_check"])


def check_tidy() -> list[str]:
    return tidy.check(ROOT / "build" / "release")


CHECKS: dict[str, Callable[[], list[str]]] = {
    "rooms": check_rooms,
    "format": check_format,
    "black": check_black,
    "mypy": check_mypy,
    "headers": check_headers,
    "tidy": check_tidy,
}
FIXES: dict[str, Callable[[], list[str]]] = {
    "format": lambda: check_format(fix=True),
    "black": lambda: check_black(fix=True),
}


def run_one(name: str, check: Callable[[], list[str]]) -> Outcome:
    problems = check()
    for problem in problems:
        print(problem, flush=True)
    print(f"lint {name}: {'FAILED' if problems else 'ok'}", flush=True)
    return failed(f"lint {name}", problems[0]) if problems else passed(f"lint {name}")


def run_all() -> list[Outcome]:
    return [run_one(name, check) for name, check in CHECKS.items()]
