"""Drafts of people: the members that rules and services read, and what services work out besides."""

import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from django.contrib.auth.models import Permission

from apps.base.drafts import Draft, Extra
from apps.people.models import Client, Contact, Role, Staff, Team

#: Responses by the key of their custom field.
Answers = Mapping[UUID, list[str]]


class AddressedDraft(Draft):
    """A draft of a staff member, a client or a contact, with answers to custom fields."""

    state: str | None
    country: str | None
    post_code: str | None
    postal_state: str | None
    postal_post_code: str | None
    custom_answers: Extra[Answers] = MappingProxyType({})


class MergeableDraft(AddressedDraft):
    """A draft of a client or a contact, with what services fill in of an existing one."""

    archive_date: Extra[dt.datetime | None] = None
    merged_into: Extra[Client | Contact | None] = None


class ClientDraft(MergeableDraft):
    business_number: str | None


class PersonDraft(AddressedDraft):
    """The common part of drafts of staff and of contacts."""

    first_name: str
    last_name: str
    personal_title: str | None
    personal_title_other: str | None
    scheme_number: str | None
    birthday: dt.date | None
    send_birthday_reminder: bool
    partner_birthday: dt.date | None
    send_partner_birthday_reminder: bool
    use_primary_email: bool
    secondary_email: str | None
    use_secondary_email: bool


class ContactDraft(PersonDraft, MergeableDraft):
    primary_email: str | None
    representative: Contact | None
    representative_relationship: str | None


class GrantingDraft(Draft):
    """A draft of a role or a staff member, which says what somebody may do.

    ``author``: the member of staff who is signed in and changes it; none where an application or a command
    does. ``removes_administrators_by``: the member that leaves nobody who may do everything.
    """

    author: Extra[Staff | None] = None
    removes_administrators_by: Extra[str | None] = None


class RoleDraft(GrantingDraft):
    all_permissions: bool
    permissions: list[Permission]
    participants: str


class StaffDraft(GrantingDraft, PersonDraft):
    """A draft of a staff member. ``archive_date`` and ``password`` are given by services alone."""

    role: Role
    disable_login_date: dt.datetime | None
    account_manager: Staff | None
    teams: list[Team]
    archive_date: Extra[dt.datetime | None] = None
    password: Extra[str | None] = None
