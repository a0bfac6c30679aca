"""Addresses."""

from django.urls import path

from . import views

urlpatterns = [
    path("", views.index),
    path("count", views.count),
    path("order", views.order),
    path("orders", views.orders),
    path("upload", views.upload),
    path("raw", views.raw),
    path("download", views.download),
    path("stream", views.stream),
    path("fail", views.fail),
    path("cached", views.cached),
    path("address/<str:name>/", views.address),
    path("gone", views.gone),
    path("news", views.news),
    path("news/add", views.add_news),
    path("chat", views.chat),
]
