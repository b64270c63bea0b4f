"""The back office of payments."""

from apps.payments.admin import (
    account_codes,
    account_files,
    accounts_exports,
    bank_returns,
    consents,
    first_steps,
    home,
    paid_out,
    settings,
    tracker,
)
from apps.payments.admin.accounts import BankAccountAdmin
from apps.payments.admin.runs import PaymentRunAdmin
from apps.payments.admin.statements import StatementAdmin
