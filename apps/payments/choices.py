"""The choices of payments."""

from django.db import models

from apps.base.declaration.resource import Enumeration


class RunStatus(Enumeration):
    """The status of a payment run."""

    DRAFT = "Draft", 0, "To be released"
    RELEASED = "Released", 1
    WITHDRAWN = "Withdrawn", 2
    OPENING = "Opening", 3, "Paid before"


class StatementRecipient(Enumeration):
    """Whom the statements of a participant are mailed to."""

    PARTICIPANT = "Participant", 0, "The participant"
    REPRESENTATIVE = "Representative", 1, "Their representative"


class StatementWork(models.TextChoices):
    """The work on all statements of a month."""

    MAKE = "Make", "Making statements"
    SEND = "Send", "Sending statements"


class StatementRunStatus(models.TextChoices):
    """The status of work on all statements of a month."""

    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"


class AccountsStyle(Enumeration):
    """The accounting package that exports are for, and what they have."""

    XERO_JOURNALS = "XeroJournals", 0, "Xero: journals"
    XERO_BILLS = "XeroBills", 1, "Xero: bills and journals"
    MYOB_JOURNAL = "MyobJournal", 2, "MYOB: journal"


class CodeUse(Enumeration):
    """The amounts that an account code is for."""

    OWN_FEE = "OwnFee", 0, "Own fee"
    PROVIDER_BILL = "ProviderBill", 1, "Bills of providers"


class EntryKind(Enumeration):
    """The event that an accounts export booked."""

    RECEIVED = "Received", 0, "Received from the agency"
    FEE = "Fee", 1, "Own fee received"
    TAKEN_BACK = "TakenBack", 2, "Taken back by the agency"
    FEE_TAKEN_BACK = "FeeTakenBack", 3, "Own fee taken back"
    PAID = "Paid", 4, "Paid to payees"
    RETURNED = "Returned", 5, "Payments that came back"
