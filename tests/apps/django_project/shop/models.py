"""One table."""

from django.db import models


class Order(models.Model):
    item = models.CharField(max_length=100)
    amount = models.PositiveIntegerField()

    class Meta:
        app_label = "shop"
