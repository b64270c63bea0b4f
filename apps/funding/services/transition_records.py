"""The records that a transition locks, and the context of its guards."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q

from apps.core.models import Subscriber
from apps.funding.models import Claim, ProviderInvoice, StatusMove
from apps.funding.services.payments import LineAmounts, Payment, load_lines
from apps.funding.statuses import TRANSITIONS, Transition, TransitionName
from apps.funding.validation.transitions import AnyBill, TransitionContext
from apps.odata.any_of import AnyOf
from apps.people.models import Staff

#: After these a provider invoice has another claim, or one less: they wait for whoever acts on it.
CHANGES_PROVIDER_INVOICE = frozenset(
    {
        TransitionName.APPROVE,
        TransitionName.REJECT,
        TransitionName.CONFIRM_CANCELLATION,
        TransitionName.RESUBMIT,
        TransitionName.RESUBMIT_GAP,
        TransitionName.ARCHIVE,
        TransitionName.RESTORE,
    }
)
#: These change the bill that was resubmitted as well: its gap is its own again, or not any more.
CHANGES_ORIGINAL = frozenset({TransitionName.ARCHIVE, TransitionName.RESTORE})


@dataclass(frozen=True, slots=True)
class TransitionRequest:
    """A transition for several bills; without ``staff`` the system acts.

    ``amounts``: what was paid now, by the keys of the bills. ``day``: of the payment, today when ``None``.
    """

    model: type[AnyBill]
    name: TransitionName
    staff: Staff | None
    reason: str | None
    amounts: Mapping[UUID, Payment]
    day: dt.date | dt.datetime | None

    @property
    def transition(self) -> Transition:
        """One of the rows of this name: they share everything but where they lead."""
        return next(row for row in TRANSITIONS if row.name is self.name)


@dataclass(frozen=True, slots=True)
class LockedRecords:
    """The bills by key (originals of archived and restored ones included), their lines, provider invoices."""

    bills: Mapping[UUID, Any]
    lines: Mapping[UUID, Sequence[LineAmounts]]
    provider_invoices: Mapping[UUID, ProviderInvoice]


def any_of(model: type[Any], name: str, keys: Iterable[UUID]) -> AnyOf:
    return AnyOf(model._meta.get_field(name), keys)


def lock_records(request: TransitionRequest, keys: Sequence[UUID]) -> LockedRecords:
    provider_invoices = lock_provider_invoices(request, keys)
    bills = lock_bills(request, keys)
    return LockedRecords(bills, load_lines(request.model, bills), provider_invoices)


def lock_provider_invoices(request: TransitionRequest, keys: Sequence[UUID]) -> dict[UUID, ProviderInvoice]:
    """The provider invoices of claims, where the transition changes them."""
    if request.model is not Claim or request.name not in CHANGES_PROVIDER_INVOICE:
        return {}
    claims = Claim.objects.filter(any_of(Claim, "guid", keys)).order_by()
    records = ProviderInvoice.objects.filter(pk__in=claims.values("provider_invoice")).order_by("pk")
    return {record.pk: record for record in records.select_for_update(of=("self",))}


def lock_bills(request: TransitionRequest, keys: Sequence[UUID]) -> dict[UUID, Any]:
    model = request.model
    wanted = Q(any_of(model, "guid", keys))
    if request.name in CHANGES_ORIGINAL:
        resubmissions = model._default_manager.filter(wanted, resubmission_of__isnull=False).order_by()
        wanted |= Q(pk__in=resubmissions.values("resubmission_of"))
    rows = model._default_manager.filter(wanted).order_by("pk").select_for_update(of=("self",))
    return {bill.pk: bill for bill in rows}


def load_context(
    model: type[AnyBill], bills: Sequence[Any], staff: Staff | None, locked: LockedRecords | None = None
) -> TransitionContext:
    """What the guards of these bills need; locked records are not read again."""
    known = locked or LockedRecords({}, {}, {})
    original_keys = {bill.resubmission_of_id for bill in bills} - {None}
    originals = {key: known.bills[key] for key in original_keys & known.bills.keys()}
    if missing := original_keys - originals.keys():
        originals |= model._default_manager.in_bulk(missing)
    children = model._default_manager.filter(
        any_of(model, "resubmission_of", {bill.pk for bill in bills} | original_keys), archive_date=None
    ).order_by()
    number = f"{model._meta.model_name}_number"
    resubmissions: dict[UUID, str] = dict(children.values_list("resubmission_of", number))
    if model is not Claim:
        return TransitionContext(
            staff, Subscriber.current(), resubmissions=resubmissions, originals=originals
        )
    keys = {bill.provider_invoice_id for bill in bills}
    provider_invoices = known.provider_invoices
    if keys - provider_invoices.keys():
        provider_invoices = ProviderInvoice.objects.filter(any_of(ProviderInvoice, "guid", keys)).in_bulk()
    claims = Claim.objects.filter(any_of(Claim, "provider_invoice", keys), takes_provider_invoice=True)
    holders = {
        provider_invoice: (key, number)
        for provider_invoice, key, number in claims.order_by().values_list(
            "provider_invoice", "pk", "claim_number"
        )
    }
    return TransitionContext(
        staff, Subscriber.current(), provider_invoices, holders, resubmissions, originals
    )


def load_previous_statuses(model: type[AnyBill], keys: Iterable[UUID]) -> dict[UUID, str]:
    """The statuses of bills before their cancellation was requested, from their status history."""
    name = str(model._meta.model_name)
    moves = StatusMove.objects.filter(any_of(StatusMove, name, keys), verb=TransitionName.ASK_TO_CANCEL)
    return dict(moves.order_by("id").values_list(f"{name}_id", "from_status"))
