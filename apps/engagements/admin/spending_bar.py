"""The bar that shows how a budget is spent, with the same in words for screen readers."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.engagements.spending import Spending

#: The segments of a bar in their order: CSS class, label, attribute of the spending.
SEGMENTS = (
    ("elsewhere", "spent elsewhere", "used_elsewhere"),
    ("paid", "paid", "paid"),
    ("claimed", "claimed, not yet paid", "unpaid"),
    ("waiting", "waiting", "waiting"),
)


def spending_bar(spending: Spending, is_small: bool = False) -> str:
    width = max(spending.budget, spending.spent)
    amounts = [(name, label, getattr(spending, attribute)) for name, label, attribute in SEGMENTS]
    labels = [f"{amount:,.2f} {label}" for _, label, amount in amounts if amount]
    is_over = spending.remaining < 0
    context = {
        "spending": spending,
        "segments": [
            {"name": name, "width": f"{100 * amount / width:.2f}"}
            for name, _, amount in amounts
            if amount > 0
        ],
        "description": ", ".join(labels) or "nothing spent",
        "is_over": is_over,
        "is_small": is_small,
        "limit": f"{100 * spending.budget / width:.2f}" if is_over else None,
    }
    return render_to_string("engagements/bar.html", context)
