"""What who cares for speed writes: claims with their lines by DRF without serializers, and SQL by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import psycopg
from django.db import connection

from apps.access.callers import hash_secret
from apps.people.models import Client
from bench.answers import check_same
from bench.calling import Caller
from bench.measuring import Contender, measure
from bench.speed import ms

PAGE = 1_000
BY_HAND = """
SELECT row_to_json(record)::text FROM (
    SELECT c.guid, c.claim_number, c.provider_invoice_reference, c.external_invoice_number, c.start_date,
        c.end_date, c.due_date, c.payment_date, c.total, c.resubmitted, c.funding_status, c.send_payment_to,
        c.missing_abn_reason_code, c.creation_date, c.archive_date, c.approved_date, c.contact_id,
        c.provider_id, c.staff_id, c.provider_invoice_id, k.client_id,
        (SELECT coalesce(json_agg(item), '[]') FROM (
            SELECT l.guid, l.notes, l.from_date, l.to_date, l.quantity, l.price, l.total, l.amount_paid,
                l.tax_choice, l.claim_type, l.cancellation_reason, l.creation_date, l.modify_date,
                l.archive_date, json_build_object('guid', b.guid, 'name', b.name) AS price_book,
                json_build_object('guid', p.guid, 'code', p.code, 'name', p.name,
                    'long_description', p.long_description) AS product
            FROM funding_claimline l
            JOIN funding_pricebook b ON b.guid = l.price_book_id
            JOIN funding_product p ON p.guid = l.product_id
            WHERE l.claim_id = c.guid ORDER BY l.position, l.guid) item) AS line_items
    FROM funding_claim c JOIN people_contact k ON k.guid = c.contact_id
    ORDER BY c.creation_date DESC, c.guid DESC LIMIT %s) record
"""
ONE_BY_HAND = """
SELECT row_to_json(record)::text FROM (
    SELECT guid, business_name, business_number, unique_code, is_self, external_reference, business_phone,
        business_phone2, business_fax, web_address, creation_date, modify_date, archive_date
    FROM people_client WHERE guid = %s) record
"""
OF_A_TOKEN = """
WHERE EXISTS (
    SELECT FROM access_accesstoken token
    JOIN access_apiapplication application ON application.guid = token.application_id
    WHERE token.hash = %s AND token.expires_at > now() AND application.archive_date IS NULL)
"""


def peers(caller: Caller) -> Iterator[str]:
    """CPU of Python and of PostgreSQL, and how much more it is than here."""
    yield from compared(f"Page of {PAGE:,} claims with lines", claims(caller), samples=15)
    yield ""
    yield from compared("One client", one_client(caller), samples=15, calls=60)


def compared(title: str, contenders: Sequence[Contender], samples: int, calls: int = 1) -> Iterator[str]:
    measure(contenders, samples, calls)
    mine = contenders[0].cost
    yield f"| {title}, ms of CPU | Python | PostgreSQL | both |"
    yield "|---|--:|--:|--:|"
    for each in contenders:
        ratio = (each.cost.python + each.cost.postgresql) / (mine.python + mine.postgresql)
        yield f"| {each.name} | {ms(each.cost.python)} | {ms(each.cost.postgresql)} | {ratio:.2f}× |"


def one_client(caller: Caller) -> Sequence[Contender]:
    """By hand with the caller's token and without: a request has one, which somebody has to look up."""
    key = Client.objects.order_by("guid").values_list("pk", flat=True)[7]

    def ask_ours() -> bytes:
        return caller(caller.request(f"/api/client/{key}"))

    def fetch_by_token() -> bytes:
        return fetch(ONE_BY_HAND + OF_A_TOKEN, key, hash_secret(caller.token))

    def fetch_without() -> bytes:
        return fetch(ONE_BY_HAND, key)

    def fetch(statement: str, *values: object) -> bytes:
        with psycopg.Cursor(connection.connection) as cursor:
            [(record,)] = cursor.execute(statement, values).fetchall()
        return str(record).encode()

    ours = json.loads(ask_ours())
    for other in (fetch_by_token, fetch_without):
        check_same(ours, json.loads(other()), 1)
    return (
        Contender("this service", ask_ours),
        Contender("psycopg, token and record in one statement", fetch_by_token),
        Contender("psycopg, the record alone", fetch_without),
    )


def claims(caller: Caller) -> Sequence[Contender]:

    def ask_ours() -> bytes:
        return caller(caller.request("/api/claim", "$expand=*", HTTP_PREFER=f"odata.maxpagesize={PAGE}"))

    def ask_values() -> bytes:
        return caller(caller.request("/values/claim/", f"page_size={PAGE}"))

    def fetch() -> bytes:
        with psycopg.Cursor(connection.connection) as cursor:
            rows = cursor.execute(BY_HAND, [PAGE]).fetchall()
        return ("[" + ",".join(row[0] for row in rows) + "]").encode()

    ours = json.loads(ask_ours())
    for other in (ask_values, fetch):
        check_same(ours, json.loads(other()), PAGE)
    return (
        Contender("this service", ask_ours),
        Contender("DRF with .values() and orjson", ask_values),
        Contender("psycopg, SQL by hand", fetch),
    )
