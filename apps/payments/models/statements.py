"""Statements: what participants are told about a month, who wants them by mail, and runs that do all."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.formats import date_format

from apps.base import clock
from apps.base.money import ZERO
from apps.core.models import BackgroundRun, Record, calculated_money, money, optional_reference, optional_text
from apps.payments.choices import StatementRecipient, StatementRunStatus, StatementWork
from apps.people.models import Contact, Staff


class Statement(Record):
    """A participant's month as a document, byte for byte as it was made.

    ``month`` is its first day. When the month's claims are others afterwards, a new ``version`` says what
    changed, and the one before is kept and ``is_replaced``. ``made_for`` is the key of the participant then:
    a merge may give them two of one version. An erasure empties ``content``.
    """

    caseload_path = "contact__account_manager"

    #: The document, and an address, which may be another person's: an erasure finds it in no history.
    unrecorded_columns: ClassVar[frozenset[str]] = frozenset({"content", "sent_to", "mail_error"})

    contact = models.ForeignKey(
        Contact, on_delete=models.PROTECT, related_name="statements", verbose_name="participant"
    )
    made_for = models.UUIDField(editable=False)
    month = models.DateField(editable=False)
    version = models.PositiveSmallIntegerField(default=1, editable=False)
    is_replaced = models.BooleanField("replaced", default=False, editable=False)
    paid = calculated_money("paid")
    claimed = calculated_money("claimed, not paid yet")
    waiting = calculated_money("waiting")
    refused = calculated_money("refused")
    plan_first_day = models.DateField("plan from", null=True, editable=False)
    plan_last_day = models.DateField("plan to", null=True, editable=False)
    #: Sentences, one to a line.
    changes = models.TextField("what changed", blank=True, default="", editable=False)
    content = models.BinaryField(null=True)
    sha256 = models.CharField("SHA-256", max_length=64, editable=False)
    made_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)
    sent_at = models.DateTimeField("sent", null=True, editable=False)
    sent_to = models.EmailField(max_length=90, null=True, editable=False)
    #: Why the server of mail did not take it, after it was asked for the last time.
    mail_error = models.CharField("not taken", max_length=300, null=True, editable=False)

    class Meta(Record.Meta):
        verbose_name = "statement"
        ordering = ("-month", "-creation_date", "-guid")
        default_permissions = ("view", "add")
        permissions = (("send_statement", "Can send statements by mail"),)
        constraints = (
            models.UniqueConstraint(
                fields=["made_for", "month", "version"], name="payments_one_statement_of_a_version"
            ),
        )
        indexes = (
            models.Index(fields=["month", "is_replaced"], name="payments_statement_of_a_month"),
            models.Index(fields=["-month", "-creation_date", "-guid"], name="payments_statement_newest"),
        )

    def __str__(self) -> str:
        version = f", version {self.version}" if self.version > 1 else ""
        return f"{month_name(self.month)}{version}"

    @property
    def spent(self) -> Decimal:
        """The amount that the month took of the plan: paid, and claimed to be paid."""
        return self.paid + self.claimed


def month_name(month: dt.date) -> str:
    """``October 2026``."""
    return date_format(month, "F Y")


class StatementLine(models.Model):
    """A line of a statement: one claim or invoice on one budget, as it was then.

    Names stay as they were. ``reference`` is the provider's own number.
    """

    statement = models.ForeignKey(Statement, on_delete=models.CASCADE, related_name="lines")
    position = models.PositiveIntegerField()
    budget = models.CharField(max_length=200)
    provider = models.CharField(max_length=255)
    number = models.CharField(max_length=47)
    reference = models.CharField(max_length=100, blank=True, default="")
    paid = calculated_money("paid")
    claimed = calculated_money("claimed, not paid yet")
    waiting = calculated_money("waiting")
    refused = calculated_money("refused")
    reason = models.CharField(max_length=400, blank=True, default="")

    class Meta:
        verbose_name = "line of a statement"
        verbose_name_plural = "lines of statements"
        default_permissions = ()
        ordering = ("statement", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["statement", "position"], name="payments_one_statement_line_at_a_position"
            ),
        )

    def __str__(self) -> str:
        return f"{self.number}: {self.budget}"


class StatementBudget(models.Model):
    """A budget of the participant's plan as a statement shows it: on the day when it was made."""

    statement = models.ForeignKey(Statement, on_delete=models.CASCADE, related_name="budgets")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    budget = money(default=ZERO)
    used = models.DecimalField(max_digits=20, decimal_places=2, default=ZERO)
    runs_out = models.DateField("runs out on", null=True)

    class Meta:
        verbose_name = "budget of a statement"
        verbose_name_plural = "budgets of statements"
        default_permissions = ()
        ordering = ("statement", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["statement", "position"], name="payments_one_statement_budget_at_a_position"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def left(self) -> Decimal:
        return self.budget - self.used


class StatementConsent(Record):
    """A participant wants statements by mail: to whom, since when, and who recorded it.

    Nothing is mailed without one. Archived, it is withdrawn.
    """

    caseload_path = "contact__account_manager"

    fixed_columns = ("contact",)

    contact = models.ForeignKey(
        Contact,
        on_delete=models.PROTECT,
        related_name="statement_consents",
        verbose_name="participant",
        db_index=False,  # the constraint begins with it
    )
    recipient = models.CharField("sent to", max_length=14, choices=StatementRecipient)
    since = models.DateField("given on")
    note = optional_text("how it was given", 200, help_text="For example: signed form, by telephone.")
    recorded_by = optional_reference(Staff, related_name="+", editable=False, db_index=False)

    class Meta(Record.Meta):
        verbose_name = "consent to statements by mail"
        verbose_name_plural = "consents to statements by mail"
        ordering = ("-creation_date", "-guid")
        default_permissions = ("view", "add", "change")
        constraints = (
            models.UniqueConstraint(
                fields=["contact"],
                condition=Q(archive_date=None),
                name="payments_one_consent_of_a_participant",
                violation_error_message="There is one already: archive it, or change it.",
            ),
        )

    def __str__(self) -> str:
        return f"Consent of {self.contact}"


class StatementRun(BackgroundRun):
    """Work on the statements of a month in the background: all are made, or all are sent.

    ``last_contact`` is the last participant that is done: a worker that was killed goes on after it.
    """

    running_statuses: ClassVar[frozenset[Any]] = frozenset({StatementRunStatus.RUNNING})

    month = models.DateField()
    work = models.CharField(max_length=4, choices=StatementWork)
    status = models.CharField(max_length=8, choices=StatementRunStatus, default=StatementRunStatus.RUNNING)
    created_at = models.DateTimeField("begun", default=clock.now)
    last_contact = models.UUIDField(null=True)
    made = models.PositiveIntegerField(default=0)
    corrected = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "run of statements"
        verbose_name_plural = "runs of statements"
        default_permissions = ()
        ordering = ("-created_at", "-guid")
        constraints = (
            models.UniqueConstraint(
                fields=["month", "work"],
                condition=Q(status=StatementRunStatus.RUNNING),
                name="payments_one_run_of_statements",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_work_display()}: {month_name(self.month)}"
