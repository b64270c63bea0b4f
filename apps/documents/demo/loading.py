"""Loads the demo's documents: categories, and papers about its clients that open."""

from __future__ import annotations

import datetime as dt
from email.utils import format_datetime
from operator import attrgetter
from random import Random
from typing import Any

from apps.core.demo import Context, DemoSet, Series, Size
from apps.core.identifiers import normalised
from apps.core.saving import validate
from apps.documents import validation
from apps.documents.demo import papers
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import attach_file
from apps.documents.storage import FileBatch
from apps.odata.write.drafts import Draft
from apps.people.models import Client

AGREEMENTS, INVOICES, PLANS, LETTERS, PHOTOS, STATEMENTS = (
    "Service agreements",
    "Provider invoices",
    "Plans and reports",
    "Correspondence",
    "Photos",
    "Statements",
)
CATEGORIES = (AGREEMENTS, INVOICES, PLANS, LETTERS, PHOTOS, STATEMENTS)
CLOSED_CATEGORIES = ("Faxes",)

SERVICES = (
    ("Assistance with self-care", "65.47"),
    ("Community access", "67.56"),
    ("Occupational therapy", "193.99"),
    ("Household tasks", "54.10"),
    ("Transport", "0.99"),
)
SHADES = ((28, 147, 138), (150, 90, 160), (200, 120, 50), (60, 110, 190))
#: One in so many is about no client; one in so many was put away.
ABOUT_NOBODY = 9
ARCHIVED = 13

COLUMNS = (
    *("guid", "creation_date", "modify_date", "archive_date", "name", "client_id", "category_id"),
    *("created_by_id", "file_name", "media_type", "size", "sha256", "storage_key"),
)


def load(context: Context) -> None:
    """Store the documents of the context's size: the files as everybody's, the rows in one go."""
    categories = load_categories(context)
    number = context.sizes["documents"]
    made = context.make_series("documents", number)
    names = client_names(context.series["clients"], number)
    with FileBatch() as keeping:
        drafts = [draft_of(context, keeping, made, place, names, categories) for place in range(number)]
        validate(Document, drafts, validation.FILE_RULES)
        context.insert(Document, COLUMNS, map(attrgetter(*COLUMNS), drafts), number)


def load_categories(context: Context) -> dict[str, DocumentCategory]:
    """The categories by their names; those that are there already are used as they are."""
    moment = context.mornings[0]
    found = {}
    for name in (*CATEGORIES, *CLOSED_CATEGORIES):
        there = DocumentCategory.objects.filter(name_key=normalised(name)).first()
        if there is None:
            closed = context.anchor if name in CLOSED_CATEGORIES else None
            there = DocumentCategory(
                guid=context.guid(f"document category/{name}", moment),
                name=name,
                creation_date=moment,
                modify_date=moment,
                archive_date=closed,
            )
            there.save(force_insert=True)
        found[name] = there
    return found


def client_names(clients: Series, number: int) -> dict[Any, str]:
    """The names of the clients that the documents are about, by guid."""
    guids = {clients.guid(client_of(clients, place)) for place in range(number)}
    return dict(Client.objects.filter(pk__in=guids).values_list("pk", "business_name"))


def client_of(clients: Series, place: int) -> int:
    """Mostly the first few clients, so that their lists are worth looking at."""
    return (place * 7) % min(clients.count, 12) if place % 3 else (place * 31) % clients.count


def draft_of(
    context: Context,
    keeping: FileBatch,
    made: Series,
    place: int,
    names: dict[Any, str],
    categories: dict[str, DocumentCategory],
) -> Draft:
    """One document, with a file that is kept and all the columns it is stored with."""
    clients, staff = context.series["clients"], context.series["staff"]
    client = None if place % ABOUT_NOBODY == 8 else clients.guid(client_of(clients, place))
    category = CATEGORIES[place % len(CATEGORIES)]
    moment = made.created(place)
    name, file_name, content = paper(context.chance(f"document/{place}"), category, names.get(client), moment)
    archived = moment + dt.timedelta(minutes=40) if place % ARCHIVED == 12 else None
    draft = Draft(
        {
            "guid": made.guid(place),
            "creation_date": moment,
            "modify_date": archived or moment,
            "archive_date": archived,
            "name": name,
            "client_id": client,
            "category_id": categories[category].pk,
            "created_by_id": staff.guid(place % staff.count),
        }
    )
    attach_file(draft, keeping.store(iter([content]), file_name))
    return draft


def paper(chance: Random, category: str, client: str | None, moment: dt.datetime) -> tuple[str, str, bytes]:
    """Name, file name and content of a paper of a category."""
    about = client or "our own office"
    day = f"{moment:%Y-%m-%d}"
    if category == AGREEMENTS:
        lines = [f"between the plan manager and {about}", "", f"This agreement begins on {day}.", ""]
        lines += [
            f"{at}. {what}, at ${price} an hour or unit" for at, (what, price) in enumerate(SERVICES, 1)
        ]
        lines += ["", "Either party may end it with 14 days' notice.", "", "Signed ____________________"]
        return f"Service agreement {day}", f"agreement-{day}.pdf", papers.pdf("Service agreement", lines)
    if category == INVOICES:
        lines, number = invoice_lines(chance, about), chance.randint(1000, 9999)
        return (
            f"Invoice {number}",
            f"INV-{number}.pdf",
            papers.pdf(f"Tax invoice {number}", [day, "", *lines]),
        )
    if category == PLANS:
        lines = [
            f"Prepared for {about} on {day}",
            "",
            "Goals are on track. The next review is in six months.",
        ]
        return f"Progress report {day}", f"report {day}.pdf", papers.pdf("Progress report", lines)
    if category == LETTERS:
        lines = ["Hello,", "", f"please call us back about {about}.", "", "Kind regards", "The front desk"]
        if chance.random() < 0.5:
            return f"Note of {day}", f"note-{day}.txt", "\n".join(lines).encode()
        sent = papers.mail("desk@example.org", "Please call back", format_datetime(moment), lines)
        return f"Mail of {day}", f"mail-{day}.eml", sent
    if category == PHOTOS:
        return (
            f"Membership card, {day}",
            f"IMG_{moment:%Y%m%d_%H%M}.png",
            papers.picture(chance.choice(SHADES)),
        )
    return f"Statement {moment:%B %Y}", f"statement-{moment:%Y-%m}.csv", statement(chance, moment)


def invoice_lines(chance: Random, about: str) -> list[str]:
    lines, total = [f"From {about}", ""], 0.0
    for what, price in chance.sample(SERVICES, 3):
        units = chance.randint(1, 8)
        total += units * float(price)
        lines.append(f"{what}: {units} x ${price} = ${units * float(price):,.2f}")
    return [*lines, "", f"Total due within 14 days: ${total:,.2f}"]


def statement(chance: Random, moment: dt.datetime) -> bytes:
    rows = [
        (f"{moment:%Y-%m}-{day:02}", chance.choice(SERVICES)[0], f"{chance.uniform(20, 400):.2f}")
        for day in range(1, 28, 3)
    ]
    return papers.table(("Date", "Support", "Amount"), rows)


DOCUMENTS = DemoSet(
    "documents", (Size("documents", 60, 0, "papers about clients, which open"),), (Document,), load
)
