"""The codes of the warnings about claims and invoices, those of POST /claim and /invoice."""

from collections.abc import Callable
from typing import NamedTuple

from apps.base.drafts import Issue
from apps.funding.drafts import BillContext, LineContext, LineDraft

#: The codes in use, and their words on screen.
WARNING_LABELS: dict[str, str] = {}


def warning_code(code: str, label: str) -> str:
    """Declares a code, as callers read it and bills store it, with its words on screen.

    It stands as a constant beside the rule that finds the warning (docs/warnings.md).
    """
    if code in WARNING_LABELS:
        raise ValueError(f"The warning {code} is declared twice.")
    WARNING_LABELS[code] = label
    return code


#: Finds an issue with a field of the line; with an empty field, the whole line.
LineWarning = Callable[[LineDraft, LineContext, BillContext], Issue | None]


def warning_label(code: str) -> str:
    """The words for a code; itself when another version of the service stored it."""
    return WARNING_LABELS.get(code, code)


class ShownWarning(NamedTuple):
    """A warning as it is shown before a bill is approved.

    ``is_new``: it has come since the bill was entered, and nobody has acknowledged it.
    """

    code: str
    place: str | None
    message: str
    is_new: bool = False

    def __str__(self) -> str:
        since = ", since it was entered" if self.is_new else ""
        return f"{warning_label(self.code)}{since}: {self.message}"
