"""Bank accounts, payment runs and their bank files, accounts exports, statements."""

from apps.payments.models.account_codes import (
    AccountCode,
    AccountsOptions,
    find_account_code,
)
from apps.payments.models.accounts import (
    BSB,
    BankAccount,
    PaymentSettings,
    plain_account_number,
    plain_bsb,
)
from apps.payments.models.accounts_exports import AccountsEntry, AccountsExport, AccountsFile
from apps.payments.models.runs import BankFile, PaymentRun, PaymentRunClaim, PaymentRunItem
from apps.payments.models.statements import (
    Statement,
    StatementBudget,
    StatementConsent,
    StatementLine,
    StatementRun,
    month_name,
)
