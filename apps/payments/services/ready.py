"""Amounts that are ready to be paid out, by payee: the agency paid them, and no payment run has them.

``PAYEE_KEY`` is the one place that says who is paid for a claim, ``open_claims`` how much;
``update_paid_out`` the one that keeps what runs have of a claim. Whoever writes rows of runs locks their
claims and calls it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, UUIDField, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThan, LessThan

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO, to_cents
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.engagements.models import ClientEngagement, ended_before
from apps.funding.choices import SendPaymentTo
from apps.funding.models import IS_PAID_OUT, TO_PAY_OUT, Claim
from apps.payments.choices import RunStatus
from apps.payments.models import BankAccount, PaymentRunClaim, PaymentRunItem
from apps.people.models import Client, Contact

#: Stands for the payee of claims that name none.
NOBODY = Value(UUID(int=0), UUIDField())
#: The name under which queries of claims have what is to be paid out for them.
READY = "ready"
#: What is read of thousands of claims.
CLAIM_COLUMNS = ("claim_number", "provider_invoice_reference", "send_payment_to", "contact")
#: Those who are paid as people; others are organisations.
PEOPLE = frozenset({SendPaymentTo.CLIENT, SendPaymentTo.CLIENT_REPRESENTATIVE})


def coordinating_plans() -> QuerySet[ClientEngagement]:
    """The plan of a claim's participant that covers its first day."""
    return ClientEngagement.objects.filter(
        ~ended_before(OuterRef("start_date")),
        participant=OuterRef("contact"),
        plan_start_date__lte=OuterRef("start_date"),
        archive_date=None,
    ).order_by("-plan_start_date", "pk")[:1]


#: The key of whom a claim is paid to; null when nobody is named.
PAYEE_KEY = Case(
    When(send_payment_to=SendPaymentTo.PROVIDER, then=F("provider")),
    When(send_payment_to=SendPaymentTo.CLIENT, then=F("contact")),
    When(
        send_payment_to=SendPaymentTo.CLIENT_REPRESENTATIVE,
        then=Subquery(Contact.objects.filter(pk=OuterRef("contact")).values("representative")),
    ),
    When(
        send_payment_to=SendPaymentTo.SUPPORT_COORDINATOR,
        then=Subquery(coordinating_plans().values("support_coordinator__client")),
    ),
    output_field=UUIDField(),
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
    record: Client | Contact | None = None
    account: BankAccount | None = None
    is_changed: bool = False
    claims: list[ReadyClaim] = field(default_factory=list)
    owed: list[ReadyClaim] = field(default_factory=list)

    @property
    def amount(self) -> Decimal:
        return sum((each.amount for each in self.claims), ZERO)

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


def sum_ready_payees() -> tuple[int, Decimal]:
    """How many payees something is ready for, and how much; one query, however many there are."""
    ready = open_claims().filter(**{f"{READY}__gt": ZERO}).order_by()
    # Nobody counts as one payee, as in a list of them.
    payee = Coalesce(PAYEE_KEY, NOBODY)
    found = ready.aggregate(count=Count(payee, distinct=True), sum=MoneySum(READY))
    return found["count"], to_cents(found["sum"] or ZERO)


def load_ready(keys: Iterable[UUID] | None = None) -> list[ReadyPayee]:
    """The payees with what is ready for them, by name; the statements are constant."""
    claims = open_claims(keys).annotate(payee_key=PAYEE_KEY).only(*CLAIM_COLUMNS)
    ordered = list(claims.order_by("creation_date", "pk"))
    paid = load_paid_payees(claim.pk for claim in ordered if getattr(claim, READY) < 0)
    found: dict[Payee, ReadyPayee] = {}
    for claim in ordered:
        key, amount = claim.payee_key, to_cents(getattr(claim, READY))
        kind = "contact" if key and claim.send_payment_to in PEOPLE else "client"
        payee = paid.get(claim.pk) or Payee(kind, key)
        ready = found.setdefault(payee, ReadyPayee(payee))
        (ready.claims if amount > 0 else ready.owed).append(ReadyClaim(claim, amount))
    attach_records(found)
    attach_accounts(list(found.values()))
    return sorted(found.values(), key=lambda each: (str(each.record or ""), str(each.payee.key)))


def load_paid_payees(keys: Iterable[UUID]) -> dict[UUID, Payee]:
    """Whom runs paid these claims to, the last of several: they owe what was paid out too much.

    A claim may go to somebody else since: to another representative, or after a merge.
    """
    rows = PaymentRunClaim.objects.filter(AnyOf("claim", list(keys)), returned=False, amount__gt=0)
    owners = [Coalesce(f"item__{kind}__merged_into", f"item__{kind}") for kind in ("client", "contact")]
    paid = rows.order_by("item__run__number", "pk").values_list("claim", *owners)
    return {
        claim: Payee("client", client) if client else Payee("contact", contact)
        for claim, client, contact in paid
    }


def attach_records(found: Mapping[Payee, ReadyPayee]) -> None:
    """Give payees their names."""
    clients = Client.objects.only("business_name")
    contacts = Contact.objects.only("first_name", "last_name")
    for kind, records in (("client", clients), ("contact", contacts)):
        wanted = [payee.key for payee in found if payee.kind == kind and payee.key]
        for record in records.filter(AnyOf("guid", wanted)).order_by():
            found[Payee(kind, record.pk)].record = record


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
