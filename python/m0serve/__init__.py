"""m0serve runs synchronous WSGI applications from a server written in C++, and holds their live connections."""

from m0serve._realtime import (
    Connection,
    Presence,
    channel_header,
    channels,
    close,
    connection,
    cursor,
    presence,
    publish,
    send,
    websocket,
)

__all__ = [
    "Connection",
    "Presence",
    "__version__",
    "channel_header",
    "channels",
    "close",
    "connection",
    "cursor",
    "presence",
    "publish",
    "send",
    "websocket",
]

__version__ = "0.1.0"
