"""Bank accounts, payment runs, accounts exports and statements."""

from django.apps import AppConfig
from django.core.checks import register


class PaymentsConfig(AppConfig):
    name = "apps.payments"

    def ready(self) -> None:
        from apps.payments.file_formats.accounts_forms import check_forms
        from apps.payments.services.accounts import confirm_anew_after_merge
        from apps.people.merging import AFTER_MERGE

        register(check_forms, "payments")
        AFTER_MERGE.append(confirm_anew_after_merge)
