"""The pages of claims and invoices: entering, editing, viewing one, and its transitions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.base import clock
from apps.core.admin_base import DayField, Page, load_panels
from apps.core.admin_base.display import format_amount, link, plain_quantity, record_link, short_day
from apps.core.admin_base.forms import AmountField
from apps.funding.admin import autocomplete
from apps.funding.admin.action_forms import HoldForm, ReasonForm
from apps.funding.admin.actions import ACTION_PAGE, ActionButton, ActionOutcome
from apps.funding.admin.bill_lists import BillListAdmin
from apps.funding.admin.forms import BillForm, LineForm, place_label
from apps.funding.admin.groups import GROUPS
from apps.funding.admin.queues import REFUSED_BY_AGENCY, STATUS
from apps.funding.admin.remittances import answer_rows
from apps.funding.admin.reviews import SHOWN, ActionReview, ConfirmedReview, ReviewedRecord
from apps.funding.models import AcknowledgedWarning, ClaimLine, InvoiceLine
from apps.funding.services.payments import load_lines_with_earlier
from apps.funding.services.shown_warnings import find_acknowledged_warnings, find_shown_warnings
from apps.funding.services.transition_requests import ShownWarnings
from apps.funding.services.transitions import (
    apply_transition,
    explain_obstacle,
    find_transition_refusals,
    list_transitions,
)
from apps.funding.statuses import EDITABLE, STATUSES
from apps.funding.validation.guards import AnyBill, lower_first
from apps.funding.validation.possible_transitions import missing_permission, transitions_from
from apps.funding.validation.transitions import (
    TRANSITIONS,
    PaymentExtent,
    TakenBack,
    Transition,
    TransitionName,
    transition_named,
    transitions_of,
)
from apps.funding.validation.warning_codes import ShownWarning, warning_label
from apps.people.admin.staff import staff_of

#: Sent with the form that asks for an amount: what was paid of the bill when it was shown.
PAID_BEFORE = "paid_before"
#: Where a person's session keeps the price book of the line they entered last.
LAST_BOOK = "funding_price_book"


class PaymentForm(forms.Form):
    """When something was paid."""

    day = DayField(
        label="Paid on",
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "data-day": ""}),
        initial=clock.today,
    )


class PartPaymentForm(PaymentForm):
    """When something was paid, and how much of what is outstanding."""

    amount = AmountField(
        decimal_places=2, required=True, widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
    )
    field_order = ("amount", "day")


class TakeBackForm(ReasonForm):
    """The amounts that the agency took back of a bill, in all or line by line, and why."""

    amount = AmountField(
        label="Amount taken back",
        decimal_places=2,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal", "autofocus": True}),
    )
    field_order = ("amount", "reason")

    def __init__(self, record: AnyBill, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        del self.fields["reason"].widget.attrs["autofocus"]
        paid = format_amount(record.paid_itself)
        self.fields["amount"].help_text = f"At most {paid}, which was paid of it itself. "
        amounts = load_lines_with_earlier(type(record), {record.pk: record}).get(record.pk, [])
        lines = record.line_items.select_related("product").in_bulk()
        self.amounts = [(lines[each.key], each.paid_itself) for each in amounts]
        if len(amounts) == 1:
            return
        self.fields[
            "amount"
        ].help_text += "It is taken from the lines, the last first. Or say it line by line."
        for number, each in enumerate(amounts, start=1):
            if each.paid_itself:
                attributes = {"inputmode": "decimal", "aria-label": f"Taken back of line {number}"}
                self.fields[str(each.key)] = AmountField(
                    decimal_places=2,
                    widget=forms.TextInput(attrs={"class": "fu-cell", **attributes}),
                )

    @property
    def questions(self) -> list[forms.BoundField]:
        """The fields outside of the table of lines."""
        return [self[name] for name in self.field_order]

    @property
    def lines(self) -> list[tuple[ClaimLine | InvoiceLine, Decimal, forms.BoundField | None]]:
        """Each line, what was paid of it, and the field of what is taken back; no field where nothing is."""
        return [
            (line, paid, self[str(line.pk)] if str(line.pk) in self.fields else None)
            for line, paid in self.amounts
        ]

    def clean(self) -> None:
        """As ``amount``, one amount or those of the lines."""
        answers = self.cleaned_data
        by_line = {line.pk: amount for line, _ in self.amounts if (amount := answers.get(str(line.pk)))}
        if not self.errors and bool(by_line) == (answers["amount"] is not None):
            self.add_error("amount", "Give one amount, or how much of each line.")
        elif by_line:
            answers["amount"] = by_line


class BillAdmin(BillListAdmin):
    """The pages of claims and invoices, as far as they are the same."""

    form = BillForm
    line_model: ClassVar[type[ClaimLine | InvoiceLine]]
    line_form: ClassVar[type[LineForm]]
    change_form_template = "funding/bill_form.html"
    #: Requested by the grid of lines while somebody types.
    list_pages: ClassVar[Any] = (GROUPS, Page("products", method="GET"), Page("prices", method="GET"))
    grid_pages: ClassVar[Sequence[str]] = ("products", "prices")
    products_page = staticmethod(autocomplete.products_page)
    #: Without the page of archiving, which is a transition: a claim returns its provider invoice.
    record_pages: ClassVar[Any] = (ACTION_PAGE,)
    status_labels: ClassVar[Mapping[str, str]] = {name: row.label for name, row in STATUSES.items()}
    #: Rows of one name have one label in a history: the first.
    action_labels: ClassVar[Mapping[str, str]] = {row.name.value: row.label for row in reversed(TRANSITIONS)}

    # --- hooks of claims and invoices

    def describe(self, request: HttpRequest, record: AnyBill) -> str:
        return f"{super().describe(request, record)}, {lower_first(record.get_funding_status_display())}"

    def summary(self, record: Any) -> list[tuple[str, object]]:
        """The labels and values above the lines of a bill that is only viewed."""
        return [
            ("Assigned to", str(record.staff)),
            ("Entered by", str(record.entered_by or "–")),
            ("Number in accounting", record.external_invoice_number or "–"),
            ("Approved", short_day(record.approved_date)),
            ("Paid", format_amount(record.amount_paid)),
            ("Paid on", short_day(record.payment_date)),
        ]

    def provider_invoice_context(
        self, request: HttpRequest, record: Model, form: object
    ) -> dict[str, object]:
        """The provider invoice shown beside a claim, and its document."""
        return {}

    def cost_centre_names(self) -> Sequence[str]:
        return ()

    def response_next(self, request: HttpRequest, record: Model) -> HttpResponse:
        """The page after "Save and enter the next"."""
        return redirect(self.page_url("add"))

    # --- entering and editing

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *args: object, **options: object
    ) -> HttpResponse:
        """The form of a bill with its lines, or the page of one that cannot be edited.

        What somebody sends is always read by the form: typed before the bill was approved, it is shown again.
        """
        record = self.get_object(request, object_id) if object_id and request.method != "POST" else None
        if record is not None and self.has_view_permission(request, record):
            is_editable = record.is_editable and self.has_change_permission(request, record)
            if not is_editable:
                return self.bill_page(request, record)
        return super().changeform_view(request, object_id, *args, **options)

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: object
    ) -> Any:
        form = super().get_form(request, obj, change=change, **options)
        form.last_price_book = request.session.get(LAST_BOOK)
        form.explain_closed = staticmethod(partial(self.explain_closed, request))
        return form

    def explain_closed(self, request: HttpRequest, record: AnyBill) -> SafeString:
        """Since when a bill cannot be changed, by whom, and what makes it possible again."""
        page = format_html(
            '<a class="rs-link" href="{}" target="_blank">its page</a>', self.page_url("change", record.pk)
        )
        rows = [
            row
            for row in transitions_from(self.model, record.funding_status, record.is_archived)
            if row.target in EDITABLE or record.funding_status in EDITABLE
        ]
        allowed = [row for row in rows if missing_permission(row, staff_of(request)) is None]
        way = format_html("It cannot be changed any more: see {}.", page)
        if allowed:
            way = format_html("Choose “{}” on {}, then save here.", allowed[0].label, page)
        elif rows:
            way = format_html("“{}” on {} allows it, for those who may.", rows[0].label, page)
        status = self.describe_status(record)
        return format_html("{} is {}. What you entered is still below. {}", record, status, way)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, object]:
        """A new bill is assigned to the signed-in person."""
        return {**super().get_changeform_initial_data(request), "staff": request.user.pk}

    def lines_of(self, record: Any) -> list[Any]:
        references = ["product", "price_book", "booking__engagement", "category_budget__engagement"]
        if self.line_model is InvoiceLine:
            references.append("cost_centre")
        return list(record.line_items.select_related(*references).order_by("position", "pk"))

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        self.store(obj, form.draft(), ignore_warnings=bool(form.to_confirm))
        if not form.keeps_lines:
            last = form.lines.filled_rows()[-1]
            request.session[LAST_BOOK] = str(last.cleaned_data["price_book"].pk)

    def response_add(
        self, request: HttpRequest, obj: Model, post_url_continue: object = None
    ) -> HttpResponse:
        return self.response_saved(request, obj, "created")

    def response_change(self, request: HttpRequest, obj: Model) -> HttpResponse:
        return self.response_saved(request, obj, "changed")

    def response_saved(self, request: HttpRequest, record: Any, done: str) -> HttpResponse:
        noun, url = self.opts.verbose_name.capitalize(), self.page_url("change", record.pk)
        amount = format_amount(record.total)
        text = format_html("{} {} {}: {} for {}.", noun, link(url, record), done, amount, record.contact)
        self.message_user(request, text, messages.SUCCESS)
        button = pressed_button(request)
        if button == "_next":
            return self.response_next(request, record)
        return redirect(self.page_url("add") if button == "_addanother" else url)

    # --- pages

    def prices_page(self, request: HttpRequest) -> HttpResponse:
        return autocomplete.prices_page(request, self.line_model)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **options: object
    ) -> HttpResponse:
        form, record = context["adminform"].form, context["original"]
        page = {
            "errors": [*context["errors"], *filter(None, form.lines.errors), *form.lines.non_form_errors()],
            "rows": form.lines,
            "limit": form.lines.max_num,
            "warnings": form.warning_rows() if form.is_bound else [],
            "then": pressed_button(request),
            "cost_centres": self.cost_centre_names(),
            "today": clock.today().isoformat(),
            "addresses": {name: self.page_url(name) for name in self.grid_pages},
            **self.provider_invoice_context(request, record, form),
            **(self.status_context(request, record) if record is not None else {}),
        }
        if form.adds_rows:
            page |= {"errors": []}  # nobody asked to save it
        if form.is_closed:
            # Buttons would leave what was entered behind: its page in another tab has them. Its sentence
            # says all; there is nothing to correct.
            page |= {"buttons": [], "errors": []}
        return super().render_change_form(request, {**context, **page}, *args, **options)

    def bill_page(self, request: HttpRequest, record: Any) -> HttpResponse:
        """A bill that cannot be edited any more, or by somebody who may only view it."""
        panels = load_panels(request, record)
        return self.render_page(
            request,
            "funding/bill.html",
            f"{self.opts.verbose_name.capitalize()} {record}",
            record,
            change=True,
            has_view_permission=True,
            has_absolute_url=False,
            record_links=self.record_links(request, record),
            summary=self.summary(record),
            lines=[
                (line, plain_quantity(line.quantity), format_amount(line.price))
                for line in self.lines_of(record)
            ],
            is_invoice=self.line_model is InvoiceLine,
            answers=answer_rows(record),
            panels=panels,
            shown_records={k: v for _, each in panels for k, v in each.get("shown_records", {}).items()},
            **self.provider_invoice_context(request, record, None),
            **self.status_context(request, record),
        )

    # --- transitions

    def list_buttons(self, request: HttpRequest) -> Sequence[ActionButton]:
        """The transitions of the chosen status; those for one bill at a time are on the bill's page."""
        if request.GET.get("archived") == "yes":
            return [transition_button(row) for row in TRANSITIONS if row.name is TransitionName.RESTORE]
        status = request.GET.get(STATUS)
        is_refused = status == REFUSED_BY_AGENCY
        rows = [
            row
            for row in transitions_of(self.model)
            if not (row.single or row.by_service)
            and not row.asks_for_amount
            and row.name is not TransitionName.RESTORE
            and missing_permission(row, staff_of(request)) is None
            and (row.for_all if not status else self.is_way_on(row) if is_refused else status in row.sources)
        ]
        return [transition_button(row) for row in in_order(rows)]

    def is_way_on(self, row: Transition) -> bool:
        """True when bills that the agency refused, wholly or in part, go on by it."""
        ways = (TransitionName.RESUBMIT, TransitionName.RESUBMIT_GAP, TransitionName.WRITE_OFF)
        return row.name in (*ways, TransitionName.ARCHIVE)

    def record_buttons(self, request: HttpRequest, record: AnyBill) -> Sequence[ActionButton]:
        rows = list_transitions(record, staff_of(request))
        is_warned = record.acknowledged_warnings.exists()
        return [
            transition_button(row, asks_first=(is_warned and row.shows_warnings) or is_loss(row, record))
            for row in in_order(rows)
        ]

    def find_refusals(
        self, request: HttpRequest, records: Sequence[AnyBill], name: str
    ) -> Mapping[UUID, str]:
        return find_transition_refusals(self.model, records, name, staff_of(request))

    def find_warned(self, records: Sequence[Model], name: str) -> ShownWarnings:
        is_approval = transition_named(name).shows_warnings
        find = find_shown_warnings if is_approval else find_acknowledged_warnings
        return find(self.model, [record.pk for record in records])

    def asks_again(self, request: HttpRequest, record: Any, name: str) -> bool:
        if not transition_named(name).shows_warnings:
            return False
        shown = shown_warnings(request, name).get(record.pk, ())
        return not set(find_shown_warnings(self.model, [record.pk])[record.pk]) <= set(shown)

    def explain_obstacle(self, request: HttpRequest, record: AnyBill, name: str) -> str | None:
        return explain_obstacle(record, TransitionName(name), staff_of(request))

    def action_amount(self, record: AnyBill, name: str) -> Decimal:
        """The money that an action is about: of a payment, what is outstanding."""
        return record.outstanding if transition_named(name).pays else record.total

    def record_summary(self, record: AnyBill) -> str:
        return f"{super().record_summary(record)}: {record.contact}, {format_amount(record.total)}"

    def question_form(self, name: str, record: Any = None) -> Callable[..., forms.Form]:
        row = transition_named(name)
        if row.takes_back is TakenBack.PART and record is not None:
            return partial(TakeBackForm, record)
        if row.pays is not None:
            return PartPaymentForm if row.pays is PaymentExtent.PART else PaymentForm
        if row.name is TransitionName.HOLD:
            return HoldForm
        return ReasonForm if row.needs_reason else forms.Form

    def question_context(self, request: HttpRequest, record: Any, name: str) -> dict[str, object]:
        row = transition_named(name)
        if is_loss(row, record):
            paid = format_amount(record.paid_itself)
            return {"effect": f"{paid}, which was paid of it, is taken back: nothing of it is paid any more."}
        if row.moves_money:
            return {"hidden": [(PAID_BEFORE, f"{record.amount_paid:.2f}")]}
        if not row.shows_warnings:
            return {}
        shown = find_shown_warnings(self.model, [record.pk])[record.pk]
        review = ActionReview(warned=[ReviewedRecord(record, "", record.total, shown)])
        return {
            "hidden": [(SHOWN, review.sign(request, name))],
            "since": [warning_row(each) for each in shown if each.is_new],
            "acknowledged": acknowledged_rows(record),
        }

    def run_action(
        self, request: HttpRequest, keys: Sequence[UUID], name: str, answers: dict[str, Any]
    ) -> ActionOutcome:
        amounts = dict.fromkeys(keys, answers["amount"]) if "amount" in answers else None
        before = request.POST.get(PAID_BEFORE, "")
        shown = (
            dict.fromkeys(keys, Decimal(before)) if re.fullmatch(r"[0-9]{1,12}\.[0-9]{2}", before) else None
        )
        warnings = shown_warnings(request, name) if transition_named(name).shows_warnings else None
        answered = (answers.get("reason"), amounts, answers.get("day"), shown, warnings)
        result = apply_transition(self.model, keys, name, staff_of(request), *answered)
        note = describe_warnings([(warnings or {}).get(key, ()) for key in result.done])
        return ActionOutcome(len(result.done), result.refused, result.resubmissions, note)

    def status_context(self, request: HttpRequest, record: Any) -> dict[str, object]:
        """The status of a bill, why it cannot be approved, and the warnings that were confirmed."""
        may_change = self.has_change_permission(request, record)
        return {
            **super().status_context(request, record),
            "status_colour": record.status.colour,
            "not_approved": self.explain_obstacle(request, record, TransitionName.APPROVE)
            if may_change
            else None,
            "acknowledged": acknowledged_rows(record),
            "links": [*resubmission_links(record), *claim_file_links(record)],
        }


