"""Running numbers of claims and invoices, for those that were given none (decisions.md 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

from apps.core.identifiers import normalised
from apps.core.models import Subscriber
from apps.funding.models import Claim, Invoice, NumberSequence
from apps.odata.any_of import AnyOf
from apps.odata.write.drafts import Draft

#: How many numbers are looked up at once where callers have used those that come next.
MOST_AT_ONCE = 5_000


def assign_numbers(model: type[Claim | Invoice], drafts: Sequence[Draft]) -> None:
    """Give every draft without a number the next one; numbers that callers have used are skipped.

    Whoever takes numbers waits for the others who do until they have committed, so that no number is given
    twice and none is lost. Needs a transaction.
    """
    name = f"{model._meta.model_name}_number"
    waiting = [draft for draft in drafts if draft.__dict__.get(name) is None]
    if not waiting:
        return
    given = {normalised(draft.__dict__.get(name)) for draft in drafts}
    for draft, number in zip(waiting, next_numbers(model, len(waiting), given), strict=True):
        draft.fill(name, number)


def next_numbers(model: type[Claim | Invoice], wanted: int, given: set[str | None]) -> list[str]:
    """The next numbers that no record and no other draft has."""
    sequence, spell = str(model._meta.model_name), Spelling(str(model._meta.model_name))
    numbers: list[str] = []
    step = wanted
    while True:
        first = advance(sequence, step)
        numbers += free(model, [spell(number) for number in range(first, first + step)], given)
        if len(numbers) >= wanted:
            break
        step = min(max(2 * step, 16), MOST_AT_ONCE)
    if len(numbers) > wanted:
        put_back(sequence, spell, first, numbers[wanted])
    return numbers[:wanted]


class Spelling:
    """How the subscriber's settings spell a running number: a prefix, and digits with leading zeros."""

    def __init__(self, sequence: str) -> None:
        settings = Subscriber.current()
        self.prefix: str = getattr(settings, f"{sequence}_number_prefix")
        self.digits: int = getattr(settings, f"{sequence}_number_digits")

    def __call__(self, number: int) -> str:
        return f"{self.prefix}{number:0{self.digits}d}"


def advance(sequence: str, step: int) -> int:
    """Move the sequence on, and say where it stood. The row stays locked until the transaction ends."""
    table = connection.ops.quote_name(NumberSequence._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS held (name, next_number) VALUES (%s, 1 + %s)"  # noqa: S608  our own names
            " ON CONFLICT (name) DO UPDATE SET next_number = held.next_number + %s RETURNING next_number",
            [sequence, step, step],
        )
        ((after,),) = cursor.fetchall()
    return int(after) - step


def put_back(sequence: str, spell: Spelling, first: int, unused: str) -> None:
    """Let the sequence go on with the first number that was looked up and not taken."""
    number = first
    while spell(number) != unused:
        number += 1
    NumberSequence.objects.filter(name=sequence).update(next_number=number)


def free(model: type[Claim | Invoice], numbers: Sequence[str], given: set[str | None]) -> Iterator[str]:
    """Those of the numbers that nobody has."""
    keys = {number: normalised(number) for number in numbers}
    field: Any = model._meta.get_field(f"{model._meta.model_name}_number_key")
    used = set(
        model._base_manager.filter(AnyOf(field, keys.values())).order_by().values_list(field.name, flat=True)
    )
    return (number for number, key in keys.items() if key not in used and key not in given)
