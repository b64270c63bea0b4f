"""Every page of the back office beside the demo, and beside copies of all its records: what grows."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from html import unescape
from typing import Any

from django.contrib import admin
from django.db import connection, models
from django.test import Client as Browser
from django.urls import reverse

from apps.core.models import Change
from apps.documents.models import Document
from apps.engagements.models import CategoryBudget, ClientEngagement, FundingPeriod, ServiceBooking
from apps.funding.models import (
    Claim,
    ClaimFile,
    ClaimFileLine,
    ClaimLine,
    ClaimResult,
    Invoice,
    InvoiceLine,
    ProviderInvoice,
    Remittance,
    RemittanceLine,
    StatusMove,
)
from apps.funding.services.claim_sums import add_up_claim_sums, recount_claim_sums
from apps.payments.models import (
    BankAccount,
    PaymentRun,
    PaymentRunClaim,
    PaymentRunItem,
    Statement,
    StatementBudget,
)
from apps.people.models import Client, Contact
from apps.sales.models import Opportunity
from bench.calling import Caller
from bench.growth import PAID, PAID_AMOUNT, make_databases, use
from bench.management.commands.fill import copy_rows
from bench.measuring import Contender, sampled
from bench.money import signed_in

COPIES = 40
#: Shown are pages that take so many milliseconds more beside the copies; a full page of a list that is short
#: in the demo takes fifty.
MORE = 80
COPIED: tuple[type[models.Model], ...] = (
    *(
        Client,
        Contact,
        Document,
        ClientEngagement,
        ServiceBooking,
        CategoryBudget,
        FundingPeriod,
        Opportunity,
    ),
    *(ProviderInvoice, Claim, ClaimLine, Invoice, InvoiceLine, StatusMove),
    *(ClaimFile, ClaimFileLine, ClaimResult, Remittance, RemittanceLine),
    *(BankAccount, PaymentRun, PaymentRunItem, PaymentRunClaim, Statement, StatementBudget, Change),
)
#: Copies are done with: nobody lets forty times as much wait.
FINISHED = {
    Client: {"is_self": "FALSE"},
    Contact: {"last_name": "last_name || '-' || copy"},
    Claim: {
        "funding_status": PAID.format("'AgencyFullyPaid'", "funding_status"),
        "amount_paid": PAID_AMOUNT,
        "paid_out": f"CASE send_payment_to WHEN 'PlanManager' THEN 0 ELSE {PAID_AMOUNT} - paid_earlier END",
    },
    ProviderInvoice: {"approval_status": "'Approved'", "is_claimed": "TRUE"},
}
#: The links of a list, but to its other pages, which have other numbers of records beside the copies.
LINKS = re.compile(r'href="(\?(?!p=)[^"#]+)"')


def pages(caller: Caller) -> Iterator[str]:
    """A table in Markdown of the pages that take longer; the others are counted."""
    browser = signed_in()
    began = time.monotonic()
    small, large = make_databases(copy_all)
    made = time.monotonic() - began
    use(small)
    addresses = list(dict.fromkeys(all_addresses(browser)))
    yield f"{len(addresses):,} pages; milliseconds of CPU, of Python + of PostgreSQL."
    yield f"The {COPIES} copies were made in {made:.0f} s."
    yield ""
    yield "| Page | demo | copies | |"
    yield "|---|--:|--:|--:|"
    longer = 0
    for address in addresses:
        costs = []
        for database in (small, large):
            use(database)
            contender = Contender(address, partial(browser.get, address, HTTP_HOST="localhost"))
            sampled(contender, 1)
            costs.append(sampled(contender, 1))
        before, after = (1_000 * (cost.python + cost.postgresql) for cost in costs)
        if after - before > MORE:
            longer += 1
            cells = (f"{1_000 * cost.python:.0f} + {1_000 * cost.postgresql:.0f}" for cost in costs)
            yield f"| `{address}` | {' | '.join(cells)} | {after / before:.1f}× |"
    yield ""
    yield f"The other {len(addresses) - longer:,} take at most {MORE} ms more."


# --- the copies -----------------------------------------------------------------------------------------


def copy_all() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # a reference may come after its copy
        for model in COPIED:
            copy_rows(cursor, model, copied_columns(model), COPIES)
        cursor.execute("SET session_replication_role = DEFAULT")
        recount_claim_sums()
        add_up_claim_sums()
        cursor.execute("VACUUM ANALYZE")


def copied_columns(model: type[models.Model]) -> dict[str, str]:
    """What differs in a copy: its key, references to what is copied, whatever is unique, and the moment."""
    unique = {field.name for field in model._meta.concrete_fields if field.unique}
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            unique |= {*constraint.fields}
            unique |= {
                each.name
                for expression in constraint.expressions
                for each in expression.flatten()
                if isinstance(each, models.F)
            }
    found = {"creation_date": "creation_date - copy * interval '3 hours'"}
    for field in model._meta.concrete_fields:
        if field.name in unique or field.related_model in COPIED:
            found[field.column] = copied_value(field)
    return found | FINISHED.get(model, {})


def copied_value(field: models.Field[Any, Any]) -> str:
    """The SQL of a value that is another one in each copy, or of the same where it need not be."""
    column, key = f'"{field.column}"', field
    if field.related_model is not None and field.related_model not in COPIED:
        return column
    while isinstance(key, models.ForeignKey):
        key = key.target_field
    if isinstance(key, models.UUIDField):
        return f"md5({column}::text || copy)::uuid"
    if isinstance(key, models.BigIntegerField):
        return f"{column} + copy * 1000000000::bigint"
    if isinstance(key, models.IntegerField) and not isinstance(key, models.SmallIntegerField):
        return f"{column} + copy * 10000000"
    if isinstance(key, models.CharField | models.TextField):
        return f"left({column}, {(key.max_length or 1_000) - 4}) || '-' || copy"
    return column


# --- the pages ------------------------------------------------------------------------------------------


def all_addresses(browser: Browser) -> Iterator[str]:
    """Home, the pages of the menu, each list with each of its links, each form, and that of a record."""
    for address in dict.fromkeys((*menu(browser), *of_models())):
        answer = browser.get(address, HTTP_HOST="localhost")
        if answer.status_code != 200:
            continue
        yield address
        for link in sorted(set(LINKS.findall(answer.content.decode()))):
            yield address.partition("?")[0] + unescape(link)


def menu(browser: Browser) -> Iterator[str]:
    home = reverse("admin:index")
    yield home
    page = browser.get(home, HTTP_HOST="localhost").content.decode()
    yield from (
        unescape(link) for link in re.findall(rf'href="({home}[^"#]*)"', page) if "logout" not in link
    )


def of_models() -> Iterator[str]:
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        for kind in ("changelist", "add"):
            yield reverse(f"{name}_{kind}")
        if model._meta.managed and (key := model._default_manager.values_list("pk", flat=True).first()):
            for kind in ("change", "history"):
                yield reverse(f"{name}_{kind}", args=[key])