def shown_warnings(request: HttpRequest, name: str) -> ShownWarnings:
    """The warnings on the page that was confirmed, by the keys of bills; nothing where no page came first."""
    confirmed = ConfirmedReview.read(request, name)
    return {} if confirmed is None else confirmed.warnings


def describe_warnings(shown: Iterable[Sequence[ShownWarning]]) -> str:
    """How many bills have warnings of those that were shown, and which, the most common first."""
    kinds = [{warning_label(each.code) for each in warnings} for warnings in shown if warnings]
    if not kinds:
        return ""
    labels = Counter(label for found in kinds for label in found).most_common()
    return f"{len(kinds):,} with warnings: {', '.join(f'{label} ({count:,})' for label, count in labels)}."


def acknowledged_rows(record: Any) -> list[dict[str, object]]:
    """The warnings that a bill was saved with, as its page shows them."""
    return [
        {**warning_row(each), "who": each.staff or each.application or "System", "at": each.at}
        for each in record.acknowledged_warnings.select_related("staff")
    ]


def warning_row(warning: AcknowledgedWarning | ShownWarning) -> dict[str, object]:
    return {
        "label": warning_label(warning.code),
        "place": place_label(warning.place),
        "message": warning.message,
    }


def resubmission_links(record: AnyBill) -> list[tuple[str, str]]:
    """The bill that a bill resubmits, and the one it was resubmitted as."""
    found = [("Resubmits", record.resubmission_of)] if record.resubmission_of_id else []
    found += [("Resubmitted as", each) for each in record.resubmissions.filter(archive_date=None)]
    return [(label, record_link(each)) for label, each in found]


