"""The choices of opportunities, as interface.md 2.7 spells them."""

from django.db import models


class Source(models.TextChoices):
    """The origin of an opportunity."""

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
    """The outcome of an opportunity; only a deferred one may still change."""

    DEFERRED = "Deferred", "Deferred"
    SALE_SUCCESSFUL = "SaleSuccessful", "Won"
    SALE_UNSUCCESSFUL = "SaleUnsuccessful", "Lost"


#: The outcomes that have a date.
DECIDED = (Outcome.SALE_SUCCESSFUL, Outcome.SALE_UNSUCCESSFUL)
#: The outcomes of the email marketing list (interface.md 2.7, rule 5).
MAILING_LIST_OUTCOMES = (Outcome.DEFERRED, Outcome.SALE_UNSUCCESSFUL)
