"""$search: records that have all words in the declared search fields, in any case."""

import re

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
    condition = Q()
    for word in parse_search(text):
        in_any_field = Q()
        lower = word.lower()
        pattern = Value(sql.like_pattern(lower, "%"))
        for field in fields:
            # As $filter compares: contains(tolower(field), tolower(word)).
            in_any_field |= Q(sql.CONTAINS_LITERAL(sql.TO_LOWER(F(field)), Value(lower), pattern))
        condition &= in_any_field
    return condition


def parse_search(text: str) -> list[str]:
    """The words and phrases of a search; the only operator is ``AND``."""
    words = []
    for phrase, word, stray in (match.groups("") for match in _WORD.finditer(text)):
        if stray:  # at the first one, so that a text of nothing but quotation marks costs nothing
            raise BadQuery("A phrase of $search is empty or not closed.", target="$search")
        if word in ("OR", "NOT") or "(" in word:
            raise NotSupported(
                "$search takes words and quoted phrases; use $filter for more.", target="$search"
            )
        if word != "AND":
            words.append(re.sub(r"\\(.)", r"\1", phrase) or word)
    if not words or len(words) > MAX_WORDS:
        raise BadQuery(f"$search takes 1 to {MAX_WORDS} words.", target="$search")
    return words
