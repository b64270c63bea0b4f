"""Keys in addresses: ``/claim/{guid}``, ``/claim({guid})``, ``/claim(ClaimGuid={guid})``."""

import re
from typing import Any
from urllib.parse import unquote

from apps.odata.declaration.schema import EntitySet
from apps.odata.declaration.values import WireValueError, parse_value
from apps.odata.errors import BadQuery

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)


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
    try:
        return parse_value(value, entity_set.key)
    except WireValueError as error:
        raise BadQuery(f"The key {value[:60]!r} {error}", code=error.code) from None
