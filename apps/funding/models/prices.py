"""Price books, products with their prices in them, and cost centres (interface.md 2.5)."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q, QuerySet

from apps.base.batched_queries import AnyOf, fetch_all, prepared_query
from apps.base.money import ZERO
from apps.core.computed import ComputedDecimal
from apps.core.models import Lookup, NormalisedField, Record, optional_text
from apps.engagements.coverage import Support
from apps.engagements.models import support_item
from apps.funding.choices import Flag, ItemType, Unit, Zone


def is_within(part: Decimal, total: Decimal) -> bool:
    """True when an amount lies between nothing and a total, which is negative for credits."""
    return min(total, ZERO) <= part <= max(total, ZERO)


def flag(label: str) -> models.CharField:
    return optional_text(label, 2, choices=Flag)


def number(label: str) -> models.PositiveSmallIntegerField:
    return models.PositiveSmallIntegerField(label, null=True, blank=True, validators=[MinValueValidator(1)])


class CostCentre(Lookup, Record):
    """The account on which the subscriber books what an invoice line brings in."""

    class Meta(Record.Meta):
        ordering = ("name",)


class PriceBook(Lookup, Record):
    """A list of products with their prices: the scheme's price guide, or one of the subscriber's own."""

    class Meta(Record.Meta):
        ordering = ("name",)


class Product(Record):
    """A product that is claimed and invoiced; mostly a support item of the scheme's price guide.

    Category and registration group are those of the price guide; a PACE plan counts by other
    categories. The flags say which claim types the guide allows.
    """

    caseload_path = ""

    has_personal_data = False

    code = models.CharField(max_length=50)
    code_key = NormalisedField(of="code", unique=True, max_length=150)
    name = models.CharField(max_length=255)
    long_description = models.TextField(
        null=True, blank=True, help_text="Notes of lines that have none of their own."
    )
    unit = optional_text(length=3, choices=Unit)
    type = optional_text("priced", 9, choices=ItemType)
    is_quote_required = models.BooleanField("needs a quote", default=False)
    category_number = number("category number")
    category_name = optional_text("category", 255)
    category_number_pace = number("category number (PACE)")
    category_name_pace = optional_text("category (PACE)", 255)
    registration_group_number = optional_text("registration group number", 10)
    registration_group_name = optional_text("registration group", 255)
    non_face_to_face = flag("non-face-to-face")
    provider_travel = flag("provider travel")
    short_notice_cancellation = flag("short-notice cancellation")
    agency_requested_reports = flag("agency-requested reports")
    irregular_sil = flag("irregular SIL supports")

    class Meta(Record.Meta):
        ordering = ("code", "guid")

    def __str__(self) -> str:
        return f"{self.code} {self.name}"

    @property
    def category(self) -> int | None:
        """The number of its category; read from the code where the price guide gives none."""
        if self.category_number is not None:
            return self.category_number
        item = support_item(self.code)
        return None if item is None else item.category

    @property
    def pace_category(self) -> int | None:
        """The number of the category that PACE plans count it by."""
        return self.category if self.category_number_pace is None else self.category_number_pace

    def support(self, contact: UUID, day: dt.date, management: str) -> Support:
        """The support that this is when given to a contact on a day."""
        return Support(contact, day, self.code, self.category, management, self.pace_category)

    @property
    def support_purpose(self) -> str | None:
        """The purpose that the scheme pays it for, by the last digit of its code."""
        item = support_item(self.code)
        return item.purpose if item is not None else None


#: The national price on the day of the request.
PRICE_TODAY = (
    "(SELECT _price.amount FROM funding_price _price WHERE _price.entry_id = {row}.guid"
    " AND _price.zone = 'National' AND _price.start_date <= {today}"
    " AND (_price.end_date IS NULL OR _price.end_date >= {today})"
    " ORDER BY _price.start_date DESC LIMIT 1)"
)


class PriceBookEntry(Record):
    """A product as it stands in a price book. ``price`` is the national one of today, if there is one."""

    caseload_path = ""

    has_personal_data = False

    fixed_columns = ("price_book", "product")  # lines were priced by it

    price_book = models.ForeignKey(PriceBook, on_delete=models.PROTECT, related_name="entries")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="entries")
    gst_inclusive = models.BooleanField("prices include GST", default=False)
    price = ComputedDecimal(
        PRICE_TODAY, verbose_name="national price today", max_digits=14, decimal_places=4, null=True
    )

    class Meta(Record.Meta):
        verbose_name = "price book entry"
        verbose_name_plural = "price book entries"
        ordering = ("product__code", "guid")
        constraints = (
            models.UniqueConstraint(fields=["price_book", "product"], name="funding_product_once_in_a_book"),
        )

    def __str__(self) -> str:
        return f"{self.product} ({self.price_book})"


class Price(Record):
    """The price of a product in a zone from its first day to its last; the price guide's are caps.

    A range without an amount says that the product is current and has no price of its own: it is quoted.
    Ranges of a zone never overlap (price_rules); whoever writes some has locked their entry.
    """

    caseload_path = ""

    has_personal_data = False

    entry = models.ForeignKey(PriceBookEntry, on_delete=models.PROTECT, related_name="prices")
    zone = models.CharField(max_length=11, choices=Zone, default=Zone.NATIONAL)
    start_date = models.DateField("from")
    end_date = models.DateField("to", null=True, blank=True, help_text="The last day; empty: until further.")
    amount = models.DecimalField(
        "price", max_digits=14, decimal_places=4, null=True, blank=True, validators=[MinValueValidator(0)]
    )

    class Meta(Record.Meta):
        ordering = ("zone", "-start_date", "guid")
        constraints = (
            models.UniqueConstraint(fields=["entry", "zone", "start_date"], name="funding_price_starts_once"),
            models.UniqueConstraint(
                fields=["entry", "zone"], condition=Q(end_date=None), name="funding_one_price_is_open"
            ),
            models.CheckConstraint(
                condition=Q(end_date__gte=F("start_date")), name="funding_price_dates_in_order"
            ),
            models.CheckConstraint(condition=Q(amount__gte=0), name="funding_price_not_negative"),
        )

    def __str__(self) -> str:
        end = f"{self.end_date:%d %b %Y}" if self.end_date else "until further"
        return f"{self.zone}, {self.start_date:%d %b %Y} – {end}"

    @property
    def label(self) -> str:
        """The price with its range, as the history of its product in the book names it."""
        if self.amount is None:
            return f"{self}: quoted"
        digits = 2 if self.amount == round(self.amount, 2) else 4
        return f"{self}: {self.amount:,.{digits}f}"


# --- the price of a product in a price book and a zone, on a day ----------------------------------------

#: Regions of the scheme with prices of their own; they are named as their zones are.
REMOTE_ZONES = frozenset({Zone.REMOTE.value, Zone.VERY_REMOTE.value})


@dataclass(frozen=True, slots=True)
class EffectivePrice:
    """A price and the days it holds. ``amount`` is null when the product is current and must be quoted."""

    amount: Decimal | None
    start_date: dt.date
    end_date: dt.date | None
    gst_inclusive: bool
    zone: str


class PriceTable:
    """Prices by price book, product and zone; made from the rows of ``prices_of_products``."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.prices: defaultdict[tuple[UUID, UUID, str | None], list[EffectivePrice]] = defaultdict(list)
        for book, product, zone, amount, start, end, gst_inclusive in rows:
            self.prices[book, product, zone].append(EffectivePrice(amount, start, end, gst_inclusive, zone))

    def find(self, book: UUID, product: UUID, region: str | None, day: dt.date) -> EffectivePrice | None:
        """The price of the day in a region of the scheme: its own before the national one."""
        national = Zone.NATIONAL.value
        for zone in (region, national) if region in REMOTE_ZONES else (national,):
            for price in self.prices.get((book, product, zone), ()):
                if price.start_date <= day and (price.end_date is None or day <= price.end_date):
                    return price
        return None


@prepared_query
def prices_of_products(products: Iterable[object]) -> QuerySet[models.Model, tuple[object, ...]]:
    """The prices of products in all price books and zones; rows for a ``PriceTable``."""
    entries = PriceBookEntry.objects.filter(AnyOf("product", products))
    entry = ("entry__price_book_id", "entry__product_id")
    columns = (*entry, "zone", "amount", "start_date", "end_date", "entry__gst_inclusive")
    return Price.objects.filter(entry__in=entries).order_by().values_list(*columns)


def load_price_table(products: Iterable[UUID]) -> PriceTable:
    """The prices of products; one query, however many there are."""
    [rows] = fetch_all([prices_of_products(set(products))])
    return PriceTable(rows)
