"""Services that create and change staff, clients and contacts, and their logins.

The API, the back office, imports and commands call the same ones. Each takes drafts and raises
``ValidationFailed`` with every issue. ``create_…`` returns the new keys in the order of the drafts,
``update_…`` the keys of the records that changed.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from allauth.usersessions.models import UserSession
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, UNUSABLE_PASSWORD_SUFFIX_LENGTH
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import Draft, ValidationFailed, apply_rules, raise_if_invalid
from apps.core import archive, history, saving
from apps.core.bulk_insert import WriteBatch
from apps.core.models import Change, Notice, Subscriber, normalised
from apps.core.notices import write_notices
from apps.core.services import Checks, create_records
from apps.people.drafts import Answers, ClientDraft, ContactDraft, GrantingDraft, RoleDraft, StaffDraft
from apps.people.models import (
    Client,
    Contact,
    CustomField,
    CustomFieldAnswer,
    CustomFieldResponse,
    Role,
    Staff,
)
from apps.people.validation import (
    CLIENT_RULES,
    CONTACT_RULES,
    LOGIN_RULES,
    ROLE_RULES,
    STAFF_RULES,
    can_sign_in,
)

# --- staff ----------------------------------------------------------------------------------------------


def create_staff(drafts: Sequence[StaffDraft]) -> list[UUID]:
    """Store new staff (interface.md 4.1). Without the hash of a password nobody can sign in as them."""
    apply_email_consent(drafts)
    saving.apply_model_defaults(Staff, drafts)
    load_author(drafts)
    saving.validate(Staff, drafts, STAFF_RULES)
    # No password is what ``make_password(None)`` makes, a hundred times as fast.
    passwords = [
        draft.password or UNUSABLE_PASSWORD_PREFIX + secrets.token_urlsafe(UNUSABLE_PASSWORD_SUFFIX_LENGTH)
        for draft in drafts
    ]
    keys = saving.insert_records(Staff, drafts, {"password": passwords})
    save_answers(Staff, drafts, keys)
    return keys


def update_staff(drafts: Sequence[StaffDraft]) -> list[UUID]:
    """Change what drafts of existing staff give; passwords and times of sign-ins stay."""
    apply_email_consent(drafts)
    existing = saving.load_existing(Staff, drafts)
    load_login_context(drafts)
    saving.validate(Staff, drafts, STAFF_RULES, existing)
    notify_of_teams(drafts, existing)
    return saving.save_changes(Staff, drafts, existing, save_answers(Staff, drafts))


def notify_of_teams(drafts: Sequence[StaffDraft], existing: Mapping[UUID, Staff]) -> None:
    """Let staff know which teams they become members of; called before that is saved."""
    who = history.author()
    write_notices(
        [
            Notice(
                staff_id=draft.key,
                kind=Notice.Kind.ASSIGNED,
                text=f"You are now a member of the team {team}",
                url=f"{reverse('admin:people_staff_changelist')}?teams__id__exact={team.pk}",
            )
            for draft in drafts
            if "teams" in draft.given and draft.key != who.staff_id and who.channel != Change.Channel.COMMAND
            for team in {*draft.teams}.difference(existing[draft.key].teams.all())
        ]
    )


def apply_email_consent(drafts: Iterable[Draft]) -> None:
    """Consent to emails that is not given is the organisation's default."""
    consent = str(Subscriber.current().email_consent_default)
    for draft in drafts:
        if draft.gets_default("accepts_email_contact"):
            draft.fill("accepts_email_contact", consent)


# --- clients --------------------------------------------------------------------------------------------


def create_clients(drafts: Sequence[ClientDraft]) -> list[UUID]:
    """Store new clients (interface.md 4.2)."""
    saving.apply_model_defaults(Client, drafts)
    saving.validate(Client, drafts, CLIENT_RULES)
    keys = saving.insert_records(Client, drafts)
    save_answers(Client, drafts, keys)
    return keys


def update_clients(drafts: Sequence[ClientDraft]) -> list[UUID]:
    existing = saving.load_existing(Client, drafts)
    saving.validate(Client, drafts, CLIENT_RULES, existing)
    return saving.save_changes(Client, drafts, existing, save_answers(Client, drafts))


