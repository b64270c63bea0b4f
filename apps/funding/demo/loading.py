"""Creates the demo's funding day by day: provider invoices, claims and invoices, and their transitions."""

import datetime as dt
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from uuid import UUID

from apps.base.money import to_cents
from apps.core.demo import YEARS, Context, DemoSet, Size, existing, read_data
from apps.documents.models import Document
from apps.funding.choices import ApprovalAction, InvoiceClaimType
from apps.funding.demo.answers import ANSWERS, PAID_IN_PART, Answers
from apps.funding.demo.bills import BillFactory, load_plans
from apps.funding.demo.price_books import load_price_books
from apps.funding.demo.warnings import create_claims_with_warnings, examples_of
from apps.funding.drafts import ApprovalDraft
from apps.funding.models import Claim, Invoice, Price, Product, ProviderInvoice
from apps.funding.services.claim_files import create_claim_files, mark_sent
from apps.funding.services.claim_windows import create_usual_claim_windows
from apps.funding.services.create import create_claims, create_invoices
from apps.funding.services.provider_invoices import act_on_provider_invoices, create_provider_invoices
from apps.funding.services.recurring import create_recurring_invoices
from apps.funding.services.transition_requests import TransitionResult
from apps.funding.services.transitions import apply_transition
from apps.funding.validation.transitions import TransitionName
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
#: The latest days have this part of the claims: those of the last month, whose other days have none, so that
#: many are approved and wait for the next claim file.
LATEST_PART, MONTH = Fraction(8, 100), 21
#: Before today by workdays, the days of the claim files: two years of monthly ones, then weekly ones.
FILE_DAYS = (*range(515, 60, -21), *range(60, 4, -5))
#: What the last files leave out still waits for somebody; what earlier ones left out was claimed by hand.
LAST_FILES = 6
#: Workdays from a claim file to its results, to its first remittance, and to that of the rest.
RESULTS_AFTER, PAID_AFTER, REST_AFTER = 1, 3, 6
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
PROVIDER_INVOICES = "Provider invoices"
#: Invoices that recur every month, and how many days ago the monthly run made more of them.
RECURRING, RUNS = 4, (100, 70, 40, 9)


