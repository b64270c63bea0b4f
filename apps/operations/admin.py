"""The back office's list of reads of personal data: whose records somebody read, and who read somebody's."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from apps.core.admin_base import COUNT_LIMIT, AuditAdmin
from apps.core.admin_base.audit import kind_of_record
from apps.core.admin_base.display import link, list_column
from apps.core.admin_base.palette import find_records, searched_pages
from apps.core.admin_base.searching import search_words
from apps.core.bulk_insert import in_batches
from apps.core.history_display import author_name, key_from_text, model_of, names_of, record_url
from apps.core.models import PersonalDataRead
from apps.core.read_log import ShownRecords, key_bytes, key_from_bytes, split_keys
from apps.operations.personal_records import Model, load_keys, person_names
from apps.operations.personal_records import find_records as find_personal_records
from apps.people.models import Contact, Staff

#: Records that a line of the list names; records of each kind that a search finds; entries that it looks at.
NAMED_RECORDS, SEARCHED_RECORDS, SEARCHED_ENTRIES = 3, 10, 200_000


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record that was read. ``person`` is the participant it belongs to, ``name`` empty once it is gone."""

    key: str
    name: str
    person: str
    url: str


@dataclass(frozen=True, slots=True)
class ReadLine:
    """An entry as it is shown."""

    who: str
    records: list[NamedRecord]


@dataclass(frozen=True, slots=True)
class ReadSearch:
    """The subject of a search: keys of records, and the kinds of which a read without keys may have been."""

    keys: frozenset[bytes]
    record_types: frozenset[str]

    def matches(self, record_type: str, keys: bytes, kind: str, count: int) -> bool:
        """One without keys was of too many records to list them, or is a refusal, which may quote one."""
        if not keys:
            is_read = count > 0 or kind == PersonalDataRead.Kind.REFUSAL
            return is_read and record_type in self.record_types
        return not self.keys.isdisjoint(split_keys(keys))


def read_lines(entries: Sequence[PersonalDataRead], limit: int | None = None) -> list[ReadLine]:
    """The entries as they are shown, each with its first records."""
    staff = names_of(Staff, {str(each.staff_id) for each in entries if each.staff_id})
    keys = [list(entry_keys(each, limit)) for each in entries]
    records = load_records(chain.from_iterable(keys))
    return [
        ReadLine(author_name(each, staff), [records[key] for key in own])
        for each, own in zip(entries, keys, strict=True)
    ]


def entry_keys(entry: PersonalDataRead, limit: int | None) -> Iterator[tuple[Model, object]]:
    """The model and the key of each record; none when only another version of the service has the model."""
    model = model_of(entry.record_type)
    if model is not None:
        for key in islice(split_keys(entry.record_keys), limit):
            yield model, key_from_bytes(model, key)


def load_records(keys: Iterable[tuple[Model, object]]) -> dict[tuple[Model, object], NamedRecord]:
    """The records of these keys as they are shown; few queries for each model."""
    by_model: dict[Model, dict[object, None]] = defaultdict(dict)
    for model, key in keys:
        by_model[model][key] = None
    found = {}
    for model, own in by_model.items():
        names: dict[str, str] = {}
        for batch in in_batches(own):
            names |= names_of(model, map(str, batch))
        # A read of records with numbers has guids of the people in it, too.
        persons = person_names(model, [key for key in own if key_from_text(model, str(key)) == key])
        for key in own:
            name = names.get(str(key), "")
            url = (name and record_url(model, key)) or ""
            found[model, key] = NamedRecord(str(key), name, persons.get(key, ""), url)
    return found


