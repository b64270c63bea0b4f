"""Payment runs: making one of what is ready, releasing it as bank files, withdrawing it, what came back.

Claims are locked before anything reads what is ready of them, so that two runs never hold the same amount.
"""

import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.base import clock
from apps.base.errors import Refusal
from apps.base.money import ZERO
from apps.base.retries import retry_on_conflict
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_file import (
    OutgoingPayment,
    OwnAccount,
    UnfitBankFile,
    plain_text,
    write_bank_file,
)
from apps.payments.models import (
    BankAccount,
    BankFile,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
    PaymentSettings,
)
from apps.payments.services.ready import (
    READY,
    ReadyClaim,
    ReadyPayee,
    load_ready,
    lock_claims,
    open_claims,
    update_paid_out,
)
from apps.payments.validation import release_problem
from apps.people.models import Staff

#: A bank takes files for days so far ahead.
DAYS_AHEAD = 45
REFERENCE_LENGTH = 18


@retry_on_conflict
def create_run(
    claims: Iterable[UUID] | None,
    day: dt.date,
    staff: Staff | None,
    set_off: Iterable[UUID] = (),
) -> PaymentRun:
    """A run of what is ready of these claims (of all when ``None``), of payees with a confirmed account.

    ``set_off``: claims of which a payee owes something, to be taken off what they get in this run.
    Raises ``Refusal`` when there is nothing, the day is none for a bank, or more is set off than is paid.
    """
    if not clock.today() <= day <= clock.today() + dt.timedelta(days=DAYS_AHEAD):
        raise Refusal(f"Choose a day of payment from today to {DAYS_AHEAD} days ahead.")
    wanted = set(open_claims(claims).values_list("pk", flat=True))
    owed = set(set_off)
    lock_claims(wanted | owed)
    run = PaymentRun(number=next_number(), day=day, made_by=staff)
    ready = load_ready(wanted | owed)
    for payee in ready:
        payee.claims = [each for each in payee.claims if each.claim.pk in wanted]
    payees = [payee for payee in ready if payee.problem is None and payee.claims]
    each_claim = PaymentSettings.current().pays_each_claim
    parts = [part for payee in payees for part in payments_of(payee, owed, run, each_claim)]
    if not parts:
        raise Refusal("Nothing is ready to be paid to a confirmed account.")
    run.total = sum((item.amount for item, _ in parts), ZERO)
    run.save()
    for position, (item, _) in enumerate(parts, 1):
        item.position = position
    PaymentRunItem.objects.bulk_create([item for item, _ in parts], batch_size=1000)
    rows = [
        PaymentRunClaim(item=item, claim=each.claim, amount=each.amount)
        for item, claims_of_item in parts
        for each in claims_of_item
    ]
    PaymentRunClaim.objects.bulk_create(rows, batch_size=1000)
    update_paid_out(row.claim_id for row in rows)
    return run


def next_number() -> int:
    """The next number of a run; the unique column refuses the second of two at once."""
    return (PaymentRun.objects.aggregate(last=Max("number"))["last"] or 0) + 1


def payments_of(
    payee: ReadyPayee, set_off: set[UUID], run: PaymentRun, pays_each_claim: bool
) -> Iterator[tuple[PaymentRunItem, Sequence[ReadyClaim]]]:
    """The payments to a payee: one, or one for each claim where the settings say so; each with its claims."""
    owed = [each for each in payee.owed if each.claim.pk in set_off]
    # What is owed is taken off one payment of all claims, since a single claim may be less.
    is_single = pays_each_claim and not owed
    groups = [[claim] for claim in payee.claims] if is_single else [[*payee.claims, *owed]]
    owner = {f"{payee.payee.kind}_id": payee.payee.key}
    for group in groups:
        amount = sum((each.amount for each in group), ZERO)
        if amount <= 0:
            raise Refusal(f"{payee.record} owes more than they would be paid: set off less.")
        # The payee reads their own reference of a single claim, else the run's number.
        own = plain_text(group[0].claim.provider_invoice_reference) if len(group) == 1 else ""
        reference = (own or f"RUN {run.number}")[:REFERENCE_LENGTH]
        item = PaymentRunItem(run=run, account=payee.account, amount=amount, reference=reference, **owner)
        yield item, group


