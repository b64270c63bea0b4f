"""The choices of payments."""

from apps.base.declaration.resource import Enumeration


class RunStatus(Enumeration):
    """The status of a payment run."""

    DRAFT = "Draft", 0, "To be released"
    RELEASED = "Released", 1
    WITHDRAWN = "Withdrawn", 2
    OPENING = "Opening", 3, "Paid before"
