"""Keys in addresses: ``({guid})``, ``(ClaimGuid={guid})``, ``(UniqueCode='P-1')``, ``(UniqueCode=@code)``."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from apps.base.declaration.schema import EntitySet
from apps.base.declaration.values import WireValueError, parse_value
from apps.odata.errors import BadQuery
from apps.odata.write.upserts import AlternateValue

_NAMED_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)


def read_key(text: str, entity_set: EntitySet, aliases: Mapping[str, object]) -> object:
    """The key as the model stores it, or an ``AlternateValue``; ``BadQuery`` when it is invalid.

    ``aliases`` are the values that the query string has for ``@code``.
    """
    match = _NAMED_KEY.fullmatch(text)
    alternate = entity_set.alternate_keys.get(match[1].lower()) if match else None
    if match and alternate:
        return AlternateValue(alternate, read_text(match[2].strip(), match[1], aliases))
    key, value = entity_set.key, unquote(text).strip()
    match = _NAMED_KEY.fullmatch(value)
    if match:
        if match[1].lower() != key.name.lower():
            raise BadQuery(f"The key of {entity_set.name} is {key.name}, not {match[1][:60]}.")
        value = match[2].strip()
    if value.startswith("@"):
        value = str(value_of_alias(value, aliases))
    if len(value) >= 2 and value[0] == value[-1] == "'":
        value = value[1:-1]
    try:
        return parse_value(value, key)
    except WireValueError as error:
        raise BadQuery(f"The key {value[:60]!r} {error}", code=error.code) from None


def value_of_alias(name: str, aliases: Mapping[str, Any]) -> object:
    if name not in aliases:
        raise BadQuery(f"There is no value for {name[:60]}.", target=name[:60])
    return aliases[name].value


def read_text(literal: str, name: str, aliases: Mapping[str, object]) -> str:
    """The text of an alternate key: in single quotes, or given by an alias."""
    match = _QUOTED.fullmatch(literal)
    text: object = match and match[1].replace("''", "'")
    if literal.startswith("@"):
        text = value_of_alias(literal, aliases)
    elif isinstance(text, str):
        refuse_broken(text, name)
    if not isinstance(text, str) or not text.strip():
        raise BadQuery(f"{name} is a text in single quotes, such as {name}='A-1'.", target=name)
    return text


def refuse_broken(text: str, name: str) -> None:
    """``BadQuery`` for bytes of an address that are no UTF-8, which it has as ``%FF``."""
    try:
        unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise BadQuery(f"{name} is not UTF-8 here: give it as {name}=@code.", target=name) from None
