"""Moving claims and invoices through their life, one or many at once (statuses.py has the table).

The only way in which a bill's status, its archiving and what was paid of it change. Pages archive and restore
bills through here as well (``move(Claim, keys, "archive", by=request.user)``), because a claim gives its
provider invoice back when it goes, and budgets are told: ``core.archiving`` knows of neither.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import formats, timezone

from apps.core import history, saving
from apps.core.bulk_insert import bulk_insert
from apps.core.models import Subscriber
from apps.engagements.services import Amounts
from apps.funding.choices import InvoiceStatus
from apps.funding.models import (
    ZERO,
    Claim,
    ClaimLine,
    Invoice,
    InvoiceLine,
    LineItem,
    ProviderInvoice,
    StatusMove,
)
from apps.funding.resubmitting import remake
from apps.funding.services import budgets
from apps.funding.services.budgets import CENT, BudgetPosting, budget_amounts
from apps.funding.services.claim_effects import update_claim_flags
from apps.funding.statuses import (
    NOW,
    TRANSITIONS,
    PaymentExtent,
    Resubmission,
    Target,
    Transition,
    TransitionName,
)
from apps.funding.transitions import (
    GUARDS,
    AnyBill,
    Facts,
    leaving,
    refusal,
    transitions_from,
    what_can_be_done,
    where,
)
from apps.funding.validation.bills import ADMINISTER_PERMISSION
from apps.odata import clock
from apps.odata.any_of import AnyOf
from apps.people.models import Staff

#: What was paid of a bill: a sum, or how much of it on each of its lines by their keys.
Payment = Decimal | Mapping[UUID, Decimal]

REASON_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Refusal:
    """A bill that was not moved, and why, in a sentence that says where it stands and what can be done."""

    key: UUID
    label: str
    message: str


@dataclass(slots=True)
class Moved:
    """What became of a move: the keys of the bills that moved, the others, and of each resubmitted one the
    key of what it was resubmitted as."""

    done: list[UUID] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    made: dict[UUID, UUID] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done, the same for all bills of a move; ``by`` nobody is the system itself."""

    verb: TransitionName
    by: Staff | None
    reason: str | None
    amounts: Mapping[UUID, Payment]
    day: dt.date | dt.datetime | None
    now: dt.datetime

    @property
    def row(self) -> Transition:
        """One of the rows of the verb: they have all in common but where they lead."""
        return next(row for row in TRANSITIONS if row.name is self.verb)


class Line(NamedTuple):
    """A line of a bill: what of it was paid, and what it draws on."""

    key: UUID
    total: Decimal
    paid: Decimal
    booking: UUID | None
    category_budget: UUID | None


class Place(NamedTuple):
    """Where a bill stands, as budgets see it."""

    status: str
    archived: bool
    passed_on: Resubmission | None = None

    @classmethod
    def of(cls, bill: AnyBill) -> Place:
        return cls(bill.funding_status, bill.archive_date is not None)


class Change(NamedTuple):
    """What happens to one bill, by which row: the new values of its columns."""

    bill: Any
    row: Transition
    values: dict[str, Any]

    @property
    def target(self) -> Place:
        status = self.values.get("funding_status", self.bill.funding_status)
        return Place(status, self.values.get("archive_date", self.bill.archive_date) is not None)


@transaction.atomic
def move(
    model: type[AnyBill],
    keys: Iterable[UUID],
    verb: str,
    by: Staff | None = None,
    reason: str | None = None,
    amounts: Mapping[UUID, Payment] | None = None,
    day: dt.date | dt.datetime | None = None,
) -> Moved:
    """Do ``verb`` (``TransitionName``) to claims or invoices; those it cannot be done to are refused,
    the others done.

    ``by`` must hold the permission to administer funding invoices; without anybody the system moves (a
    command, a provider's answer). ``amounts``: what was paid now, by the keys of the bills; a part payment
    needs it. ``day``: of a payment, today when left out. Statements are constant in the number of bills.
    Locks, always in this order and each by key: provider invoices, bills, the number sequence, budgets.
    """
    told = (reason or "").strip() or None
    wish = Wish(TransitionName(verb), by, told, amounts or {}, day, clock.now())
    asked = list(dict.fromkeys(keys))
    if fault := fault_of(wish, len(asked)):
        return Moved(refused=[Refusal(key, label, fault) for key, label in labels(model, asked).items()])
    papers = lock_provider_invoices(model, asked, wish.verb)
    standing = lock_bills(model, asked, wish.verb)
    lines = lines_of(model, asked) if wish.row.pays else {}
    moved, changes, facts = judge(model, asked, wish, standing, papers, lines)
    if changes:
        moved.made = carry_out(model, changes, wish, standing, facts, lines)
    moved.done = [change.bill.pk for change in changes]
    return moved


