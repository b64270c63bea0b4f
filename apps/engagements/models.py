"""Plans of participants, the service bookings in them, and the budgets of both (interface.md 2.9)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import OuterRef

from apps.base import clock
from apps.base.money import ZERO
from apps.core.computed import ComputedDecimal, to_the_cent
from apps.core.models import (
    Lookup,
    NormalisedField,
    Record,
    Responsibility,
    Searched,
    money,
    optional_reference,
    optional_text,
)
from apps.engagements.choices import LAST_CATEGORY, ManagementType, ParticipantType, SupportPurpose
from apps.engagements.funding_periods import PeriodAmounts
from apps.engagements.period_forecast import PeriodForecast, forecast_period
from apps.engagements.spending import Spending
from apps.people.models import Client, Contact, Staff


def sum_of_bills() -> models.DecimalField:
    """The sum of the amounts of bills, which needs more digits than one amount."""
    return models.DecimalField(max_digits=20, decimal_places=2, default=ZERO, editable=False)


class SupportCategory(Lookup, Record):
    """A category of the scheme that budgets are divided by; 16 to 21 are for PACE plans."""

    number = models.PositiveSmallIntegerField(
        unique=True, validators=[MinValueValidator(1), MaxValueValidator(LAST_CATEGORY)]
    )
    support_purpose = models.CharField("purpose", max_length=17, choices=SupportPurpose)

    class Meta(Record.Meta):
        verbose_name_plural = "support categories"
        ordering = ("number",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(number__gte=1, number__lte=LAST_CATEGORY),
                name="engagements_category_number_of_the_scheme",
            ),
        )

    def __str__(self) -> str:
        return f"{self.number:02} {self.name}"


@dataclass(frozen=True, slots=True)
class SupportItem:
    """The parts of a support item's code: ``15_056_0128_1_3`` is of category 15 and of purpose 3."""

    category: int
    purpose: str | None


_PURPOSES = {
    "1": SupportPurpose.CORE.value,
    "2": SupportPurpose.CAPITAL.value,
    "3": SupportPurpose.CAPACITY_BUILDING.value,
}


def support_item(code: str | None) -> SupportItem | None:
    """The parts of a support item's code; ``None`` for a code of another form (some items have names)."""
    category, *rest = (code or "").strip().split("_")
    if len(category) != 2 or not category.isdecimal() or not rest:
        return None
    purpose = _PURPOSES.get(rest[-1]) if len(rest) == 4 else None
    return SupportItem(int(category), purpose)


#: The sum of the budgets of a plan. Both engines round the same way, and null is no sum.
ALLOCATED = to_the_cent(
    "coalesce(CASE {row}.participant_type WHEN 'PACE' THEN"
    " (SELECT sum(_budget.budget) FROM engagements_categorybudget _budget"
    " WHERE _budget.engagement_id = {row}.guid)"
    " ELSE (SELECT sum(_booking.budget) FROM engagements_servicebooking _booking"
    " WHERE _booking.engagement_id = {row}.guid) END, 0.00)"
)


def last_day_of_plan(plan_end_date: dt.date, no_active_plan_from_date: dt.date | None) -> dt.date:
    """The last day a plan covers: a participant without an active plan is covered by none."""
    if no_active_plan_from_date is None:
        return plan_end_date
    if no_active_plan_from_date == dt.date.min:  # no day is before it
        return dt.date.min
    return min(plan_end_date, no_active_plan_from_date - dt.timedelta(days=1))


def ended_before(day: dt.date | OuterRef) -> models.Q:
    """The condition of plans whose last day is before that day."""
    return models.Q(plan_end_date__lt=day) | models.Q(no_active_plan_from_date__lte=day)


