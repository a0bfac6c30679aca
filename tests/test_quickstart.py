"""QUICKSTART.md, followed to the letter (harness.page). Whoever changes the page changes what is tested here."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from harness.browser import Browser, Page
from harness.client import Response
from harness.event_stream import EventStream
from harness.page import Block, Reader, blocks, section
from harness.server import ROOT, Server, command, serving
from harness.waiting import wait_until
from harness.web_socket import WebSocket

import test_django

PAGE = (ROOT / "QUICKSTART.md").read_text()
PATHS = {
    "Django": ["## Django"],
    "Flask": ["## Flask"],
    "Flask with Flask-WTF": ["## Flask", "### Flask with Flask-WTF"],
}
NEEDS = {"Django": "django", "Flask": "flask", "Flask with Flask-WTF": "flask_wtf"}


def steps(name: str) -> list[Block]:
    """What a reader of that path comes by; a part of a section is a path of its own."""
    texts = [section(PAGE, heading) for heading in PATHS[name]]
    return [block for text in texts for block in blocks(text.partition("\n### ")[0])]


@dataclass
class Site:
    """What the page has led to."""

    name: str
    server: Server
    reader: Reader

    @property
    def host(self) -> list[tuple[str, str]]:
        return [("Host", f"127.0.0.1:{self.server.port}")]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/"


@pytest.fixture(scope="module", params=PATHS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip(NEEDS[request.param])
    folder = tmp_path_factory.mktemp("reader")
    programs = tmp_path_factory.mktemp("bin")
    (programs / "m0serve").symlink_to(command()[0])  # as an installation gives it
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        # Beside other servers of this user: which one `m0serve publish` asks.
        "M0_CONTROL": str(tmp_path_factory.mktemp("control") / "control"),
    }
    reader = Reader(folder, env)
    for block in steps(request.param):
        reader.follow(block)
    program, *words = reader.serving
    assert program == "m0serve"
    logs = tmp_path_factory.mktemp("logs")
    with serving(logs, *words, cwd=reader.here, env=env, program=[str(programs / program)]) as server:
        yield Site(request.param, server, reader)


class Visitor(test_django.Browser):
    """Somebody who has loaded the page."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.server)
        self.site = site
        answer = self.ask("GET", "/", site.host)
        assert answer.status == 200, answer
        self.page = answer.body.decode()

    @property
    def stream(self) -> str:
        """What the page opens its EventSource with."""
        found = re.search(r'new EventSource\("([^"]*)"\)', self.page)
        assert found, self.page
        assert re.fullmatch(r"/news\?last_event_id=[0-9a-f]+-\d+", unquote(found[1]))
        return found[1]

    @property
    def token(self) -> dict[str, str]:
        found = re.search(r'name="(csrf\w+)" value="([^"]+)"', self.page)
        assert (found is None) == (self.site.name == "Flask")
        return {found[1]: found[2]} if found else {}

    def tell(self, text: str, token: dict[str, str]) -> Response:
        fields, body = test_django.multipart({"text": text, **token}, {})
        return self.ask("POST", "/news", [*self.site.host, *fields], body)


def test_news_reach_everybody_from_where_the_page_was(site: Site) -> None:
    one, two = Visitor(site), Visitor(site)
    assert one.tell("between page & stream", one.token).status == 204
    with EventStream(site.server, one.stream, site.host) as first:
        with EventStream(site.server, two.stream, site.host) as second:
            assert two.tell("later", two.token).status == 204
            for stream in (first, second):
                assert [event.data for event in stream.take(2)] == ["between page & stream", "later"]


def test_a_form_without_its_token(site: Site) -> None:
    status = {"Django": 403, "Flask": 204, "Flask with Flask-WTF": 400}[site.name]
    assert Visitor(site).tell("forged", {}).status == status


def test_what_one_says_all_hear(site: Site) -> None:
    origin = [("Origin", f"http://127.0.0.1:{site.server.port}")]
    with (
        WebSocket(site.server, "/chat", site.host + origin) as one,
        WebSocket(site.server, "/chat", site.host + origin) as two,
    ):
        assert [one.answer.status, two.answer.status] == [101, 101]
        for speaker, text in ((one, "hello"), (two, "gr\u00fc\u00df dich")):
            speaker.send(text)
            assert [one.next().text, two.next().text] == [text, text]


