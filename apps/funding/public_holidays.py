"""The type of a day where a participant lives: public holidays differ between the states."""

import datetime as dt
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache

from holidays import country_holidays

from apps.people.choices import STATES, state_code


class DayType(Enum):
    """The types of day that the price guide has prices for."""

    WEEKDAY = "a weekday"
    SATURDAY = "a Saturday"
    SUNDAY = "a Sunday"
    PUBLIC_HOLIDAY = "a public holiday"


#: Holidays of a part of their state only.
LOCAL_HOLIDAYS = frozenset({"The Royal Queensland Show"})


@lru_cache(maxsize=4096)
def day_types(day: dt.date, state: str | None) -> frozenset[DayType]:
    """The type of a day in a state as people write it, or the possible types where that is uncertain.

    It is uncertain on eves that are holidays from the evening on, on holidays of a part of the state, and,
    without a state, on holidays of some states only.
    """
    code = state_code(state)
    ordinary = DAYS_OF_THE_WEEK[day.weekday()]
    holidays = [holiday_in(each, day) for each in ((code,) if code else STATES)]
    if all(each is True for each in holidays):
        return frozenset({DayType.PUBLIC_HOLIDAY})
    if all(each is False for each in holidays):
        return frozenset({ordinary})
    return frozenset({ordinary, DayType.PUBLIC_HOLIDAY})


def business_days_before(day: dt.date, number: int) -> dt.date:
    """The business day that is so many business days before a day; no state's own holidays count."""
    while number:
        day -= dt.timedelta(days=1)
        number -= DayType.WEEKDAY in day_types(day, None)
    return day


def business_day_from(day: dt.date) -> dt.date:
    """The day itself or the business day that follows; no state's own holidays count."""
    while DayType.WEEKDAY not in day_types(day, None):
        day += dt.timedelta(days=1)
    return day


DAYS_OF_THE_WEEK = (*[DayType.WEEKDAY] * 5, DayType.SATURDAY, DayType.SUNDAY)


def holiday_in(state: str, day: dt.date) -> bool | None:
    """True when the whole day is a public holiday in all of the state; ``None`` when a part of either is."""
    whole, part = holidays_of(state, day.year)
    if day in whole and whole[day] not in LOCAL_HOLIDAYS:
        return True
    return None if day in whole or day in part else False


@lru_cache(maxsize=512)
def holidays_of(state: str, year: int) -> tuple[Mapping[dt.date, str], Mapping[dt.date, str]]:
    """The whole and the half public holidays of a state in a year, with their names."""
    whole, half = (
        dict(country_holidays("AU", subdiv=state, years=year, expand=False, categories=(category,)))
        for category in ("public", "half_day")
    )
    return whole, half


def holiday_name(day: dt.date, state: str | None) -> str | None:
    """The name of the holiday in the state, or in the first state that has it."""
    for each in (state,) if state else STATES:
        for holidays in holidays_of(each, day.year):
            if day in holidays:
                return holidays[day]
    return None


DAY_WORDS = {
    "weekday": {DayType.WEEKDAY},
    "saturday": {DayType.SATURDAY},
    "sunday": {DayType.SUNDAY},
    "weekend": {DayType.SATURDAY, DayType.SUNDAY},
    "public holiday": {DayType.PUBLIC_HOLIDAY},
}
DAY_WORD = re.compile(r"\b(weekday|saturday|sunday|weekend|public\s+holiday)s?\b", re.IGNORECASE)


@lru_cache(maxsize=4096)
def named_day_types(name: str) -> frozenset[DayType]:
    """The types of day that an item is for by its name; none when the name has no word of them.

    “… - Weekday Evening”, “… - Public Holiday”; a “Night-Time Sleepover” is for any day, and so is what is
    “Weekly”.
    """
    words = (" ".join(found.casefold().split()) for found in DAY_WORD.findall(name))
    return frozenset(day_type for word in words for day_type in DAY_WORDS[word])
