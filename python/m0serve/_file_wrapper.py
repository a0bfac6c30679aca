"""``wsgi.file_wrapper``: an iterable over a file, which the server sends without copying where it can."""

from __future__ import annotations

import io
import sys
from typing import Any


class FileWrapper:
    """Iterates over ``filelike`` in blocks (PEP 3333). Has ``close`` where ``filelike`` has it."""

    def __init__(self, filelike: Any, block_size: int = 64 * 1024) -> None:
        self.filelike = filelike
        self.block_size = block_size
        if hasattr(filelike, "close"):
            self.close = filelike.close

    def __iter__(self) -> FileWrapper:
        return self

    def __next__(self) -> bytes:
        block: bytes = self.filelike.read(self.block_size)
        if not block:
            raise StopIteration
        return block


def sendable(wrapper: FileWrapper) -> tuple[int, int] | None:
    """The descriptor and position whose bytes are what ``wrapper.filelike.read()`` would give, if there are such.

    Only for the interpreter's own file objects: others may have a descriptor and yet read something else than what
    lies in it (a decompressing file has the descriptor of the compressed one).
    """
    file = wrapper.filelike
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None and type(file) is tempfile._TemporaryFileWrapper:
        file = file.file
    raw = file.raw if type(file) in (io.BufferedReader, io.BufferedRandom) else file
    if type(raw) is not io.FileIO:
        return None
    try:
        if type(file) is io.BufferedRandom:
            file.flush()
        return file.fileno(), file.tell()
    except (OSError, ValueError):  # a pipe, or a closed file: reading it says what is wrong
        return None
