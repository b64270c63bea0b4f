"""Keys in addresses: ``/claim/{guid}``, ``/claim({guid})``, ``/claim(ClaimGuid={guid})``."""

from __future__ import annotations

import re
import uuid
from typing import Any
from urllib.parse import unquote

from apps.odata.declaration.edm import INTEGER_RANGES
from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import BadQuery

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_INTEGER = re.compile(r"-?[0-9]{1,19}")


def read_key(entity_set: EntitySet, text: str) -> Any:
    """The key in ``text`` as the model stores it; ``BadQuery`` when it is invalid."""
    value = unquote(text).strip()
    match = _NAMED.fullmatch(value)
    if match:
        if match[1].lower() != entity_set.key.name.lower():
            raise BadQuery(f"The key of {entity_set.name} is {entity_set.key.name}, not {match[1][:60]}.")
        value = match[2].strip()
    if len(value) >= 2 and value[0] == value[-1] == "'":
        value = value[1:-1]
    edm = entity_set.key.edm.name
    if edm == "Edm.Guid":
        if not _GUID.fullmatch(value):
            raise BadQuery(f"{value[:60]!r} is not a guid.", code="InvalidGuid")
        return uuid.UUID(value)
    if edm in INTEGER_RANGES:
        if not _INTEGER.fullmatch(value):
            raise BadQuery(f"{value[:60]!r} is not a whole number.", code="InvalidNumber")
        low, high = INTEGER_RANGES[edm]
        if not low <= int(value) <= high:
            raise BadQuery(f"{value[:60]} is not between {low} and {high}.", code="OutOfRange")
        return int(value)
    return value
