"""Bills that say the same as others: supports claimed already, invoices of providers claimed already.

Asked for a thousand bills at once, beside millions of lines: every look-up goes through an index, and once
for all bills that ask the same. ``OFFSET 0`` keeps PostgreSQL from making a scan of the table of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db import connection

from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.statuses import ENDED
from apps.odata.batched_queries import Conversation, RawQuery


class LineKey(NamedTuple):
    """What two lines share that claim the same support. Of invoices, which have no provider, that is null."""

    contact: UUID
    provider: UUID | None
    product: UUID
    first_day: Any
    last_day: Any
    quantity: Any
    claim_type: str
    is_credit: bool


class ReferenceKey(NamedTuple):
    """What two claims share that are built on the same invoice of a provider."""

    contact: UUID
    provider: UUID
    reference: str


Key = TypeVar("Key", bound=LineKey | ReferenceKey)

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

#: The columns of a line that are asked for; ``None`` is how bodies may spell that there is no claim type.
OF_LINE = {
    "product": "line.product_id",
    "first_day": "line.first_day",
    "last_day": "line.last_day",
    "quantity": "line.quantity",
    "claim_type": "coalesce(line.claim_type, 'None')",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where twins are looked for, as SQL over the aliases ``bill`` and ``line``.

    ``indexed`` are the columns they are found by, ``compared`` those that must be the same as well; both by
    the members of a key.
    """

    number: str
    tables: tuple[str, ...]
    join: str
    indexed: Mapping[str, str]
    compared: Mapping[str, str]


CLAIM_LINES = Source(
    number="bill.claim_number",
    tables=(f"{ClaimLine._meta.db_table} line", f"{Claim._meta.db_table} bill"),
    join="bill.guid = line.claim_id AND line.archive_date IS NULL",
    indexed=OF_LINE,
    compared={"contact": "bill.contact_id", "provider": "bill.provider_id"},
)
INVOICE_LINES = Source(
    number="bill.invoice_number",
    tables=(f"{InvoiceLine._meta.db_table} line", f"{Invoice._meta.db_table} bill"),
    join="bill.guid = line.invoice_id AND line.archive_date IS NULL",
    indexed=OF_LINE,
    compared={"contact": "bill.contact_id", "is_credit": "line.is_credit_item"},
)
CLAIMS = Source(
    number="bill.claim_number",
    tables=(f"{Claim._meta.db_table} bill",),
    join="",
    indexed={"provider": "bill.provider_id", "reference": "bill.provider_invoice_reference_key"},
    compared={"contact": "bill.contact_id"},
)


def twin_lines(
    model: type[Claim | Invoice], keys: Sequence[LineKey], but: Iterable[UUID] = ()
) -> Conversation[list[str | None]]:
    """For each key the number of a live bill with such a line, the first of several; ``None`` without any.

    Bills of ``but`` do not count. One question.
    """
    return numbers(CLAIM_LINES if model is Claim else INVOICE_LINES, keys, but)


def twin_claims(keys: Sequence[ReferenceKey], but: Iterable[UUID] = ()) -> Conversation[list[str | None]]:
    """For each key the number of a live claim built on the same reference, as ``twin_lines`` does."""
    return numbers(CLAIMS, keys, but)


def numbers(source: Source, keys: Sequence[Key], but: Iterable[UUID]) -> Conversation[list[str | None]]:
    """The smallest number of the live bills that have each of these different keys."""
    if not keys:
        return []
    wanted, params = wanted_rows(keys)
    excluded, excluded_params = is_none_of("bill.guid", list(but))
    dead = ", ".join(["%s"] * len(ENDED))
    live = f"bill.archive_date IS NULL AND bill.funding_status NOT IN ({dead})"
    where = " AND ".join(filter(None, (source.join, live, excluded)))
    told = by_look_up if connection.vendor == "postgresql" else by_join
    rows = yield RawQuery(told(source, wanted, where), [*params, *ENDED, *excluded_params])
    found = dict(rows)
    return [found.get(n) for n in range(len(keys))]


