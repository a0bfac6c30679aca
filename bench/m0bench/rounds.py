"""Paired runs. The machine's speed drifts by more than what is compared, so servers take turns within a round and what
is told of two servers is the median of their ratios, each of one round."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol, TypeVar

from .clients import Sample


class Named(Protocol):
    """What is measured: a started server, or a way to start one."""

    @property
    def name(self) -> str:
        ...


Measured = TypeVar("Measured", bound=Named)


@dataclass
class Row:
    """What one server did in one case (so many connections, so many sleepers), a sample a round."""

    server: str
    case: str
    samples: list[Sample] = field(default_factory=list)

    def median(self, key: str) -> float:
        return median(sample[key] for sample in self.samples)

    def as_json(self) -> dict[str, Any]:
        medians = {key: self.median(key) for key in self.samples[0]} if self.samples else {}
        return {"server": self.server, "case": self.case, "median": medians, "samples": self.samples}


class Rows(list[Row]):
    """The rows of one scenario."""

    def row(self, server: str, case: str) -> Row | None:
        return next((row for row in self.of_case(case) if row.server == server), None)

    def of_case(self, case: str) -> "list[Row]":
        return [row for row in self if row.case == case and row.samples]

    def cases(self) -> list[str]:
        return list(dict.fromkeys(row.case for row in self))

    def servers(self) -> list[str]:
        return list(dict.fromkeys(row.server for row in self))


def ratio(a: Row, b: Row, key: str) -> float:
    """The median of a / b, pair by pair."""
    pairs = [x[key] / y[key] for x, y in zip(a.samples, b.samples) if y[key] > 0]
    return median(pairs) if pairs else float("nan")


def take_turns(
    servers: list[Measured],
    cases: dict[str, Any],
    rounds: int | Callable[[Row], int],
    measure: Callable[[Measured, Any], Sample],
) -> Rows:
    """Every server in every case, `rounds` times. Servers are the innermost turn: what is compared is seconds apart.

    A function says for each row, by what it has so far, how many rounds it takes part in.

    A server that cannot be measured in a case is told and sits out the rest of that case; what it has so far still
    pairs round by round.
    """
    rows = Rows(Row(server.name, case) for case in cases for server in servers)
    turns = list(zip(rows, [(server, parameter) for parameter in cases.values() for server in servers]))
    failed = set()

    def unfinished(row: Row) -> bool:
        wanted = rounds(row) if callable(rounds) else rounds
        return id(row) not in failed and len(row.samples) < wanted

    while pending := [(row, *turn) for row, turn in turns if unfinished(row)]:
        for row, server, parameter in pending:
            try:
                row.samples.append(measure(server, parameter))
            except (subprocess.CalledProcessError, ValueError) as problem:
                print(f"  {row.server}, {row.case}: {problem}", flush=True)
                failed.add(id(row))
    return rows
