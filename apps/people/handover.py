"""Handover of a leaver's work: what they look after, who takes it over, and that an administrator remains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import Q, QuerySet

from apps.core import archive, history
from apps.core.models import TimestampedModel
from apps.odata import clock
from apps.people.models import Staff

#: References to whoever looks after a record; others (who entered it) are facts and stay.
RESPONSIBILITIES = frozenset({"account_manager", "owner", "follow_up_staff", "budget_manager"})


@transaction.atomic
def hand_over(leaver: Staff, successor: Staff) -> int:
    """Assign all current records that the leaver looks after to the successor, and return how many."""
    return sum(reassign(records, column, leaver, successor) for records, column in responsibilities(leaver))


def responsibilities(staff: Staff) -> Sequence[tuple[QuerySet[TimestampedModel], models.Field[Any, Any]]]:
    """The current records that a staff member looks after, with the column that refers to them."""
    found = []
    for relation in Staff._meta.related_objects:
        column, model = relation.field, relation.related_model
        if column.name in RESPONSIBILITIES and issubclass(model, TimestampedModel):
            records = model._default_manager.filter(**{column.name: staff, "archive_date": None})
            found.append((records, column))
    return found


def reassign(
    records: QuerySet[TimestampedModel],
    column: models.Field[Any, Any],
    leaver: Staff,
    successor: Staff,
) -> int:
    # Nobody looks after themselves: the successor's own record loses its account manager instead.
    own = records.filter(pk=successor.pk) if records.model is Staff else records.none()
    for record in own:
        setattr(record, column.attname, None)
        record.save()
    keys = list(records.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    changed = {column.attname: [str(leaver.pk), str(successor.pk)]}
    for start in range(0, len(keys), archive.BATCH):
        batch = keys[start : start + archive.BATCH]
        records.model._default_manager.filter(pk__in=batch).update(
            **{column.name: successor, "modify_date": clock.now()}
        )
        history.write_entries(records.model, batch, "Changed", changed)
    return len(keys)


def an_administrator_remains(leavers: QuerySet[Staff]) -> bool:
    """Whether anybody but these can sign in and may do everything in the back office."""
    enabled = Q(disable_login_date=None) | Q(disable_login_date__gt=clock.now())
    administrators = Staff.objects.filter(enabled, archive_date=None, role__all_permissions=True)
    keys = leavers.values("pk")
    return not administrators.filter(pk__in=keys).exists() or administrators.exclude(pk__in=keys).exists()