def claim_file_links(record: AnyBill) -> list[tuple[str, str]]:
    """The claim file that a bill stands in."""
    lines = record.file_lines.filter(is_withdrawn=False).select_related("claim_file")
    file = next((line.claim_file for line in lines.defer("claim_file__content")[:1]), None)
    return (
        []
        if file is None
        else [(f"Claim file ({lower_first(file.get_status_display())}):", record_link(file))]
    )


def pressed_button(request: HttpRequest) -> str:
    """The button that was pressed, or before the warnings that are confirmed now."""
    then: str = request.POST.get("then", "")
    return then or next((name for name in ("_next", "_addanother") if name in request.POST), "")


def is_loss(row: Transition, record: AnyBill) -> bool:
    """The transition takes back all that was paid of a bill, of which something was."""
    return row.takes_back is TakenBack.ALL and record.paid_itself != 0


def transition_button(row: Transition, asks_first: bool = False) -> ActionButton:
    asks_first = asks_first or row.needs_reason or row.pays is not None
    return ActionButton(row.name.value, row.label, asks_first, is_final=not row.is_taken_back)


def in_order(rows: Iterable[Transition]) -> list[Transition]:
    """The usual next transitions first, and what ends a bill last."""
    return sorted(rows, key=lambda row: row.button.value)
