"""From ``MODULE[:ATTR]`` to the callable that answers requests."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import os.path
import sys
import traceback
from types import TracebackType
from typing import Any, Callable


class LoadError(Exception):
    """One sentence that says what to do; ``trace`` is the application's own traceback, if it raised."""

    def __init__(self, sentence: str, trace: str = "") -> None:
        super().__init__(sentence)
        self.trace = trace


class ConfigurationError(LoadError):
    """The applications can each be loaded, but not together: nothing that is tried again."""


def load_all(target: str, factory: bool, app_dir: str, mounts: list[tuple[str, str]]) -> list[Callable[..., Any]]:
    """The application that ``target`` names, then those of ``mounts``: pairs of a prefix and its MODULE[:ATTR].

    Raises LoadError; ConfigurationError where two of them are Django projects with different settings. Django keeps one
    settings module in an interpreter, and would answer for both projects with those of whichever came first.
    """
    settings = _Settings()
    applications = [load(target, factory, app_dir)]
    settings.note("/", target)
    for prefix, mounted in mounts:
        settings.put_back()
        try:
            applications.append(_load(mounted, False, app_dir, f"--mount {prefix}: "))
        except LoadError:
            # Which may well be what the wrong settings led to.
            settings.note(prefix, mounted)
            raise
        settings.note(prefix, mounted)
    settings.leave()
    return applications


class _Settings:
    """Which Django settings each application asks for, by the variable that its module sets when it is imported."""

    _NAME = "DJANGO_SETTINGS_MODULE"

    def __init__(self) -> None:
        self._original = os.environ.get(self._NAME)
        self._first: tuple[str, str, str] | None = None

    def put_back(self) -> None:
        """So that the next module's setdefault() sets what it means."""
        self._set(self._original)

    def note(self, prefix: str, target: str) -> None:
        """After an import. Raises ConfigurationError."""
        value = os.environ.get(self._NAME, "")
        if not value:
            return
        if self._first is None:
            self._first = (prefix, target, value)
            return
        first_prefix, first_target, first_value = self._first
        if value != first_value:
            raise ConfigurationError(
                f"{first_target} at {first_prefix} has the Django settings {first_value} and {target} at {prefix} has"
                f" {value}, but an interpreter holds one Django project: run two servers, and let a proxy in front"
                f" choose by the path"
            ) from None

    def leave(self) -> None:
        """As the one project that there is wants it: Django reads the variable when it first needs a setting."""
        self._set(self._first[2] if self._first else self._original)

    def _set(self, value: str | None) -> None:
        if value is None:
            os.environ.pop(self._NAME, None)
        else:
            os.environ[self._NAME] = value


def load(target: str, factory: bool, app_dir: str) -> Callable[..., Any]:
    """The application that ``target`` names. Raises LoadError."""
    _put_first(app_dir)
    return _load(target, factory, app_dir)


def _load(target: str, factory: bool, app_dir: str, option: str = "") -> Callable[..., Any]:
    """``option``: before each sentence, of a mounted application."""
    try:
        return _find(target, factory, app_dir, mounted=bool(option))
    except LoadError as error:
        if not option:
            raise
        raise LoadError(option + str(error), error.trace) from None


def _find(target: str, factory: bool, app_dir: str, mounted: bool) -> Callable[..., Any]:
    module_name, separator, attribute = target.partition(":")
    if not module_name or (separator and not attribute):
        raise LoadError(f"{target!r} names no application; write MODULE or MODULE:ATTR, such as myproject.wsgi")
    module = _import(module_name, app_dir)
    if attribute:
        found, name = _attribute(module, attribute), f"{module_name}:{attribute}"
    else:
        found, name = _discover(module, factory, app_dir)
    if factory:
        found = _call(found, name)
        name += "()"
    _check(found, name, factory, mounted)
    return found  # type: ignore[no-any-return]


def hook(target: str) -> Callable[[int], Any]:
    """The function that --worker-start names, to be called with the worker's index."""
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise LoadError(f"--worker-start {target!r} names no function; write MODULE:FUNC")
    try:
        found = _attribute(_import(module_name, ""), attribute)
    except LoadError as error:
        raise LoadError(f"--worker-start {target}: {error}", error.trace) from None
    if not callable(found):
        raise LoadError(f"--worker-start {target} is {_kind(found)}, not a function")
    return found  # type: ignore[no-any-return]


