"""m0serve runs synchronous WSGI applications from a server written in C++, and holds their live connections."""

from m0serve._realtime import channel_header, cursor, publish

__all__ = ["__version__", "channel_header", "cursor", "publish"]

__version__ = "0.1.0"
