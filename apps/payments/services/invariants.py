"""Invariants of payment runs, exports and statements, whatever happened to them; for ``./run verify``."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from apps.base.money import ZERO
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.funding.models import Claim, StatusMove
from apps.funding.services.invariants import PAYING_TRANSITIONS
from apps.payments.choices import RunStatus
from apps.payments.file_formats.bank_file import total_of
from apps.payments.models import BankFile, PaymentRun, PaymentRunItem, Statement
from apps.payments.services.accounts_faults import find_accounts_faults
from apps.payments.services.ready import READY, in_runs, open_claims
from apps.payments.services.statement_figures import AMOUNTS


def find_payment_faults() -> Iterator[str]:
    """Faults of payment runs, exports and statements: a line for each, with the record and the figures."""
    yield from find_changed_files()
    yield from find_wrong_sums()
    yield from find_wrong_paid_out()
    yield from find_overpaid_claims()
    yield from find_accounts_faults()
    yield from find_changed_statements()
    yield from find_wrong_statements()


def find_changed_files() -> Iterator[str]:
    for file in BankFile.objects.order_by("pk").iterator(chunk_size=10):
        content = bytes(file.content)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            yield f"bank file {file}: it was changed: its SHA-256 differs"
        elif total_of(content) != file.total:
            yield f"bank file {file}: {file.total:,.2f}, its payments come to {total_of(content):,.2f}"


def find_wrong_sums() -> Iterator[str]:
    """Runs, payments and files whose sums differ."""
    items = dict(PaymentRunItem.objects.order_by().values_list("run").annotate(sum=MoneySum("amount")))
    files = dict(BankFile.objects.order_by().values_list("run").annotate(sum=MoneySum("total")))
    for run in PaymentRun.objects.order_by("number"):
        if items.get(run.pk, ZERO) != run.total:
            yield f"{run}: {run.total:,.2f}, its payments come to {items.get(run.pk, ZERO):,.2f}"
        if run.status == RunStatus.RELEASED and files.get(run.pk, ZERO) != run.total:
            yield f"{run}: {run.total:,.2f}, its files come to {files.get(run.pk, ZERO):,.2f}"
    sums = PaymentRunItem.objects.annotate(claimed=MoneySum("claims__amount")).exclude(claimed=F("amount"))
    for item in sums.select_related("run"):
        what = f"{item.run}, payment {item.position}"
        yield f"{what}: {item.amount:,.2f}, its claims come to {item.claimed:,.2f}"


def find_wrong_paid_out() -> Iterator[str]:
    """Claims that say another sum paid out than runs have of them."""
    claims = Claim.objects.annotate(in_runs=in_runs()).exclude(in_runs=F("paid_out")).order_by("claim_number")
    for claim in claims.iterator():
        yield f"claim {claim}: {claim.paid_out:,.2f} paid out, runs have {claim.in_runs:,.2f} of it"


def find_overpaid_claims() -> Iterator[str]:
    """Claims of which more was paid out than the agency ever paid; what it took back later is owed."""
    owed = {each.pk: each for each in open_claims().filter(**{f"{READY}__lt": ZERO})}
    paid: dict[UUID | None, Decimal] = defaultdict(lambda: ZERO)
    unknown = set()
    for keys in in_batches(sorted(owed)):
        moves = StatusMove.objects.filter(claim__in=keys, verb__in=PAYING_TRANSITIONS)
        for key, paid_lines in moves.values_list("claim", "paid_lines"):
            if paid_lines is None:  # of before amounts were kept
                unknown.add(key)
            paid[key] += sum((max(Decimal(each), ZERO) for each in (paid_lines or {}).values()), ZERO)
    for key, claim in owed.items():
        if key not in unknown and claim.paid_out > paid[key]:
            yield f"claim {claim}: {claim.paid_out:,.2f} were paid out, {paid[key]:,.2f} were ever paid of it"


def find_changed_statements() -> Iterator[str]:
    """Statements whose document is not the one that was made; an erasure leaves none."""
    for statement in Statement.objects.filter(content__isnull=False).order_by("pk").iterator(chunk_size=50):
        if hashlib.sha256(bytes(statement.content or b"")).hexdigest() != statement.sha256:
            yield f"statement {statement.pk}: its document was changed: its SHA-256 differs"


def find_wrong_statements() -> Iterator[str]:
    """Statements whose sums are not those of their lines."""
    sums = {f"lines_{column}": Coalesce(MoneySum(f"lines__{column}"), ZERO) for column in AMOUNTS}
    differs = Q(*(~Q((column, F(f"lines_{column}"))) for column in AMOUNTS), _connector=Q.OR)
    found = Statement.objects.order_by("pk").defer("content").annotate(**sums).filter(differs)
    for statement in found.iterator(chunk_size=50):
        for column in AMOUNTS:
            stored, counted = getattr(statement, column), getattr(statement, f"lines_{column}")
            if stored != counted:
                yield f"statement {statement.pk}: {stored:,.2f} {column}, its lines come to {counted:,.2f}"