def run_hook(target: str, worker: int) -> None:
    function = hook(target)
    try:
        function(worker)
    except BaseException as error:
        raise LoadError(f"--worker-start {target} failed in worker {worker}", _trace(error)) from None


def _put_first(app_dir: str) -> None:
    folder = os.path.abspath(app_dir)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _import(name: str, app_dir: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(missing + "."):
            where = f" in {os.path.abspath(app_dir)} or on sys.path" if app_dir else ""
            raise LoadError(f"there is no module {missing!r}{where}; --app-dir names another folder") from None
        raise LoadError(f"cannot import {name!r}: it needs the module {missing!r}", _trace(error)) from None
    except SystemExit as error:
        raise LoadError(
            f"importing {name!r} ended the program: it must not run anything at import", _trace(error)
        ) from None
    except BaseException as error:
        raise LoadError(f"cannot import {name!r}: {_brief(error)}", _trace(error)) from None


def _attribute(module: Any, path: str) -> Any:
    found = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            names = [n for n in ("application", "app") if callable(getattr(module, n, None))]
            hint = f"; it has {' and '.join(repr(n) for n in names)}" if names else ""
            raise LoadError(f"{module.__name__!r} has no {path!r}{hint}") from None
        except BaseException as error:
            raise LoadError(f"{module.__name__}:{path} cannot be read: {_brief(error)}", _trace(error)) from None
    return found


def _discover(module: Any, factory: bool, app_dir: str) -> tuple[Any, str]:
    names = ("create_app", "make_app") if factory else ("application", "app")
    modules = [module]
    if not factory and hasattr(module, "__path__"):
        modules.append(f"{module.__name__}.wsgi")
    for each in modules:
        if isinstance(each, str):
            if importlib.util.find_spec(each) is None:
                continue
            each = _import(each, app_dir)
        for name in names:
            # A package's submodule of that name ("project.app") is no application.
            if hasattr(each, name) and not inspect.ismodule(getattr(each, name)):
                return getattr(each, name), f"{each.__name__}:{name}"
    raise LoadError(
        f"{module.__name__!r} has neither {names[0]!r} nor {names[1]!r}; name the attribute, such as"
        f" {module.__name__}:{names[0]}"
    )


def _call(function: Any, name: str) -> Any:
    if not callable(function):
        raise LoadError(f"{name} is {_kind(function)}, so --factory cannot call it")
    try:
        return function()
    except BaseException as error:
        raise LoadError(f"the factory {name} failed: {_brief(error)}", _trace(error)) from None


def _check(found: Any, name: str, factory: bool, mounted: bool) -> None:
    if not callable(found):
        raise LoadError(
            f"{name} is {_kind(found)}, not a WSGI application; name the callable, such as MODULE:application"
        )
    call = getattr(type(found), "__call__", None)
    if inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(call):
        raise LoadError(f"{name} is an ASGI application; m0serve runs WSGI applications")
    if inspect.isfunction(found) and not factory:
        try:
            inspect.signature(found).bind({}, None)
        except TypeError:
            takes_none = not inspect.signature(found).parameters
            advice = "name the WSGI application"
            if takes_none and mounted:
                advice = "if it makes the application, keep what it returns in the module and name that"
            elif takes_none:
                advice = "if it makes the application, add --factory"
            raise LoadError(f"{name} does not take (environ, start_response); {advice}") from None


def _kind(found: Any) -> str:
    return "a module" if inspect.ismodule(found) else f"of type {type(found).__name__!r}"


def _brief(error: BaseException) -> str:
    """The exception in one line."""
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    # A SyntaxError ends with what it is; of any other the first line says it, and a message may go on for pages.
    return lines[-1] if isinstance(error, SyntaxError) else lines[0]


def _trace(error: BaseException) -> str:
    """The traceback from the application's first frame on: our own and the import system's say nothing."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and _is_ours(trace):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def _is_ours(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name == __file__ or name == importlib.__file__ or name.startswith("<frozen importlib")