def search_of(request: HttpRequest, text: str) -> ReadSearch:
    """The records that a text names, as the command palette finds them; with a contact all that is theirs."""
    found: list[Any] = []
    with suppress(ValueError):
        found += Contact.objects.filter(pk=UUID(text))
    for page in searched_pages(request):
        found += find_records(page, search_words(text), request.user, SEARCHED_RECORDS)
    keys = {key_bytes(record.pk) for record in found}
    types = {record._meta.label_lower for record in found}
    for contact in (record for record in found if isinstance(record, Contact)):
        for model, own in load_keys(find_personal_records(contact)).items():
            if getattr(model, "has_personal_data", False) and own:
                keys.update(map(key_bytes, own))
                types.add(model._meta.label_lower)
    return ReadSearch(frozenset(keys), frozenset(types))


@admin.register(PersonalDataRead)
class PersonalDataReadAdmin(AuditAdmin):
    """Who read which personal data."""

    purpose = "Who read which personal data, and when."
    menu_order = 930
    menu_title = "Reads of personal data"
    icon = "visibility"
    list_display = (
        *("at", "who", "channel_name", "kind_label", "record_kind", "record_count", "records", "persons"),
        "query",
    )
    search_fields = ("request_id",)
    search_help_text = "Name or number of a person or record, whose reads are sought; application, request id"
    export_name = "reads"
    export_columns = (
        *("Time", "Person", "Application", "Channel", "Read", "Kind of record", "Records", "Record"),
        *("Identifier", "Participant", "Query", "Request"),
    )
    export_batch = 50

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        if not search_words(text):
            return queryset, False
        search = search_of(request, text)
        if not search.keys:
            return queryset.filter(Q(request_id=text) | Q(application__iexact=text)), False
        columns = ("pk", "record_type", "record_keys", "kind", "record_count")
        newest = queryset.order_by("-pk").values_list(*columns)[:SEARCHED_ENTRIES]
        looked_at, matches = 0, []
        for key, *entry in newest.iterator():
            looked_at += 1
            if search.matches(*entry):
                matches.append(key)
        if looked_at == SEARCHED_ENTRIES or len(matches) > COUNT_LIMIT:
            message = "Only the newest entries were searched: filter by time to search earlier ones."
            messages.warning(request, message)
        return queryset.filter(pk__in=matches[:COUNT_LIMIT]), False

    def named_records(self, entries: Sequence[PersonalDataRead]) -> ShownRecords:
        shown: dict[Model, set[object]] = defaultdict(set)
        for entry in entries:
            for model, key in entry_keys(entry, NAMED_RECORDS):
                shown[model].add(key)
        return shown

    def display_lines(self, entries: Sequence[PersonalDataRead]) -> Sequence[ReadLine]:
        return read_lines(entries, NAMED_RECORDS)

    kind_label = list_column("read", "kind")

    @display(description="first records")
    def records(self, entry: Any) -> SafeString:
        links = [link(each.url, each.name) if each.url else each.name for each in entry.display_line.records]
        return join_texts(links, entry.record_count)

    @display(description="of")
    def persons(self, entry: Any) -> SafeString:
        return join_texts(dict.fromkeys(each.person for each in entry.display_line.records))

    def export_rows(self, entries: Sequence[PersonalDataRead]) -> Iterator[Sequence[object]]:
        """A row for each record; one without a name for a read that was too long to list its records."""
        for entry, line in zip(entries, read_lines(entries), strict=True):
            person = line.who if entry.staff_id else ""
            about = (
                *(timezone.localtime(entry.at).isoformat(), person, entry.application or "", entry.channel),
                *(entry.kind, kind_of_record(entry), entry.record_count),
            )
            for each in line.records or [NamedRecord("", "", "", "")]:
                yield (*about, each.name, each.key, each.person, entry.query, entry.request_id or "")


def join_texts(texts: Iterable[str], count: int = 0) -> SafeString:
    """``A, B, C and 47 more``, without empty texts."""
    shown = [text for text in texts if text]
    more = [f"{count - len(shown):,} more"] if count > len(shown) else []
    return format_html_join(", ", "{}", ((text,) for text in [*shown, *more]))
