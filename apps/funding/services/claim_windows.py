"""The services of the organisation's claim windows."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.core.services import Checks, create_records, update_records
from apps.funding.choices import USUAL_WINDOWS
from apps.funding.drafts import WindowDraft
from apps.funding.models import ClaimWindow
from apps.funding.validation.claim_windows import WINDOW_RULES


def find_same_days(drafts: Sequence[WindowDraft]) -> None:
    """Let drafts know of another window for their days."""
    columns = ("claimed_from", "supports_from", "pk")
    rows = ClaimWindow.objects.filter(archive_date=None).values_list(*columns)
    owners = {(claimed_from, supports_from): key for claimed_from, supports_from, key in rows}
    for draft in drafts:
        days = draft.get("claimed_from"), draft.get("supports_from")
        draft.has_same_days = owners.setdefault(days, draft.key) != draft.key


CHECKS = Checks(WINDOW_RULES, prepare=find_same_days)


def create_claim_windows(drafts: Sequence[WindowDraft], ignore_warnings: bool = False) -> list[Any]:
    """Store new windows; their keys in the order of the drafts."""
    return create_records(ClaimWindow, drafts, ignore_warnings, CHECKS)


def update_claim_windows(drafts: Sequence[WindowDraft], ignore_warnings: bool = False) -> list[Any]:
    """Change windows; the keys of those changed."""
    return update_records(ClaimWindow, drafts, ignore_warnings, CHECKS)


@transaction.atomic
def create_usual_claim_windows() -> int:
    """Store the windows of a new installation that are missing; how many were. Those taken away stay so."""
    existing = set(ClaimWindow.objects.values_list("pk", flat=True))
    missing = [row for row in USUAL_WINDOWS if row[0] not in existing]
    for guid, claimed_from, number, unit, is_confirmed in missing:
        ClaimWindow.objects.create(
            guid=guid, claimed_from=claimed_from, number=number, unit=unit, is_confirmed=is_confirmed
        )
    return len(missing)
