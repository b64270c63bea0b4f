"""The history in one table and in a partition for each month, side by side at 10,000,000 entries.

The tables have the same name in schemas of their own, so that the product itself reads and writes each.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from apps.base import clock
from apps.core import history
from apps.core.change_log import change_log
from apps.core.models import Change
from apps.funding.models import Claim
from apps.operations.services.history_archives import archive_history
from apps.people.models import Staff
from bench.calling import Caller
from bench.measuring import Contender, measure

ENTRIES, YEARS, KEPT_YEARS = 10_000_000, 8, 7
MONTHS = YEARS * 12
#: A record has four entries, so many others apart.
APART = 20_000
SAMPLES, CALLS, MANY = 9, 40, 1_000
ONE, BY_TIME, BY_NUMBER = "public", "by_time", "by_number"
TITLES = {ONE: "one table", BY_TIME: "by the month of `at`", BY_NUMBER: "by number, cut at months"}

RECORD = f"(n / 4 - n %% 4 * {APART} + {ENTRIES})"
#: As those of the product, keys of later records are greater.
KEY = f"lpad(to_hex({RECORD}::bigint * 400), 12, '0') || substr(md5({RECORD}::text), 1, 20)"
FILL = f"""
    INSERT INTO core_change (at, staff_id, application, channel, request_id, record_type, record_key, kind,
        differences, transaction)
    SELECT %(first)s::timestamptz + n * interval '{YEARS} years' / {ENTRIES},
        CASE WHEN n %% 50 = 0 THEN %(staff)s::uuid END, CASE WHEN n %% 50 > 0 THEN 'Payroll' END,
        CASE WHEN n %% 50 > 0 THEN 'API' ELSE 'Back office' END, md5((n / 10)::text)::uuid::text,
        'funding.claim', {KEY},
        CASE WHEN n %% 4 = 0 THEN 'Created' ELSE 'Changed' END,
        CASE WHEN n %% 4 > 0 THEN '{{"funding_status": ["Approved", "AgencyClaimed"]}}'::jsonb END,
        n / 10
    FROM generate_series(1, {ENTRIES}) AS n
"""
INDEXES = """
    CREATE INDEX core_change_at_c80e6c0e ON core_change (at);
    CREATE INDEX core_change_by_staff ON core_change (staff_id, id) WHERE staff_id IS NOT NULL;
    CREATE INDEX core_change_by_transaction ON core_change (transaction, id) WHERE transaction IS NOT NULL;
    CREATE INDEX core_change_of_record ON core_change (record_type, record_key, id);
