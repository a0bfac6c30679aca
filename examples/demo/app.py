"""The demo as a Django project in one file: `make demo`, or `m0serve app --app-dir examples/demo`."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from urllib.parse import quote, unquote

import m0serve
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

settings.configure(
    ALLOWED_HOSTS=["*"],  # a demo is asked by any name; a site lists its own
    ROOT_URLCONF=__name__,
    SECRET_KEY=secrets.token_urlsafe(),  # signs nothing here that has to outlive a restart
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [Path(__file__).parent]}],
)


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "page.html", {"framework": "Django", "cursor": m0serve.cursor() or ""})


@m0serve.websocket  # no CSRF token: the server has looked at the Origin, and its POSTs cannot be forged
def chat(request: HttpRequest) -> HttpResponse:
    event = request.headers.get("M0-Event")
    if event is None:  # somebody comes in
        name = request.GET.get("name", "").strip()[:30] or "somebody"
        return HttpResponse(
            headers={
                "M0-Hold": "websocket",
                "M0-Channel": "chat",
                "M0-Frames": "json",
                "M0-Events": "open, close",
                "M0-Meta-Name": quote(name),
            }
        )
    name = unquote(request.headers["M0-Meta-Name"])
    if event == "message":
        text = request.body.decode(errors="replace")[:500]
        m0serve.publish("chat", json={"name": name, "text": text}, event="said")
    else:
        m0serve.publish("chat", json={"name": name}, event="joined" if event == "open" else "left")
    return HttpResponse(status=204)


@require_GET
def who(request: HttpRequest) -> HttpResponse:
    there = m0serve.presence("chat", limit=50)
    names = sorted(unquote(each.meta["Name"]) for each in there.connections) if there else []
    return JsonResponse({"count": there.count if there else 0, "names": names})


def news(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        told = m0serve.publish("news", request.POST.get("text", "")[:500])
        return HttpResponse(told, status=200 if told else 503)
    return HttpResponse(headers={"M0-Hold": "stream", "M0-Channel": "news"})


@require_POST
def block(request: HttpRequest) -> HttpResponse:
    time.sleep(5)  # a slow query, a slow service: this thread can do nothing else
    return HttpResponse(status=204)


@require_GET
def ping(request: HttpRequest) -> HttpResponse:
    return HttpResponse("pong")


urlpatterns = [
    path("", page),
    path("chat", chat),
    path("who", who),
    path("news", news),
    path("block", block),
    path("ping", ping),
]
application = get_wsgi_application()
