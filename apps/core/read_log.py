"""The read log: who read which personal data, one entry a request.

Entries wait in memory and are written together by a thread of their own, so that a read costs no trip to the
database and does not fail with the log. A worker that is killed loses those of its last second.
"""

import logging
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import DatabaseError, close_old_connections, models
from django.http import HttpRequest, HttpResponse

from apps.base import clock
from apps.base.declaration.schema import EntitySet
from apps.core import history, read_log_chain, read_log_shipping
from apps.odata.http.read_log import Query

logger = logging.getLogger(__name__)

#: As many records as a page of the interface can have. A longer read is stored with its number of records.
MAX_KEYS = 5_000
KEY_BYTES = 16
#: Of the databases; every guid is larger.
LARGEST_NUMBER = 2**63 - 1
#: The keys of so many records of a stream are read together.
KEYS_AT_ONCE = 100
#: Entries that wait while the database takes none; later ones are lost, and the log line says how many.
MAX_WAITING = 10_000
WRITE_SECONDS = 1.0
MAX_QUERY_CHARACTERS = 500

#: Options whose values are expressions: names of members, operators, and values that are not stored.
EXPRESSIONS = frozenset({"filter", "orderby", "select", "expand", "apply", "compute", "format"})
#: A text, a guid, or a number or date in such an expression.
_VALUE = re.compile(
    r"'(?:[^']|'')*'|\b[\da-fA-F]{8}-(?:[\da-fA-F]{4}-){3}[\da-fA-F]{12}\b|(?<!\w)\d[\w:.+-]*"
)
_KEY = re.compile(r'"?([\da-f-]+)')
_GUID = re.compile(r'"([\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})"')


class ReadEntry(NamedTuple):
    """The columns of an entry (``read_log_chain.COLUMNS``)."""

    at: object
    staff_id: UUID | None
    application: str | None
    channel: str
    request_id: str | None
    kind: str
    record_type: str
    record_count: int
    record_keys: bytes
    query: str


class QueuedReadLog:
    """The entries of one process that wait to be written."""

    def __init__(self) -> None:
        self.waiting: deque[ReadEntry] = deque()
        self.lost = 0
        self.stopped = Event()
        self.thread: Thread | None = None

    def add(self, model: type[models.Model], kind: str, count: int, keys: bytes, query: str = "") -> None:
        """Let the author of this context have read so many records."""
        if len(self.waiting) >= MAX_WAITING:
            self.lost += 1
            return
        who = history.author()
        # Names of options are the caller's, and PostgreSQL stores no NUL.
        query = query.replace("\0", "?")[:MAX_QUERY_CHARACTERS]
        self.waiting.append(
            ReadEntry(
                *(clock.now(), who.staff_id, who.application, who.channel, who.request_id),
                *(str(kind), model._meta.label_lower, count, keys, query),
            )
        )

    # --- reads of the interface (``odata.http.read_log``)

    def log_records(
        self, entity_set: EntitySet, records: Sequence[str], query: Query, *, is_list: bool, has_others: bool
    ) -> None:
        if is_logged(entity_set.model):
            kind = "List" if is_list else "Record"
            keys = rendered_keys(entity_set, records, has_others)
            self.add(entity_set.model, kind, len(records), keys, without_values(query))

    def log_count(self, entity_set: EntitySet, count: int, query: Query, key: object = None) -> None:
        # How many records there are says nothing about anybody; how many match a condition may.
        if is_logged(entity_set.model) and (query or key is not None):
            keys = b"" if key is None else key_bytes(key)
            self.add(entity_set.model, "Count", count, keys, without_values(query))

    def log_refusal(self, entity_set: EntitySet, codes: Sequence[str]) -> None:
        if is_logged(entity_set.model):
            self.add(entity_set.model, "Refusal", 0, b"", ",".join(dict.fromkeys(codes)))

    def log_key(self, entity_set: EntitySet, key: object, query: Query) -> None:
        if is_logged(entity_set.model):
            self.add(entity_set.model, "Record", 1, key_bytes(key), without_values(query))

    def log_stream(
        self,
        entity_set: EntitySet,
        records: Iterable[object],
        query: Query,
        *,
        has_others: bool,
        json_of: Callable[[Any], str] = str,
    ) -> Iterable[Any]:
        if not is_logged(entity_set.model):
            return records
        keys_of = partial(rendered_keys, entity_set, has_others=has_others)
        entry = partial(self.add, entity_set.model, "Export", query=without_values(query))
        return logged_stream(records, json_of, keys_of, entry, history.author())

    # --- writing

    def write(self) -> None:
        """Write all entries; while the database takes none, they go on waiting."""
        entries = [self.waiting.popleft() for _ in range(len(self.waiting))]
        if not entries:
            return
        try:
            lines = read_log_chain.append(entries)
        except DatabaseError:
            self.waiting.extendleft(reversed(entries))
            logger.exception("%d entries of the read log wait, %d are lost", len(self.waiting), self.lost)
        else:
            self.lost = 0
            read_log_shipping.ship(lines)

    def start(self) -> None:
        """Write every second from now on, in a thread of its own."""
        self.thread = Thread(target=self.run, name="read log", daemon=True)
        self.thread.start()

    def run(self) -> None:
        while not self.stopped.wait(WRITE_SECONDS):
            close_old_connections()
            self.write()
        self.write()
        read_log_shipping.flush()

    def stop(self) -> None:
        """Write what waits, for the last time."""
        self.stopped.set()
        if self.thread is not None:
            self.thread.join()