def possible(bill: AnyBill, by: Staff | None = None) -> list[Transition]:
    """The rows of the table that a bill may take now; none for somebody who may not move bills."""
    if by is not None and not by.has_perm(ADMINISTER_PERMISSION):
        return []
    return transitions_from(bill, facts_of(type(bill), [bill], by))


# --- may it be? -----------------------------------------------------------------------------------------


def fault_of(wish: Wish, number: int) -> str | None:
    """Why none of the bills can be moved so; ``None`` when nothing speaks against it as such."""
    row = wish.row
    if wish.by is not None and not wish.by.has_perm(ADMINISTER_PERMISSION):
        return (
            f"{wish.by} may not move claims and invoices: the role {wish.by.role} lacks the permission"
            " to administer funding invoices, or the login is closed."
        )
    if number > 1 and row.single:
        return f"{row.label}: one at a time, not {number:,} at once."
    if wish.reason is None and row.needs_reason:
        return f"{row.label}: give a reason."
    if wish.reason is not None and len(wish.reason) > REASON_LENGTH:
        return f"A reason has at most {REASON_LENGTH} characters, this one has {len(wish.reason)}."
    if row.pays and wish.day is not None and as_day(wish.day) > clock.today():
        return f"The day of payment, {formats.date_format(as_day(wish.day))}, lies ahead."
    return None


def judge(
    model: type[AnyBill],
    asked: Sequence[UUID],
    wish: Wish,
    standing: Mapping[UUID, Any],
    papers: Mapping[UUID, ProviderInvoice],
    lines: Mapping[UUID, Sequence[Line]],
) -> tuple[Moved, list[Change], Facts]:
    """Which of the bills can be moved, and how; the others refused; and what they were judged by."""
    rows = {
        key: row
        for key in asked
        if key in standing
        for row in leaving(standing[key])
        if row.name is wish.verb
    }
    facts = told = Facts(wish.by)
    if wish.verb in GUARDS:
        facts = facts_of(model, [standing[key] for key in rows], wish.by, papers, standing)
    if elsewhere := [standing[key] for key in asked if key in standing and key not in rows]:
        told = facts_of(model, elsewhere, wish.by)
    cancelling = wish.row.target is Target.PREVIOUS
    before = statuses_before_cancelling(model, rows) if cancelling else {}
    moved, changes = Moved(), []
    for key in asked:
        bill, row = standing.get(key), rows.get(key)
        if bill is None:
            said: str | None = f"There is no {model._meta.verbose_name} with this identifier."
        elif row is None:
            said = f"It is {where(bill)}. {what_can_be_done(bill, told)}"
        else:
            said = refusal(row, bill, facts)
            if said is None and row.pays:
                said = why_not_paid(bill, row, wish.amounts.get(key), lines.get(key, ()))
        if said is not None:
            moved.refused.append(Refusal(key, str(bill or key), said))
        elif row is not None:
            changes.append(Change(bill, row, values_of(bill, row, wish, before)))
            if row.name is TransitionName.RESTORE:
                take_in_turn(bill, facts)
    return moved, changes, facts


def take_in_turn(bill: Any, facts: Facts) -> None:
    """Let those that are restored after this one know what it took."""
    if bill.resubmission_of_id is not None:
        facts.resubmissions[bill.resubmission_of_id] = str(bill)
    if not isinstance(bill, Claim) or bill.pk in facts.resubmissions:
        return
    if not facts.provider_invoices[bill.provider_invoice_id].is_reusable:
        facts.takers[bill.provider_invoice_id] = (bill.pk, str(bill))


def values_of(bill: Any, row: Transition, wish: Wish, before: Mapping[UUID, str]) -> dict[str, Any]:
    """The columns that the row sets of a bill, with their values; but what was paid."""
    values = {name: wish.now if value is NOW else value for name, value in row.sets.items()}
    if row.target is not Target.SAME:
        # Who asked to cancel where nobody wrote moves (an import) asked for what was claimed.
        target = (
            before.get(bill.pk, InvoiceStatus.AGENCY_CLAIMED) if row.target is Target.PREVIOUS else row.target
        )
        values |= {"funding_status": str(target), "status_date": wish.now, "status_reason": wish.reason}
    if row.pays:
        values["payment_date"] = payment_date(bill, wish)
    if isinstance(bill, Claim) and row.name is TransitionName.ARCHIVE:
        values["takes_provider_invoice"] = False
    return values


