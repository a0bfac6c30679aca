"""A package whose application is in its wsgi module."""
