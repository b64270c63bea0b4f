"""The sums of claims that PostgreSQL stores: what was appended is added up, and compared with the claims."""

from collections.abc import Iterator

from django.db import connection, transaction

ADD_UP = """
WITH appended AS (DELETE FROM funding_claimsum_change RETURNING *)
INSERT INTO funding_claimsum_change
SELECT funding_status, provider_id, sum(number), sum(total) FROM appended
GROUP BY 1, 2 HAVING sum(number) <> 0 OR sum(total) <> 0
"""
#: What is added to the stored sums to make them those of the claims.
MISSING = """
SELECT funding_status, provider_id, sum(number) AS number, sum(total) AS total FROM (
    SELECT funding_status, provider_id, count(*) AS number, sum(total) AS total
    FROM funding_claim GROUP BY 1, 2
    UNION ALL
    SELECT funding_status, provider_id, -number, -total FROM funding_claimsum_change
) compared GROUP BY 1, 2 HAVING sum(number) <> 0 OR sum(total) <> 0
"""


def add_up_claim_sums() -> None:
    """Leave a row for each status and provider of what was appended; the worker does it every hour."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(ADD_UP)


def find_claim_sum_faults() -> Iterator[str]:
    """A line where stored sums are not those of the claims."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(MISSING)
            if found := cursor.fetchall():
                yield (
                    f"the stored sums of {len(found):,} statuses and providers are not those of the claims:"
                    " ./run recount_budgets puts them right"
                )


@transaction.atomic
def recount_claim_sums() -> int:
    """Make the stored sums those of the claims; returns how many were wrong.

    Writers of claims wait meanwhile, and so does another recount, which would add what is missing again.
    """
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE funding_claim IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(f"INSERT INTO funding_claimsum_change {MISSING}")
        return cursor.rowcount
