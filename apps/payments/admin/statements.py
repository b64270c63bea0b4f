"""Statements in the back office: those of a month, made and sent all at once; a participant's; one."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from unfold.decorators import display

from apps.base import clock
from apps.core.admin_base import DateRangeFilter, Page, Panel, RecordFilter, register_panels
from apps.core.admin_base.display import admin_url, amount_cell, list_column, list_url, record_link, short_day
from apps.core.admin_base.pages import ReadOnlyAdmin, sees_everybody
from apps.core.admin_base.record_fields import find_visible
from apps.core.admin_base.refusals import refusals_shown
from apps.payments.choices import StatementWork
from apps.payments.downloads import statement_response
from apps.payments.models import Statement, StatementConsent, StatementRun, month_name
from apps.payments.services.statement_mail import (
    find_recipients,
    load_consents,
    recipient_of,
    send_statement,
    unsent_statements,
)
from apps.payments.services.statement_runs import RUNNING, count_sent, note_dead_run, start_run
from apps.payments.services.statements import (
    count_changed,
    make_statements,
    participants_of,
    read_month,
    with_first_change,
)
from apps.payments.statement_text import statement_text
from apps.people.admin.staff import staff_of
from apps.people.models import Contact

#: Statements of one reason that the page of a month lists, and those on a participant's page.
LISTED, LISTED_OF_PARTICIPANT = 100, 6
COLOURS = {"Sent": "success", "Replaced": "", "Not taken": "danger", "Not sent": "warning"}


@admin.register(Statement)
class StatementAdmin(ReadOnlyAdmin):
    """All statements as a list, and the page of a month, where they are made and sent."""

    purpose = "What participants are told about a month: made, and sent by mail, on the page of that month."
    menu_group = "Payments"
    menu_order = 251
    menu_title = "All statements"
    icon = "receipt_long"
    ordering = ("-month", "-creation_date", "-guid")
    list_display = ("participant", "month_label", "spent_amount", "state", "made", "sent", "changed")
    list_select_related = ("contact",)
    list_filter = (("contact", RecordFilter), ("month", DateRangeFilter))
    list_pages = (
        Page("months", "Statements", icon="contact_mail", order=250, of_all=True, leads_to="month"),
        Page("month/<str:month>", method="GET", of_all=True),
        Page("make/<str:month>", permission="add", method="POST", of_all=True),
        Page("send/<str:month>", permission="send", method="POST", of_all=True),
        Page("make-one/<str:contact>", permission="add", method="POST"),
        Page("progress/<str:run>", method="GET", of_all=True),
    )
    record_pages = (
        Page("statement", method="GET"),
        Page("document", method="GET"),
        Page("mail", permission="send", method="POST"),
    )

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["payments.css", "imports.css"]}
        js = ("file_import.js",)

    # --- permissions

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("payments.add_statement")

    def has_send_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("payments.send_statement")

    # --- the list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        statements = super().get_queryset(request).defer("content")
        return with_first_change(statements) if self.is_list(request) else statements

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """Statements are made on the page of a month, or on the page of a participant."""
        if not self.has_add_permission(request):
            raise PermissionDenied(*self.explain_refusal(request, "add"))
        if sees_everybody(request):
            return redirect(self.page_url("months"))
        messages.info(request, "Open a participant: “Make statement” is on their page.")
        return redirect(list_url(Contact))

    participant = list_column("participant", "contact", str, ordering="contact__last_name")

    @display(description="month", ordering="month")
    def month_label(self, statement: Statement) -> str:
        return str(statement)

    spent_amount = list_column("spent", "spent", amount_cell, is_sorted=False)

    @display(description="state", label=COLOURS)
    def state(self, statement: Statement) -> str:
        if statement.is_replaced:
            return "Replaced"
        if statement.sent_at is not None:
            return "Sent"
        return "Not taken" if statement.mail_error else "Not sent"

    made = list_column("made", "creation_date", short_day)
    sent = list_column("sent", "sent_at", short_day)

    @display(description="claims changed since")
    def changed(self, statement: Any) -> str:
        return "" if statement.is_replaced else short_day(statement.first_change)

    # --- a month

    def months_page(self, request: HttpRequest) -> HttpResponse:
        """The last month that is over."""
        return redirect(self.page_url("month", month_text(last_month())))

    def month_page(self, request: HttpRequest, month: str) -> HttpResponse:
        first = month_or_404(month)
        current = Statement.objects.filter(month=first, is_replaced=False)
        counts = current.aggregate(made=Count("pk"), sent=Count("pk", filter=Q(sent_at__isnull=False)))
        not_made = participants_of(first).exclude(Exists(current.filter(contact=OuterRef("pk"))))
        groups, sendable = group_unsent(unsent_statements(first).order_by("contact__last_name", "pk"))
        runs = StatementRun.objects.filter(month=first).select_related("staff")
        for run in runs.filter(status=RUNNING):
            note_dead_run(run)
        earlier, later = clock.months_after(first, -1), clock.months_after(first, 1)
        return self.render_page(
            request,
            "payments/statements.html",
            f"Statements of {month_name(first)}",
            counts=counts,
            not_made=not_made.count(),
            changed=count_changed(first),
            sendable=sendable,
            groups=groups,
            month=month,
            run=runs.filter(status=RUNNING).first(),
            last_runs=runs[:3],
            earlier=(month_name(earlier), self.page_url("month", month_text(earlier))),
            later=(month_name(later), self.page_url("month", month_text(later)))
            if later <= last_month()
            else None,
            list_url=list_url(Statement, month__gte=first, month__lt=later),
            may_make=self.has_add_permission(request),
            may_send=self.has_send_permission(request),
            shown_records={Statement: [key for group in groups for key in group.keys]},
        )

    def make_page(self, request: HttpRequest, month: str) -> HttpResponse:
        return self.begin(request, month, StatementWork.MAKE)

    def send_page(self, request: HttpRequest, month: str) -> HttpResponse:
        return self.begin(request, month, StatementWork.SEND)

    def begin(self, request: HttpRequest, month: str, work: StatementWork) -> HttpResponse:
        with refusals_shown(request):
            start_run(month_or_404(month), work, staff_of(request).pk)
        return redirect(self.page_url("month", month))

    def progress_page(self, request: HttpRequest, run: str) -> JsonResponse:
        found = find_visible(StatementRun.objects.all(), run, request.user)
        if found is None:
            raise Http404
        note_dead_run(found)
        done = count_sent(found) if found.work == StatementWork.SEND else found.rows_done
        return JsonResponse({"running": found.is_running, "done": done, "total": found.rows_total})

    def make_one_page(self, request: HttpRequest, contact: str) -> HttpResponse:
        """A participant's statement of the month that is asked for."""
        person = find_visible(Contact.objects.all(), contact, request.user)
        if person is None:
            raise Http404
        with refusals_shown(request):
            month = month_or_404(request.POST.get("month", ""))
            made = make_statements(month, [person.pk])
            text = "is made" if made.made else "is made already, and nothing of it changed"
            messages.success(request, f"The statement of {month_name(month)} {text}.")
            current = Statement.objects.filter(contact=person, month=month, is_replaced=False)
            return redirect(self.page_url("statement", current.values_list("pk", flat=True)[0]))
        return redirect(admin_url(Contact, "overview", person.pk))

    # --- one statement

    def statement_page(self, request: HttpRequest, record: Statement) -> HttpResponse:
        """The page of a statement: what its document says, of the same figures, and what became of it."""
        lines, budgets = list(record.lines.all()), list(record.budgets.all())
        others = Statement.objects.filter(contact=record.contact_id, month=record.month).exclude(pk=record.pk)
        changes = with_first_change(Statement.objects.filter(pk=record.pk))
        person, obstacle = find_recipients([record])[record.pk]
        is_open = record.sent_at is None and not record.is_replaced
        return self.render_page(
            request,
            "payments/statement.html",
            f"{record.contact}: {record}",
            record,
            statement=record,
            said=statement_text(record, lines, budgets),
            participant=record_link(record.contact),
            state=self.state(record),
            colour=COLOURS[self.state(record)],
            has_document=Statement.objects.filter(pk=record.pk, content__isnull=False).exists(),
            recipient=person,
            obstacle=obstacle.value if obstacle and is_open else "",
            first_change=None if record.is_replaced else changes.values_list("first_change", flat=True).get(),
            may_send=is_open and obstacle is None and self.has_send_permission(request),
            versions=[(record_link(each), each) for each in others.defer("content").order_by("version")],
            month_url=self.page_url("month", month_text(record.month)) if sees_everybody(request) else "",
            shown_records={Contact: [record.contact_id]},
        )

    def document_page(self, request: HttpRequest, record: Statement) -> HttpResponse:
        """The bytes as they were made."""
        response = statement_response(record)
        if response is None:
            raise Http404
        return response

    def mail_page(self, request: HttpRequest, record: Statement) -> HttpResponse:
        with refusals_shown(request):
            send_statement(record.pk)
            messages.success(request, "The statement will be sent.")
        return redirect(self.page_url("statement", record.pk))


