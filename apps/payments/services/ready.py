"""Amounts that are ready to be paid out, by payee: the agency paid them, and no payment run has them.

``load_ready`` is the one place that says who is paid for a claim, and how much; ``update_paid_out`` the one
that keeps what runs have of a claim. Whoever writes rows of runs locks their claims and calls it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThan, LessThan

from apps.base.batched_queries import AnyOf
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.engagements.models import ClientEngagement
from apps.funding.choices import SendPaymentTo
from apps.funding.models import IS_PAID_OUT, TO_PAY_OUT, Claim, to_cents
from apps.payments.choices import RunStatus
from apps.payments.models import ZERO, BankAccount, PaymentRunClaim, PaymentRunItem
from apps.people.models import Client, Contact

#: The name under which queries of claims have what is to be paid out for them.
READY = "ready"
#: What is read of thousands of claims, and of whom they are paid to.
CLAIM_COLUMNS = (
    *("claim_number", "provider_invoice_reference", "send_payment_to", "creation_date", "start_date"),
    *("provider__business_name", "contact__first_name", "contact__last_name", "contact__representative"),
    *("contact__representative__first_name", "contact__representative__last_name"),
)


@dataclass(frozen=True, slots=True)
class Payee:
    """An organisation or a person by its model's name and key; ``None`` as ``key`` when nobody is known."""

    kind: str
    key: UUID | None


@dataclass(frozen=True, slots=True)
class ReadyClaim:
    """A claim with what is to be paid out for it; below zero, what its payee owes."""

    claim: Claim
    amount: Decimal


@dataclass(slots=True)
class ReadyPayee:
    """A payee with the claims that they are paid for, their current account, and what they owe."""

    payee: Payee
    record: Client | Contact | None
    account: BankAccount | None = None
    is_changed: bool = False
    claims: list[ReadyClaim] = field(default_factory=list)
    owed: list[ReadyClaim] = field(default_factory=list)

    @property
    def amount(self) -> Decimal:
        return sum((each.amount for each in self.claims), ZERO)

    @property
    def owed_amount(self) -> Decimal:
        return -sum((each.amount for each in self.owed), ZERO)

    @property
    def problem(self) -> str | None:
        """Why nothing can be paid to them now, as a sentence; ``None`` when something can."""
        if self.record is None:
            return "Nobody is named whom the payment goes to: complete the participant or the plan."
        if self.account is None:
            return f"{self.record} has no bank account here: enter it."
        if not self.account.is_confirmed:
            return f"The bank account of {self.record} is not confirmed: somebody else confirms it."
        return None


def lock_claims(keys: Iterable[UUID]) -> None:
    """Wait for whoever else makes a run of these claims, or records a payment of them."""
    for batch in in_batches(sorted(keys)):
        locked = Claim.objects.filter(AnyOf("guid", batch)).order_by("pk").select_for_update(of=("self",))
        list(locked.values_list("pk", flat=True))


def update_paid_out(keys: Iterable[UUID]) -> None:
    """Keep what runs have of these claims, which the caller has locked."""
    for batch in in_batches(sorted(keys)):
        Claim.objects.filter(AnyOf("guid", batch)).update(paid_out=in_runs())


def in_runs() -> Coalesce:
    """The sum that payment runs have of a claim: all but payments that came back."""
    parts = PaymentRunClaim.objects.filter(claim=OuterRef("pk"), returned=False).order_by()
    return Coalesce(Subquery(parts.values("claim").annotate(sum=MoneySum("amount")).values("sum")), ZERO)


def open_claims(keys: Iterable[UUID] | None = None) -> QuerySet[Claim]:
    """The claims of which another amount was paid by the agency than paid out, as ``READY`` of each."""
    is_open = Q(GreaterThan(TO_PAY_OUT, ZERO)) | Q(LessThan(TO_PAY_OUT, ZERO))
    claims = Claim.objects.filter(IS_PAID_OUT & is_open).annotate(**{READY: TO_PAY_OUT})
    # An archived one that was paid out and cancelled is still owed.
    return claims if keys is None else claims.filter(AnyOf("guid", keys))


