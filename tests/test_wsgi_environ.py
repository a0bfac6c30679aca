"""What the application is told: environ and wsgi.input (PEP 3333)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from harness.client import Headers
from harness.server import Server, serving


def environ_of(server: Server, target: str = "/environ", headers: Headers | None = None, **more: Any) -> dict[str, Any]:
    with server.connect() as client:
        client.request(more.pop("method", "GET"), target, headers, **more)
        answer = client.response()
    assert answer.status == 200, answer
    return answer.json()["environ"]


def test_the_required_keys(bare: Server) -> None:
    seen = environ_of(bare, "/environ?a=b&c=%20", [("Host", "example.com:81")])
    assert seen["REQUEST_METHOD"] == "GET"
    assert seen["SCRIPT_NAME"] == ""
    assert seen["PATH_INFO"] == "/environ"
    assert seen["QUERY_STRING"] == "a=b&c=%20"
    assert seen["SERVER_NAME"] == "127.0.0.1"
    assert seen["SERVER_PORT"] == str(bare.port)
    assert seen["SERVER_PROTOCOL"] == "HTTP/1.1"
    assert seen["HTTP_HOST"] == "example.com:81"
    assert seen["wsgi.version"] == [1, 0]
    assert seen["wsgi.url_scheme"] == "http"
    assert seen["wsgi.multithread"] is True
    assert seen["wsgi.multiprocess"] is False
    assert seen["wsgi.run_once"] is False


def test_types(bare: Server) -> None:
    """A plain dict of plain str: subclasses are forbidden."""
    types = bare.get("/environ").json()["types"]
    for key, kind in types.items():
        if "." not in key:
            assert kind == "str", key
    assert types["wsgi.version"] == "tuple"
    for key in ("wsgi.multithread", "wsgi.multiprocess", "wsgi.run_once", "wsgi.input_terminated"):
        assert types[key] == "bool"
    for key in ("wsgi.input", "wsgi.errors", "wsgi.file_wrapper", "m0serve.disconnected"):
        assert key in types


def test_the_address_of_the_client(bare: Server) -> None:
    with bare.connect() as client:
        seen = client.get("/environ").json()["environ"]
        assert (seen["REMOTE_ADDR"], seen["REMOTE_PORT"]) == ("127.0.0.1", str(client.socket.getsockname()[1]))


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/environ", "/environ", ""),
        ("/environ?", "/environ", ""),
        ("/environ?x", "/environ", "x"),
        ("/environ?a=1?b=2", "/environ", "a=1?b=2"),
        ("/%65nviron?%61", "/environ", "%61"),
        ("/environ?a+b", "/environ", "a+b"),
    ],
)
def test_target(bare: Server, target: str, path: str, query: str) -> None:
    seen = environ_of(bare, target)
    assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == (path, query)
    assert seen["REQUEST_URI"] == target


@pytest.fixture(scope="module")
def anywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An application that shows its environ at any path."""
    directory = tmp_path_factory.mktemp("anywhere")
    (directory / "anywhere.py").write_text(
        "import json\n"
        "def application(environ, start_response):\n"
        "    body = json.dumps({'environ': {k: v for k, v in environ.items() if isinstance(v, str)}}).encode()\n"
        "    start_response('200 OK', [('Content-Length', str(len(body)))])\n"
        "    return [body]\n"
    )
    with serving(directory, "anywhere", cwd=directory) as server:
        yield server


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("/", "/"),
        ("/%C3%A4", "/\u00c3\u00a4"),
        ("/a%2Fb", "/a/b"),
        ("/a%20b%3F", "/a b?"),
        ("/100%", "/100%"),
        ("/a%zzb", "/a%zzb"),
        ("/a%0", "/a%0"),
        ("/a+b", "/a+b"),
        ("//double", "//double"),
        ("/./a/../b", "/./a/../b"),
        ("/a;b=c", "/a;b=c"),
        ("/%FF", "/\u00ff"),
        ("/\u00e4", "/\u00e4"),
    ],
)
def test_path_info_is_decoded_once_to_latin_1(anywhere: Server, sent: str, path: str) -> None:
    assert environ_of(anywhere, sent)["PATH_INFO"] == path


