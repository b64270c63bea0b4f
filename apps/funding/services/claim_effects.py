"""What claims change on their provider invoices: locks, ``is_claimed``, ``claim_on_hold``, missing values."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, Exists, ExpressionWrapper, F, OuterRef, Q

from apps.core import history, saving
from apps.funding.models import Claim, ProviderInvoice
from apps.funding.statuses import ENDED
from apps.funding.validation.provider_invoices import ON_HOLD
from apps.odata import clock
from apps.odata.batched_queries import AnyOf
from apps.odata.write.drafts import Draft

KEY: Any = ProviderInvoice._meta.pk


def lock_provider_invoices(claims: Iterable[Any]) -> dict[UUID, ProviderInvoice]:
    """Lock the provider invoices of claims, by key: transitions and updates of these claims wait here."""
    existing = Claim.objects.filter(AnyOf(Claim._meta.get_field("guid"), claims)).order_by()
    invoices = ProviderInvoice.objects.filter(pk__in=existing.values("provider_invoice")).order_by("pk")
    return {invoice.pk: invoice for invoice in invoices.select_for_update(of=("self",))}


# --- flags ----------------------------------------------------------------------------------------------

#: Claims that are to bring money in, or did.
CURRENT_CLAIMS = Q(archive_date=None) & ~Q(funding_status__in=ENDED)


def boolean(condition: Q) -> ExpressionWrapper:
    return ExpressionWrapper(condition, output_field=BooleanField())


CLAIMS_ON_INVOICE = Claim.objects.filter(provider_invoice=OuterRef("pk")).order_by()

#: By a claim that took the provider invoice; the database has an index of these claims alone.
IS_TAKEN = Q(Exists(CLAIMS_ON_INVOICE.filter(takes_provider_invoice=True)))

#: What ``claim_on_hold`` and ``is_claimed`` must say.
CORRECT_FLAGS = {
    "correct_on_hold": boolean(
        Q(approval_status__in=ON_HOLD) & Q(Exists(CLAIMS_ON_INVOICE.filter(CURRENT_CLAIMS)))
    ),
    "correct_claimed": boolean(
        Q(is_reusable=False) & IS_TAKEN
        | Q(is_reusable=True) & Q(Exists(CLAIMS_ON_INVOICE.filter(archive_date=None)))
    ),
}
FLAG_COLUMNS = ("pk", "claim_on_hold", "correct_on_hold", "is_claimed", "correct_claimed")


def update_claim_flags(keys: Iterable[Any]) -> int:
    """Correct ``claim_on_hold`` and ``is_claimed`` of these provider invoices; how many were wrong.

    To be called whenever claims on them are created, moved, archived, restored or ended, and when one becomes
    reusable. The caller holds their locks: what is read here is not read again.
    """
    records = ProviderInvoice.objects.filter(AnyOf(KEY, set(keys)))
    rows = records.select_for_update(of=("self",)).order_by("pk").annotate(**CORRECT_FLAGS)
    on_hold: dict[bool, list[UUID]] = {True: [], False: []}
    claimed: list[UUID] = []
    for key, claim_on_hold, correct_on_hold, is_claimed, correct_claimed in rows.values_list(*FLAG_COLUMNS):
        if claim_on_hold != correct_on_hold:
            on_hold[correct_on_hold].append(key)
        if is_claimed != correct_claimed:
            claimed.append(key)
    for value, wrong in on_hold.items():
        if wrong:
            invoices = ProviderInvoice.objects.filter(AnyOf(KEY, wrong))
            invoices.update(claim_on_hold=value, modify_date=clock.now())
            history.write_entries(ProviderInvoice, wrong, "Changed", {"claim_on_hold": [not value, value]})
    if claimed:
        ProviderInvoice.objects.filter(AnyOf(KEY, claimed)).update(is_claimed=~F("is_claimed"))
    return len({*on_hold[True], *on_hold[False], *claimed})


def recount_claim_flags() -> int:
    """Correct the flags of all provider invoices; how many were wrong. Needs a transaction.

    Wrong ones are locked before they are read again: somebody may be building a claim on one.
    """
    is_wrong = ~Q(claim_on_hold=F("correct_on_hold")) | ~Q(is_claimed=F("correct_claimed"))
    wrong = ProviderInvoice.objects.annotate(**CORRECT_FLAGS).order_by().filter(is_wrong)
    keys = list(wrong.values_list("pk", flat=True))
    locked = ProviderInvoice.objects.filter(AnyOf(KEY, keys)).order_by("pk").select_for_update()
    return update_claim_flags(list(locked.values_list("pk", flat=True))) if keys else 0


def apply_claim_effects(claims: Sequence[Draft]) -> None:
    """Change the provider invoices of claims that were created or updated.

    Those of single use get what they lack and their claims have. The flags are corrected where a provider
    invoice is on hold, and of those that updated claims left or came to.
    """
    incomplete: list[ProviderInvoice] = []
    affected: set[UUID] = set()
    for claim in claims:
        invoice: ProviderInvoice = claim.provider_invoice
        previous = invoice.pk if claim.key is None else claim.previous_provider_invoice_id
        if previous != invoice.pk:
            affected |= {previous, invoice.pk}
        elif invoice.approval_status in ON_HOLD:
            affected.add(invoice.pk)
        if invoice.is_reusable or None not in (invoice.reference, invoice.contact_id, invoice.provider_id):
            continue
        incomplete.append(invoice)
        if invoice.contact_id is None:
            invoice.contact = claim.contact
        if invoice.provider_id is None:
            invoice.provider = claim.provider
        # References are unique per provider: another provider's reference is not written here.
        if invoice.reference is None and invoice.provider_id == claim.provider.pk:
            invoice.reference = claim.provider_invoice_reference
    if incomplete:
        saving.save_records(ProviderInvoice, incomplete)
    if affected:
        update_claim_flags(affected)
