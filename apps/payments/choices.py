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
    """What is done with all statements of a month."""

    MAKE = "Make", "Making statements"
    SEND = "Send", "Sending statements"


class StatementRunStatus(models.TextChoices):
    """The status of work on all statements of a month."""

    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"
