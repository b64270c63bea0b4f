"""Amounts of money in the subscriber's currency: nothing, a cent, and how they are rounded."""

from decimal import ROUND_HALF_UP, Decimal

ZERO, CENT = Decimal("0.00"), Decimal("0.01")


def to_cents(amount: Decimal | float | None) -> Decimal:
    """An amount to the cent. SQLite gives the sum of a column as a float, the sum of no rows is ``None``."""
    return Decimal(amount or 0).quantize(CENT, ROUND_HALF_UP)
