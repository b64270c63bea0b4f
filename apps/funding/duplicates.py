"""Duplicates: supports that another bill claims already, references that another claim has.

Searched for a thousand bills at once, beside millions of lines: every look-up uses an index, once for all
bills with the same values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.statuses import ENDED
from apps.odata.any_of import array_of_guids
from apps.odata.batched_queries import RawQuery, Rows


class LineKey(NamedTuple):
    """What two lines that claim the same support share. Invoices have no provider."""

    contact: UUID
    provider: UUID | None
    product: UUID
    first_day: Any
    last_day: Any
    quantity: Any
    claim_type: str
    is_credit: bool


class ReferenceKey(NamedTuple):
    """What two claims that are built on the same invoice of a provider share."""

    contact: UUID
    provider: UUID
    reference: str


Key = LineKey | ReferenceKey

#: PostgreSQL's types of the members of a key.
TYPES = {
    "n": "int",
    "contact": "uuid",
    "provider": "uuid",
    "product": "uuid",
    "first_day": "date",
    "last_day": "date",
    "quantity": "numeric",
    "claim_type": "text",
    "is_credit": "boolean",
    "reference": "text",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where duplicates are searched, as SQL over the aliases ``bill`` and ``line``.

    By the members of a key: ``indexed`` are the columns of the index, ``compared`` those that must be equal
    as well.
    """

    number: str
    tables: tuple[str, ...]
    join: str
    indexed: Mapping[str, str]
    compared: Mapping[str, str]


#: The indexed columns of a line; ``None`` is one spelling of a line without a claim type.
LINE_COLUMNS = {
    "product": "line.product_id",
    "first_day": "line.first_day",
    "last_day": "line.last_day",
    "quantity": "line.quantity",
    "claim_type": "coalesce(line.claim_type, 'None')",
}
CLAIM_LINES = Source(
    number="bill.claim_number",
    tables=(f"{ClaimLine._meta.db_table} line", f"{Claim._meta.db_table} bill"),
    join="bill.guid = line.claim_id AND line.archive_date IS NULL AND ",
    indexed=LINE_COLUMNS,
    compared={"contact": "bill.contact_id", "provider": "bill.provider_id"},
)
INVOICE_LINES = Source(
    number="bill.invoice_number",
    tables=(f"{InvoiceLine._meta.db_table} line", f"{Invoice._meta.db_table} bill"),
    join="bill.guid = line.invoice_id AND line.archive_date IS NULL AND ",
    indexed=LINE_COLUMNS,
    compared={"contact": "bill.contact_id", "is_credit": "line.is_credit_item"},
)
CLAIM_REFERENCES = Source(
    number="bill.claim_number",
    tables=(f"{Claim._meta.db_table} bill",),
    join="",
    indexed={"provider": "bill.provider_id", "reference": "bill.provider_invoice_reference_key"},
    compared={"contact": "bill.contact_id"},
)


class DuplicateSearch:
    """The duplicates of drafts: send ``query`` in a trip of your own, and give its rows to ``find``.

    ``keys`` are those of the drafts, in their order; ``None`` has no duplicates. ``excluded`` bills are none.
    """

    def __init__(self, source: Source, keys: Sequence[Key | None], excluded: Iterable[UUID]) -> None:
        self.keys = keys
        #: The number of the first draft with each key.
        self.first: dict[Key, int] = {}
        for number, key in enumerate(keys):
            if key is not None:
                self.first.setdefault(key, number)
        self.query = duplicates_query(source, list(self.first), excluded) if self.first else None

    def find(self, rows: Rows, label: Callable[[int, int], str]) -> Iterator[tuple[int, str]]:
        """(number of a draft, its duplicate in words): an existing bill, or the first draft with its key.

        ``label`` names the first draft for another, by their numbers.
        """
        distinct = list(self.first)
        existing = {distinct[n]: bill_number for n, bill_number in rows}
        for number, key in enumerate(self.keys):
            if key is None:
                continue
            if key in existing:
                yield number, existing[key]
            elif self.first[key] != number:
                yield number, label(self.first[key], number)


# --- queries --------------------------------------------------------------------------------------------


def duplicates_query(source: Source, keys: Sequence[Key], excluded: Iterable[UUID]) -> RawQuery:
    """Rows of (number of a key, smallest number of the current bills that have it)."""
    wanted, params = wanted_rows(keys)
    current = f"bill.archive_date IS NULL AND bill.funding_status NOT IN ({', '.join(['%s'] * len(ENDED))})"
    others, others_params = any_of_guids("bill.guid", excluded)
    where = f"{source.join}{current} AND NOT ({others})"
    render = render_lookups if connection.vendor == "postgresql" else render_join
    return RawQuery(render(source, wanted, where), [*params, *sorted(ENDED), *others_params])


