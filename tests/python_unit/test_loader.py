"""m0serve._loader: from MODULE[:ATTR] to a callable, or one sentence that names the fix."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from m0serve import _loader  # noqa: E402

WSGI = "def {name}(environ, start_response): return ['{mark}']\n"


class Project:
    """A folder of modules; imports of them are forgotten at the end of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def load(self, target: str, factory: bool = False) -> Any:
        return _loader.load(target, factory, str(self.folder))

    def mark(self, target: str, factory: bool = False) -> str:
        return str(self.load(target, factory)({}, None)[0])

    def refusal(self, target: str, factory: bool = False) -> _loader.LoadError:
        with pytest.raises(_loader.LoadError) as caught:
            self.load(target, factory)
        return caught.value


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    path, modules = list(sys.path), set(sys.modules)
    yield Project(tmp_path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_the_named_attribute(project: Project) -> None:
    project.write("one.py", WSGI.format(name="mine", mark="m"))
    assert project.mark("one:mine") == "m"


def test_application_comes_before_app(project: Project) -> None:
    project.write("both.py", WSGI.format(name="app", mark="a") + WSGI.format(name="application", mark="b"))
    project.write("only.py", WSGI.format(name="app", mark="c"))
    assert project.mark("both") == "b"
    assert project.mark("only") == "c"


def test_a_package_may_have_it_in_its_wsgi_module(project: Project) -> None:
    project.write("site_a/__init__.py", "")
    project.write("site_a/wsgi.py", WSGI.format(name="application", mark="w"))
    assert project.mark("site_a") == "w"


def test_a_submodule_named_app_is_no_application(project: Project) -> None:
    project.write("site_b/__init__.py", "from . import app\n")
    project.write("site_b/app.py", "")
    project.write("site_b/wsgi.py", WSGI.format(name="application", mark="w"))
    assert project.mark("site_b") == "w"


def test_dotted_modules_and_attributes(project: Project) -> None:
    project.write("deep/__init__.py", "")
    project.write("deep/inner.py", "class holder:\n  @staticmethod\n  " + WSGI.format(name="app", mark="d"))
    assert project.mark("deep.inner:holder.app") == "d"


def test_the_app_dir_comes_first(project: Project) -> None:
    project.write("json.py", WSGI.format(name="app", mark="mine"))
    sys.modules.pop("json", None)
    assert project.mark("json") == "mine"
    assert sys.path[0] == str(project.folder)
    project.load("json")
    assert sys.path.count(str(project.folder)) == 1


def test_instances_and_classes_are_callables(project: Project) -> None:
    project.write("objects.py", "class Thing:\n  def __call__(self, e, s): return ['i']\napp = Thing()\n")
    assert project.mark("objects") == "i"


def test_a_factory_is_called_once(project: Project) -> None:
    project.write(
        "made.py", "calls = []\ndef create_app():\n  calls.append(1)\n  return lambda e, s: [str(len(calls))]\n"
    )
    assert project.mark("made", factory=True) == "1"
    assert project.mark("made:create_app", factory=True) == "2"


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("", "absent_module_x", "there is no module 'absent_module_x'"),
        ("", "broken", "'broken' has neither 'application' nor 'app'"),
        ("import absent_module_y\n", "broken", "it needs the module 'absent_module_y'"),
        ("raise ValueError('boom')\n", "broken", "cannot import 'broken': ValueError: boom"),
        ("raise KeyboardInterrupt\n", "broken", "cannot import 'broken': KeyboardInterrupt"),
        ("import sys\nsys.exit(3)\n", "broken", "it must not run anything at import"),
        ("def f(:\n", "broken", "SyntaxError"),
        ("app = 5\n", "broken", "is of type 'int', not a WSGI application"),
        ("import os as app\n", "broken:app", "is a module, not a WSGI application"),
        ("def app(): pass\n", "broken", "add --factory"),
        ("def app(a, b, c): pass\n", "broken", "does not take (environ, start_response)"),
        ("async def app(scope, receive, send): pass\n", "broken", "is an ASGI application"),
        ("class A:\n  async def __call__(self, a, b, c): pass\napp = A()\n", "broken", "is an ASGI application"),
        ("def app(e, s): pass\n", "broken:ap", "it has 'app'"),
        ("", "broken:", "names no application"),
        ("", ":app", "names no application"),
    ],
)
def test_refusals_name_the_fix(project: Project, source: str, target: str, words: str) -> None:
    project.write("broken.py", source)
    assert words in str(project.refusal(target))
    assert "\n" not in str(project.refusal(target))


