"""Ways in which a module offers its application."""

from __future__ import annotations

from bare import plain


def named(environ, start_response):
    return plain(start_response, b"named\n")


def create():
    """For --factory."""

    def made(environ, start_response):
        return plain(start_response, b"made\n")

    return made


def create_wrongly():
    return None


def create_failing():
    raise RuntimeError("the factory says why")


class Nested:
    class deeper:
        @staticmethod
        def app(environ, start_response):
            return plain(start_response, b"nested\n")


class Callable:
    def __call__(self, environ, start_response):
        return plain(start_response, b"instance\n")


instance = Callable()


class PerRequest:
    """A class that is called and iterated for each request."""

    def __init__(self, environ, start_response):
        self.start = start_response

    def __iter__(self):
        plain(self.start, b"per request\n")
        yield b"per request\n"
