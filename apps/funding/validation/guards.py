"""The conditions of transitions beyond their table, and what they read."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import F, Max, Q

from apps.base.batched_queries import AnyOf
from apps.core.models import Subscriber
from apps.funding.choices import ApprovalStatus, BillPermission, InvoiceClaimType
from apps.funding.models import (
    MOVED_MONEY,
    NOT_RESUBMITTED,
    Claim,
    ClaimFile,
    ClaimFileLine,
    Invoice,
    ProviderInvoice,
    StatusMove,
    may_still_be_paid,
)
from apps.funding.statuses import STATUSES, InvoiceStatus
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
    def open_after_resubmission(self) -> set[UUID]:
        """The bills with a line that is not paid in full and that no current bill resubmits."""
        bill = str(self.model._meta.model_name)
        lines: Any = self.model._meta.get_field("line_items").related_model
        found = lines.objects.filter(AnyOf(bill, self.resubmissions)).exclude(total=F("amount_paid"))
        return set(found.filter(NOT_RESUBMITTED).order_by().values_list(bill, flat=True))

    @cached_property
    def last_resubmissions(self) -> dict[UUID, tuple[UUID, str]]:
        """(key, number) of the bill that a line of an original was last resubmitted as, by the original."""
        bill = str(self.model._meta.model_name)
        lines: Any = self.model._meta.get_field("line_items").related_model
        found = lines.objects.filter(AnyOf(bill, self.originals), resubmitted_as__isnull=False).order_by()
        columns = (bill, "resubmitted_as", f"resubmitted_as__{bill}_number")
        return {key: (newer, number) for key, newer, number in found.values_list(*columns)}

    @cached_property
    def answered_bills(self) -> set[UUID]:
        """The bills that stand in a claim file to which the agency has answered."""
        bill = f"{self.model._meta.model_name}_id"
        lines = ClaimFileLine.objects.filter(AnyOf(bill, [each.pk for each in self.bills])).order_by()
        answered = lines.filter(Q(result__isnull=False) | Q(payments__isnull=False), is_withdrawn=False)
        return set(answered.values_list(bill, flat=True))

    @cached_property
    def waiting_lines(self) -> dict[UUID, tuple[UUID, Decimal]]:
        """The lines of partly paid bills that stand in a claim file and may still be paid.

        By their keys, their bill and what is open of them. What was taken back is not paid again.
        """
        bill = str(self.model._meta.model_name)
        line = f"{bill}_line"
        keys = [each.pk for each in self.bills if each.funding_status == InvoiceStatus.AGENCY_PARTIALLY_PAID]
        moves = StatusMove.objects.filter(AnyOf(bill, keys), verb="take-back").order_by()
        taken_back = {
            UUID(key) for lines in moves.values_list("paid_lines", flat=True) for key in lines or {}
        }
        rows = ClaimFileLine.objects.filter(AnyOf(bill, keys), is_withdrawn=False).order_by()
        columns = ("amount", f"{line}__amount_paid", "result__is_accepted", "result__amount")
        return {
            key: (bill_key, amount - paid)
            for key, bill_key, amount, paid, *answers in rows.values_list(line, bill, *columns)
            if key not in taken_back and may_still_be_paid(amount, paid, *answers)
        }

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
    def claim_of_invoice(self) -> dict[UUID, tuple[UUID, str]]:
        """(key, number) of the claim that holds a single-use provider invoice, by the invoice."""
        keys = {bill.provider_invoice_id for bill in self.bills if isinstance(bill, Claim)}
        claims = Claim.objects.filter(AnyOf("provider_invoice", keys), takes_provider_invoice=True).order_by()
        rows = claims.values_list("provider_invoice", "pk", "claim_number")
        return {invoice: (key, number) for invoice, key, number in rows}

    @cached_property
    def paid_since_archiving(self) -> set[UUID]:
        """The keys of bills whose original was paid, or lost money, after they were archived.

        By the order of entries: while such a bill is not archived, its original takes no such transition.
        """
        bill = str(self.model._meta.model_name)
        entries = StatusMove.objects.filter(AnyOf(bill, [*self.originals, *(each.pk for each in self.bills)]))
        last = entries.order_by().values_list(f"{bill}_id")
        archived = dict(last.filter(verb="archive").annotate(last=Max("pk")))
        moved = dict(last.filter(MOVED_MONEY).annotate(last=Max("pk")))
        return {
            each.pk for each in self.bills if moved.get(each.resubmission_of_id, 0) > archived.get(each.pk, 0)
        }


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


def gap_was_not_resubmitted(bill: AnyBill, context: TransitionContext) -> str | None:
    """not resubmitted already"""
    problem = has_no_resubmission(bill, context)
    if problem is None or bill.pk not in context.open_after_resubmission:
        return problem
    number = context.resubmissions[bill.pk]
    return f"{problem} It lacks a part that is open: archive {number} and resubmit the gap, or claim it anew."


def part_was_not_resubmitted(bill: AnyBill, context: TransitionContext) -> str | None:
    """not resubmitted already with all that is open of it"""
    if bill.pk not in context.resubmissions or bill.pk in context.open_after_resubmission:
        return None
    return has_no_resubmission(bill, context)


def has_money_of_its_own(bill: AnyBill, context: TransitionContext) -> str | None:
    """something was paid of it itself"""
    if bill.paid_itself > 0:
        return None
    if not bill.paid_earlier or bill.resubmission_of_id is None:
        return "Nothing was paid of it."
    original = context.originals[bill.resubmission_of_id]
    paid = f"{bill.paid_earlier:,.2f} were paid of {original}, which it resubmits"
    return f"Nothing was paid of it itself: {paid}."


def may_pay_when_money_is_taken_back(bill: AnyBill, context: TransitionContext) -> str | None:
    """when something was paid of it itself, with the permission to record payments"""
    staff = context.staff
    if staff is None or not bill.paid_itself or staff.has_perm(f"funding.{BillPermission.PAY}"):
        return None
    paid, permission = f"{bill.paid_itself:,.2f}", lower_first(BillPermission.PAY.label.removeprefix("Can "))
    return f"{paid} were paid of it, which this takes back: your role lacks the permission to {permission}."


def has_an_unpaid_part(bill: AnyBill, context: TransitionContext) -> str | None:
    """something of it is not paid and waits for the agency no more"""
    if bill.total == bill.amount_paid:
        return "Nothing of it is open: all of it was paid."
    if bill.funding_status != InvoiceStatus.AGENCY_PARTIALLY_PAID:
        return None
    waiting = sum((open for key, open in context.waiting_lines.values() if key == bill.pk), Decimal(0))
    if waiting < bill.outstanding:
        return None
    return "All that is open of it still waits for the agency: nothing was refused or paid short for good."


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
    newer, number = context.last_resubmissions.get(original.pk, (bill.pk, ""))
    if newer != bill.pk:
        return f"{original}, which it resubmits, was resubmitted again as {number}: restore that one."
    return None


def nothing_was_paid_since_archiving(bill: AnyBill, context: TransitionContext) -> str | None:
    """nothing was paid or taken back meanwhile of what it resubmits"""
    if bill.resubmission_of_id is None or bill.pk not in context.paid_since_archiving:
        return None
    original = context.originals[bill.resubmission_of_id]
    return f"Of {original}, which it resubmits, something was paid or taken back meanwhile: resubmit it anew."


def provider_invoice_has_no_other_claim(bill: AnyBill, context: TransitionContext) -> str | None:
    """no other claim has its provider invoice meanwhile"""
    if not isinstance(bill, Claim) or bill.pk in context.resubmissions:
        return None
    other = context.claim_of_invoice.get(bill.provider_invoice_id)
    if other is None or other[0] in (bill.pk, bill.resubmission_of_id):
        return None
    return f"Its provider invoice is meanwhile claimed by {other[1]}: archive that one first."


def its_file_was_not_sent(bill: AnyBill, context: TransitionContext) -> str | None:
    """its claim file was neither sent nor answered"""
    file = context.claim_files.get(bill.pk)
    if file is None:
        return "It stands in no claim file."
    if file.status != ClaimFile.Status.NOT_SENT:
        return f"Its claim file {file} was sent."
    if bill.pk in context.answered_bills:
        return f"The agency has answered to its claim file {file}: mark that as sent."
    return None


def lower_first(label: object) -> str:
    """A label within a sentence."""
    text = str(label)
    return text[:1].lower() + text[1:]