#: Of this process.
READ_LOG = QueuedReadLog()


def is_logged(model: object) -> bool:
    return bool(getattr(model, "has_personal_data", False))


def key_bytes(key: Any) -> bytes:
    """The 16 bytes of a guid; a number has as many."""
    return key.bytes if isinstance(key, UUID) else int(key).to_bytes(KEY_BYTES, "big")


def split_keys(keys: bytes | memoryview) -> Iterator[bytes]:
    keys = bytes(keys)  # PostgreSQL's driver returns a view
    return (keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES))


def key_from_bytes(model: type[models.Model], key: bytes) -> object:
    """A guid, or the number of a model with numbers; of these a read has guids of the people in it, too."""
    number = int.from_bytes(key, "big")
    has_guid = isinstance(model._meta.pk, models.UUIDField) or number > LARGEST_NUMBER
    return UUID(bytes=key) if has_guid else number


def join_keys(keys: Sequence[object]) -> bytes:
    return b"".join(map(key_bytes, keys)) if len(keys) <= MAX_KEYS else b""


def rendered_keys(entity_set: EntitySet, records: Sequence[str], has_others: bool) -> bytes:
    """The keys in the JSON of records, which always shows them; none of rows that $apply makes.

    ``has_others``: records of other sets may be in them, whose guids are taken as well.
    """
    if entity_set.key is None or len(records) > MAX_KEYS:
        return b""
    mark = f'"{entity_set.key.name}":'
    if not records or mark not in records[0]:
        return b""
    start = records[0].find(mark) + len(mark) + 1
    is_guid = isinstance(entity_set.model._meta.pk, models.UUIDField)
    # In most answers the key stands at the same place in every record.
    texts = [record[start : start + 36] for record in records]
    try:
        keys = bytes.fromhex("".join(texts).replace("-", ""))
    except ValueError:
        keys = b""
    if not is_guid or len(keys) != KEY_BYTES * len(records):
        found = [_KEY.match(record, record.find(mark) + len(mark)) for record in records]
        texts = [each[1] for each in found if each]
        keys = join_keys([UUID(text) if is_guid else text for text in texts])
    if has_others:
        others = {guid for record in records for guid in _GUID.findall(record)}.difference(texts)
        if len(texts) + len(others) <= MAX_KEYS:
            keys += bytes.fromhex("".join(sorted(others)).replace("-", ""))
    return keys


def without_values(query: Query) -> str:
    """The text of a query with ``?`` for each value: what was asked, and nothing about anybody."""
    return "&".join(
        f"{name}={_VALUE.sub('?', value) if name.lower().removeprefix('$') in EXPRESSIONS else '?'}"
        for name, value in query
    )


def logged_stream(
    records: Iterable[object],
    json_of: Callable[[Any], str],
    keys_of: Callable[[Sequence[str]], bytes],
    add: Callable[[int, bytes], None],
    who: history.Author,
) -> Iterator[Any]:
    """The records; the entry is made when they end, all read or not."""
    count, keys, texts = 0, b"", list[str]()
    try:
        for record in records:
            count += 1
            if count <= MAX_KEYS:
                texts.append(json_of(record))
                if len(texts) == KEYS_AT_ONCE:
                    keys += keys_of(texts)
                    texts.clear()
            yield record
    finally:
        with history.as_author(who):
            add(count, keys + keys_of(texts) if count <= MAX_KEYS else b"")


