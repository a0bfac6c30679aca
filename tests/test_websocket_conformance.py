"""RFC 6455 and RFC 7692, row by row, over real sockets; docs/websocket-conformance.md is the page about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from harness.conformance.rows import MAX_MESSAGE, Row, run
from harness.conformance.table import ROWS, counts
from harness.server import ROOT, Server, serving
from harness.waiting import BOUND
from harness.wrong_server import MISTAKES, WrongServer

# Longer rows show the same again in each of their thousands of bytes.
_MOST_ONE_BY_ONE = 400


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("mirror"), "mirror", "--max-message", str(MAX_MESSAGE)) as server:
        yield server


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.identity)
def test_row(mirror: Server, row: Row) -> None:
    wrong = run(row, ("127.0.0.1", mirror.port), BOUND)
    assert wrong is None, f"RFC {row.section}, {row.demand}: {wrong}"


def test_rows_whose_bytes_come_one_by_one(mirror: Server) -> None:
    rows = [row for row in ROWS if len(row.sent) < _MOST_ONE_BY_ONE]
    assert len(rows) > 250
    wrong = {row.identity: run(row, ("127.0.0.1", mirror.port), BOUND, one_by_one=True) for row in rows}
    assert not {identity: why for identity, why in wrong.items() if why is not None}


def failures(server: WrongServer, rows: list[Row]) -> dict[str, str]:
    found = {row.identity: run(row, server.address, BOUND) for row in rows}
    return {identity: why for identity, why in found.items() if why is not None}


def test_a_server_without_mistakes_has_no_failures() -> None:
    with WrongServer() as server:
        assert failures(server, ROWS) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed_in_its_group_alone(mistake: str) -> None:
    with WrongServer(mistake) as server:
        found = failures(server, ROWS)
    assert {identity.partition("/")[0] for identity in found} == {MISTAKES[mistake]}, found


def test_every_group_has_a_mistake_that_it_notices() -> None:
    assert set(MISTAKES.values()) == set(counts())


def test_rows_have_names_and_demands_of_their_own() -> None:
    assert [name for name, times in Counter(row.identity for row in ROWS).items() if times > 1] == []
    assert all(re.match(r"(6455|6454|7692|9110|9112) \d", row.section) for row in ROWS)


def test_the_page_tells_the_groups_and_their_counts() -> None:
    page = (ROOT / "docs" / "websocket-conformance.md").read_text()
    told = {name: int(number) for name, number in re.findall(r"^\| `([\w-]+)` \| (\d+) \|", page, re.MULTILINE)}
    assert told == counts()
    assert f"{len(ROWS)} rows" in page
    assert [mistake for mistake in MISTAKES if mistake not in page] == []
