"""m0serve.publish and its neighbours, where nothing serves: an application must run elsewhere too."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from m0serve import _control, _realtime  # noqa: E402


class Core:
    """What the server's module is asked, and what it says."""

    def __init__(self, said: str = "000000000001-7") -> None:
        self.said = said
        self.asked: list[tuple[bytes, bytes, bytes, bool]] = []
        self.asked_for: list[tuple[bytes, ...]] = []
        self.answers: list[bytes] | str = []

    def publish(self, channel: bytes, data: bytes, event: bytes, binary: bool) -> str:
        self.asked.append((channel, data, event, binary))
        return self.said

    def cursor(self) -> str:
        return "000000000001-6"

    def connection(self) -> str:
        return "0000000a-1"

    def ask(self, verb: bytes, *arguments: bytes) -> list[bytes] | str:
        self.asked_for.append((verb, *arguments))
        return self.answers


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs on this machine."""
    monkeypatch.setenv("M0_CONTROL", "/nowhere.sock")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    import m0serve

    made = Core()
    monkeypatch.setattr(m0serve, "_core", made, raising=False)
    monkeypatch.setitem(sys.modules, "m0serve._core", made)
    return made


def test_text_bytes_and_objects(core: Core) -> None:
    assert _realtime.publish("a", "täxt") == "000000000001-7"
    _realtime.publish("ä", b"\x00\xff", "note")
    _realtime.publish("a", bytearray(b"x"))
    _realtime.publish("a", memoryview(b"y"))
    _realtime.publish("a", json={"k": [1, None, "ü"]})
    _realtime.publish("a", json=None)
    assert core.asked == [
        (b"a", "täxt".encode(), b"", False),
        ("ä".encode(), b"\x00\xff", b"note", True),
        (b"a", b"x", b"", True),
        (b"a", b"y", b"", True),
        (b"a", '{"k":[1,null,"ü"]}'.encode(), b"", False),
        (b"a", b"null", b"", False),
    ]
    assert _realtime.cursor() == "000000000001-6"


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {}),
        (("a",), {}),
        (("a", 1), {}),
        (("a", "x"), {"json": 1}),
        ((b"a", "x"), {}),
        (("a", "x", b"e"), {}),
        (("a", None), {}),
    ],
)
def test_wrong_types_are_type_errors(core: Core, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        _realtime.publish(*arguments, **options)
    assert core.asked == []


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "a\rb", "a\0b", "\x85", "\ud800"])
def test_a_channel_that_cannot_be_is_a_value_error(core: Core, name: str) -> None:
    with pytest.raises(ValueError):
        _realtime.publish(name, "x")
    with pytest.raises(ValueError):
        _realtime.channel_header(name)
    if name:
        with pytest.raises(ValueError):
            _realtime.publish("a", "x", name)
    assert core.asked == []


def test_what_is_no_json_is_a_value_error(core: Core) -> None:
    with pytest.raises(ValueError):
        _realtime.publish("a", json=float("nan"))
    assert core.asked == []


def test_what_is_not_published_is_one_line_and_none(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    core.said = "!no room"
    with caplog.at_level(logging.WARNING, "m0serve"):
        assert _realtime.publish("a", "x") is None
    assert [record.getMessage() for record in caplog.records] == ["nothing was published to 'a': no room"]


class Outside:
    """The control socket's other end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, said: list[bytes] | Exception) -> None:
        self.said = said
        self.asked: list[tuple[Any, ...]] = []
        monkeypatch.setattr(_control, "request", self.request)

    def request(self, *words: Any) -> list[bytes]:
        self.asked.append(words)
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def test_a_process_that_serves_nobody_asks_the_server(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    core.said = ""
    outside = Outside(monkeypatch, [b"000000000001-9"])
    assert _realtime.publish("\xe4", "x", "note") == "000000000001-9"
    assert _realtime.publish("a", b"\xff") == "000000000001-9"
    assert outside.asked == [
        ("publish", "\xe4".encode(), b"x", b"note", b"text"),
        ("publish", b"a", b"\xff", b"", b"binary"),
    ]


def test_one_that_serves_asks_nobody(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = Outside(monkeypatch, [b"000000000001-9"])
    assert _realtime.publish("a", "x") == "000000000001-7"
    core.said = "!no room"
    assert _realtime.publish("a", "x") is None
    assert outside.asked == []


def test_what_the_server_does_not_publish_is_one_line_and_none(
    core: Core, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    core.said = ""
    Outside(monkeypatch, _control.ControlError("no room"))
    assert _realtime.publish("a", "x") is None
    assert [record.getMessage() for record in caplog.records] == ["nothing was published to 'a': no room"]


def test_without_the_servers_module_nothing_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import m0serve

    monkeypatch.delattr(m0serve, "_core", raising=False)
    monkeypatch.setitem(sys.modules, "m0serve._core", None)
    assert _realtime.publish("a", "x") is None
    assert _realtime.cursor() is None
    assert [record.getMessage() for record in caplog.records] == [
        "nothing was published to 'a': no server runs at /nowhere.sock"
    ]


def test_channel_header() -> None:
    assert _realtime.channel_header("news") == "news"
    assert _realtime.channel_header("a,b", "room 1", "caf\xe9", "100%") == "a%2Cb, room%201, caf%C3%A9, 100%25"
    assert _realtime.channel_header("user:42/inbox") == "user:42/inbox"


def test_what_is_sent_to_one(core: Core) -> None:
    assert _realtime.connection() == "0000000a-1"
    assert _realtime.send("0000000a-1", "täxt") is True
    assert _realtime.send("0000000a-1", b"\xff") is True
    assert _realtime.send("0000000a-1", json=[1]) is True
    assert core.asked_for == [
        (b"send", b"0000000a-1", "täxt".encode(), b"text"),
        (b"send", b"0000000a-1", b"\xff", b"binary"),
        (b"send", b"0000000a-1", b"[1]", b"text"),
    ]


def test_how_one_is_told_to_leave(core: Core) -> None:
    assert _realtime.close(connection="0000000a-1") is True
    assert _realtime.close(channel="ä", reconnect=True) is True
    assert _realtime.close(channel="a", code=4000, reason="enoügh") is True
    assert core.asked_for == [
        (b"close", b"connection", b"0000000a-1", b"stay-away", b"0", b""),
        (b"close", b"channel", "ä".encode(), b"reconnect", b"0", b""),
        (b"close", b"channel", b"a", b"stay-away", b"4000", "enoügh".encode()),
    ]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, TypeError),
        ({"channel": "a", "connection": "b"}, TypeError),
        ({"channel": 1}, TypeError),
        ({"connection": b"x"}, TypeError),
        ({"channel": ""}, ValueError),
        ({"channel": "a", "code": "1000"}, TypeError),
        ({"channel": "a", "reason": "a\nb"}, ValueError),
        ({"channel": "a", "reason": "x" * 124}, ValueError),
        *(
            ({"channel": "a", "code": code}, ValueError)
            for code in (0, 999, 1002, 1004, 1005, 1006, 1010, 1015, 2999, 5000)
        ),
    ],
)
def test_a_farewell_that_cannot_be(core: Core, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        _realtime.close(**options)
    assert core.asked_for == []


def test_who_is_there(core: Core) -> None:
    core.answers = [b"3", b"some", b"0000000a-1", b"M0-Meta-User: Ada\r\nM0-Meta-Age: \r\n", b"0000000b-2", b""]
    found = _realtime.presence("ä", 2)
    assert found == _realtime.Presence(
        3, (_realtime.Connection("0000000a-1", {"User": "Ada", "Age": ""}), _realtime.Connection("0000000b-2")), False
    )
    assert core.asked_for == [(b"presence", "ä".encode(), b"2")]
    for wrong, error in ((-1, ValueError), ("2", TypeError), (None, TypeError)):
        with pytest.raises(error):
            _realtime.presence("a", wrong)  # type: ignore[arg-type]


def test_what_nobody_does_is_falsy_and_one_line(core: Core, caplog: pytest.LogCaptureFixture) -> None:
    core.answers = "no room"
    with caplog.at_level(logging.WARNING, "m0serve"):
        assert _realtime.send("0000000a-1", "x") is False
        assert _realtime.close(channel="a") is False
        assert _realtime.presence("a") is None
    assert [record.getMessage() for record in caplog.records] == [
        "nothing was sent to '0000000a-1': no room",
        "nobody was told to leave 'a': no room",
        "nobody knows who has 'a': no room",
    ]


def test_a_process_that_serves_nobody_asks_for_the_rest_too(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    core.answers = ""
    outside = Outside(monkeypatch, [b"1", b"all"])
    assert _realtime.presence("a") == _realtime.Presence(1)
    assert _realtime.send("0000000a-1", "x") is True
    assert outside.asked == [("presence", b"a", b"100"), ("send", b"0000000a-1", b"x", b"text")]


def test_channel_names_come_back_as_they_were() -> None:
    names = ["a", "ä, b", "50%", "with space", "slash/colon:", "日本"]
    assert _realtime.channels(_realtime.channel_header(*names)) == names
    assert _realtime.channels("") == []