# --- payments -------------------------------------------------------------------------------------------


def payment_date(bill: AnyBill, wish: Wish) -> dt.date | dt.datetime:
    """The moment a claim was paid, the day an invoice was; midnight of a day that is not today."""
    day = wish.day or wish.now
    if isinstance(bill, Invoice):
        return as_day(day)
    if isinstance(day, dt.datetime):
        return day
    if day == clock.today():
        return wish.now
    return timezone.make_aware(dt.datetime.combine(day, dt.time.min))


def as_day(moment: dt.date | dt.datetime) -> dt.date:
    return timezone.localtime(moment).date() if isinstance(moment, dt.datetime) else moment


def why_not_paid(bill: AnyBill, row: Transition, paid: Payment | None, lines: Sequence[Line]) -> str | None:
    """Why a bill cannot be paid this amount by this row of the table."""
    is_open = bill.total - bill.amount_paid
    if paid is None:
        return (
            None if row.pays is PaymentExtent.FULL else f"Say how much of the open {is_open:,.2f} was paid."
        )
    if isinstance(paid, Mapping) and (said := why_not_on_lines(paid, lines)):
        return said
    amount = sum(paid.values(), ZERO) if isinstance(paid, Mapping) else paid
    if amount != amount.quantize(CENT):
        return f"{amount} is no amount of money: cents are its smallest part."
    if row.pays is PaymentExtent.FULL:
        return None if amount == is_open else f"{is_open:,.2f} is open, and {amount:,.2f} is not that."
    if amount <= 0:
        return f"{amount:,.2f} is no payment: give an amount above 0."
    if amount == is_open:
        return f"{amount:,.2f} is all that is open: say that it is paid in full."
    if amount > is_open:
        return f"{amount:,.2f} is more than the {is_open:,.2f} that is open."
    return None


def why_not_on_lines(paid: Mapping[UUID, Decimal], lines: Sequence[Line]) -> str | None:
    """Why its lines cannot be paid so: one is not of the bill, or not so much of it is open."""
    if foreign := paid.keys() - {line.key for line in lines}:
        return f"It has no line {min(foreign)}."
    for number, line in enumerate(lines, start=1):
        amount, rest = paid.get(line.key, ZERO), line.total - line.paid
        if not min(rest, ZERO) <= amount <= max(rest, ZERO):
            return f"Of line {number} {rest:,.2f} is open: {amount:,.2f} cannot be paid on it."
    return None


def spread(amount: Decimal, lines: Sequence[Line]) -> dict[UUID, Decimal]:
    """An amount paid, laid on the lines in their order, each as far as it is open.

    Credits are used up first: they make room for more of the others.
    """
    rests = {line.key: line.total - line.paid for line in lines}
    laid = {key: min(rest, ZERO) for key, rest in rests.items()}
    remaining = amount - sum(laid.values(), ZERO)
    for key, rest in rests.items():
        if rest > 0:
            laid[key] = min(rest, remaining)
            remaining -= laid[key]
    return laid


def paid_after(
    changes: Sequence[Change], wish: Wish, lines: Mapping[UUID, Sequence[Line]]
) -> dict[UUID, Decimal]:
    """What is paid of each line after the move, by the lines' keys."""
    after: dict[UUID, Decimal] = {}
    for change in changes:
        held = lines.get(change.bill.pk, ())
        if change.row.pays is PaymentExtent.FULL:
            after |= {line.key: line.total for line in held}
            continue
        paid = wish.amounts[change.bill.pk]
        laid = paid if isinstance(paid, Mapping) else spread(paid, held)
        after |= {line.key: line.paid + laid.get(line.key, ZERO) for line in held}
    return after


# --- what stands, locked --------------------------------------------------------------------------------

