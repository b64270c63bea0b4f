"""What claims and invoices differ in on their way through the services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.funding.duplicates import CLAIM_LINES, INVOICE_LINES, Source
from apps.funding.models import Claim, ClaimLine, Invoice, InvoiceLine
from apps.funding.validation.claims import CLAIM_REQUIREMENTS, CLAIM_RULES
from apps.funding.validation.invoices import INVOICE_REQUIREMENTS, INVOICE_RULES
from apps.funding.validation.warnings import CLAIM_WARNINGS, INVOICE_WARNINGS
from apps.odata.write.drafts import Rule


@dataclass(frozen=True, slots=True)
class BillType:
    """``name`` is the attribute by which lines and warnings refer to their bill."""

    name: str
    model: type[Any]
    line_model: type[Any]
    duplicate_lines: Source
    requirements: Sequence[Rule]
    rules: Sequence[Rule]
    warnings: Sequence[Rule]


CLAIMS = BillType("claim", Claim, ClaimLine, CLAIM_LINES, CLAIM_REQUIREMENTS, CLAIM_RULES, CLAIM_WARNINGS)
INVOICES = BillType(
    "invoice", Invoice, InvoiceLine, INVOICE_LINES, INVOICE_REQUIREMENTS, INVOICE_RULES, INVOICE_WARNINGS
)
