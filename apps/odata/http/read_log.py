"""The log of reads that viewsets tell; ``settings.ODATA_READ_LOG`` names it."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from apps.base.declaration.schema import EntitySet

Query = Sequence[tuple[str, str]]


class ReadLog(Protocol):
    """Takes note of reads. ``query`` are the (name, value) pairs of the query string, decoded.

    ``has_others``: records of other sets may be expanded in the JSON of the records.
    """

    def log_records(
        self, entity_set: EntitySet, records: Sequence[str], query: Query, *, is_list: bool, has_others: bool
    ) -> None:
        """Take note of records, each the text of its JSON."""

    def log_count(self, entity_set: EntitySet, count: int, query: Query, key: object = None) -> None:
        """Take note of how many records match a query, or are in a list of the record with the ``key``;
        of a query that aggregates records, how many rows it has."""

    def log_refusal(self, entity_set: EntitySet, codes: Sequence[str]) -> None:
        """Take note of a change that was refused: its faults and warnings may quote records."""

    def log_key(self, entity_set: EntitySet, key: object, query: Query) -> None:
        """Take note of a record of which an address shows a part."""

    def log_stream(
        self,
        entity_set: EntitySet,
        records: Iterable[object],
        query: Query,
        *,
        has_others: bool,
        json_of: Callable[[Any], str] = str,
    ) -> Iterable[Any]:
        """The same records, which are taken note of while they are read; ``json_of`` one has its keys."""


class NoReadLog:
    """Takes note of nothing, where nobody must know who read what."""

    def log_records(self, *args: object, **options: object) -> None: ...

    log_count = log_refusal = log_key = log_records

    def log_stream(
        self, entity_set: EntitySet, records: Iterable[object], *_: object, **__: object
    ) -> Iterable[Any]:
        return records


NO_READ_LOG: ReadLog = NoReadLog()


@cache
def get_read_log() -> ReadLog:
    log: ReadLog = import_string(settings.ODATA_READ_LOG)
    return log