#: After these a provider invoice has another claim, or one less: they wait for whoever decides about it.
ABOUT_PROVIDER_INVOICES = frozenset(
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
#: These move what a bill resubmits as well: it has its gap again, or passes it on again.
ABOUT_RESUBMITTED = frozenset({TransitionName.ARCHIVE, TransitionName.RESTORE})


def among(model: type[Any], name: str, keys: Iterable[UUID]) -> AnyOf:
    return AnyOf(model._meta.get_field(name), keys)


def lock_provider_invoices(
    model: type[AnyBill], keys: Sequence[UUID], verb: TransitionName
) -> dict[UUID, ProviderInvoice]:
    """The provider invoices of claims, where the verb has to do with them."""
    if model is not Claim or verb not in ABOUT_PROVIDER_INVOICES:
        return {}
    claims = Claim.objects.filter(among(Claim, "guid", keys)).order_by()
    papers = ProviderInvoice.objects.filter(pk__in=claims.values("provider_invoice")).order_by("pk")
    rows = papers.only("reference", "approval_status", "is_reusable").select_for_update(of=("self",))
    return {paper.pk: paper for paper in rows}


def lock_bills(model: type[AnyBill], keys: Sequence[UUID], verb: TransitionName) -> dict[UUID, Any]:
    """The bills by key, in the order of their keys; with archiving those that they resubmit, too."""
    wanted = Q(among(model, "guid", keys))
    if verb in ABOUT_RESUBMITTED:
        asked = model._default_manager.filter(wanted).order_by()
        wanted |= Q(pk__in=asked.filter(resubmission_of__isnull=False).values("resubmission_of"))
    rows = model._default_manager.filter(wanted).order_by("pk").select_for_update(of=("self",))
    if verb not in (TransitionName.RESUBMIT, TransitionName.RESUBMIT_GAP):
        rows = rows.only(*READ[model])
    return {bill.pk: bill for bill in rows}


READ: Mapping[type[AnyBill], Sequence[str]] = {
    model: (
        "funding_status",
        "status_date",
        "status_reason",
        "archive_date",
        "approved_date",
        "payment_date",
        "resubmitted",
        "resubmission_of",
        "entered_by",
        "total",
        "amount_paid",
        "paid_earlier",
        *own,
    )
    for model, own in (
        (Claim, ("claim_number", "provider_invoice", "takes_provider_invoice")),
        (Invoice, ("invoice_number", "invoice_claim_type")),
    )
}


def facts_of(
    model: type[AnyBill],
    bills: Sequence[Any],
    by: Staff | None,
    papers: Mapping[UUID, ProviderInvoice] | None = None,
    standing: Mapping[UUID, Any] | None = None,
) -> Facts:
    """What guards ask of these bills; ``papers`` and ``standing`` are what is at hand already."""
    older = {bill.resubmission_of_id for bill in bills} - {None}
    resubmitted = {key: bill for key, bill in (standing or {}).items() if key in older}
    if older - resubmitted.keys() and standing is None:
        resubmitted = model._default_manager.only(*READ[model]).in_bulk(older)
    children = model._default_manager.filter(
        among(model, "resubmission_of", {bill.pk for bill in bills} | older), archive_date=None
    ).order_by()
    number = f"{model._meta.model_name}_number"
    resubmissions: dict[UUID, str] = dict(children.values_list("resubmission_of", number))
    if model is not Claim:
        return Facts(by, Subscriber.current(), resubmissions=resubmissions, resubmitted=resubmitted)
    wanted = {bill.provider_invoice_id for bill in bills}
    if papers is None or wanted - papers.keys():
        rows = ProviderInvoice.objects.filter(among(ProviderInvoice, "guid", wanted)).order_by()
        papers = {paper.pk: paper for paper in rows.only("reference", "approval_status", "is_reusable")}
    takers = Claim.objects.filter(
        among(Claim, "provider_invoice", wanted), takes_provider_invoice=True
    ).order_by()
    taken = {
        paper: (key, number)
        for paper, key, number in takers.values_list("provider_invoice", "pk", "claim_number")
    }
    return Facts(by, Subscriber.current(), papers, taken, resubmissions, resubmitted)


def statuses_before_cancelling(model: type[AnyBill], keys: Iterable[UUID]) -> dict[UUID, str]:
    """Where bills stood when somebody asked to cancel them, as their moves tell."""
    name = str(model._meta.model_name)
    asked = StatusMove.objects.filter(among(StatusMove, name, keys), verb=TransitionName.ASK_TO_CANCEL)
    return dict(asked.order_by("id").values_list(f"{name}_id", "from_status"))


def labels(model: type[AnyBill], keys: Sequence[UUID]) -> dict[UUID, str]:
    """The numbers of bills, by key and in the order of the keys; of one that is not there, the key."""
    rows = model._default_manager.filter(among(model, "guid", keys)).order_by()
    numbers = dict(rows.values_list("pk", f"{model._meta.model_name}_number"))
    return {key: numbers.get(key, str(key)) for key in keys}


def lines_of(model: type[AnyBill], keys: Iterable[UUID]) -> dict[UUID, list[Line]]:
    """The lines of bills in their order, by the keys of the bills. Who locked those has these as well."""
    line_model, name = LINES[model], str(model._meta.model_name)
    rows = line_model._default_manager.filter(among(line_model, name, keys)).order_by("position", "guid")
    columns = ("pk", "total", "amount_paid", "booking_id", "category_budget_id")
    found: dict[UUID, list[Line]] = defaultdict(list)
    for bill, *line in rows.values_list(f"{name}_id", *columns):
        found[bill].append(Line(*line))
    return found


LINES: Mapping[type[AnyBill], type[LineItem]] = {Claim: ClaimLine, Invoice: InvoiceLine}


# --- doing it -------------------------------------------------------------------------------------------


def carry_out(
    model: type[AnyBill],
    changes: Sequence[Change],
    wish: Wish,
    standing: Mapping[UUID, Any],
    facts: Facts,
    lines: Mapping[UUID, Sequence[Line]],
) -> dict[UUID, UUID]:
    """Write the bills, what was paid on their lines, their moves and history, and tell the budgets; what was
    resubmitted as what."""
    before = {change.bill.pk: Place.of(change.bill) for change in changes}
    after = {change.bill.pk: change.target for change in changes}
    kind = wish.row.resubmits
    if kind is not None:
        after = {key: place._replace(passed_on=kind) for key, place in after.items()}
    if wish.verb in ABOUT_RESUBMITTED:
        pass_on_and_back(changes, standing, before, after)
    paid: Mapping[UUID, Decimal] = {}
    if wish.row.pays:
        paid = paid_after(changes, wish, lines)
        write_payments(model, changes, lines, paid)
    else:
        lines = lines_of(model, [key for key in after if not draw_alike(before[key], after[key])])
    written = [(change.bill, change.values) for change in changes]
    written += hand_over(changes, standing, facts)
    write_bills(model, written, wish)
    tell_moves(model, changes, before, wish)
    drawn = drawn_by(lines, before, after, paid)
    made: dict[UUID, UUID] = {}
    if kind is not None:
        remade = remake(model, [change.bill for change in changes], kind, wish.by)
        made, drawn = remade.keys, [*drawn, *remade.drawn]
    budgets.post_to_budgets(drawn)
    if model is Claim and wish.verb in ABOUT_PROVIDER_INVOICES - {TransitionName.APPROVE}:
        update_claim_flags({bill.provider_invoice_id for bill, _ in written})
    return made


def pass_on_and_back(
    changes: Sequence[Change],
    standing: Mapping[UUID, Any],
    before: dict[UUID, Place],
    after: dict[UUID, Place],
) -> None:
    """Let what is archived give back what it took over from the bill it resubmits, and take it restored."""
    for bill, row, _ in changes:
        old = standing.get(bill.resubmission_of_id)
        if old is None:
            continue
        kind = Resubmission.FULL if bill.paid_earlier else Resubmission.GAP
        held = before if row.name is TransitionName.ARCHIVE else after
        for places in (before, after):
            places.setdefault(old.pk, Place.of(old))
        held[old.pk] = held[old.pk]._replace(passed_on=kind)


def hand_over(
    changes: Sequence[Change], standing: Mapping[UUID, Any], facts: Facts
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Claims beside the moved ones that lose their provider invoice to them, or have it again.

    Of the restored ones themselves it is noted among their values.
    """
    moved = {change.bill.pk for change in changes}
    for bill, row, values in changes:
        if not isinstance(bill, Claim):
            continue
        old = standing.get(bill.resubmission_of_id) if bill.resubmission_of_id else None
        if row.resubmits is not None:
            yield bill, {"takes_provider_invoice": False}
        elif row.name is TransitionName.ARCHIVE:
            if (
                bill.takes_provider_invoice
                and old is not None
                and old.pk not in moved
                and not old.is_archived
            ):
                yield old, {"takes_provider_invoice": True}
        elif row.name is TransitionName.RESTORE:
            taker = facts.takers.get(bill.provider_invoice_id, (None, ""))[0]
            values["takes_provider_invoice"] = taker == bill.pk
            if old is not None and old.pk not in moved and old.pk != taker:
                yield old, {"takes_provider_invoice": False}


def draw_alike(one: Place, other: Place) -> bool:
    """Whether lines draw the same on budgets at both places; what they draw is linear in two amounts."""
    return SAMPLES[one] == SAMPLES[other]


class Samples(dict[Place, Amounts]):
    """What a line of 3.00, of which 1.00 was paid, draws at each place."""

    def __missing__(self, place: Place) -> Amounts:
        self[place] = budget_amounts(place.status, place.archived, Decimal(3), Decimal(1), place.passed_on)
        return self[place]


SAMPLES = Samples()


def drawn_by(
    lines: Mapping[UUID, Sequence[Line]],
    before: Mapping[UUID, Place],
    after: Mapping[UUID, Place],
    paid: Mapping[UUID, Decimal],
) -> list[BudgetPosting]:
    """By how much the lines of moved bills draw more or less on their budgets than before."""
    drawn = []
    for key, held in lines.items():
        if key not in after:
            continue
        (status, archived, passed_on), (new_status, now_archived, now_passed_on) = before[key], after[key]
        for line in held:
            if line.booking is None and line.category_budget is None:
                continue
            was = budget_amounts(status, archived, line.total, line.paid, passed_on)
            is_now = budget_amounts(
                new_status, now_archived, line.total, paid.get(line.key, line.paid), now_passed_on
            )
            drawn.append(BudgetPosting(line.booking, line.category_budget, is_now + -was))
    return drawn


# --- writing --------------------------------------------------------------------------------------------

#: The moves say when; the history shows what else changed.
UNTOLD = frozenset({"status_date"})


def write_bills(model: type[AnyBill], written: Iterable[tuple[Any, dict[str, Any]]], wish: Wish) -> None:
    """Write new values of bills, one statement for all that get the same ones, and their history.

    Claims that give a provider invoice up come before those that get it.
    """
    together: dict[tuple[Any, ...], list[UUID]] = defaultdict(list)
    entries, paid = [], []
    for bill, values in written:
        changed = {name: value for name, value in values.items() if bill.__dict__[name] != value}
        if not changed:
            continue
        told = {
            name: [history.json_value(bill.__dict__[name]), history.json_value(value)]
            for name, value in changed.items()
            if name not in UNTOLD
        }
        if "amount_paid" in changed:
            bill.amount_paid = values["amount_paid"]
            paid.append(bill)
        alike = tuple((name, value) for name, value in changed.items() if name != "amount_paid")
        together[alike].append(bill.pk)
        entries.append((bill.pk, kind_of(told), told))
    for group in sorted(together, key=lambda group: ("takes_provider_invoice", True) in group):
        rows = model._default_manager.filter(among(model, "guid", together[group]))
        rows.update(**dict(group), modify_date=wish.now)
    if paid:
        saving.update(model, ("amount_paid",), paid)
    history.write_changes(model, entries)


def kind_of(differences: Mapping[str, list[Any]]) -> str:
    if "archive_date" not in differences:
        return "Changed"
    return "Restored" if differences["archive_date"][1] is None else "Archived"


def write_payments(
    model: type[AnyBill],
    changes: Sequence[Change],
    lines: Mapping[UUID, Sequence[Line]],
    paid: Mapping[UUID, Decimal],
) -> None:
    """Write what is paid of lines, and let their bills be told their sums."""
    line_model = LINES[model]
    changed = []
    for bill, _, values in changes:
        held = lines.get(bill.pk, ())
        changed += [line.key for line in held if paid[line.key] != line.paid]
        values["amount_paid"] = sum((paid[line.key] for line in held), ZERO)
    records = [line_model(guid=key, amount_paid=paid[key]) for key in changed]
    if records:
        saving.update(line_model, ("amount_paid",), records)


def tell_moves(
    model: type[AnyBill], changes: Sequence[Change], before: Mapping[UUID, Place], wish: Wish
) -> None:
    """Write who moved the bills from where to where, and why."""
    who = history.author()
    staff = who.staff_id if wish.by is None else wish.by.pk
    bulk_insert(
        StatusMove,
        (
            f"{model._meta.model_name}_id",
            "verb",
            "from_status",
            "to_status",
            "reason",
            "at",
            "staff_id",
            "application",
        ),
        [
            (
                change.bill.pk,
                wish.verb.value,
                before[change.bill.pk].status,
                change.target.status,
                wish.reason,
                wish.now,
                staff,
                who.application,
            )
            for change in changes
        ],
    )
