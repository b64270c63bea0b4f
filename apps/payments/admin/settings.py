"""The back office's page of the organisation's own account."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from apps.core.admin_base import fieldset
from apps.core.admin_base.settings_pages import SettingsAdmin
from apps.payments.admin.first_steps import OWN_ACCOUNT
from apps.payments.models import PaymentSettings
from apps.payments.services.accounts import save_payment_settings


@admin.register(PaymentSettings)
class PaymentSettingsAdmin(SettingsAdmin):
    create = staticmethod(save_payment_settings)
    update = staticmethod(save_payment_settings)
    menu_order = 901
    menu_title = "Payment settings"
    icon = "account_balance"
    fieldsets = (
        fieldset("Own account", ("bsb", "account_number"), "account_name", ("bank", "user_id")),
        fieldset("Bank files", "description", "payments_per_file", "pays_each_claim", "debits_own_account"),
        fieldset(
            "Accounts exports",
            ("accounts_style", "accounts_from"),
            ("bank_code", "clearing_code"),
            "gst_code",
        ),
        fieldset(
            "Names of taxes in the accounting package",
            ("tax_on_income", "tax_free_income"),
            ("tax_free_exports", "tax_excluded"),
            ("tax_on_expenses", "tax_free_expenses"),
        ),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        (title, own), *others = super().get_fieldsets(request, obj)
        return [(title, {**own, "description": OWN_ACCOUNT.lacks() or None}), *others]
