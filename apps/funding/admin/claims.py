"""The pages of claims, with the work queues and month end."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst

from apps.base.drafts import Draft, Issue
from apps.base.errors import plural
from apps.base.money import ZERO
from apps.core.admin_base import COUNT_LIMIT, Page, RecordFilter, fieldset
from apps.core.admin_base.display import list_url, record_link, short_day, short_period
from apps.core.admin_base.record_fields import find_visible
from apps.core.caseload import visible_rows
from apps.documents.admin import form_file_context
from apps.documents.models import Document
from apps.funding.admin.autocomplete import last_lines_page
from apps.funding.admin.bill_filters import ClaimWindowFilter
from apps.funding.admin.bills import BillAdmin
from apps.funding.admin.documents import ENTRY_PERMISSIONS, entry_place, entry_url
from apps.funding.admin.forms import INVOICE_FIELDS, ClaimForm, ClaimLineForm
from apps.funding.admin.month_end import month_end_context
from apps.funding.admin.plan_changes import PLAN_CHANGE, PlanChangeAdmin
from apps.funding.admin.provider_invoices import (
    archived_parties,
    document_panel,
    find_provider_invoice,
    provider_invoice_panel,
    usual_document_category,
)
from apps.funding.admin.queues import (
    DECIDED,
    WAITING,
    Queue,
    load_provider_invoice_queues,
    load_queues,
    new_claim_url,
    next_waiting_invoice,
    waiting_invoices,
)
from apps.funding.admin.stages import StageFilter, tracker_rows
from apps.funding.choices import SendPaymentTo
from apps.funding.models import Claim, ClaimLine, Invoice, ProviderInvoice
from apps.funding.services.claim_entry import create_claims_with_invoices
from apps.funding.services.duplicates import find_marked_invoices, mark_of
from apps.funding.services.entry_lists import load_entry, note_place
from apps.funding.statuses import FINISHED
from apps.funding.validation.duplicates import same_total_issue
from apps.people.admin.staff import staff_of

#: What a claim shares with another bill that is likely to be the same.
MARKED = ("contact", "provider", "start_date", "end_date", "total")


@admin.register(Claim)
class ClaimAdmin(PlanChangeAdmin, BillAdmin):
    """Claims, most of them entered from a provider's invoice."""

    purpose = (
        "A claim asks the agency to pay a provider's invoice. Begin with that invoice, under "
        "Provider invoices, or add a claim without one."
    )
    form = ClaimForm
    create = staticmethod(create_claims_with_invoices)
    line_model = ClaimLine
    line_form = ClaimLineForm
    menu_order = 210
    icon = "request_quote"
    list_pages = (
        Page("queues", "Work queues", "inbox", 190, method="GET"),
        Page("next", method="GET"),
        Page("documents", permission="add", method="GET"),
        Page("tracker", "Tracker", "monitoring", 191, method="GET"),
        Page("month-end", "Month end", "calendar_month", 230, method="GET"),
        PLAN_CHANGE,
        Page("last-lines", permission="add", method="GET"),
        *BillAdmin.list_pages,
    )
    last_lines_page = staticmethod(last_lines_page)
    grid_pages = (*BillAdmin.grid_pages, "last_lines")
    list_display = (
        "number",
        "participant",
        "provider_name",
        "days",
        "amount",
        "warning_kinds",
        "status",
        "since",
        "archived",
    )
    list_select_related = ("contact", "provider")
    search_help_text = "Number, reference, participant's name or scheme number, provider"
    list_filter = (
        *BillAdmin.list_filter,
        ClaimWindowFilter,
        StageFilter,
        ("provider", RecordFilter),
    )
    fieldsets = (
        fieldset(
            None,
            "provider_invoice",
            "provider",
            "contact",
            "provider_invoice_reference",
            "invoice_total",
            "start_date",
            "end_date",
            "due_date",
            "send_payment_to",
            "document_category",
        ),
        fieldset("More", "staff", "claim_number", "external_invoice_number", style="collapse"),
    )

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: object
    ) -> object:
        form = super().get_form(request, obj, change=change, **options)
        form.may_enter_invoice = request.user.has_perms(ENTRY_PERMISSIONS)
        form.uploaded_document = find_document(request)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> object:
        """Without the fields of the provider invoice where they cannot be entered, or are known."""
        fieldsets = super().get_fieldsets(request, obj)
        left_out: Sequence[str] = INVOICE_FIELDS
        if obj is None and request.user.has_perms(ENTRY_PERMISSIONS):
            left_out = ("document_category",) if find_document(request) is not None else ()
        (title, head), *others = fieldsets
        fields = [name for name in head["fields"] if name not in left_out]
        return [(title, {**head, "fields": fields}), *others]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Sequence[str]:
        """The provider invoice beside the form of an existing claim stays the claim's."""
        fields = super().get_readonly_fields(request, obj)
        return fields if obj is None else (*fields, "provider_invoice")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """The values of the provider invoice in the address, or of the document."""
        initial = super().get_changeform_initial_data(request)
        invoice = find_provider_invoice(request.GET.get("provider_invoice"), request.user)
        document = find_document(request)
        initial["document_category"] = usual_document_category(request.user)
        if invoice is None:
            if document is not None:
                initial |= {"contact": document.contact_id, "provider": document.client_id}
            return {**initial, "send_payment_to": SendPaymentTo.PROVIDER, "provider_invoice": None}
        return {
            **initial,
            "invoice_total": invoice.invoice_total,
            "provider_invoice": invoice.pk,
            "provider_invoice_reference": invoice.reference,
            "contact": invoice.contact_id,
            "provider": invoice.provider_id,
            "start_date": invoice.service_start_date,
            "end_date": invoice.service_end_date or invoice.service_start_date,
            "send_payment_to": invoice.send_payment_to,
        }

    def find_warnings_to_confirm(self, draft: Draft, person: object) -> list[Issue]:
        """Warn of a new claim whose total another provider invoice has, which nobody has claimed yet."""
        mark = mark_of(draft, MARKED) if draft.key is None else None
        if mark is None:
            return []
        return [
            same_total_issue("provider_invoice_reference", record_link(each), mark)
            for each in find_marked_invoices({mark}).get(mark, ())
            if not each.is_claimed and each.pk != draft.key_of("provider_invoice")
        ][:1]

    def provider_invoice_context(self, request: HttpRequest, record: Claim, form: Any) -> dict[str, object]:
        key = record.provider_invoice_id if record is not None else form["provider_invoice"].value()
        invoice = find_provider_invoice(str(key or ""), request.user)
        panel = provider_invoice_panel(request, invoice)
        bill = record or invoice
        panel["archived"] = archived_parties(bill) if bill is not None else []
        document = find_document(request)
        if document is not None:
            panel["entry"] = entry_place(load_entry(staff_of(request)), document.pk)
            note_place(staff_of(request), document.pk)
        if panel.get("document") is None and form is not None and "file" in form.fields:
            if document is not None:
                return {**panel, **document_panel(request, document)}
            panel["form_file"] = form_file_context(form["file"].value())
        return panel

    def summary(self, record: Claim) -> list[tuple[str, object]]:
        return [
            ("Participant", record_link(record.contact)),
            ("Provider", record_link(record.provider)),
            ("Reference", record.provider_invoice_reference),
            ("Services", short_period(record.start_date, record.end_date)),
            ("Due", short_day(record.due_date)),
            ("Paid to", record.get_send_payment_to_display()),
            ("ABN exemption", record.missing_abn_reason_code or "–"),
            *super().summary(record),
        ]

    def response_next(self, request: HttpRequest, record: Claim) -> HttpResponse:
        """The form for the next document or file, or of the next provider invoice without a claim."""
        document, entry = find_document(request), load_entry(staff_of(request))
        if document is not None and entry is not None and document.pk in entry.numbers:
            following = entry.following(document.pk)
            return redirect(entry_url(following) if following else self.page_url("documents"))
        if "file" in request.POST and not request.POST.get("provider_invoice"):
            return redirect(self.page_url("add"))
        invoices = visible_rows(request.user, ProviderInvoice.objects.all())
        invoice = next_waiting_invoice(invoices, record.provider_invoice)
        if invoice is None:
            self.message_user(request, "No provider invoice waits for a claim.", messages.SUCCESS)
            return redirect(list_url(ProviderInvoice, status=WAITING))
        return redirect(new_claim_url(invoice))

    def queues_page(self, request: HttpRequest) -> HttpResponse:
        """All queues on one page, the finished ones apart: how many wait, and for how long the oldest has."""
        queues: Sequence[tuple[Any, Callable[[QuerySet[Any]], Sequence[Queue]]]] = (
            (ProviderInvoice, partial(load_provider_invoice_queues, left_out=DECIDED)),
            (Claim, partial(load_queues, left_out=FINISHED)),
            (Invoice, partial(load_queues, left_out=FINISHED)),
        )
        groups = []
        for model, load in queues:
            if self.admin_site.get_model_admin(model).has_view_permission(request):
                rows = [
                    {"queue": queue, "link": list_url(model, status=queue.status)}
                    for queue in load(visible_rows(request.user, model._default_manager.all()))
                    if queue.count
                ]
                groups.append((capfirst(model._meta.verbose_name_plural), rows))
        first = first_waiting(request) if self.has_add_permission(request) else None
        next_link = new_claim_url(first) if first else None
        return self.render_page(
            request, "funding/queues.html", "Work queues", groups=groups, next_link=next_link
        )

    def next_page(self, request: HttpRequest) -> HttpResponse:
        """The claim form of the provider invoice that waits longest."""
        first = first_waiting(request)
        return redirect(new_claim_url(first) if first else list_url(ProviderInvoice, status=WAITING))

    def documents_page(self, request: HttpRequest) -> HttpResponse:
        """The documents that the person enters claims from: what was entered, and what was not."""
        entry = load_entry(staff_of(request))
        if entry is None:
            return redirect(list_url(Document, claim="no"))
        rows = [(each, entry_url(each)) for each in entry.documents]
        total = sum((claim.total for each in entry.entered for claim in each.claims), ZERO)
        next_link = entry_url(entry.next) if entry.next else None
        title = f"Claims from {plural(len(rows), 'document')}"
        return self.render_page(
            request,
            "funding/entry_list.html",
            title,
            entry=entry,
            rows=rows,
            total=total,
            next_link=next_link,
            documents_link=list_url(Document),
        )

    def tracker_page(self, request: HttpRequest) -> HttpResponse:
        """How far claims have come, from the receipt of their invoices to the payment of their payees."""
        return self.render_page(
            request, "funding/tracker.html", "Tracker", rows=tracker_rows(request), limit=COUNT_LIMIT
        )

    def month_end_page(self, request: HttpRequest) -> HttpResponse:
        """Claims by status and the month they were entered in, and the ages of those not finished."""
        claims = visible_rows(request.user, Claim.objects.all())
        return self.render_page(request, "funding/month_end.html", "Month end", **month_end_context(claims))


def find_document(request: HttpRequest) -> Document | None:
    """The document in the address of a page, for those who may view documents."""
    if not request.user.has_perm("documents.view_document"):
        return None
    documents = Document.objects.filter(archive_date=None)
    return find_visible(documents, request.GET.get("document"), request.user)


def first_waiting(request: HttpRequest) -> ProviderInvoice | None:
    """The provider invoice that waits longest for a claim, of those that the person sees."""
    return waiting_invoices(visible_rows(request.user, ProviderInvoice.objects.all())).first()