def test_the_traceback_begins_in_the_application(project: Project) -> None:
    project.write("broken.py", "def inner():\n  raise ValueError('boom')\ninner()\n")
    trace = project.refusal("broken").trace
    assert trace.startswith('Traceback (most recent call last):\n  File "' + str(project.folder / "broken.py"))
    assert trace.endswith("ValueError: boom\n")
    assert "importlib" not in trace and "_loader.py" not in trace


def test_a_message_of_many_lines_says_what_it_is(project: Project) -> None:
    project.write("huge.py", "raise RuntimeError('first' + chr(10) + 'second: forged')\n")
    assert str(project.refusal("huge")) == "cannot import 'huge': RuntimeError: first"
    project.write("wrong.py", "def (:\n")
    assert "SyntaxError: " in str(project.refusal("wrong"))


def test_a_worker_hook_that_is_not_there_names_its_flag(project: Project) -> None:
    project.write("hooks.py", "")
    sys.path.insert(0, str(project.folder))
    for target in ("hooks:nope", "nomodule:nope"):
        with pytest.raises(_loader.LoadError, match=f"^--worker-start {target}: "):
            _loader.hook(target)


@pytest.mark.parametrize("failure", ["raise ValueError('no')", "return 5", "raise SystemExit"])
def test_a_factory_that_fails(project: Project, failure: str) -> None:
    project.write("broken.py", f"def create_app():\n  {failure}\n")
    assert "broken:create_app" in str(project.refusal("broken", factory=True))


def test_what_is_no_factory(project: Project) -> None:
    project.write("broken.py", "app = 5\n")
    assert "--factory cannot call it" in str(project.refusal("broken:app", factory=True))
    assert "neither 'create_app' nor 'make_app'" in str(project.refusal("broken", factory=True))


# -- mounts

SETTINGS = "DJANGO_SETTINGS_MODULE"
DJANGO = (
    "import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', '{settings}')\nseen = os.environ['" + SETTINGS + "']\n"
)


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set first, so that it is put back whatever a test leaves.
    monkeypatch.setenv(SETTINGS, "")
    monkeypatch.delenv(SETTINGS)


def django(settings: str) -> str:
    return DJANGO.format(settings=settings) + WSGI.format(name="application", mark=settings)


def load_all(project: Project, target: str, *mounts: tuple[str, str], factory: bool = False) -> list[str]:
    found = _loader.load_all(target, factory, str(project.folder), list(mounts))
    return [str(each({}, None)[0]) for each in found]


def test_mounted_applications_come_in_their_order(project: Project) -> None:
    project.write("main.py", WSGI.format(name="app", mark="m"))
    project.write("one.py", WSGI.format(name="mine", mark="1"))
    project.write("two/__init__.py", "")
    project.write("two/wsgi.py", WSGI.format(name="application", mark="2"))
    assert load_all(project, "main", ("/two", "two"), ("/one", "one:mine")) == ["m", "2", "1"]


def test_the_factory_is_the_main_applications(project: Project) -> None:
    project.write("main.py", "def create_app():\n  return lambda e, s: ['made']\n")
    project.write("one.py", WSGI.format(name="app", mark="1"))
    assert load_all(project, "main", ("/one", "one"), factory=True) == ["made", "1"]
    project.write("made.py", "def create_app(): pass\n")
    with pytest.raises(_loader.LoadError) as caught:
        load_all(project, "one", ("/made", "made:create_app"))
    assert str(caught.value).startswith("--mount /made: ")
    assert "--factory" not in str(caught.value) and "keep what it returns in the module" in str(caught.value)


def test_a_refusal_names_the_mount(project: Project) -> None:
    project.write("main.py", WSGI.format(name="app", mark="m"))
    project.write("broken.py", "raise ValueError('boom')\n")
    with pytest.raises(_loader.LoadError) as caught:
        load_all(project, "main", ("/b", "broken"))
    assert str(caught.value) == "--mount /b: cannot import 'broken': ValueError: boom"
    assert caught.value.trace.endswith("ValueError: boom\n")
    assert not isinstance(caught.value, _loader.ConfigurationError)


