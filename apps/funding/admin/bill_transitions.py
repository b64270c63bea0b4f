"""Transitions of claims and invoices in the back office, of one or many, as their table allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextInputWidget

from apps.funding.admin.actions import ActionButton, ActionOutcome, ReasonForm
from apps.funding.admin.bill_lists import BillListAdmin
from apps.funding.admin.display import format_amount
from apps.funding.admin.queues import STATUS
from apps.funding.services.transitions import apply_transition, explain_missing_approval, list_transitions
from apps.funding.statuses import STATUSES, TRANSITIONS, PaymentExtent, Transition, TransitionName
from apps.funding.validation.transitions import transitions_of
from apps.odata import clock
from apps.people.models import Staff

#: The usual next transitions come first, and what ends a bill last.
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
#: What a list of all statuses offers; the list of one status offers that one's.
FOR_ALL_STATUSES = (
    TransitionName.APPROVE,
    TransitionName.HOLD,
    TransitionName.RELEASE,
    TransitionName.ARCHIVE,
)


class PaymentForm(forms.Form):
    """When something was paid."""

    day = forms.DateField(
        label="Paid on",
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "data-day": ""}),
        initial=clock.today,
    )


class PartPaymentForm(PaymentForm):
    """When something was paid, and how much of what is outstanding."""

    amount = forms.DecimalField(
        max_digits=14, decimal_places=2, widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"})
    )
    field_order = ("amount", "day")


class TransitionAdmin(BillListAdmin):
    """Lists and pages with buttons for transitions."""

    #: Archiving is a transition: a claim returns its provider invoice.
    may_be_archived: ClassVar[bool] = False

    def list_buttons(self, request: HttpRequest) -> Sequence[ActionButton]:
        """The transitions of the chosen status; those for one bill at a time are on the bill's page."""
        if request.GET.get("archived") == "yes":
            return [transition_button(row) for row in TRANSITIONS if row.name is TransitionName.RESTORE]
        status = request.GET.get(STATUS)
        rows = [
            row
            for row in transitions_of(self.model)
            if not row.single
            and row.pays is not PaymentExtent.PART
            and row.name is not TransitionName.RESTORE
        ]
        rows = [row for row in rows if (status in row.sources if status else row.name in FOR_ALL_STATUSES)]
        return [transition_button(row) for row in sorted(rows, key=transition_position)]

    def record_buttons(self, request: HttpRequest, record: Any) -> Sequence[ActionButton]:
        rows = list_transitions(record, staff_of(request))
        return [transition_button(row) for row in sorted(rows, key=transition_position)]

    def record_summary(self, record: Any) -> str:
        return f"{super().record_summary(record)}: {record.contact}, {format_amount(record.total)}"

    def question_form(self, name: str, record: Any = None) -> type[forms.Form]:
        extent = next(row.pays for row in TRANSITIONS if row.name == name)
        if extent is PaymentExtent.PART:
            return PartPaymentForm
        return PaymentForm if extent is PaymentExtent.FULL else ReasonForm

    def run_action(
        self, request: HttpRequest, keys: Sequence[Any], name: str, answers: dict[str, Any]
    ) -> ActionOutcome:
        amounts = dict.fromkeys(keys, answers["amount"]) if "amount" in answers else None
        result = apply_transition(
            self.model, keys, name, staff_of(request), answers.get("reason"), amounts, answers.get("day")
        )
        refused = [(each.key, each.label, each.message) for each in result.refused]
        return ActionOutcome(len(result.done), refused, result.resubmissions)

    def status_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """The status of a bill, its transitions, why it cannot be approved, and its status history."""
        may_change = self.has_change_permission(request, record)
        labels = {name: row.label for name, row in STATUSES.items()}
        moves = record.moves.select_related("staff")
        return {
            "status_colour": record.status.colour,
            "buttons": self.buttons_context(request, record),
            "not_approved": explain_missing_approval(record, staff_of(request)) if may_change else None,
            "moves": [move_row(move, labels, TRANSITION_LABELS) for move in moves],
        }


def transition_button(row: Transition) -> ActionButton:
    return ActionButton(row.name.value, row.label, row.needs_reason or row.pays is not None)


def transition_position(row: Transition) -> int:
    return FIRST.index(row.name) if row.name in FIRST else len(FIRST) + (row.name in LAST)


def staff_of(request: HttpRequest) -> Staff:
    """The signed-in person; every page here is only for those who are."""
    assert isinstance(request.user, Staff)
    return request.user


#: Rows of one name have one label in a history: the first.
TRANSITION_LABELS = {row.name.value: row.label for row in reversed(TRANSITIONS)}


def move_row(move: Any, statuses: Mapping[str, str], transitions: Mapping[str, str]) -> dict[str, Any]:
    """An entry of the status history."""
    return {
        "label": transitions.get(move.verb, move.verb),
        "from": statuses.get(move.from_status, move.from_status),
        "to": statuses.get(move.to_status, move.to_status),
        "reason": move.reason,
        "who": move.staff or move.application or "System",
        "at": move.at,
    }