# --- contacts -------------------------------------------------------------------------------------------


def create_contacts(drafts: Sequence[ContactDraft]) -> list[UUID]:
    """Store new contacts."""
    apply_email_consent(drafts)
    use_the_only_email(drafts)
    saving.apply_model_defaults(Contact, drafts)
    saving.validate(Contact, drafts, CONTACT_RULES)
    keys = saving.insert_records(Contact, drafts)
    save_answers(Contact, drafts, keys)
    return keys


def update_contacts(drafts: Sequence[ContactDraft]) -> list[UUID]:
    existing = saving.load_existing(Contact, drafts)
    saving.validate(Contact, drafts, CONTACT_RULES, existing)
    return saving.save_changes(Contact, drafts, existing, save_answers(Contact, drafts))


def use_the_only_email(drafts: Iterable[ContactDraft]) -> None:
    """A contact's primary email is used when nothing is given about which one to use."""
    uses = {"use_primary_email", "use_secondary_email"}
    for draft in drafts:
        is_said = not (uses.isdisjoint(draft.given) and uses.isdisjoint(draft.invalid))
        if not is_said and draft.get("primary_email"):
            draft.fill("use_primary_email", True)


# --- answers to custom fields ---------------------------------------------------------------------------


def stored_answers(
    model: type[Staff | Client | Contact], keys: Iterable[UUID]
) -> dict[tuple[UUID, UUID], CustomFieldAnswer]:
    """The answers of records by the keys of the record and of the custom field; two queries."""
    owner = model.__name__.lower()
    found = CustomFieldAnswer.objects.filter(AnyOf(owner, keys)).prefetch_related("responses")
    return {(getattr(answer, f"{owner}_id"), answer.custom_field_id): answer for answer in found}


def answers_of(record: Staff | Client | Contact) -> Answers:
    stored = stored_answers(type(record), [record.pk])
    return {field: answer.texts for (_, field), answer in stored.items()}


def save_answers(
    model: type[Staff | Client | Contact], drafts: Sequence[Draft], new_keys: Sequence[UUID] = ()
) -> Mapping[UUID, dict[str, list[object]]]:
    """Store the ``custom_answers`` that drafts give; other answers stay as they are.

    ``new_keys`` are the keys of new records in the order of the drafts. Returns what changed, as the history
    has it: ``{key of the record: {name of the custom field: [before, after]}}``.
    """
    given = {
        (draft.key or new_keys[number], field): responses
        for number, draft in enumerate(drafts)
        for field, responses in (draft.get("custom_answers") or {}).items()
    }
    if not given:
        return {}
    stored = stored_answers(model, {key for key, _ in given})
    before = {place: stored[place].texts if place in stored else [] for place in given}
    changed = [place for place in given if given[place] != before[place]]
    CustomFieldAnswer.objects.filter(pk__in=[stored[p].pk for p in changed if p in stored]).delete()
    new = [place for place in changed if given[place]]
    answers = dict(zip(saving.new_keys(CustomFieldAnswer, len(new)), new, strict=True))
    batch = WriteBatch()
    columns = ("id", f"{model.__name__.lower()}_id", "custom_field_id")
    batch.insert(CustomFieldAnswer, columns, ((answer, *place) for answer, place in answers.items()))
    responses = ((answer, text) for answer, place in answers.items() for text in given[place])
    batch.insert(CustomFieldResponse, ("answer_id", "response"), responses)
    batch.send()
    names = dict(CustomField.objects.values_list("pk", "name"))
    differences: dict[UUID, dict[str, list[object]]] = defaultdict(dict)
    for key, field in changed:
        differences[key][names[field]] = [sorted(before[key, field]), sorted(given[key, field])]
    return differences


# --- roles ----------------------------------------------------------------------------------------------


def load_author(drafts: Iterable[GrantingDraft]) -> None:
    """Fill in the member of staff who is signed in."""
    key = history.author().staff_id
    author = None if key is None else Staff.objects.select_related("role").get(pk=key)
    for draft in drafts:
        draft.author = author


