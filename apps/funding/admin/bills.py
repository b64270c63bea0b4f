"""The pages of claims and invoices: entering, editing, viewing one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin import helpers
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_GET

from apps.core.models import Subscriber
from apps.funding.admin import autocomplete
from apps.funding.admin.bill_forms import BillEntry, BillForm, code_label, place_label, warning_token
from apps.funding.admin.bill_transitions import TransitionAdmin
from apps.funding.admin.display import (
    format_amount,
    link,
    plain_quantity,
    record_link,
    short_day,
    short_day_of,
)
from apps.funding.admin.line_forms import (
    BLANK_ROWS,
    MORE_ROWS,
    PREFIX,
    LineForm,
    LineFormSet,
    initial_row,
    line_formset,
)
from apps.funding.models import Bill, ClaimLine, InvoiceLine
from apps.odata import clock
from apps.odata.write.drafts import ValidationFailed, WarningsPresent

#: Where a person's session keeps the price book of the line they entered last.
LAST_BOOK = "funding_price_book"
#: The fields with the warnings that were shown, and the button that confirms them.
CONFIRMED, SAVE_ANYWAY = "confirmed", "_save_anyway"


class BillAdmin(TransitionAdmin):
    """What the pages of claims and invoices have in common."""

    line_model: ClassVar[type[ClaimLine | InvoiceLine]]
    line_form: ClassVar[type[LineForm]]
    create: ClassVar[Callable[..., list[Any]]]
    update: ClassVar[Callable[..., list[Any]]]
    change_form_template = "funding/bill_form.html"

    class Media:
        css: ClassVar[Any] = {"all": ("documents.css", "funding.css")}
        js = ("funding_lines.js",)

    # --- hooks of claims and invoices

    def summary(self, record: Any) -> list[tuple[str, Any]]:
        """The labels and values above the lines of a bill that is only viewed."""
        raise NotImplementedError

    def provider_invoice_context(
        self, request: HttpRequest, entry: BillEntry | None, record: Any
    ) -> dict[str, Any]:
        """The provider invoice shown beside a claim, and its document."""
        return {}

    def cost_centre_names(self) -> Sequence[str]:
        return ()

    def response_next(self, request: HttpRequest, record: Any) -> HttpResponse:
        """The page after "Save and enter the next"."""
        return redirect(f"admin:{self.url_name('add')}")

    # --- entering and editing

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form of a bill with its lines, or the page of one that cannot be edited."""
        links = self.record_links(request, object_id) if object_id else []
        context = {"record_links": links, **(extra_context or {})}
        try:
            with transaction.atomic():
                return self.bill_view(request, object_id, form_url, context)
        except IntegrityError:
            # Another writer came between the check and the insert: checked again, the form shows the issue.
            with transaction.atomic():
                return self.bill_view(request, object_id, form_url, context)

    def bill_view(
        self, request: HttpRequest, object_id: str | None, form_url: str, context: dict[str, Any]
    ) -> HttpResponse:
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
            if not record.is_editable or not self.has_change_permission(request, record):
                return self.bill_page(request, record, context)
        entry = self.entry(request, record)
        if request.method == "POST" and "_more" not in request.POST:
            key = self.save_entry(request, entry, record)
            if key is not None:
                saved = self.model._default_manager.get(pk=key)
                return self.response_saved(request, saved, is_new=record is None)
        return self.form_page(request, entry, record, form_url, context)

    def entry(self, request: HttpRequest, record: Any) -> BillEntry:
        """The forms with what was sent, what is stored, or what a new bill starts with."""
        fields = flatten_fieldsets(self.get_fieldsets(request, record))
        form_class = self.get_form(request, record, change=record is not None, fields=fields)
        existing = self.lines_of(record) if record is not None else []
        books = frozenset(line.price_book_id for line in existing)
        if request.method == "POST":
            is_more = "_more" in request.POST
            data = with_more_rows(request.POST) if is_more else request.POST
            formset = line_formset(self.line_form, MORE_ROWS if is_more else BLANK_ROWS)
            lines = formset(data, used_books=books)
            lines.read()
            return BillEntry(form_class(data, instance=record), lines)
        formset = line_formset(self.line_form, BLANK_ROWS if record is None else 0)
        lines = formset(initial=[initial_row(line) for line in existing], used_books=books)
        for row, line in zip(lines.forms, existing, strict=False):
            row.product_found = line.product
        if record is not None:
            return BillEntry(form_class(instance=record), lines)
        for row in lines.extra_forms:
            row.initial["price_book"] = self.usual_price_book(request, lines)
        return BillEntry(form_class(initial=self.get_changeform_initial_data(request)), lines)

    def lines_of(self, record: Any) -> list[Any]:
        references = ["product", "price_book", "booking__engagement", "category_budget__engagement"]
        if self.line_model is InvoiceLine:
            references.append("cost_centre")
        return list(record.line_items.select_related(*references).order_by("position", "pk"))

    def usual_price_book(self, request: HttpRequest, lines: LineFormSet) -> str | None:
        """The price book of the line this person entered last, else of the last line of all."""
        current = [key for key, book in lines.books.items() if not book.is_archived]
        if len(current) == 1:
            return current[0]
        last = request.session.get(LAST_BOOK)
        if last not in current:
            newest = self.line_model.objects.order_by("-pk").values_list("price_book_id", flat=True)
            last = str(newest.first())
        return last if last in current else None

    def save_entry(self, request: HttpRequest, entry: BillEntry, record: Any) -> Any:
        """Store the bill by its service; its key, or ``None`` with the issues or warnings on the entry."""
        service = type(self).create if record is None else type(self).update
        confirmed = Counter(request.POST.getlist(CONFIRMED)) if SAVE_ANYWAY in request.POST else Counter()
        try:
            try:
                with transaction.atomic():
                    keys = service([entry.draft()])
            except WarningsPresent as present:
                # Only the warnings that were on the screen are confirmed.
                entry.warnings = [issue for _, issue in present.issues]
                if Counter(map(warning_token, entry.warnings)) - confirmed:
                    return None
                with transaction.atomic():
                    keys = service([entry.draft()], ignore_warnings=True)
        except ValidationFailed as failed:
            entry.add_issues(failed.issues)
            return None
        request.session[LAST_BOOK] = str(entry.lines.filled_rows()[-1].cleaned_data["price_book"].pk)
        return keys[0] if record is None else record.pk

    def response_saved(self, request: HttpRequest, record: Any, is_new: bool) -> HttpResponse:
        noun, url = self.opts.verbose_name.capitalize(), self.page_url("change", record.pk)
        done, amount = "created" if is_new else "changed", format_amount(record.total)
        text = format_html("{} {} {}: {} for {}.", noun, link(url, record), done, amount, record.contact)
        self.message_user(request, text, messages.SUCCESS)
        button = request.POST.get("then") or pressed_button(request)
        if button == "_next":
            return self.response_next(request, record)
        return redirect(f"admin:{self.url_name('add')}") if button == "_addanother" else redirect(url)

    # --- pages

    def form_page(
        self, request: HttpRequest, entry: BillEntry, record: Any, form_url: str, context: dict[str, Any]
    ) -> HttpResponse:
        form: Any = entry.form
        fieldsets = [open_when_invalid(each, form) for each in self.get_fieldsets(request, record)]
        readonly = self.get_readonly_fields(request, record)
        admin_form = helpers.AdminForm(form, fieldsets, {}, readonly, model_admin=self)
        only_lines_invalid = entry.has_errors and not form.errors
        change = record is not None
        page = {
            **self.admin_site.each_context(request),
            "title": f"{'Change' if change else 'Add'} {self.opts.verbose_name}",
            "subtitle": str(record) if change else None,
            "adminform": admin_form,
            "object_id": record and record.pk,
            "original": record,
            "is_popup": False,
            "to_field": None,
            "media": self.media + admin_form.media,
            "inline_admin_formsets": [],
            "errors": form.errors if only_lines_invalid else helpers.AdminErrorList(form, []),
            "is_invalid": request.method == "POST" and "_more" not in request.POST and entry.has_errors,
            "rows": entry.lines,
            "cost_centres": self.cost_centre_names(),
            "limit": entry.lines.max_num,
            "warnings": entry.warning_rows(),
            "then": request.POST.get("then") or pressed_button(request),
            "currency": Subscriber.current().currency,
            "today": clock.today().isoformat(),
            "addresses": {name: reverse(f"admin:{self.url_name(name)}") for name in ("products", "prices")},
            **self.provider_invoice_context(request, entry, record),
            **(self.record_context(request, record) if change else {}),
            **context,
        }
        return self.render_change_form(request, page, not change, change, form_url, record)

    def bill_page(self, request: HttpRequest, record: Any, context: dict[str, Any]) -> HttpResponse:
        """A bill that cannot be edited any more, or by somebody who may only view it."""
        if request.method == "POST":
            status = record.get_funding_status_display().lower()
            message = f"{record} is {status}: it is changed only while it awaits approval or is on hold."
            self.message_user(request, message, messages.ERROR)
            return redirect(self.page_url("change", record.pk))
        page = {
            **self.admin_site.each_context(request),
            "title": f"{self.opts.verbose_name.capitalize()} {record}",
            "opts": self.opts,
            "original": record,
            "change": True,
            "has_view_permission": True,
            "has_absolute_url": False,
            "media": self.media,
            "summary": [*self.summary(record), *common_summary(record)],
            "lines": [
                (line, plain_quantity(line.quantity), format_amount(line.price))
                for line in self.lines_of(record)
            ],
            "is_invoice": self.line_model is InvoiceLine,
            "currency": Subscriber.current().currency,
            **self.provider_invoice_context(request, None, record),
            **self.record_context(request, record),
            **context,
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "funding/bill.html", page)

    def record_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What is shown of every existing bill: its status, and the warnings that were confirmed."""
        return {
            "acknowledged": [
                {
                    "label": code_label(each.code),
                    "place": place_label(each.place),
                    "message": each.message,
                    "who": each.staff or each.application or "System",
                    "at": each.at,
                }
                for each in record.acknowledged_warnings.select_related("staff")
            ],
            **self.status_context(request, record),
        }

    # --- what the line grid requests

    def get_urls(self) -> list[URLPattern]:
        def for_viewers(view: Callable[[HttpRequest], HttpResponse]) -> Any:
            def checked(request: HttpRequest) -> HttpResponse:
                if not self.has_view_permission(request):
                    raise PermissionDenied
                return view(request)

            return self.admin_site.admin_view(require_GET(checked))

        return [
            path("products/", for_viewers(autocomplete.products_view), name=self.url_name("products")),
            path("prices/", for_viewers(autocomplete.prices_view), name=self.url_name("prices")),
            *super().get_urls(),
        ]


def pressed_button(request: HttpRequest) -> str:
    return next((name for name in ("_next", "_addanother") if name in request.POST), "")


def open_when_invalid(fieldset: Any, form: BillForm) -> Any:
    """A fieldset, which is not collapsed when it has an error."""
    title, options = fieldset
    if not set(flatten_fieldsets([fieldset])) & set(form.errors if form.is_bound else ()):
        return fieldset
    return title, {**options, "classes": [name for name in options.get("classes", ()) if name != "collapse"]}


def with_more_rows(data: QueryDict) -> QueryDict:
    """What was sent, with some more blank rows: for browsers without scripts."""
    more = data.copy()
    total = more.get(f"{PREFIX}-TOTAL_FORMS") or "0"
    count = int(total) if total.isdecimal() and len(total) < 5 else 0
    more[f"{PREFIX}-TOTAL_FORMS"] = str(count + MORE_ROWS)
    return more


def common_summary(record: Any) -> list[tuple[str, Any]]:
    rows = [
        ("Assigned to", str(record.staff)),
        ("Entered by", str(record.entered_by or "–")),
        ("Number in accounting", record.external_invoice_number or "–"),
        ("Approved", short_day_of(record.approved_date)),
        ("Paid", format_amount(record.amount_paid)),
        ("Paid on", short_day_of(record.payment_date)),
    ]
    if record.resubmission_of_id:
        original = record_link(type(record), record.resubmission_of_id, record.resubmission_of)
        rows.append(("Resubmits", original))
    return rows


def period(record: Bill) -> str:
    if record.start_date == record.end_date:
        return short_day(record.start_date)
    return f"{short_day(record.start_date)} – {short_day(record.end_date)}"