@pytest.mark.usefixtures("no_settings")
def test_two_settings_modules_are_refused(project: Project) -> None:
    project.write("shop.py", django("shop.settings"))
    project.write("blog.py", django("blog.settings"))
    with pytest.raises(_loader.ConfigurationError) as caught:
        load_all(project, "shop", ("/blog", "blog"))
    sentence = str(caught.value)
    for word in ("shop at / ", "shop.settings", "blog at /blog ", "blog.settings", "run two servers"):
        assert word in sentence, sentence
    assert "\n" not in sentence and caught.value.trace == ""


@pytest.mark.usefixtures("no_settings")
def test_two_settings_modules_among_mounts_are_refused(project: Project) -> None:
    project.write("main.py", WSGI.format(name="app", mark="m"))
    project.write("shop.py", django("shop.settings"))
    project.write("blog.py", django("blog.settings"))
    with pytest.raises(_loader.ConfigurationError, match="shop at /s .* blog at /b "):
        load_all(project, "main", ("/s", "shop"), ("/b", "blog"))


@pytest.mark.usefixtures("no_settings")
def test_what_the_wrong_settings_lead_to_does_not_hide_them(project: Project) -> None:
    project.write("shop.py", django("shop.settings"))
    project.write("blog.py", DJANGO.format(settings="blog.settings") + "raise RuntimeError('not in INSTALLED_APPS')\n")
    with pytest.raises(_loader.ConfigurationError, match="run two servers"):
        load_all(project, "shop", ("/blog", "blog"))


@pytest.mark.usefixtures("no_settings")
def test_the_same_settings_may_be_mounted_twice(project: Project) -> None:
    project.write("shop.py", django("shop.settings"))
    project.write("again.py", django("shop.settings"))
    assert load_all(project, "shop", ("/a", "shop"), ("/b", "again")) == ["shop.settings"] * 3
    assert os.environ[SETTINGS] == "shop.settings"


@pytest.mark.usefixtures("no_settings")
def test_settings_of_a_mount_stay_for_what_reads_them_later(project: Project) -> None:
    project.write("main.py", WSGI.format(name="app", mark="m"))
    project.write("shop.py", django("shop.settings"))
    project.write("plain.py", WSGI.format(name="app", mark="p"))
    load_all(project, "main", ("/s", "shop"), ("/p", "plain"))
    assert os.environ[SETTINGS] == "shop.settings"


@pytest.mark.usefixtures("no_settings")
def test_without_django_nothing_is_set(project: Project) -> None:
    project.write("main.py", WSGI.format(name="app", mark="m"))
    project.write("plain.py", WSGI.format(name="app", mark="p"))
    load_all(project, "main", ("/p", "plain"))
    assert SETTINGS not in os.environ


def test_settings_from_outside_hold_for_all(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTINGS, "outside.settings")
    project.write("shop.py", django("shop.settings"))
    project.write("blog.py", django("blog.settings"))
    load_all(project, "shop", ("/blog", "blog"))
    assert sys.modules["shop"].seen == sys.modules["blog"].seen == os.environ[SETTINGS] == "outside.settings"


def test_a_mount_that_overrules_settings_from_outside(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTINGS, "shop.settings")
    project.write("shop.py", django("shop.settings"))
    project.write(
        "blog.py", f"import os\nos.environ['{SETTINGS}'] = 'blog.settings'\n" + WSGI.format(name="app", mark="b")
    )
    with pytest.raises(_loader.ConfigurationError):
        load_all(project, "shop", ("/blog", "blog"))


def test_the_worker_hook(project: Project) -> None:
    project.write(
        "hooks.py", "seen = []\nvalue = 5\ndef start(worker): seen.append(worker)\ndef bad(w): raise OSError('x')\n"
    )
    sys.path.insert(0, str(project.folder))
    _loader.run_hook("hooks:start", 7)
    assert sys.modules["hooks"].seen == [7]
    for target, words in [
        ("hooks", "write MODULE:FUNC"),
        ("hooks:value", "not a function"),
        ("hooks:none", "has no 'none'"),
        ("hooks:bad", "failed in worker 7"),
    ]:
        with pytest.raises(_loader.LoadError, match=words):
            _loader.run_hook(target, 7)
