"""The choices of plans and service bookings, as interface.md 2.9 spells them."""

from django.db import models


class ParticipantType(models.TextChoices):
    """The agency's portal that a plan was created in."""

    AGENCY = "Agency"
    PACE = "PACE", "PACE"


class SupportPurpose(models.TextChoices):
    """The purpose that the scheme pays a support for."""

    CORE = "Core"
    CAPITAL = "Capital"
    CAPACITY_BUILDING = "Capacity Building"
    CUSTOM_PURPOSE = "Custom Purpose"


class ManagementType(models.TextChoices):
    """Who pays the providers of a booking."""

    AGENCY = "Agency"
    PLAN = "Plan"
    SELF = "Self"
