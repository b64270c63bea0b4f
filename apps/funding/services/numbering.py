"""Running numbers of claims and invoices, for those that were given none (decisions.md 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from apps.core.identifiers import normalised
from apps.core.models import Subscriber
from apps.funding.models import Claim, Invoice, NumberSequence
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

#: How many numbers are looked up at once where callers have used those that come next.
MAX_LOOKUP = 5_000


def assign_numbers(model: type[Claim | Invoice], drafts: Sequence[Draft]) -> None:
    """Give every draft without a number the next one; numbers that callers have used are skipped.

    Callers wait for each other until they commit, so that no number is given twice and none is lost. Needs a
    transaction.
    """
    name = f"{model._meta.model_name}_number"
    unnumbered = [draft for draft in drafts if draft.get(name) is None]
    if unnumbered:
        given = {normalised(draft.get(name)) for draft in drafts}
        for draft, number in zip(unnumbered, next_numbers(model, len(unnumbered), given), strict=True):
            draft.fill(name, number)


def next_numbers(model: type[Claim | Invoice], count: int, given: set[str | None]) -> list[str]:
    """The next numbers that no record and no other draft has."""
    sequence = str(model._meta.model_name)
    number_format = NumberFormat(sequence)
    numbers: list[str] = []
    step = count
    while True:
        first = advance_sequence(sequence, step)
        looked_up = [number_format(number) for number in range(first, first + step)]
        numbers += unused_numbers(model, looked_up, given)
        if len(numbers) >= count:
            break
        step = min(max(2 * step, 16), MAX_LOOKUP)
    if len(numbers) > count:
        # The sequence goes on with the first number that was looked up and not needed.
        following = first + looked_up.index(numbers[count])
        NumberSequence.objects.filter(name=sequence).update(next_number=following)
    return numbers[:count]


class NumberFormat:
    """How the subscriber's settings spell a running number: a prefix, and digits with leading zeros."""

    def __init__(self, sequence: str) -> None:
        settings = Subscriber.current()
        self.prefix: str = getattr(settings, f"{sequence}_number_prefix")
        self.digits: int = getattr(settings, f"{sequence}_number_digits")

    def __call__(self, number: int) -> str:
        return f"{self.prefix}{number:0{self.digits}d}"


def advance_sequence(sequence: str, step: int) -> int:
    """Reserve numbers; the first of them. The row of the sequence stays locked until the transaction ends."""
    table = connection.ops.quote_name(NumberSequence._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS stored (name, next_number) VALUES (%s, 1 + %s)"  # noqa: S608  our own names
            " ON CONFLICT (name) DO UPDATE SET next_number = stored.next_number + %s RETURNING next_number",
            [sequence, step, step],
        )
        ((after,),) = cursor.fetchall()
    return int(after) - step


def unused_numbers(model: type[Claim | Invoice], numbers: Sequence[str], given: set[str | None]) -> list[str]:
    keys = {number: normalised(number) for number in numbers}
    field: Any = model._meta.get_field(f"{model._meta.model_name}_number_key")
    rows = model._base_manager.filter(AnyOf(field, keys.values())).order_by()
    used = given | set(rows.values_list(field.name, flat=True))
    return [number for number, key in keys.items() if key not in used]
