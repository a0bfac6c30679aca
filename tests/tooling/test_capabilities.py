"""docs/capabilities.md names no test that does not exist."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "capabilities.md").read_text()
EVIDENCE = re.findall(r"`([\w/]+\.py::[\w*]+|\w+_test:[\w.*]+)`", TEXT)


def unit_tests(room: str) -> set[str]:
    """Suite.Case of every test that the room's sources define."""
    cases = set()
    for path in (ROOT / "src" / "m0" / room).glob("*_test.cpp"):
        text = path.read_text()
        for suite, case in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)", text, re.MULTILINE):
            cases.add(f"{suite}.{case}")
        # A table of cases names its suite where the macro makes it.
        for suite in re.findall(r"^M0_HTTP_CASES\((\w+),", text, re.MULTILINE):
            cases.add(f"{suite}.GivesTheSameEventsForEverySplit")
    return cases


def exists(evidence: str) -> bool:
    if "::" in evidence:
        file, _, name = evidence.partition("::")
        path = ROOT / "tests" / file
        names = re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE) if path.exists() else []
    else:
        binary, _, name = evidence.partition(":")
        names = list(unit_tests(binary.removesuffix("_test")))
    return any(fnmatchcase(candidate, name) for candidate in names)


def test_evidence_exists() -> None:
    assert len(EVIDENCE) > 50
    assert [evidence for evidence in EVIDENCE if not exists(evidence)] == []


def test_every_row_has_an_id_of_its_own_and_evidence() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| CAP-")]
    identifiers = [row.split("|")[1].strip() for row in rows]
    assert len(set(identifiers)) == len(rows) >= 25
    assert [row for row in rows if "`" not in row.split("|")[3]] == []


def test_what_does_not_exist_is_noticed() -> None:
    assert not exists("test_framing.py::test_that_nobody_wrote")
    assert not exists("no_such_file.py::test_refused")
    assert not exists("pool_test:LaneWatch.ThatNobodyWrote")
