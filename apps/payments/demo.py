"""The demo data of payments: confirmed and doubtful accounts, runs, one to be released, accounts exports."""

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress

from apps.base.drafts import Draft
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
from apps.payments.services.accounts import confirm_account, create_bank_accounts
from apps.payments.services.accounts_exports import (
    ADD_PERMISSION,
    AccountsRefused,
    create_accounts_export,
)
from apps.payments.services.opening import record_paid_before
from apps.payments.services.ready import open_claims
from apps.payments.services.returns import mark_returned
from apps.payments.services.runs import RunRefused, create_run, release_run
from apps.payments.services.settings import save_payment_settings
from apps.payments.validation import CONFIRM_PERMISSION, RELEASE_PERMISSION
from apps.people.models import Client, Contact, Staff

#: Runs of so many of the last days on which the agency paid; what it paid before counts as paid out
#: elsewhere, what it paid on the last days is ready.
RUNS, UNPAID_DAYS = 5, 2
#: At most so many organisations and people have an account.
ACCOUNTS = 300
#: Of so many accounts one is not confirmed.
UNCONFIRMED = 12
OWN_ACCOUNT = {
    **{"bsb": "999-100", "account_number": "100200", "bank": "CBA", "user_id": "301500"},
    "account_name": "SOUTHERN PLANS TRUST",
}
ACCOUNTS_OPTIONS = {
    **{"accounts_style": AccountsStyle.XERO_JOURNALS.value, "bank_code": "610", "clearing_code": "805"},
    "gst_code": "",
}
ACCOUNT_CODES = (
    {"used_for": "OwnFee", "code": "200"},
    {"used_for": "OwnFee", "category": 14, "code": "210"},
)


def load(context: Context) -> None:
    """Accounts, then the runs of the last weeks; none while nobody may make them or release them."""
    load_statements(context)
    staff = context.records[Staff]
    makers = [each for each in staff if each.has_perm("payments.add_paymentrun")]
    approvers = [each for each in staff if each.has_perms([CONFIRM_PERMISSION, RELEASE_PERMISSION])]
    pair = next(((one, other) for one in makers for other in approvers if one != other), None)
    if pair is None:
        return
    maker, other = pair
    paid = Claim.objects.exclude(payment_date=None).order_by().values_list("payment_date", flat=True)
    days = sorted({moment.astimezone(context.zone).date() for moment in paid.distinct() if moment})
    first, *others = days[-RUNS - UNPAID_DAYS - 1 : -UNPAID_DAYS] or [context.workdays[-1]]
    with context.clock_at(first, 9):
        if PaymentSettings.current().missing:
            save_payment_settings([Draft(OWN_ACCOUNT, given=OWN_ACCOUNT)])
        owners = existing(context.records[Client])[1:ACCOUNTS]
        people = [each for each in existing(context.records[Contact]) if each.scheme_number][: ACCOUNTS // 3]
        accounts = enter_accounts(context, [*owners, *people], maker)
    with context.clock_at(first, 10):
        for number, account in enumerate(accounts, 1):
            if number % UNCONFIRMED:
                confirm_account(account.pk, other, "Rang them on the number of their service agreement")
    if others and not PaymentRun.objects.exists():
        load_runs(context, maker, other, first, others)
        load_accounts_exports(context, first, others)


def enter_accounts(context: Context, owners: Sequence[Client | Contact], maker: Staff) -> list[BankAccount]:
    """An account of each owner, at a bank that does not exist."""
    chance = context.chance("bank accounts")
    drafts = [
        draft_of(
            AccountDraft,
            BankAccount,
            **{"client" if isinstance(owner, Client) else "contact": owner},
            bsb=f"999-{chance.randrange(101, 900)}",
            account_number=str(chance.randrange(10_000_000, 99_999_999)),
            account_name=str(owner),
        )
        for owner in owners
    ]
    with history.as_author(history.author()._replace(staff_id=maker.pk)):
        return context.create(BankAccount, create_bank_accounts, drafts)


def load_runs(context: Context, maker: Staff, other: Staff, first: dt.date, days: Sequence[dt.date]) -> None:
    """Record payments of before, some runs, a payment that came back, a changed account, a draft."""
    runs = []
    with context.clock_at(first, 16) as now:
        record_paid_before(maker, now)
    for day in days:
        with context.clock_at(day, 16) as now, suppress(RunRefused):
            keys = open_claims().filter(payment_date__lte=now).values_list("pk", flat=True)
            run = create_run(list(keys), day, maker)
            runs.append(release_run(run.pk, other))
    context.report(PaymentRun, len(runs) + 1)
    if not runs:
        return
    returned, *paid_items = runs[-1].items.select_related("client", "contact")
    with context.clock_at(context.workdays[-1], 10):
        mark_returned(returned.pk, "account closed", maker)
        if paid_items:
            enter_accounts(context, [paid_items[0].payee], maker)
    with context.clock_at(context.workdays[-1], 16), suppress(RunRefused):
        ready = list(open_claims().order_by("pk").values_list("pk", flat=True))
        create_run(ready[::2], context.as_of, maker)
        context.report(PaymentRun, 1)


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
        with context.clock_at(day, 18), suppress(AccountsRefused):
            create_accounts_export(day, maker)
            context.report(AccountsExport, 1)


DEMO = DemoSet((), (PaymentRun, BankAccount, AccountsExport, AccountCode, Statement, StatementConsent), load)
