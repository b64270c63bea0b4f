"""Accounts, paid claims and payment settings, as little of them as will do."""

import datetime as dt
import itertools
from decimal import Decimal

from django.contrib.auth.models import Permission

from apps.base import clock
from apps.funding.services.transitions import apply_transition
from apps.payments.models import AccountCode, BankAccount, PaymentSettings
from tests.funding.builders import a_claim, an_entry
from tests.people.builders import a_role, a_staff_member

_numbers = itertools.count(10_000_001)


def somebody(*names, **columns):
    """A staff member with these permissions of payments."""
    role = a_role()
    role.permissions.set(Permission.objects.filter(codename__in=names))
    return a_staff_member(role=role, **columns)


def a_confirmer():
    return somebody("confirm_bankaccount")


def a_releaser():
    return somebody("release_paymentrun")


def an_account(owner, confirmed=True, **columns):
    """The account of an organisation or a person, confirmed by another than entered it."""
    entered_by = columns.pop("entered_by", None) or a_staff_member()
    confirmation = {}
    if confirmed:
        confirmation = {"confirmed_at": clock.now(), "confirmed_by": a_confirmer()}
        confirmation |= {"confirmed_for": owner.pk, "confirmation": "by telephone"}
    record = BankAccount(
        **{
            owner._meta.model_name: owner,
            "bsb": "062-000",
            "account_number": str(next(_numbers)),
            "account_name": str(owner),
            "entered_by": entered_by,
            **confirmation,
            **columns,
        }
    )
    record.save()
    return record


def a_paid_claim(amount="20.00", paid=None, **columns):
    """A claim that the agency paid, of one line."""
    total = Decimal(amount)
    paid = total if paid is None else Decimal(paid)
    status = "AgencyFullyPaid" if paid == total else "AgencyPartiallyPaid"
    line = {"entry": an_entry(), "quantity": "1", "price": amount, "amount_paid": paid}
    return a_claim(lines=[line], funding_status=status, amount_paid=paid, payment_date=clock.now(), **columns)


def payment_settings(**columns):
    """Complete settings of the organisation's own account."""
    record = PaymentSettings(
        **{
            "bsb": "062-000",
            "account_number": "12345678",
            "account_name": "Plain Plans",
            "bank": "CBA",
            "user_id": "301500",
            **columns,
        }
    )
    record.save()
    return record


def accounts_settings(style="XeroJournals", first_day=None, **columns):
    """Complete payment settings with those of accounts exports, and one account of the own fee."""
    myob = style == "MyobJournal"
    bank, clearing, income = ("1-1110", "2-1500", "4-1000") if myob else ("610", "805", "200")
    AccountCode(used_for="OwnFee", code=income).save()
    return payment_settings(
        accounts_style=style,
        accounts_from=first_day or dt.date(2025, 1, 1),
        bank_code=bank,
        clearing_code=clearing,
        **columns,
    )


def a_claimed_claim(amount="20.00", tax=None, **columns):
    """A claim of one line that waits for its money."""
    product = columns.pop("product", None)
    line = {"entry": an_entry(product=product), "quantity": "1", "price": amount, "tax_choice": tax}
    return a_claim(lines=[line], funding_status="AgencyClaimed", **columns)


def agency_pays(bill, amount=None):
    """The agency pays a claim or an invoice, all of it or a part; the history has that."""
    name = "pay" if amount is None else "pay-in-part"
    amounts = {} if amount is None else {bill.pk: Decimal(amount)}
    result = apply_transition(type(bill), [bill.pk], name, amounts=amounts)
    assert not result.refused
    return bill


def agency_takes_back(bill, amount):
    """The agency takes money back of a claim or an invoice."""
    amounts = {bill.pk: Decimal(amount)}
    result = apply_transition(type(bill), [bill.pk], "take-back", reason="A debt", amounts=amounts)
    assert not result.refused


def owed_amount(payee):
    """The amount that a payee of ``load_ready`` owes, which a run may set off."""
    return -sum(each.amount for each in payee.owed)
