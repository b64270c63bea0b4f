"""The demo data of payments: confirmed and doubtful accounts, two years of runs, accounts exports."""

import datetime as dt
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from django.db.models import Min

from apps.base.drafts import Draft
from apps.base.errors import Refusal
from apps.core import history
from apps.core.demo import Context, DemoSet, draft_of, existing
from apps.funding.models import Claim
from apps.payments.choices import AccountsStyle
from apps.payments.demo_statements import load_statements
from apps.payments.drafts import AccountCodeDraft, AccountDraft
from apps.payments.models import (
    AccountCode,
    AccountsExport,
    BankAccount,
    PaymentRun,
    PaymentSettings,
    Statement,
    StatementConsent,
)
from apps.payments.services.account_codes import create_account_codes
from apps.payments.services.accounts import (
    confirm_account,
    create_bank_accounts,
    save_payment_settings,
)
from apps.payments.services.accounts_exports import ADD_PERMISSION, create_accounts_export
from apps.payments.services.opening import record_paid_before
from apps.payments.services.ready import open_claims
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import create_run, release_run, withdraw_run
from apps.payments.validation import CONFIRM_PERMISSION, RELEASE_PERMISSION
from apps.people.models import Client, Contact, Staff

#: Before the demo's day by workdays, the days of runs: monthly ones for two years, then weekly ones. What is
#: paid after the last is ready. The first day on which the agency paid counts as paid out elsewhere.
MONTHLY, WEEKLY = range(500, 40, -21), range(38, 5, -5)
#: So many owners get an account before a run at once: what came since is entered with a later one.
LEAST_NEW = 30
#: At most so many organisations, and a third of it people, have an account.
ACCOUNTS = 300
#: Of so many accounts one is not confirmed.
UNCONFIRMED = 12
OWN_ACCOUNT = {
    **{"bsb": "999-100", "account_number": "100200", "bank": "CBA", "user_id": "301500"},
    "account_name": "SOUTHERN PLANS TRUST",
}
#: Accounts are exported from the first of the last so many runs on.
EXPORTED_RUNS = 6
ACCOUNTS_OPTIONS = {
    **{"accounts_style": AccountsStyle.XERO_JOURNALS.value, "bank_code": "610", "clearing_code": "805"},
    "gst_code": "",
}
ACCOUNT_CODES = (
    {"used_for": "OwnFee", "code": "200"},
    {"used_for": "OwnFee", "category": 14, "code": "210"},
)


