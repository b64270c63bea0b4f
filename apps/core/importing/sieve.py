"""The sieve: one SQL statement that lets pass the rows which are certain to be good (PostgreSQL only).

A row passes when its texts read without a doubt, every rule's SQL twin says yes, nothing else in the file
or among the records has its unique values, and its references are found. Rows that pass are stored, or found
unchanged, by the same statement; it gives back all others, which go the careful way of the interface. The
sieve may doubt what is good, and never lets pass what the careful way would refuse.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import models, transaction

from apps.core import history
from apps.core.identifiers import new_guid, normalised
from apps.core.importing.additions import Importing, ValueSql
from apps.core.importing.cells import cleaned, cleaned_and_restored
from apps.core.importing.folding import twin_of
from apps.core.importing.headers import Column, Member
from apps.core.importing.sql_cells import SUSPECT, SqlCell, guid_sql, is_plain, literal, sql_cell
from apps.core.importing.staging import TABLE, column, row_from
from apps.core.importing.tables import Row
from apps.core.models import Change, NormalisedField
from apps.odata import clock
from apps.odata.declaration.schema import EntitySet
from apps.odata.read.record_json import quoted
from apps.odata.write.bodies import record_reader

#: A version 7 guid (RFC 9562, 6.2 method 1): the parameter ``born`` is its milliseconds and version, then
#: comes a counter, so that rows written together fill the indexes from one end, and 62 random bits.
NEW_GUID = (
    "overlay(gen_random_uuid()::text PLACING %(born)s ||"
    " lpad(to_hex((line - %(first)s) * 4095 / (%(last)s - %(first)s + 1)), 3, '0') FROM 1 FOR 18)::uuid"
)

# Room for sorting a file's keys; and to compile such statements takes longer than they run.
SETTINGS = "SET LOCAL work_mem = '128MB'; SET LOCAL jit = off"

#: So many odd values are looked up at once.
ODD = 5_000

#: Between the values of a row that is compared as a whole.
SEPARATOR = r"E'\x01'"

# Two rows may be one record by different keys: then the order of the rows decides.
MERGE = """
CREATE TEMP TABLE special AS
SELECT line, key, is_doubted OR ({is_shared}) AS is_doubted FROM (
    SELECT line, min(key)::{key_type} AS key,
           bool_or(is_doubted) OR min(key) <> max(key) AS is_doubted
    FROM pg_temp.found GROUP BY line
) _f
"""
IS_SHARED = "key IS NOT NULL AND count(*) OVER (PARTITION BY key) > 1"

#: Rows judged and stored in one transaction.
STEP = 10_000

#: So many lines are told from one connection to another at once.
TOLD = 1_000_000


@dataclass(frozen=True, slots=True)
class Passed:
    """What one step of the sieve did: rows stored, rows found unchanged, rows for the careful way."""

    new: int
    unchanged: int
    doubted: list[Row]


@dataclass(frozen=True, slots=True)
class Key:
    """A value that must be one row's alone: how a row writes it, and how records hold it.

    ``given`` says which rows have it, ``used`` which of them are found by it. Of rows that are ``odd`` the
    careful way may read another value than SQL does: ``read`` tells what it reads in ``text``.
    """

    cell: str
    given: str
    used: str
    record: str
    text: str
    odd: str
    read: Callable[[str], str | None]
    is_whole: bool = False


class Sieve:
    """The statements for one file of ``width`` columns. ``match`` names the members rows are found by."""

    def __init__(
        self,
        connection: Any,
        entity_set: EntitySet,
        columns: Sequence[Column],
        width: int,
        importing: Importing,
        match: Sequence[str],
        day_first: bool,
        updates: bool,
        has_guards: bool,
        is_ascii: bool,
    ) -> None:
        self.connection = connection
        self.entity_set = entity_set
        self.model = entity_set.model
        self.importing = importing
        self.columns = columns
        self.width = width
        self.match = match
        self.day_first = day_first
        self.updates = updates
        self.is_ascii = is_ascii
        self.clean = cleaned_and_restored if has_guards else cleaned
        self.joins: list[str] = []
        self.found = ["s.is_doubted IS NOT TRUE"]
        self.certain = ["coalesce(i.trouble, '') = ''"]
        self.cells: dict[str, SqlCell] = {}
        self.texts: dict[str, str] = {}
        #: Which part of how many this one is, and the keys by which rows of the file are found.
        self.part, self.navigations = 0, 1
        self.keys: list[Key] = []
        for found in columns:
            self._read(found)
        self._require()
        self._judge()
        self._doubt_gaps()

    @property
    def pk(self) -> models.Field:
        pk = self.model._meta.pk
        assert pk is not None
        return pk

    @property
    def key_type(self) -> str:
        return "uuid" if isinstance(self.pk, models.UUIDField) else "bigint"

    @property
    def table(self) -> str:
        return quoted(self.model._meta.db_table)

    @property
    def joined(self) -> str:
        return f"{TABLE} i {' '.join(self.joins)}"

    # --- what a row must be

    def _read(self, found: Column) -> None:
        member, cell = found.member, text_of(found)
        self.texts[member.attribute] = cell
        if member.is_key:
            self.found.append(f"({cell} = '' OR s.key IS NOT NULL)")
            return
        if member.name in self.importing.cleaners:
            when = self.importing.clean_when.get(member.name, "false")
            self.certain.append(f"({cell} = '' OR {when.replace('{}', cell)})")
        read = self._reference(found) if refers(member) else sql_cell(member.prop, cell, self.day_first)
        if read is None:
            # Such a cell is not compared with what a record holds either.
            self.certain.append(f"{cell} = ''")
            self.found.append("s.key IS NULL")
            return
        self.certain.append(read.certain)
        self.cells[member.attribute] = read

    def _reference(self, found: Column) -> SqlCell | None:
        """A cell that names a record by its guid or by a unique text, which a join looks up."""
        member, cell, alias = found.member, text_of(found), f"r{found.index}"
        target = member.prop.related_model if member.reference is None else member.reference.type.model
        if target is None or (member.reference is not None and member.reference.many):
            return None
        if target is self.model:
            return None  # a join with the table that the statement fills
        key, field = target._meta.pk, member.prop.source_field
        assert key is not None
        twin = twin_of(field)
        if member.reference is not None and not field.primary_key and twin is not None:
            match = f"{alias}.{quoted(twin.column)} = lower({cell})"
            sane = f"octet_length({cell}) = length({cell}) AND {cell} = btrim({cell}) AND ascii({cell}) <> 39"
        elif isinstance(key, models.UUIDField):
            match, sane = f"{alias}.{quoted(key.column)} = {guid_sql(cell)}", "true"
        else:
            return None
        if any(field.name == "archive_date" for field in target._meta.concrete_fields):
            match += f" AND {alias}.archive_date IS NULL"
        self.joins.append(f"LEFT JOIN {quoted(target._meta.db_table)} {alias} ON {match}")
        value = f"{alias}.{quoted(key.column)}"
        return SqlCell(f"({cell} = '' OR ({value} IS NOT NULL AND {sane}))", value)

    def _require(self) -> None:
        """What the declaration requires is there, and no sign that the careful way would take out."""
        for member in record_reader(self.entity_set.type).members:
            if member.required:
                text = self.texts.get(member.attribute)
                self.certain.append(f"{text} <> ''" if text else "false")
        if self.is_ascii:
            return
        plain = f"concat({', '.join(self.texts.values())})"
        self.certain.append(f"(octet_length({plain}) = length({plain}) OR {plain} !~ {literal(SUSPECT)})")

    def _judge(self) -> None:
        for rule in (*self.importing.rules, *self.importing.warnings):
            twin = self.importing.twins.get(rule)
            if twin is None:
                self.certain.append("false")
            elif twin.passes is not None:
                self.certain.append(f"coalesce({twin.passes(self._value)}, false)")
            elif not twin.because:
                self.certain += [f"{self.texts[name]} = ''" for name in twin.reads if name in self.texts]

    def _doubt_gaps(self) -> None:
        """Rows that are compared as a whole leave nothing out that a record always has."""
        keys = [found for found in self.columns if found.member.is_key or found.member.name in self.match]
        has_key = " OR ".join(f"{text_of(found)} <> ''" for found in keys) or "false"
        for name in self.cells:
            if not self._field(name).null:
                self.certain.append(f"({self.texts[name]} <> '' OR {has_key})")

    def _value(self, name: str) -> str:
        """What a row's draft holds: what is given, else what the verb fills in, else the default."""
        return self._completed(name, self._given)

    def _given(self, name: str) -> str:
        read = self.cells.get(name)
        return "NULL" if read is None else read.value

    def _completed(self, name: str, given: Callable[[str], str]) -> str:
        fill = self.filled.get(name)
        default = fill(given) if fill is not None else constant(self.defaults.get(name))
        return default if name not in self.cells else f"coalesce({given(name)}, {default})"

    @cached_property
    def filled(self) -> Mapping[str, Callable[[ValueSql], str]]:
        return self.importing.filled()

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What a record holds in columns that a row does not give."""
        return {**record_reader(self.entity_set.type).defaults(), **self.importing.defaults()}

    def divided(self, connection: Any) -> tuple[Sieve, Sieve]:
        """Two sieves for the same file, staged in two connections, each of which takes every other step."""
        ours, theirs = copy(self), copy(self)
        ours.navigations, theirs.navigations = 2, 2
        theirs.part, theirs.connection = 1, connection
        return ours, theirs

    # --- once for the file

    def find_doubted(self) -> None:
        """Put rows whose keys stand twice in the file into the table ``found``; our part of the looking."""
        with transaction.atomic(), self.connection.cursor() as cursor:
            cursor.execute(SETTINGS)
            cursor.execute("DROP TABLE IF EXISTS pg_temp.found, pg_temp.special")
            cursor.execute("CREATE TEMP TABLE found (line integer, key text, is_doubted boolean NOT NULL)")
            self.keys = [key for key in self._keys() if self._is_used(cursor, key)]
            looks = [(look, key) for key in self.keys for look in (self._find_twice, self._find_odd)]
            for look, key in looks[self.part :: self.navigations]:
                look(cursor, key)

    def tell(self, other: Sieve, last: int) -> None:
        """Let another connection know what we found up to the last line."""
        with self.connection.cursor() as ours, other.connection.cursor() as theirs:
            for first in range(0, last + 1, TOLD):
                ours.execute(
                    "SELECT array_agg(DISTINCT line)::text FROM pg_temp.found"
                    " WHERE line BETWEEN %s AND %s AND is_doubted",
                    [first, first + TOLD - 1],
                )
                theirs.execute(
                    "INSERT INTO pg_temp.found SELECT line, NULL, true FROM unnest(%s::integer[]) line",
                    ours.fetchone(),
                )

    def find_known(self, first: int) -> None:
        """Find the rows whose keys are a record's, and put all that was found into the table ``special``."""
        with transaction.atomic(), self.connection.cursor() as cursor:
            cursor.execute(SETTINGS)
            for key in self.keys:
                # Found by several keys, a row of ours and one of the other part may be one record.
                self._find_known(cursor, key, self._is_ours(first) if len(self.keys) == 1 else "true")
            is_shared = IS_SHARED if len(self.keys) > 1 else "false"
            cursor.execute(MERGE.format(key_type=self.key_type, is_shared=is_shared))
            cursor.execute("CREATE UNIQUE INDEX ON pg_temp.special (line)")
            cursor.execute("ANALYZE pg_temp.special")

    def _is_ours(self, first: int) -> str:
        """Whether a line is in one of our steps."""
        return f"(i.line - {first}) / {STEP} %% {self.navigations} = {self.part}"

    def _is_used(self, cursor: Any, key: Key) -> bool:
        return self._yes(cursor, f"SELECT FROM {self.joined} WHERE {key.used} LIMIT 1")

    def _yes(self, cursor: Any, query: str) -> bool:
        cursor.execute(f"SELECT EXISTS ({query})", [])
        return bool(cursor.fetchone()[0])

    def _keys(self) -> Iterator[Key]:
        """What finds records, of which a row uses the first it gives; and what must be unique besides."""
        used = "true"
        for found in self.columns:
            if found.member.is_key:
                given = f"{text_of(found)} <> ''"
                cell, record = guid_sql(text_of(found)), f"t.{quoted(self.pk.column)}"
                yield Key(cell, given, given, record, text_of(found), f"{cell} IS NULL", read_guid)
                used = f"{text_of(found)} = ''"
        by_name = {found.member.name: found for found in self.columns}
        for found in (by_name[name] for name in self.match if name in by_name):
            yield self._key(found, used)
            used += f" AND {text_of(found)} = ''"
        yield self._alike(used)
        for found in self.columns:
            twin = None if refers(found.member) else twin_of(found.member.prop.source_field)
            if twin is not None and twin.unique and found.member.name not in self.match:
                yield self._key(found, "true")

    def _key(self, found: Column, used: str) -> Key:
        """How two rows, and a row and a record, are compared in one member."""
        field, cell, given = found.member.prop.source_field, text_of(found), f"{text_of(found)} <> ''"
        twin = twin_of(field)
        odd = f"(NOT {is_plain(cell)} OR octet_length({cell}) <> length({cell}))"
        return Key(
            # Rows beyond ASCII, where such letters may be folded otherwise, are odd.
            cell if twin is None else f'lower({cell} COLLATE "C")',
            given,
            f"{given} AND {used}",
            f"t.{quoted(field.column if twin is None else twin.column)}",
            cell,
            odd,
            self.clean if twin is None else lambda text: normalised(self.clean(text)),
        )

    def _alike(self, used: str) -> Key:
        """Rows without a key are one when they are equal in everything, and so is a record.

        Where one of them cannot be read for certain, all of its name are for the careful way.
        """
        names = list(self.cells)
        rows = [self._sure(name) for name in names]
        records = [f"coalesce(t.{quoted(self._field(name).column)}::text, '')" for name in names]
        named = [self.texts[name] for name in self.importing.alike if name in self.texts]
        return Key(
            joined(rows),
            used,
            used,
            joined(records),
            joined(named),
            f"NOT ({' AND '.join(self.certain)})",
            lambda text: "\x01".join(map(self.clean, text.split("\x01"))),
            is_whole=True,
        )

    def _sure(self, name: str) -> str:
        """A cell's value as text, or the cell itself where that cannot be read."""
        read = self.cells[name]
        value = f"coalesce(({read.value})::text, '')"
        return f"CASE WHEN {read.certain} THEN {value} ELSE {self.texts[name]} END"

    def _field(self, name: str) -> models.Field:
        field = self.model._meta.get_field(name)
        assert isinstance(field, models.Field)
        return field

    def _find_twice(self, cursor: Any, key: Key) -> None:
        """Rows that share the value of a key they are found by, or of a column that must be unique."""
        # Most files have none, and to ask is cheaper than to sort.
        groups = f"SELECT FROM {self.joined} WHERE {key.given} GROUP BY {key.cell} HAVING count(*) > 1"
        if not self._yes(cursor, groups):
            return
        cursor.execute(
            "INSERT INTO pg_temp.found SELECT line, NULL, true FROM"  # noqa: S608  our own names
            f" (SELECT i.line, count(*) OVER (PARTITION BY {key.cell}) AS number"
            f" FROM {self.joined} WHERE {key.given}) _k WHERE number > 1",
            [],
        )

    def _find_odd(self, cursor: Any, key: Key) -> None:
        """Rows that are equal to an odd one, once that is read as the careful way reads it."""
        compared = key.text if key.is_whole else key.cell
        cursor.execute(
            f"CREATE TEMP TABLE odd AS SELECT DISTINCT {key.text} AS text FROM {self.joined}"  # noqa: S608  our own names
            f" WHERE {key.used} AND {key.odd}",
            [],
        )
        while texts := self._some_odd(cursor):
            cursor.execute(
                f"INSERT INTO pg_temp.found SELECT i.line, NULL, true FROM {self.joined}"  # noqa: S608  our own names
                f" WHERE {key.given} AND ({compared})::text = ANY(%s)",
                [sorted({value for value in map(key.read, texts) if value})],
            )
        cursor.execute("DROP TABLE pg_temp.odd")

    def _some_odd(self, cursor: Any) -> list[str]:
        cursor.execute(
            "DELETE FROM pg_temp.odd WHERE ctid = ANY(ARRAY(SELECT ctid FROM pg_temp.odd LIMIT %s))"
            " RETURNING text",
            [ODD],
        )
        return [text for (text,) in cursor.fetchall()]

    def _find_known(self, cursor: Any, key: Key, is_ours: str) -> None:
        """Rows whose key a record has. Several records with one key are for the careful way to tell."""
        cursor.execute(
            f"INSERT INTO pg_temp.found SELECT i.line, min(t.{quoted(self.pk.column)}::text),"  # noqa: S608  our own
            f" count(*) > 1 FROM {self.joined} JOIN {self.table} t ON {key.record} = {key.cell}"
            f" WHERE {key.used} AND {is_ours} GROUP BY i.line",
            [],
        )

    def finish(self, new: int) -> None:
        """Let the planner know what the table holds after many rows; of one just filled it knows nothing."""
        if new < STEP:
            return
        with self.connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {self.table}")

    # --- step by step

    def step(self, first: int, last: int) -> Passed:
        """Store the rows from line ``first`` to ``last`` that pass; run inside a transaction."""
        who = history.author()
        parameters = {
            "first": first,
            "last": last,
            "now": clock.now(),
            "born": str(new_guid())[:15],
            "staff": who.staff_id,
            "application": who.application,
            "channel": who.channel,
            "request": who.request_id,
        }
        with self.connection.cursor() as cursor:
            cursor.execute(SETTINGS)
            cursor.execute(self.statement, parameters)
            (new, _, passed, *_), *doubted = cursor.fetchall()
        rows = [row_from(line, trouble, cells) for line, trouble, _, *cells in doubted]
        return Passed(new, passed - new, rows)

    @cached_property
    def statement(self) -> str:
        """Stores what passes and gives back the rest, after one row of sums."""
        names = list(self.cells)
        values = "".join(f', {self.cells[name].value} AS "v{at}"' for at, name in enumerate(names))
        stored = self._stored(names)
        change = quoted(Change._meta.db_table)
        rest = ", ".join(f"i.{column(at)}" for at in range(self.width))
        nothing = ", ".join(["NULL"] * self.width)
        # The planner knows neither that many rows pass nor that an empty table fills meanwhile; it would join
        # each with each. A subquery by key and NOT IN, answered by a hash table, leave it no choice.
        return (
            f"WITH good AS MATERIALIZED (SELECT i.line, s.key AS known{values}"  # noqa: S608  our own names
            f" FROM {self.joined} LEFT JOIN pg_temp.special s ON s.line = i.line"
            f" WHERE i.line BETWEEN %(first)s AND %(last)s AND {' AND '.join(self.found)}"
            f" AND {' AND '.join(self.certain)}),"
            f" new AS (INSERT INTO {self.table} ({', '.join(stored)}) SELECT {', '.join(stored.values())}"
            f" FROM good WHERE known IS NULL RETURNING {quoted(self.pk.column)} AS key),"
            f" told AS (INSERT INTO {change}"
            " (at, record_type, record_key, kind, staff_id, application, channel, request_id)"
            f" SELECT %(now)s, {literal(self.model._meta.label_lower)}, key::text, 'Created',"
            " %(staff)s::uuid, %(application)s::text, %(channel)s, %(request)s::text FROM new),"
            " passed AS MATERIALIZED (SELECT line FROM good g WHERE known IS NULL OR"
            f" (SELECT {self._unchanged(names)} FROM {self.table} t"
            f" WHERE t.{quoted(self.pk.column)} = g.known))"
            f" SELECT (SELECT count(*) FROM new)::integer, NULL::text,"
            f" (SELECT count(*) FROM passed)::integer, {nothing}"
            f" UNION ALL (SELECT i.line, i.trouble, 0, {rest} FROM {TABLE} i"
            " WHERE i.line BETWEEN %(first)s AND %(last)s"
            " AND i.line NOT IN (SELECT line FROM passed) ORDER BY i.line)"
        )

    def _stored(self, names: list[str]) -> dict[str, str]:
        """The columns of a new record and what goes into them; what is null for all is left out."""
        places = {name: f'"v{at}"' for at, name in enumerate(names)}
        stored: dict[str, str] = {}
        for field in self.model._meta.concrete_fields:
            value = self._stored_value(field, places)
            if value != "NULL":
                stored[quoted(field.column)] = value
        return stored

    def _stored_value(self, field: models.Field, places: Mapping[str, str]) -> str:
        if field.primary_key:
            return NEW_GUID if isinstance(field, models.UUIDField) else "NULL"
        if field.name in ("creation_date", "modify_date"):
            return "%(now)s"
        if isinstance(field, NormalisedField):
            return f"lower({places[field.of]})" if field.of in places else "NULL"
        if field.name in self.defaults or field.name in self.filled or field.name in places:
            return self._completed(field.name, lambda name: places.get(name, "NULL"))
        return constant(field.get_default() if field.has_default() else None)

    def _unchanged(self, names: list[str]) -> str:
        """A record holds what the row gives. An empty cell says nothing of a column that cannot be empty."""
        if not self.updates:
            return "true"
        equal = []
        for at, name in enumerate(names):
            field, value = self._field(name), f'g."v{at}"'
            held = f"t.{quoted(field.column)}"
            equal.append(
                f"{held} IS NOT DISTINCT FROM {value}"
                if field.null
                else f"{held} = coalesce({value}, {held})"
            )
        return " AND ".join(equal) or "true"


def steps_between(first: int, last: int) -> list[tuple[int, int]]:
    """The first and the last line of every step."""
    return [(line, min(line + STEP - 1, last)) for line in range(first, last + 1, STEP)]


def joined(texts: Sequence[str]) -> str:
    return f"concat_ws({SEPARATOR}, {', '.join(texts) or literal('')})"


def read_guid(text: str) -> str | None:
    try:
        return str(uuid.UUID(cleaned(text)))
    except ValueError:
        return None


def text_of(found: Column) -> str:
    """A cell in SQL; no text is NULL unless it is the one that stands for it."""
    return f"i.{column(found.index)}"


def refers(member: Member) -> bool:
    return member.reference is not None or member.prop.related_model is not None


def constant(value: Any) -> str:
    """A default as SQL: a text, a number or a truth."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return literal(str(value))
    return str(value)
