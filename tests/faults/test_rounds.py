"""Acknowledged writes outlive kills and restarts of the server and the database."""

import psycopg
import pytest

from tests.faults import rounds
from tests.faults.deployment import Deployment

pytestmark = [
    pytest.mark.postgres("SQLite is no server"),
    pytest.mark.django_db,  # only so that a run of PostgreSQL alone has it
]

#: One of each kind that needs no rights of root; `./run test faults` has all.
FAULTS = (
    Deployment.worker_killed,
    Deployment.server_killed,
    Deployment.postgresql_restarted_immediately,
    Deployment.connections_cut_before_commit,
    Deployment.connections_cut_after_commit,
)


def test_faults_lose_double_and_halve_nothing_and_the_check_would_tell(tmp_path, schema_dump):
    with rounds.deployment(tmp_path, seed=1, dump=schema_dump) as running:
        report = rounds.run_rounds(running, len(FAULTS), FAULTS)
        assert report.is_clean, report
        assert report.statuses["201"] > len(report.recoveries)
        names = ["Writer 0 write 0", "Writer 1 write 0", "Writer 2 write 0"]
        running.repeat(names)
        with psycopg.connect(running.database.url) as connection:
            rename = "UPDATE people_contact SET last_name = %s WHERE last_name = %s"
            connection.execute(rename, names[:2])
            connection.execute(
                "DELETE FROM core_change WHERE record_key ="
                " (SELECT guid::text FROM people_contact WHERE last_name = %s LIMIT 1)",
                names[2:],
            )
        findings = running.findings(names)
    assert (findings.lost, findings.doubled, findings.half) == ([names[1]], [names[0]], [names[2]])
