"""Loads the demo's funding: price books, provider invoices, claims and invoices, as a stream in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import models, transaction
from stdnum.au import abn

from apps.core.bulk_insert import bulk_insert
from apps.core.demo import BATCH, Context, DemoSet, Size
from apps.core.identifiers import normalised
from apps.funding.demo import guide, prices
from apps.funding.demo.bills import (
    APPROVING,
    CREDITING,
    MOVE_COLUMNS,
    WARNING_COLUMNS,
    Drawn,
    Move,
    Office,
    Row,
    Workers,
)
from apps.funding.demo.claims import claims
from apps.funding.demo.inbox import inbox
from apps.funding.demo.invoices import invoices
from apps.funding.demo.planted import PLANTED, how_many, planted
from apps.funding.demo.purses import plans, tell
from apps.funding.demo.shelf import read_shelf
from apps.funding.models import (
    AcknowledgedWarning,
    Claim,
    ClaimLine,
    CostCentre,
    Invoice,
    InvoiceLine,
    Price,
    Product,
    ProviderInvoice,
    StatusMove,
)
from apps.funding.services.claim_effects import recount_claim_flags
from apps.funding.services.numbering import NumberFormat, advance_sequence
from apps.people.models import Client

#: Planted claims come only where they are few among the others.
FEW = 3


def load(context: Context) -> None:
    """Store the funding of the context's sizes; people, documents and plans are loaded already."""
    prices.load(context)
    count, billed = context.sizes["claims"], context.sizes["invoices"]
    office = furnished(context, count, billed)
    seeds = how_many(office) if count >= FEW * len(PLANTED) else 0
    store(context, Invoice, InvoiceLine, invoices(office, billed), billed)
    store(context, Claim, ClaimLine, claims(office, count - seeds), count)
    if seeds:
        store(context, Claim, ClaimLine, planted(office, count - seeds), count)
    store_inbox(context, inbox(office, context.sizes["inbox"], count + 1))
    # Of some, the claim that had them was archived later, or they are reusable and another claim came.
    with transaction.atomic():
        recount_claim_flags()
    tell(office.drawn)


def furnished(context: Context, count: int, billed: int) -> Office:
    """What the bills are drawn with; so many numbers of claims and invoices are taken."""
    shelf = read_shelf(guide.PRICE_BOOK)
    staff = context.series["staff"]
    without, wrong = business_numbers(context)
    return Office(
        context,
        shelf,
        read_shelf(guide.PRIVATE_RATES),
        list(plans(context, shelf)),
        Workers(staff, APPROVING),
        Workers(staff, CREDITING),
        without,
        wrong,
        tuple(CostCentre.objects.get(name_key=normalised(name)).pk for name in guide.COST_CENTRES),
        numbered("claim", count),
        numbered("invoice", billed),
    )


def numbered(sequence: str, count: int) -> Numbers:
    return Numbers(NumberFormat(sequence), advance_sequence(sequence, count))


class Numbers:
    """The running numbers taken for the demo's claims, or invoices."""

    def __init__(self, spelling: NumberFormat, first: int) -> None:
        self.spelling, self.first = spelling, first

    def __call__(self, number: int) -> str:
        return self.spelling(self.first + number)


def business_numbers(context: Context) -> tuple[frozenset[UUID], dict[UUID, str]]:
    """The demo's clients without a business number, and the numbers that fail their check."""
    clients = context.series["clients"]
    known = {clients.guid(number) for number in range(clients.count)}
    told = {key: text for key, text in Client.objects.values_list("pk", "business_number") if key in known}
    wrong = {key: text for key, text in told.items() if text and not abn.is_valid(text)}
    return frozenset(key for key, text in told.items() if not text), wrong


# --- storing --------------------------------------------------------------------------------------------


def store(
    context: Context,
    bill: type[Claim | Invoice],
    line: type[ClaimLine | InvoiceLine],
    drawn: Iterable[Drawn],
    count: int,
) -> None:
    """Insert bills with all that is theirs, in batches. Lines are told in their bill's history."""
    of_bill, of_line, of_paper = columns_of(bill), columns_of(line), columns_of(ProviderInvoice)
    for batch in batches(drawn):
        papers = [of_paper.values(each.paper) for each in batch if each.paper is not None]
        if papers:
            context.insert(ProviderInvoice, of_paper.names, papers, count + context.sizes["inbox"])
        context.insert(bill, of_bill.names, [of_bill.values(each.row) for each in batch], count)
        add(context, line, of_line.names, [of_line.values(row) for each in batch for row in each.lines])
        add(context, StatusMove, MOVE_COLUMNS, [move for each in batch for move in each.moves])
        add(context, AcknowledgedWarning, WARNING_COLUMNS, [row for each in batch for row in each.warnings])


def store_inbox(context: Context, drawn: Iterable[tuple[Row, list[Move]]]) -> None:
    """Insert provider invoices that no claim is built on."""
    of_paper, found = columns_of(ProviderInvoice), list(drawn)
    if found:
        context.insert(ProviderInvoice, of_paper.names, [of_paper.values(row) for row, _ in found])
    add(context, StatusMove, MOVE_COLUMNS, [move for _, moves in found for move in moves])


def add(
    context: Context, model: type[models.Model], columns: tuple[str, ...], rows: list[tuple[Any, ...]]
) -> None:
    """Insert rows that have no history of their own."""
    if rows:
        bulk_insert(model, columns, rows)
        context.stored(model, len(rows), None)


def batches(drawn: Iterable[Drawn]) -> Iterator[list[Drawn]]:
    left = iter(drawn)
    while batch := list(islice(left, BATCH)):
        yield batch


class columns_of:
    """The columns of a model that the demo writes, and their values of a row."""

    def __init__(self, model: type[models.Model]) -> None:
        self.names = tuple(field.attname for field in model._meta.concrete_fields if not hasattr(field, "of"))
        self.values: Any = itemgetter(*self.names)


FUNDING = DemoSet(
    "funding",
    (
        Size(
            "claims",
            1_500,
            0,
            "claims of two years; more bring more people and invoices, where those are not told",
            brings={"clients": 200, "staff": 4_000, "contacts": 30, "invoices": 8, "inbox": 15},
        ),
        Size("invoices", 200, 0, "invoices to the agency and to clients"),
        Size("inbox", 100, 0, "provider invoices that no claim is built on yet"),
    ),
    (Product, Price, ProviderInvoice, Claim, Invoice),
    load,
)
