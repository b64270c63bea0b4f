"""The back office's pages of claims and invoices: entering, changing, looking at one."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.views.decorators.http import require_GET
from unfold.decorators import display

from apps.core.admin_base import MenuPage
from apps.core.models import Subscriber
from apps.funding.admin import inbox, lookups, overview
from apps.funding.admin.bill_forms import (
    BLANK_ROWS,
    MORE_ROWS,
    PREFIX,
    BillForm,
    ClaimForm,
    InvoiceForm,
    InvoiceLineForm,
    LineForm,
    LineFormSet,
    filled_from,
    grid,
    in_words,
    place_in_words,
    put,
    sentence,
)
from apps.funding.admin.bill_lists import list_address
from apps.funding.admin.bill_moves import MovingBills
from apps.funding.admin.inbox import WAITING
from apps.funding.admin.lookups import digits
from apps.funding.admin.papers import claim_address, paper_named, paper_shown
from apps.funding.admin.prices import money
from apps.funding.choices import SendPaymentTo
from apps.funding.models import (
    AcknowledgedWarning,
    Bill,
    Claim,
    ClaimLine,
    CostCentre,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
)
from apps.funding.services.create import create_claims, create_invoices
from apps.funding.services.update import update_claims, update_invoices
from apps.odata import clock
from apps.odata.write.drafts import Draft, Issue, ValidationFailed, WarningsPresent

#: Where a person's session keeps the price book of the line they entered last.
LAST_BOOK = "funding_price_book"
#: The fields that tell which warnings a person saw before storing in spite of them.
SEEN, IN_SPITE = "acknowledged", "_in_spite"


class Entry:
    """A bill on somebody's screen: its head, its lines, and what is to be confirmed about it."""

    def __init__(self, form: BillForm, lines: LineFormSet) -> None:
        self.form, self.lines = form, lines
        self.warnings: list[Issue] = []

    def drafted(self) -> Draft:
        self.form.is_valid()
        lines = self.lines.read()
        return self.form.drafted(lines, can_be_read=not self.lines.non_form_errors())

    def refuse(self, findings: Sequence[tuple[int, Issue]]) -> None:
        for _, finding in findings:
            put(finding, self.form, self.lines)

    @property
    def has_errors(self) -> bool:
        return bool(self.form.errors) or self.lines.has_errors

    def told(self) -> list[dict[str, str]]:
        """The warnings as the page lists them; ``seen`` is what their acknowledgement says."""
        return [
            {
                "words": in_words(finding.code),
                "place": place_in_words(finding.field),
                "message": sentence(finding),
                "seen": seen(finding.code, finding.message),
            }
            for finding in self.warnings
        ]


def seen(code: str, message: str) -> str:
    """A warning as a form carries it: with another figure it is another warning."""
    return f"{code}: {message}"


