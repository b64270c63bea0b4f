"""The words opportunities choose from, as interface.md 2.7 spells them."""

from django.db import models


class Source(models.TextChoices):
    """Where an opportunity came from."""

    CALL_COLD = "CallCold", "Cold call"
    CALL_WARM = "CallWarm", "Warm call"
    CLIENT_CUSTOMER = "ClientCustomer", "Client or customer"
    E_MARKETING = "EMarketing", "Email marketing"
    MARKETING_EVENT = "MarketingEvent", "Marketing event"
    REFERRAL = "Referral", "Referral"
    SEARCH_ENGINE = "SearchEngine", "Search engine"
    TRAINING = "Training", "Training"
    SOCIAL_MEDIA = "SocialMedia", "Social media"
    OTHER = "Other", "Other"


class Outcome(models.TextChoices):
    """What became of an opportunity; only deferred ones may still become something else."""

    DEFERRED = "Deferred", "Deferred"
    SALE_SUCCESSFUL = "SaleSuccessful", "Won"
    SALE_UNSUCCESSFUL = "SaleUnsuccessful", "Lost"


#: Outcomes that have a date.
DECIDED = (Outcome.SALE_SUCCESSFUL, Outcome.SALE_UNSUCCESSFUL)
#: Outcomes after which somebody may still be written to (interface.md 2.7, rule 5).
WORTH_WRITING_TO = (Outcome.DEFERRED, Outcome.SALE_UNSUCCESSFUL)
