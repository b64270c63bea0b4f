"""The page of account codes, which belong to the payment settings."""

from django.contrib import admin

from apps.core.admin_base import fieldset
from apps.core.admin_base.display import list_column
from apps.core.admin_base.settings_pages import SettingsListAdmin
from apps.funding.choices import TaxChoice
from apps.payments.drafts import AccountCodeDraft
from apps.payments.models import AccountCode
from apps.payments.services.account_codes import create_account_codes, update_account_codes

RULE = (
    "Of the rows that fit an amount, the most specific one counts: a row with a cost centre before one"
    " without, then a row with a category, then a row with a tax. What a row leaves empty fits all."
)


def or_any(value: object) -> str:
    return str(value or "Any")


@admin.register(AccountCode)
class AccountCodeAdmin(SettingsListAdmin):
    """The right to change rows is that to change the payment settings."""

    purpose = f"On which accounts of the accounting package the own fee and bills of providers go. {RULE}"
    draft_class = AccountCodeDraft
    create = staticmethod(create_account_codes)
    update = staticmethod(update_account_codes)
    settings_permission = "payments.change_paymentsettings"
    menu_order = 902
    icon = "account_tree"
    list_display = ("account", "use", "centre", "of_category", "tax", "archived")
    list_select_related = ("cost_centre",)
    fieldsets = (
        fieldset(
            None,
            "used_for",
            ("cost_centre", "category"),
            "tax_choice",
            "code",
            description=f"{RULE} Bills of providers go on the clearing account where no row fits.",
        ),
    )

    account = list_column("account", "code")
    use = list_column("used for", "get_used_for_display", ordering="used_for")
    centre = list_column("cost centre", "cost_centre", or_any, is_sorted=False)
    of_category = list_column("category", "category", or_any)
    tax = list_column(
        "tax", "tax_choice", lambda choice: or_any(choice and TaxChoice(choice).label), is_sorted=False
    )
