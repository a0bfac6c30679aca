"""The command ``m0serve publish CHANNEL DATA``: needs no server in this process, and not its module."""

from __future__ import annotations

import argparse
import json
import os
import sys

from m0serve import _control, _realtime

_DONE, _FAILED, _USAGE = 0, 1, 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="m0serve publish",
        description="Publishes an event to every subscriber of a channel and prints the event's id.",
        epilog=f"Exit code 0: it was published; {_FAILED}: it was not, standard error says why; {_USAGE}: wrong usage.",
        allow_abbrev=False,
    )
    parser.add_argument("channel", metavar="CHANNEL")
    parser.add_argument("data", metavar="DATA", help="the event's text; - reads standard input")
    parser.add_argument("--event", metavar="NAME", default="", help="the event's type")
    parser.add_argument("--json", action="store_true", help="DATA is JSON: it is checked, and sent without spaces")
    parser.add_argument(
        "--control",
        metavar="PATH",
        help=f"the server's control socket; else {_control.VARIABLE} names it, or it is this user's only one",
    )
    return parser


def _data(text: str) -> bytes:
    if text != "-":
        return os.fsencode(text)
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer.read()


def _request(given: argparse.Namespace) -> list[bytes]:
    """The arguments of the request. ValueError for what could never be published."""
    channel = _realtime._checked_name("channel", given.channel)
    if not channel:
        raise ValueError("channel is empty")
    event = _realtime._checked_name("event", given.event)
    try:
        text = _data(given.data).decode()
    except UnicodeDecodeError:
        raise ValueError("the data is not UTF-8") from None
    if given.json:
        try:
            value = json.loads(text)
        except ValueError as problem:
            raise ValueError(f"the data is no JSON ({problem})") from None
        return [channel, *_realtime._payload("publish", _realtime._UNSET, value)[:1], event, b"text"]
    return [channel, text.encode(), event, b"text"]


def main(words: list[str]) -> int:
    given = _parser().parse_args(words)
    try:
        fields = _request(given)
    except ValueError as problem:
        print(f"m0serve publish: {problem}", file=sys.stderr)
        return _USAGE
    try:
        (identity,) = _control.request("publish", *fields, path=given.control or None)
    except _control.ControlError as problem:
        print(f"m0serve publish: nothing was published: {problem}", file=sys.stderr)
        return _FAILED
    print(identity.decode())
    return _DONE
