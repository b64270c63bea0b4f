"""The rules of bank accounts, payment runs, account codes and consents to mail."""

import re
from collections.abc import Iterator

from apps.base import clock
from apps.base.drafts import Issue, Rule, is_allowed_when, is_required
from apps.payments.choices import CodeUse, RunStatus, StatementRecipient
from apps.payments.drafts import AccountCodeDraft, AccountDraft, ConsentDraft
from apps.payments.file_formats.bank_file import plain_text
from apps.payments.models import BankAccount, PaymentRun
from apps.people.models import Staff

CONFIRM_PERMISSION = "payments.confirm_bankaccount"
RELEASE_PERMISSION = "payments.release_paymentrun"
CONFIRMATION_LENGTH = 400


def bank_accepts_name_and_number(draft: AccountDraft) -> Iterator[Issue]:
    if draft.has("account_name") and not plain_text(draft.account_name):
        yield Issue("NotAllowed", "account_name", "No character of it can stand in a file for the bank.")
    if not draft.account_number.strip("0"):
        yield Issue("NotAllowed", "account_number", "An account number has another digit than 0.")


ACCOUNT_RULES: tuple[Rule[AccountDraft], ...] = (
    is_required(
        "client",
        "Name the organisation or the person that the account belongs to.",
        lambda draft: (draft.client is None) == (draft.contact is None),
    ),
    bank_accepts_name_and_number,
)


CONSENT_RULES: tuple[Rule[ConsentDraft], ...] = (
    is_allowed_when(
        "since", "A consent is recorded once it is given.", lambda draft: draft.since <= clock.today()
    ),
    is_allowed_when(
        "recipient",
        "No representative is named on the participant's page.",
        lambda draft: (
            draft.recipient != StatementRecipient.REPRESENTATIVE
            or draft.contact.representative_id is not None
        ),
    ),
)


def no_other_code_is_for_the_same(draft: AccountCodeDraft) -> Iterator[Issue]:
    if draft.has_same_values:
        yield Issue("NotUnique", "code", "Another row is for the same use, cost centre, category and tax.")


ACCOUNT_CODE_RULES: tuple[Rule[AccountCodeDraft], ...] = (
    no_other_code_is_for_the_same,
    is_allowed_when(
        "cost_centre",
        "Only the organisation's own invoices have cost centres.",
        lambda draft: draft.used_for != CodeUse.PROVIDER_BILL,
    ),
)


def confirmation_problem(account: BankAccount, staff: Staff, confirmation: str) -> str | None:
    """Why a person cannot confirm an account; ``None`` when they can."""
    if not staff.has_perm(CONFIRM_PERMISSION):
        return "Your role lacks the permission to confirm bank accounts."
    if account.is_archived:
        day = f"{account.archive_date:%d %b %Y}"
        return f"The account was archived on {day}, and is not confirmed: one that took its place may be."
    if account.is_confirmed:
        who = f", by {account.confirmed_by}" if account.confirmed_by else ""
        return f"It is confirmed already{who}."
    if account.entered_by_id == staff.pk:
        return "You entered it yourself: somebody else confirms it."
    text = confirmation.strip()
    if len(text) > CONFIRMATION_LENGTH:
        return f"Say it in {CONFIRMATION_LENGTH} characters; these are {len(text)}."
    if len(re.findall(r"\w", text)) < 5:
        return "Say with whom you confirmed it, and by which telephone number that was known before."
    return None


def release_problem(run: PaymentRun, staff: Staff | None) -> str | None:
    """Why a person cannot release a run; ``None`` when they can."""
    if staff is None or not staff.has_perm(RELEASE_PERMISSION):
        return "Your role lacks the permission to release payment runs."
    if run.status != RunStatus.DRAFT:
        return f"It is {run.get_status_display().lower()} already."
    if run.made_by_id == staff.pk:
        return "You made it yourself: somebody else releases it."
    return None
