"""Price books, products and their prices, and cost centres."""

from django.apps import AppConfig
from django.core.checks import register

from apps.funding import statuses


class FundingConfig(AppConfig):
    name = "apps.funding"

    def ready(self) -> None:
        register(statuses.check_statuses, "funding")
