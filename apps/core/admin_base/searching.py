"""The search of lists and of the command palette: words of names, numbers in any spelling, misspelt names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache, reduce
from operator import and_, or_
from typing import Any

from django.contrib.postgres.lookups import TrigramWordSimilar
from django.db import connection, transaction
from django.db.models import CharField, F, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Coalesce, Lower, Replace

from apps.base.declaration.schema import fields_on_path
from apps.base.texts import composed

#: Words of a search that are read.
WORD_LIMIT = 6
#: Shorter words have no trigram, and most records have them.
INDEXED_LETTERS = 3
#: Without trigrams, names that begin alike are compared: so many letters, so many names, so similar.
SAME_LETTERS, COMPARED_NAMES, SIMILARITY = 1, 3_000, 0.7
#: Different names that are found for a misspelt one.
ALIKE_LIMIT = 10


def search_records(
    records: QuerySet[Model],
    text: str,
    columns: Sequence[str],
    number_columns: Sequence[str] = (),
    names: Sequence[str] = (),
) -> QuerySet[Model]:
    """The records with the number in one of the number columns, or with all the words of the text.

    Without columns, all records: an address may have a search that its list does not offer.
    """
    digits = searched_digits(text)
    if digits is not None and number_columns:
        return sorted_after_search(with_digits(records, number_columns, digits))
    words = search_words(text)
    return search_words_in(records, words, columns, names) if words and columns else records


def search_words_in(
    records: QuerySet[Model], words: Sequence[str], columns: Sequence[str], names: Sequence[str]
) -> QuerySet[Model]:
    """The records with each word in one of the columns; without any, those whose names are spelt alike."""
    records = with_small_letters(records, columns)
    found = records.filter(has_words(columns, words, "contains"))
    if max(map(len, words)) >= INDEXED_LETTERS:
        found = sorted_after_search(found)
    has_number = any(character.isdigit() for word in words for character in word)
    if not names or has_number or found.values("pk")[:1]:
        return found
    return sorted_after_search(records.filter(spelt_alike(records, names, words)))


def sorted_after_search(found: QuerySet[Model]) -> QuerySet[Model]:
    """The records in the same order, by an expression that no index has.

    For the first fifty of few records PostgreSQL would read an index in the order of the list, and look for
    matches in all of it: 0.6 s for a name in the middle of the alphabet, instead of 5 ms.
    """
    first, *rest = found.query.order_by or ["pk"]  # not public; tests/core/test_searching.py compares orders
    if not isinstance(first, str):
        return found
    column = first.removeprefix("-")
    expression = Coalesce(column, column)
    return found.order_by(expression.desc() if first.startswith("-") else expression.asc(), *rest)


# --- numbers --------------------------------------------------------------------------------------------


def searched_digits(text: str) -> str | None:
    """The digits of a number as people write it (``430 123 456``, ``(02) 9000-0000``).

    ``None`` for a name, and for a number that is too short. A phone number is sought without its leading zero
    or country code, so either spelling finds both.
    """
    digits = re.sub(r"[\s()+./-]", "", text)
    if not digits.isdecimal() or len(digits) < 4:
        return None
    if len(digits) == 11 and digits.startswith("61"):
        return digits[2:]
    return digits[1:] if len(digits) == 10 and digits.startswith("0") else digits


def with_digits(records: QuerySet[Model], columns: Sequence[str], digits: str) -> QuerySet[Model]:
    """The records with these digits in one of the columns, whatever people put between them."""
    in_any_column = Q()
    for column in columns:
        bare: Any = F(column)
        for mark in (" ", "-", "(", ")"):
            bare = Replace(bare, Value(mark), Value(""))
        records = records.alias(**{f"{column}_digits": bare})
        in_any_column |= Q(**{f"{column}_digits__contains": digits})
    return records.filter(in_any_column)


# --- words ----------------------------------------------------------------------------------------------


def search_words(text: str) -> list[str]:
    """The words of a search: ``Walsh, Matilda`` has two, the number ``430 123 456`` is one."""
    text = composed(text).strip().lower()
    if re.fullmatch(r"[\d\s]+", text):
        text = re.sub(r"\s", "", text)
    return [word for word in re.split(r"[\s,;\0]+", text) if word][:WORD_LIMIT]


def with_small_letters(records: QuerySet[Model], columns: Sequence[str]) -> QuerySet[Model]:
    """The records with each column in small letters, as the search indexes have them: ``name_lower``."""
    small_letters = {}
    for column in columns:
        is_text = isinstance(fields_on_path(records.model, column, column)[-1], CharField | TextField)
        small_letters[f"{column}_lower"] = Lower(column if is_text else Cast(column, TextField()))
    return records.alias(**small_letters)


def has_words(columns: Sequence[str], words: Sequence[str], lookup: str) -> Q:
    """The condition that each word is found in one of the columns, which are there in small letters."""
    conditions = (
        reduce(or_, [Q(**{f"{column}_lower__{lookup}": word}) for column in columns]) for word in words
    )
    return reduce(and_, conditions)


# --- misspelt names -------------------------------------------------------------------------------------


#: From this share of common trigrams on, PostgreSQL takes a word for similar to one of a text. Two letters in
#: the wrong order leave 0.28 of a name of six letters.
WORD_SIMILARITY = 0.27


def spelt_alike(records: QuerySet[Model], columns: Sequence[str], words: Sequence[str]) -> Q:
    """The condition that each of the words is spelt much like one of the names."""
    conditions = (
        reduce(or_, [Q(**{f"{column}__in": similar_names(records, column, word)}) for column in columns])
        for word in words
    )
    return reduce(and_, conditions)


def similar_names(records: QuerySet[Model], column: str, word: str) -> list[str]:
    """The texts of a column that have a word much like this one, the most similar first."""
    texts = records.order_by().values_list(column, flat=True).distinct()
    if has_trigrams():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL pg_trgm.word_similarity_threshold = %s", [WORD_SIMILARITY])
            candidates = list(texts.filter(TrigramWordSimilar(Lower(column), Value(word)))[:COMPARED_NAMES])
    else:
        starts_alike = has_words([column], [word[:SAME_LETTERS]], "startswith")
        candidates = list(with_small_letters(texts, [column]).filter(starts_alike)[:COMPARED_NAMES])
    ranked = []
    for text in candidates:
        ratios = (difflib.SequenceMatcher(None, word, part).ratio() for part in text.lower().split())
        ranked.append((max(ratios, default=0.0), text))
    return [text for rank, text in sorted(ranked, reverse=True)[:ALIKE_LIMIT] if rank >= SIMILARITY]


@cache
def has_trigrams() -> bool:
    """True when the database compares texts by trigrams; asked once."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        return cursor.fetchone() is not None