# --- other reads ----------------------------------------------------------------------------------------


#: Keys of records by their model.
ShownRecords = Mapping[type[models.Model], Collection[object]]


def log_page(request: HttpRequest, response: HttpResponse) -> None:
    """Log the record or the list that a page of the back office shows.

    What a page shows besides, or a page of our own, is in its context as ``shown_records``
    (``ShownRecords``). The ``named_records`` of an admin class tell whose records its own are about.
    """
    context: dict[str, Any] | None = getattr(response, "context_data", None)
    if not context or response.status_code != 200:
        return
    query = "&".join(f"{name}=?" for name in request.GET)
    record, change_list = context.get("original", context.get("object")), context.get("cl")
    if isinstance(record, models.Model):
        if is_logged(record):
            READ_LOG.add(type(record), "Record", 1, key_bytes(record.pk), query)
        elif (named := named_records(type(record))) is not None:
            log_shown("History", named([record]), query)
    elif change_list is not None:
        if is_logged(change_list.model):
            keys = [row.pk for row in change_list.result_list]
            READ_LOG.add(change_list.model, "List", len(keys), join_keys(keys), query)
        elif (named := named_records(change_list.model)) is not None:
            log_shown("History", named(change_list.result_list), query)
    elif "adminform" in context:
        log_shown("Record", chosen_records(context["adminform"].form), query)
    if request.method == "POST" and "adminform" in context:
        log_refused_form(context["adminform"].form)
    log_shown("List", context.get("shown_records", {}), query)


def named_records(model: type[models.Model]) -> Callable[[Sequence[object]], ShownRecords] | None:
    """The names of records that entries of a log, notices or messages are about."""
    if not admin.site.is_registered(model):
        return None
    return getattr(admin.site.get_model_admin(model), "named_records", None)


def log_refused_form(form: Any) -> None:
    """Log the codes of the faults and warnings of a form, which may quote other records."""
    codes = [error.code for errors in form.errors.as_data().values() for error in errors]
    codes += [issue.code for issue in getattr(form, "warnings", ())]
    if codes and is_logged(form._meta.model):
        READ_LOG.add(form._meta.model, "Refusal", 0, b"", ",".join(dict.fromkeys(filter(None, codes))))


def chosen_records(form: Any) -> ShownRecords:
    """The records that the form of a new one shows as chosen: the address may name any."""
    chosen: dict[Any, set[object]] = defaultdict(set)
    for field in form:
        model: Any = getattr(getattr(field.field, "queryset", None), "model", None)
        for value in field.value() if isinstance(field.value(), list) else [field.value()]:
            with suppress(ValidationError, TypeError, ValueError):
                if is_logged(model) and value not in (None, ""):
                    chosen[model].add(model._meta.pk.to_python(getattr(value, "pk", value)))
    return chosen


def log_shown(kind: str, records: ShownRecords, query: str = "") -> None:
    """Log records of several models that are shown together."""
    for model, keys in records.items():
        if keys and is_logged(model):
            READ_LOG.add(model, kind, len(keys), join_keys(list(keys)), query)


def log_search(found: ShownRecords, query: str) -> None:
    """Log what a search suggests; one that finds nothing has an answer as well."""
    logged = {model: keys for model, keys in found.items() if is_logged(model)}
    log_shown("Search", logged, query)
    if logged and not any(logged.values()):
        READ_LOG.add(next(iter(logged)), "Search", 0, b"", query)


def log_export(rows: models.QuerySet[models.Model], query: str = "") -> None:
    """Log records that are about to be written into a file."""
    if is_logged(rows.model):
        keys = list(rows.order_by().values_list("pk", flat=True)[: MAX_KEYS + 1])
        count = len(keys) if len(keys) <= MAX_KEYS else rows.order_by().count()
        READ_LOG.add(rows.model, "Export", count, join_keys(keys), query)


def log_download(document: models.Model) -> None:
    READ_LOG.add(type(document), "Download", 1, key_bytes(document.pk))
