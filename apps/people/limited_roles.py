"""Permissions that a role does not have which sees some of the participants (``core.caseload``)."""

from django.apps import apps

from apps.core.caseload import caseload_path

#: Permissions with which somebody could see more than their own role lets them, or all at once.
OF_ALL_PARTICIPANTS = frozenset(
    {
        *("people.add_role", "people.change_role", "people.add_staff", "people.change_staff"),
        *("core.change_subscriber", "funding.send_claim_files"),
    }
)


def needs_everybody(app: str, model: str, codename: str) -> bool:
    """True of permissions that nobody has who is limited to a caseload."""
    if f"{app}.{codename}" in OF_ALL_PARTICIPANTS:
        return True
    try:
        return caseload_path(apps.get_model(app, model)) is None
    except LookupError:
        return True
