"""Creates the demo's documents: categories, and small files about its clients that open."""

from base64 import b64decode
from collections.abc import Mapping
from decimal import Decimal
from random import Random

from apps.base import clock
from apps.core.demo import Context, DemoSet, Size, draft_of, existing, load_lookups, read_data
from apps.core.models import repeatable_guids
from apps.documents.drafts import DocumentDraft
from apps.documents.models import Document, DocumentCategory
from apps.documents.services import attach_file, create_documents
from apps.documents.storage import FileBatch
from apps.people.models import Client, Staff

DATA = read_data(__file__)
TEMPLATES = DATA["documents"]
#: What the providers' invoices among them come to.
INVOICE_TOTAL = next(Decimal(template["total"]) for template in TEMPLATES if "total" in template)


def load(context: Context) -> None:
    """Create the documents of the context's size."""
    with context.clock_at(context.workdays[0], 8.4):
        names = dict.fromkeys(template["category"] for template in TEMPLATES)
        categories = load_lookups(DocumentCategory, names)
        load_lookups(DocumentCategory, DATA["archived_categories"], is_archived=True)
    chance = context.chance("documents")
    with FileBatch() as files:
        for numbers in context.batches(range(context.sizes["documents"]), "documents"):
            drafts = [sample_document(context, chance, files, number, categories) for number in numbers]
            context.create(Document, create_documents, drafts)
    with context.clock_at(context.day(20), 15):
        context.archive(Document, existing(context.records[Document])[12::13])


def sample_document(
    context: Context,
    chance: Random,
    files: FileBatch,
    number: int,
    categories: Mapping[str, DocumentCategory],
) -> DocumentDraft:
    """A document, mostly about one of the first clients, so that their lists are worth looking at."""
    clients, staff = existing(context.records[Client]), existing(context.records[Staff])
    client = clients[number * 7 % min(len(clients), 12)] if number % 3 else chance.choice(clients)
    client = None if number % 9 == 8 else client
    template = TEMPLATES[number % len(TEMPLATES)]
    now = clock.now()
    values = {
        "day": f"{now:%Y-%m-%d}",
        "month": f"{now:%Y-%m}",
        "number": chance.randint(1000, 9999),
        "client": client.business_name if client else "our own office",
        "total": template.get("total"),
    }
    file_name, text = template["file"].format(**values), template.get("text", "").lstrip().format(**values)
    content = b64decode(template.get("base64", "")) or text.encode()
    if file_name.endswith(".pdf"):
        content = pdf(*text.splitlines())
    draft = draft_of(
        DocumentDraft,
        Document,
        name=template["name"].format(**values),
        client=client,
        category=categories[template["category"]],
        created_by=staff[number % len(staff)],
    )
    with repeatable_guids(None):  # the storage may have the files of an earlier load
        attach_file(draft, files.store(iter([content]), file_name))
    return draft


def pdf(title: str, *lines: str) -> bytes:
    """A letter on A4, one page, in a font that every reader has (ISO 32000-1, without compression)."""
    text = [f"BT /F2 17 Tf 56 770 Td ({escape_pdf_text(title)}) Tj ET", "BT /F1 10.5 Tf 56 738 Td 15 TL"]
    text += [f"({escape_pdf_text(line)}) Tj T*" for line in lines]
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
    whole, table = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, each in enumerate(objects, 1):
        table += b"%010d 00000 n \n" % len(whole)
        whole += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    size = len(objects) + 1
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(whole))
    return whole + b"xref\n0 %d\n" % size + table + end


def escape_pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


SIZES = (Size("documents", 60, 0, "documents about clients, which open"),)
DEMO = DemoSet(SIZES, (Document,), load)