def by_look_up(source: Source, wanted: str, where: str) -> str:
    """PostgreSQL's query: one look-up for each different ``indexed``, then held against all that ask.

    Nothing of it is left to the planner, which cannot know how many lines are of one product and day.
    """
    shown = ", ".join(f"{column} AS {name}" for name, column in source.compared.items())
    one = (
        f"SELECT {source.number} AS number, {shown} FROM {', '.join(source.tables)}"  # noqa: S608  our own names
        f" WHERE {same(source.indexed, 'asked')} AND {where} OFFSET 0"
    )
    again = {name: f"found.{name}" for name in (*source.indexed, *source.compared)}
    return (
        f"WITH wanted AS MATERIALIZED ({wanted}),"  # noqa: S608  our own names
        f" asked AS MATERIALIZED (SELECT DISTINCT {', '.join(source.indexed)} FROM wanted),"
        f" found AS MATERIALIZED (SELECT asked.*, one.* FROM asked CROSS JOIN LATERAL ({one}) one)"
        f" SELECT wanted.n, min(found.number) FROM found JOIN wanted ON {same(again, 'wanted')}"
        " GROUP BY wanted.n"
    )


def by_join(source: Source, wanted: str, where: str) -> str:
    """SQLite's query: ``CROSS JOIN`` keeps the order of the tables, so each is found by its index."""
    return (
        f"WITH wanted AS ({wanted}) SELECT wanted.n, min({source.number})"  # noqa: S608  our own names
        f" FROM wanted CROSS JOIN {' CROSS JOIN '.join(source.tables)}"
        f" WHERE {same({**source.indexed, **source.compared}, 'wanted')} AND {where} GROUP BY wanted.n"
    )


def same(columns: Mapping[str, str], table: str) -> str:
    return " AND ".join(f"{column} = {table}.{name}" for name, column in columns.items())


def wanted_rows(keys: Sequence[Key]) -> tuple[str, list[Any]]:
    """The keys as a query of rows, each with its number ``n``; a parameter for each member, or for all."""
    names = ("n", *keys[0]._fields)
    rows = [(n, *key) for n, key in enumerate(keys)]
    if connection.vendor == "postgresql":
        arrays = ", ".join(f"%s::{TYPES[name]}[]" for name in names)
        query = f"SELECT * FROM unnest({arrays}) AS key({', '.join(names)})"  # noqa: S608  our own names
        return query, [
            array_text(TYPES[name], column)
            for name, column in zip(names, zip(*rows, strict=True), strict=True)
        ]
    members = ", ".join(f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(names))
    query = f"SELECT {members} FROM json_each(%s)"  # noqa: S608  our own names
    return query, [json.dumps([[as_stored(value) for value in row] for row in rows])]


def array_text(kind: str, values: Iterable[Any]) -> str:
    """An array as PostgreSQL spells it; psycopg would look at every value again and again."""
    if kind == "uuid":
        texts = ["NULL" if value is None else value.hex for value in values]
    elif kind == "text":
        texts = [quoted(value) for value in values]
    else:
        texts = list(map(str, values))
    return f"{{{','.join(texts)}}}"


def quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def as_stored(value: Any) -> Any:
    """A value as SQLite holds it: guids without hyphens, days and numbers as texts."""
    if isinstance(value, UUID):
        return value.hex
    return value if value is None or isinstance(value, int) else str(value)


def is_none_of(column: str, keys: Sequence[UUID]) -> tuple[str, list[Any]]:
    if not keys:
        return "", []
    among, params = is_one_of(column, keys)
    return f"NOT ({among})", params


def is_one_of(column: str, keys: Sequence[UUID]) -> tuple[str, list[Any]]:
    if connection.vendor == "postgresql":
        return f"{column} = ANY(%s::uuid[])", [list(keys)]
    stored = json.dumps([key.hex for key in keys])
    return f"{column} IN (SELECT value FROM json_each(%s))", [stored]  # noqa: S608  our own names


def lineage_of(model: type[Claim | Invoice], keys: Iterable[UUID]) -> set[UUID]:
    """These bills, those that they were resubmitted from, and those again; one query."""
    held = set(keys)
    if not held:
        return held
    table, key = model._meta.db_table, model._meta.pk
    chosen, params = is_one_of("guid", list(held))
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE earlier(guid) AS (SELECT resubmission_of_id FROM {table} WHERE {chosen}"  # noqa: S608  our own names
            f" UNION SELECT resubmission_of_id FROM {table} bill JOIN earlier ON bill.guid = earlier.guid)"
            " SELECT guid FROM earlier WHERE guid IS NOT NULL",
            params,
        )
        return held | {key.to_python(guid) for (guid,) in cursor.fetchall()}
