"""Reviews of actions, before they are run: how many records, how much, which with warnings."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core import signing
from django.db.models import Model
from django.http import HttpRequest

from apps.base.money import ZERO
from apps.funding.services.transition_requests import ShownWarnings
from apps.funding.validation.warning_codes import ShownWarning

#: As many records as a page lists, each with its box or its reason.
LISTED_RECORDS = 500

#: The button that confirms a review, and what is sent with it: what the page showed, which is signed for the
#: person and the action, and the boxes that are ticked of records with warnings.
CONFIRM, SHOWN, TICKED = "_do", "shown", "ticked"


@dataclass(frozen=True, slots=True)
class ReviewedRecord:
    """A record as the page lists it: its warnings, or why it would be refused."""

    record: Model
    link: str
    amount: Decimal
    warnings: Sequence[ShownWarning] = ()
    refusal: str = ""
    is_ticked: bool = False

    @property
    def notes(self) -> list[str]:
        return [self.refusal] if self.refusal else [str(each) for each in self.warnings]


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

    def sign(self, request: HttpRequest, name: str) -> str:
        """The content of the page, signed for its field ``SHOWN``: one text, however many records."""
        shown = {
            "possible": shown_versions(self.possible),
            "warned": shown_versions(row.record for row in self.warned),
            "refused": shown_versions(row.record for row in self.refused),
            "warnings": {row.record.pk.hex: row.warnings for row in self.listed},
        }
        return signing.dumps(shown, salt=salt_of(request, name), compress=True)


@dataclass(frozen=True, slots=True)
class ConfirmedReview:
    """A review that somebody confirmed: the records that the page showed, whatever the list holds by now.

    ``shown``: their versions, by key. ``keys``: of those that the action is run on. ``left_out``: how many
    had warnings and were not ticked. ``refused``: those that were shown as not possible. ``warnings``: those
    that were listed.
    """

    shown: Mapping[UUID, str]
    keys: Sequence[UUID]
    left_out: int
    refused: Collection[UUID]
    warnings: ShownWarnings

    @classmethod
    def read(cls, request: HttpRequest, name: str) -> "ConfirmedReview | None":
        """The review that a browser sent; ``None`` when it is not one that this person got of this action."""
        try:
            shown = signing.loads(request.POST.get(SHOWN, ""), salt=salt_of(request, name))
        except signing.BadSignature:
            return None
        possible, warned, refused = (
            {UUID(key): version for key, version in shown[part].items()}
            for part in ("possible", "warned", "refused")
        )
        warnings = {
            UUID(key): [ShownWarning(*each) for each in found] for key, found in shown["warnings"].items()
        }
        boxes = set(request.POST.getlist(TICKED))
        ticked = [key for key in warnings if str(key) in boxes]
        keys = [*possible, *refused, *ticked]
        return cls(possible | refused | warned, keys, len(warned) - len(ticked), set(refused), warnings)

    def within(self, keys: Collection[UUID]) -> "ConfirmedReview":
        """The review of those of its records that have these keys."""
        shown = {key: version for key, version in self.shown.items() if key in keys}
        return replace(self, shown=shown, keys=[key for key in self.keys if key in keys])

    def is_changed(self, record: Any) -> bool:
        """True when somebody changed the record after the page was made, which showed other figures."""
        return record.modify_date.isoformat() != self.shown[record.pk]


def salt_of(request: HttpRequest, name: str) -> str:
    return f"apps.funding.admin.reviews {name} {request.user.pk}"


def shown_versions(records: Iterable[Any]) -> dict[str, str]:
    """The moments of the last change of records, by their keys."""
    return {record.pk.hex: record.modify_date.isoformat() for record in records}
