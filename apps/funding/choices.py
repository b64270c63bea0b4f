"""The words that prices and support items choose from, as the scheme's price guide uses them."""

from django.db import models


class Zone(models.TextChoices):
    """Where a support is given; the price guide has a price for each."""

    NATIONAL = "National"
    REMOTE = "Remote"
    VERY_REMOTE = "Very Remote"


class Unit(models.TextChoices):
    """What a quantity of a product counts."""

    HOUR = "H", "Hour"
    EACH = "E", "Each"
    DAY = "D", "Day"
    WEEK = "WK", "Week"
    MONTH = "MON", "Month"
    YEAR = "YR", "Year"


class ItemType(models.TextChoices):
    """How the price guide prices a support item."""

    PRICED = "Priced", "Price limited"
    QUOTABLE = "Quotable", "Quotable"
    UNIT_PRICE = "UnitPrice", "Unit price of $1"


class Flag(models.TextChoices):
    """Whether a support item may be claimed in some way."""

    YES = "Y", "Yes"
    NO = "N", "No"
    NOT_APPLICABLE = "NA", "Not applicable"
