"""Months of an office that claims, is answered and pays: each step is done twice, and all sums follow it.

What the agency told so far is kept beside the records, so that the two can be compared after each step.
"""

import calendar
import contextlib
import datetime as dt
from collections import Counter, defaultdict
from decimal import Decimal
from functools import partial

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.engagements.models import ServiceBooking
from apps.funding.file_formats.answer_files import sha256_of
from apps.funding.file_formats.remittances import read_remittance
from apps.funding.file_formats.results import read_results
from apps.funding.models import (
    Claim,
    ClaimFile,
    ClaimFileLine,
    ClaimResult,
    Invoice,
    RemittanceLine,
    StatusMove,
)
from apps.funding.services.answer_faults import find_answer_faults
from apps.funding.services.claim_files import create_claim_files, mark_sent, withdraw
from apps.funding.services.claim_results import import_results
from apps.funding.services.effects import recount_budgets
from apps.funding.services.invariants import find_claim_file_faults, find_money_faults
from apps.funding.services.remittances import import_remittance
from apps.funding.services.transitions import apply_transition
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_returns import read_returns
from apps.payments.models import BankAccount, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.services.accounts import confirm_account
from apps.payments.services.invariants import find_payment_faults
from apps.payments.services.ready import load_ready
from apps.payments.services.returns import apply_returns
from apps.payments.services.runs import create_run, release_run
from tests.engagements.builders import a_booking
from tests.funding.agency import Agency
from tests.funding.claim_file_checker import amount_of, read_file
from tests.funding.claimable import ABN, a_claimable_claim, a_claimable_invoice
from tests.payments.bank_file_checker import read_bank_file
from tests.payments.bank_returns import as_returned
from tests.payments.builders import a_confirmer, a_releaser, an_account, owed_amount
from tests.people.records import a_client

MODELS = (Claim, Invoice)
#: How often each is paid for a claim; the plan manager's own money is in no run.
PAYEES = ("Provider", "Provider", "Provider", "Client", "PlanManager")
#: How bills in a status are claimed again.
RESUBMITTED = {"PaymentProviderRejected": "resubmit", "AgencyPartiallyPaid": "resubmit-gap"}
CENT = Decimal("0.01")


class Told:
    """What the agency said of a line so far."""

    def __init__(self):
        self.paid, self.promised, self.is_refused = ZERO, None, False

    def outcome(self, amount):
        """The word for what is not paid of the line."""
        if self.paid == amount:
            return "paid"
        if self.is_refused:
            return "refused"
        return "waiting" if not self.paid or (self.promised or ZERO) > self.paid else "short"


