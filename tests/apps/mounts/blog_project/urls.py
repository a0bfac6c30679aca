"""Addresses that need to know where the project is mounted."""

from django.http import JsonResponse
from django.shortcuts import redirect
from django.urls import path, reverse


def old(request):
    return redirect("new", number=7)


def new(request, number):
    facts = {"project": "blog", "number": number, "reverse": reverse("new", args=[number]), "path": request.path}
    return JsonResponse({**facts, "path_info": request.path_info})


urlpatterns = [path("old", old), path("new/<int:number>/", new, name="new")]