def test_request_uri_is_raw(anywhere: Server) -> None:
    assert environ_of(anywhere, "/a%2Fb?c=%64")["REQUEST_URI"] == "/a%2Fb?c=%64"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "get", "X-Y"])
def test_methods(anywhere: Server, method: str) -> None:
    assert environ_of(anywhere, "/", method=method)["REQUEST_METHOD"] == method


def test_http10(bare: Server) -> None:
    assert environ_of(bare, version="1.0")["SERVER_PROTOCOL"] == "HTTP/1.0"


def test_fields(bare: Server) -> None:
    seen = environ_of(
        bare,
        headers=[
            ("User-Agent", "a b"),
            ("X-Own-Field", "1"),
            ("x-lower", "2"),
            ("Accept", "*/*"),
            ("X.Dot", "3"),
            ("X-Empty", ""),
        ],
    )
    assert seen["HTTP_USER_AGENT"] == "a b"
    assert seen["HTTP_X_OWN_FIELD"] == "1"
    assert seen["HTTP_X_LOWER"] == "2"
    assert seen["HTTP_ACCEPT"] == "*/*"
    assert seen["HTTP_X.DOT"] == "3"
    assert seen["HTTP_X_EMPTY"] == ""


def test_field_values_are_latin_1(bare: Server) -> None:
    assert environ_of(bare, headers=[("X-Name", "Gr\u00f6\u00dfe")])["HTTP_X_NAME"] == "Gr\u00f6\u00dfe"


def test_content_type_and_length_have_no_prefix(bare: Server) -> None:
    seen = environ_of(bare, headers=[("Content-Type", "text/plain")], method="POST", body=b"abc")
    assert (seen["CONTENT_TYPE"], seen["CONTENT_LENGTH"]) == ("text/plain", "3")
    assert "HTTP_CONTENT_TYPE" not in seen
    assert "HTTP_CONTENT_LENGTH" not in seen


def test_no_content_length_without_a_body(bare: Server) -> None:
    assert environ_of(bare).get("CONTENT_LENGTH", "") == ""


def test_a_chunked_body_can_be_read_by_applications_that_trust_the_length(bare: Server) -> None:
    """The body is there as a whole: a length is true, or the coding is not shown with a wrong one."""
    from harness.client import chunked

    seen = environ_of(bare, headers=[("Transfer-Encoding", "chunked")], method="POST", body=chunked(b"abc", b"de"))
    assert seen.get("CONTENT_LENGTH", "5") in ("5", "")


def test_repeated_fields_are_joined(bare: Server) -> None:
    headers = [("X-A", "1"), ("Accept", "a"), ("x-a", "2"), ("Accept", "b"), ("X-A", "3")]
    seen = environ_of(bare, headers=headers)
    assert seen["HTTP_X_A"].replace(" ", "") == "1,2,3"
    assert seen["HTTP_ACCEPT"].replace(" ", "") == "a,b"


def test_repeated_cookies_are_joined_by_semicolon(bare: Server) -> None:
    """RFC 9113 8.2.3; a comma is part of a cookie's value."""
    seen = environ_of(bare, headers=[("Cookie", "a=1"), ("Cookie", "b=2")])
    assert seen["HTTP_COOKIE"] == "a=1; b=2"


def test_names_with_an_underscore_never_arrive(bare: Server) -> None:
    """They would look like the field with a hyphen."""
    seen = environ_of(
        bare,
        headers=[
            ("X_Forwarded_For", "evil"),
            ("X-Forwarded_For", "evil"),
            ("Content_Length", "5"),
            ("X-Good", "1"),
            ("_", "evil"),
        ],
    )
    assert seen["HTTP_X_GOOD"] == "1"
    assert "evil" not in json.dumps(seen)
    assert seen.get("CONTENT_LENGTH", "") == ""


def test_an_underscore_does_not_join_a_true_field(bare: Server) -> None:
    seen = environ_of(bare, headers=[("X-User", "me"), ("X_User", "evil")])
    assert seen["HTTP_X_USER"] == "me"


