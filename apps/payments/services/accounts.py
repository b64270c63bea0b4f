"""Entering bank accounts, and confirming them by a second person; the organisation's own."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import transaction

from apps.base import clock
from apps.base.errors import Refusal
from apps.core import archive, history, saving
from apps.core.services import save_single
from apps.payments.drafts import AccountDraft
from apps.payments.models import BankAccount, PaymentSettings
from apps.payments.validation import ACCOUNT_RULES, confirmation_problem
from apps.people.models import Client, Contact, Staff

save_payment_settings = partial(save_single, PaymentSettings)


@transaction.atomic
def create_bank_accounts(drafts: Sequence[AccountDraft]) -> list[UUID]:
    """Store new accounts, not confirmed; the present ones of their owners are archived."""
    saving.apply_model_defaults(BankAccount, drafts)
    author = history.author().staff_id
    for draft in drafts if author is not None else ():
        draft.fill("entered_by", Staff(pk=author))
    saving.validate(BankAccount, drafts, ACCOUNT_RULES)
    for draft in drafts:
        archive.archive(BankAccount.objects.filter(client=draft.client, contact=draft.contact))
    return saving.insert_records(BankAccount, drafts)


@transaction.atomic
def confirm_account(key: UUID, staff: Staff, confirmation: str) -> BankAccount:
    """Confirm an account that somebody else entered; ``Refusal`` with the reason."""
    account = BankAccount.objects.select_for_update(of=("self",)).get(pk=key)
    if problem := confirmation_problem(account, staff, confirmation):
        raise Refusal(problem)
    account.confirmed_at, account.confirmed_by = clock.now(), staff
    account.confirmed_for = account.owner.pk
    account.confirmation, account.unconfirmed_because = confirmation.strip(), None
    account.save()
    return account


def end_confirmation(account: BankAccount, reason: str) -> None:
    """Let nothing be paid to an account before it is confirmed again."""
    account.confirmed_at = account.confirmed_by = account.confirmed_for = account.confirmation = None
    account.unconfirmed_because = reason[:200]
    account.save()


def confirm_anew_after_merge(owner: Client | Contact, duplicate: Client | Contact) -> None:
    """End confirmations of the owner's account: what was to be paid to the duplicate would go there."""
    accounts = BankAccount.objects.filter(confirmed_for=owner.pk, archive_date=None)
    for account in accounts.select_for_update(of=("self",)):
        end_confirmation(account, f"{duplicate} was merged into {owner}.")
