"""How money is booked in the organisation's accounting package: options, and the codes of accounts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from apps.core.models import Record, optional_reference
from apps.funding.choices import TaxChoice
from apps.funding.models import CostCentre
from apps.payments.choices import AccountsStyle, CodeUse

ACCOUNT_CODE = RegexValidator(
    r"\A[0-9A-Za-z][0-9A-Za-z.\-]{0,9}\Z",
    "A code of an account has up to 10 letters, digits, points and hyphens: 200, 4-1000.",
)


def account_code(label: str, help_text: str) -> models.CharField:
    """The code of one account; empty when it is not known yet."""
    return models.CharField(
        label,
        max_length=10,
        blank=True,
        default="",
        db_default="",
        validators=[ACCOUNT_CODE],
        help_text=help_text,
    )


def tax_name(label: str, help_text: str = "") -> models.CharField:
    """The package's name of a kind of tax; empty for its usual name."""
    return models.CharField(label, max_length=50, blank=True, default="", db_default="", help_text=help_text)


class AccountsOptions(models.Model):
    """The part of the payment settings that accounts exports read."""

    accounts_style = models.CharField(
        "package",
        max_length=13,
        blank=True,
        default="",
        db_default="",
        choices=AccountsStyle,
        help_text="With bills, payments to payees are bills that are paid in Xero, and no journals.",
    )
    accounts_from = models.DateField(
        "first day",
        null=True,
        blank=True,
        help_text="What happened before it is never exported: it was booked by hand.",
    )
    bank_code = account_code(
        "account of money in transit",
        "Stands for the bank. Xero is said to refuse journals on bank accounts (one source): use an account"
        " of its own, and reconcile the bank's lines with it.",
    )
    clearing_code = account_code("clearing account", "What the agency paid and payees have not got yet.")
    gst_code = account_code(
        "GST account",
        "Then GST of the own fee is a line of its own. Empty: the fee is booked with its GST, and the package"
        " takes the GST out by the line's tax.",
    )
    tax_on_income = tax_name("GST on income", "Empty: GST on Income; in MYOB GST.")
    tax_free_income = tax_name("GST free income", "Empty: GST Free Income; in MYOB FRE.")
    tax_free_exports = tax_name("GST free exports", "Empty: GST Free Exports; in MYOB EXP.")
    tax_excluded = tax_name("BAS excluded", "Of all other lines. Empty: BAS Excluded; in MYOB N-T.")
    tax_on_expenses = tax_name(
        "bills with GST", "Empty: as BAS excluded, since the GST of providers is theirs."
    )
    tax_free_expenses = tax_name("bills without GST", "Empty: as BAS excluded.")

    class Meta:
        abstract = True


class AccountCode(Record):
    """The account of some amounts: of the rows that fit an amount, the most specific one counts.

    A row fits when each of its values is that of the amount; what it leaves empty fits all.
    """

    has_personal_data = False

    used_for = models.CharField(max_length=12, choices=CodeUse, default=CodeUse.OWN_FEE)
    cost_centre = optional_reference(CostCentre, related_name="+", db_index=False)
    category = models.PositiveSmallIntegerField(
        "category number",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Of the price guide: 14 for plan management.",
    )
    tax_choice = models.CharField("tax", max_length=14, null=True, blank=True, choices=TaxChoice)
    code = models.CharField("account", max_length=10, validators=[ACCOUNT_CODE])

    class Meta(Record.Meta):
        verbose_name = "account code"
        ordering = ("used_for", "code", "guid")
        default_permissions = ()  # they belong to the payment settings

    def __str__(self) -> str:
        return self.code

    def fits(self, use: CodeUse, values: tuple[Any, int | None, str | None]) -> bool:
        """True for amounts of this use; ``values``: their cost centre's key, category and tax choice."""
        own = (self.cost_centre_id, self.category, self.tax_choice)
        return self.used_for == use and all(
            mine in (None, value) for mine, value in zip(own, values, strict=True)
        )

    @property
    def specificity(self) -> tuple[bool, bool, bool]:
        """A row with a cost centre comes before one without; then a category; then a tax choice."""
        return self.cost_centre_id is not None, self.category is not None, self.tax_choice is not None


def find_account_code(
    rows: Iterable[AccountCode], use: CodeUse, values: tuple[Any, int | None, str | None]
) -> str | None:
    """The account of an amount by the most specific row; of rows alike, the older one."""
    fitting = [row for row in rows if row.fits(use, values)]
    best = max(fitting, key=lambda row: (row.specificity, -row.guid.int), default=None)
    return None if best is None else best.code
