"""What the warnings of claims and invoices read beside a draft and its lines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from apps.engagements.categories import support_item
from apps.engagements.coverage import Coverage
from apps.funding.pricing import EffectivePrice


class ProductFacts(NamedTuple):
    """What the price guide says of a product."""

    pk: UUID
    archive_date: dt.datetime | None
    code: str
    name: str
    type: str | None
    is_quote_required: bool
    category_number: int | None
    category_number_pace: int | None
    non_face_to_face: str | None
    provider_travel: str | None
    short_notice_cancellation: str | None
    agency_requested_reports: str | None
    irregular_sil: str | None

    @property
    def category(self) -> int | None:
        told = support_item(self.code)
        return self.category_number if self.category_number is not None or told is None else told.category


class ContactFacts(NamedTuple):
    """Who is supported, and where."""

    pk: UUID
    first_name: str
    last_name: str
    state: str | None

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}"


class ProviderFacts(NamedTuple):
    """Who gave the support."""

    pk: UUID
    business_name: str
    business_number: str | None


@dataclass(slots=True)
class LineFacts:
    """What is known beside a line that can be read whole.

    ``left``: of the budget that covers it, before it and after the lines before it. ``last_price``: the price
    that holds on its last day. ``twin``: the line that claims the same, in words.
    """

    number: int
    product: ProductFacts
    cover: Coverage
    left: Decimal | None
    last_price: EffectivePrice | None
    twin: str | None = None


@dataclass(slots=True)
class BillFacts:
    """What is known beside a bill.

    ``state``: code of the state that its participant lives in, if known. ``paper_names``: what its provider
    invoice says otherwise, in words. ``twin``: the claim built on the same reference, in words.
    """

    today: dt.date
    participant: ContactFacts | None
    state: str | None
    provider: ProviderFacts | None
    paper_names: Mapping[str, str]
    twin: str | None = None
