"""The forms of accounts exports: one row says all of a package, and everything else asks it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.core.checks import CheckMessage, Error

from apps.payments.choices import AccountsStyle
from apps.payments.file_formats.journals import Journal
from apps.payments.file_formats.myob_journal import read_myob_journal, write_myob_journal
from apps.payments.file_formats.xero_journals import MAX_LINES, read_xero_journals, write_xero_journals


@dataclass(frozen=True, slots=True)
class AccountsForm:
    """The file of journals of a package: how it is written and read again, its most lines, its suffix.

    ``tax_names``: the usual names of taxes, by the option of the payment settings that replaces one.
    ``has_bills``: payments to payees are bills in a file of their own, and no journals.
    """

    write: Callable[[Sequence[Journal]], bytes]
    read: Callable[[bytes], list[Journal]]
    most_lines: int
    suffix: str
    tax_names: Mapping[str, str]
    has_bills: bool = False


XERO = AccountsForm(
    write_xero_journals,
    read_xero_journals,
    MAX_LINES,
    "csv",
    {
        "tax_on_income": "GST on Income",
        "tax_free_income": "GST Free Income",
        "tax_free_exports": "GST Free Exports",
        "tax_excluded": "BAS Excluded",
    },
)
MYOB = AccountsForm(
    write_myob_journal,
    read_myob_journal,
    10_000,  # MYOB says nothing of a limit
    "txt",
    {
        "tax_on_income": "GST",
        "tax_free_income": "FRE",
        "tax_free_exports": "EXP",
        "tax_excluded": "N-T",
    },
)
FORMS: Mapping[str, AccountsForm] = {
    AccountsStyle.XERO_JOURNALS.value: XERO,
    AccountsStyle.XERO_BILLS.value: replace(XERO, has_bills=True),
    AccountsStyle.MYOB_JOURNAL.value: MYOB,
}


def check_forms(**options: object) -> list[CheckMessage]:
    """Refuse to start with a package whose files nobody can write."""
    return [
        Error(
            f"The accounting package {style} has no row in FORMS.",
            hint="Add one in apps/payments/file_formats/accounts_forms.py.",
            id="payments.E001",
        )
        for style in AccountsStyle.values
        if style not in FORMS
    ]
