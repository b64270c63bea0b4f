"""The demo's price guide: support items with numbers of the scheme's form, in words and prices of our own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from apps.engagements.categories import CATEGORIES
from apps.funding.choices import Flag, ItemType, Unit

PRICE_BOOK = "Price guide"
PRIVATE_RATES = "Private rates"
COST_CENTRES = ("Plan management", "Support coordination", "Therapy", "Community access", "Administration")
CLOSED_COST_CENTRES = ("Transition project",)

HOUR, EACH, DAY, WEEK, MONTH = (
    unit.value for unit in (Unit.HOUR, Unit.EACH, Unit.DAY, Unit.WEEK, Unit.MONTH)
)

#: What the hour of a support costs at other times, against a weekday's.
TIMES = (
    ("weekday daytime", "1"),
    ("weekday evening", "1.102"),
    ("Saturday", "1.407"),
    ("Sunday", "1.814"),
    ("public holiday", "2.222"),
)
#: Supports given at all times: the first of their numbers, the rest of it, their name, a weekday's price.
AT_ALL_TIMES = (
    ("01", 11, "0107_1_1", "Personal care at home", "71.40"),
    ("01", 400, "0104_1_1", "Personal care for complex needs", "77.25"),
    ("01", 801, "0115_1_1", "Daily support in a shared home", "71.40"),
    ("04", 104, "0125_6_1", "Going out with a support worker", "71.40"),
    ("04", 400, "0104_6_1", "Going out, for complex needs", "77.25"),
    ("04", 900, "0136_6_1", "Group activity at a centre", "24.10"),
)
#: Other supports: number, name, unit, price. Without a price they are quoted.
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
#: Its price fell within a year.
REPRICED = "15_043_0128_1_3"
#: Not in the guide any more.
DISCONTINUED = "13_030_0102_4_3"

#: What the subscriber sells beside the scheme, GST included: code, name, unit, price.
PRIVATE = (
    ("GYM-01", "Gym session with a trainer", HOUR, "82.50"),
    ("MEAL-01", "Cooking class", EACH, "38.50"),
    ("HALL-01", "Hall hire, half a day", EACH, "176.00"),
    ("ADMIN-01", "Copies of records", EACH, "16.50"),
)

REGISTRATION_GROUPS = {
    "0102": "Work and study",
    "0103": "Aids for personal care",
    "0104": "Complex daily activities",
    "0105": "Mobility equipment",
    "0106": "Coordination and life stages",
    "0107": "Daily personal activities",
    "0108": "Journeys",
    "0110": "Behaviour support",
    "0111": "Home modification",
    "0115": "Shared living",
    "0116": "Community skills",
    "0118": "Early childhood",
    "0120": "Household tasks",
    "0124": "Communication equipment",
    "0125": "Taking part in the community",
    "0126": "Exercise and wellbeing",
    "0127": "Plan management",
    "0128": "Therapy",
    "0132": "Specialist coordination",
    "0136": "Group activities",
}
CATEGORY_NAMES = {number: name for number, name, _ in CATEGORIES}


@dataclass(frozen=True, slots=True)
class DemoItem:
    """A support item of the demo; ``price`` is this year's, outside remote areas."""

    code: str
    name: str
    unit: str
    price: Decimal | None

    @property
    def category(self) -> int:
        return int(self.code[:2])

    @property
    def registration_group(self) -> str:
        return self.code.split("_")[2]

    @property
    def type(self) -> str:
        if self.price is None:
            return ItemType.QUOTABLE.value
        return ItemType.UNIT_PRICE.value if self.price == 1 else ItemType.PRICED.value

    @property
    def flag(self) -> str:
        """Whether it may be claimed in other ways than face to face: what somebody does by the hour may."""
        if self.price is None:
            return Flag.NOT_APPLICABLE.value
        return Flag.YES.value if self.unit == HOUR else Flag.NO.value


def items() -> Iterator[DemoItem]:
    """All support items, in the order of their codes."""
    found = [DemoItem(*row[:3], Decimal(row[3]) if row[3] else None) for row in OTHERS]
    for category, first, rest, name, weekday in AT_ALL_TIMES:
        for later, (time, factor) in enumerate(TIMES):
            code = f"{category}_{first + later:03}_{rest}"
            price = (Decimal(weekday) * Decimal(factor)).quantize(Decimal("0.01"))
            found.append(DemoItem(code, f"{name}, {time}", HOUR, price))
    return iter(sorted(found, key=lambda item: item.code))
