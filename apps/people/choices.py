"""The words people's records choose from, as interface.md 4.1 spells them; the states of Australia."""

import re

from django.db import models

from apps.base.declaration.resource import Enumeration


class PersonalTitle(Enumeration):
    MISS = "Miss", 0
    MR = "Mr", 1
    MRS = "Mrs", 2
    MS = "Ms", 3
    MX = "Mx", 4
    DR = "Dr", 5
    PROF = "Prof", 6
    OTHER = "Other", 7


class Gender(Enumeration):
    MALE = "Male", 0
    FEMALE = "Female", 1
    UNSPECIFIED = "Unspecified", 2


class PriceGuideRegion(models.TextChoices):
    """The region in which the scheme's price guide places a participant (interface.md 2.9)."""

    ACT_NSW_QLD_VIC = "ACT/NSW/QLD/VIC", "ACT/NSW/QLD/VIC"
    NT_SA_TAS_WA = "NT/SA/TAS/WA", "NT/SA/TAS/WA"
    REMOTE = "Remote"
    VERY_REMOTE = "Very Remote"


class Participants(models.TextChoices):
    """The participants whose records a role may see (``core.caseload``)."""

    ALL = "All", "All participants"
    LOCATION = "Location", "Those looked after at one's location"
    TEAMS = "Teams", "Those looked after by one's teams"
    OWN = "Own", "Those whom one looks after oneself"


class AppliesTo(Enumeration):
    """The records a custom field is asked of."""

    STAFF = "Staff", 0
    CLIENT = "Client", 1
    CONTACT = "Contact", 2


class AnswerKind(Enumeration):
    """How a custom field is answered."""

    TEXT = "Text", 0
    NUMBER = "Number", 1
    DATE = "Date", 2
    YES_NO = "YesNo", 3, "Yes or no"
    CHOICE = "Choice", 4, "One choice"
    CHOICES = "Choices", 5, "Several choices"


#: The states and territories of Australia by their abbreviations.
STATES = {
    "ACT": "australian capital territory",
    "NSW": "new south wales",
    "NT": "northern territory",
    "QLD": "queensland",
    "SA": "south australia",
    "TAS": "tasmania",
    "VIC": "victoria",
    "WA": "western australia",
}
_CODES_OF_STATES = {name: code for code, name in STATES.items()} | {code.casefold(): code for code in STATES}
_DOTS_AND_SPACES = re.compile(r"[.\s]+")
#: In small letters.
NAMES_OF_AUSTRALIA = frozenset({"australia", "au", "aus"})


def state_code(text: str | None) -> str | None:
    """``NSW`` for what people write of it (``New South Wales``, ``n.s.w.``); ``None`` for no state."""
    words = _DOTS_AND_SPACES.sub(" ", text or "").strip().casefold()
    return _CODES_OF_STATES.get(words) or _CODES_OF_STATES.get(words.replace(" ", ""))
