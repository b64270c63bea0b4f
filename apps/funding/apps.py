"""Price books, products and their prices, and cost centres."""

from django.apps import AppConfig


class FundingConfig(AppConfig):
    name = "apps.funding"
    label = "funding"
    verbose_name = "Funding"
    default_auto_field = "django.db.models.BigAutoField"
