"""Documents as what claims are entered from: their claims, and many of them one after the other."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html_join
from unfold.decorators import display

from apps.core.admin_base import ConditionFilter, Conditions, RecordLink
from apps.core.admin_base.display import admin_url, link, record_link
from apps.documents.admin import DocumentAdmin
from apps.documents.models import Document
from apps.funding.admin.actions import NONE_CHOSEN
from apps.funding.admin.provider_invoices import usual_document_category
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.services.entry_lists import (
    ENTRY_LIMIT,
    DocumentEntry,
    EnteredDocument,
    load_entry,
    start_entry,
    with_claims,
)
from apps.people.admin.staff import staff_of

#: Of those who enter claims, with their provider invoices, from documents.
ENTRY_PERMISSIONS = (
    "documents.add_document",
    "funding.add_providerinvoice",
    "funding.change_providerinvoice",
)


def may_enter_claims(request: HttpRequest) -> bool:
    permissions = (*ENTRY_PERMISSIONS, "funding.add_claim", "documents.view_document")
    return bool(request.user.has_perms(permissions))


def entry_url(entered: EnteredDocument) -> str:
    """The form of the claim of a document, or one that is filled from it."""
    if entered.claims:
        return admin_url(Claim, "change", entered.claims[0].pk) + f"?document={entered.document.pk}"
    invoice = entered.provider_invoice
    query = {"provider_invoice": invoice.pk} if invoice is not None and invoice.is_claimable else {}
    return admin_url(Claim, "add", **query, document=entered.document.pk)


def entry_place(entry: DocumentEntry | None, document: Any) -> dict[str, object] | None:
    """The position of a document in a person's list, for the bar above the form of its claim."""
    if entry is None or document not in entry.numbers:
        return None
    previous, following = entry.previous(document), entry.following(document)
    overview = admin_url(Claim, "documents")
    return {
        "number": entry.numbers[document] + 1,
        "count": len(entry.documents),
        "entered": len(entry.entered),
        "name": entry.documents[entry.numbers[document]].document.name,
        "back": entry_url(previous) if previous else None,
        "skip": entry_url(following) if following else overview,
        "overview": overview,
    }


class EnteredFilter(ConditionFilter):
    """Filters by whether a claim was entered from documents."""

    title = "claim"
    parameter_name = "claim"

    def conditions(self, model: type[Model]) -> Conditions:
        claimed = ProviderInvoice.objects.filter(document=OuterRef("pk"), archive_date=None, is_claimed=True)
        return {
            "no": ("Without a claim", ~Q(Exists(claimed))),
            "yes": ("With a claim", Q(Exists(claimed))),
        }


admin.site.unregister(Document)


@admin.register(Document)
class ClaimDocumentAdmin(DocumentAdmin):
    """Documents with their claims, from which further claims are entered."""

    list_filter: ClassVar[Any] = (*DocumentAdmin.list_filter, EnteredFilter)
    list_before_template = "funding/documents.html"
    actions = ("enter_claims", *DocumentAdmin.actions)

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["funding.css"]}

    # --- the list

    def get_list_display(self, request: HttpRequest) -> Sequence[object]:
        columns = list(super().get_list_display(request))
        if self.admin_site.get_model_admin(Claim).has_view_permission(request):
            name = "claims_or_form" if may_enter_claims(request) else "claims"
            columns.insert(columns.index("category") + 1, name)
        return columns

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        found = super().get_queryset(request)
        return with_claims(found, request.user) if self.is_list(request) else found

    @display(description="claim")
    def claims(self, document: object) -> str | None:
        claims = EnteredDocument.of(document).claims[:3]
        return format_html_join(", ", "{}", ((record_link(claim),) for claim in claims)) or None

    @display(description="claim")
    def claims_or_form(self, document: Document) -> str | None:
        """For those who may enter claims."""
        if (claims := self.claims(document)) or document.is_archived:
            return claims
        return link(entry_url(EnteredDocument.of(document)), "Enter a claim")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        entry = load_entry(staff_of(request)) if may_enter_claims(request) else None
        context = {"entry": entry, "entry_url": admin_url(Claim, "documents")}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    # --- one document

    def record_links(self, request: HttpRequest, record: Document) -> list[RecordLink]:
        links = super().record_links(request, record)
        entered = EnteredDocument.of(with_claims(Document.objects.filter(pk=record.pk), request.user).get())
        if entered.claims:
            if self.admin_site.get_model_admin(Claim).has_view_permission(request):
                urls = [(str(claim), admin_url(Claim, "change", claim.pk)) for claim in entered.claims[:3]]
                return [*(RecordLink(f"Claim {name}", url) for name, url in urls), *links]
            return links
        if record.is_archived or not may_enter_claims(request):
            return links
        return [RecordLink("Enter a claim", entry_url(entered)), *links]

    # --- many

    def has_enter_claims_permission(self, request: HttpRequest) -> bool:
        return may_enter_claims(request)

    @admin.action(description="Enter claims from these", permissions=["enter_claims"])
    def enter_claims(self, request: HttpRequest, selected: QuerySet[Any]) -> HttpResponse | None:
        documents = list(selected.filter(archive_date=None).order_by("name", "pk")[: ENTRY_LIMIT + 1])
        if not documents:
            self.message_user(request, NONE_CHOSEN, messages.WARNING)
            return None
        return self.begin_entry(request, documents)

    def begin_entry(self, request: HttpRequest, documents: Sequence[Document]) -> HttpResponse | None:
        """Lead to the form of the first document without a claim."""
        if len(documents) > ENTRY_LIMIT:
            text = f"Claims are entered from {ENTRY_LIMIT:,} documents at once: choose fewer."
            self.message_user(request, text, messages.ERROR)
            return None
        entry = start_entry(staff_of(request), documents)
        first = entry.next
        if first is None:
            self.message_user(request, "Claims were entered from all of these.", messages.WARNING)
            return None
        return redirect(entry_url(first))

    # --- uploading

    def default_category(self, request: HttpRequest) -> object:
        return super().default_category(request) or usual_document_category(request.user)

    def uploaded_url(self, request: HttpRequest, documents: Sequence[Document]) -> str:
        """After an upload of provider invoices come their claims."""
        usual = usual_document_category(request.user)
        invoices = [each for each in documents if each.category_id == usual]
        if not invoices or not may_enter_claims(request):
            return super().uploaded_url(request, documents)
        answer = self.begin_entry(request, invoices)
        return answer["Location"] if answer is not None else super().uploaded_url(request, documents)
