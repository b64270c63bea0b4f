"""Creates the demo's funding day by day: provider invoices, claims and invoices, and their transitions."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from apps.core.demo import YEARS, Context, DemoSet, Size, existing, read_data
from apps.documents.models import Document
from apps.funding.choices import ApprovalAction, InvoiceClaimType
from apps.funding.demo.bills import BillFactory, load_plans
from apps.funding.demo.price_books import load_price_books, rounded
from apps.funding.demo.warnings import create_claims_with_warnings, examples_of
from apps.funding.models import Claim, Invoice, Price, Product, ProviderInvoice
from apps.funding.services.create import create_claims, create_invoices
from apps.funding.services.provider_invoices import act_on_provider_invoices, create_provider_invoices
from apps.funding.services.recurring import CreatedInvoice, create_recurring_invoices
from apps.funding.services.transitions import apply_transition
from apps.funding.statuses import TransitionName
from apps.odata import clock
from apps.odata.write.drafts import Draft
from apps.people.models import Staff

Bill = Claim | Invoice
DATA = read_data(str(Path(__file__).with_name("timeline")))
DAYS, REASONS = DATA["days"], DATA["reasons"]
MAY_ADMINISTER, MAY_CREDIT = (
    "funding.administer_funding_invoices",
    "funding.administer_credit_invoices",
)

#: Bills come in on each of the last workdays; before, on fewer days, each with the bills of several.
LATEST_DAYS, OLDER_DAYS, LEAST_OF_A_DAY, MOST_OF_A_DAY = 8, 24, 25, 2_000
#: So many lives besides the common one, which comes first, occur among the bills of one day: each life that
#: only one bill of a day has costs calls of its own.
OTHER_LIVES_OF_A_DAY = 4
#: Answers of the agency and of the payment provider: nobody in the office makes these transitions.
SYSTEM = frozenset({TransitionName.ACCEPT, TransitionName.REJECT, TransitionName.CONFIRM_CANCELLATION})
#: So many days the provider invoices without a claim came on.
INBOX_DAYS = 5
#: The decisions about them, with their reasons.
DECISIONS: tuple[tuple[ApprovalAction, str | None], ...] = (
    (ApprovalAction.APPROVE, None),
    (ApprovalAction.HOLD_BY_CLIENT, "The participant asks for a timesheet"),
    (ApprovalAction.HOLD_BY_PLAN_MANAGER, "Waiting for the plan review"),
    (ApprovalAction.REJECT, "A statement, not an invoice"),
)
PAID_IN_PART = Decimal("0.63")
PROVIDER_INVOICES = "Provider invoices"
#: Invoices that recur every month; the monthly run made more of them so many days ago.
RECURRING, RECURRING_SINCE, MONTHLY_RUNS = 4, 100, (70, 40, 9)


class Progress(NamedTuple):
    """A bill and the transitions of its life that are still to come."""

    key: UUID
    transitions: Sequence[str]


@dataclass
class Timeline:
    """The past of the office, workday by workday; a day is a number of ``context.workdays``."""

    context: Context
    factory: BillFactory
    #: The bills that take a transition on a day, by model and transition.
    agenda: dict[int, dict[tuple[type[Bill], str], list[Progress]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    claims: int = 0
    invoices: int = 0

    # --- bills ------------------------------------------------------------------------------------------

    def create_claims_of_day(self, day: int, count: int) -> None:
        """Create so many claims, and an hour before the provider invoices that they are built on."""
        date, factory = self.context.workdays[day], self.factory
        with self.context.clock_at(date, 10):
            supports = list(factory.supports(count))
            new = [support for support in supports if support.invoice is None]
            drafts = [factory.provider_invoice(number, each) for number, each in enumerate(new, self.claims)]
            created = self.context.create(ProviderInvoice, create_provider_invoices, drafts)
            approved = [invoice.pk for invoice in created if factory.chance.random() < 0.85]
            self.decide(approved, ApprovalAction.APPROVE)
        for support, invoice in zip(new, created, strict=True):
            support.invoice = invoice
            if invoice.is_reusable:
                support.plan.reusable = invoice
        with self.context.clock_at(date, 11):
            claims = [factory.claim(number, each) for number, each in enumerate(supports, self.claims)]
            self.claims += len(claims)
            self.create_bills(day, Claim, claims, "claims")

    def create_invoices_of_day(self, day: int, count: int) -> None:
        factory = self.factory
        with self.context.clock_at(self.context.workdays[day], 13):
            creditors = [each for each in existing(factory.approvers) if each.has_perm(MAY_CREDIT)]
            plans = [plan for plan in factory.plans if plan.is_current()]
            drafts = []
            for number in range(self.invoices, self.invoices + (count if plans else 0)):
                staff = factory.chance.choice(creditors or factory.approvers)
                is_credited = bool(creditors) and number % 12 == 0
                drafts.append(factory.invoice(number, factory.chance.choice(plans), staff, is_credited))
            for recipient, lives in (
                (InvoiceClaimType.INVOICE_TO_AGENCY, "invoices_to_agency"),
                (InvoiceClaimType.INVOICE_TO_CLIENT, "invoices_to_clients"),
            ):
                alike = [draft for draft in drafts if draft.invoice_claim_type == recipient]
                self.create_bills(day, Invoice, alike, lives)

    def create_bills(self, day: int, model: type[Bill], drafts: Sequence[Draft], lives: str) -> None:
        """Create the bills, whatever they warn of, and choose the life of each."""
        if not drafts:
            return
        keys = (create_claims if model is Claim else create_invoices)(drafts, ignore_warnings=True)
        self.begin_lives(day, model, keys, lives)

    def create_recurring_invoices(self) -> None:
        """Create invoices that recur every month, and let the monthly run make the later ones."""
        start = self.context.day(RECURRING_SINCE)
        with self.context.clock_at(start, 14):
            plans = [plan for plan in self.factory.plans if plan.is_current()]
            lasting = [plan for plan in plans if plan.last_day > self.context.as_of][:RECURRING]
            drafts = [self.factory.recurring_invoice(plan) for plan in lasting]
            day = bisect_left(self.context.workdays, start)
            self.create_bills(day, Invoice, drafts, "recurring_invoices")
        for ago in MONTHLY_RUNS:
            with self.context.clock_at(self.context.day(ago), 6):
                results = create_recurring_invoices(clock.today())
                numbers = [each.number for each in results if isinstance(each, CreatedInvoice)]
                found = Invoice.objects.filter(invoice_number__in=numbers).order_by("invoice_number")
                day = bisect_left(self.context.workdays, self.context.day(ago))
                keys = list(found.values_list("pk", flat=True))
                self.begin_lives(day, Invoice, keys, "recurring_invoices")

    # --- transitions ------------------------------------------------------------------------------------

    def begin_lives(self, day: int, model: type[Bill], keys: Sequence[UUID], name: str) -> None:
        """Choose the life of each new bill; each day has the common life, and a few of the others."""
        common, *others = DATA["lives"][name]
        few = self.factory.chance.sample(others, min(OTHER_LIVES_OF_A_DAY, len(others)))
        share = sum(weight for weight, *_ in others) / max(sum(weight for weight, *_ in few), 1)
        weights = [common[0], *(weight * share for weight, *_ in few)]
        lives = self.factory.chance.choices([common, *few], weights, k=len(keys))
        for key, (_, *transitions) in zip(keys, lives, strict=True):
            self.schedule(day, model, Progress(key, transitions))
        self.context.report(model, len(keys))
        if model is Invoice:
            self.invoices += len(keys)

    def schedule(self, day: int, model: type[Bill], progress: Progress) -> None:
        """Note the next transition of a bill, if its life has one."""
        if progress.transitions:
            name = progress.transitions[0]
            self.agenda[day + DAYS[name]][model, name].append(progress)

    def apply_transitions_before(self, end: int) -> None:
        """Let the bills take the transitions of all days before ``end``."""
        while self.agenda and (day := min(self.agenda)) < end:
            with self.context.clock_at(self.context.workdays[day], 15.5):
                for (model, name), bills in self.agenda.pop(day).items():
                    # An approval is withdrawn from one bill at a time.
                    groups = [[bill] for bill in bills] if name == TransitionName.WITHDRAW else [bills]
                    for group in groups:
                        self.apply_transition(day, model, name, group)

    def apply_transition(self, day: int, model: type[Bill], name: str, bills: Sequence[Progress]) -> None:
        """Let bills take a transition together, and note the next one of each."""
        following = {bill.key: bill.transitions[1:] for bill in bills}
        amounts = None
        if name == TransitionName.PAY_IN_PART:
            totals = model._default_manager.filter(pk__in=following).values_list("pk", "total")
            amounts = {key: rounded(total * PAID_IN_PART) for key, total in totals}
        result = apply_transition(
            model,
            list(following),
            name,
            staff=None if name in SYSTEM else self.factory.choose_staff(),
            reason=self.factory.chance.choice(REASONS[name]) if name in REASONS else None,
            amounts=amounts,
        )
        for key in result.done:
            self.schedule(day, model, Progress(key, following[key]))
        self.begin_lives(day, model, list(result.resubmissions.values()), "resubmissions")

    # --- provider invoices ------------------------------------------------------------------------------

    def fill_inbox(self, count: int) -> None:
        """Create provider invoices that no claim is built on, on some of the last days, and decide some."""
        documents = [
            document
            for document in self.context.records[Document]
            if document.category is not None and document.category.name == PROVIDER_INVOICES
        ]
        for part in range(INBOX_DAYS):
            day = self.context.workdays[-1 - 8 * (INBOX_DAYS - 1 - part)]
            numbers = range(count * part // INBOX_DAYS, count * (part + 1) // INBOX_DAYS)
            with self.context.clock_at(day, 9.5):
                drafts = [self.factory.provider_invoice_to_review(number, documents) for number in numbers]
                made = self.context.create(ProviderInvoice, create_provider_invoices, drafts)
            with self.context.clock_at(day, 12):
                # The first of each day are only received; the decisions come in turn.
                for nth, (action, reason) in enumerate(DECISIONS, start=part % 2):
                    self.decide([invoice.pk for invoice in made[2 + nth :: 8]], action, reason)

    def decide(self, keys: Sequence[UUID], action: ApprovalAction, reason: str | None = None) -> None:
        """Take an action on provider invoices."""
        if keys:
            values = {"verb": action.value, "staff": self.factory.choose_staff(), "reason": reason}
            act_on_provider_invoices(keys, Draft(values, given=values))


def load(context: Context) -> None:
    """Create the funding of the context's sizes; people, documents and plans are created already."""
    approvers = [each for each in context.records[Staff] if each.has_perm(MAY_ADMINISTER)]
    books, plans = load_price_books(context), load_plans(context)
    factory = BillFactory(context, books, plans, approvers, context.chance("funding"))
    timeline = Timeline(context, factory)
    claims, invoices = context.sizes["claims"], context.sizes["invoices"]
    if invoices >= 10 * RECURRING:
        timeline.create_recurring_invoices()
    recurring = timeline.invoices
    # Claims with warnings come only where they are few among the others.
    examples = examples_of(context, books, plans)
    examples = examples if claims >= 3 * len(examples) else []
    end = len(context.workdays)
    first = end * (YEARS - 2) // YEARS
    for day in days_of_bills(first, end, claims):
        share = Fraction(day - first + 1, end - first)
        timeline.apply_transitions_before(day)
        timeline.create_claims_of_day(day, int((claims - len(examples)) * share) - timeline.claims)
        due = recurring + int((invoices - recurring) * share)
        timeline.create_invoices_of_day(day, due - timeline.invoices)
    timeline.apply_transitions_before(end)
    create_claims_with_warnings(context, books, examples, approvers)
    timeline.fill_inbox(context.sizes["inbox"])


def days_of_bills(first: int, end: int, claims: int) -> list[int]:
    """The days that bills come in on; each has the bills of the days since the one before."""
    latest = end - LATEST_DAYS
    count = max(min(OLDER_DAYS, claims // LEAST_OF_A_DAY), claims // MOST_OF_A_DAY, 1)
    count = min(count, latest - first)
    older = (first + (latest - first) * (nth + 1) // count - 1 for nth in range(count))
    return [*older, *range(latest, end)]


SIZES = (
    Size(
        "claims",
        1_500,
        0,
        "claims of two years; more need more people and invoices, where those are not asked for",
        least_ratio={"clients": 200, "staff": 4_000, "contacts": 30, "invoices": 8, "inbox": 15},
    ),
    Size("invoices", 200, 0, "invoices to the agency and to clients"),
    Size("inbox", 100, 0, "provider invoices that no claim is built on yet"),
)
FUNDING = DemoSet("funding", SIZES, (Product, Price, ProviderInvoice, Claim, Invoice), load)