class ClientEngagement(Record):
    """A participant's plan: its dates, its managers, and the budget that service bookings divide."""

    caseload_path = "participant__account_manager"

    searched = Searched(
        names=("participant__first_name", "participant__last_name"),
        codes=("participant__scheme_number",),
        in_lists=("participant__unique_code",),
        numbers=("participant__scheme_number",),
    )
    fixed_columns = ("participant", "participant_type")  # its budgets depend on them

    participant_type = models.CharField(max_length=6, choices=ParticipantType, default=ParticipantType.AGENCY)
    participant = models.ForeignKey(Contact, on_delete=models.PROTECT, related_name="engagements")
    plan_start_date = models.DateField()
    plan_end_date = models.DateField()
    booking_start_date = models.DateField("bookings start", null=True, blank=True)
    booking_end_date = models.DateField("bookings end", null=True, blank=True)
    plan_commencement_date = models.DateField(null=True, blank=True)
    no_active_plan_from_date = models.DateField("no active plan from", null=True, blank=True)
    is_agency_managed = models.BooleanField("agency managed", default=False)
    is_self_managed = models.BooleanField("self managed", default=False)
    is_plan_managed = models.BooleanField("plan managed", default=False)
    support_coordinator = optional_reference(Contact, related_name="coordinates")
    person_responsible_for_direct_fees = optional_reference(
        Contact, "responsible for direct fees", related_name="pays_direct_fees_of"
    )
    plan_manager = optional_reference(Client, related_name="manages_plans")
    total_budget_amount = money("total budget", default=ZERO)
    endorsement_date = models.DateField(
        "endorsed", null=True, blank=True, help_text="PACE: when the participant endorsed the plan manager."
    )
    total_allocate_amount = ComputedDecimal(
        ALLOCATED, verbose_name="allocated", max_digits=14, decimal_places=2
    )
    un_allocate_amount = ComputedDecimal(
        to_the_cent(f"{{row}}.total_budget_amount - {ALLOCATED}"),
        verbose_name="not allocated",
        max_digits=14,
        decimal_places=2,
    )

    class Meta(Record.Meta):
        verbose_name = "plan"
        ordering = ("-plan_start_date", "guid")
        constraints = (
            models.UniqueConstraint(
                fields=["participant", "participant_type", "plan_start_date"],
                name="engagements_one_plan_starts_on_a_day",
            ),
            models.CheckConstraint(
                condition=models.Q(plan_end_date__gte=models.F("plan_start_date")),
                name="engagements_plan_dates_in_order",
            ),
            models.CheckConstraint(
                condition=models.Q(total_budget_amount__gte=0), name="engagements_total_budget_not_negative"
            ),
        )
        indexes = (
            models.Index(fields=["participant_type", "creation_date", "guid"], name="engagements_newest"),
            models.Index(fields=["participant_type", "modify_date", "guid"], name="engagements_modified"),
            models.Index(fields=["plan_end_date"], name="engagements_ending"),
        )

    def __str__(self) -> str:
        return f"{self.participant}, {self.plan_start_date:%d %b %Y} – {self.plan_end_date:%d %b %Y}"

    @property
    def last_day(self) -> dt.date:
        """The last day the plan covers."""
        return last_day_of_plan(self.plan_end_date, self.no_active_plan_from_date)

    @property
    def is_pace(self) -> bool:
        """PACE plans have category budgets, plans of the agency's own portal service bookings."""
        return self.participant_type == ParticipantType.PACE

    @property
    def is_current(self) -> bool:
        return self.covers(clock.today())

    @property
    def days_left(self) -> int:
        """Days after today up to the last one; negative when the plan has ended."""
        return (self.last_day - clock.today()).days

    def covers(self, day: dt.date) -> bool:
        return self.plan_start_date <= day <= self.last_day

    @property
    def budgets(self) -> Any:
        """The manager of the service bookings, or of a PACE plan its category budgets."""
        return self.category_budgets if self.is_pace else self.bookings

    def spending(self, budgets: Iterable[Budget], today: dt.date) -> Spending:
        """How the plan's total budget is spent by a day: the sums of its budgets."""
        parts = list(budgets)
        return Spending(
            self.plan_start_date,
            max(self.plan_start_date, self.last_day),
            today,
            self.total_budget_amount,
            sum((each.used_elsewhere for each in parts), ZERO),
            sum((each.claimed for each in parts), ZERO),
            sum((each.paid for each in parts), ZERO),
            sum((each.waiting for each in parts), ZERO),
        )