class Office:
    """The months, one after the other, and what the agency told."""

    def __init__(self, chance, set_clock, folder):
        self.chance, self.set_clock, self.folder = chance, set_clock, folder
        self.bookings = [a_booking() for _ in range(3)]
        self.providers = [a_client(business_number=ABN) for _ in range(4)]
        # Of the others one has an account that nobody confirmed, one has none.
        for provider, confirmed in zip(self.providers, (True, True, False), strict=False):
            an_account(provider, confirmed)
        self.confirmer, self.releaser = a_confirmer(), a_releaser()
        self.told = defaultdict(Told)
        #: The words for each step that changed something.
        self.done = Counter()

    # --- a month

    def month(self, year, month):
        """From new bills to the second payment run."""
        last = calendar.monthrange(year, month)[1]
        self.set_clock(f"{year}-{month:02}-{last} 12:00")
        self.day = dt.date(year, month, 3)
        self.enter_bills()
        self.step(self.approve)
        lines = self.claim()
        self.answers_and_runs(self.agency_of(lines, month))
        self.step(self.make_run)
        for run in PaymentRun.objects.filter(status=RunStatus.DRAFT):
            self.step(lambda run=run: release_run(run.pk, self.releaser))
        self.returns(PaymentRun.objects.filter(status=RunStatus.RELEASED).order_by("number").last())
        self.step(self.make_run)
        for run in PaymentRun.objects.filter(status=RunStatus.DRAFT):
            self.step(lambda run=run: release_run(run.pk, self.releaser))
        self.resubmit()
        self.take_back()

    def enter_bills(self):
        for _ in range(self.chance.randint(4, 7)):
            claim = a_claimable_claim(
                self.some_lines(),
                provider=self.chance.choice(self.providers),
                send_payment_to=self.chance.choice(PAYEES),
                **self.new_bill(),
            )
            if claim.send_payment_to == "Client" and self.chance.random() < 0.5:
                an_account(claim.contact)
        a_claimable_invoice(self.some_lines(), **self.new_bill())
        recount_budgets()

    def new_bill(self):
        return {"funding_status": "AwaitingStaffApproval", "start_date": self.day, "end_date": self.day}

    def some_lines(self):
        return [
            {
                "first_day": self.day,
                "last_day": self.day,
                "booking": self.chance.choice(self.bookings),
                "quantity": self.chance.choice(("1", "3", "0.5")),
                "price": f"{self.chance.randint(1, 30_000) / 100:.2f}",
            }
            for _ in range(self.chance.randint(1, 4))
        ]

    def approve(self):
        for model in MODELS:
            waiting = model.objects.filter(funding_status="AwaitingStaffApproval", archive_date=None)
            apply_transition(model, list(waiting.values_list("pk", flat=True)), "approve")

    def claim(self):
        """Make the claim files and send them; by chance one is withdrawn and made again before."""
        self.step(create_claim_files)
        if self.chance.random() < 0.5:
            for file in ClaimFile.objects.filter(status="NotSent"):
                self.step(lambda file=file: withdraw(file.pk))
            self.step(create_claim_files)
        files = list(ClaimFile.objects.filter(status="NotSent"))
        for file in files:
            self.step(lambda file=file: mark_sent(file.pk))
        return list(ClaimFileLine.objects.filter(claim_file__in=files))

    def agency_of(self, lines, month):
        days = tuple(dt.date(self.day.year, month, day) for day in (12, 17, 24))
        form = self.chance.choice(("%Y%m%d", "%d%m%Y"))
        return Agency(self.chance, form, days, cancels=True).answer(lines)

    def answers_and_runs(self, agency):
        """All answers in any order, some of them again later, and by chance a run between them."""
        files = agency.write(self.folder / f"{self.day}", odd=self.chance.random() < 0.5)
        order = [*files, *self.chance.sample(sorted(files), 2 if len(files) > 1 else 1)]
        self.chance.shuffle(order)
        order += [name for name in files if name == "results"]  # of lines that were cancelled meanwhile
        seen = set()
        for name in order:
            if name not in seen:
                self.hear(agency, name)
            seen.add(name)
            self.step(lambda name=name: self.import_answers(name, files[name]), name.rstrip("012"))
            if self.chance.random() < 0.2:
                self.step(self.make_run)

    def hear(self, agency, name):
        """Keep what a file says, as the agency meant it."""
        if name.startswith("paid"):
            for row in agency.remittances[int(name.removeprefix("paid"))]:
                self.told[row["ProvClaimRef"]].paid += Decimal(row["AmountPaid"])
            return
        for row in agency.results if name == "results" else agency.cancellations:
            told = self.told[row["Claim Reference"]]
            told.is_refused |= row["Payment Request Status"] != "SUCCESSFUL"
            told.promised = Decimal(row["Paid Total Amount"]) if row["Paid Total Amount"] else told.promised

    def import_answers(self, name, path):
        if name.startswith("results"):
            import_results(read_results(path)[1], path.name)
        else:
            import_remittance(read_remittance(path, clock.today())[1], path.name, sha256_of(path))

    # --- paying out

    def make_run(self):
        """A run of all that is ready; of payees who owe something it is sometimes set off."""
        payees = load_ready()
        owed = [each.claim.pk for p in payees if p.amount > owed_amount(p) for each in p.owed]
        with contextlib.suppress(Refusal):
            create_run(None, clock.today(), None, self.chance.choice(([], owed)))

    def returns(self, run):
        """Some payments of a run come back by the bank's file, then their accounts are confirmed again."""
        if run is None or not run.bank_files.exists():
            return
        lines = [line for file in run.bank_files.all() for line in bytes(file.content).split(b"\r\n")]
        paid = [line for line in lines if line[:1] == b"1"]
        chosen = self.chance.sample(paid, min(2, len(paid)))
        back = b"".join(map(as_returned, chosen))
        self.step(lambda: apply_returns(read_returns(back), None), "returns")
        for account in BankAccount.objects.exclude(unconfirmed_because=None).filter(archive_date=None):
            self.step(lambda account=account: self.confirm(account))

    def confirm(self, account):
        confirm_account(account.pk, self.confirmer, "Rang them on the number that was known before")

    # --- what goes on with claims

    def resubmit(self):
        """Claim again what was refused or paid short, of half of the bills."""
        for model in MODELS:
            for status, name in RESUBMITTED.items():
                found = model.objects.filter(funding_status=status, resubmissions=None).order_by("pk")
                keys = list(found.values_list("pk", flat=True))[::2]
                self.step(partial(apply_transition, model, keys, name), name)

    def take_back(self):
        """The agency takes back all but a cent of what it paid of a claim: it is owed by who was paid."""
        paid = Claim.objects.filter(funding_status="AgencyFullyPaid", resubmissions=None)
        claim = paid.order_by("-creation_date", "-pk").first()
        if claim is not None:
            taken = {claim.pk: claim.amount_paid - CENT}
            self.step(partial(self.leave_nothing_but, claim.pk, taken), "take back")

    def leave_nothing_but(self, key, taken):
        if Claim.objects.get(pk=key).amount_paid > CENT:
            apply_transition(Claim, [key], "take-back", reason="Debt 17", amounts=taken)

    # --- steps and sums

    def step(self, call, name=None):
        """Do something, look at all sums, and do it again: then nothing may change."""
        before = self.state()
        with contextlib.suppress(Refusal):
            call()
        after = self.state()
        self.done[name or getattr(call, "__name__", "step")] += before != after
        self.check()
        with contextlib.suppress(Refusal):
            call()
        assert self.state() == after, "the second time changed something"

    def state(self):
        """Everything that a step may change."""
        bills = [model.objects.order_by("pk").values_list() for model in MODELS]
        kept = (ClaimFileLine, ClaimResult, RemittanceLine, StatusMove, PaymentRunClaim, PaymentRunItem)
        rows = [model.objects.order_by("pk").values_list() for model in kept]
        plain = [ClaimFile.objects.order_by("pk").values_list("pk", "status", "sha256", "sent_at")]
        plain += [PaymentRun.objects.order_by("pk").values_list("pk", "status", "total", "released_at")]
        plain += [BankAccount.objects.order_by("pk").values_list("pk", "confirmed_at", "confirmed_by")]
        plain += [ServiceBooking.objects.order_by("pk").values_list("pk", "claimed", "paid", "waiting")]
        return [list(each) for each in (*bills, *rows, *plain)]

    def check(self):
        """All invariants of money, to the cent."""
        self.check_lines()
        self.check_files()
        check_payouts()
        faults = (find_money_faults, find_claim_file_faults, find_answer_faults, find_payment_faults)
        assert [fault for find in faults for fault in find()] == []
        assert recount_budgets() == (0, 0, 0)

    def check_lines(self):
        """Claimed = paid + refused + short + waiting: of each line, and as the agency told it."""
        bills = ("claim", "invoice", "claim_line", "invoice_line")
        lines = ClaimFileLine.objects.filter(is_withdrawn=False).select_related("result", *bills)
        taken_back = sum_taken_back()
        for line in lines.prefetch_related("payments"):
            paid = sum((each.amount for each in line.payments.all() if each.is_applied), ZERO)
            told = self.told[line.reference]
            assert paid == told.paid, line
            result = getattr(line, "result", None)
            assert bool(result and not result.is_accepted) is told.is_refused, line
            of_bill = line.claim_line or line.invoice_line
            taken = taken_back[str(of_bill.pk)] if of_bill else ZERO
            assert of_bill.amount_paid - taken == paid, line
            rest = dict.fromkeys(("refused", "short", "waiting"), ZERO)
            if paid < line.amount:
                rest[told.outcome(line.amount)] = line.amount - paid
            assert line.amount == paid + sum(rest.values())
            bill = line.claim or line.invoice
            if rest["waiting"] and not taken:
                assert bill.funding_status in ("AgencyClaimed", "AgencyPartiallyPaid"), (line, bill)
            if rest["refused"] and rest["refused"] == bill.total:
                assert bill.funding_status == "PaymentProviderRejected"

    def check_files(self):
        """No line is in two files; each file is what its lines are; no reference is given twice."""
        lines = ClaimFileLine.objects.filter(is_withdrawn=False)
        counts = Counter(lines.values_list("claim_line", "invoice_line"))
        assert not counts or max(counts.values()) == 1
        references = []
        for file in ClaimFile.objects.prefetch_related("lines"):
            rows = read_file(file.file_name, bytes(file.content))
            references += [row["ClaimReference"] for row in rows]
            assert sum(map(amount_of, rows)) == sum(each.amount for each in file.lines.all()) == file.total
        assert len(references) == len(set(references))


