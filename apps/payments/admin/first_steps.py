"""Requirements of the first payment run (``funding.admin.first_steps``)."""

from apps.funding.admin.first_steps import FIRST_STEPS, FirstStep, Requirement, granted_to_two
from apps.payments.models import BankAccount, PaymentRun, PaymentSettings
from apps.payments.services.ready import sum_ready
from apps.payments.validation import CONFIRM_PERMISSION, RELEASE_PERMISSION


def no_own_account() -> str:
    missing = PaymentSettings.current().missing
    return f"No run can be released before these are entered: {', '.join(missing)}." if missing else ""


def no_confirmed_account() -> str:
    found = BankAccount.objects.filter(archive_date=None, confirmed_at__isnull=False)
    return "" if found.exists() else "No payee has a bank account that somebody else has confirmed."


def nothing_said_of_before() -> str:
    """Only while something is ready, and no run has anything: the question is asked once."""
    if PaymentRun.objects.exists() or not sum_ready()[0]:
        return ""
    return "Were claims paid out before payment runs were made here? Say so before the first run."


OWN_ACCOUNT = Requirement(
    "Own bank account, bank and user id",
    no_own_account,
    *("Payment settings", PaymentSettings, "change", "change", 1),
)
PAYMENT_RUN_REQUIREMENTS: tuple[Requirement, ...] = (
    OWN_ACCOUNT,
    granted_to_two(
        "Somebody who enters bank accounts, and another who confirms them",
        "No two people have roles that let one enter bank accounts and the other confirm them.",
        ("payments.view_bankaccount", "payments.add_bankaccount"),
        ("payments.view_bankaccount", CONFIRM_PERMISSION),
    ),
    Requirement("Confirmed bank accounts of payees", no_confirmed_account, "Bank accounts", BankAccount),
    granted_to_two(
        "Somebody who makes payment runs, and another who releases them",
        "No two people have roles that let one make payment runs and the other release them.",
        ("payments.view_paymentrun", "payments.add_paymentrun"),
        ("payments.view_paymentrun", RELEASE_PERMISSION),
    ),
    Requirement(
        "What was paid out before",
        nothing_said_of_before,
        *("Everything paid before was paid out", PaymentRun, "opening", "make"),
        who_else="Whoever makes payment runs says it.",
    ),
)

FIRST_STEPS.append(FirstStep("A first payment run", PaymentRun, PAYMENT_RUN_REQUIREMENTS))
