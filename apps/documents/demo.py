"""Creates the demo's documents: categories, and small files about its clients that open."""

from __future__ import annotations

import csv
import io
import struct
import zlib
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from random import Random

from apps.core.demo import Context, DemoSet, Size, draft_of, existing, find_or_create
from apps.core.identifiers import repeatable_guids
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import attach_file, create_documents
from apps.documents.storage import FileBatch
from apps.odata import clock
from apps.odata.write.drafts import Draft
from apps.people.models import Client, Staff

AGREEMENTS, INVOICES, REPORTS, LETTERS, PHOTOS, STATEMENTS = CATEGORIES = (
    *("Service agreements", "Provider invoices", "Plans and reports"),
    *("Correspondence", "Photos", "Statements"),
)
CLOSED_CATEGORY = "Faxes"
SERVICES = (
    ("Assistance with self-care", "65.47"),
    ("Community access", "67.56"),
    ("Occupational therapy", "193.99"),
    ("Household tasks", "54.10"),
    ("Transport", "0.99"),
)
COLOURS = ((28, 147, 138), (150, 90, 160), (200, 120, 50), (60, 110, 190))


def load(context: Context) -> None:
    """Create the documents of the context's size."""
    with context.clock_at(context.workdays[0], 8.4):
        categories = {name: find_or_create(DocumentCategory, name) for name in CATEGORIES}
        find_or_create(DocumentCategory, CLOSED_CATEGORY, is_archived=True)
    chance = context.chance("documents")
    with FileBatch() as files:
        for numbers in context.batches(range(context.sizes["documents"]), "documents"):
            drafts = [document_draft(context, chance, files, number, categories) for number in numbers]
            context.create(Document, create_documents, drafts)
    with context.clock_at(context.day(20), 15):
        context.archive(Document, existing(context.records.setdefault(Document, []))[12::13])


def document_draft(
    context: Context,
    chance: Random,
    files: FileBatch,
    number: int,
    categories: dict[str, DocumentCategory],
) -> Draft:
    """A document, mostly about one of the first clients, so that their lists are worth looking at."""
    clients, staff = existing(context.records[Client]), existing(context.records[Staff])
    client = clients[number * 7 % min(len(clients), 12)] if number % 3 else chance.choice(clients)
    client = None if number % 9 == 8 else client
    category = CATEGORIES[number % len(CATEGORIES)]
    name, file_name, content = demo_file(
        chance, category, client.business_name if client else "our own office"
    )
    draft = draft_of(
        Document,
        name=name,
        client=client,
        category=categories[category],
        created_by=staff[number % len(staff)],
    )
    with repeatable_guids(None):  # the storage may have the files of an earlier load
        attach_file(draft, files.store(iter([content]), file_name))
    return draft


def demo_file(chance: Random, category: str, about: str) -> tuple[str, str, bytes]:
    """Name, file name and content of a document of a category, dated now."""
    now = clock.now()
    day = f"{now:%Y-%m-%d}"
    if category == AGREEMENTS:
        lines = [f"between the plan manager and {about}", "", f"This agreement begins on {day}.", ""]
        lines += [
            f"{at}. {name}, at ${price} an hour or unit" for at, (name, price) in enumerate(SERVICES, 1)
        ]
        lines += ["", "Either party may end it with 14 days' notice.", "", "Signed ____________________"]
        return f"Service agreement {day}", f"agreement-{day}.pdf", pdf("Service agreement", lines)
    if category == INVOICES:
        number, items = (
            chance.randint(1000, 9999),
            [(*item, chance.randint(1, 8)) for item in chance.sample(SERVICES, 3)],
        )
        lines = [f"{name}: {units} x ${price} = ${units * float(price):,.2f}" for name, price, units in items]
        total = sum(units * float(price) for _, price, units in items)
        lines = [day, "", f"From {about}", "", *lines, "", f"Total due within 14 days: ${total:,.2f}"]
        return f"Invoice {number}", f"INV-{number}.pdf", pdf(f"Tax invoice {number}", lines)
    if category == REPORTS:
        lines = [
            f"Prepared for {about} on {day}",
            "",
            "Goals are on track. The next review is in six months.",
        ]
        return f"Progress report {day}", f"report {day}.pdf", pdf("Progress report", lines)
    if category == LETTERS:
        text = f"Hello,\n\nplease call us back about {about}.\n\nKind regards\nReception\n"
        if chance.random() < 0.5:
            return f"Note of {day}", f"note-{day}.txt", text.encode()
        message = EmailMessage(policy=SMTP)
        message["From"], message["To"], message["Date"] = "desk@example.org", "office@example.com", now
        message["Subject"] = "Please call back"
        message.set_content(text)
        return f"Email of {day}", f"email-{day}.eml", message.as_bytes()
    if category == PHOTOS:
        return f"Membership card, {day}", f"IMG_{now:%Y%m%d_%H%M}.png", picture(chance.choice(COLOURS))
    rows = [
        (f"{now:%Y-%m}-{at:02}", chance.choice(SERVICES)[0], f"{chance.uniform(20, 400):.2f}")
        for at in range(1, 28, 3)
    ]
    table = io.StringIO()
    csv.writer(table).writerows([("Date", "Support", "Amount"), *rows])
    return f"Statement {now:%B %Y}", f"statement-{now:%Y-%m}.csv", table.getvalue().encode()


def pdf(title: str, lines: Sequence[str]) -> bytes:
    """A letter on A4, one page, in a font that every reader has (ISO 32000-1, without compression)."""
    text = [f"BT /F2 17 Tf 56 770 Td ({escaped(title)}) Tj ET", "BT /F1 10.5 Tf 56 738 Td 15 TL"]
    text += [f"({escaped(line)}) Tj T*" for line in lines]
    content = "\n".join([*text, "ET"]).encode("cp1252", "replace")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    )
    whole, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(whole))
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        len(whole),
    )
    return whole + table + trailer


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def picture(colour: tuple[int, int, int], width: int = 320, height: int = 200) -> bytes:
    """A PNG whose colour fades from top to bottom."""
    shades = (0.55 + 0.45 * row / height for row in range(height))
    pixels = b"".join(b"\0" + bytes(int(part * shade) for part in colour) * width for shade in shades)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(pixels, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


SIZES = (Size("documents", 60, 0, "documents about clients, which open"),)
DOCUMENTS = DemoSet("documents", SIZES, (Document,), load)
