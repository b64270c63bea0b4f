"""Bank accounts, payment runs and their bank files, statements."""

from apps.payments.models.accounts import BSB, BankAccount, PaymentSettings
from apps.payments.models.runs import (
    ZERO,
    BankFile,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
)
from apps.payments.models.statements import (
    Statement,
    StatementBudget,
    StatementConsent,
    StatementLine,
    StatementRun,
    month_name,
)