create_roles = partial(create_records, Role, checks=Checks(ROLE_RULES, prepare=load_author))


def update_roles(drafts: Sequence[RoleDraft]) -> list[UUID]:
    """The history has permissions by their codes: their keys differ between installations."""
    lock_administration()
    existing = saving.load_existing(Role, drafts)
    load_author(drafts)
    reduced = {draft.key for draft in drafts if not draft.get("all_permissions")}
    roles = set(administrators().values_list("role", flat=True))
    for draft in drafts:
        removes_the_last = draft.key in roles and roles <= reduced
        draft.fill("removes_administrators_by", "all_permissions" if removes_the_last else None)
    saving.validate(Role, drafts, ROLE_RULES, existing)
    differences = {}
    for draft in drafts:
        if "permissions" in draft.given:
            role = existing[draft.key]
            before = sorted(role.ticked_codes())
            role.permissions.set(draft.permissions)
            differences[draft.key] = {"permissions": [before, sorted(role.ticked_codes())]}
            draft.given -= {"permissions"}
    return saving.save_changes(Role, drafts, existing, differences)


# --- logins ---------------------------------------------------------------------------------------------


def with_enabled_login(staff: QuerySet[Staff]) -> QuerySet[Staff]:
    """The staff among these whose login is not disabled now."""
    return staff.exclude(disable_login_date__lte=clock.now())


def who_may(*permissions: str) -> set[UUID]:
    """The keys of the people who can sign in and whose roles grant all of these: ``app.codename`` each."""
    found = with_enabled_login(Staff.objects.filter(archive_date=None)).order_by()
    for permission in permissions:
        app, _, codename = permission.partition(".")
        granted = Q(role__permissions__content_type__app_label=app, role__permissions__codename=codename)
        found = found.filter(Q(role__all_permissions=True) | granted)
    return set(found.values_list("pk", flat=True))


def disable_logins(staff: QuerySet[Staff]) -> int:
    """Disable the logins from now on, which ends their sessions; how many were enabled."""
    return change_logins(with_enabled_login(staff), disable_login_date=clock.now())


def enable_logins(staff: QuerySet[Staff]) -> int:
    """Enable the logins again; how many were disabled, now or from a later day."""
    return change_logins(staff.exclude(disable_login_date=None), disable_login_date=None)


def record_password_link(staff: Staff) -> None:
    """Write to the history that the author made a link: whoever opens it chooses the password."""
    history.write_entries(Staff, [staff.pk], "Changed", {"password link": [None, "created"]})


@transaction.atomic
def remove_second_factors(staff: QuerySet[Staff]) -> int:
    """Remove the second factors and recovery codes of staff who have lost them; how many had any."""
    concerned = list(staff.filter(authenticator__isnull=False).distinct().order_by("pk"))
    for person in concerned:
        before = sorted(str(factor) for factor in person.authenticator_set.all())
        person.authenticator_set.all().delete()
        history.write_entries(Staff, [person.pk], "Changed", {"second factors": [before, []]})
    return len(concerned)


def end_sessions(staff: Staff) -> None:
    """End the sessions of a person, on every device."""
    for session in UserSession.objects.filter(user=staff):
        session.end()


@transaction.atomic
def archive_staff(staff: QuerySet[Staff]) -> int:
    """Archive staff, which ends their sessions; how many were current."""
    check_logins(staff, archive_date=clock.now())
    return archive.archive(staff)


@transaction.atomic
def change_logins(staff: QuerySet[Staff], **values: object) -> int:
    """Set the same password, role or date of staff; how many differed.

    By the rules of logins alone: whatever else is wrong with a record, its login can be disabled.
    """
    drafts, existing = check_logins(staff, **values)
    return len(saving.save_changes(Staff, drafts, existing))


def check_logins(
    staff: QuerySet[Staff], **values: object
) -> tuple[Sequence[StaffDraft], Mapping[UUID, Staff]]:
    """Drafts with these values, and the records; ``ValidationFailed`` by the rules of logins."""
    keys = staff.order_by("pk").values_list("pk", flat=True)
    drafts = [StaffDraft(dict(values), given=values, key=key) for key in keys]
    existing = saving.load_existing(Staff, drafts)
    load_login_context(drafts)
    raise_if_invalid(drafts, apply_rules(drafts, LOGIN_RULES))
    return drafts, existing


