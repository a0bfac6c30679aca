"""The opening handshake of the server that is wrong where it is told to be (wrong_server.py)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import urllib.parse
from collections.abc import Callable

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_EXTENSION = re.compile(
    rf"[ \t]*({_TOKEN.pattern})((?:[ \t]*;[ \t]*{_TOKEN.pattern}(?:=(?:{_TOKEN.pattern}|\"{_TOKEN.pattern}\"))?)*)[ \t]*(,|$)"
)


_WINDOWS = [str(bits) for bits in range(9, 16)]


class Refusal(Exception):
    """Of a handshake: a status and more fields."""

    def __init__(self, status: str, *fields: str) -> None:
        super().__init__(status)
        self.lines = [f"HTTP/1.1 {status}", "Content-Length: 0", "Connection: close", *fields]


class Opening:
    """What was asked and agreed on."""

    def __init__(self, wrongly: Callable[[str], bool]) -> None:
        self._wrongly = wrongly
        self.query: dict[str, list[str]] = {}
        self.deflate = False
        self.window = 15

    def answer(self, head: bytes) -> bytes:
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        fields: dict[str, list[str]] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            fields.setdefault(name.lower(), []).append(value.strip(" \t"))
        parts = urllib.parse.urlsplit(target)
        self.query = urllib.parse.parse_qs(parts.query)
        if parts.path == "/refused":
            raise Refusal("403 Forbidden")
        if parts.path == "/page":
            raise Refusal("200 OK")
        self._check_opening(method, version, fields)
        key = fields["sec-websocket-key"][0].encode()
        if self._wrongly("accepts another key"):
            key = key[::-1]
        answer = [
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Accept: " + base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode(),
        ]
        answer += self._subprotocol(fields.get("sec-websocket-protocol", []))
        answer += self._extensions(fields.get("sec-websocket-extensions", []))
        return ("\r\n".join(answer) + "\r\n\r\n").encode()

    def _check_opening(self, method: str, version: str, fields: dict[str, list[str]]) -> None:
        def lists(name: str, wanted: str) -> bool:
            return wanted in [each.strip().lower() for each in ",".join(fields.get(name, [])).split(",")]

        if method != "GET" or version != "HTTP/1.1" or len(fields.get("host", [])) != 1:
            raise Refusal("400 Bad Request")
        if not lists("upgrade", "websocket") or not lists("connection", "upgrade"):
            raise Refusal("400 Bad Request")
        if fields.get("sec-websocket-version") != ["13"] and not self._wrongly("speaks any version"):
            told = [] if self._wrongly("answers 426 without its version") else ["Sec-WebSocket-Version: 13"]
            raise Refusal("426 Upgrade Required", "Upgrade: websocket", *told)
        keys = fields.get("sec-websocket-key", [])
        try:
            sizes = [len(base64.b64decode(key, validate=True)) for key in keys]
        except binascii.Error:
            raise Refusal("400 Bad Request") from None
        if sizes != [16] and not (len(sizes) == 1 and self._wrongly("takes a key of any length")):
            raise Refusal("400 Bad Request")
        self._check_origin(fields)

    def _check_origin(self, fields: dict[str, list[str]]) -> None:
        origins = fields.get("origin", [])
        if len(origins) > 1:
            raise Refusal("400 Bad Request")
        own = "http://" + fields["host"][0].removesuffix(":80")
        if origins and origins[0].removesuffix(":80") != own and not self._wrongly("lets any origin in"):
            raise Refusal("403 Forbidden")

    def _subprotocol(self, fields: list[str]) -> list[str]:
        offers = [each.strip() for each in ",".join(fields).split(",")] if fields else []
        if not all(_TOKEN.fullmatch(each) for each in offers) or len(set(offers)) < len(offers):
            raise Refusal("400 Bad Request")
        chosen = self.query.get("subprotocol", [])
        if chosen and chosen[0] not in offers and not self._wrongly("answers a subprotocol that was not offered"):
            raise Refusal("500 Internal Server Error")
        return [f"Sec-WebSocket-Protocol: {name}" for name in chosen]

    def _extensions(self, fields: list[str]) -> list[str]:
        agreed = None
        for value in fields:
            at = 0
            while True:
                found = _EXTENSION.match(value, at)
                if not found:
                    raise Refusal("400 Bad Request")
                if found[1] == "permessage-deflate" and agreed is None:
                    agreed = self._agree([each.strip() for each in found[2].split(";")[1:]])
                at = found.end()
                if found[3] != ",":
                    break
        if agreed is None and self._wrongly("answers deflate unasked") and not fields:
            return ["Sec-WebSocket-Extensions: permessage-deflate"]
        self.deflate = agreed is not None
        return [] if agreed is None else [f"Sec-WebSocket-Extensions: {agreed}"]

    def _agree(self, parameters: list[str]) -> str | None:
        """The answer to one offer; None declines it."""
        answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        names = [each.partition("=")[0] for each in parameters]
        if len(set(names)) < len(names):
            return None
        for each in parameters:
            name, sign, value = each.partition("=")
            value = value.strip('"')
            if name in ("server_no_context_takeover", "client_no_context_takeover") and not sign:
                continue
            if name == "client_max_window_bits" and (not sign or value in _WINDOWS):
                continue
            if name == "server_max_window_bits" and value in _WINDOWS:
                self.window = int(value)
                if not self._wrongly("forgets the window it was asked for"):
                    answer += f"; {name}={value}"
            elif not (name == "x-unknown" and self._wrongly("passes over parameters it does not know")):
                return None
        return answer
