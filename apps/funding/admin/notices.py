"""Notices of claims and provider invoices that can be claimed for a few days more."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.core.admin_base.display import list_url
from apps.core.models import Notice
from apps.core.notices import DUE_NOTICES, SINGLE_NOTICES, due_notice, seen_by
from apps.funding.admin.queues import (
    FIRST_SUPPORT,
    LAPSE_DAYS,
    LAPSING,
    WINDOW,
    claim_support_between,
    invoice_support_between,
)
from apps.funding.models import Claim, ClaimWindow, ClaimWindows, ProviderInvoice
from apps.funding.models.claim_windows import Window


@dataclass(frozen=True, slots=True)
class Lapse:
    """A record that can be claimed up to a day, the window that ends it, and the person it is assigned to."""

    record: Claim | ProviderInvoice
    last_day: dt.date
    window: Window
    staff: UUID

    @property
    def key(self) -> str:
        """The key of a notice: one for a record and a window."""
        return f"window {self.window.key} {self.record.pk}"

    @property
    def group(self) -> str:
        """The key of the notice of many together."""
        kind = self.record._meta.model_name
        return f"window {self.window.key} {kind} {self.staff} {self.last_day}"


def lapsing_claims(today: dt.date) -> Iterator[Notice]:
    """Each claim that is not claimed from the agency once a window, for whom it is assigned to."""
    windows = ClaimWindow.current()
    claims = Claim.objects.filter(claim_support_between(windows, today, today + LAPSE_DAYS))
    claims = claims.annotate(support=FIRST_SUPPORT).only("claim_number", "staff_id")
    found = claims.order_by("support", "pk")
    yield from notices_of([lapse_of(windows, claim, claim.support, claim.staff_id, today) for claim in found])


def lapsing_provider_invoices(today: dt.date) -> Iterator[Notice]:
    """Each provider invoice without a claim once a window, for whoever entered it or the account manager."""
    windows = ClaimWindow.current()
    waiting = ProviderInvoice.objects.filter(invoice_support_between(windows, today, today + LAPSE_DAYS))
    related = ("contact__account_manager", "created_by", "provider")
    found = waiting.select_related(*related).order_by("service_start_date", "pk")
    lapses = []
    for invoice in found:
        people = (invoice.created_by, invoice.contact and invoice.contact.account_manager)
        staff = next((person.pk for person in people if person is not None and person.is_active), None)
        if staff is not None:
            lapses.append(lapse_of(windows, invoice, invoice.service_start_date, staff, today))
    yield from notices_of(lapses)


def lapse_of(
    windows: ClaimWindows, record: Claim | ProviderInvoice, support: Any, staff: UUID, today: dt.date
) -> Lapse:
    """The lapse of a record by the day of its first support, and the window of the day after its last."""
    last_day = windows.last_claim_day(support, today)
    assert last_day is not None
    window = windows.on(support, last_day + dt.timedelta(days=1))
    assert window is not None
    return Lapse(record, last_day, window, staff)


def notices_of(lapses: Iterable[Lapse]) -> Iterator[Notice]:
    """One notice for a record; one together for many of a person that end on the same day.

    On the day on which a shorter window is entered there may be hundreds.
    """
    groups: defaultdict[str, list[Lapse]] = defaultdict(list)
    for lapse in lapses:
        groups[lapse.group].append(lapse)
    keys = {*groups, *(lapse.key for group in groups.values() for lapse in group)}
    known = set(Notice.objects.filter(key__in=keys).values_list("key", flat=True))
    for key, group in groups.items():
        new = [lapse for lapse in group if lapse.key not in known]
        if key in known or not new:
            continue
        if len(new) > SINGLE_NOTICES:
            seen = seen_by(new[0].staff, type(new[0].record), [lapse.record.pk for lapse in new])
            new = [lapse for lapse in new if lapse.record.pk in seen]
        until = f"can be claimed until {group[0].last_day:%d/%m/%Y} and no later"
        basis = group[0].window.length
        if not group[0].window.is_confirmed:
            basis += ", reported and not confirmed"
        if len(new) <= SINGLE_NOTICES:
            for lapse in new:
                name = str(lapse.record._meta.verbose_name).capitalize()
                text = f"{name} {lapse.record} {until} ({basis})"
                yield due_notice(lapse.staff, text, lapse.record, lapse.key)
            continue
        names, filters = group[0].record._meta.verbose_name_plural, {WINDOW: LAPSING}
        if isinstance(group[0].record, Claim):
            filters["staff__guid__exact"] = str(group[0].staff)
        yield Notice(
            staff_id=group[0].staff,
            kind=Notice.Kind.DUE,
            text=f"{len(new):,} {names} {until} ({basis})",
            url=list_url(type(group[0].record), **filters),
            key=key,
        )


DUE_NOTICES.extend((lapsing_claims, lapsing_provider_invoices))
