"""The demo's provider invoices that no claim is built on yet: just in, approved, on hold, rejected."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from random import Random
from uuid import UUID

from apps.core.demo import Context
from apps.documents.demo.loading import ABOUT_NOBODY, ARCHIVED, CATEGORIES, INVOICES, client_of
from apps.funding.choices import ApprovalAction, SendPaymentTo
from apps.funding.demo.bills import DAY, Move, Office, Row
from apps.funding.demo.claims import UNDECIDED, can_be_claimed_for, decide, provider_of
from apps.funding.demo.purses import dollars

#: The oldest came so many working days ago.
OLDEST = 45
#: What was decided about them, so many in a hundred each; about the others nothing.
DECISIONS = (
    (18, ApprovalAction.APPROVE, (None,)),
    (9, ApprovalAction.HOLD_BY_CLIENT, ("The participant was away", "The participant asks for a timesheet")),
    (
        9,
        ApprovalAction.HOLD_BY_PLAN_MANAGER,
        ("Which service booking?", "No service agreement on file", "Waiting for the plan review"),
    ),
    (10, ApprovalAction.REJECT, ("Not a participant of ours", "A statement, not an invoice", "Sent twice")),
)


def inbox(office: Office, count: int, from_number: int) -> Iterator[tuple[Row, list[Move]]]:
    """So many provider invoices with their moves; their references go on from a number.

    Every fifth is only a paper: no more is known of it than its document, as long as there are documents.
    """
    context = office.context
    chance = context.chance("inbox")
    plans = [plan for plan in office.plans if can_be_claimed_for(plan) and plan.last >= context.as_of]
    documents = list(papers(context))
    for number in range(count):
        morning = len(context.mornings) - 1 - int(chance.random() ** 2 * OLDEST)
        came = context.mornings[morning] + dt.timedelta(seconds=int(chance.random() * 30_000))
        document, about = documents.pop() if documents and number % 2 == 0 else (None, None)
        row: Row = {
            "guid": context.guid(f"inbox/{number}", came),
            "creation_date": came,
            "modify_date": came,
            "archive_date": None,
            "reference": None,
            "service_start_date": None,
            "service_end_date": None,
            "invoice_total": None,
            "is_reusable": False,
            "send_payment_to": SendPaymentTo.PROVIDER.value,
            "contact_id": None,
            "provider_id": about,
            "document_id": document,
            "created_by_id": office.funders.at(chance, came),
            **UNDECIDED,
        }
        is_told = document is None or number % 5
        if is_told:
            last = came.date() - (1 + int(chance.random() * 9)) * DAY
            row |= {
                "reference": f"R-{from_number + number:06}",
                "service_start_date": last - int(chance.random() * 14) * DAY,
                "service_end_date": last,
                "invoice_total": dollars(4_000 + int(chance.random() ** 2 * 180_000)),
            }
        if is_told and plans and chance.random() < 0.85:
            plan = plans[int(chance.random() * len(plans))]
            row["contact_id"] = plan.participant
            row["provider_id"] = about or provider_of(chance, office, plan)
        yield row, list(decided(chance, office, row))


def papers(context: Context) -> Iterator[tuple[UUID, UUID | None]]:
    """The demo's documents that are invoices of providers and not archived, with whom they are of."""
    series, clients = context.series["documents"], context.series["clients"]
    for place in range(series.count):
        if CATEGORIES[place % len(CATEGORIES)] != INVOICES or place % ARCHIVED == ARCHIVED - 1:
            continue
        client = client_of(clients, place)
        is_provider = place % ABOUT_NOBODY != ABOUT_NOBODY - 1 and client != 0
        yield series.guid(place), clients.guid(client) if is_provider else None


def decided(chance: Random, office: Office, row: Row) -> Iterator[Move]:
    """What was decided about it some hours later, if anything."""
    luck = chance.random() * 100
    at = row["creation_date"] + dt.timedelta(seconds=600 + int(chance.random() * 9_000))
    for weight, action, reasons in DECISIONS:
        luck -= weight
        if luck < 0:
            staff = office.funders.at(chance, at)
            yield decide(row, action, at, staff, reasons[int(chance.random() * len(reasons))])
            return
