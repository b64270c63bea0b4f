"""Bank accounts, payment runs, accounts exports and statements."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    name = "apps.payments"

    def ready(self) -> None:
        from apps.payments.services.accounts import confirm_anew_after_merge
        from apps.people.merging import AFTER_MERGE

        AFTER_MERGE.append(confirm_anew_after_merge)
