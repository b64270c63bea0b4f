"""The effects of pending migrations on a service that goes on meanwhile."""

from dataclasses import dataclass

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.operations.migration_rules import Finding, Impact, check_migration
from apps.operations.tables import OperationError

#: Tables with fewer rows are locked or written again in less than a second.
LARGE_TABLE = 100_000


@dataclass(frozen=True, slots=True)
class PendingMigration:
    """A migration that the database lacks, and what it does. ``stops`` are findings that need an outage."""

    name: str
    findings: list[Finding]
    stops: list[Finding]


def check_upgrade() -> list[PendingMigration]:
    """The pending migrations in their order, judged one after the other.

    Raises ``OperationError`` for a database without tables.
    """
    executor = MigrationExecutor(connection)
    loader = executor.loader
    applied = [each for each in loader.applied_migrations if each in loader.graph.nodes]
    if not applied:
        raise OperationError("The database has no tables: ./run migrate makes them.")
    plan = executor.migration_plan(loader.graph.leaf_nodes())
    state = loader.project_state(applied)
    new_models: set[tuple[str, str]] = set()
    pending = []
    for migration, _ in plan:
        findings = check_migration(migration, state, new_models)
        stops = [each for each in findings if each.accepted is None and needs_outage(each)]
        pending.append(PendingMigration(str(migration), findings, stops))
    return pending


def needs_outage(finding: Finding) -> bool:
    """Locks and new rows of a small table are over before anybody waits long."""
    if finding.impact in (Impact.LOCKS, Impact.REWRITES):
        assert finding.table is not None
        return count_rows(finding.table) >= LARGE_TABLE
    return True


def count_rows(table: str) -> int:
    """The rows of a table; on PostgreSQL its own estimate, and 0 for a table that is not there."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", [table])
        else:
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608  our own name
        row = cursor.fetchone()
    return max(row[0], 0) if row else 0
