"""Views as an ordinary project has them."""

import hashlib
import os

import m0serve
from django.http import FileResponse, HttpResponse, HttpResponseGone, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import etag

from .forms import OrderForm
from .models import Order


def index(request):
    return HttpResponse("shop\n", content_type="text/plain")


def count(request):
    request.session["count"] = request.session.get("count", 0) + 1
    return JsonResponse({"count": request.session["count"]})


def order(request):
    form = OrderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("/orders")
    return render(request, "order.html", {"form": form}, status=422 if form.errors else 200)


def orders(request):
    return JsonResponse({"orders": list(Order.objects.order_by("id").values_list("item", "amount"))})


@csrf_exempt
def upload(request):
    digests = {}
    for name, file in request.FILES.items():
        hashed = hashlib.sha256()
        for chunk in file.chunks():
            hashed.update(chunk)
        digests[name] = {"name": file.name, "size": file.size, "sha256": hashed.hexdigest()}
    return JsonResponse({"files": digests, "fields": dict(request.POST.items())})


@csrf_exempt
def raw(request):
    return JsonResponse({"size": len(request.body), "sha256": hashlib.sha256(request.body).hexdigest()})


def download(request):
    return FileResponse(open(os.environ["M0TEST_DOWNLOAD"], "rb"), as_attachment=True, filename="Angebot für Sie.bin")


def stream(request):
    return StreamingHttpResponse((f"line {number}\n" for number in range(1000)), content_type="text/plain")


def fail(request):
    raise RuntimeError("the view fails")


@etag(lambda request: '"fixed"')
def cached(request):
    return HttpResponse("cached\n")


def address(request, name):
    return JsonResponse({"name": name, "query": request.GET.dict(), "absolute": request.build_absolute_uri()})


def gone(request):
    return HttpResponseGone()


def news(request):
    """Held: with a session that is changed on the way, which its middleware saves."""
    request.session["listens"] = True
    return HttpResponse(headers={"M0-Hold": "stream", "M0-Channel": m0serve.channel_header("news", "caf\xe9")})


@csrf_exempt
def add_news(request):
    return JsonResponse({"id": m0serve.publish(request.POST["channel"], json=request.POST["text"])})


@m0serve.websocket
def chat(request):
    """A WebSocket; it hears of the session that opened it."""
    if request.method == "POST":
        who = request.session.get("name", "nobody")
        m0serve.publish("chat", f"{who}: {request.body.decode()}")
        return HttpResponse(status=204)
    request.session["name"] = request.GET.get("name", "somebody")
    return HttpResponse(headers={"M0-Hold": "websocket", "M0-Channel": "chat"})
