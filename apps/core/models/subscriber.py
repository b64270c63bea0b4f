"""The organisation that runs the service, and its settings."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import ClassVar
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from apps.base.declaration.resource import Enumeration
from apps.core.models.records import TimestampedModel


class Consent(Enumeration):
    """Whether somebody agreed to be written to."""

    YES = "Yes", 0
    NO = "No", 1
    UNSUBSCRIBED = "Unsubscribed", 2


def check_time_zone(name: str) -> None:
    if name not in available_timezones():
        raise ValidationError(f"{name} is not a time zone; Australia/Sydney would be one.")


#: Of running numbers; with their prefix they fit into the 47 characters that a number may have.
DIGITS = (MinValueValidator(1), MaxValueValidator(20))


#: The list of reasons of an organisation that has not written its own.
HOLD_REASONS = "\n".join(
    (
        "Waiting for the provider",
        "Waiting for the participant",
        "Invoice is not clear",
        "No plan or no budget left",
        "Service is disputed",
    )
)


class Subscriber(TimestampedModel):
    """The one organisation that runs this service, and its settings."""

    caseload_path = ""

    has_personal_data = False

    name = models.CharField("organisation", max_length=255, default="My organisation")
    time_zone = models.CharField(
        max_length=60,
        default="Australia/Sydney",
        validators=[check_time_zone],
        help_text="Times are shown in it, and times given without an offset are read in it.",
    )
    currency = models.CharField(max_length=3, default="AUD")
    day_first = models.BooleanField(
        "day before month",
        default=True,
        db_default=True,
        help_text="How 3/4/2026 is read in files where no other value of its column shows it.",
    )
    email_consent_default = models.CharField(
        "email consent when not given", max_length=12, choices=Consent, default=Consent.YES
    )
    claim_number_prefix = models.CharField(max_length=20, default="CLM-", blank=True)
    claim_number_digits = models.PositiveSmallIntegerField(default=7, validators=DIGITS)
    invoice_number_prefix = models.CharField(max_length=20, default="INV-", blank=True)
    invoice_number_digits = models.PositiveSmallIntegerField(default=7, validators=DIGITS)
    email_marketing_module = models.BooleanField(default=False)
    payment_provider_module = models.BooleanField("submits claims to a payment provider", default=False)
    team_on_opportunities = models.BooleanField(default=True)
    four_eyes = models.BooleanField(
        "four eyes", default=True, help_text="Nobody approves a claim they entered themselves."
    )

    business_number = models.CharField(
        "business number (ABN)", max_length=90, blank=True, default="", db_default=""
    )
    registration_number = models.CharField(
        max_length=10,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(r"^[0-9]{6,10}\Z", "It has six to ten digits and nothing else.")],
        help_text="The agency's number of this organisation, for claim files. It begins with 405.",
    )
    invoice_sender = models.TextField(
        "address",
        blank=True,
        default="",
        db_default="",
        help_text="Below the organisation's name on invoices: address, email, phone.",
    )
    payment_details = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="At the end of invoices to clients: account name, BSB and account number.",
    )
    hold_reasons = models.TextField(
        "reasons of holds",
        blank=True,
        default=HOLD_REASONS,
        db_default=HOLD_REASONS,
        max_length=4000,
        help_text="One a line. They are offered where a claim or an invoice is put on hold.",
    )

    remittance_tolerance = models.DecimalField(
        "tolerance of remittances",
        max_digits=6,
        decimal_places=2,
        default=Decimal("0.00"),
        db_default=Decimal("0.00"),
        validators=[MinValueValidator(0)],
        help_text="The agency may pay a claim short by at most so much: the rest is written off.",
    )

    class Meta:
        verbose_name = "organisation settings"
        verbose_name_plural = "organisation settings"
        default_permissions = ("view", "change")
        constraints = (models.CheckConstraint(condition=models.Q(pk=1), name="core_one_subscriber"),)

    def __str__(self) -> str:
        return self.name

    #: Seconds a worker may go on with settings that another worker changed.
    CACHE_SECONDS: ClassVar[float] = 5.0
    _cached: ClassVar[tuple[float, Subscriber] | None] = None

    def save(self, *args: object, **options: object) -> None:
        self.pk = 1
        super().save(*args, **options)
        self.clear_cache()

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @property
    def hold_reason_list(self) -> list[str]:
        lines = (" ".join(line.split()) for line in self.hold_reasons.splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    @classmethod
    def current(cls) -> Subscriber:
        """The settings, read from the database once in a few seconds; the defaults while none are saved."""
        now = time.monotonic()
        if cls._cached is None or now - cls._cached[0] > cls.CACHE_SECONDS:
            Subscriber._cached = (now, cls.objects.filter(pk=1).first() or cls(pk=1))
        assert Subscriber._cached is not None
        return Subscriber._cached[1]

    @classmethod
    def clear_cache(cls) -> None:
        """Read the settings anew at the next ``current()``."""
        Subscriber._cached = None
