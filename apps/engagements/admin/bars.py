"""The parts that bars of budgets and of funding periods share."""

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple


class Segment(NamedTuple):
    """A part of a bar: its CSS class, and its width in per cent."""

    name: str
    width: str


def segments_of(amounts: Iterable[tuple[str, str, Decimal]], width: Decimal) -> list[Segment]:
    """The segments of amounts (CSS class, label, amount) in a bar that stands for ``width``."""
    return [Segment(name, f"{100 * amount / width:.2f}") for name, _, amount in amounts if amount > 0]
