"""Invariants of what the agency paid, for ``./run verify``: by file lines, and by what bills say."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F

from apps.base.batched_queries import AnyOf
from apps.base.money import ZERO
from apps.core.bulk_insert import in_batches
from apps.core.computed import MoneySum
from apps.funding.models import RemittanceLine, StatusMove
from apps.funding.services.answers import FILE_LINE_COLUMNS

APPLIED = RemittanceLine.objects.filter(is_applied=True).order_by()


def find_answer_faults() -> Iterator[str]:
    """Lines of which remittances paid more than was claimed, and bills that say less than they paid."""
    lines = APPLIED.values_list("file_line__reference", "file_line__amount").annotate(paid=MoneySum("amount"))
    for reference, amount, of_line in lines.filter(paid__gt=F("file_line__amount")).iterator():
        yield f"{reference}: remittances paid {of_line:,.2f} of the {amount:,.2f} that were claimed"
    for model, (bill, _) in FILE_LINE_COLUMNS.items():
        path = f"file_line__{bill}"
        paid = (
            APPLIED.filter(**{f"{path}__isnull": False}).values_list(path).annotate(paid=MoneySum("amount"))
        )
        for rows in in_batches(paid.order_by(path).iterator()):
            amounts = dict(rows)
            recorded = load_recorded(bill, amounts)
            records: Any = model._default_manager.in_bulk(list(amounts))
            for key, amount in amounts.items():
                if recorded[key] < amount:
                    paid_of_it = (
                        f"{model._meta.verbose_name} {records[key]}: remittances paid {amount:,.2f} of it"
                    )
                    yield f"{paid_of_it}, its status history has {recorded[key]:,.2f}"


def load_recorded(bill: str, keys: dict[UUID, Decimal]) -> dict[UUID, Decimal]:
    """The sums that were ever paid of bills by their status history, also those taken back later."""
    recorded: dict[UUID, Decimal] = defaultdict(lambda: ZERO)
    moves = StatusMove.objects.filter(AnyOf(bill, keys), verb__startswith="pay")
    for key, paid_lines in moves.order_by().values_list(f"{bill}_id", "paid_lines"):
        recorded[key] += sum((Decimal(amount) for amount in (paid_lines or {}).values()), ZERO)
    return recorded
