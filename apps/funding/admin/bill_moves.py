"""Moving claims and invoices from the back office, one or many, as the table of their life allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.funding.admin.acting import ActsOnMany, Offered, Outcome, ReasonForm
from apps.funding.admin.bill_lists import COLOURS, STATUS, BillList, statuses_of
from apps.funding.admin.prices import money
from apps.funding.services.transitions import apply_transition, explain_missing_approval, list_transitions
from apps.funding.statuses import TRANSITIONS, PaymentExtent, Transition, TransitionName
from apps.funding.validation.transitions import transitions_of
from apps.odata import clock
from apps.people.models import Staff

#: What is mostly done next stands first, and what ends a bill last.
FIRST = (
    TransitionName.APPROVE,
    TransitionName.CLAIM,
    TransitionName.SUBMIT,
    TransitionName.SEND,
    TransitionName.PAY,
    TransitionName.ACCEPT,
    TransitionName.RELEASE,
)
LAST = (TransitionName.ARCHIVE, TransitionName.RESTORE)
#: What a list that shows all statuses offers; each status has its own.
OF_ALL = (TransitionName.APPROVE, TransitionName.HOLD, TransitionName.RELEASE, TransitionName.ARCHIVE)


class PaymentForm(forms.Form):
    """When something was paid."""

    day = forms.DateField(
        label="Paid on",
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "data-day": ""}),
        initial=clock.today,
    )


class PartPaymentForm(PaymentForm):
    """When something was paid, and how much of what is open."""

    amount = forms.DecimalField(
        max_digits=14, decimal_places=2, widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
    )
    field_order = ("amount", "day")


class MovingBills(ActsOnMany, BillList):
    """Lists and pages from which bills are moved."""

    may_be_archived: ClassVar[bool] = False  # by the verbs only: a claim gives its provider invoice back

    def offered_for_many(self, request: HttpRequest) -> Sequence[Offered]:
        """What the rows of the tab that is open can do; one at a time is for the record's own page."""
        if request.GET.get("archived") == "yes":
            return [offered(row) for row in TRANSITIONS if row.name is TransitionName.RESTORE]
        status = request.GET.get(STATUS)
        rows = [row for row in transitions_of(self.model) if goes_in_numbers(row)]
        if status:
            rows = [row for row in rows if status in row.sources]
        else:
            rows = [row for row in rows if row.name in OF_ALL]
        return [offered(row) for row in in_order(rows) if row.name is not TransitionName.RESTORE]

    def offered_for_one(self, request: HttpRequest, record: Any) -> Sequence[Offered]:
        return [offered(row) for row in in_order(list_transitions(record, staff_of(request)))]

    def told_of(self, record: Any) -> str:
        return f"{super().told_of(record)}: {record.contact}, {money(record.total)}"

    def form_for(self, name: str, record: Any = None) -> type[forms.Form]:
        row = next(row for row in TRANSITIONS if row.name == name)
        if row.pays is PaymentExtent.PART:
            return PartPaymentForm
        return PaymentForm if row.pays is PaymentExtent.FULL else ReasonForm

    def do(self, request: HttpRequest, keys: Sequence[Any], name: str, told: dict[str, Any]) -> Outcome:
        amounts = dict.fromkeys(keys, told["amount"]) if "amount" in told else None
        result = apply_transition(
            self.model, keys, name, staff_of(request), told.get("reason"), amounts, told.get("day")
        )
        refused = [(each.key, each.label, each.message) for each in result.refused]
        return Outcome(len(result.done), refused, result.resubmissions)

    def moves_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What may be done with a bill, what speaks against approving it, and what was done."""
        statuses = statuses_of(self.model)
        return {
            "status_colour": COLOURS.get(record.funding_status, ""),
            "verbs": self.verbs_context(request, record),
            "not_approved": self.why_not_approved(request, record),
            "moves": [move_told(move, statuses) for move in record.moves.select_related("staff")],
        }

    def why_not_approved(self, request: HttpRequest, record: Any) -> str | None:
        """Why the button that is looked for first is not there."""
        if not self.has_change_permission(request, record):
            return None
        return explain_missing_approval(record, staff_of(request))


def goes_in_numbers(row: Transition) -> bool:
    return not row.single and row.pays is not PaymentExtent.PART


def offered(row: Transition) -> Offered:
    return Offered(row.name.value, row.label, row.needs_reason or row.pays is not None)


def in_order(rows: Sequence[Transition]) -> list[Transition]:
    def place(row: Transition) -> int:
        return FIRST.index(row.name) if row.name in FIRST else len(FIRST) + (row.name in LAST)

    return sorted(rows, key=place)


def staff_of(request: HttpRequest) -> Staff:
    """Whoever is signed in; every page here is only for those who are."""
    assert isinstance(request.user, Staff)
    return request.user


LABELS = {row.name.value: row.label for row in reversed(TRANSITIONS)}


def move_told(move: Any, statuses: Any) -> dict[str, Any]:
    """A move as pages list it."""
    labels = dict(statuses.choices)
    return {
        "label": LABELS.get(move.verb, move.verb),
        "from": labels.get(move.from_status, move.from_status),
        "to": labels.get(move.to_status, move.to_status),
        "reason": move.reason,
        "who": move.staff or move.application or "A command",
        "at": move.at,
    }
