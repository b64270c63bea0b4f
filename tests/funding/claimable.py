"""Claims and invoices that a claim file takes, on a day that is set."""

import datetime as dt
import itertools

from django.contrib.auth.models import Permission

from apps.core.models import Subscriber
from tests.funding.builders import a_claim, a_product, an_entry, an_invoice
from tests.people.builders import a_role
from tests.people.records import a_client, a_contact, a_staff_member

_numbers = itertools.count(1)

#: A valid business number, and the day on which these tests are.
ABN, TODAY = "51824753556", "2026-03-02 09:00"
DAY = dt.date(2026, 2, 16)
BILL = {"funding_status": "Approved", "start_date": DAY, "end_date": DAY}


def save_settings(**columns):
    """The organisation's settings, with all that a claim file needs."""
    given = {"registration_number": "4050000001", "business_number": ABN, **columns}
    Subscriber.objects.update_or_create(pk=1, defaults=given)
    Subscriber.clear_cache()


def a_participant(**columns):
    return a_contact(**{"scheme_number": f"43{next(_numbers):07}", **columns})


def a_support(**columns):
    """The entry of an hourly support with a price limit."""
    given = {"code": f"01_{next(_numbers):03}_0107_1_1", "unit": "H", "type": "Priced", **columns}
    return an_entry(product=a_product(**given))


def support_line(**columns):
    given = {"entry": columns.pop("entry", None) or a_support(), "first_day": DAY, "last_day": DAY}
    return {**given, **columns}


def a_claimable_claim(lines=1, **columns):
    wanted = [{} for _ in range(lines)] if isinstance(lines, int) else lines
    return a_claim(
        [support_line(**line) for line in wanted],
        contact=columns.pop("contact", None) or a_participant(),
        provider=columns.pop("provider", None) or a_client(business_number=ABN),
        **{**BILL, **columns},
    )


def a_claimable_invoice(lines=1, **columns):
    wanted = [{} for _ in range(lines)] if isinstance(lines, int) else lines
    return an_invoice(
        [support_line(**line) for line in wanted], contact=a_participant(), **{**BILL, **columns}
    )


def somebody_who_sends(*left_out):
    """A staff member with every permission about claim files but those left out."""
    role = a_role()
    names = {"administer_funding_invoices", "claim_funding_invoices", "send_claim_files", "view_claimfile"}
    role.permissions.set(Permission.objects.filter(codename__in=names - set(left_out)))
    return a_staff_member(role=role)
