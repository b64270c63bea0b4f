"""Notices: written by services and tasks for one person each, shown in the back office, mailed on request."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import Model, QuerySet
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse
from django_tasks import task

from apps.base import clock
from apps.core import history
from apps.core.caseload import caseload_of, caseload_path
from apps.core.history_display import key_from_text, names_of
from apps.core.models import Change, Notice, NoticePreference, Subscriber
from apps.core.read_log import READ_LOG, log_shown
from apps.core.task_queue import task_author

Key = TypeVar("Key")

#: Of more records assigned at once there is one notice together.
SINGLE_NOTICES = 3


#: What is due on a day, by the apps that own the records.
DUE_NOTICES: list[Callable[[dt.date], Iterable[Notice]]] = []


@transaction.atomic
def write_notices(notices: Sequence[Notice]) -> int:
    """Store new notices, and let those be mailed whose person wants it; how many were stored.

    One whose ``key`` another notice has is left out.
    """
    keys = [notice.key for notice in notices if notice.key]
    known = set(Notice.objects.filter(key__in=keys).values_list("key", flat=True)) if keys else set()
    new = [notice for notice in notices if notice.key is None or notice.key not in known]
    for notice in new:
        notice.text, notice.url = notice.text[:300], without_prefix(notice.url)
    Notice.objects.bulk_create(new)
    wanted = NoticePreference.objects.filter(staff__in={notice.staff_id for notice in new}, by_mail=True)
    by_mail = set(wanted.values_list("staff", flat=True)) if new else set()
    for notice in new:
        if notice.staff_id in by_mail:
            mail_notice.enqueue(notice.pk)
    return len(new)


def without_prefix(url: str) -> str:
    """An address of the site as it is without the prefix of its proxy."""
    return "/" + url.removeprefix(get_script_prefix()).removeprefix("/")


def delete_notices(model: type[Model], keys: Iterable[object]) -> None:
    """Delete the notices that lead to these records: their texts name what they are about."""
    # Those of earlier versions begin with the prefix of the site.
    page = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
    for key in keys:
        with suppress(NoReverseMatch):
            Notice.objects.filter(url__endswith=reverse(page, args=[key])).delete()


def noticed_record(notice: Notice) -> tuple[type[Model], object] | None:
    """The record that a notice leads to, whose name is in its text: its model and key."""
    with suppress(Resolver404, LookupError, ValueError):
        page = resolve(get_script_prefix().rstrip("/") + without_prefix(notice.url))
        app, name, _ = str(page.url_name).split("_", 2)
        model = apps.get_model(app, name)
        key = key_from_text(model, page.kwargs["object_id"])
        return None if key is None else (model, key)
    return None


def noticed_records(notices: Iterable[Notice]) -> dict[type[Model], set[Any]]:
    """The records that notices lead to."""
    return by_model(filter(None, map(noticed_record, notices)))


def by_model(records: Iterable[tuple[type[Model], object]]) -> dict[type[Model], set[Any]]:
    """The keys of records, by their model."""
    found: defaultdict[type[Model], set[Any]] = defaultdict(set)
    for model, key in records:
        found[model].add(key)
    return found


def visible_notices(person: object, notices: QuerySet[Any]) -> QuerySet[Any]:
    """The notices without those that lead to records which the person does not see."""
    caseload = caseload_of(person)
    if caseload is None:
        return notices
    # To find out what an address leads to costs more than all else: of each notice once.
    records = {notice.pk: record for notice in notices if (record := noticed_record(notice))}
    visible = {
        (model, key)
        for model, keys in by_model(records.values()).items()
        for key in caseload.visible(model._base_manager.filter(pk__in=keys)).values_list("pk", flat=True)
    }
    hidden = [
        notice for notice, record in records.items() if caseload.covers(record[0]) and record not in visible
    ]
    return notices.exclude(pk__in=hidden)


def seen_by(staff_id: UUID, model: type[Model], keys: Sequence[Key]) -> Sequence[Key]:
    """The keys, of records that a member of staff sees: one who is limited is told of no others."""
    if caseload_path(model) == "":
        return keys  # everybody sees them
    caseload = caseload_of(get_user_model()._base_manager.select_related("role").get(pk=staff_id))
    if caseload is None:
        return keys
    records = caseload.visible(model._base_manager.filter(pk__in=keys))
    seen = set(map(str, records.values_list("pk", flat=True)))
    return [key for key in keys if str(key) in seen]


@task()
def mail_notice(key: int) -> None:
    """Mail a notice to its person, whose login may be closed meanwhile."""
    notice = Notice.objects.select_related("staff").filter(pk=key).first()
    if notice is None or not notice.staff.is_active:
        return
    if not visible_notices(notice.staff, Notice.objects.filter(pk=key)).exists():
        return
    lines = [notice.text]
    if settings.SITE_ADDRESS:
        lines.append(settings.SITE_ADDRESS.rstrip("/") + notice.url)
    subject = " ".join(f"{Subscriber.current().name}: {notice.text}".split())
    send_mail(subject, "\n\n".join(lines), None, [notice.staff.primary_email])
    with task_author(history.Author(Change.Channel.BACK_OFFICE, notice.staff_id)):
        log_shown("History", noticed_records([notice]), "mail")
    READ_LOG.write()  # the thread that writes it is the server's


# --- what was assigned ----------------------------------------------------------------------------------


def notify_assigned(model: type[Model], column: str, assigned: Mapping[object, Any]) -> None:
    """Let staff know which records are theirs to look after now, by ``{key: key of the staff member}``.

    A notice for each record, one for many, one for all of an import. Nobody is told what they did themselves,
    or what a command did.
    """
    author = history.author()
    if author.channel == Change.Channel.COMMAND:
        return
    by_staff: defaultdict[UUID, list[str]] = defaultdict(list)
    for key, staff_id in assigned.items():
        if staff_id not in (None, author.staff_id):
            by_staff[staff_id].append(str(key))
    names, page = model._meta, f"admin:{model._meta.app_label}_{model._meta.model_name}"
    notices = []
    for staff_id, all_keys in by_staff.items():
        # A notice that leads to one record is hidden from those who do not see that.
        keys = all_keys if len(all_keys) <= SINGLE_NOTICES else seen_by(staff_id, model, all_keys)
        if len(keys) <= SINGLE_NOTICES:
            for key, name in names_of(model, keys).items():
                text = f"Assigned to you: {names.verbose_name} {name}"
                url = reverse(f"{page}_change", args=[key])
                notices.append(Notice(staff_id=staff_id, kind=Notice.Kind.ASSIGNED, text=text, url=url))
            continue
        text, once = f"{len(keys):,} {names.verbose_name_plural} were assigned to you.", None
        if author.channel == Change.Channel.IMPORT:
            text = f"An import assigned {names.verbose_name_plural} to you."
            once = f"{author.request_id} {names.label_lower} {staff_id}"
        url = f"{reverse(f'{page}_changelist')}?{column}__guid__exact={staff_id}"
        notice = Notice(staff_id=staff_id, kind=Notice.Kind.ASSIGNED, text=text, url=url, key=once)
        notices.append(notice)
    if notices:
        write_notices(notices)


# --- what is due ----------------------------------------------------------------------------------------


def due_notice(staff_id: Any, text: str, record: Model, key: str) -> Notice:
    """A notice that leads to the form of a record, and is written once for a key."""
    page = f"admin:{record._meta.app_label}_{record._meta.model_name}_change"
    url = reverse(page, args=[record.pk])
    return Notice(staff_id=staff_id, kind=Notice.Kind.DUE, text=text, url=url, key=key)


def write_due_notices() -> None:
    """Write the notices of today that are not written yet."""
    with task_author(history.SYSTEM_AUTHOR):
        today = clock.today()
        write_notices([notice for find in DUE_NOTICES for notice in find(today)])


# --- the end of notices ---------------------------------------------------------------------------------


def delete_old_notices() -> int:
    """Delete notices after ``NOTICE_DAYS``; how many there were."""
    return Notice.objects.filter(at__lt=clock.now() - dt.timedelta(days=settings.NOTICE_DAYS)).delete()[0]
