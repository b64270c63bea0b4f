"""The demo's price books: support items with numbers of the scheme's form, in words and prices of our own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from apps.core.demo import Context, find_or_create, listed
from apps.core.identifiers import normalised
from apps.engagements.categories import CATEGORIES
from apps.funding.choices import Flag, ItemType, Unit, Zone
from apps.funding.models import CostCentre, Price, PriceBook, PriceBookEntry, Product
from apps.funding.public_holidays import DayType
from apps.funding.services.price_guide import import_guide
from apps.funding.services.price_guide_file import Guide, GuideRow

PRICE_BOOK, PRIVATE_RATES = "Price guide", "Private rates"
COST_CENTRES = listed("Plan management, Support coordination, Therapy, Community access, Administration")
CLOSED_COST_CENTRE = "Transition project"
HOUR, EACH, DAY, WEEK, MONTH = (
    unit.value for unit in (Unit.HOUR, Unit.EACH, Unit.DAY, Unit.WEEK, Unit.MONTH)
)

#: The price of an hour at each time of the week, against a weekday's.
TIMES = (
    ("weekday daytime", "1", DayType.WEEKDAY),
    ("weekday evening", "1.102", DayType.WEEKDAY),
    ("Saturday", "1.407", DayType.SATURDAY),
    ("Sunday", "1.814", DayType.SUNDAY),
    ("public holiday", "2.222", DayType.PUBLIC_HOLIDAY),
)
#: Supports priced by the time of the week: category, first sequence number, rest of the code, name, price.
BY_TIME = (
    ("01", 11, "0107_1_1", "Personal care at home", "71.40"),
    ("01", 400, "0104_1_1", "Personal care for complex needs", "77.25"),
    ("01", 801, "0115_1_1", "Daily support in a shared home", "71.40"),
    ("04", 104, "0125_6_1", "Going out with a support worker", "71.40"),
    ("04", 400, "0104_6_1", "Going out, for complex needs", "77.25"),
    ("04", 900, "0136_6_1", "Group activity at a centre", "24.10"),
)
#: Other supports: code, name, unit, price. Without a price they are quoted.
OTHERS: tuple[tuple[str, str, str, str | None], ...] = (
    ("01_010_0107_1_1", "Night shift, asleep", EACH, "302.70"),
    ("01_019_0120_1_1", "House and garden upkeep", HOUR, "58.60"),
    ("01_020_0120_1_1", "House cleaning", HOUR, "59.05"),
    ("01_022_0120_1_1", "Meals delivered to the door", EACH, "1.00"),
    ("01_054_0115_1_1", "Shared home, by quote", WEEK, None),
    ("01_058_0115_1_1", "Short stay away from home", DAY, None),
    ("02_051_0108_1_1", "Journeys to work and study", EACH, "1.00"),
    ("03_040_0103_1_1", "Nutrition supplies", EACH, "1.00"),
    ("03_090_0103_1_1", "Continence supplies", EACH, "1.00"),
    ("04_590_0125_6_1", "Kilometres driven for an activity", EACH, "1.00"),
    ("04_210_0125_6_1", "Entry and materials of an activity", EACH, "1.00"),
    ("05_122100101_0105_1_2", "Wheelchair, made to measure", EACH, None),
    ("05_220300101_0124_1_2", "Communication device", EACH, "1.00"),
    ("05_501200101_0105_1_2", "Repair of a mobility aid", EACH, "1.00"),
    ("06_182400101_0111_2_2", "Bathroom made accessible", EACH, None),
    ("06_183000101_0111_2_2", "Ramp and handrails", EACH, None),
    ("07_001_0106_8_3", "Support connection", HOUR, "80.90"),
    ("07_002_0106_8_3", "Coordination of supports", HOUR, "100.14"),
    ("07_004_0132_8_3", "Specialist support coordination", HOUR, "190.54"),
    ("07_101_0106_6_3", "Psychosocial recovery coaching", HOUR, "105.43"),
    ("08_005_0106_2_3", "Help to keep a tenancy", HOUR, "80.90"),
    ("09_008_0116_6_3", "Course in a community skill", HOUR, "80.90"),
    ("10_016_0102_5_3", "Coaching at the workplace", HOUR, "80.90"),
    ("11_022_0110_7_3", "Behaviour support, first plan", HOUR, "244.22"),
    ("11_023_0110_7_3", "Behaviour support, review", HOUR, "214.41"),
    ("12_027_0126_3_3", "Exercise physiology", HOUR, "166.99"),
    ("12_029_0126_3_3", "Personal training", HOUR, "66.50"),
    ("13_030_0102_4_3", "Getting ready for study", HOUR, "80.90"),
    ("14_033_0127_8_3", "Plan management, setting up", EACH, "232.35"),
    ("14_034_0127_8_3", "Plan management, each month", MONTH, "104.45"),
    ("15_005_0118_1_3", "Early childhood teacher", HOUR, "193.99"),
    ("15_043_0128_1_3", "Counselling", HOUR, "156.16"),
    ("15_048_0128_1_3", "Dietetics", HOUR, "188.99"),
    ("15_054_0128_1_3", "Psychology", HOUR, "232.99"),
    ("15_055_0128_1_3", "Physiotherapy", HOUR, "183.99"),
    ("15_056_0128_1_3", "Occupational therapy", HOUR, "193.99"),
    ("15_622_0128_1_3", "Speech pathology", HOUR, "193.99"),
)
#: The item that this year's guide lacks.
DISCONTINUED = "13_030_0102_4_3"
#: Supports that the subscriber sells beside the scheme, GST included: code, name, unit, price.
PRIVATE = (
    ("GYM-01", "Gym session with a trainer", HOUR, "82.50"),
    ("MEAL-01", "Cooking class", EACH, "38.50"),
    ("HALL-01", "Hall hire, half a day", EACH, "176.00"),
    ("ADMIN-01", "Copies of records", EACH, "16.50"),
)
REGISTRATION_GROUPS = {
    **{"0102": "Work and study", "0103": "Aids for personal care", "0104": "Complex daily activities"},
    **{
        "0105": "Mobility equipment",
        "0106": "Coordination and life stages",
        "0107": "Daily personal activities",
    },
    **{"0108": "Journeys", "0110": "Behaviour support", "0111": "Home modification", "0115": "Shared living"},
    **{"0116": "Community skills", "0118": "Early childhood", "0120": "Household tasks"},
    **{"0124": "Communication equipment", "0125": "Taking part in the community"},
    **{"0126": "Exercise and wellbeing", "0127": "Plan management", "0128": "Therapy"},
    **{"0132": "Specialist coordination", "0136": "Group activities"},
}
CATEGORY_NAMES = {number: name for number, name, _ in CATEGORIES}
#: Prices of each year, the oldest first, as a share of this year's; of each zone, of the national ones.
YEARS = ("0.931", "0.966", "1")
ZONES = {Zone.NATIONAL.value: "1", Zone.REMOTE.value: "1.4", Zone.VERY_REMOTE.value: "1.5"}


@dataclass(frozen=True, slots=True)
class DemoItem:
    """A support item; ``price`` is this year's national one. ``day`` is the kind of day it is for, if any."""

    code: str
    name: str
    unit: str
    price: Decimal | None
    day: DayType | None = None

    @property
    def category(self) -> int:
        return int(self.code[:2])

    @property
    def is_dollar(self) -> bool:
        """Whether its quantity is an amount of dollars."""
        return self.price == 1

    def columns(self) -> dict[str, Any]:
        """The columns of the product that the price guide gives."""
        group = self.code.split("_")[2]
        by_hour = Flag.YES if self.unit == HOUR else Flag.NO
        flag = (Flag.NOT_APPLICABLE if self.price is None else by_hour).value
        priced = ItemType.QUOTABLE if self.price is None else ItemType.PRICED
        return {
            "code": self.code,
            "name": self.name,
            "unit": self.unit,
            "type": (ItemType.UNIT_PRICE if self.is_dollar else priced).value,
            "is_quote_required": self.price is None,
            "category_number": self.category,
            "category_name": CATEGORY_NAMES[self.category],
            "category_number_pace": self.category,
            "category_name_pace": CATEGORY_NAMES[self.category],
            "registration_group_number": group,
            "registration_group_name": REGISTRATION_GROUPS[group],
            **dict.fromkeys(("non_face_to_face", "provider_travel", "short_notice_cancellation"), flag),
            "agency_requested_reports": flag,
            "irregular_sil": flag if group == "0115" else Flag.NO.value,
        }