# --- releasing ------------------------------------------------------------------------------------------


@transaction.atomic
def release_run(key: UUID, staff: Staff | None) -> PaymentRun:
    """Make the bank files of a run, which never changes again; ``Refusal`` when it cannot be released."""
    run = PaymentRun.objects.select_for_update(of=("self",)).get(pk=key)
    settings = PaymentSettings.current()
    words = ", ".join(settings.missing)
    lacking = f"Complete the payment settings first: {words}." if words else None
    problem = release_problem(run, staff) or lacking or run_problem(run, for_release=True)
    if problem:
        raise Refusal(problem)
    own = OwnAccount(
        settings.bsb, settings.account_number, settings.account_name, settings.bank, settings.user_id
    )
    items = list(run.items.select_related("account"))
    size = max(settings.payments_per_file - settings.debits_own_account, 1)
    for position, start in enumerate(range(0, len(items), size), 1):
        part = items[start : start + size]
        payments = [outgoing_payment(item) for item in part]
        try:
            content = write_bank_file(
                own, payments, run.day, settings.description, settings.debits_own_account
            )
        except UnfitBankFile as unfit:
            raise Refusal(str(unfit)) from None
        BankFile.objects.create(
            run=run,
            position=position,
            file_name=f"run-{run.number}-{position}.aba",
            content=content,
            sha256=hashlib.sha256(content).hexdigest(),
            payment_count=len(part),
            total=sum((item.amount for item in part), ZERO),
        )
    run.status, run.released_at, run.released_by = RunStatus.RELEASED, clock.now(), staff
    run.save()
    return run


def outgoing_payment(item: PaymentRunItem) -> OutgoingPayment:
    account = item.account
    assert account is not None
    return OutgoingPayment(
        account.bsb, account.account_number, account.account_name, item.amount, item.reference
    )


def run_problem(run: PaymentRun, for_release: bool = False) -> str | None:
    """Why the run cannot be paid as it stands: its day is past, an account changed, money was taken back.

    For its release accounts and claims are locked, so that none changes between this look and the file.
    """
    if run.day < clock.today():
        return "Its day of payment is past: withdraw it, and make another."
    if run.items.filter(account=None).exists():
        return "An account was erased meanwhile: withdraw the run, and make another."
    accounts = BankAccount.objects.filter(pk__in=run.items.values("account")).order_by("pk")
    accounts = accounts.select_related("client", "contact")
    for account in accounts.select_for_update(of=("self",)) if for_release else accounts:
        if account.is_archived or not account.is_confirmed:
            return f"{account} was changed meanwhile: withdraw the run, and make another."
    keys = set(PaymentRunClaim.objects.filter(item__run=run, amount__gt=0).values_list("claim", flat=True))
    if for_release:
        lock_claims(keys)
    taken_back = open_claims(keys).filter(**{f"{READY}__lt": ZERO}).order_by("claim_number").first()
    if taken_back is None:
        return None
    return f"Less is paid of {taken_back} than this run would pay out: withdraw it, and make another."


@transaction.atomic
def withdraw_run(key: UUID) -> PaymentRun:
    """Take a run back that was not released: what it held is ready again."""
    run = PaymentRun.objects.select_for_update(of=("self",)).get(pk=key)
    if run.status != RunStatus.DRAFT:
        raise Refusal(f"It is {run.get_status_display().lower()}: it cannot be withdrawn.")
    free_claims(PaymentRunClaim.objects.filter(item__run=run))
    run.status = RunStatus.WITHDRAWN
    run.save()
    return run


def free_claims(rows: QuerySet[PaymentRunClaim]) -> None:
    """Let the amounts of these rows be ready again."""
    keys = set(rows.values_list("claim", flat=True))
    lock_claims(keys)
    rows.update(returned=True)
    update_paid_out(keys)
