"""A Django project with one application: itself."""