def render_lookups(source: Source, wanted: str, where: str) -> str:
    """PostgreSQL's query: one look-up for each distinct ``indexed``, then a comparison with all keys.

    Nothing is left to the planner, which cannot know how many lines are of one product and day; ``OFFSET 0``
    keeps it from scanning the table.
    """
    columns = ", ".join(f"{column} AS {name}" for name, column in source.compared.items())
    lookup = (
        f"SELECT {source.number} AS number, {columns} FROM {', '.join(source.tables)}"  # noqa: S608  our own names
        f" WHERE {equals(source.indexed, 'asked')} AND {where} OFFSET 0"
    )
    found = {name: f"found.{name}" for name in (*source.indexed, *source.compared)}
    return (
        f"WITH wanted AS MATERIALIZED ({wanted}),"  # noqa: S608  our own names
        f" asked AS MATERIALIZED (SELECT DISTINCT {', '.join(source.indexed)} FROM wanted),"
        f" found AS MATERIALIZED (SELECT asked.*, one.* FROM asked CROSS JOIN LATERAL ({lookup}) one)"
        f" SELECT wanted.n, min(found.number) FROM found JOIN wanted ON {equals(found, 'wanted')}"
        " GROUP BY wanted.n"
    )


def render_join(source: Source, wanted: str, where: str) -> str:
    """SQLite's query: ``CROSS JOIN`` keeps the order of the tables, so that each is found by its index."""
    return (
        f"WITH wanted AS ({wanted}) SELECT wanted.n, min({source.number})"  # noqa: S608  our own names
        f" FROM wanted CROSS JOIN {' CROSS JOIN '.join(source.tables)}"
        f" WHERE {equals({**source.indexed, **source.compared}, 'wanted')} AND {where} GROUP BY wanted.n"
    )


def equals(columns: Mapping[str, str], table: str) -> str:
    return " AND ".join(f"{column} = {table}.{name}" for name, column in columns.items())


def wanted_rows(keys: Sequence[Key]) -> tuple[str, list[Any]]:
    """The keys as a query of rows, each with its number ``n``; a parameter for each member, or for all."""
    names = ("n", *keys[0]._fields)
    rows = [(n, *key) for n, key in enumerate(keys)]
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"%s::{TYPES[name]}[]" for name in names)
        query = f"SELECT * FROM unnest({arrays}) AS key({', '.join(names)})"  # noqa: S608  our own names
        columns = zip(names, zip(*rows, strict=True), strict=True)
        return query, [array_literal(TYPES[name], values) for name, values in columns]
    members = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(names))
    query = f"SELECT {members} FROM json_each(%s)"  # noqa: S608  our own names
    return query, [json.dumps([[sqlite_value(value) for value in row] for row in rows])]


def array_literal(kind: str, values: Iterable[Any]) -> str:
    """An array as PostgreSQL spells it; psycopg would inspect every value again and again."""
    if kind == "uuid":
        texts = ["NULL" if value is None else value.hex for value in values]
    elif kind == "text":
        texts = ['"{}"'.format(value.replace("\\", "\\\\").replace('"', '\\"')) for value in values]
    else:
        texts = list(map(str, values))
    return f"{{{','.join(texts)}}}"


def sqlite_value(value: Any) -> Any:
    """A value as SQLite stores it: guids without hyphens, days and numbers as texts."""
    if isinstance(value, UUID):
        return value.hex
    return value if value is None or isinstance(value, int) else str(value)


def any_of_guids(column: str, keys: Iterable[UUID]) -> tuple[str, list[Any]]:
    """The condition that a column has one of the keys, and its parameters."""
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s::uuid[])", [array_of_guids(keys)]
    stored = json.dumps([key.hex for key in keys])
    return f"{column} IN (SELECT value FROM json_each(%s))", [stored]  # noqa: S608  our own names


def predecessors_query(model: type[Claim | Invoice], keys: Iterable[UUID]) -> RawQuery:
    """The keys of the bills that these bills resubmit, and that those resubmit."""
    table = model._meta.db_table
    bills, params = any_of_guids("guid", keys)
    return RawQuery(
        f"WITH RECURSIVE earlier(guid) AS (SELECT resubmission_of_id FROM {table} WHERE {bills}"  # noqa: S608  our own names
        f" UNION SELECT resubmission_of_id FROM {table} bill JOIN earlier ON bill.guid = earlier.guid)"
        " SELECT guid FROM earlier WHERE guid IS NOT NULL",
        params,
    )
