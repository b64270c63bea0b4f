"""What is usual of a product (funding facts: the price guide)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apps.odata.write.drafts import Draft, Issue

#: Category, item, registration group, outcome domain, purpose: 01_011_0107_1_1. The items of assistive
#: technology have nine digits, those of their codes.
_SUPPORT_ITEM = re.compile(r"\d{2}_\d{3}(\d{6})?_\d{4}_\d_\d", re.ASCII)


def is_support_item(code: str) -> bool:
    """Whether a code has the form that codes of the price guide have; a few are words."""
    return _SUPPORT_ITEM.fullmatch(code) is not None


def code_is_a_support_item(draft: Draft) -> Iterator[Issue]:
    if draft.code and not is_support_item(draft.code):
        message = "It is no support item code such as 01_011_0107_1_1; claims to the agency need one."
        yield Issue("UnusualCode", "code", message)


WARNINGS = (code_is_a_support_item,)
