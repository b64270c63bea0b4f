"""Bank accounts, payment runs and their bank files."""

from apps.payments.models.accounts import BSB, BankAccount, PaymentSettings
from apps.payments.models.runs import (
    ZERO,
    BankFile,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
)