def load_login_context(drafts: Sequence[StaffDraft]) -> None:
    """Fill in what the rules of logins read; two queries, and one for the author."""
    load_author(drafts)
    roles = set(Role.objects.filter(all_permissions=True).values_list("pk", flat=True))
    before = set(administrators().values_list("pk", flat=True))
    after = [can_sign_in(draft) and draft.key_of("role") in roles for draft in drafts]
    if any(draft.key in before and not stays for draft, stays in zip(drafts, after, strict=True)):
        lock_administration()
        before = set(administrators().values_list("pk", flat=True))
    one_remains = any(after) or bool(before.difference(draft.key for draft in drafts))
    for draft in drafts:
        field = "disable_login_date" if draft.key_of("role") in roles else "role"
        removes_the_last = draft.key in before and not one_remains
        draft.fill("removes_administrators_by", field if removes_the_last else None)


def administrators() -> QuerySet[Staff]:
    """The staff who can sign in and may do everything in the back office."""
    able = Staff.objects.filter(archive_date=None, role__all_permissions=True)
    # By the clock itself: it stands still within a request, which may have waited for another.
    return able.exclude(disable_login_date__lte=timezone.now())


@saving.in_transaction()
def lock_administration() -> None:
    """Wait for others who remove administrators: two requests must not each remove the other's last one."""
    roles = Role.objects.filter(all_permissions=True).order_by("pk").select_for_update(no_key=True)
    list(roles.values_list("pk"))


# --- logins by email: of the first administrator, of the command, of the demo ----------------------------

ADMINISTRATOR = "Administrator"


def find_staff(email: str) -> Staff | None:
    return Staff.objects.select_related("role").filter(primary_email_key=normalised(email)).first()


@transaction.atomic
def save_login(
    email: str,
    password: str,
    first_name: str | None = None,
    last_name: str | None = None,
    role: str | None = None,
) -> Staff:
    """The staff member with that email and password; created when there is none, as an administrator.

    The names of a new one are taken from the email where they are not given. ``ValidationError`` says what is
    wrong with the email, the role or the password.
    """
    existing = find_staff(email)
    staff = existing or unsaved_staff(email, first_name, last_name)
    if existing is None or role is not None:
        staff.role = load_role(role or ADMINISTRATOR)
    validate_password(password, staff)
    staff.clean_fields(exclude=["password"])
    staff.set_password(password)
    try:
        if existing is not None:
            change_logins(Staff.objects.filter(pk=staff.pk), password=staff.password, role=staff.role)
            return staff
        names = ("primary_email", "use_primary_email", "first_name", "last_name", "role", "password")
        create_staff([StaffDraft({name: getattr(staff, name) for name in names}, given=names)])
        return staff
    except ValidationFailed as failed:
        raise ValidationError([issue.message for _, issue in failed.issues]) from None


def unsaved_staff(email: str, first_name: str | None, last_name: str | None) -> Staff:
    """``ValidationError`` for what is no email address: the names would be taken from it."""
    validate_email(email)
    local_part, _, domain = email.partition("@")
    return Staff(
        primary_email=email,
        use_primary_email=True,
        first_name=first_name or local_part,
        last_name=last_name or domain,
    )


def load_role(name: str) -> Role:
    """The role of that name; the administrator's is created when it does not exist."""
    found = Role.objects.filter(name_key=normalised(name)).first()
    if found is not None:
        return found
    if normalised(name) != normalised(ADMINISTRATOR):
        existing = ", ".join(Role.objects.values_list("name", flat=True)[:20]) or "none yet"
        raise ValidationError(f"There is no role {name}. Roles: {existing}.")
    values = {"name": ADMINISTRATOR, "all_permissions": True}
    (key,) = create_roles([RoleDraft(dict(values), given=values)])
    return Role.objects.get(pk=key)
