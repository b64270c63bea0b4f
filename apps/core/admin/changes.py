"""The back office's list of the changes of all records, for reading and for an auditor's export."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from apps.core import history_display
from apps.core.admin_base import AuditAdmin, RecordAdmin
from apps.core.admin_base.audit import kind_of_record, recorded_models
from apps.core.admin_base.display import link, list_column
from apps.core.admin_base.palette import find_records, record_pages
from apps.core.admin_base.searching import search_words, search_words_in
from apps.core.caseload import visible_rows
from apps.core.models import Change
from apps.core.read_log import ShownRecords

#: Records of each kind that a search of the changes is about.
SEARCHED_RECORDS = 50


def find_keys(page: RecordAdmin, words: Sequence[str], person: object) -> list[object]:
    """The keys of some records with the words; of accounts and the like, with those of their owners."""
    if not page.searched.lists:
        return []
    if page.searched.palette:
        return [record.pk for record in find_records(page, words, person, SEARCHED_RECORDS)]
    records = visible_rows(person, page.model._default_manager.order_by())
    found = search_words_in(records, words, page.searched.lists, ())
    return list(found.values_list("pk", flat=True)[:SEARCHED_RECORDS])


def find_deleted(pages: Sequence[RecordAdmin], words: Sequence[str]) -> Q:
    """The entries of deleted records with the words in what they are found by, which their deletions keep."""
    found = Q()
    for page in pages:
        columns = [column for column in page.searched.lists if "__" not in column]
        in_columns = (
            reduce(or_, [Q(**{f"differences__{column}__0__icontains": word}) for column in columns])
            for word in words
        )
        if columns:
            found |= Q(*in_columns, record_type=page.opts.label_lower)
    deletions = Change.objects.filter(found, kind=Change.Kind.DELETED) if found else Change.objects.none()
    keys = deletions.values_list("record_type", "record_key")[:SEARCHED_RECORDS]
    return reduce(or_, (Q(record_type=label, record_key=key) for label, key in keys), Q())


@admin.register(Change)
class ChangeAdmin(AuditAdmin):
    """The changes of all records that the person may view."""

    purpose = "Who changed which record, when, and what it was before."
    menu_order = 920
    icon = "history"
    list_display = ("at", "record", "record_kind", "kind_label", "who", "channel_name", "details")
    search_fields = ("record_key",)
    search_help_text = "Name or number of a record, identifier, application, request id"
    export_name = "changes"
    export_columns = (
        *("Time", "Person", "Application", "Channel", "Change", "Kind of record", "Record", "Identifier"),
        *("Field", "Before", "After", "Request"),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """By what finds their records in the command palette or in their lists; else by identifiers."""
        words = search_words(search_term)
        if not words:
            return queryset, False
        changes, pages = Q(), record_pages(request)
        for page in pages:
            keys = [str(key) for key in find_keys(page, words, request.user)]
            if keys:
                changes |= Q(record_type=page.opts.label_lower, record_key__in=keys)
        text = search_term.strip()
        # By the index of records, before the whole history is read for the other identifiers.
        kinds = [model._meta.label_lower for model in recorded_models(request)]
        of_record = Q(record_type__in=kinds, record_key=text)
        if not changes and queryset.filter(of_record).exists():
            changes = of_record
        changes = changes or find_deleted(pages, words)
        identifiers = Q(record_key=text) | Q(request_id=text) | Q(application__iexact=text)
        return queryset.filter(changes or identifiers), False

    def named_records(self, entries: Sequence[Change]) -> ShownRecords:
        return history_display.referred_keys(entries)

    def display_lines(self, entries: Sequence[Change]) -> Sequence[history_display.HistoryLine]:
        return history_display.history_lines(entries)

    @display(description="record")
    def record(self, change: Any) -> str:
        line = change.display_line
        return link(line.url, line.record) if line.url else str(line.record)

    kind_label = list_column("change", "kind", label=history_display.COLOURS)

    @display(description="details")
    def details(self, change: Any) -> str:
        return "; ".join(
            f"{each.label}: {each.before} → {each.after}" for each in change.display_line.differences
        )

    def export_rows(self, entries: Sequence[Change]) -> Iterator[Sequence[object]]:
        """A row for each field that changed."""
        for change, line in zip(entries, self.display_lines(entries), strict=True):
            person = line.who if change.staff_id else ""
            about = (
                *(timezone.localtime(change.at).isoformat(), person, change.application or ""),
                *(change.channel, change.kind, kind_of_record(change), line.record, change.record_key),
            )
            for each in line.differences or [history_display.Difference("", "", "")]:
                yield (*about, each.label, each.before, each.after, change.request_id or "")
