"""The bare application under wsgiref.validate, and a canary that breaks the PEP so that the validator must object."""

from __future__ import annotations

from wsgiref.validate import validator

import bare


def breaks_the_pep(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Status", "200")])
    return [b"not noticed\n"]


_checked = validator(bare.application)
_canary = validator(breaks_the_pep)


def application(environ, start_response):
    chosen = _canary if environ["PATH_INFO"] == "/canary" else _checked
    return chosen(environ, start_response)