# --- months -----------------------------------------------------------------------------------------------


def month_or_404(text: str) -> dt.date:
    """The first day of ``2026-10``; 404 for anything else."""
    try:
        return read_month(text)
    except ValueError:
        raise Http404 from None


def month_text(month: dt.date) -> str:
    return f"{month:%Y-%m}"


def last_month() -> dt.date:
    """The last month that is over."""
    return clock.months_after(clock.today().replace(day=1), -1)


# --- what cannot be sent ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnsentGroup:
    """Statements that are not sent for one reason, the first of them with links."""

    reason: str
    count: int
    keys: Sequence[UUID]
    rows: Sequence[tuple[str, str, str]]


def group_unsent(statements: Iterable[Statement]) -> tuple[list[UnsentGroup], int]:
    """The statements that cannot be sent by reason, or that the server did not take; and how many can be."""
    rows = list(statements)
    recipients, by_reason = find_recipients(rows), defaultdict(list)
    sendable = 0
    for each in rows:
        obstacle = recipients[each.pk].obstacle
        sendable += obstacle is None
        if obstacle is not None:
            by_reason[obstacle.value].append(each)
        elif each.mail_error:
            by_reason["The server of mail did not take it; send it again"].append(each)
    groups = [
        UnsentGroup(
            reason,
            len(found),
            [each.pk for each in found[:LISTED]],
            [
                (record_link(each.contact), record_link(each), each.mail_error or "")
                for each in found[:LISTED]
            ],
        )
        for reason, found in by_reason.items()
    ]
    return groups, sendable