def rounded(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def demo_items() -> Iterator[DemoItem]:
    """All support items."""
    for code, name, unit, price in OTHERS:
        yield DemoItem(code, name, unit, Decimal(price) if price else None)
    for category, first, rest, name, price in BY_TIME:
        for number, (time, factor, kind) in enumerate(TIMES, start=first):
            amount = rounded(Decimal(price) * Decimal(factor))
            yield DemoItem(f"{category}_{number:03}_{rest}", f"{name}, {time}", HOUR, amount, kind)


ITEMS = {item.code: item for item in demo_items()}


def load_price_books(context: Context) -> None:
    """Import the price guide of this and two earlier financial years; create private rates and cost centres.

    A price book of one of their names is left as it is.
    """
    with context.clock_at(context.workdays[0], 8.6):
        for name in COST_CENTRES:
            find_or_create(CostCentre, name)
        find_or_create(CostCentre, CLOSED_COST_CENTRE, is_archived=True)
        if not PriceBook.objects.filter(name_key=normalised(PRIVATE_RATES)).exists():
            create_private_rates(first_days(context.as_of)[0])
    if PriceBook.objects.filter(name_key=normalised(PRICE_BOOK)).exists():
        return
    for start, factor in zip(first_days(context.as_of), YEARS, strict=True):
        with context.clock_at(min(max(start, context.workdays[0]), context.day(1)), 7):
            import_guide(guide_of(start, Decimal(factor)), PRICE_BOOK, end_missing=True)
    context.report(Product, len(ITEMS))
    context.report(Price, Price.objects.filter(entry__price_book__name=PRICE_BOOK).count())


def first_days(as_of: dt.date) -> list[dt.date]:
    """The first days of this financial year and of those before it, the oldest first."""
    year = as_of.year if as_of >= dt.date(as_of.year, 7, 1) else as_of.year - 1
    return [dt.date(year - ago, 7, 1) for ago in reversed(range(len(YEARS)))]


def guide_of(start: dt.date, factor: Decimal) -> Guide:
    """The price guide that begins on that day."""
    rows = {}
    for number, item in enumerate(ITEMS.values(), start=1):
        if factor == 1 and item.code == DISCONTINUED:
            continue
        amounts = {zone: price_in_zone(item, factor, zone) for zone in ZONES}
        row = GuideRow(number, item.code, start, None, amounts, item.columns())
        rows[str(normalised(item.code))] = [row]
    return Guide(rows)


def price_in_zone(item: DemoItem, factor: Decimal, zone: str) -> Decimal | None:
    if item.price is None or item.is_dollar:
        return item.price
    return rounded(rounded(item.price * factor) * Decimal(ZONES[zone]))


def price_on(item: DemoItem, day: dt.date, zone: str, as_of: dt.date) -> Decimal:
    """The price of an item that is not quoted, on a day of the guide's years."""
    factors = [factor for start, factor in zip(first_days(as_of), YEARS, strict=True) if start <= day]
    price = price_in_zone(item, Decimal(factors[-1] if factors else YEARS[0]), zone)
    assert price is not None
    return price


def create_private_rates(start: dt.date) -> None:
    book = find_or_create(PriceBook, PRIVATE_RATES)
    for code, name, unit, amount in PRIVATE:
        product = Product.objects.filter(code_key=normalised(code)).first()
        if product is None:
            product = Product(code=code, name=name, unit=unit, long_description=name)
            product.save()
        entry = PriceBookEntry(price_book=book, product=product, gst_inclusive=True)
        entry.save()
        Price(entry=entry, start_date=start, amount=Decimal(amount)).save()
