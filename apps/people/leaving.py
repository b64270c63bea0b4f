"""When somebody leaves: what stands in their name, who takes it over, and that somebody stays in charge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import models, transaction
from django.db.models import Q, QuerySet

from apps.core import archive, history
from apps.core.models import Stamped
from apps.odata import clock
from apps.people.models import Staff

#: References that say whose something is to look after; others (who entered it) are facts and stay.
RESPONSIBILITIES = frozenset({"account_manager", "owner", "follow_up_staff", "budget_manager"})


@transaction.atomic
def hand_over(leaver: Staff, successor: Staff) -> int:
    """Give all current records that the leaver looks after to the successor, and say how many."""
    return sum(_hand_over(records, column, leaver, successor) for records, column in responsibilities(leaver))


def responsibilities(person: Staff) -> Sequence[tuple[QuerySet[Stamped], models.Field[Any, Any]]]:
    """The current records that a person looks after, with the column that says so."""
    found = []
    for relation in Staff._meta.related_objects:
        column, model = relation.field, relation.related_model
        if column.name in RESPONSIBILITIES and issubclass(model, Stamped):
            looked_after = model._default_manager.filter(**{column.name: person, "archive_date": None})
            found.append((looked_after, column))
    return found


def _hand_over(
    records: QuerySet[Stamped],
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


def somebody_stays_in_charge(leavers: QuerySet[Staff]) -> bool:
    """Whether anybody but these may still do everything in the back office."""
    may_sign_in = Q(disable_login_date=None) | Q(disable_login_date__gt=clock.now())
    in_charge = Staff.objects.filter(may_sign_in, archive_date=None, role__all_permissions=True)
    if not in_charge.filter(pk__in=leavers.values("pk")).exists():
        return True
    return in_charge.exclude(pk__in=leavers.values("pk")).exists()