def sum_taken_back():
    """What the agency took back of each line, below zero."""
    sums = defaultdict(lambda: ZERO)
    for lines in StatusMove.objects.filter(verb="take-back").values_list("paid_lines", flat=True):
        for line, amount in lines.items():
            sums[line] += Decimal(amount)
    return sums


def check_payouts():
    """Of each claim, what is in runs and what is ready is what was paid; bank files pay that and no more."""
    out = defaultdict(lambda: ZERO)
    for part in PaymentRunClaim.objects.filter(returned=False):
        out[part.claim_id] += part.amount
    ready = {each.claim.pk: each.amount for p in load_ready() for each in (*p.claims, *p.owed)}
    paid = held = own = ZERO
    for claim in Claim.objects.all():
        new = claim.amount_paid - claim.paid_earlier
        if claim.send_payment_to == "PlanManager":
            own += new
            assert (out[claim.pk], claim.pk in ready) == (ZERO, False)
        assert out[claim.pk] == (
            ZERO if claim.send_payment_to == "PlanManager" else new - ready.get(claim.pk, ZERO)
        )
        paid, held = paid + new, held + ready.get(claim.pk, ZERO)
    sent = drafts = ZERO
    for run in PaymentRun.objects.prefetch_related("items", "bank_files"):
        in_files = [each.amount for file in run.bank_files.all() for each in payments_in(file)]
        if run.status == RunStatus.RELEASED:
            assert sorted(in_files) == sorted(each.amount for each in run.items.all())
            sent += sum(in_files) - sum(each.amount for each in run.items.all() if each.returned_at)
        else:
            assert in_files == []
            drafts += run.total if run.status == RunStatus.DRAFT else ZERO
    assert sent == paid - held - own - drafts


def payments_in(file):
    return read_bank_file(bytes(file.content))[0]