class BillAdmin(MovingBills):
    """What the pages of claims and invoices have in common."""

    line_model: ClassVar[type[ClaimLine | InvoiceLine]]
    line_form: ClassVar[type[LineForm]]
    #: The verbs that store new bills, and change those that stand.
    enter: ClassVar[Callable[..., list[Any]]]
    revise: ClassVar[Callable[..., list[Any]]]
    change_form_template = "funding/bill_form.html"

    class Media:
        css: ClassVar[Any] = {"all": ("documents.css", "funding.css")}
        js = ("funding_lines.js",)

    # --- one bill

    def _changeform_view(
        self, request: HttpRequest, object_id: str | None, form_url: str, extra_context: dict[str, Any] | None
    ) -> HttpResponse:
        """The form, or the page of a bill that stands beyond changing. Its verb stores it, lines and all."""
        record = None
        if object_id is None:
            if not self.has_add_permission(request):
                raise PermissionDenied
        else:
            record = self.get_object(request, object_id)
            if record is None:
                return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
            if not self.has_view_permission(request, record):
                raise PermissionDenied
            if not self.may_be_edited(request, record):
                return self.only_shown(request, record, extra_context)
        if request.method != "POST" or "_more" in request.POST:
            entry = self.entry(request, record)
            if entry.lines.is_bound:
                entry.lines.read()
            return self.form_page(request, entry, record, form_url, extra_context)
        entry = self.entry(request, record)
        key = self.stored(request, entry, record)
        if key is None:
            return self.form_page(request, entry, record, form_url, extra_context)
        return self.after_storing(request, self.model._default_manager.get(pk=key), record is None)

    def may_be_edited(self, request: HttpRequest, record: Any) -> bool:
        is_open = record.is_editable
        return is_open and self.has_change_permission(request, record)

    def entry(self, request: HttpRequest, record: Any) -> Entry:
        """What is on the screen: as it was sent, as it stands, or as it begins."""
        fields = flatten_fieldsets(self.get_fieldsets(request, record))
        form_class = self.get_form(request, record, change=record is not None, fields=fields)
        standing = self.lines_of(record) if record is not None else []
        books = frozenset(line.price_book_id for line in standing)
        if request.method == "POST":
            blank = MORE_ROWS if "_more" in request.POST else BLANK_ROWS
            rows = grid(self.line_form, blank)
            sent = with_more_rows(request.POST) if "_more" in request.POST else request.POST
            return Entry(form_class(sent, instance=record), rows(sent, standing_books=books))
        initial, products = filled_from(standing, keep_keys=True)
        blank = BLANK_ROWS if record is None else 0
        rows = grid(self.line_form, blank)
        lines = rows(initial=initial, standing_books=books)
        for row, product in zip(lines.forms, products, strict=False):
            row.product_found = product
        if record is not None:
            return Entry(form_class(instance=record), lines)
        for row in lines.extra_forms:
            row.initial["price_book"] = self.usual_book(request, lines)
        return Entry(form_class(initial=self.get_changeform_initial_data(request)), lines)

    def lines_of(self, record: Any) -> list[Any]:
        references = ["product", "price_book", "booking__engagement", "category_budget__engagement"]
        if self.line_model is InvoiceLine:
            references.append("cost_centre")
        return list(record.line_items.select_related(*references).order_by("position", "pk"))

    def usual_book(self, request: HttpRequest, lines: LineFormSet) -> str | None:
        """The price book of the line this person entered last, else of the last that anybody did."""
        current = [key for key, book in lines.books.items() if not book.is_archived]
        if len(current) == 1:
            return current[0]
        last = request.session.get(LAST_BOOK)
        if last not in current:
            newest = self.line_model.objects.order_by("-pk").values_list("price_book_id", flat=True)
            last = str(newest.first())
        return last if last in current else None

    # --- storing

    def stored(self, request: HttpRequest, entry: Entry, record: Any) -> Any:
        """Hand the bill to its verb; its key, or ``None`` and the entry says why nothing was stored."""
        draft = entry.drafted()
        verb = type(self).enter if record is None else type(self).revise
        agreed = Counter(request.POST.getlist(SEEN)) if IN_SPITE in request.POST else None
        try:
            with transaction.atomic():
                before = self.acknowledged(record)
                key = verb([draft], ignore_warnings=agreed is not None)[0] if record is None else record.pk
                if record is not None:
                    verb([draft], ignore_warnings=agreed is not None)
                if agreed is not None:
                    self.refuse_what_was_not_seen(key, agreed, before)
        except WarningsPresent as warned:
            entry.warnings = [finding for _, finding in warned.issues]
            return None
        except ValidationFailed as refused:
            entry.refuse(refused.issues)
            return None
        book = next((line.price_book for line in reversed(draft.line_items)), None)
        if book is not None:
            request.session[LAST_BOOK] = str(book.pk)
        return key

    def acknowledged(self, record: Any) -> set[int]:
        return set() if record is None else set(record.acknowledged_warnings.values_list("pk", flat=True))

    def refuse_what_was_not_seen(self, key: Any, agreed: Counter[str], before: set[int]) -> None:
        """Whoever stores in spite of warnings does so of those on the screen, and of no others."""
        ours = AcknowledgedWarning.objects.filter(**{self.opts.model_name: key}).exclude(pk__in=before)
        stored = list(ours.order_by("pk"))
        if Counter(seen(each.code, each.message) for each in stored) - agreed:
            raise WarningsPresent((0, Issue(each.code, each.place or "", each.message)) for each in stored)

    def after_storing(self, request: HttpRequest, record: Any, is_new: bool) -> HttpResponse:
        link = format_html('<a class="rs-link" href="{}">{}</a>', self.page_url("change", record.pk), record)
        what = f"{money(record.total)} for {record.contact}"
        done = "stored" if is_new else "changed"
        told = format_html("{} {} {}: {}.", self.opts.verbose_name.capitalize(), link, done, what)
        self.message_user(request, told, messages.SUCCESS)
        then = request.POST.get("then") or next(
            (name for name in ("_next", "_addanother") if name in request.POST), ""
        )
        if then == "_next":
            return self.to_the_next(request, record)
        if then == "_addanother":
            return redirect(f"admin:{self.url_name('add')}")
        return redirect(self.page_url("change", record.pk))

    def to_the_next(self, request: HttpRequest, record: Any) -> HttpResponse:
        return redirect(f"admin:{self.url_name('add')}")

    # --- pages

    def form_page(
        self,
        request: HttpRequest,
        entry: Entry,
        record: Any,
        form_url: str,
        extra_context: dict[str, Any] | None,
    ) -> HttpResponse:
        form: Any = entry.form
        fieldsets = [with_faults_open(each, form) for each in self.get_fieldsets(request, record)]
        readonly = self.get_readonly_fields(request, record)
        head = helpers.AdminForm(form, fieldsets, {}, readonly, model_admin=self)
        then = next((name for name in ("_next", "_addanother") if name in request.POST), "")
        context = {
            **self.admin_site.each_context(request),
            "title": f"{'Change' if record else 'Add'} {self.opts.verbose_name}",
            "subtitle": str(record) if record else None,
            "adminform": head,
            "object_id": record and record.pk,
            "original": record,
            "is_popup": False,
            "to_field": None,
            "media": self.media + head.media,
            "inline_admin_formsets": [],
            "errors": form.errors
            if entry.has_errors and not form.errors
            else helpers.AdminErrorList(form, []),
            "entry": entry,
            "has_faults": request.method == "POST" and "_more" not in request.POST and entry.has_errors,
            "rows": entry.lines,
            "cost_centres": self.cost_centres_offered(),
            "limit": entry.lines.max_num,
            "warnings": entry.told(),
            "then": request.POST.get("then") or then,
            "currency": Subscriber.current().currency,
            "today": clock.today().isoformat(),
            "addresses": {
                "products": reverse(f"admin:{self.url_name('products')}"),
                "prices": reverse(f"admin:{self.url_name('prices')}"),
            },
            **self.paper_context(request, entry, record),
            **(self.standing_context(request, record) if record is not None else {}),
            **(extra_context or {}),
        }
        change = record is not None
        return self.render_change_form(request, context, not change, change, form_url, record)

    def only_shown(
        self, request: HttpRequest, record: Any, extra_context: dict[str, Any] | None
    ) -> HttpResponse:
        """A bill that stands beyond changing, or is shown to somebody who may only look."""
        if request.method == "POST":
            status = record.get_funding_status_display().lower()
            message = f"{record} is {status}: it is changed only while it awaits approval or is on hold."
            self.message_user(request, message, messages.ERROR)
            return redirect(self.page_url("change", record.pk))
        context = {
            **self.admin_site.each_context(request),
            "title": f"{self.opts.verbose_name.capitalize()} {record}",
            "opts": self.opts,
            "original": record,
            "change": True,
            "has_view_permission": True,
            "has_absolute_url": False,
            "media": self.media,
            "facts": self.facts(record),
            "lines": [
                (line, digits(line.quantity).removesuffix(".00"), money(line.price))
                for line in self.lines_of(record)
            ],
            "is_invoice": self.line_model is InvoiceLine,
            "currency": Subscriber.current().currency,
            **self.paper_context(request, None, record),
            **self.standing_context(request, record),
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "funding/bill.html", context)

    def facts(self, record: Any) -> list[tuple[str, Any]]:
        """What the page of one bill tells above its lines."""
        raise NotImplementedError

    def paper_context(self, request: HttpRequest, entry: Entry | None, record: Any) -> dict[str, Any]:
        """The provider invoice that stands beside a claim, and its document."""
        return {}

    def cost_centres_offered(self) -> Sequence[str]:
        return ()

    def standing_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What is shown of every bill that stands: where, since when, what was acknowledged."""
        return {
            "bill": record,
            "acknowledged": [
                {
                    "words": in_words(each.code),
                    "place": place_in_words(each.place),
                    "message": each.message,
                    "who": each.staff or each.application or "A command",
                    "at": each.at,
                }
                for each in record.acknowledged_warnings.select_related("staff")
            ],
            **self.moves_context(request, record),
        }

    # --- what the grid asks

    def get_urls(self) -> list[URLPattern]:
        def asked(view: Any) -> Any:
            def answer(request: HttpRequest) -> HttpResponse:
                if not self.has_view_permission(request):
                    raise PermissionDenied
                return view(request)

            return self.admin_site.admin_view(require_GET(answer))

        name = f"{self.opts.app_label}_{self.opts.model_name}"
        return [
            path("products/", asked(lookups.products), name=f"{name}_products"),
            path("prices/", asked(lookups.prices), name=f"{name}_prices"),
            *super().get_urls(),
        ]


def with_faults_open(fieldset: Any, form: BillForm) -> Any:
    """A part of the head; one with a fault in it is not folded up."""
    title, options = fieldset
    if not set(flatten_fieldsets([fieldset])) & set(form.errors if form.is_bound else ()):
        return fieldset
    return title, {**options, "classes": [name for name in options.get("classes", ()) if name != "collapse"]}


def with_more_rows(sent: QueryDict) -> QueryDict:
    """What was sent, with some blank rows more: for browsers that run no scripts."""
    more = sent.copy()
    total = more.get(f"{PREFIX}-TOTAL_FORMS") or "0"
    count = int(total) if total.isdecimal() and len(total) < 5 else 0
    more[f"{PREFIX}-TOTAL_FORMS"] = str(count + MORE_ROWS)
    return more


# --- claims ---------------------------------------------------------------------------------------------


@admin.register(Claim)
class ClaimAdmin(BillAdmin):
    """Claims, most of them entered from a provider's invoice."""

    form = ClaimForm
    line_model = ClaimLine
    line_form = LineForm
    enter = staticmethod(create_claims)
    revise = staticmethod(update_claims)
    menu_order = 210
    icon = "request_quote"
    menu_pages = (
        MenuPage("Work queues", "funding_claim_queues", "inbox", 190),
        MenuPage("Month end", "funding_claim_month_end", "calendar_month", 230),
    )
    list_display = (
        "number",
        "participant",
        "provider_name",
        "days",
        "amount",
        "status",
        "since",
        "archived",
    )
    list_select_related = ("contact", "provider")
    search_help_text = "Number, reference, participant's name or scheme number, provider"
    number_column = "claim_number"
    number_key = "claim_number_key"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "provider_invoice",
                    ("provider_invoice_reference", "send_payment_to"),
                    ("contact", "provider"),
                    ("start_date", "end_date", "due_date"),
                )
            },
        ),
        (
            "More",
            {"fields": (("staff", "claim_number", "external_invoice_number"),), "classes": ("collapse",)},
        ),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[str]:
        """What a claim is built on stays."""
        readonly = super().get_readonly_fields(request, obj)
        return readonly if obj is None else (*readonly, "provider_invoice")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the provider invoice named in the address says; the person at the form is in charge."""
        initial = {**super().get_changeform_initial_data(request), "staff": request.user.pk}
        paper = paper_named(request.GET.get("provider_invoice"))
        if paper is None:
            return {**initial, "send_payment_to": SendPaymentTo.PROVIDER, "provider_invoice": None}
        return {
            **initial,
            "provider_invoice": paper.pk,
            "provider_invoice_reference": paper.reference,
            "contact": paper.contact_id,
            "provider": paper.provider_id,
            "start_date": paper.service_start_date,
            "end_date": paper.service_end_date or paper.service_start_date,
            "send_payment_to": paper.send_payment_to,
        }

    def paper_context(self, request: HttpRequest, entry: Entry | None, record: Any) -> dict[str, Any]:
        if record is not None:
            paper = paper_named(str(record.provider_invoice_id))
        elif entry is not None:
            paper = paper_named(str(entry.form["provider_invoice"].value() or ""))
        else:
            paper = None
        return paper_shown(request, paper)

    def facts(self, record: Any) -> list[tuple[str, Any]]:
        return [
            ("Participant", record_link("people_contact", record.contact_id, record.contact)),
            ("Provider", record_link("people_client", record.provider_id, record.provider)),
            ("Reference", record.provider_invoice_reference),
            ("Services", span(record)),
            ("Due", day(record.due_date)),
            ("Paid to", record.get_send_payment_to_display()),
            ("Reason of the missing ABN", record.missing_abn_reason_code or "–"),
            *facts_of_both(record),
        ]

    def to_the_next(self, request: HttpRequest, record: Any) -> HttpResponse:
        """The form of the next provider invoice that nobody claimed."""
        paper = inbox.next_after(record.provider_invoice)
        if paper is None:
            self.message_user(request, "No provider invoice waits for a claim.", messages.SUCCESS)
            return redirect(list_address(ProviderInvoice, status=WAITING))
        return redirect(claim_address(paper))

    def get_urls(self) -> list[URLPattern]:
        pages = {
            "queues": overview.work_queues,
            "next": overview.next_claim,
            "month_end": overview.month_end,
        }
        ours = [
            path(
                f"{name.replace('_', '-')}/",
                self.admin_site.admin_view(require_GET(partial(view, self))),
                name=f"funding_claim_{name}",
            )
            for name, view in pages.items()
        ]
        return [*ours, *super().get_urls()]


@admin.register(Invoice)
class InvoiceAdmin(BillAdmin):
    """Invoices to the agency and to clients."""

    form = InvoiceForm
    line_model = InvoiceLine
    line_form = InvoiceLineForm
    enter = staticmethod(create_invoices)
    revise = staticmethod(update_invoices)
    menu_order = 220
    icon = "receipt_long"
    list_display = (
        "number",
        "participant",
        "goes",
        "days",
        "amount",
        "recurs",
        "status",
        "since",
        "archived",
    )
    list_select_related = ("contact",)
    search_help_text = "Number, participant's name or scheme number"
    number_column = "invoice_number"
    number_key = "invoice_number_key"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    ("contact", "invoice_claim_type"),
                    ("start_date", "end_date", "due_date"),
                )
            },
        ),
        (
            "More",
            {
                "fields": (
                    ("staff", "invoice_number", "external_invoice_number"),
                    ("is_recurring", "recurring_frequency"),
                    ("recurring_start_date", "recurring_end_date"),
                ),
                "classes": ("collapse",),
            },
        ),
    )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().get_changeform_initial_data(request), "staff": request.user.pk}

    def cost_centres_offered(self) -> Sequence[str]:
        return list(CostCentre.objects.filter(archive_date=None).values_list("name", flat=True)[:500])

    def facts(self, record: Any) -> list[tuple[str, Any]]:
        recurs = record.get_recurring_frequency_display() or "No"
        return [
            ("Participant", record_link("people_contact", record.contact_id, record.contact)),
            ("Goes", record.get_invoice_claim_type_display()),
            ("Services", span(record)),
            ("Due", day(record.due_date)),
            ("Recurs", recurs if record.is_recurring else "No"),
            *facts_of_both(record),
        ]

    @display(description="goes", ordering="invoice_claim_type")
    def goes(self, invoice: Invoice) -> str:
        return invoice.get_invoice_claim_type_display()

    @display(description="recurs")
    def recurs(self, invoice: Invoice) -> str | None:
        return invoice.get_recurring_frequency_display() if invoice.is_recurring else None


# --- what pages show ------------------------------------------------------------------------------------


def facts_of_both(record: Any) -> list[tuple[str, Any]]:
    facts = [
        ("In charge", str(record.staff)),
        ("Entered by", str(record.entered_by or "–")),
        ("Number in accounting", record.external_invoice_number or "–"),
        ("Approved", moment(record.approved_date)),
        ("Paid", money(record.amount_paid)),
        ("Paid on", moment(getattr(record, "payment_date", None))),
    ]
    if record.resubmission_of_id:
        name = f"funding_{record._meta.model_name}"
        facts.append(("Resubmits", record_link(name, record.resubmission_of_id, record.resubmission_of)))
    return facts


def record_link(name: str, key: Any, text: Any) -> str:
    return format_html(
        '<a class="rs-link" href="{}">{}</a>', reverse(f"admin:{name}_change", args=[key]), text
    )


def day(date: Any) -> str:
    return date_format(date, "j M Y") if date else "–"


def moment(at: Any) -> str:
    """The day of a moment in the subscriber's zone, or a day."""
    return day(timezone.localtime(at) if isinstance(at, dt.datetime) else at)


def span(record: Bill) -> str:
    if record.start_date == record.end_date:
        return day(record.start_date)
    return f"{day(record.start_date)} – {day(record.end_date)}"
