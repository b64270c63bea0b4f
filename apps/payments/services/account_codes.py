"""The services of account codes, and the package's names of taxes."""

from collections.abc import Sequence
from functools import partial

from apps.core.services import Checks, create_records, update_records
from apps.funding.choices import TaxChoice
from apps.payments.drafts import AccountCodeDraft
from apps.payments.file_formats.accounts_forms import FORMS
from apps.payments.models import AccountCode, PaymentSettings
from apps.payments.validation import ACCOUNT_CODE_RULES

INCOME_OPTIONS = {
    TaxChoice.GST_ON_INCOME: "tax_on_income",
    TaxChoice.GST_FREE_EXPORTS: "tax_free_exports",
    TaxChoice.BAS_EXCLUDED: "tax_excluded",
}


def find_same_values(drafts: Sequence[AccountCodeDraft]) -> None:
    """Let drafts know of another row for the same amounts."""
    columns = ("used_for", "cost_centre", "category", "tax_choice", "pk")
    owners = {
        tuple(row): key for *row, key in AccountCode.objects.filter(archive_date=None).values_list(*columns)
    }
    for draft in drafts:
        centre = draft.get("cost_centre")
        values = (draft.get("used_for"), centre and centre.pk, draft.get("category"), draft.get("tax_choice"))
        draft.has_same_values = owners.setdefault(values, draft.key) != draft.key


CHECKS = Checks(ACCOUNT_CODE_RULES, prepare=find_same_values)

create_account_codes = partial(create_records, AccountCode, checks=CHECKS)
update_account_codes = partial(update_records, AccountCode, checks=CHECKS)


def package_name(settings: PaymentSettings, option: str) -> str:
    """The name of a tax by its option, or the usual one of the package."""
    return getattr(settings, option) or FORMS[settings.accounts_style].tax_names[option]


def income_tax(settings: PaymentSettings, tax_choice: str | None) -> str:
    """The package's tax of own income; lines without a tax choice are free of GST."""
    option = INCOME_OPTIONS.get(TaxChoice(tax_choice)) if tax_choice else None
    return package_name(settings, option or "tax_free_income")


def bill_tax(settings: PaymentSettings, tax_choice: str | None) -> str:
    """The package's tax of a line of a provider's bill."""
    excluded = package_name(settings, "tax_excluded")
    if tax_choice == TaxChoice.GST_ON_INCOME:
        return settings.tax_on_expenses or excluded
    if tax_choice == TaxChoice.BAS_EXCLUDED:
        return excluded
    return settings.tax_free_expenses or excluded
