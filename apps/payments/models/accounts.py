"""Whom the organisation pays: its own bank account, and those of organisations and people."""

from __future__ import annotations

import re
from typing import ClassVar

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

from apps.core.models import Record, TimestampedModel, optional_reference
from apps.funding.models.moves import exactly_one_of
from apps.payments.models.account_codes import AccountsOptions
from apps.people.models import Client, Contact, Staff

BSB = RegexValidator(r"\A[0-9]{3}-[0-9]{3}\Z", "A BSB is six digits: 062-000.")
ACCOUNT_NUMBER = RegexValidator(r"\A[0-9]{1,9}\Z", "An account number has one to nine digits.")


def plain_bsb(text: str) -> str:
    """A BSB as people write it, with a hyphen, a blank or nothing between its halves; else the text."""
    digits = re.sub(r"[\s–-]", "", text)
    return f"{digits[:3]}-{digits[3:]}" if re.fullmatch("[0-9]{6}", digits) else text


def plain_account_number(text: str) -> str:
    """An account number as people write it: with blanks or hyphens, which are not stored."""
    return re.sub(r"[\s–-]", "", text)


class PaymentSettings(AccountsOptions, TimestampedModel):
    """The organisation's own bank account, how its bank wants payments, and its accounts; one record."""

    has_personal_data = False

    bsb = models.CharField("BSB", max_length=7, blank=True, validators=[BSB])
    account_number = models.CharField(max_length=9, blank=True, validators=[ACCOUNT_NUMBER])
    account_name = models.CharField(
        max_length=26, blank=True, help_text="As the bank knows it, and as payees read it."
    )
    bank = models.CharField(
        max_length=3,
        blank=True,
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "The bank is three capital letters: CBA.")],
        help_text="Its three letters: CBA, NAB, WBC, ANZ …",
    )
    user_id = models.CharField(
        "user id",
        max_length=6,
        blank=True,
        validators=[RegexValidator(r"\A[0-9]{6}\Z", "The user id is six digits.")],
        help_text="Six digits that the bank gives for Direct Entry.",
    )
    description = models.CharField(
        max_length=12, default="PROVIDERS", help_text="On the organisation's own statement."
    )
    payments_per_file = models.PositiveIntegerField(
        "payments in a file", default=500, validators=[MinValueValidator(1)], help_text="At most."
    )
    pays_each_claim = models.BooleanField(
        "a payment for each claim",
        default=False,
        help_text="Otherwise one payment for each payee, with a remittance advice that lists the claims.",
    )
    debits_own_account = models.BooleanField(
        default=False, help_text="Some banks want the debit of the own account as the last line of a file."
    )

    class Meta:
        verbose_name = "payment settings"
        verbose_name_plural = "payment settings"
        default_permissions = ("view", "change")
        constraints = (models.CheckConstraint(condition=Q(pk=1), name="payments_one_settings"),)

    def __str__(self) -> str:
        return "Payment settings"

    def save(self, *args: object, **options: object) -> None:
        self.pk = 1
        super().save(*args, **options)

    @classmethod
    def current(cls) -> PaymentSettings:
        """The settings; the defaults while nobody has saved any."""
        return cls.objects.filter(pk=1).first() or cls(pk=1)

    @property
    def missing(self) -> list[str]:
        """The values that a bank file needs and that are missing, in words."""
        needed = {
            "BSB": self.bsb,
            "account number": self.account_number,
            "account name": self.account_name,
            "bank": self.bank,
            "user id": self.user_id,
        }
        return [label for label, value in needed.items() if not value]


class BankAccount(Record):
    """The account that an organisation or a person is paid to.

    Its numbers never change: new ones are a new account, and the one before is archived. Nothing is paid to
    it before another person than ``entered_by`` has confirmed it, by a way that was known before.
    """

    caseload_path = "contact__account_manager"

    #: The history says that they were entered, not what they are: not everybody who reads it may see them.
    secret_columns: ClassVar[frozenset[str]] = frozenset({"bsb", "account_number", "account_name"})
    fixed_columns = ("client", "contact", "bsb", "account_number", "account_name")

    client = optional_reference(Client, "organisation", related_name="bank_accounts", db_index=False)
    contact = optional_reference(Contact, "person", related_name="bank_accounts", db_index=False)
    bsb = models.CharField("BSB", max_length=7, validators=[BSB])
    account_number = models.CharField(max_length=9, validators=[ACCOUNT_NUMBER])
    account_name = models.CharField(max_length=100)
    entered_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    confirmed_at = models.DateTimeField("confirmed", null=True, editable=False)
    confirmed_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    confirmation = models.CharField(
        "how it was confirmed",
        max_length=400,
        null=True,
        editable=False,
        help_text="With whom, and by which number.",
    )
    #: Whose it was then: an account that a merge gave to somebody else is confirmed anew.
    confirmed_for = models.UUIDField(null=True, editable=False)
    #: Why it is not confirmed any more: a payment to it came back.
    unconfirmed_because = models.CharField(max_length=200, null=True, editable=False)

    class Meta(Record.Meta):
        verbose_name = "bank account"
        ordering = ("-creation_date", "-guid")
        default_permissions = ("view", "add", "change")
        permissions = (("confirm_bankaccount", "Can confirm bank accounts that somebody else entered"),)
        constraints = (
            models.CheckConstraint(
                condition=exactly_one_of("client", "contact"), name="payments_account_of_one_owner"
            ),
            models.UniqueConstraint(
                fields=["client"], condition=Q(archive_date=None), name="payments_one_account_of_a_client"
            ),
            models.UniqueConstraint(
                fields=["contact"], condition=Q(archive_date=None), name="payments_one_account_of_a_contact"
            ),
            models.CheckConstraint(
                condition=Q(confirmed_at=None)
                | Q(entered_by=None)
                | ~Q(confirmed_by=F("entered_by")) & Q(confirmed_by__isnull=False),
                name="payments_account_confirmed_by_another",
            ),
        )

    @property
    def owner(self) -> Client | Contact:
        owner = self.client or self.contact
        assert owner is not None
        return owner

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed_at is not None and self.confirmed_for == (self.client_id or self.contact_id)

    def __str__(self) -> str:
        """Without its numbers, which not everybody may see."""
        return f"Account of {self.owner}"
