"""Where the demo's plans stand: new, well spent, nearly gone, over, about to end; one after another."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engagements.choices import ManagementType, ParticipantType

YEAR = 365


@dataclass(frozen=True, slots=True)
class Stage:
    """A plan at a point of its life.

    ``begun`` is how many days ago it started (negative: still to come), ``spent`` which share of each budget
    is gone, ``total`` which share of the bookings the plan's budget is: 1.1 leaves some to allocate, less
    than 1 is too little.
    """

    name: str
    begun: int
    spent: float
    total: float = 1.1
    management: str = ManagementType.PLAN.value
    participant_type: str = ParticipantType.AGENCY.value
    length: int = YEAR


STAGES = (
    Stage("half spent", 182, 0.5),
    Stage("nearly used up", 240, 0.93, total=1.0),
    Stage("ends within 30 days", YEAR - 22, 0.88),
    Stage("new", 9, 0.0),
    Stage("over-allocated", 120, 0.3, total=0.9),
    Stage("ends within 60 days", YEAR - 51, 0.61),
    Stage("ended", YEAR + 40, 0.97),
    Stage("PACE", 75, 0.22, participant_type=ParticipantType.PACE.value),
    Stage("ends within 90 days", YEAR - 80, 0.74),
    Stage("self managed", 150, 0.4, management=ManagementType.SELF.value),
    Stage("runs out early", 100, 0.62, total=1.0),
    Stage("still to start", -12, 0.0),
    Stage("two years, half spent", YEAR, 0.52, length=2 * YEAR),
    Stage("agency managed", 60, 0.1, management=ManagementType.AGENCY.value),
    Stage("gently spent", 290, 0.35),
)

#: What bookings are made for: support categories, several to a plan.
CATEGORIES = (
    (1, 4, 7, 15),
    (1, 14, 15),
    (3, 4, 9, 14),
    (1, 5, 7, 15),
    (2, 4, 12, 14, 15),
    (4, 7, 10),
)
CATEGORIES_OF_PACE = ((1, 4, 16, 20), (1, 15, 17, 20), (2, 4, 15, 19, 21))

#: Some bookings are for one item of their category.
ITEMS = {
    1: "01_011_0107_1_1",
    4: "04_104_0125_6_1",
    7: "07_002_0106_8_3",
    14: "14_034_0127_8_3",
    15: "15_056_0128_1_3",
}

#: About what a year of each category comes to, in dollars; others have the last.
USUAL = {1: 38_000, 2: 2_400, 3: 1_800, 4: 16_000, 5: 5_500, 7: 4_200, 15: 11_000, 16: 60_000, 17: 48_000}
USUAL_OTHERWISE = 3_600


def stage_of(nth: int) -> Stage:
    """The stage of the nth participant's plan."""
    return STAGES[nth % len(STAGES)]


def has_an_earlier_plan(nth: int) -> bool:
    return nth % 3 == 0
