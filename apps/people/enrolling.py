"""The verbs by which staff, clients and contacts enter the records, whoever asks.

The interface, the back office and an import call the same ones. Each takes drafts and raises ``Refused``
with all that its rules find; the new records' keys come in the order of the drafts.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, UNUSABLE_PASSWORD_SUFFIX_LENGTH

from apps.core import saving
from apps.core.models import Subscriber
from apps.odata.write.drafts import Draft
from apps.people import client_rules, contact_rules, staff_rules
from apps.people.models import Client, Contact, Staff


def create_staff(drafts: Sequence[Draft]) -> list[Any]:
    """Store new staff (interface.md 4.1). Nobody can sign in as them until they are given a password."""
    ask_for_email_consent(drafts)
    saving.validate(Staff, drafts, staff_rules.RULES)
    return saving.insert_records(Staff, drafts, {"password": unusable_password})


def replace_staff(record: Staff, draft: Draft) -> None:
    """Make a staff member what the draft says (interface.md 4.1); password and login times stay."""
    ask_for_email_consent([draft])
    saving.validate(Staff, [draft], staff_rules.RULES)
    saving.replace_record(record, draft)


def create_clients(drafts: Sequence[Draft]) -> list[Any]:
    """Store new clients (interface.md 4.2)."""
    saving.validate(Client, drafts, client_rules.RULES)
    return saving.insert_records(Client, drafts)


def create_contacts(drafts: Sequence[Draft]) -> list[Any]:
    """Store new contacts (decisions.md 7)."""
    ask_for_email_consent(drafts)
    use_the_only_email(drafts)
    saving.validate(Contact, drafts, contact_rules.RULES)
    return saving.insert_records(Contact, drafts)


def update_staff(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing staff give; the keys of those that were not so already."""
    standing = saving.load_existing(Staff, drafts)
    saving.validate(Staff, drafts, staff_rules.RULES)
    return saving.save_changes(Staff, drafts, standing)


def update_clients(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing clients give; the keys of those that were not so already."""
    standing = saving.load_existing(Client, drafts)
    saving.validate(Client, drafts, client_rules.RULES)
    return saving.save_changes(Client, drafts, standing)


def update_contacts(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing contacts give; the keys of those that were not so already."""
    standing = saving.load_existing(Contact, drafts)
    saving.validate(Contact, drafts, contact_rules.RULES)
    return saving.save_changes(Contact, drafts, standing)


def unusable_password(draft: Draft) -> str:
    """What ``make_password(None)`` makes, a hundred times as fast; a batch needs one for each."""
    return UNUSABLE_PASSWORD_PREFIX + secrets.token_urlsafe(UNUSABLE_PASSWORD_SUFFIX_LENGTH)


def ask_for_email_consent(drafts: Iterable[Draft]) -> None:
    """Who does not say whether they accept emails does as the subscriber's settings say."""
    consent = Subscriber.current().email_consent_default
    for draft in drafts:
        if "accepts_email_contact" not in draft.given | draft.invalid:
            draft.fill("accepts_email_contact", str(consent))


def use_the_only_email(drafts: Iterable[Draft]) -> None:
    """A contact's primary email is used when nothing is said about which one to use."""
    for draft in drafts:
        said = {"use_primary_email", "use_secondary_email"} & (draft.given | draft.invalid)
        if not said and draft.__dict__.get("primary_email"):
            draft.fill("use_primary_email", True)
