"""Services of somebody who leaves: what they look after, its handover to others, the end of their login."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.db import models, transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.text import capfirst

from apps.base.drafts import Issue, ValidationFailed
from apps.core import archive, history
from apps.core.models import Notice, TimestampedModel
from apps.core.notices import write_notices
from apps.people.merging import move_references
from apps.people.models import Staff, Team
from apps.people.services import (
    archive_staff,
    disable_logins,
    enable_logins,
    end_sessions,
    remove_second_factors,
)

#: The name of the handover of memberships: the successor joins the teams.
TEAMS = "people.team.staff"


@dataclass(frozen=True, slots=True)
class Assignment:
    """The open records of a kind that somebody looks after in a column: ``funding.claim.staff``."""

    name: str
    title: str
    records: QuerySet[Any]
    column: Any
    #: What filters the list of such records in the back office.
    list_filter: Mapping[str, object]
    permission: str = ""

    def may_go_to(self, successor: Staff) -> bool:
        """True when the role of the successor has the permission that the records need, if there are any."""
        may_have = not self.permission or successor.has_perm(self.permission)
        return may_have or not self.records.exists()


def find_assignments(staff: Staff) -> list[Assignment]:
    """All that a person looks after, by the responsibilities that the models declare; and their teams."""
    found = []
    for model in apps.get_models():
        for each in getattr(model, "responsibilities", ()):
            column: Any = model._meta.get_field(each.column)
            records = model._default_manager.filter(each.open, archive_date=None, **{each.column: staff.pk})
            title = f"{capfirst(str(model._meta.verbose_name_plural))} ({column.verbose_name})"
            name = f"{model._meta.label_lower}.{each.column}"
            listed = {f"{each.column}__guid__exact": staff.pk}
            found.append(Assignment(name, title, records, column, listed, each.permission))
    teams = Team.objects.filter(staff=staff.pk, archive_date=None)
    return [*found, Assignment(TEAMS, "Teams (member)", teams, Team._meta.get_field("staff"), {})]


@transaction.atomic
def leave(leaver: Staff, successors: Mapping[str, Staff]) -> int:
    """Archive somebody, end their login, sessions and second factors, and hand over; how many records moved.

    ``successors`` by the names of assignments; what has none stays as it is. Raises ``ValidationFailed``.
    """
    count = hand_over(leaver, successors)
    record = Staff.objects.filter(pk=leaver.pk)
    disable_logins(record)
    archive_staff(record)
    remove_second_factors(record)
    end_sessions(leaver)
    return count


@transaction.atomic
def hand_over(leaver: Staff, successors: Mapping[str, Staff]) -> int:
    """Assign what somebody looks after to others; how many records moved. Raises ``ValidationFailed``."""
    # Locked until we commit: nobody assigns more to the leaver, and no successor leaves meanwhile.
    keys = {leaver.pk, *(each.pk for each in successors.values())}
    rows = Staff.objects.select_related("role").filter(pk__in=keys).order_by("pk")
    staff = {each.pk: each for each in rows.select_for_update(of=("self",))}
    issues = list(find_handover_issues(leaver, {name: staff[each.pk] for name, each in successors.items()}))
    if issues:
        raise ValidationFailed([(0, issue) for issue in issues])
    count = 0
    for each in find_assignments(leaver):
        successor = successors.get(each.name)
        if successor is None:
            continue
        moved = join_teams(leaver, successor) if each.name == TEAMS else reassign(each, leaver, successor)
        if moved:
            notify_successor(each, leaver, successor, moved)
        count += moved
    return count


def notify_successor(assignment: Assignment, leaver: Staff, successor: Staff, count: int) -> None:
    if successor.pk == history.author().staff_id:
        return
    model = assignment.records.model._meta
    address = reverse(f"admin:{model.app_label}_{model.model_name}_changelist")
    query = urlencode(dict.fromkeys(assignment.list_filter, successor.pk))
    text = f"Handed over to you from {leaver}: {assignment.title}, {count:,}"
    url = f"{address}?{query}"
    write_notices([Notice(staff=successor, kind=Notice.Kind.ASSIGNED, text=text, url=url)])


def find_handover_issues(leaver: Staff, successors: Mapping[str, Staff]) -> Iterator[Issue]:
    needed = {each.name: each for each in find_assignments(leaver)}
    for name, successor in successors.items():
        if successor.pk == leaver.pk:
            yield Issue("NotAllowed", name, "Nobody takes over from themselves.")
        elif not successor.is_active:
            message = f"{successor} is archived or cannot sign in; choose somebody who is still there."
            yield Issue("NotAllowed", name, message)
        elif not needed[name].may_go_to(successor):
            message = f"{needed[name].title}: the role of {successor} lacks the permission that this needs."
            yield Issue("PermissionNeeded", name, message)


def reassign(assignment: Assignment, leaver: Staff, successor: Staff) -> int:
    records: QuerySet[TimestampedModel] = assignment.records
    column: models.Field[object, object] = assignment.column
    # Nobody looks after themselves: the successor's own record loses its account manager instead.
    for record in records.filter(pk=successor.pk) if records.model is Staff else ():
        setattr(record, column.attname, None)
        record.save()
    return move_references(records, column, leaver.pk, successor.pk)


def join_teams(leaver: Staff, successor: Staff) -> int:
    """Let the successor be a member of the leaver's teams, instead of the leaver."""
    teams = list(Team.objects.filter(staff=leaver.pk, archive_date=None))
    for person, change in ((leaver, leaver.teams.remove), (successor, successor.teams.add)):
        before = [str(team.pk) for team in person.teams.all()]
        change(*teams)
        history.record_list(person, "teams", before, [str(team.pk) for team in person.teams.all()])
    return len(teams)


@transaction.atomic
def restore_staff(staff: QuerySet[Staff]) -> int:
    """Restore staff and enable their logins; how many were archived. What was handed over stays so."""
    keys = list(staff.exclude(archive_date=None).values_list("pk", flat=True))
    restored = Staff.objects.filter(pk__in=keys)
    enable_logins(restored)
    return archive.restore(restored)