# --- on the page of a participant ---------------------------------------------------------------------------


def panel_context(request: HttpRequest, contact: Contact) -> dict[str, Any] | None:
    """The latest statements of a participant, their consent, and the button that makes one."""
    page: Any = admin.site.get_model_admin(Statement)
    statements = with_first_change(Statement.objects.filter(contact=contact).defer("content"))
    found: list[Any] = list(statements[: LISTED_OF_PARTICIPANT + 1])
    may_make = page.has_add_permission(request) and bool(contact.scheme_number)
    if not found and not may_make:
        return {"count": 0}
    consent = load_consents([contact.pk]).get(contact.pk)
    person, obstacle = recipient_of(contact, consent)
    may_record = consent is None and request.user.has_perm("payments.add_statementconsent")
    shown = found[:LISTED_OF_PARTICIPANT]
    months = [clock.months_after(last_month(), -number) for number in range(12)]
    return {
        "keys": [each.pk for each in shown],
        "rows": [(record_link(each), page.state(each), each) for each in shown],
        "has_further": len(found) > len(shown),
        "link": list_url(Statement, contact__guid__exact=contact.pk),
        "months": [(month_text(each), month_name(each)) for each in months] if may_make else [],
        "contact": contact,
        "consent": consent,
        "consent_link": record_link(consent) if consent is not None else "",
        "consent_add": admin_url(StatementConsent, "add", contact=contact.pk) if may_record else "",
        "person": person,
        "obstacle": obstacle.value if obstacle else "",
    }


register_panels(
    Contact,
    Panel(
        model=Statement,
        title="Statements",
        order=65,
        template="payments/statement_panel.html",
        context=panel_context,
        histories=lambda record: [Statement.objects.filter(contact=record).defer("content")],
    ),
)
