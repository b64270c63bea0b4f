"""Claims entered from documents one after the other: which, in which order, and how far somebody is."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from apps.base.batched_queries import AnyOf
from apps.core.caseload import visible_rows
from apps.documents.models import Document
from apps.funding.models import Claim, EntryList, ProviderInvoice
from apps.people.models import Staff

#: A list that is worked through one by one has no more documents.
ENTRY_LIMIT = 500


@dataclass(frozen=True, slots=True)
class EnteredDocument:
    """A document, the current provider invoice that it belongs to, and the current claims on that."""

    document: Document
    provider_invoice: ProviderInvoice | None
    claims: Sequence[Claim]

    @classmethod
    def of(cls, document: Any) -> "EnteredDocument":
        """The list of a document loaded ``with_claims``; of several provider invoices, one with a claim."""
        invoices = sorted(document.current_invoices, key=lambda invoice: not invoice.current_claims)
        return cls(document, *((invoices[0], invoices[0].current_claims) if invoices else (None, ())))


class DocumentEntry:
    """A person's list of documents as it is now: entered by anybody or not; archived ones are left out."""

    def __init__(self, entry_list: EntryList, staff: Staff) -> None:
        self.place = entry_list.place
        order = {UUID(key): number for number, key in enumerate(entry_list.documents)}
        found = visible_rows(staff, Document.objects.filter(AnyOf("pk", order), archive_date=None))
        documents = with_claims(found, staff)
        self.documents = sorted(map(EnteredDocument.of, documents), key=lambda each: order[each.document.pk])
        self.numbers = {each.document.pk: number for number, each in enumerate(self.documents)}

    @cached_property
    def entered(self) -> list[EnteredDocument]:
        return [each for each in self.documents if each.claims]

    @cached_property
    def left(self) -> list[EnteredDocument]:
        return [each for each in self.documents if not each.claims]

    def previous(self, document: UUID) -> EnteredDocument | None:
        number = self.numbers[document]
        return self.documents[number - 1] if number else None

    def following(self, document: UUID) -> EnteredDocument | None:
        """The next document after this one that has no claim; ``None`` at the end of the list."""
        later = self.documents[self.numbers[document] + 1 :]
        return next((each for each in later if not each.claims), None)

    @property
    def next(self) -> EnteredDocument | None:
        """The document that somebody goes on with who returns: where they were or after, else the first."""
        if self.place in self.numbers:
            here = self.documents[self.numbers[self.place]]
            found = here if not here.claims else self.following(self.place)
            if found is not None:
                return found
        return self.left[0] if self.left else None


def start_entry(staff: Staff, documents: Iterable[Document]) -> DocumentEntry:
    """Replace a person's list by these documents, in the order of their names."""
    ordered = sorted(documents, key=lambda document: (name_order(document.name), document.pk))[:ENTRY_LIMIT]
    keys = [str(document.pk) for document in ordered]
    entry_list, _ = EntryList.objects.update_or_create(
        staff=staff, defaults={"documents": keys, "place": None}
    )
    return DocumentEntry(entry_list, staff)


def load_entry(staff: Staff) -> DocumentEntry | None:
    """A person's list, if it still has documents."""
    entry_list = EntryList.objects.filter(staff=staff).first()
    entry = DocumentEntry(entry_list, staff) if entry_list is not None else None
    return entry if entry is not None and entry.documents else None


def note_place(staff: Staff, document: UUID) -> None:
    EntryList.objects.filter(staff=staff).exclude(place=document).update(place=document)


def with_claims(documents: QuerySet[Document], person: object) -> QuerySet[Document]:
    """Documents with those of their provider invoices, and the claims on these, that a person sees: two
    queries more."""
    claims = visible_rows(person, Claim.objects.filter(archive_date=None)).select_related("contact")
    claims = claims.order_by("creation_date", "pk")
    invoices = visible_rows(person, ProviderInvoice.objects.filter(archive_date=None))
    invoices = invoices.order_by("creation_date", "pk")
    with_their_claims = invoices.prefetch_related(Prefetch("claims", claims, "current_claims"))
    return documents.prefetch_related(Prefetch("provider_invoices", with_their_claims, "current_invoices"))


def name_order(name: str) -> list[tuple[int, str]]:
    """Names as people order them: 2 before 10, and numbers before letters."""
    parts = filter(None, re.split(r"(\d+)", name))
    return [(int(part), "") if part.isdecimal() else (sys.maxsize, part.casefold()) for part in parts]
