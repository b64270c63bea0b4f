"""Acknowledged writes outlive kills and restarts of the server and the database."""

import psycopg
import pytest

from tests.faults import rounds

pytestmark = [
    pytest.mark.postgres("SQLite is no server"),
    pytest.mark.django_db,  # only so that a run of PostgreSQL alone has it
]


def test_each_fault_loses_doubles_and_halves_nothing_and_the_check_would_tell(tmp_path):
    with rounds.deployment(tmp_path, seed=1) as running:
        report = rounds.run_rounds(running, len(running.FAULTS))
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
