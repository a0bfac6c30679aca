"""Fails at import."""

import no_such_module_anywhere  # noqa: F401

application = None
