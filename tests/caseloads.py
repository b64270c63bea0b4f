"""A second way to say whose records somebody sees: record by record, in Python."""

from apps.access.models import ApiApplication
from apps.people.models import Staff
from tests.api.caller import Caller, an_application


def is_in_caseload(record, managers):
    """True when the record belongs to one of the managers, or to nobody in particular."""
    path = record.caseload_path
    if path is None:
        return False
    return not path or not managers.isdisjoint(at_end(record, path))


def at_end(record, path):
    """The keys of the staff at the end of a path."""
    records = [record]
    for name in path.split("__"):
        found = [getattr(each, name) for each in records if each is not None]
        records = [one for each in found for one in (each.all() if hasattr(each, "all") else [each])]
    return {each.pk for each in records if each is not None}


def keys_in_caseload(model, managers):
    return {record.pk for record in model._base_manager.all() if is_in_caseload(record, managers)}


def a_limited_application(*scope, name="Limited", locations=(), teams=(), staff=()):
    """A caller that sees the participants of these only."""
    caller = Caller(an_application(*scope, name=name))
    limit(name, locations, teams, staff)
    return caller


def limit(name, locations=(), teams=(), staff=()):
    application = ApiApplication.objects.get(name=name)
    ApiApplication.objects.filter(name=name).update(sees_everybody=False)
    application.locations.set(locations)
    application.teams.set(teams)
    application.account_managers.set(staff)


def managers_of(application):
    """The keys of the staff in whose care the participants of an application are."""
    locations = set(application.locations.values_list("pk", flat=True))
    teams = set(application.teams.values_list("pk", flat=True))
    named = set(application.account_managers.values_list("pk", flat=True))
    return {
        staff.pk
        for staff in Staff.objects.all()
        if staff.pk in named
        or staff.location_id in locations
        or teams & set(staff.teams.values_list("pk", flat=True))
    }
