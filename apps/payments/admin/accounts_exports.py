"""Accounts exports in the back office: what the next one has, those that were made, and the GST report."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from apps.base import clock
from apps.base.errors import Refusal, plural
from apps.core.admin_base import DateRangeFilter, Page
from apps.core.admin_base.display import admin_url, amount_cell, list_column, short_day, staff_name
from apps.core.admin_base.forms import typed_day_field
from apps.core.admin_base.pages import ReadOnlyAdmin
from apps.core.admin_base.refusals import refusals_shown
from apps.core.downloads import bytes_response
from apps.payments.models import AccountCode, AccountsExport, PaymentRun, PaymentSettings
from apps.payments.services.accounts_exports import (
    ADD_PERMISSION,
    AccountsPlan,
    create_accounts_export,
    last_day_of_month_before,
    plan_accounts_export,
)
from apps.payments.services.gst_report import Quarter, load_gst_report
from apps.people.admin.staff import staff_of

#: Quarters that the page of the GST report offers.
QUARTERS = 8


class ExportUntilForm(forms.Form):
    """The last day of an export."""

    until = typed_day_field("What happened until")


@admin.register(AccountsExport)
class AccountsExportAdmin(ReadOnlyAdmin):
    """Exports are made on the page of a new one, and downloaded from their own."""

    purpose = (
        "An accounts export has what the agency paid and what was paid to payees as journals or bills for the"
        " accounting package, each amount once."
    )
    menu_group = "Payments"
    menu_order = 233
    icon = "menu_book"
    list_pages = (
        Page("gst", "GST report", icon="percent", order=234, method="GET"),
        Page("gst-file/<quarter>", method="GET"),
    )
    record_pages = (Page("export", method="GET"), Page("file/<int:position>", method="GET"))
    list_display = ("number", "period", "package", "amount_received", "amount_paid", "fee", "made", "who")
    list_select_related = ("made_by",)
    list_filter = (("style", ChoicesDropdownFilter), ("until", DateRangeFilter))

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["payments.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request) and request.user.has_perm(ADD_PERMISSION)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).order_by("-number")

    # --- the list

    period = list_column("until", "until", short_day)
    package = list_column("package", "get_style_display", ordering="style")
    amount_received = list_column("received", "received", amount_cell)
    amount_paid = list_column("paid out", "paid_out", amount_cell)
    fee = list_column("own fee", "own_fee", amount_cell)
    made = list_column("made", "creation_date", short_day)
    who = list_column("made by", "made_by", staff_name, is_sorted=False)

    # --- a new one

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: object = None
    ) -> HttpResponse:
        """Show what an export until a day has; make it when that is confirmed."""
        if not self.has_add_permission(request):
            raise PermissionDenied(*self.explain_refusal(request, "add"))
        until = last_day_of_month_before(clock.today())
        form = ExportUntilForm(request.POST or request.GET or None, initial={"until": until})
        if form.is_bound and not form.is_valid():
            return self.new_export_page(request, form, None)
        until = form.cleaned_data["until"] if form.is_bound else until
        if request.method == "POST":
            with refusals_shown(request):
                export = create_accounts_export(until, staff_of(request), request.POST.get("plan", ""))
                messages.success(request, f"{export} was made: {plural(export.files.count(), 'file')}.")
                return redirect(self.page_url("export", export.pk))
        return self.new_export_page(request, form, until)

    def new_export_page(
        self, request: HttpRequest, form: ExportUntilForm, until: dt.date | None
    ) -> HttpResponse:
        plan: AccountsPlan | None = None
        if until is not None:
            try:
                plan = plan_accounts_export(until)
            except Refusal as refusal:
                form.add_error("until", str(refusal)) if form.is_bound else None
        may_change_settings = request.user.has_perm("payments.change_paymentsettings")
        return self.render_page(
            request,
            "payments/accounts_export_new.html",
            "New accounts export",
            form=form,
            plan=plan,
            is_ready=plan is not None and plan.problem is None,
            settings_link=admin_url(PaymentSettings, "change", 1) if may_change_settings else "",
            codes_link=admin_url(AccountCode, "changelist") if may_change_settings else "",
        )

    # --- one export

    def export_page(self, request: HttpRequest, record: AccountsExport) -> HttpResponse:
        runs = PaymentRun.objects.filter(items__accounts_entries__export=record).distinct().order_by("number")
        return self.render_page(
            request,
            "payments/accounts_export.html",
            str(record),
            record,
            export=record,
            runs=[(str(run), admin_url(run, "run", run.pk)) for run in runs],
            files=record.files.defer("content"),
        )

    def file_page(self, request: HttpRequest, record: AccountsExport, position: int) -> HttpResponse:
        """The same bytes every time."""
        file = record.files.filter(position=position).first()
        if file is None:
            raise Http404
        return bytes_response(bytes(file.content), file.file_name, "application/octet-stream")

    # --- GST

    def gst_page(self, request: HttpRequest) -> HttpResponse:
        last = Quarter.before(clock.today())
        return self.render_page(
            request,
            "payments/gst_report.html",
            "GST report",
            report=load_gst_report(read_quarter(request.GET.get("quarter", str(last)))),
            quarters=latest_quarters(last),
        )

    def gst_file_page(self, request: HttpRequest, quarter: str) -> HttpResponse:
        chosen = read_quarter(quarter)
        return bytes_response(load_gst_report(chosen).as_csv(), f"gst-{chosen}.csv", "text/csv")


def read_quarter(text: str) -> Quarter:
    try:
        return Quarter.of(text)
    except ValueError:
        raise Http404 from None


def latest_quarters(last: Quarter) -> list[Quarter]:
    """The quarter that goes on, and those before it."""
    found = [Quarter.before(last.last + dt.timedelta(days=100)), last]
    while len(found) < QUARTERS:
        found.append(Quarter.before(found[-1].first))
    return found