class Budget(Record):
    """A budget of a plan and the sums of the claims on it, which ``amounts.record_amounts`` updates.

    ``claimed`` is claimed from the agency, ``paid`` the part of it that was paid, ``waiting`` entered and
    not yet claimed; ``used_elsewhere`` was spent by others, or before this service was used.
    """

    caseload_path = "engagement__participant__account_manager"

    engagement: models.ForeignKey[Any, ClientEngagement]
    budget = money(default=ZERO)
    used_elsewhere = money(default=ZERO, help_text="Drawn by others, or before this service was used.")
    claimed = sum_of_bills()
    paid = sum_of_bills()
    waiting = sum_of_bills()
    management_type = models.CharField(
        "managed by", max_length=6, choices=ManagementType, default=ManagementType.PLAN
    )

    fixed_columns = ("engagement",)
    #: Sums of other records; those have a history of their own.
    unrecorded_columns = frozenset({"claimed", "paid", "waiting"})

    class Meta(Record.Meta):
        abstract = True

    @property
    def has_claims(self) -> bool:
        """True when money was claimed on it, or waits to be."""
        return bool(self.claimed or self.paid or self.waiting)

    @property
    def remaining(self) -> Decimal:
        return self.budget - self.used_elsewhere - self.claimed - self.waiting

    @property
    def first_day(self) -> dt.date:
        """The first day that the budget pays for; of a booking without dates, its plan's."""
        return self.engagement.plan_start_date

    @property
    def last_day(self) -> dt.date:
        return self.engagement.last_day

    def forecast(self, today: dt.date) -> PeriodForecast | None:
        """How long the money of today's funding period lasts; ``None`` for budgets without one."""
        return None

    @property
    def has_periods(self) -> bool:
        """True when its money is released in funding periods."""
        return False

    def spending(self, today: dt.date) -> Spending:
        """How the budget is spent by a day."""
        return Spending(
            self.first_day,
            max(self.first_day, self.last_day),
            today,
            self.budget,
            self.used_elsewhere,
            self.claimed,
            self.paid,
            self.waiting,
        )


def budget_label(
    support_item: str | None, category: object, support_purpose: str | None, booking_number: str | None
) -> str:
    """The name of a budget: ``15 Improved Daily Living Skills (50000077)``."""
    label = support_item or category or support_purpose
    return f"{label} ({booking_number})" if booking_number else str(label)


class ServiceBooking(Budget):
    """A part of a plan's budget reserved for a support category, or for one support item of it."""

    responsibilities = (Responsibility("budget_manager"),)

    engagement = models.ForeignKey(
        ClientEngagement, on_delete=models.PROTECT, related_name="bookings", verbose_name="plan"
    )
    support_purpose = models.CharField(max_length=17, choices=SupportPurpose)
    support_item = optional_text(length=50, help_text="A code of the price guide: 01_011_0107_1_1")
    category = optional_reference(SupportCategory, related_name="bookings")
    budget_manager = optional_reference(Staff, related_name="manages_budgets")
    booking_start_date = models.DateField("from", null=True, blank=True)
    booking_end_date = models.DateField("to", null=True, blank=True)
    booking_number = optional_text("number", 50)
    booking_number_key = NormalisedField(of="booking_number", unique=True, max_length=150)
    balance_date = models.DateField(
        "used elsewhere as of", null=True, blank=True, help_text="The day the agency told the balance of."
    )

    class Meta(Budget.Meta):
        verbose_name = "service booking"
        ordering = ("booking_start_date", "category", "guid")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(booking_end_date__gte=models.F("booking_start_date")),
                name="engagements_booking_dates_in_order",
            ),
            models.CheckConstraint(
                condition=models.Q(budget__gte=0), name="engagements_booking_budget_not_negative"
            ),
        )

    def __str__(self) -> str:
        return budget_label(self.support_item, self.category, self.support_purpose, self.booking_number)

    @property
    def first_day(self) -> dt.date:
        return self.booking_start_date or super().first_day

    @property
    def last_day(self) -> dt.date:
        return self.booking_end_date or super().last_day


