"""The rule of claim windows."""

from collections.abc import Iterator

from apps.base.drafts import Issue
from apps.funding.drafts import WindowDraft


def no_other_window_is_for_the_days(draft: WindowDraft) -> Iterator[Issue]:
    if draft.has_same_days:
        message = "Another claim window is for the same days of claiming and of supports."
        yield Issue("NotUnique", "claimed_from", message)


WINDOW_RULES = (no_other_window_is_for_the_days,)