def sum_ready() -> tuple[int, Decimal]:
    """How many claims something is ready of, and how much; one query, however many there are."""
    ready = open_claims().filter(**{f"{READY}__gt": ZERO}).order_by()
    found = ready.aggregate(count=Count("pk"), sum=MoneySum(READY))
    return found["count"], to_cents(found["sum"] or ZERO)


def load_ready(keys: Iterable[UUID] | None = None) -> list[ReadyPayee]:
    """The payees with what is ready for them, by name; the statements are constant."""
    related = open_claims(keys).select_related("contact__representative", "provider")
    claims = list(related.only(*CLAIM_COLUMNS).order_by("creation_date", "pk"))
    coordinators = load_coordinators(
        [c for c in claims if c.send_payment_to == SendPaymentTo.SUPPORT_COORDINATOR]
    )
    found: dict[Payee, ReadyPayee] = {}
    for claim in claims:
        record = payee_of(claim, coordinators)
        kind = "contact" if isinstance(record, Contact) else "client"
        payee = Payee(kind, record.pk if record is not None else None)
        ready = found.setdefault(payee, ReadyPayee(payee, record))
        amount = to_cents(getattr(claim, READY))
        (ready.claims if amount > 0 else ready.owed).append(ReadyClaim(claim, amount))
    attach_accounts(list(found.values()))
    return sorted(found.values(), key=lambda each: (str(each.record or ""), str(each.payee.key)))


def payee_of(claim: Claim, coordinators: Mapping[UUID, Client | None]) -> Client | Contact | None:
    """Who is paid for a claim by its ``send_payment_to``; ``None`` when nobody is named."""
    match SendPaymentTo(claim.send_payment_to):
        case SendPaymentTo.PROVIDER:
            return claim.provider
        case SendPaymentTo.CLIENT:
            return claim.contact
        case SendPaymentTo.CLIENT_REPRESENTATIVE:
            return claim.contact.representative
        case SendPaymentTo.SUPPORT_COORDINATOR:
            return coordinators.get(claim.pk)
    return None


def load_coordinators(claims: Sequence[Claim]) -> dict[UUID, Client | None]:
    """The organisations of the coordinators of the plans that cover the first days of claims, by claim."""
    plans = ClientEngagement.objects.filter(
        AnyOf("participant", {claim.contact_id for claim in claims}), archive_date=None
    ).select_related("support_coordinator__client")
    by_participant: dict[UUID, list[ClientEngagement]] = defaultdict(list)
    for plan in plans.order_by("-plan_start_date", "pk") if claims else ():
        by_participant[plan.participant_id].append(plan)
    found: dict[UUID, Client | None] = {}
    for claim in claims:
        covering = (
            plan.support_coordinator
            for plan in by_participant[claim.contact_id]
            if plan.plan_start_date <= claim.start_date <= plan.plan_end_date
        )
        coordinator = next(covering, None)
        found[claim.pk] = coordinator.client if coordinator else None
    return found


def attach_accounts(payees: Sequence[ReadyPayee]) -> None:
    """Give payees their current accounts, and say which of those are others than those last paid to."""
    for kind in ("client", "contact"):
        by_key = {each.payee.key: each for each in payees if each.payee.kind == kind and each.payee.key}
        for account in BankAccount.objects.filter(AnyOf(kind, by_key), archive_date=None):
            payee = by_key[getattr(account, f"{kind}_id")]
            setattr(account, kind, payee.record)
            payee.account = account
        # An older account of theirs that something was paid to: its successor is another.
        was_paid = Exists(
            PaymentRunItem.objects.filter(account=OuterRef("pk"), run__status=RunStatus.RELEASED)
        )
        found = BankAccount.objects.filter(AnyOf(kind, by_key)).order_by()
        older = found.filter(was_paid, archive_date__isnull=False).values_list(f"{kind}_id", flat=True)
        new = found.filter(~was_paid, archive_date=None).values_list(f"{kind}_id", flat=True)
        for key in set(older) & set(new):
            by_key[key].is_changed = True
