"""Drafts of bank accounts, account codes and consents, with the members that rules read."""

import datetime as dt

from apps.base.drafts import Draft, Extra
from apps.funding.models import CostCentre
from apps.people.models import Client, Contact, Staff


class AccountDraft(Draft):
    """A bank account. ``create_bank_accounts`` sets who entered it."""

    client: Client | None
    contact: Contact | None
    bsb: str
    account_number: str
    account_name: str
    entered_by: Extra[Staff | None] = None


class ConsentDraft(Draft):
    """A consent to statements by mail. ``create_consents`` sets who recorded it."""

    contact: Contact
    recipient: str
    since: dt.date
    recorded_by: Extra[Staff | None] = None


class AccountCodeDraft(Draft):
    """An account code; services set whether another is for the same amounts."""

    used_for: str
    cost_centre: CostCentre | None
    category: int | None
    tax_choice: str | None
    has_same_values: Extra[bool] = False
