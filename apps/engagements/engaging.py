"""The verbs by which plans enter the records and change, whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from apps.core import saving
from apps.engagements import engagement_rules
from apps.engagements.categories import CATEGORIES, guid_of
from apps.engagements.models import ClientEngagement, SupportCategory
from apps.odata.write.drafts import Draft


def open_engagements(drafts: Sequence[Draft]) -> list[Any]:
    """Store new plans; their keys in the order of the drafts. ``Refused`` tells all that the rules find."""
    saving.apply_model_defaults(ClientEngagement, drafts)
    saving.validate(ClientEngagement, drafts, engagement_rules.RULES)
    engagement_rules.look_up(drafts)
    return saving.insert_records(ClientEngagement, drafts)


def revise_engagements(drafts: Sequence[Draft]) -> list[Any]:
    """Change what drafts of standing plans give; the keys of those that were not so already."""
    standing = saving.load_existing(ClientEngagement, drafts)
    saving.validate(ClientEngagement, drafts, engagement_rules.RULES)
    engagement_rules.look_up(drafts)
    return saving.save_changes(ClientEngagement, drafts, standing)


@transaction.atomic
def enter_support_categories() -> int:
    """Store the scheme's categories that are not there yet, and say how many those were."""
    there = set(SupportCategory.objects.values_list("number", flat=True))
    missing = [each for each in CATEGORIES if each[0] not in there]
    for number, name, purpose in missing:
        category = SupportCategory(guid=guid_of(number), number=number, name=name, support_purpose=purpose)
        category.save(force_insert=True)
    return len(missing)
