"""The words people's records choose from, as interface.md 4.1 spells them; the states of Australia."""

import re

from django.db import models


class PersonalTitle(models.TextChoices):
    MISS = "Miss"
    MR = "Mr"
    MRS = "Mrs"
    MS = "Ms"
    MX = "Mx"
    DR = "Dr"
    PROF = "Prof"
    OTHER = "Other"


class Gender(models.TextChoices):
    MALE = "Male"
    FEMALE = "Female"
    UNSPECIFIED = "Unspecified"


class PriceGuideRegion(models.TextChoices):
    """Where the scheme's price guide places a participant (interface.md 2.9)."""

    ACT_NSW_QLD_VIC = "ACT/NSW/QLD/VIC", "ACT/NSW/QLD/VIC"
    NT_SA_TAS_WA = "NT/SA/TAS/WA", "NT/SA/TAS/WA"
    REMOTE = "Remote"
    VERY_REMOTE = "Very Remote"


class AppliesTo(models.TextChoices):
    """The records a custom field is asked of."""

    STAFF = "Staff"
    CLIENT = "Client"
    CONTACT = "Contact"


class AnswerKind(models.TextChoices):
    """How a custom field is answered."""

    TEXT = "Text"
    NUMBER = "Number"
    DATE = "Date"
    YES_NO = "YesNo", "Yes or no"
    CHOICE = "Choice", "One choice"
    CHOICES = "Choices", "Several choices"


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


def state_code(text: str | None) -> str | None:
    """``NSW`` for what people write of it (``New South Wales``, ``n.s.w.``); ``None`` for no state."""
    words = _DOTS_AND_SPACES.sub(" ", text or "").strip().casefold()
    return _CODES_OF_STATES.get(words) or _CODES_OF_STATES.get(words.replace(" ", ""))
