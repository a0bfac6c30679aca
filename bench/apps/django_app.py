"""The least Django that answers as a project does: the middleware of a new project, but for what wants a database."""

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(
    DEBUG=False,
    SECRET_KEY="a benchmark has no secrets",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    INSTALLED_APPS=[],
    DATABASES={},
)


def _hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"Hello, world!", content_type="text/plain; charset=utf-8")


urlpatterns = [path("", _hello)]

django.setup()
hello = WSGIHandler()
