"""Raises at import."""


def deep():
    raise RuntimeError("the application says why")


deep()
