"""A Django project in one file: `m0serve app --app-dir examples/django_hello`."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path

settings.configure(
    DEBUG=False,
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="an example has no secrets",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)


def hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Hello from Django\n", content_type="text/plain")


def greet(request: HttpRequest, name: str) -> JsonResponse:
    return JsonResponse({"hello": name, "method": request.method})


def squares(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse((f"{n * n}\n" for n in range(1000)), content_type="text/plain")


urlpatterns = [path("", hello), path("greet/<str:name>", greet), path("squares", squares)]
application = get_wsgi_application()