class CategoryBudget(Budget):
    """A component of a PACE plan: its budget for a support category, several, or stated supports alone.

    Such plans have no service bookings. A flexible component is that of its category and of
    ``further_categories``; with ``stated_items`` it pays for these supports and for nothing else. A component
    with funding periods releases its money in parts (``FundingPeriod``).
    """

    engagement = models.ForeignKey(
        ClientEngagement, on_delete=models.PROTECT, related_name="category_budgets", verbose_name="plan"
    )
    category = models.ForeignKey(SupportCategory, on_delete=models.PROTECT, related_name="budgets")
    component_name = optional_text("component", help_text="As the plan names it, such as Flexible core.")
    further_categories = optional_text(
        length=60, help_text="Numbers of other categories that it pays for as well, such as 02 03 04."
    )
    stated_items = optional_text(
        "stated supports",
        length=600,
        help_text="Codes of the only supports that it pays for.",
    )

    class Meta(Budget.Meta):
        verbose_name = "PACE budget"
        ordering = ("category__number", "guid")
        constraints = (
            models.UniqueConstraint(
                fields=["engagement", "category"],
                condition=models.Q(stated_items=None),
                name="engagements_one_budget_of_a_category",
            ),
            models.CheckConstraint(
                condition=models.Q(budget__gte=0), name="engagements_category_budget_not_negative"
            ),
        )

    def __str__(self) -> str:
        return component_label(self.component_name, str(self.category), self.stated_items)

    @property
    def categories(self) -> tuple[int, ...]:
        """The numbers of the categories that it pays for."""
        return (self.category.number, *numbers_of(self.further_categories))

    @property
    def has_periods(self) -> bool:
        return bool(self.periods.all())

    def forecast(self, today: dt.date) -> PeriodForecast | None:
        amounts = [each.amounts for each in self.periods.all()]
        return forecast_period(amounts, self.used_elsewhere, today)


def numbers_of(further_categories: str | None) -> tuple[int, ...]:
    """The numbers in a text such as ``02 03 04``; others than numbers are left out."""
    return tuple(int(each) for each in (further_categories or "").split() if each.isdecimal())


def codes_of(stated_items: str | None) -> tuple[str, ...]:
    """The codes of stated supports, as they are compared."""
    return tuple((stated_items or "").casefold().split())


def component_label(component_name: str | None, category: str, stated_items: str | None) -> str:
    """The name of a component: as the plan names it, else of its category and its stated supports."""
    if component_name:
        return component_name
    return f"{category} (stated {stated_items})" if stated_items else category


class FundingPeriod(Record):
    """The days from which a component releases a part of its money, and the sums of the claims of its days.

    ``amounts`` adds to the sums as it does to the component's. Periods of a component follow one another; its
    history is that of the component.
    """

    caseload_path = "category_budget__engagement__participant__account_manager"

    category_budget = models.ForeignKey(
        CategoryBudget, on_delete=models.CASCADE, related_name="periods", db_index=False
    )
    first_day = models.DateField("from")
    last_day = models.DateField("to")
    released = money()
    claimed = sum_of_bills()
    paid = sum_of_bills()
    waiting = sum_of_bills()

    unrecorded_columns = frozenset({"claimed", "paid", "waiting"})

    class Meta(Record.Meta):
        ordering = ("first_day", "guid")
        constraints = (
            models.UniqueConstraint(
                fields=["category_budget", "first_day"], name="engagements_one_period_starts_on_a_day"
            ),
            models.CheckConstraint(
                condition=models.Q(last_day__gte=models.F("first_day")),
                name="engagements_period_dates_in_order",
            ),
            models.CheckConstraint(
                condition=models.Q(released__gte=0), name="engagements_period_released_not_negative"
            ),
        )

    def __str__(self) -> str:
        return f"{self.first_day:%d %b %Y} – {self.last_day:%d %b %Y}"

    @property
    def amounts(self) -> PeriodAmounts:
        """The period as drawing counts it: what is claimed and what waits is used."""
        return PeriodAmounts(self.first_day, self.last_day, self.released, self.claimed + self.waiting)