@pytest.mark.parametrize("name", ["Proxy", "proxy", "PROXY"])
def test_proxy_never_arrives(bare: Server, name: str) -> None:
    """It would become HTTP_PROXY, which libraries take for a setting (CVE-2016-5385)."""
    assert "HTTP_PROXY" not in environ_of(bare, headers=[(name, "http://evil")])


def test_one_requests_fields_do_not_reach_the_next(bare: Server) -> None:
    with bare.connect() as client:
        first = client.get("/environ?a", [("X-Once", "1"), ("Content-Type", "text/odd"), ("Cookie", "a=b")]).json()[
            "environ"
        ]
        second = client.get("/environ").json()["environ"]
    assert first["HTTP_X_ONCE"] == "1"
    assert not {"HTTP_X_ONCE", "HTTP_COOKIE"} & set(second)
    assert second.get("CONTENT_TYPE", "") == ""
    assert second["QUERY_STRING"] == ""


def test_requests_side_by_side_do_not_mix(bare: Server) -> None:
    mixed: list[str] = []

    def ask(name: str) -> None:
        with bare.connect() as client:
            for number in range(40):
                seen = client.get(f"/environ?{name}{number}", [("X-Mine", f"{name}{number}")]).json()["environ"]
                if not seen["QUERY_STRING"] == seen["HTTP_X_MINE"] == f"{name}{number}":
                    mixed.append(str(seen))

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mixed == []


# -- wsgi.input


def calls(server: Server, body: bytes, *wanted: list[Any]) -> list[Any]:
    return server.post("/input?calls=" + json.dumps(wanted).encode().hex(), body).json()


LINES = b"first\nsecond\r\n\nlast without end"


@pytest.mark.parametrize("padding", [0, 100_000], ids=["in memory", "in a file"])
def test_input(bare: Server, padding: int) -> None:
    body = LINES + b"x" * padding
    last = "last without end" + "x" * padding
    assert calls(bare, body, ["read"]) == [body.decode()]
    assert calls(bare, body, ["read", -1]) == [body.decode()]
    assert calls(bare, body, ["read", None]) == [body.decode()]
    assert calls(bare, body, ["read", 3], ["read", 0], ["read", 5], ["read", 10_000_000], ["read"], ["read", 5]) == [
        "fir",
        "",
        "st\nse",
        body[8:].decode(),
        "",
        "",
    ]
    assert calls(bare, body, *[["readline"]] * 6) == ["first\n", "second\r\n", "\n", last, "", ""]
    assert calls(bare, body, ["readline", 2], ["readline", 100], ["readline", 0], ["readline", -1]) == [
        "fi",
        "rst\n",
        "",
        "second\r\n",
    ]
    assert calls(bare, body, ["readlines"], ["readlines"]) == [["first\n", "second\r\n", "\n", last], []]
    assert calls(bare, body, ["iterate"], ["read"]) == [["first\n", "second\r\n", "\n", last], ""]
    assert calls(bare, body, ["readline"], ["read", 3], ["readlines"]) == ["first\n", "sec", ["ond\r\n", "\n", last]]


def test_readlines_with_a_hint(bare: Server) -> None:
    (lines, rest) = calls(bare, LINES, ["readlines", 7], ["readlines"])
    assert lines[:2] == ["first\n", "second\r\n"]
    assert "".join(lines + rest).encode() == LINES


def test_input_of_no_body(bare: Server) -> None:
    assert calls(bare, b"", ["read"], ["read", 5], ["readline"], ["readlines"], ["iterate"]) == ["", "", "", [], []]


def test_input_refuses_nonsense(bare: Server) -> None:
    results = calls(bare, b"abc", ["read", "x"], ["read", 1, 2], ["readline", "x"], ["read"])
    assert results == ["TypeError", "TypeError", "TypeError", "abc"]


def test_input_at_the_border_of_memory_and_file(bare: Server) -> None:
    for size in (65535, 65536, 65537):
        body = b"a" * (size - 2) + b"\nb"
        assert calls(bare, body, ["readline"], ["readline"], ["readline"]) == ["a" * (size - 2) + "\n", "b", ""]


def test_input_terminated(bare: Server) -> None:
    assert environ_of(bare)["wsgi.input_terminated"] is True
