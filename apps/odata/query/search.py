"""$search: words that every found record has in one of its declared search fields, without regard to case."""

from __future__ import annotations

import re
from typing import Any

from django.db.models import F, Q, Value

from apps.odata.declaration.schema import EntitySet
from apps.odata.errors import BadQuery, NotSupported
from apps.odata.query import functions as sql

MAX_WORDS = 12
_WORD = re.compile(r'"((?:[^"\\]|\\.)+)"|([^"\s]+)|(")')


def search_condition(entity_set: EntitySet, text: str) -> Q:
    """``$search=grace "st kilda"``: all words or quoted phrases, each anywhere in one of the fields."""
    fields = tuple(entity_set.resource.search)
    if not fields:
        raise NotSupported(f"{entity_set.name} cannot be searched; use $filter.", target="$search")
    found = Q()
    for word in words(text):
        anywhere = Q()
        for field in fields:
            anywhere |= Q(contains_folded(field, word))
        found &= anywhere
    return found


def words(text: str) -> list[str]:
    """The words and phrases of a search; ``AND`` between them is understood, other operators are not."""
    found = []
    for phrase, word, stray in (match.groups("") for match in _WORD.finditer(text)):
        if stray:  # refused at the first: a text of nothing but quotation marks is not read to its end
            raise BadQuery("A phrase of $search is empty or not closed.", target="$search")
        if word in ("OR", "NOT") or "(" in word:
            raise NotSupported(
                "$search takes words and quoted phrases; use $filter for more.", target="$search"
            )
        if word != "AND":
            found.append(re.sub(r"\\(.)", r"\1", phrase) or word)
    if not found or len(found) > MAX_WORDS:
        raise BadQuery(f"$search takes 1 to {MAX_WORDS} words.", target="$search")
    return found


def contains_folded(field: str, word: str) -> Any:
    """``tolower(field)`` contains ``tolower(word)``, as $filter's functions compare."""
    return sql.CONTAINS(sql.TO_LOWER(F(field)), Value(word.lower()))
