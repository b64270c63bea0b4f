"""Payment runs in the back office: what is ready, a run of it, its release and its files."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from apps.base import clock
from apps.base.errors import Refusal, plural
from apps.base.money import ZERO
from apps.core.admin_base import DateRangeFilter, DayField, Page, RecordAdmin, RecordLink
from apps.core.admin_base.display import admin_url, amount_cell, format_amount, list_column, record_link
from apps.core.admin_base.record_fields import guid_of
from apps.core.admin_base.refusals import refusals_shown
from apps.core.computed import count_of
from apps.core.downloads import bytes_response
from apps.core.history_display import changes_of, history_lines
from apps.core.read_log import ShownRecords, log_shown
from apps.funding.admin.first_steps import lacking_rows
from apps.funding.models import Claim
from apps.funding.public_holidays import business_day_from
from apps.payments.admin.first_steps import PAYMENT_RUN_REQUIREMENTS
from apps.payments.choices import RunStatus
from apps.payments.downloads import bank_file_response
from apps.payments.models import BankAccount, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.opening import record_paid_before
from apps.payments.services.ready import ReadyPayee, load_ready, sum_ready
from apps.payments.services.remittance import items_without_advice, payee_email, send_advice
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run, run_problem, withdraw_run
from apps.payments.validation import release_problem
from apps.people.admin.staff import staff_of
from apps.people.models import Client, Contact

#: As many payees, or payments of a run, are on a page; and claims of a payee one by one.
LISTED_PAYEES = 100
LISTED_CLAIMS = 50
#: More claims than these are not listed before there is a run.
MOST_BEFORE_OPENING = 5_000
PAYEE_COUNT = count_of(PaymentRunItem.objects.all(), "run")
COLOURS = {"To be released": "warning", "Released": "success", "Withdrawn": "danger", "Paid before": "info"}


@admin.register(PaymentRun)
class PaymentRunAdmin(RecordAdmin):
    """Runs are made on the page of what is ready, and done with on their own page."""

    purpose = (
        "What is paid out at once. A run is made of what is ready to pay, and released by somebody else."
    )
    menu_group = "Payments"
    menu_order = 232
    icon = "paid"
    main_page = "run"
    list_pages = (
        Page("ready", "Ready to pay", icon="payments", order=231),
        Page("make", method="POST", permission="make"),
        Page("opening", permission="make"),
    )
    record_pages: ClassVar[Any] = (
        Page("run"),
        Page("release", method="POST"),
        Page("withdraw", method="POST", permission="change_run"),
        Page("came-back/<int:item>", method="POST", permission="change_run"),
        Page("send-advice", method="POST", permission="change_run"),
        Page("advice/<int:item>", method="GET"),
        Page("bank-file/<int:position>", method="GET", permission="download"),
    )
    actions = ()
    list_display = ("number", "state", "day", "payees", "amount", "made_by", "released_by")
    list_select_related = ("made_by", "released_by")
    list_filter = (("status", ChoicesDropdownFilter), ("day", DateRangeFilter))

    class Media:
        css: ClassVar[dict[str, Sequence[str]]] = {"all": ["payments.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        runs = super().get_queryset(request)
        return runs.annotate(payee_count=PAYEE_COUNT) if self.is_list(request) else runs

    # --- permissions: nobody adds or changes a run by a form

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_make_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("payments.add_paymentrun")

    def has_change_run_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """To withdraw a run, to say that a payment came back, to send remittance advice."""
        return self.has_view_permission(request) and request.user.has_perm("payments.change_paymentrun")

    def has_download_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """A bank file has the numbers of accounts."""
        return self.has_view_permission(request) and request.user.has_perm("payments.view_bankaccount")

    # --- the list

    state = list_column("state", "get_status_display", ordering="status", label=COLOURS)
    payees = list_column("payments", "payee_count", int, is_sorted=False)
    amount = list_column("total", "total", amount_cell)

    # --- what is ready

    def ready_page(self, request: HttpRequest) -> HttpResponse:
        """A page of what is ready. Another page is asked for by the form, which takes its ticks along."""
        count, _ = (0, ZERO) if PaymentRun.objects.exists() else sum_ready()
        # More than a first run is made of: they are what was paid out before.
        payees = [] if count > MOST_BEFORE_OPENING else load_ready()
        payable = [each for each in payees if each.problem is None and each.claims]
        page = Paginator(payees, LISTED_PAYEES).get_page(request.POST.get("page"))
        shown = list(page)
        ticked = posted_values(request, "payee") if request.method == "POST" else set(map(value_of, payable))
        set_off = posted_values(request, "set_off")
        on_page = {value_of(each) for each in shown}
        owed_on_page = {str(owed.claim.pk) for each in shown for owed in each.owed}
        elsewhere = [each for each in payable if value_of(each) in ticked - on_page]
        records = [each.record for each in shown if each.record is not None]
        claims = [each.claim.pk for payee in shown for each in (*payee.claims[:LISTED_CLAIMS], *payee.owed)]
        return self.render_page(
            request,
            "payments/ready.html",
            "Ready to pay",
            rows=[self.ready_row(request, each, ticked, set_off) for each in shown],
            page=page,
            elsewhere=[value_of(each) for each in elsewhere],
            elsewhere_amount=sum((chosen_amount(each, set_off) for each in elsewhere), ZERO),
            set_off_elsewhere=sorted(set_off - owed_on_page),
            payable_count=len(payable),
            payable=sum((each.amount for each in payable), ZERO),
            total=sum((each.amount for each in payees), ZERO),
            day=request.POST.get("day") or clock.today().isoformat(),
            may_make=self.has_make_permission(request),
            lacking=lacking_rows(PAYMENT_RUN_REQUIREMENTS, request),
            unlisted=count if count > MOST_BEFORE_OPENING else 0,
            shown_records={**by_model(records), Claim: claims},
        )

    def ready_row(
        self, request: HttpRequest, payee: ReadyPayee, ticked: Collection[str], set_off: Collection[str]
    ) -> dict[str, object]:
        """A payee as the page lists it, with a link to what is missing for those who may see it."""
        account_link = ""
        if request.user.has_perm("payments.view_bankaccount") and payee.record is not None:
            if payee.account is not None:
                account_link = admin_url(payee.account, "change", payee.account.pk)
            elif request.user.has_perm("payments.add_bankaccount"):
                account_link = admin_url(BankAccount, "add", **{payee.payee.kind: payee.payee.key})
        return {
            "payee": payee,
            "value": value_of(payee),
            "name": record_link(payee.record) if payee.record is not None else "Nobody is named",
            "account_link": account_link,
            "is_payable": payee.problem is None and bool(payee.claims),
            "is_ticked": value_of(payee) in ticked,
            "claims": [(record_link(each.claim), each.amount) for each in payee.claims[:LISTED_CLAIMS]],
            "further": max(len(payee.claims) - LISTED_CLAIMS, 0),
            "owed": [
                (each.claim.pk, record_link(each.claim), -each.amount, str(each.claim.pk) in set_off)
                for each in payee.owed
            ],
        }

    def offers_opening(self, request: HttpRequest) -> bool:
        return self.has_make_permission(request) and not PaymentRun.objects.exists()

    def make_page(self, request: HttpRequest) -> HttpResponse:
        """A run of the claims of the payees that are ticked."""
        chosen = posted_values(request, "payee")
        payees = [each for each in load_ready() if value_of(each) in chosen]
        set_off = [key for text in posted_values(request, "set_off") if (key := guid_of(text))]
        with refusals_shown(request):
            if not payees:
                raise Refusal("Choose at least one payee.")
            day = payment_day(request.POST.get("day", ""))
            claims = [each.claim.pk for payee in payees for each in payee.claims]
            run = create_run(claims, day, staff_of(request), set_off)
            messages.success(request, f"{run} is made: somebody else releases it.")
            return redirect(self.page_url("run", run.pk))
        return self.ready_page(request)  # with its ticks: the next press must not pay who was left out

    def opening_page(self, request: HttpRequest) -> HttpResponse:
        """Ask whether all that was paid so far was paid out elsewhere; then record it."""
        if request.method == "POST":
            with refusals_shown(request):
                run = record_paid_before(staff_of(request))
                messages.success(request, f"{format_amount(run.total)} are recorded as paid before.")
            return redirect(self.page_url("ready"))
        count, total = sum_ready() if self.offers_opening(request) else (0, ZERO)
        return self.render_page(
            request,
            "payments/opening.html",
            "Everything paid before was paid out",
            total=total,
            count=count,
            ready_url=self.page_url("ready"),
        )

    # --- one run

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: object = None
    ) -> HttpResponseBase:
        return self.open_page(self.record_pages[0], request, object_id)

    def record_links(self, request: HttpRequest, record: PaymentRun) -> list[RecordLink]:
        return []

    def run_page(self, request: HttpRequest, record: PaymentRun) -> HttpResponse:
        claims = Prefetch("claims", PaymentRunClaim.objects.select_related("claim"))
        items = record.items.select_related("client", "contact").prefetch_related(claims)
        page = Paginator(items.order_by("position"), LISTED_PAYEES).get_page(request.GET.get("page"))
        shown = list(page)
        is_draft, is_released = record.status == RunStatus.DRAFT, record.status == RunStatus.RELEASED
        is_withdrawn = record.status == RunStatus.WITHDRAWN
        may_change = self.has_change_run_permission(request)
        paid_on = business_day_from(record.day)
        unsent = [each.payee for each in items_without_advice(record.pk)] if is_released else []
        return self.render_page(
            request,
            "payments/run.html",
            str(record),
            record,
            run=record,
            paid_on=paid_on if paid_on != record.day and (is_draft or is_released) else None,
            items=[(each, record_link(each.payee), claim_rows(each)) for each in shown],
            page=page,
            release_problem=release_problem(record, staff_of(request)) if is_draft else None,
            run_problem=run_problem(record) if is_draft else None,
            withdrawn=history_lines(changes_of(record)[:1]) if is_withdrawn else (),  # it changes no more
            is_draft=is_draft,
            is_released=is_released,
            may_withdraw=is_draft and may_change,
            may_change=is_released and may_change,
            files=record.bank_files.defer("content"),
            may_download=self.has_download_permission(request),
            unsent=[each for each in unsent if payee_email(each)],
            without_email=[str(each) for each in unsent if not payee_email(each)],
            history_url=self.page_url("history", record.pk),
            shown_records=shown_items(shown),
        )

    def release_page(self, request: HttpRequest, record: PaymentRun) -> HttpResponse:
        with refusals_shown(request):
            release_run(record.pk, staff_of(request))
            messages.success(request, f"{record} is released: upload its files at your bank.")
        return redirect(self.record_url(record))

    def withdraw_page(self, request: HttpRequest, record: PaymentRun) -> HttpResponse:
        with refusals_shown(request):
            withdraw_run(record.pk)
            messages.success(request, f"{record} is withdrawn: what it held is ready again.")
        return redirect(self.record_url(record))

    def came_back_page(self, request: HttpRequest, record: PaymentRun, item: int) -> HttpResponse:
        found = self.item_of(record, item)
        reason = " ".join(request.POST.get("reason", "").split())
        with refusals_shown(request):
            if not reason:
                raise Refusal("Say why the payment came back.")
            mark_returned(found.pk, reason, staff_of(request))
            messages.success(request, f"The payment to {found.payee} came back: its claims are ready again.")
        page = (found.position - 1) // LISTED_PAYEES + 1
        return redirect(f"{self.record_url(record)}?page={page}" if page > 1 else self.record_url(record))

    def send_advice_page(self, request: HttpRequest, record: PaymentRun) -> HttpResponse:
        with refusals_shown(request):
            count = send_advice(record.pk)
            messages.success(request, f"Remittance advice will be sent to {plural(count, 'payee')}.")
        return redirect(self.record_url(record))

    def advice_page(self, request: HttpRequest, record: PaymentRun, item: int) -> HttpResponse:
        # Imported with the first PDF: reportlab is a twelfth of a worker's start.
        from apps.payments.remittance_pdf import advice_pdf

        found = self.item_of(record, item)
        if record.status != RunStatus.RELEASED:
            raise Http404
        log_shown("Export", shown_items([found]))
        return bytes_response(
            advice_pdf(found), f"remittance-{record.number}-{found.position}.pdf", "application/pdf"
        )

    def item_of(self, run: PaymentRun, key: int) -> PaymentRunItem:
        related = ("run", "client__key_contact", "contact")
        found = PaymentRunItem.objects.filter(run=run, pk=key).select_related(*related).first()
        if found is None:
            raise Http404
        return found

    def bank_file_page(self, request: HttpRequest, record: PaymentRun, position: int) -> HttpResponse:
        file = record.bank_files.filter(position=position).first()
        if file is None:
            raise Http404
        return bank_file_response(file)


def payment_day(text: str) -> Any:
    try:
        return DayField().clean(text)
    except ValidationError:
        raise Refusal("Give the day of payment, such as 31/12/2026.") from None


def value_of(payee: ReadyPayee) -> str:
    """The value of a payee's tick in the form."""
    return f"{payee.payee.kind}:{payee.payee.key}"


def chosen_amount(payee: ReadyPayee, set_off: Collection[str]) -> Decimal:
    """The amount that a run would pay to them; payments_ready.js sums it on the page as well."""
    owed = (each.amount for each in payee.owed if str(each.claim.pk) in set_off)
    return payee.amount + sum(owed, ZERO)


def posted_values(request: HttpRequest, name: str) -> set[str]:
    """The ticks of a form; those of its other pages are in one hidden field."""
    return {value for text in request.POST.getlist(name) for value in text.split()}


def claim_rows(item: PaymentRunItem) -> list[tuple[str, Decimal]]:
    return [(record_link(each.claim), each.amount) for each in item.claims.all()]


def shown_items(items: Sequence[PaymentRunItem]) -> ShownRecords:
    claims = [each.claim_id for item in items for each in item.claims.all()]
    return {**by_model([each.payee for each in items]), Claim: claims}


def by_model(records: Sequence[Client | Contact]) -> dict[Any, list[object]]:
    return {model: [each.pk for each in records if isinstance(each, model)] for model in (Client, Contact)}
