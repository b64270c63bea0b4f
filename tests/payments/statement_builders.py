"""Claims of a month, consents and statements, as little of them as will do."""

import datetime as dt

from apps.payments.models import Statement, StatementConsent
from apps.payments.services.statements import make_statements
from tests.funding.builders import a_claim, an_entry

MONTH = dt.date(2025, 10, 1)
IN_MONTH = dt.date(2025, 10, 15)


def a_line(amount="20.00", paid="0.00", day=IN_MONTH, **columns):
    return {
        "entry": an_entry(),
        "quantity": "1",
        "price": amount,
        "amount_paid": paid,
        "first_day": day,
        "last_day": day,
        **columns,
    }


def a_claim_of_the_month(contact, amount="20.00", paid="0.00", status="AgencyClaimed", **columns):
    """A claim of one line of the month."""
    line = a_line(amount, paid, **columns.pop("line", {}))
    return a_claim(lines=[line], contact=contact, funding_status=status, amount_paid=paid, **columns)


def a_consent(contact, recipient="Participant", **columns):
    record = StatementConsent(contact=contact, recipient=recipient, since=MONTH, **columns)
    record.save()
    return record


def a_statement(contact, month=MONTH):
    """The current statement of a participant, made now."""
    make_statements(month, [contact.pk])
    return Statement.objects.get(contact=contact, month=month, is_replaced=False)
