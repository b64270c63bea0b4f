"""What the demo's bills draw on: plans with their budgets, of which so much is gone by a day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from apps.core.demo import Context, Series
from apps.engagements.choices import ManagementType
from apps.engagements.demo import rows
from apps.engagements.demo.loading import surroundings
from apps.engagements.models import CategoryBudget, ServiceBooking
from apps.engagements.services import Amounts
from apps.funding.choices import Zone
from apps.funding.demo.shelf import Offer, Shelf
from apps.funding.pricing import REMOTE_ZONES
from apps.funding.public_holidays import state_code
from apps.odata.any_of import AnyOf
from apps.people.models import Contact

#: Lines that were drawn in the last while, to draw no line twice.
REMEMBERED = 48
NOTHING = Amounts()


def cents(amount: Decimal) -> int:
    return int(amount * 100)


def dollars(amount: int) -> Decimal:
    """Cents, or hundredths, as a decimal of two places."""
    return Decimal(amount).scaleb(-2)


@dataclass(slots=True)
class Purse:
    """A service booking, or a PACE plan's budget for a category; amounts in cents.

    ``gone`` is what the plan's stage says was spent of it by the demo's day: bills draw it first, and what
    they leave of it was used elsewhere.
    """

    guid: UUID
    is_booking: bool
    category: int
    offers: tuple[Offer, ...]
    budget: int
    gone: int
    drawn: int = 0
    amounts: Amounts = NOTHING


@dataclass(slots=True)
class Plan:
    """A participant's plan. ``known_from`` is the day from which bills can be entered for it."""

    number: int
    participant: UUID
    zone: str
    state: str | None
    management: str
    first: dt.date
    last: dt.date
    known_from: dt.date
    purses: tuple[Purse, ...]
    recent: dict[int, None] = field(default_factory=dict)

    def remember(self, mark: int) -> bool:
        """Note the mark of a line; false when there was such a line of late."""
        if mark in self.recent:
            return False
        self.recent[mark] = None
        if len(self.recent) > REMEMBERED:
            del self.recent[next(iter(self.recent))]
        return True


def plans(context: Context, shelf: Shelf) -> Iterator[Plan]:
    """The plans that the demo's engagements were loaded with, of which something is gone."""
    around = surroundings(context)
    homes = homes_of(around.contacts)
    numbers = {key: number for number, (key, _) in around.categories.items()}
    for number, each in enumerate(rows.plans(context, around)):
        row = each.plan
        purses = tuple(
            purse_of(budget, numbers[budget["category_id"]], shelf)
            for budget in (*each.bookings, *each.budgets)
        )
        first, made = row["plan_start_date"], row["creation_date"].astimezone(context.zone).date()
        if any(purse.gone for purse in purses):
            yield Plan(
                *(number, row["participant_id"], *homes[row["participant_id"]], management_of(row)),
                *(first, row["plan_end_date"], max(first, made), purses),
            )


def homes_of(contacts: Series) -> dict[UUID, tuple[str, str | None]]:
    """The zone of prices and the state that each participant lives in."""
    key: Any = Contact._meta.pk
    participants = [contacts.guid(number) for number in rows.participants(contacts.count)]
    found = Contact.objects.filter(AnyOf(key, participants))
    return {
        contact: (region if region in REMOTE_ZONES else Zone.NATIONAL.value, state_code(state))
        for contact, region, state in found.values_list("pk", "scheme_price_guide_region", "state")
    }


def purse_of(row: rows.Row, category: int, shelf: Shelf) -> Purse:
    item = row.get("support_item")
    offers = shelf.only(item) if item else shelf.offers.get(category, ())
    is_booking = "booking_number" in row
    return Purse(
        row["guid"], is_booking, category, offers, cents(row["budget"]), cents(row["used_elsewhere"])
    )


def management_of(row: rows.Row) -> str:
    if row["is_plan_managed"]:
        return ManagementType.PLAN.value
    return ManagementType.SELF.value if row["is_self_managed"] else ManagementType.AGENCY.value


def usual_share(plan: Plan, day: dt.date, today: dt.date) -> float:
    """Which part of what is gone by today, or by the plan's end, was gone on a day."""
    last = min(plan.last, today)
    return min(max(((day - plan.first).days + 1) / max((last - plan.first).days, 1), 0.0), 1.0)


def tell(drawn: dict[UUID, Purse]) -> None:
    """Write what bills drew on the purses; what else was gone of them was used elsewhere."""
    quote = connection.ops.quote_name
    for model, is_booking in ((ServiceBooking, True), (CategoryBudget, False)):
        fields: Any = [
            model._meta.get_field(name) for name in ("used_elsewhere", "claimed", "paid", "waiting")
        ]
        key: Any = model._meta.pk
        columns = ", ".join(f"{quote(field.column)} = %s" for field in fields)
        changes = []
        for purse in drawn.values():
            if purse.is_booking == is_booking:
                sums = purse.amounts
                elsewhere = dollars(max(purse.gone - cents(sums.claimed + sums.waiting), 0))
                values = (elsewhere, sums.claimed, sums.paid, sums.waiting)
                cells = [
                    field.get_db_prep_save(value, connection)
                    for field, value in zip(fields, values, strict=True)
                ]
                changes.append([*cells, key.get_db_prep_value(purse.guid, connection)])
        if changes:
            statement = f"UPDATE {quote(model._meta.db_table)} SET {columns} WHERE {quote(key.column)} = %s"  # noqa: S608  our own names
            with connection.cursor() as cursor:
                cursor.executemany(statement, changes)
