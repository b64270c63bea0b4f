"""The pages of claim files: what the next ones hold, those that were made, sending and withdrawing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from apps.base import clock
from apps.base.errors import plural
from apps.core.admin_base import Page
from apps.core.admin_base.display import (
    admin_url,
    amount_cell,
    format_amount,
    link,
    list_column,
    list_url,
    record_link,
    short_day,
    staff_name,
)
from apps.core.admin_base.forms import typed_day_field
from apps.core.admin_base.pages import ReadOnlyAdmin
from apps.core.admin_base.refusals import refusals_shown
from apps.funding.admin.actions import MENU
from apps.funding.admin.first_steps import CLAIM_FILE_REQUIREMENTS, lacking_rows, rows_of, shown_steps
from apps.funding.admin.remittances import result_text
from apps.funding.admin.rights import may_administer_all
from apps.funding.choices import BillPermission
from apps.funding.downloads import bills_of, claim_file_response
from apps.funding.models import ClaimFile, ClaimFileLine
from apps.funding.services.claim_files import (
    ClaimFilePlan,
    LeftOut,
    create_claim_files,
    mark_sent,
    plan_claim_files,
    withdraw,
)
from apps.funding.validation.guards import AnyBill, lower_first
from apps.people.admin.staff import staff_of

#: Bills of one reason that the page of a new file lists, and lines on a page of a file.
LISTED_BILLS, LISTED_LINES = 100, 100
STATUS_COLOURS = {"Not sent": "warning", "Sent": "success", "Withdrawn": ""}

#: What somebody needs to make a file, beside administering bills.
MAKING = (BillPermission.SEND_FILES, BillPermission.CLAIM)


def missing_permissions(request: HttpRequest) -> list[BillPermission]:
    return [each for each in MAKING if not request.user.has_perm(f"funding.{each}")]


class UntilForm(forms.Form):
    """The last day of the bills that go into a file."""

    until = typed_day_field("What ends by")


@admin.register(ClaimFile)
class ClaimFileAdmin(ReadOnlyAdmin):
    """Claim files, made from all approved bills at once."""

    purpose = (
        "A claim file has a row for each line of approved claims and of invoices to the agency, and is "
        "uploaded into the agency's portal."
    )
    menu_group = MENU
    menu_order = 215
    icon = "upload_file"
    ordering = ("-number",)
    list_display = (
        "name",
        "amount",
        "number_of_lines",
        "status_label",
        "made",
        "made_by",
        "sent",
        "who_sent",
    )
    list_select_related = ("created_by", "sent_by")
    list_filter = (("status", ChoicesDropdownFilter),)
    list_pages = (Page("first-steps", permission="first_steps", method="GET"),)
    record_pages = (
        Page("file", method="GET"),
        Page("content", method="GET"),
        Page("sent", permission="send", method="POST"),
        Page("withdraw", permission="send"),
    )

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["funding.css"]}
        js = ("file_import.js",)

    # --- permissions

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_administer_all(request) or super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return may_administer_all(request) and not missing_permissions(request)

    def has_send_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.has_perm(f"funding.{BillPermission.SEND_FILES}"))

    def explain_refusal(self, request: HttpRequest, name: str) -> list[str]:
        if name == "view":
            return super().explain_refusal(request, name)
        return [
            f"Your role lacks the permission to {lower_first(each.label.removeprefix('Can '))}."
            for each in missing_permissions(request)
        ]

    # --- the list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("content")

    name = list_column("file", "file_name")
    number_of_lines = list_column("lines", "line_count", "{:,}".format)
    amount = list_column("total", "total", amount_cell)
    status_label = list_column("status", "get_status_display", ordering="status", label=STATUS_COLOURS)
    made = list_column("made", "creation_date", short_day)
    made_by = list_column("made by", "created_by", staff_name, is_sorted=False)
    sent = list_column("sent", "sent_at", short_day)

    @display(description="sent by")
    def who_sent(self, file: ClaimFile) -> str:
        return str(file.sent_by or ("System" if file.sent_at else "–"))

    # --- a new one

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """Show the files of claims until a day, and claims that are left out; make them when confirmed."""
        if not self.has_add_permission(request):
            raise PermissionDenied(*self.explain_refusal(request, "add"))
        form = UntilForm(request.POST or request.GET or None, initial={"until": clock.today()})
        until = clock.today()
        if form.is_bound and form.is_valid():
            until = form.cleaned_data["until"]
        elif form.is_bound:
            return self.new_file_page(request, form, None)
        if request.method == "POST":
            with refusals_shown(request):
                files = create_claim_files(until, staff_of(request), request.POST.get("plan", ""))
                for file in files:
                    text = f"{file} was made: {plural(file.line_count, 'line')}, {format_amount(file.total)}."
                    messages.success(request, text)
                return redirect(
                    self.page_url("file", files[0].pk) if len(files) == 1 else list_url(ClaimFile)
                )
        return self.new_file_page(request, form, plan_claim_files(until))

    def new_file_page(
        self, request: HttpRequest, form: UntilForm, plan: ClaimFilePlan | None
    ) -> HttpResponse:
        groups = [ListedReason.of(group) for group in plan.left_out] if plan else []
        shown: dict[Any, set[UUID]] = defaultdict(set)
        for each in groups:
            for row in each.rows:
                shown[row.model].add(row.key)
        return self.render_page(
            request,
            "funding/claim_file_new.html",
            "New claim file",
            form=form,
            plan=plan,
            groups=groups,
            lacking=lacking_rows(CLAIM_FILE_REQUIREMENTS, request),
            shown_records=shown,
        )

    # --- getting started

    def has_first_steps_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(shown_steps(request))

    def first_steps_page(self, request: HttpRequest) -> HttpResponse:
        """The page of what the first record or file of each kind needs, and which of it is missing."""
        steps = [(each.title, rows_of(each.requirements, request)) for each in shown_steps(request)]
        return self.render_page(
            request,
            "funding/first_steps.html",
            "Getting started",
            steps=[(title, rows, sum(bool(row.lacking) for row in rows)) for title, rows in steps],
        )

    # --- one file

    def file_page(self, request: HttpRequest, record: ClaimFile) -> HttpResponse:
        lines = record.lines.select_related(
            *("claim__contact", "invoice__contact", "claim_line__product", "invoice_line__product", "result")
        ).prefetch_related("payments")
        page = Paginator(lines.order_by("position"), LISTED_LINES).get_page(request.GET.get("page"))
        rows = [FileRow.of(line) for line in page]
        return self.render_page(
            request,
            "funding/claim_file.html",
            f"Claim file {record}",
            record,
            summary=summary_of(record),
            colour=STATUS_COLOURS[record.get_status_display()],
            may_send=record.status == ClaimFile.Status.NOT_SENT and self.has_send_permission(request),
            rows=rows,
            page=page,
            shown_records=bills_of(page),
        )

    def content_page(self, request: HttpRequest, record: ClaimFile) -> HttpResponse:
        return claim_file_response(record)

    def sent_page(self, request: HttpRequest, record: ClaimFile) -> HttpResponse:
        with refusals_shown(request):
            mark_sent(record.pk, staff_of(request))
            messages.success(request, f"{record} is marked as sent.")
        return redirect(self.page_url("file", record.pk))

    def withdraw_page(self, request: HttpRequest, record: ClaimFile) -> HttpResponse:
        """Ask first; then take the file back."""
        if request.method != "POST" and record.status == ClaimFile.Status.NOT_SENT:
            return self.render_page(
                request, "funding/claim_file_withdraw.html", f"Withdraw {record}", record, file=record
            )
        with refusals_shown(request):
            withdraw(record.pk, staff_of(request))
            messages.success(request, f"{record} was withdrawn. What was in it is approved again.")
        return redirect(self.page_url("file", record.pk))


# --- what the pages show --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """A bill that is left out, with its link and why."""

    model: type[AnyBill]
    key: UUID
    link: str
    participant: str
    total: Decimal
    sentences: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListedReason:
    """A reason with the first of its bills."""

    label: str
    count: int
    total: Decimal
    rows: Sequence[LeftOutRow]

    @classmethod
    def of(cls, group: LeftOut) -> "ListedReason":
        rows = [
            LeftOutRow(
                bill.model,
                bill.key,
                link(admin_url(bill.model, "change", bill.key), bill.number),
                bill.participant,
                bill.total,
                sentences,
            )
            for bill, sentences in group.bills[:LISTED_BILLS]
        ]
        return cls(group.reason.label, len(group.bills), group.total, rows)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A line of a file: its bill, its item unless the line was replaced since, and the agency's answers."""

    line: ClaimFileLine
    bill: str
    participant: str
    item: str
    result: str
    paid: Decimal | None

    @classmethod
    def of(cls, line: ClaimFileLine) -> "FileRow":
        bill, bill_line = line.claim or line.invoice, line.claim_line or line.invoice_line
        item = bill_line.product.code if bill_line is not None else "–"
        paid = [each.amount for each in line.payments.all() if each.is_applied]
        of_person = str(bill.contact) if bill else "–"
        return cls(line, record_link(bill), of_person, item, result_text(line), sum(paid) if paid else None)


def summary_of(file: ClaimFile) -> list[tuple[str, str]]:
    """The labels and values above the lines of a file."""
    made_by, sent_by, withdrawn_by = (
        each or "System" for each in (file.created_by, file.sent_by, file.withdrawn_by)
    )
    rows = [
        ("Number", str(file.number)),
        ("Lines", f"{file.line_count:,}"),
        ("Total", format_amount(file.total) or ""),
        ("What ends by", short_day(file.until)),
        ("Made", f"{short_day(file.creation_date)}, {made_by}"),
        ("Sent", f"{short_day(file.sent_at)}, {sent_by}" if file.sent_at else "–"),
        ("Registration number", file.registration_number),
        ("SHA-256", file.sha256),
    ]
    if file.withdrawn_at:
        rows.append(("Withdrawn", f"{short_day(file.withdrawn_at)}, {withdrawn_by}"))
    return rows
