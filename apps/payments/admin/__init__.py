"""The back office of payments."""

from apps.payments.admin import bank_returns, home, settings, tracker
from apps.payments.admin.accounts import BankAccountAdmin
from apps.payments.admin.runs import PaymentRunAdmin
