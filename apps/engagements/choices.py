"""The choices of plans and service bookings (interface.md 2.9), and the scheme's support categories."""

import uuid

from django.db import models

from apps.base.declaration.resource import Enumeration


class ParticipantType(Enumeration):
    """The agency's portal that a plan was created in."""

    AGENCY = "Agency", 0
    PACE = "PACE", 1, "PACE"


class SupportPurpose(models.TextChoices):
    """The purpose that the scheme pays a support for."""

    CORE = "Core"
    CAPITAL = "Capital"
    CAPACITY_BUILDING = "Capacity Building"
    CUSTOM_PURPOSE = "Custom Purpose"


class ManagementType(Enumeration):
    """Who pays the providers of a booking."""

    AGENCY = "Agency", 0
    PLAN = "Plan", 1
    SELF = "Self", 2


# --- support categories ---------------------------------------------------------------------------------

CORE, CAPITAL = SupportPurpose.CORE.value, SupportPurpose.CAPITAL.value
CAPACITY_BUILDING = SupportPurpose.CAPACITY_BUILDING.value

#: From this number on, categories are for PACE plans only.
FIRST_PACE_CATEGORY = 16
LAST_CATEGORY = 21

#: (number, name, purpose) of each category, the same in every installation. There has been no category 18
#: or 21 with items of its own in the price guide, but plans name them.
CATEGORIES = (
    (1, "Assistance with Daily Life", CORE),
    (2, "Transport", CORE),
    (3, "Consumables", CORE),
    (4, "Assistance with Social, Economic and Community Participation", CORE),
    (5, "Assistive Technology", CAPITAL),
    (6, "Home Modifications and Specialised Disability Accommodation", CAPITAL),
    (7, "Support Coordination", CAPACITY_BUILDING),
    (8, "Improved Living Arrangements", CAPACITY_BUILDING),
    (9, "Increased Social and Community Participation", CAPACITY_BUILDING),
    (10, "Finding and Keeping a Job", CAPACITY_BUILDING),
    (11, "Improved Relationships", CAPACITY_BUILDING),
    (12, "Improved Health and Wellbeing", CAPACITY_BUILDING),
    (13, "Improved Learning", CAPACITY_BUILDING),
    (14, "Improved Life Choices", CAPACITY_BUILDING),
    (15, "Improved Daily Living Skills", CAPACITY_BUILDING),
    (16, "Home and Living", CORE),
    (17, "Specialised Disability Accommodation", CAPITAL),
    (18, "Younger People in Residential Aged Care", CORE),
    (19, "Assistive Technology Maintenance, Repair and Rental", CAPITAL),
    (20, "Behaviour Support", CAPACITY_BUILDING),
    (21, "Recurring Transport", CORE),
)

_NAMESPACE = uuid.UUID("6d0c5c5e-7f4b-5f0a-9a3e-0a5a3c1e9b21")


def category_guid(number: int) -> uuid.UUID:
    """A category's guid, derived from its number, so that files move between installations."""
    return uuid.uuid5(_NAMESPACE, f"{number:02}")