def test_nobody_says_it_from_outside(site: Site) -> None:
    with site.server.connect() as client:
        assert client.post("/chat", b"hello", site.host).status == 405
        assert client.post("/chat", b"hello", [*site.host, ("M0-Event", "message")]).status == 400
    with WebSocket(site.server, "/chat", [*site.host, ("Origin", "http://elsewhere.example")]) as socket:
        assert socket.answer.status == 403


def test_the_commands_beside_the_server(site: Site) -> None:
    assert len(site.reader.meanwhile) == 1
    with EventStream(site.server, "/news", site.host).opened() as stream:
        for words in site.reader.meanwhile:
            said = subprocess.run(
                " ".join(words),
                shell=True,
                cwd=site.reader.here,
                env=site.reader.env,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            event = stream.next()
            assert (event.id, event.data) == (said.stdout.strip(), "it rains")


def test_two_tabs_show_the_same(site: Site, tmp_path: Path) -> None:
    with Browser(tmp_path / "browser") as browser:
        tabs = [browser.open(site.url), browser.open(site.url)]
        for tab in tabs:
            wait_until(lambda: tab.evaluate("news.readyState == 1 && socket.readyState == 1"), "both are open")

        def submit(tab: Page, form: str, field: str, text: str) -> None:
            tab.evaluate(f"$({field!r}).value = {text!r}; $({form!r}).requestSubmit()")

        for number, tab in enumerate(tabs):
            submit(tab, "tell", "headline", f"[news {number}]")
            submit(tab, "say", "line", f"[line {number}]")
            for each in tabs:
                each.wait_text("news", f"[news {number}]")
                each.wait_text("chat", f"[line {number}]")
        assert len({tab.text("news") + tab.text("chat") for tab in tabs}) == 1


def test_the_view_of_the_readme(serve: Callable[..., Server], tmp_path: Path) -> None:
    pytest.importorskip("django")
    (shown,) = re.findall(r"^    def news\(.*?(?=^\S)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "readme.py").write_text(
        "from django.conf import settings\n"
        "from django.core.wsgi import get_wsgi_application\n"
        "from django.http import HttpResponse\n"
        "from django.urls import path\n"
        "import m0serve\n"
        "csrf = ['django.middleware.csrf.CsrfViewMiddleware']\n"
        "settings.configure(ALLOWED_HOSTS=['*'], SECRET_KEY='x', ROOT_URLCONF=__name__, MIDDLEWARE=csrf)\n"
        f"{textwrap.dedent(shown)}\n"
        "urlpatterns = [path('news', news), path('chat', chat)]\n"
        "application = get_wsgi_application()\n"
    )
    server = serve("readme", cwd=tmp_path)
    with EventStream(server, "/news").opened() as stream, WebSocket(server, "/chat") as socket:
        socket.send("it rains")
        assert socket.next().text == stream.next().data == "it rains"


def test_every_block_of_the_page_is_followed_by_somebody() -> None:
    followed = [block for name in PATHS for block in steps(name)]
    install = blocks(section(PAGE, "## Install"))
    assert [block.info for block in install] == ["sh install"]
    assert [block for block in blocks(PAGE) if block not in followed + install] == []
    assert PAGE.count("\n```") == 2 * len(blocks(PAGE))


def test_the_page_says_where_each_file_is() -> None:
    """What stands behind a fence is not shown."""
    shown = PAGE.split("\n```")[::2]
    for before, block in zip(shown, blocks(PAGE)):
        if not block.info.startswith("sh"):
            paragraph = before.rpartition("\n**`")[2]
            assert paragraph.startswith(block.info.split()[1] + "`**"), f"{block.info}: {paragraph!r}"


def test_a_block_that_says_nothing_of_itself_is_noticed() -> None:
    for info in ("", "python", "sh -x", "ruby app.rb", "python app.py appended"):
        with pytest.raises(AssertionError):
            blocks(f"```{info}\ntext\n```\n")
