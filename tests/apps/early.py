"""Publishes while it is imported."""

from __future__ import annotations

import logging

import m0serve
from bare import application  # noqa: F401

logging.basicConfig()
m0serve.publish("early", "x")