@dataclass
class Payments:
    """The past of the payments: who makes runs, who releases them, and whose account is known."""

    context: Context
    maker: Staff
    other: Staff
    known: set[UUID] = field(default_factory=set)
    runs: list[PaymentRun] = field(default_factory=list)

    def enter_new_accounts(self, least: int = LEAST_NEW) -> None:
        """An account of each owner who is there by now and has none, most of them confirmed at once."""
        records = self.context.records
        people = (each for each in existing(records[Contact]) if each.scheme_number)
        owners = [*existing(records[Client])[1:ACCOUNTS], *islice(people, ACCOUNTS // 3)]
        new = [owner for owner in owners if owner.pk not in self.known]
        if len(new) < least:
            return
        first = len(self.known)
        self.known |= {owner.pk for owner in new}
        for number, account in enumerate(enter_accounts(self.context, new, self.maker), first + 1):
            if number % UNCONFIRMED:
                confirm_account(account.pk, self.other, "Rang them on the number of their service agreement")

    def make_run(self, day: dt.date) -> PaymentRun | None:
        """A run of what is ready on the day; none where nobody can be paid."""
        with self.context.clock_at(day, 10):
            self.enter_new_accounts()
        with self.context.clock_at(day, 16) as now, suppress(Refusal):
            paid = open_claims().filter(payment_date__lte=now).order_by("pk")
            return create_run(list(paid.values_list("pk", flat=True)), day, self.maker)
        return None

    def release(self, run: PaymentRun, day: dt.date) -> None:
        with self.context.clock_at(day, 16.5):
            self.runs.append(release_run(run.pk, self.other))


def load(context: Context) -> None:
    """Accounts, runs and exports; none while nobody may make runs or release them."""
    load_statements(context)
    staff = context.records[Staff]
    makers = [each for each in staff if each.has_perm("payments.add_paymentrun")]
    approvers = [each for each in staff if each.has_perms([CONFIRM_PERMISSION, RELEASE_PERMISSION])]
    pair = next(((one, other) for one in makers for other in approvers if one != other), None)
    if pair is None:
        return
    payments, days = Payments(context, *pair), context.workdays
    with context.clock_at(days[-MONTHLY[0]], 9):
        if PaymentSettings.current().missing:
            save_payment_settings([Draft(OWN_ACCOUNT, given=OWN_ACCOUNT)])
    first = Claim.objects.aggregate(first=Min("payment_date"))["first"]
    if first is not None and not PaymentRun.objects.exists():
        load_runs(payments, days, bisect_left(days, first.astimezone(context.zone).date()))
    with context.clock_at(days[-1], 9):
        payments.enter_new_accounts(least=1)
    if payments.runs:
        days_of_runs = [run.day for run in payments.runs[-EXPORTED_RUNS:]]
        load_accounts_exports(context, days_of_runs[0], days_of_runs)


def load_runs(payments: Payments, days: Sequence[dt.date], opening: int) -> None:
    """Record what was paid by the first day, then the runs; one is withdrawn, a draft waits at the end."""
    context = payments.context
    with context.clock_at(days[opening], 16) as now, suppress(Refusal):
        record_paid_before(payments.maker, now)
        context.report(PaymentRun, 1)
    is_withdrawn = False
    for ago in (*MONTHLY, *WEEKLY):
        run = payments.make_run(days[-ago]) if len(days) - ago > opening else None
        if run is None:
            continue
        context.report(PaymentRun, 1)
        if ago in WEEKLY and not is_withdrawn:
            is_withdrawn = True  # the next one has its claims
            with context.clock_at(days[-ago], 16.2):
                withdraw_run(run.pk)
        else:
            payments.release(run, days[-ago])
    if payments.runs:
        add_account_problems(payments, days[-1])
    with context.clock_at(days[-1], 16), suppress(Refusal):
        ready = list(open_claims().order_by("pk").values_list("pk", flat=True))
        create_run(ready[::2], context.as_of, payments.maker)
        context.report(PaymentRun, 1)


def add_account_problems(payments: Payments, day: dt.date) -> None:
    """A payment of the last run comes back; another of the last payees has a new account, not confirmed."""
    items = [item for run in payments.runs[:-4:-1] for item in run.items.select_related("client", "contact")]
    returned, others = items[0], [item for item in items if item.account_id != items[0].account_id]
    with payments.context.clock_at(day, 10):
        mark_returned(returned.pk, "account closed", payments.maker)
        if others:
            enter_accounts(payments.context, [others[0].payee], payments.maker)


def enter_accounts(context: Context, owners: Sequence[Client | Contact], maker: Staff) -> list[BankAccount]:
    """An account of each owner, at a bank that does not exist."""
    drafts = []
    for owner in owners:
        chance = context.chance(f"bank account of {owner.pk}")
        drafts.append(
            draft_of(
                AccountDraft,
                BankAccount,
                **{"client" if isinstance(owner, Client) else "contact": owner},
                bsb=f"999-{chance.randrange(101, 900)}",
                account_number=str(chance.randrange(10_000_000, 99_999_999)),
                account_name=str(owner),
            )
        )
    with history.as_author(history.author()._replace(staff_id=maker.pk)):
        return context.create(BankAccount, create_bank_accounts, drafts)


def load_accounts_exports(context: Context, first: dt.date, days: Sequence[dt.date]) -> None:
    """The settings and codes of accounts, and exports until some of the last days; what came later is new."""
    maker = next((each for each in context.records[Staff] if each.has_perm(ADD_PERMISSION)), None)
    if maker is None or AccountsExport.objects.exists():
        return
    with context.clock_at(first, 17):
        values = {**ACCOUNTS_OPTIONS, "accounts_from": first}
        save_payment_settings([Draft(values, given=values)])
        if not AccountCode.objects.exists():
            context.create(
                AccountCode,
                create_account_codes,
                [draft_of(AccountCodeDraft, AccountCode, **each) for each in ACCOUNT_CODES],
            )
    for day in days[1::2]:
        with context.clock_at(day, 18), suppress(Refusal):
            create_accounts_export(day, maker)
            context.report(AccountsExport, 1)


DEMO = DemoSet((), (PaymentRun, BankAccount, AccountsExport, AccountCode, Statement, StatementConsent), load)
