"""Questions that are asked again and again with other keys: their text is made once, several go in one trip.

Making the text of a query costs Python several times what sending it does, and every trip to PostgreSQL
costs as much again. So whoever looks up many small things writes each look-up as a *conversation*, a
generator that yields questions and is sent their rows, and lets ``together`` hold several at once::

    @kept
    def names(keys):
        return Staff.objects.filter(Among(KEY, keys)).order_by().values_list("pk", "last_name")

    def look_up_names(drafts):
        rows = yield names({draft.staff.pk for draft in drafts})
        ...

    together(look_up_names(drafts), look_up_prices(drafts))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from django.db import connections, models

from apps.odata.any_of import Deferred

Rows = list[tuple[Any, ...]]
Result = TypeVar("Result")


class Query(Protocol):
    """Something that the database is asked."""

    def text(self, alias: str) -> tuple[str, Sequence[Any]] | None:
        """The statement and its parameters; ``None`` when only ``alone`` can ask it."""

    def alone(self) -> Rows:
        """Its rows, asked by itself."""


@dataclass(frozen=True, slots=True)
class RawQuery:
    """A question in SQL of our own; its rows are as the driver reads them."""

    sql: str
    params: Sequence[Any]

    def text(self, alias: str) -> tuple[str, Sequence[Any]]:
        return self.sql, self.params

    def alone(self) -> Rows:
        with connections["default"].cursor() as cursor:
            cursor.execute(self.sql, self.params)
            return list(cursor.fetchall())


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A kept query with the values it is asked for."""

    query: PreparedQuery
    values: tuple[Iterable[Any], ...]

    def text(self, alias: str) -> tuple[str, Sequence[Any]] | None:
        text = self.query.text(alias)
        return None if text is None else (text.sql, text.filled(self.values))

    def alone(self) -> Rows:
        return list(self.query.make(*self.values))

    def ask(self) -> Rows:
        """Its rows."""
        return fetch_all([self])[0]


#: A look-up on its way: yields questions (one, or a list of them), is sent the rows of each, and returns what
#: it found.
Conversation = Generator[Any, Any, Result]


@dataclass(eq=False, slots=True)
class PreparedQuery:
    """A query whose text is made once: ``make`` gives the queryset for lists of values to be ``Among``.

    The queryset is one of ``values_list``; nothing in it but those lists may change from call to call.
    """

    make: Callable[..., models.QuerySet[Any, Any]]
    texts: dict[str, Statement | None] = field(default_factory=dict)

    def __call__(self, *values: Iterable[Any]) -> BoundQuery:
        return BoundQuery(self, values)

    def text(self, alias: str) -> Statement | None:
        """What PostgreSQL is sent; ``None`` where the values of a row are not those that the driver reads."""
        if alias not in self.texts:
            count = self.make.__code__.co_argcount
            compiler = self.make(*map(Deferred, range(count))).query.get_compiler(alias)
            sql, params = compiler.as_sql()
            is_plain = not compiler.get_converters([shown[0] for shown in compiler.select])
            self.texts[alias] = Statement(sql, tuple(params)) if is_plain else None
        return self.texts[alias]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its parameters, some of which are told later."""

    sql: str
    params: tuple[Any, ...]

    def filled(self, values: Sequence[Iterable[Any]]) -> list[Any]:
        return [p.adapted(values[p.number]) if isinstance(p, Deferred) else p for p in self.params]


def prepared_query(make: Callable[..., models.QuerySet[Any, Any]]) -> PreparedQuery:
    """Keep the query that a function makes of lists of values."""
    return PreparedQuery(make)


def all_of(*conversations: Conversation[Any]) -> Conversation[list[Any]]:
    """One conversation of several: what each found. They ask at the same time what they wait for together."""
    found: list[Any] = [None] * len(conversations)
    waiting: list[tuple[int, Any]] = []

    def go_on(number: int, told: Any) -> None:
        try:
            waiting.append((number, conversations[number].send(told)))
        except StopIteration as end:
            found[number] = end.value

    for number in range(len(conversations)):
        go_on(number, None)
    while waiting:
        asked, waiting = waiting, []
        answers = iter(
            (yield [each for _, one in asked for each in (one if isinstance(one, list) else [one])])
        )
        for number, one in asked:
            go_on(number, [next(answers) for _ in one] if isinstance(one, list) else next(answers))
    return found


def together(*conversations: Conversation[Any]) -> list[Any]:
    """What each conversation found; the questions that wait at the same time are asked in one trip."""
    held = all_of(*conversations)
    try:
        questions = next(held)
        while True:
            questions = held.send(fetch_all(questions))
    except StopIteration as end:
        return list(end.value)


def alone(conversation: Conversation[Result]) -> Result:
    """What one conversation found."""
    result: Result = together(conversation)[0]
    return result


def fetch_all(questions: Sequence[Query], alias: str = "default") -> list[Rows]:
    """The rows of each question: one trip to PostgreSQL, one statement after the other on SQLite."""
    connection = connections[alias]
    one_by_one = connection.vendor != "postgresql" or connection.features.uses_server_side_binding  # type: ignore[attr-defined]
    texts = [] if one_by_one else [text for each in questions if (text := each.text(alias)) is not None]
    if one_by_one or len(texts) < len(questions):
        return [each.alone() for each in questions]
    with connection.cursor() as cursor:
        cursor.execute("; ".join(sql for sql, _ in texts), [param for _, params in texts for param in params])
        answers = [cursor.fetchall()]
        while cursor.nextset():
            answers.append(cursor.fetchall())
    return answers
