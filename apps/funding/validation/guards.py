"""The conditions of transitions beyond their table, and what they read."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

from apps.base.batched_queries import AnyOf
from apps.core.models import Subscriber
from apps.funding.choices import ApprovalStatus, InvoiceClaimType
from apps.funding.models import Claim, ClaimFile, ClaimFileLine, Invoice, ProviderInvoice
from apps.funding.statuses import STATUSES
from apps.people.models import Staff

AnyBill = Claim | Invoice


class TransitionContext:
    """The records that guards read beside the bills; ``staff``: nobody is the system.

    Loaded when the first guard asks for it: most transitions have no such guard, and thousands of bills may
    take them at once. ``locked_bills`` and ``locked_invoices`` are records that need not be loaded.
    """

    def __init__(
        self,
        model: type[AnyBill],
        bills: Sequence[AnyBill],
        staff: Staff | None = None,
        locked_bills: Mapping[UUID, AnyBill] = MappingProxyType({}),
        locked_invoices: Mapping[UUID, ProviderInvoice] = MappingProxyType({}),
    ) -> None:
        self.model, self.bills, self.staff = model, bills, staff
        self.locked_bills, self.locked_invoices = locked_bills, locked_invoices

    @cached_property
    def originals(self) -> Mapping[UUID, AnyBill]:
        """The bills that were resubmitted, by key."""
        keys = {bill.resubmission_of_id for bill in self.bills if bill.resubmission_of_id is not None}
        found: dict[UUID, AnyBill] = {key: self.locked_bills[key] for key in keys if key in self.locked_bills}
        if missing := keys - found.keys():
            found.update(self.model._default_manager.in_bulk(missing))
        return found

    @cached_property
    def resubmissions(self) -> dict[UUID, str]:
        """The number of the current resubmission of each bill."""
        keys = {bill.pk for bill in self.bills} | self.originals.keys()
        rows = self.model._default_manager.filter(
            AnyOf("resubmission_of", keys), archive_date=None
        ).order_by()
        return dict(rows.values_list("resubmission_of", f"{self.model._meta.model_name}_number"))

    @cached_property
    def provider_invoices(self) -> Mapping[UUID, ProviderInvoice]:
        """The provider invoices that the claims are built on, by key."""
        keys = {bill.provider_invoice_id for bill in self.bills if isinstance(bill, Claim)}
        if keys <= self.locked_invoices.keys():
            return self.locked_invoices
        return ProviderInvoice.objects.filter(AnyOf("pk", keys)).in_bulk()

    @cached_property
    def claim_files(self) -> Mapping[UUID, ClaimFile]:
        """The claim file that each bill stands in, withdrawn ones left out."""
        name = f"{self.model._meta.model_name}_id"
        lines = ClaimFileLine.objects.filter(
            AnyOf(name, [bill.pk for bill in self.bills]), is_withdrawn=False
        ).order_by()
        found = dict(lines.values_list(name, "claim_file"))
        files = ClaimFile.objects.only("file_name", "status").in_bulk(set(found.values()))
        return {key: files[file] for key, file in found.items()}

    @cached_property
    def holders(self) -> dict[UUID, tuple[UUID, str]]:
        """(key, number) of the claim that holds a single-use provider invoice, by the invoice."""
        keys = {bill.provider_invoice_id for bill in self.bills if isinstance(bill, Claim)}
        claims = Claim.objects.filter(AnyOf("provider_invoice", keys), takes_provider_invoice=True).order_by()
        rows = claims.values_list("provider_invoice", "pk", "claim_number")
        return {invoice: (key, number) for invoice, key, number in rows}


#: Why a bill cannot take a transition, as a sentence; ``None`` when it can. The docstring is the condition
#: in docs/life_of_a_claim.md.
Guard = Callable[[Any, TransitionContext], str | None]


def approver_is_not_who_entered_it(bill: AnyBill, context: TransitionContext) -> str | None:
    """with "four eyes", not by who entered it"""
    staff = context.staff
    if staff is None or not Subscriber.current().four_eyes or staff.pk != bill.entered_by_id:
        return None
    return "You entered it yourself: with four eyes, somebody else approves it."


def provider_invoice_is_not_blocked(bill: AnyBill, context: TransitionContext) -> str | None:
    """its provider invoice is neither on hold nor rejected"""
    if not isinstance(bill, Claim):
        return None
    provider_invoice = context.provider_invoices[bill.provider_invoice_id]
    status = ApprovalStatus(provider_invoice.approval_status)
    if status in (ApprovalStatus.ON_HOLD_BY_CLIENT, ApprovalStatus.ON_HOLD_BY_PLAN_MANAGER):
        reference = provider_invoice.reference
        return f"Its provider invoice {reference} is {lower_first(status.label)}: release that first."
    if status is ApprovalStatus.REJECTED:
        return f"Its provider invoice {provider_invoice.reference} was rejected: archive the claim."
    return None


def is_billed_to_the_agency(bill: AnyBill, context: TransitionContext) -> str | None:
    """claims, and invoices to the agency"""
    if isinstance(bill, Claim) or bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_AGENCY:
        return None
    return "It is billed to the client, not to the agency: send it."


def is_billed_to_the_client(bill: Invoice, context: TransitionContext) -> str | None:
    """invoices to the client"""
    if bill.invoice_claim_type == InvoiceClaimType.INVOICE_TO_CLIENT:
        return None
    return "It is billed to the agency, not to the client: claim it from the agency."


def payment_provider_is_used(bill: AnyBill, context: TransitionContext) -> str | None:
    """where the subscriber submits claims to a payment provider"""
    if Subscriber.current().payment_provider_module:
        return None
    return "No payment provider is used here (organisation settings): claim it from the agency."


def has_no_resubmission(bill: AnyBill, context: TransitionContext) -> str | None:
    """not resubmitted already"""
    number = context.resubmissions.get(bill.pk)
    return number and f"It was resubmitted as {number}: go on with that one."


def has_an_unpaid_part(bill: AnyBill, context: TransitionContext) -> str | None:
    """something of it is not paid"""
    return None if bill.total != bill.amount_paid else "Nothing of it is open: all of it was paid."


def is_not_between_resubmissions(bill: AnyBill, context: TransitionContext) -> str | None:
    """not between an older one and one that resubmits it in turn"""
    number = context.resubmissions.get(bill.pk)
    if number is None or bill.resubmission_of_id is None:
        return None
    return f"It resubmits an older one and was resubmitted as {number}: archive {number} first."


def original_may_be_resubmitted(bill: AnyBill, context: TransitionContext) -> str | None:
    """what it resubmits has the same status as before, and was not resubmitted again"""
    original = context.originals.get(bill.resubmission_of_id) if bill.resubmission_of_id else None
    if original is None:
        return None
    if original.archive_date is not None and original.resubmission_of_id is not None:
        return f"{original}, which it resubmits, is archived: restore that one first."
    if number := context.resubmissions.get(original.pk):
        return f"{original}, which it resubmits, was resubmitted again as {number}."
    if not STATUSES[original.funding_status].is_resubmittable:
        status = STATUSES[original.funding_status].label
        return f"{original}, which it resubmits, is now {lower_first(status)}."
    return None


def provider_invoice_has_no_other_claim(bill: AnyBill, context: TransitionContext) -> str | None:
    """no other claim has its provider invoice meanwhile"""
    if not isinstance(bill, Claim) or bill.pk in context.resubmissions:
        return None
    holder = context.holders.get(bill.provider_invoice_id)
    if holder is None or holder[0] in (bill.pk, bill.resubmission_of_id):
        return None
    return f"Its provider invoice is meanwhile claimed by {holder[1]}: archive that one first."


def its_file_was_not_sent(bill: AnyBill, context: TransitionContext) -> str | None:
    """its claim file was not sent"""
    file = context.claim_files.get(bill.pk)
    if file is None:
        return "It stands in no claim file."
    return None if file.status == ClaimFile.Status.NOT_SENT else f"Its claim file {file} was sent."


def lower_first(label: object) -> str:
    """A label within a sentence."""
    text = str(label)
    return text[:1].lower() + text[1:]
