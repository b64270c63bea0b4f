"""Reviews of actions on many records, before they are run: how many, how much, which with warnings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Model
from django.http import QueryDict

from apps.funding.admin.autocomplete import read_key
from apps.funding.models import ZERO

#: As many records as a page lists, each with its box or its reason.
LISTED_RECORDS = 500

#: The button that confirms a review, and what is sent with it: the records without warnings, those with
#: warnings, and the boxes of these that are ticked.
CONFIRM, PLAIN, WARNED, TICKED = "_do", "plain", "warned", "ticked"


@dataclass(frozen=True, slots=True)
class ReviewedRecord:
    """A record as the page lists it; ``notes``: its warnings, or why it would be refused."""

    record: Model
    link: str
    amount: Decimal
    notes: Sequence[str]
    is_ticked: bool = False


@dataclass(slots=True)
class ActionReview:
    """The records of an action: those that it is possible for, those with warnings, those that are refused.

    Refused ones are sent as well: afterwards the page says of each what was not done.
    """

    possible: list[Model] = field(default_factory=list)
    sum: Decimal = ZERO
    warned: list[ReviewedRecord] = field(default_factory=list)
    refused: list[ReviewedRecord] = field(default_factory=list)

    @property
    def listed(self) -> list[ReviewedRecord]:
        return self.warned[:LISTED_RECORDS]

    @property
    def listed_refused(self) -> list[ReviewedRecord]:
        return self.refused[:LISTED_RECORDS]

    @property
    def warned_sum(self) -> Decimal:
        return sum((row.amount for row in self.warned), ZERO)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields that the page sends beside the boxes: two texts, however many records."""
        plain = [*self.possible, *(row.record for row in self.refused)]
        warned = [row.record for row in self.warned]
        return [
            (name, ",".join(map(shown_version, records)))
            for name, records in ((PLAIN, plain), (WARNED, warned))
        ]


@dataclass(frozen=True, slots=True)
class ConfirmedReview:
    """A review that somebody confirmed: the records that the page showed, whatever the list holds by now.

    ``shown``: their versions, by key. ``keys``: of those that the action is run on. ``left_out``: how many
    had warnings and were not ticked.
    """

    shown: Mapping[UUID, str]
    keys: Sequence[UUID]
    left_out: int

    @classmethod
    def read(cls, data: QueryDict) -> "ConfirmedReview":
        """The review that a browser sent; texts that are no keys are left out."""
        plain, warned = (cls.read_versions(data.get(name, "")) for name in (PLAIN, WARNED))
        boxes = set(data.getlist(TICKED))
        ticked = [key for key in warned if str(key) in boxes]
        return cls(plain | warned, [*plain, *ticked], len(warned) - len(ticked))

    def within(self, keys: Collection[UUID]) -> "ConfirmedReview":
        """The review of those of its records that have these keys."""
        shown = {key: version for key, version in self.shown.items() if key in keys}
        return replace(self, shown=shown, keys=[key for key in self.keys if key in keys])

    @staticmethod
    def read_versions(text: str) -> dict[UUID, str]:
        parts = (each.partition(".") for each in text.split(","))
        return {key: version for name, _, version in parts if (key := read_key(name)) is not None}

    def is_changed(self, record: Model) -> bool:
        """True when somebody changed the record after the page was made, which showed other figures."""
        return shown_version(record).partition(".")[2] != self.shown[record.pk]


def shown_version(record: Any) -> str:
    """The key of a record, and the moment of its last change in microseconds."""
    return f"{record.pk.hex}.{record.modify_date.timestamp() * 1_000_000:.0f}"
