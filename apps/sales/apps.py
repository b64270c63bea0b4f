"""Opportunities to win business, the templates they start from, and the lists they choose from."""

from django.apps import AppConfig


class SalesConfig(AppConfig):
    name = "apps.sales"
    label = "sales"
    verbose_name = "Sales"
    default_auto_field = "django.db.models.BigAutoField"
