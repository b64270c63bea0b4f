"""$search: words and phrases in the declared search fields, in any case (OData 4.01, Protocol 11.2.6.6)."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from django.db.models import F, Value
from django.db.models.expressions import Combinable

from apps.base.declaration.schema import EntitySet
from apps.odata.errors import BadQuery
from apps.odata.query import functions as sql

MAX_WORDS = 12
#: Levels of parentheses and NOT.
MAX_DEPTH = 12
_TOKEN = re.compile(r'\s*(?:"(?P<phrase>(?:[^"\\]|\\.)+)"|(?P<mark>[()])|(?P<word>[^"\s()]+)|(?P<end>\Z))')


class SearchToken(NamedTuple):
    kind: str
    text: str
    at: int


def search_condition(entity_set: EntitySet, text: str) -> Combinable:
    """``$search=grace "st kilda" NOT (old OR former)``: each word or phrase anywhere in one of the fields."""
    fields = tuple(entity_set.resource.search)
    if not fields:
        raise BadQuery(f"{entity_set.name} cannot be searched; use $filter.", target="$search")
    return SearchParser(text, fields).condition()


class SearchParser:
    """Binds a search to the fields of a model as it reads it; NOT binds closest, OR least."""

    def __init__(self, text: str, fields: Sequence[str], target: str = "$search") -> None:
        self.text, self.fields, self.target = text, fields, target
        self.position = self.words = self.depth = 0
        self.token = SearchToken("", "", 0)
        self.advance()

    def condition(self) -> Combinable:
        condition = self.alternatives()
        if self.token.kind != "end":
            self.fail("')' stands before its '('")
        return condition

    def alternatives(self) -> Combinable:
        conditions = [self.sequence()]
        while self.accept("OR"):
            conditions.append(self.sequence())
        return sql.join_conditions("OR", len(conditions))(*conditions)

    def sequence(self) -> Combinable:
        conditions = [self.term()]
        while self.accept("AND") or self.begins_term():
            conditions.append(self.term())
        return sql.join_conditions("AND", len(conditions))(*conditions)

    def begins_term(self) -> bool:
        return (
            self.token.kind == "phrase"
            or self.is_mark("(")
            or (self.token.kind == "word" and self.token.text != "OR")
        )

    def term(self) -> Combinable:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"it is nested deeper than {MAX_DEPTH} levels")
        if self.accept("NOT"):
            # A field without a value does not have the word.
            condition: Combinable = sql.IS_NOT_TRUE(self.term())
        elif self.is_mark("("):
            self.advance()
            condition = self.alternatives()
            if not self.is_mark(")"):
                self.fail("a '(' is not closed")
            self.advance()
        else:
            condition = self.word()
        self.depth -= 1
        return condition

    def word(self) -> Any:
        kind, text, _ = self.token
        if kind not in ("word", "phrase") or (kind == "word" and text in ("AND", "OR", "NOT")):
            self.fail("a word or a quoted phrase is expected")
        self.words += 1
        if self.words > MAX_WORDS:
            self.fail(f"it has more than {MAX_WORDS} words")
        self.advance()
        lower = (re.sub(r"\\(.)", r"\1", text) if kind == "phrase" else text).lower()
        pattern = Value(sql.like_pattern(lower, "%"))
        # As $filter compares: contains(tolower(field), tolower(word)).
        found = [sql.CONTAINS_LITERAL(sql.TO_LOWER(F(field)), Value(lower), pattern) for field in self.fields]
        return sql.join_conditions("OR", len(found))(*found)

    # --- tokens ---------------------------------------------------------------------------------------

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.fail("a phrase is empty or not closed", self.position)
        kind = match.lastgroup or "end"
        self.token, self.position = SearchToken(kind, match[kind], match.start(kind)), match.end()

    def accept(self, operator: str) -> bool:
        if self.token[:2] != ("word", operator):
            return False
        self.advance()
        return True

    def is_mark(self, mark: str) -> bool:
        return self.token[:2] == ("mark", mark)

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        position = (self.token.at if at is None else at) + 1
        raise BadQuery(
            f"{self.target} cannot be read at position {position}: {reason}. It takes 1 to {MAX_WORDS} words"
            " and quoted phrases with AND, OR, NOT and parentheses.",
            target=self.target,
        )
