"""Services that merge two records of one person or organisation, and undo it within a day.

All that refers to the duplicate refers to the other one afterwards, with a history entry for each record; the
duplicate is archived as it is, and its answers to custom fields stay with it. The history is what undoes it.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db import models, transaction
from django.db.models import ManyToOneRel, Q, QuerySet

from apps.base import clock
from apps.base.batched_queries import AnyOf
from apps.base.drafts import Issue, ValidationFailed, is_merged
from apps.core import history
from apps.core.bulk_insert import in_batches
from apps.core.models import Change, TimestampedModel
from apps.people.models import Client, Contact

#: So long a merge can be undone.
UNDO_PERIOD = dt.timedelta(days=1)
#: As many conflicting records as a message names.
NAMED_CONFLICTS = 5

AnyRecord = Contact | Client

#: Called with the record that stays and the duplicate, in the transaction of their merge; apps add theirs.
AFTER_MERGE: list[Callable[[AnyRecord, AnyRecord], object]] = []


def referring_columns(model: type[models.Model]) -> list[Any]:
    """The columns by which records refer to a model, those without a related name included."""
    relations = model._meta.get_fields(include_hidden=True)
    many = [each for each in relations if isinstance(each, ManyToOneRel) and each.one_to_many]
    return [each.field for each in many if issubclass(each.field.model, TimestampedModel)]


def referring_records(record: AnyRecord, column: models.Field) -> QuerySet[models.Model]:
    return column.model._default_manager.filter(**{column.name: record.pk})


@transaction.atomic
def merge(target: AnyRecord, duplicate: AnyRecord) -> int:
    """Let all that refers to the duplicate refer to the target, and archive it; how many records moved.

    Raises ``ValidationFailed`` with every reason why the two cannot be one.
    """
    target, duplicate = lock_both(target, duplicate)
    issues = list(find_merge_issues(target, duplicate))
    if issues:
        raise ValidationFailed([(0, issue) for issue in issues])
    count = 0
    for column in referring_columns(type(target)):
        count += move_references(referring_records(duplicate, column), column, duplicate.pk, target.pk)
    duplicate.archive_date = duplicate.archive_date or clock.now()
    duplicate.merged_into = target
    duplicate.save()
    history.write_entries(type(target), [target.pk], "Changed", {"Merged record": [None, str(duplicate)]})
    for follow in AFTER_MERGE:
        follow(target, duplicate)
    return count


@transaction.atomic
def undo_merge(duplicate: AnyRecord) -> int:
    """Let what the merge moved refer to the duplicate again, and restore it; how many records moved back.

    What refers to somebody else meanwhile stays as it is. Raises ``ValidationFailed`` when it is too late,
    and while the other record is merged into a third itself, to which everything went on.
    """
    duplicate = type(duplicate)._default_manager.select_for_update(of=("self",)).get(pk=duplicate.pk)
    moment, target = merge_moment(duplicate), duplicate.merged_into
    if target is None or moment is None or not is_undoable(duplicate):
        message = "It can be undone within a day of the merge, and that has passed."
        raise ValidationFailed([(0, Issue("NotAllowed", "", message))])
    between = find_merged_between(duplicate)
    if between is not None:
        message = f"{between} was merged into {target} since: undo that first."
        raise ValidationFailed([(0, Issue("NotAllowed", "", message))])
    count = 0
    for column in referring_columns(type(duplicate)):
        moved = Change.objects.filter(
            at=moment,
            record_type=column.model._meta.label_lower,
            differences={column.attname: [str(duplicate.pk), str(target.pk)]},
        )
        keys = [column.model._meta.pk.to_python(key) for key in moved.values_list("record_key", flat=True)]
        records = referring_records(target, column).filter(AnyOf("pk", keys))
        count += move_references(records, column, target.pk, duplicate.pk)
    if duplicate.archive_date == moment:
        duplicate.archive_date = None
    duplicate.merged_into = None
    duplicate.save()
    return count


def is_undoable(duplicate: AnyRecord) -> bool:
    moment = merge_moment(duplicate)
    return moment is not None and clock.now() - moment < UNDO_PERIOD


def merge_moment(duplicate: AnyRecord) -> dt.datetime | None:
    """When somebody merged the record; ``None`` for one that is not merged."""
    return last_merge(duplicate)[0]


def find_merged_between(duplicate: AnyRecord) -> AnyRecord | None:
    """The record that somebody merged the duplicate into, where that one was merged on into a third."""
    chosen = last_merge(duplicate)[1]
    if chosen in (None, str(duplicate.merged_into_id)):
        return None
    return type(duplicate)._default_manager.get(pk=chosen)


def last_merge(duplicate: AnyRecord) -> tuple[dt.datetime | None, str | None]:
    """When somebody merged the record into another, and the key of that one.

    The history has other entries of the column: the other one was merged on, or that was undone.
    """
    changes = Change.objects.filter(record_type=duplicate._meta.label_lower, record_key=str(duplicate.pk))
    merges = changes.filter(differences__has_key="merged_into_id", differences__merged_into_id__0=None)
    found = merges.values_list("at", "differences__merged_into_id__1").first()
    return found if found and duplicate.merged_into_id is not None else (None, None)


def lock_both(target: AnyRecord, duplicate: AnyRecord) -> tuple[Any, Any]:
    """Both as they are stored now, locked in the order of their keys."""
    rows = type(target)._default_manager.filter(pk__in=[target.pk, duplicate.pk]).order_by("pk")
    records = {row.pk: row for row in rows.select_for_update(of=("self",))}
    return records[target.pk], records[duplicate.pk]


def move_references(
    records: QuerySet[models.Model], column: models.Field, before: object, after: object
) -> int:
    """Let the records refer to another one by the column, with their history; how many there are."""
    model = column.model
    keys = list(records.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))
    changed = history.describe(model, {column.attname: before}, {column.attname: after})
    for batch in in_batches(keys):
        rows = model._default_manager.filter(AnyOf("pk", batch))
        rows.update(**{column.attname: after, "modify_date": clock.now()})
        history.write_entries(model, batch, "Changed", changed)
    return len(keys)


def find_in_use(contacts: Iterable[Contact]) -> list[Contact]:
    """The contacts that a number or code of these means: archived ones only where there is no other.

    One that was merged into another means that other one.
    """
    found = {each.pk: each for each in (c.merged_into if is_merged(c) else c for c in contacts)}
    return [each for each in found.values() if not each.is_archived] or list(found.values())


# --- what speaks against a merge ------------------------------------------------------------------------


def find_merge_issues(target: AnyRecord, duplicate: AnyRecord) -> Iterator[Issue]:
    if target.pk == duplicate.pk:
        yield Issue("NotAllowed", "duplicate", "It is the same record.")
        return
    if target.is_archived:
        yield Issue("Archived", "", f"{target} is archived; restore it first.")
    if duplicate.merged_into_id is not None:
        yield Issue("NotAllowed", "duplicate", f"{duplicate} was merged already.")
    if getattr(duplicate, "is_self", False):
        message = f"{duplicate} is the subscriber itself; merge the other one into it."
        yield Issue("NotAllowed", "duplicate", message)
    for column in referring_columns(type(target)):
        if column.model is type(target) and getattr(target, column.attname) == duplicate.pk:
            message = f"{duplicate} is the {column.verbose_name} of {target}; change that first."
            yield Issue("NotAllowed", "duplicate", message)
        yield from find_conflicting_references(target, duplicate, column)


def find_conflicting_references(
    target: AnyRecord, duplicate: AnyRecord, column: models.Field
) -> Iterator[Issue]:
    """Records of both that could not both refer to one: their other unique values are equal."""
    model = column.model
    for constraint in model._meta.constraints:
        if not isinstance(constraint, models.UniqueConstraint) or column.name not in constraint.fields:
            continue
        others = [name for name in constraint.fields if name != column.name]
        condition = constraint.condition or Q()
        equal = {name: models.OuterRef(name) for name in others}
        same = referring_records(target, column).filter(condition, **equal)
        found = referring_records(duplicate, column).filter(condition, models.Exists(same))
        names = [str(record) for record in found.order_by("pk")[:NAMED_CONFLICTS]]
        if names:
            nouns = model._meta.verbose_name_plural
            # Such a condition leaves archived records out.
            remedy = "Change those first" if constraint.condition is None else "Archive those first"
            message = f"Both have {nouns} of which only one can stay: {', '.join(names)}. {remedy}."
            yield Issue("NotUnique", "duplicate", message)
