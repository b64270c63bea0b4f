"""Price books, products and their prices, and cost centres."""

from django.apps import AppConfig
from django.core.checks import register

from apps.funding import statuses


class FundingConfig(AppConfig):
    name = "apps.funding"

    def ready(self) -> None:
        from apps.engagements.services import FIND_WAITING, RESTATE_PERIODS
        from apps.funding.services.effects import restate_periods_of
        from apps.funding.services.plan_survey import find_waiting

        register(statuses.check_statuses, "funding")
        RESTATE_PERIODS.append(restate_periods_of)
        FIND_WAITING.append(find_waiting)
