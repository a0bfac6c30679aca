"""m0serve runs synchronous WSGI applications from a server written in C++."""

__all__ = ["__version__"]

__version__ = "0.1.0"
