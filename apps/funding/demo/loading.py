"""Creates the demo's funding day by day: provider invoices, claims and invoices, and their transitions."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

from apps.core.demo import YEARS, Context, DemoSet, Size, draft_of, existing
from apps.documents.models import Document
from apps.funding.choices import ApprovalAction, InvoiceClaimType
from apps.funding.demo import lives
from apps.funding.demo.bills import (
    DAY,
    Catalogue,
    DemoPlan,
    Support,
    claim_draft,
    days_of_service,
    invoice_draft,
    load_catalogue,
    load_plans,
    provider_invoice_draft,
    provider_of,
    recurring_draft,
    support_lines,
)
from apps.funding.demo.guide import load_price_books, rounded
from apps.funding.demo.lives import Life, lives_of_day
from apps.funding.demo.warnings import WARNING_CODES, create_claims_with_warnings, examples_of
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
MAY_ADMINISTER, MAY_CREDIT = (
    "funding.administer_funding_invoices",
    "funding.administer_credit_invoices",
)

#: Bills come in on each of the last workdays; before, on fewer days, each with the bills of several.
LATEST_DAYS, OLDER_DAYS, LEAST_OF_A_DAY, MOST_OF_A_DAY = 8, 24, 25, 2_000
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


@dataclass(frozen=True, slots=True)
class Progress:
    """A bill and the step of its life that comes next."""

    key: UUID
    life: Life
    step: int = 0


@dataclass
class Timeline:
    """The past of the office, workday by workday; a day is a number of ``context.workdays``."""

    context: Context
    catalogue: Catalogue
    plans: list[DemoPlan]
    approvers: list[Staff]
    chance: Random
    #: The bills that take a step on a day, by model and transition.
    agenda: dict[int, dict[tuple[type[Bill], TransitionName], list[Progress]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    claims: int = 0
    invoices: int = 0

    def staff(self) -> Staff:
        """One of those who may administer funding and were there by now."""
        return self.chance.choice(existing(self.approvers))

    def current_plans(self) -> list[DemoPlan]:
        """The plans that bills come in for today."""
        today = clock.today()
        return [
            plan
            for plan in self.plans
            if plan.is_plan_managed and plan.known <= today <= plan.last_day + 10 * DAY
        ]

    # --- bills ------------------------------------------------------------------------------------------

    def create_claims_of_day(self, day: int, count: int) -> None:
        """Create so many claims, and an hour before the provider invoices that they are built on."""
        date = self.context.workdays[day]
        with self.context.clock_at(date, 10):
            supports = list(self.supports_of_day(count))
            fresh = [support for support in supports if support.invoice is None]
            drafts = [
                provider_invoice_draft(self.context, self.chance, number, support, self.staff())
                for number, support in enumerate(fresh, start=self.claims)
            ]
            created = self.context.create(ProviderInvoice, create_provider_invoices, drafts)
            approved = [invoice.pk for invoice in created if self.chance.random() < 0.85]
            self.decide(approved, ApprovalAction.APPROVE)
        for support, invoice in zip(fresh, created, strict=True):
            support.invoice = invoice
            if invoice.is_reusable:
                support.plan.reusable = invoice
        with self.context.clock_at(date, 11):
            claims = [
                claim_draft(self.chance, number, support, self.staff())
                for number, support in enumerate(supports, start=self.claims)
            ]
            self.claims += len(claims)
            self.create_bills(day, Claim, claims, lives.CLAIMS)

    def supports_of_day(self, count: int) -> Iterator[Support]:
        """The supports of so many claims; where nothing is left of a plan, another one comes in its place."""
        plans = self.current_plans()
        for _ in range(count):
            for plan in self.chance.sample(plans, min(8, len(plans))):
                days = days_of_service(self.chance, plan)
                most = 1 + self.chance.randrange(3)
                lines, total = support_lines(self.context, self.chance, self.catalogue, plan, days, most)
                if lines:
                    yield Support(plan, days, lines, total, plan.reusable)
                    break

    def create_invoices_of_day(self, day: int, count: int) -> None:
        with self.context.clock_at(self.context.workdays[day], 13):
            creditors = [each for each in existing(self.approvers) if each.has_perm(MAY_CREDIT)]
            plans = self.current_plans()
            drafts: dict[str, list[Draft]] = {each.value: [] for each in InvoiceClaimType}
            for number in range(self.invoices, self.invoices + (count if plans else 0)):
                plan, staff = self.chance.choice(plans), self.chance.choice(creditors or self.approvers)
                is_credited = bool(creditors) and number % 12 == 0
                draft = invoice_draft(
                    self.context, self.chance, number, self.catalogue, plan, staff, is_credited
                )
                drafts[draft.invoice_claim_type].append(draft)
            self.invoices += sum(map(len, drafts.values()))
            agency, client = InvoiceClaimType.INVOICE_TO_AGENCY, InvoiceClaimType.INVOICE_TO_CLIENT
            self.create_bills(day, Invoice, drafts[agency.value], lives.INVOICES_TO_AGENCY)
            self.create_bills(day, Invoice, drafts[client.value], lives.INVOICES_TO_CLIENTS)

    def create_bills(
        self, day: int, model: type[Bill], drafts: Sequence[Draft], possible_lives: Sequence[Life]
    ) -> None:
        """Create the bills, whatever they warn of, and choose the life of each."""
        if not drafts:
            return
        keys = (create_claims if model is Claim else create_invoices)(drafts, ignore_warnings=True)
        self.context.report(model, len(keys))
        self.begin_lives(day, model, keys, possible_lives)

    # --- transitions ------------------------------------------------------------------------------------

    def begin_lives(
        self, day: int, model: type[Bill], keys: Sequence[UUID], possible_lives: Sequence[Life]
    ) -> None:
        of_day, weights = lives_of_day(self.chance, possible_lives)
        for key, life in zip(keys, self.chance.choices(of_day, weights, k=len(keys)), strict=True):
            self.schedule(day, model, Progress(key, life))

    def schedule(self, day: int, model: type[Bill], progress: Progress) -> None:
        """Note the next step of a bill, if its life has one."""
        if progress.step < len(progress.life.steps):
            step = progress.life.steps[progress.step]
            self.agenda[day + step.days][model, step.transition].append(progress)

    def take_steps_before(self, end: int) -> None:
        """Let the bills take the steps of all days before ``end``."""
        while self.agenda and (day := min(self.agenda)) < end:
            with self.context.clock_at(self.context.workdays[day], 15.5):
                for (model, transition), bills in self.agenda.pop(day).items():
                    # An approval is withdrawn from one bill at a time.
                    groups = [[bill] for bill in bills] if transition == TransitionName.WITHDRAW else [bills]
                    for group in groups:
                        self.take_step(day, model, transition, group)

    def take_step(
        self, day: int, model: type[Bill], transition: TransitionName, bills: Sequence[Progress]
    ) -> None:
        """Let bills take the same step together, and note the next step of each."""
        by_key = {bill.key: bill for bill in bills}
        reasons = bills[0].life.steps[bills[0].step].reasons
        amounts = None
        if transition == TransitionName.PAY_IN_PART:
            totals = model._default_manager.filter(pk__in=by_key).values_list("pk", "total")
            amounts = {key: rounded(total * PAID_IN_PART) for key, total in totals}
        result = apply_transition(
            model,
            list(by_key),
            transition,
            staff=None if transition in SYSTEM else self.staff(),
            reason=self.chance.choice(reasons) if reasons else None,
            amounts=amounts,
        )
        for key in result.done:
            self.schedule(day, model, replace(by_key[key], step=by_key[key].step + 1))
        self.context.report(model, len(result.resubmissions))
        self.begin_lives(day, model, list(result.resubmissions.values()), lives.RESUBMITTED)

    def decide(self, keys: Sequence[UUID], action: ApprovalAction, reason: str | None = None) -> None:
        """Take an action on provider invoices."""
        if keys:
            values = {"verb": action.value, "staff": self.staff(), "reason": reason}
            act_on_provider_invoices(keys, Draft(values, given=values))

    # --- provider invoices without a claim --------------------------------------------------------------

    def fill_inbox(self, count: int) -> None:
        """Create provider invoices that no claim is built on, on some of the last days, and decide some."""
        documents = [
            document
            for document in self.context.records.get(Document, ())
            if document.category is not None and document.category.name == PROVIDER_INVOICES
        ]
        for part in range(INBOX_DAYS):
            day = self.context.workdays[-1 - 8 * (INBOX_DAYS - 1 - part)]
            numbers = range(count * part // INBOX_DAYS, count * (part + 1) // INBOX_DAYS)
            with self.context.clock_at(day, 9.5):
                drafts = [self.inbox_draft(number, documents) for number in numbers]
                made = self.context.create(ProviderInvoice, create_provider_invoices, drafts)
            with self.context.clock_at(day, 12):
                # The first of each day are only received; the decisions come in turn.
                for nth, (action, reason) in enumerate(DECISIONS, start=part % 2):
                    self.decide([invoice.pk for invoice in made[2 + nth :: 8]], action, reason)

    def inbox_draft(self, number: int, documents: list[Document]) -> Draft:
        """A provider invoice; some have nothing but their document."""
        chance, plans = self.chance, self.current_plans()
        document = documents.pop() if documents and number % 2 == 0 else None
        values: dict[str, Any] = {"document": document, "created_by": self.staff()}
        if document is not None and document.client is not None and not document.client.is_self:
            values["provider"] = document.client
        if document is not None and number % 3 == 0:
            return draft_of(ProviderInvoice, **values)
        last = clock.today() - (1 + chance.randrange(9)) * DAY
        values |= {
            "reference": f"R-{number + 1:06}",
            "service_start_date": last - chance.randrange(14) * DAY,
            "service_end_date": last,
            "invoice_total": Decimal(chance.randrange(4_000, 180_000)) / 100,
        }
        if plans and chance.random() < 0.85:
            plan = chance.choice(plans)
            provider = provider_of(self.context, chance, plan)
            values = {"contact": plan.participant, "provider": provider} | values
        return draft_of(ProviderInvoice, **values)

    # --- invoices that recur ----------------------------------------------------------------------------

    def create_invoices_that_recur(self) -> None:
        """Create invoices that recur every month, and let the monthly run make the later ones."""
        start = self.context.day(RECURRING_SINCE)
        with self.context.clock_at(start, 14):
            plans = [plan for plan in self.current_plans() if plan.last_day > self.context.as_of]
            drafts = [recurring_draft(self.catalogue, plan, self.staff()) for plan in plans[:RECURRING]]
            day = bisect_left(self.context.workdays, start)
            self.create_bills(day, Invoice, drafts, lives.INVOICES_TO_CLIENTS[:1])
        self.invoices += len(drafts)
        for ago in MONTHLY_RUNS:
            with self.context.clock_at(self.context.day(ago), 6):
                numbers = [
                    each.number
                    for each in create_recurring_invoices(clock.today())
                    if isinstance(each, CreatedInvoice)
                ]
                keys = Invoice.objects.filter(invoice_number__in=numbers).order_by("invoice_number")
                day = bisect_left(self.context.workdays, self.context.day(ago))
                self.begin_lives(
                    day, Invoice, list(keys.values_list("pk", flat=True)), lives.INVOICES_TO_CLIENTS[:1]
                )
            self.context.report(Invoice, len(numbers))
            self.invoices += len(numbers)


def load(context: Context) -> None:
    """Create the funding of the context's sizes; people, documents and plans are created already."""
    load_price_books(context)
    staff = context.records[Staff]
    approvers = [each for each in staff if each.has_perm(MAY_ADMINISTER)]
    plans, chance = load_plans(context), context.chance("funding")
    timeline = Timeline(context, load_catalogue(), plans, approvers, chance)
    claims, invoices = context.sizes["claims"], context.sizes["invoices"]
    # They come only where they are few among the others.
    warnings = len(list(examples_of(context, plans))) if claims >= 3 * len(WARNING_CODES) else 0
    if invoices >= 10 * RECURRING:
        timeline.create_invoices_that_recur()
    claims, invoices = claims - warnings, invoices - timeline.invoices
    end = len(context.workdays)
    first = end * (YEARS - 2) // YEARS
    for before, day in pairwise([first - 1, *days_of_bills(first, end, claims)]):
        shares = (Fraction(each + 1 - first, end - first) for each in (before, day))
        lower, upper = shares
        timeline.take_steps_before(day)
        timeline.create_claims_of_day(day, int(claims * upper) - int(claims * lower))
        timeline.create_invoices_of_day(day, int(invoices * upper) - int(invoices * lower))
    timeline.take_steps_before(end)
    if warnings:
        create_claims_with_warnings(context, timeline.catalogue, plans, approvers[0])
    timeline.fill_inbox(context.sizes["inbox"])


def days_of_bills(first: int, end: int, claims: int) -> list[int]:
    """The days that bills come in on; each has the bills of the days since the one before."""
    latest = end - LATEST_DAYS
    count = max(min(OLDER_DAYS, claims // LEAST_OF_A_DAY), claims // MOST_OF_A_DAY, 1)
    count = min(count, latest - first)
    return [first + (latest - first) * (nth + 1) // count - 1 for nth in range(count)] + list(
        range(latest, end)
    )


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
