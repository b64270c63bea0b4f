"""The choices of opportunities, as interface.md 2.7 spells them."""

from apps.base.declaration.resource import Enumeration


class Source(Enumeration):
    """The origin of an opportunity."""

    CALL_COLD = "CallCold", 0, "Cold call"
    CALL_WARM = "CallWarm", 1, "Warm call"
    CLIENT_CUSTOMER = "ClientCustomer", 2, "Client or customer"
    E_MARKETING = "EMarketing", 3, "Email marketing"
    MARKETING_EVENT = "MarketingEvent", 4, "Marketing event"
    REFERRAL = "Referral", 5
    SEARCH_ENGINE = "SearchEngine", 6, "Search engine"
    TRAINING = "Training", 7
    SOCIAL_MEDIA = "SocialMedia", 8, "Social media"
    OTHER = "Other", 9


class Outcome(Enumeration):
    """The outcome of an opportunity; only a deferred one may still change."""

    DEFERRED = "Deferred", 0
    SALE_SUCCESSFUL = "SaleSuccessful", 1, "Won"
    SALE_UNSUCCESSFUL = "SaleUnsuccessful", 2, "Lost"


#: The outcomes that have a date.
DECIDED = (Outcome.SALE_SUCCESSFUL, Outcome.SALE_UNSUCCESSFUL)
#: The outcomes of the email marketing list (interface.md 2.7, rule 5).
MAILING_LIST_OUTCOMES = (Outcome.DEFERRED, Outcome.SALE_UNSUCCESSFUL)