"""
DROP_INDEXES = "".join(f"DROP INDEX {name};" for name in re.findall(r"INDEX (\w+)", INDEXES))


def months(caller: Caller) -> Iterator[str]:
    """Tables in Markdown: what is read and written, then what archiving a year costs."""
    make_tables()
    yield f"{ENTRIES:,} entries of {YEARS} years, milliseconds of CPU, of Python + of PostgreSQL:"
    yield ""
    yield f"| Work | {' | '.join(TITLES.values())} |"
    yield f"|---|{'--:|' * len(TITLES)}"
    for title, call, calls in all_work():
        yield row_of(title, call, calls)
    yield ""
    yield f"Removing the {ENTRIES // YEARS:,} entries of a year:"
    yield ""
    yield from archiving()


# --- the tables -----------------------------------------------------------------------------------------


def use(schema: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET search_path TO {schema}, public")
        cursor.execute("SET max_parallel_workers_per_gather = 0")


def make_tables() -> None:
    """The history of the database replaced by many entries, and its copies by months."""
    staff = Staff.objects.order_by("pk").values_list("pk", flat=True)[0]
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() - %s * interval '1 year'", [YEARS])
        oldest = cursor.fetchone()[0]
        cursor.execute("TRUNCATE core_change RESTART IDENTITY")
        cursor.execute(DROP_INDEXES)
        cursor.execute(FILL, {"first": oldest, "staff": staff})
        cursor.execute(INDEXES)
        make_months(cursor, BY_TIME, "id, at", "at")
        make_months(cursor, BY_NUMBER, "id", "id")
        cursor.execute("VACUUM ANALYZE")


def make_months(cursor: Any, schema: str, key: str, column: str) -> None:
    """A copy of the history in the schema, with a partition for each month."""
    cursor.execute(f"CREATE SCHEMA {schema}")
    cursor.execute(
        f"CREATE TABLE {schema}.core_change"
        f" (LIKE public.core_change INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY RANGE ({column})"
    )
    for number, (beginning, end) in enumerate(bounds(cursor, column)):
        cursor.execute(
            f"CREATE TABLE {schema}.month_{number} PARTITION OF {schema}.core_change"
            f" FOR VALUES FROM ({beginning}) TO ({end})"
        )
    cursor.execute(f"INSERT INTO {schema}.core_change SELECT * FROM public.core_change")
    cursor.execute(f"ALTER TABLE {schema}.core_change ADD PRIMARY KEY ({key})")
    cursor.execute(INDEXES.replace("ON core_change", f"ON {schema}.core_change"))
    cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [f"{schema}.core_change", ENTRIES])


def bounds(cursor: Any, column: str) -> list[tuple[str, str]]:
    """Where the partitions begin and end: three months ahead, and all that is older in the first one."""
    cursor.execute(
        "SELECT date_trunc('month', now()) + n * interval '1 month' FROM generate_series(%s, 3) AS n",
        [1 - MONTHS],
    )
    moments = [moment for (moment,) in cursor.fetchall()]
    if column == "at":
        edges = [f"'{moment.isoformat()}'" for moment in moments]
    else:
        numbers = []
        for moment in moments[:MONTHS]:
            cursor.execute("SELECT min(id) FROM public.core_change WHERE at >= %s", [moment])
            numbers.append(cursor.fetchone()[0])
        edges = [str(number) for number in numbers]
        edges += [str(ENTRIES + ENTRIES // MONTHS * ahead) for ahead in (2, 3, 4)]
    edges[0], edges[-1] = "MINVALUE", "MAXVALUE"
    return list(pairwise(edges))


# --- what is read and written ---------------------------------------------------------------------------


def row_of(title: str, call: Callable[[], object], calls: int) -> str:
    contenders = [Contender(schema, call, partial(use, schema)) for schema in TITLES]
    measure(contenders, SAMPLES, calls)
    costs = [each.cost for each in contenders]
    sums = [cost.python + cost.postgresql for cost in costs]
    cells = [
        f"{cost.python * 1_000:.2f} + {cost.postgresql * 1_000:.2f}"
        + (f" ({whole / sums[0]:.2f}×)" if at else "")
        for at, (cost, whole) in enumerate(zip(costs, sums, strict=True))
    ]
    return f"| {title} | {' | '.join(cells)} |"


def all_work() -> Iterator[tuple[str, Callable[[], object], int]]:
    keys = [f"ffff{number:028x}" for number in range(MANY)]
    yield "an entry", partial(rolled_back, partial(history.write_entries, Claim, keys[:1], "Created")), CALLS
    yield (
        f"entries of {MANY:,} new records",
        partial(rolled_back, partial(history.write_entries, Claim, keys, "Created")),
        2,
    )
    changes = [(key, {"funding_status": ["Approved", "AgencyClaimed"]}) for key in keys]
    yield (
        f"entries of {MANY:,} changed records",
        partial(rolled_back, partial(history.write_differences, Claim, changes)),
        2,
    )
    middle = Change.objects.get(pk=ENTRIES // 2)
    of_record = Change.objects.filter(record_type="funding.claim", record_key=middle.record_key)
    yield "history of a record", lambda: list(of_record.all()), CALLS
    yield "newest 101 entries", lambda: list(Change.objects.all()[:101]), CALLS
    staff = Staff.objects.order_by("pk")[0]
    yield "newest 10 of a person", lambda: list(Change.objects.filter(staff_id=str(staff.pk))[:10]), CALLS
    log = change_log()
    yield "moment of a delta", log.moment, CALLS
    until = log.moment()
    number = ENTRIES // 10 - 100
    since = (until[0], f"{number}:{number}:", until[2], until[3])
    until = (until[0], f"{ENTRIES}:{ENTRIES}:", until[2], until[3])
    read = partial(log.entries, since, until, {"funding.claim"}, None, 300)
    use(ONE)
    assert len(read()) == 300
    assert len(of_record) == 4
    yield "delta of 300 entries", read, CALLS
    beginning = Change.objects.filter(pk=ENTRIES - 5_000).values_list("at", flat=True)[0]
    written = Change.objects.filter(at__gte=beginning, request_id=middle.request_id)
    yield "entries of an import of today", lambda: list(written.all()), CALLS


def rolled_back(call: Callable[[], object]) -> None:
    clock.reset_now()
    with transaction.atomic():
        call()
        transaction.set_rollback(True)


# --- archiving ------------------------------------------------------------------------------------------


def archiving() -> Iterator[str]:
    yield "| | seconds | WAL, MiB | locks of the table | table and indexes before, after, MiB |"
    yield "|---|--:|--:|---|--:|"
    use(ONE)
    yield removed("`archive_history`, whole; its DELETE", ONE, archive)
    yield removed("the VACUUM after it", ONE, vacuum)
    for schema in (BY_TIME, BY_NUMBER):
        use(schema)
        title = f"DETACH and DROP of 12 months, {TITLES[schema]}"
        yield removed(title, schema, partial(detach, schema))


def removed(title: str, schema: str, remove: Callable[[], tuple[str, str]]) -> str:
    """A row of the table; ``remove`` returns further seconds and the locks that it takes."""
    before, began, start = size(schema), time.perf_counter(), position()
    further, locks = remove()
    seconds = f"{time.perf_counter() - began:.2f}{further}"
    sizes = f"{before:,.0f}, {size(schema):,.0f}"
    return f"| {title} | {seconds} | {written_since(start):,.1f} | {locks} | {sizes} |"


def archive() -> tuple[str, str]:
    deletes: list[float] = []

    def timed(execute: Any, sql: str, *rest: Any) -> object:
        began = time.perf_counter()
        try:
            return execute(sql, *rest)
        finally:
            if sql.startswith("DELETE FROM"):
                deletes.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder, connection.execute_wrapper(timed):
        archive_history(Path(folder), KEPT_YEARS)
    return f"; {deletes[-1]:.2f}", "RowExclusiveLock"


def vacuum() -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM core_change")
    return "", "ShareUpdateExclusiveLock"


def detach(schema: str) -> tuple[str, str]:
    with transaction.atomic(), connection.cursor() as cursor:
        for number in range(12):
            cursor.execute(f"ALTER TABLE {schema}.core_change DETACH PARTITION {schema}.month_{number}")
            cursor.execute(f"DROP TABLE {schema}.month_{number}")
        cursor.execute(
            "SELECT string_agg(DISTINCT mode, ', ') FROM pg_locks"
            " WHERE relation = %s::regclass AND pid = pg_backend_pid()",
            [f"{schema}.core_change"],
        )
        return "", str(cursor.fetchone()[0])


def position() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn()")
        return str(cursor.fetchone()[0])


def written_since(start: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT (pg_current_wal_insert_lsn() - %s::pg_lsn) / 1048576.0", [start])
        return float(cursor.fetchone()[0])


def size(schema: str) -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(oid)) / 1048576.0 FROM pg_class"
            " WHERE relnamespace = %s::regnamespace AND relkind = 'r'"
            " AND (relname = 'core_change' OR relname LIKE 'month%%')",
            [schema],
        )
        return float(cursor.fetchone()[0])
