"""How claims and invoices are judged before they are stored: settled, held against their rules, warned of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from apps.core import saving
from apps.core.unique import Conflicts
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.services.context import Products, gather, looking_around
from apps.funding.services.defaults import settling_lines, taking
from apps.funding.services.lookups import look_up_claims, look_up_permissions
from apps.funding.validation.claims import CLAIM_REQUIREMENTS, CLAIM_RULES
from apps.funding.validation.invoices import INVOICE_REQUIREMENTS, INVOICE_RULES
from apps.funding.validation.warnings import CLAIM_WARNINGS, INVOICE_WARNINGS
from apps.odata.batched_queries import Conversation, all_of, together
from apps.odata.write.drafts import Draft, Issue, Rule, apply_rules

Step = Callable[[Sequence[Draft]], Conversation[None]]


@dataclass(frozen=True, slots=True)
class Kind:
    """What claims and invoices differ in on their way in. ``name`` is what their lines call them."""

    name: str
    model: type[Any]
    line_model: type[Any]
    take: Step
    look_up: Step
    complete: Sequence[Rule]
    rules: Sequence[Rule]
    warnings: Sequence[Rule]


CLAIMS = Kind(
    "claim",
    Claim,
    ClaimLine,
    taking,
    look_up_claims,
    CLAIM_REQUIREMENTS,
    CLAIM_RULES,
    CLAIM_WARNINGS,
)


def nothing(drafts: Sequence[Draft]) -> Conversation[None]:
    """Invoices are built on no paper that came in, and nothing that stands is in their way."""
    yield from ()


INVOICES = Kind(
    "invoice",
    Invoice,
    InvoiceLine,
    nothing,
    nothing,
    INVOICE_REQUIREMENTS,
    INVOICE_RULES,
    INVOICE_WARNINGS,
)
KINDS = {Claim: CLAIMS, Invoice: INVOICES}


def judged(kind: Kind, drafts: Sequence[Draft]) -> list[tuple[int, Issue]]:
    """Settle drafts, hold them against the rules, and find what they draw on; the warnings about them.

    Raises ``Refused`` with all that the rules find. The number of statements does not grow with the drafts.
    """
    products, _, found = together(
        preparing(kind, drafts), look_up_permissions(drafts), look_up_conflicts(kind, drafts)
    )
    saving.validate_with(found, drafts, kind.complete, kind.rules)
    gather(kind.model, drafts, products)
    return list(apply_rules(drafts, kind.warnings))


def look_up_conflicts(kind: Kind, drafts: Sequence[Draft]) -> Conversation[list[tuple[int, Issue]]]:
    conflicts = Conflicts(kind.model, drafts)
    return conflicts.issues((yield conflicts.queries))


def preparing(kind: Kind, drafts: Sequence[Draft]) -> Conversation[Products]:
    """Settle drafts, and look up what rules and warnings ask about them."""
    yield from kind.take(drafts)
    _, _, products = yield from all_of(
        settling_lines(drafts), kind.look_up(drafts), looking_around(kind.model, drafts)
    )
    return cast("Products", products)
