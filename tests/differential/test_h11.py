"""What h11 refuses, m0serve refuses, unless the RFC says otherwise; what both accept ends at the same byte."""

from __future__ import annotations

import os
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import h11
import pytest

from .mutations import SEEDS, mutated

COUNT = 120_000
SEED = int(os.environ.get("M0_SEED", "9112"))
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Verdict:
    """About the first request of an input: `used` and `body` are bytes, of an accepted one only."""

    kind: str
    used: int = 0
    body: int = 0
    why: str = ""


def _without_empty_lines(text: bytes) -> bytes:
    # RFC 9112 2.2: a server "SHOULD ignore at least one empty line (CRLF) received prior to the request-line".
    for _ in range(4):
        text = text.removeprefix(b"\r\n")
    return text


def _with_ascii_target(text: bytes) -> bytes:
    # RFC 9112 3.2: refusing an invalid request-target is a SHOULD; browsers send bytes above ASCII as they are, and a
    # refusal would break pages that other servers serve. They cannot be taken for a delimiter.
    line, end, rest = text.partition(b"\r\n")
    parts = line.split(b" ")
    if len(parts) == 3:
        parts[1] = bytes(byte if byte < 0x80 else ord("x") for byte in parts[1])
    return b" ".join(parts) + end + rest


# What m0serve accepts and h11 does not, as the change that makes h11 accept it too: both must agree on what is left.
LENIENCIES = {
    "empty lines before a request (RFC 9112 2.2)": _without_empty_lines,
    "bytes above ASCII in a target (RFC 9112 3.2)": _with_ascii_target,
}


def h11_verdict(text: bytes) -> Verdict:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(text)
    body = 0
    try:
        while True:
            event = connection.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED):
                return Verdict("incomplete")
            if isinstance(event, h11.Data):
                body += len(event.data)
            if isinstance(event, h11.EndOfMessage):
                left, _ = connection.trailing_data
                return Verdict("accept", len(text) - len(left), body)
    except h11.RemoteProtocolError as error:
        return Verdict("refuse", why=str(error))


def verdict_program() -> Path:
    tree = Path(os.environ.get("M0_BUILD") or ROOT / "build" / "release")
    return tree / "tests" / "differential" / "http_verdict"


def m0_verdicts(texts: list[bytes]) -> list[Verdict]:
    sent = b"".join(struct.pack("!I", len(text)) + text for text in texts)
    done = subprocess.run([verdict_program()], input=sent, stdout=subprocess.PIPE, check=True, timeout=60)
    verdicts = []
    for line in done.stdout.decode("ascii").splitlines():
        kind, *rest = line.split(" ", 2)
        if kind == "accept":
            verdicts.append(Verdict(kind, int(rest[0]), int(rest[1])))
        else:
            verdicts.append(Verdict(kind, why=" ".join(rest)))
    return verdicts


def test_both_accept_what_is_not_spoilt() -> None:
    for text, ours in zip(SEEDS, m0_verdicts(list(SEEDS)), strict=True):
        assert ours.kind == "accept", (text, ours)
        assert ours == h11_verdict(text), text


@pytest.mark.timeout(120)
def test_nothing_that_h11_refuses_is_accepted() -> None:
    print(f"seed {SEED}, {COUNT} requests")
    texts = list(mutated(COUNT, SEED))
    kinds: Counter[tuple[str, str]] = Counter()
    excused: Counter[str] = Counter()
    wrong: list[str] = []
    for text, ours in zip(texts, m0_verdicts(texts), strict=True):
        theirs = h11_verdict(text)
        kinds[theirs.kind, ours.kind] += 1
        if ours.kind != "accept":
            continue
        plain = text
        for name, change in LENIENCIES.items():
            if theirs.kind == "accept":
                break
            changed = change(plain)
            if changed != plain:
                excused[name] += 1
                plain = changed
                theirs = h11_verdict(plain)
        if theirs.kind != "accept":
            wrong.append(f"{text!r} {theirs}")
        elif (ours.used - (len(text) - len(plain)), ours.body) != (theirs.used, theirs.body):
            wrong.append(f"{text!r} ends elsewhere: {ours} {theirs}")
    print(f"h11, m0serve: {dict(kinds)}; excused: {dict(excused)}")

    refused = sum(count for (theirs, _), count in kinds.items() if theirs == "refuse")
    assert len(texts) >= 100_000
    assert refused >= 0.3 * len(texts), f"h11 refused only {refused}"
    # A mutation that nobody accepts any more would prove nothing.
    assert kinds["accept", "accept"] >= 0.05 * len(texts)
    assert not wrong, "\n".join([f"{len(wrong)} accepted, seed {SEED}", *wrong[:20]])