@dataclass
class Timeline:
    """The past of the office, workday by workday; a day is a number of ``context.workdays``."""

    context: Context
    factory: BillFactory
    #: The bills that take a transition on a day, by day, model and transition, with those that follow.
    agenda: dict[tuple[int, type[Bill], str], dict[UUID, Sequence[str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    #: The days of claim files to come, and by the keys of the bills that wait for one what follows on it.
    file_days: list[int] = field(default_factory=list)
    waiting: dict[UUID, tuple[type[Bill], Sequence[str]]] = field(default_factory=dict)
    #: What the agency still does, each with its day.
    answers: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
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
            created = create_provider_invoices(drafts)
            self.context.report(ProviderInvoice, len(created))
            self.decide([key for key in created if factory.chance.random() < 0.5], ApprovalAction.APPROVE)
        for support, key in zip(new, created, strict=True):
            support.invoice = ProviderInvoice(pk=key)
            if support.plan.shares_invoice:
                support.plan.reusable = support.invoice
        with self.context.clock_at(date, 11):
            claims = [factory.claim(number, each) for number, each in enumerate(supports, self.claims)]
            keys = create_claims(claims, ignore_warnings=True) if claims else []
            self.begin_lives(day, Claim, keys, "claims")
            self.claims += len(claims)

    def create_invoices_of_day(self, day: int, count: int) -> None:
        """Create so many invoices; one in twelve has a credit."""
        factory = self.factory
        with self.context.clock_at(self.context.workdays[day], 13):
            creditors = [each for each in existing(factory.approvers) if each.has_perm(MAY_CREDIT)]
            plans = factory.current_plans()
            drafts = []
            for number in range(self.invoices, self.invoices + (count if plans else 0)):
                staff = factory.chance.choice(creditors or factory.approvers)
                is_credited = bool(creditors) and number % 12 == 0
                drafts.append(factory.invoice(number, factory.chance.choice(plans), staff, is_credited))
            keys = create_invoices(drafts, ignore_warnings=True) if drafts else []
            for recipient in InvoiceClaimType.values:
                alike = [
                    key
                    for key, draft in zip(keys, drafts, strict=True)
                    if draft.invoice_claim_type == recipient
                ]
                self.begin_lives(day, Invoice, alike, recipient)

    def create_recurring_invoices(self) -> None:
        """Create invoices that recur every month, and let the monthly run make the later ones."""
        for ago in RUNS:
            date = self.context.day(ago)
            with self.context.clock_at(date, 6) as now:
                if ago == RUNS[0]:
                    plans = self.factory.current_plans()
                    lasting = [plan for plan in plans if plan.last_day > self.context.as_of][:RECURRING]
                    drafts = [self.factory.recurring_invoice(plan) for plan in lasting]
                    if drafts:
                        create_invoices(drafts, ignore_warnings=True)
                list(create_recurring_invoices(date))
            new = Invoice.objects.filter(creation_date=now).order_by("invoice_number")
            day = bisect_left(self.context.workdays, date)
            self.begin_lives(day, Invoice, list(new.values_list("pk", flat=True)), "recurring_invoices")

    # --- transitions ------------------------------------------------------------------------------------

    def begin_lives(self, day: int, model: type[Bill], keys: Sequence[UUID], name: str) -> None:
        """Choose the life of each new bill; each day has the common life, and a few of the others."""
        common, *others = DATA["lives"][name]
        few = self.factory.chance.sample(others, min(OTHER_LIVES_OF_A_DAY, len(others)))
        share = sum(weight for weight, *_ in others) / max(sum(weight for weight, *_ in few), 1)
        weights = [common[0], *(weight * share for weight, *_ in few)]
        lives = self.factory.chance.choices([common, *few], weights, k=len(keys))
        for key, (_, *transitions) in zip(keys, lives, strict=True):
            self.schedule(day, model, key, transitions)
        self.context.report(model, len(keys))
        if model is Invoice:
            self.invoices += len(keys)

    def schedule(self, day: int, model: type[Bill], key: UUID, transitions: Sequence[str]) -> None:
        """Note the next of the transitions that a bill still takes."""
        if transitions:
            name, *following = transitions
            self.agenda[day + DAYS[name], model, name][key] = following

    def apply_transitions_before(self, end: int) -> None:
        """Let all that is due before the day happen: transitions, claim files, and the agency's answers.

        On one day the agency answers first, and files are made last.
        """
        while True:
            answer = min(self.answers, key=itemgetter(0), default=None)
            slot = min(self.agenda, key=itemgetter(0), default=None)
            days = (
                end if answer is None else answer[0],
                end if slot is None else slot[0],
                self.file_days[0] if self.file_days else end,
            )
            if min(days) >= end:
                return
            if answer is not None and days[0] == min(days):
                self.answers.remove(answer)
                with self.context.clock_at(self.context.workdays[answer[0]], 14):
                    answer[1]()
            elif slot is not None and days[1] == min(days):
                self.take_transition(slot)
            else:
                self.make_claim_files(self.file_days.pop(0))

    def take_transition(self, slot: tuple[int, type[Bill], str]) -> None:
        """Let the bills of one place of the agenda take their transition, or wait for a claim file."""
        day, model, name = slot
        bills = self.agenda.pop(slot)
        if name == TransitionName.CLAIM and day >= self.first_file_day:
            self.waiting |= {key: (model, following) for key, following in bills.items()}
            return
        # An approval is withdrawn from one bill at a time.
        groups = [[key] for key in bills] if name == TransitionName.WITHDRAW else [list(bills)]
        with self.context.clock_at(self.context.workdays[day], 15.5):
            for keys in groups:
                result = self.apply_transition(model, name, keys)
                for key in result.done:
                    self.schedule(day, model, key, bills[key])
                self.begin_lives(day, model, list(result.resubmissions.values()), "resubmissions")

    @property
    def first_file_day(self) -> int:
        return len(self.context.workdays) - FILE_DAYS[0]

    def make_claim_files(self, day: int) -> None:
        """Make the files of all that is approved by then, and send them; the agency will answer."""
        with self.context.clock_at(self.context.workdays[day], 17):
            files = create_claim_files(staff=self.factory.choose_staff())
            for file in files:
                mark_sent(file.pk, self.factory.choose_staff())
        for file in files:
            lives: dict[UUID, Sequence[str]] = {}
            for claim, invoice in file.lines.values_list("claim", "invoice").distinct():
                model, key = (Claim, claim) if claim else (Invoice, invoice)
                for slot, bills in self.agenda.items():
                    if slot[1] is model:
                        bills.pop(key, None)  # what it would have been instead
                _, lives[key] = self.waiting.pop(key, (model, [TransitionName.PAY.value]))
                self.schedule_after_answers(day, model, key, lives[key])
            self.expect_answers(day, Answers.to(file, lives))
        if len(self.file_days) >= LAST_FILES:
            self.claim_by_hand(day)

    def schedule_after_answers(self, day: int, model: type[Bill], key: UUID, life: Sequence[str]) -> None:
        """Note what a bill does by itself once the agency has answered as its life says."""
        name, *following = life
        if name not in ANSWERS:
            self.schedule(day, model, key, life)
        elif name == TransitionName.REFUSE:
            self.schedule(day + RESULTS_AFTER, model, key, following)
        elif following[:1] != [TransitionName.PAY_THE_REST]:
            self.schedule(day + PAID_AFTER, model, key, following)

    def expect_answers(self, day: int, answers: Answers) -> None:
        def paid_on(paid: int) -> dt.date:
            return self.context.workdays[paid]

        self.answers += [
            (day + RESULTS_AFTER, lambda: answers.import_results(self.factory.chance)),
            (day + PAID_AFTER, lambda: answers.import_remittance(paid_on(day + PAID_AFTER))),
            (day + REST_AFTER, lambda: answers.import_rest(paid_on(day + REST_AFTER))),
        ]

    def claim_by_hand(self, day: int) -> None:
        """Claim in the portal what no file takes, such as a provider's without a business number."""
        for model in (Claim, Invoice):
            lives = {key: following for key, (of, following) in self.waiting.items() if of is model}
            if not lives:
                continue
            with self.context.clock_at(self.context.workdays[day], 17.5):
                for key in self.apply_transition(model, TransitionName.CLAIM, list(lives)).done:
                    self.schedule(day, model, key, lives[key])
            self.waiting = {key: each for key, each in self.waiting.items() if key not in lives}

    def apply_transition(self, model: type[Bill], name: str, keys: Sequence[UUID]) -> TransitionResult:
        amounts = None
        if name == TransitionName.PAY_IN_PART:
            totals = model._default_manager.filter(pk__in=keys).values_list("pk", "total")
            amounts = {key: to_cents(total * PAID_IN_PART) for key, total in totals}
        staff = None if name in SYSTEM else self.factory.choose_staff()
        reason = self.factory.chance.choice(REASONS[name]) if name in REASONS else None
        result = apply_transition(model, keys, name, staff, reason, amounts)
        refused = [each.key for each in result.refused]
        others = [each for each in existing(self.factory.approvers) if each != staff]
        if name == TransitionName.APPROVE and refused and others:
            # With four eyes, somebody else approves what the first one entered.
            second = apply_transition(model, refused, name, self.factory.chance.choice(others))
            result.done += second.done
        return result

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
                plans = self.factory.current_plans()
                drafts = [
                    self.factory.provider_invoice_to_review(number, plans, documents) for number in numbers
                ]
                made = self.context.create(ProviderInvoice, create_provider_invoices, drafts)
            with self.context.clock_at(day, 12):
                # The first of each day are only received; the decisions come in turn.
                for nth, (action, reason) in enumerate(DECISIONS, start=part % 2):
                    self.decide([invoice.pk for invoice in made[2 + nth :: 8]], action, reason)

    def decide(self, keys: Sequence[UUID], action: ApprovalAction, reason: str | None = None) -> None:
        """Take an action on provider invoices."""
        if keys:
            values = {"verb": action.value, "staff": self.factory.choose_staff(), "reason": reason}
            act_on_provider_invoices(keys, ApprovalDraft(values, given=values))


def load(context: Context) -> None:
    """Create the funding of the context's sizes; people, documents and plans are created already."""
    create_usual_claim_windows()
    approvers = [each for each in context.records[Staff] if each.has_perm(MAY_ADMINISTER)]
    books, plans = load_price_books(context), load_plans(context)
    managed = [plan for plan in plans if plan.engagement.is_plan_managed]
    factory = BillFactory(context, books, managed, approvers, context.chance("funding"))
    end = len(context.workdays)
    days_of_files = [end - ago for ago in FILE_DAYS]
    timeline = Timeline(context, factory, file_days=days_of_files)
    claims, invoices = context.sizes["claims"], context.sizes["invoices"]
    if invoices >= 10 * RECURRING:
        timeline.create_recurring_invoices()
    recurring = timeline.invoices
    # Claims with warnings come only where they are few among the others.
    examples = examples_of(context, books, plans)
    examples = examples if claims >= 3 * len(examples) else []
    first = end * (YEARS - 2) // YEARS
    for day, share in days_of_bills(first, end, claims):
        timeline.apply_transitions_before(day)
        timeline.create_claims_of_day(day, int((claims - len(examples)) * share) - timeline.claims)
        due = recurring + int((invoices - recurring) * share)
        timeline.create_invoices_of_day(day, due - timeline.invoices)
    timeline.apply_transitions_before(end)
    create_claims_with_warnings(context, books, examples, approvers)
    timeline.fill_inbox(context.sizes["inbox"])


def days_of_bills(first: int, end: int, claims: int) -> list[tuple[int, Fraction]]:
    """The days that bills come in on, each with the part of them that has come by its end.

    A day before the last month has the bills of the days about it; the office grows fivefold meanwhile.
    """
    latest, before = end - LATEST_DAYS, end - MONTH
    count = max(min(OLDER_DAYS, claims // LEAST_OF_A_DAY), claims // MOST_OF_A_DAY, 1)
    count = min(count, before - first)
    older = []
    for nth in range(count):
        time = Fraction(nth + 1, count)
        day = first + (before - first) * (2 * nth + 1) // (2 * count)
        older.append((day, (1 - LATEST_PART) * time * (1 + 2 * time) / 3))
    left = (LATEST_PART * Fraction(end - 1 - day, LATEST_DAYS) for day in range(latest, end))
    return [*older, *((day, 1 - part) for day, part in zip(range(latest, end), left, strict=True))]


SIZES = (
    Size(
        "claims",
        1_500,
        0,
        "claims of two years; more need more people and invoices, where those are not asked for",
        least_ratio={"clients": 200, "staff": 4_000, "contacts": 30, "invoices": 20, "inbox": 15},
    ),
    Size("invoices", 200, 0, "invoices to the agency and to clients"),
    Size("inbox", 100, 0, "provider invoices that no claim is built on yet"),
)
DEMO = DemoSet(SIZES, (Product, Price, ProviderInvoice, Claim, Invoice), load)
